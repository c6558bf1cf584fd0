//! Owns the tables of the strict reader and of `members`.
//!
//! Imports `json` only. Must not test numbers (see `numbers`) or arguments (see `arguments`).

use super::super::{Json, Limits, ReadErrorKind, members};
use super::{json, kept, read, refused, told};

#[test]
fn every_kind_of_value_keeps_its_text_and_member_order() {
    kept("null");
    kept("true");
    kept("false");
    kept(r#""""#);
    kept(r#""a\"\\\b\f\n\r\t\u0000\u001f/é😀""#);
    kept("[]");
    kept("{}");
    kept("[1,[2,[]],{}]");
    kept(r#"{"z":1,"a":{"y":[],"b":null},"":true}"#);
}

#[test]
fn white_space_is_allowed_around_every_token_and_not_kept() {
    assert_eq!(
        json("\r\n\t { \"a\" : [ 1 , 2 ] , \"b\" : { } } \n").to_text(),
        r#"{"a":[1,2],"b":{}}"#
    );
    // only the four of RFC 8259
    refused("\u{a0}1", "syntax(a value) 0 1:1");
    refused("1\u{b}", "syntax(nothing after the value) 1 1:2");
}

#[test]
fn c02_a_text_that_is_cut_off_is_refused_at_its_end() {
    refused("", "end(a value) 0 1:1");
    refused("  \n", "end(a value) 3 2:1");
    refused(
        r#"{"cmds":["ls","rm -rf x""#,
        "end(`,` or `]` in an array) 24 1:25 /cmds",
    );
    refused(
        r#"{"cmds":["ls","rm"#,
        "end(the closing quote of a string) 17 1:18 /cmds/1",
    );
    refused(r#"{"cmds":["ls","#, "end(a value) 14 1:15 /cmds/1");
    refused(r#"{"cmds":"#, "end(a value) 8 1:9 /cmds");
    refused(r#"{"cmds""#, "end(`:` after a member name) 7 1:8 /cmds");
    refused(r#"{"cm"#, "end(the closing quote of a string) 4 1:5");
    refused("{", "end(a member name in double quotes) 1 1:2");
    refused(r#"{"a":1"#, "end(`,` or `}` in an object) 6 1:7");
    refused(r#"{"a":1,"#, "end(a member name in double quotes) 7 1:8");
    refused(r#""a\"#, "end(an escape: one of \" \\ / b f n r t u) 3 1:4");
    refused(r#""\u00e"#, "end(four hexadecimal digits) 6 1:7");
    refused("tru", "end(`true`) 3 1:4");
    refused("[fals", "end(`false`) 5 1:6 /0");
}

#[test]
fn what_is_not_json_is_refused_where_it_starts() {
    refused("NaN", "syntax(a value) 0 1:1");
    refused(r#"{"n":Infinity}"#, "syntax(a value) 5 1:6 /n");
    refused(r#"{"n":-Infinity}"#, "syntax(a digit) 6 1:7 /n");
    refused("[1,]", "syntax(a value) 3 1:4 /1");
    refused("[,1]", "syntax(a value) 1 1:2 /0");
    refused(
        r#"{"a":1,}"#,
        "syntax(a member name in double quotes) 7 1:8",
    );
    refused("{a:1}", "syntax(a member name in double quotes) 1 1:2");
    refused("{'a':1}", "syntax(a member name in double quotes) 1 1:2");
    refused(r#"{"a" 1}"#, "syntax(`:` after a member name) 5 1:6 /a");
    refused("[1 2]", "syntax(`,` or `]` in an array) 3 1:4");
    refused(r#"{"a":1]"#, "syntax(`,` or `}` in an object) 6 1:7");
    refused("{}{}", "syntax(nothing after the value) 2 1:3");
    refused("1 // one", "syntax(nothing after the value) 2 1:3");
    refused("nul]", "syntax(`null`) 3 1:4");
    refused("True", "syntax(a value) 0 1:1");
    refused("\0", "syntax(a value) 0 1:1");
    refused("{}\0", "syntax(nothing after the value) 2 1:3");
    refused("\u{feff}{}", "syntax(a value, not a byte order mark) 0 1:1");
}

#[test]
fn control_characters_and_unknown_escapes_in_strings_are_refused() {
    refused("\"a\nb\"", "syntax(control characters to be escaped) 2 1:3");
    refused(
        "\"a\u{1f}\"",
        "syntax(control characters to be escaped) 2 1:3",
    );
    refused("\"\0\"", "syntax(control characters to be escaped) 1 1:2");
    refused(
        r#""\x41""#,
        "syntax(an escape: one of \" \\ / b f n r t u) 2 1:3",
    );
    refused(
        r#""\U0041""#,
        "syntax(an escape: one of \" \\ / b f n r t u) 2 1:3",
    );
    refused(r#""\u00g0""#, "syntax(four hexadecimal digits) 5 1:6");
    refused(r#""\u+123""#, "syntax(four hexadecimal digits) 3 1:4");
    // DEL and the line separators of Unicode stand for themselves
    kept("\"\u{7f}\u{2028}\u{2029}\"");
}

#[test]
fn escapes_are_decoded_and_surrogate_pairs_joined() {
    let read = json(r#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00\uDBFF\uDFFF""#);
    assert_eq!(read.as_str(), Some("\"\\/\u{8}\u{c}\n\r\tAé€😀\u{10ffff}"));
}

#[test]
fn half_a_surrogate_pair_is_refused_wherever_it_stands() {
    refused(r#""\ud800""#, "lone-surrogate 1 1:2");
    refused(r#""\udc00""#, "lone-surrogate 1 1:2");
    refused(r#""é\n\ud83d""#, "lone-surrogate 5 1:5");
    refused(r#""\ud83d\n""#, "lone-surrogate 1 1:2");
    refused(r#""\ud83dx""#, "lone-surrogate 1 1:2");
    refused(r#""\ud83d\ud83d\ude00""#, "lone-surrogate 1 1:2");
    refused(r#""\ude00\ud83d""#, "lone-surrogate 1 1:2");
    refused(r#""\ud83d\u0041""#, "lone-surrogate 1 1:2");
    refused(r#"{"a":["b","\ud83d"]}"#, "lone-surrogate 11 1:12 /a/1");
    refused(r#"{"\ud83d":1}"#, "lone-surrogate 2 1:3");
}

#[test]
fn bytes_that_are_not_utf8_are_refused_where_they_start() {
    refused(b"\"\xff\"", "utf8 1 1:2");
    refused(b"\"\xc0\xaf\"", "utf8 1 1:2"); // overlong slash
    refused(b"\"\xe0\x80\xaf\"", "utf8 1 1:2"); // overlong in three bytes
    refused(b"\"\xed\xa0\x80\"", "utf8 1 1:2"); // a surrogate in UTF-8
    refused(b"\"\xf4\x90\x80\x80\"", "utf8 1 1:2"); // beyond U+10FFFF
    refused(b"[\"\xc3\xa9\",\"\xe2\x82\"]", "utf8 7 1:7"); // cut off
    refused(b"{}\xff", "utf8 2 1:3");
    refused(b"\xff\xfe{\0}\0", "utf8 0 1:1"); // UTF-16
}

#[test]
fn c05_the_same_member_twice_is_refused_also_after_unescaping() {
    refused(
        r#"{"path":"/tmp/ok","path":"/etc/shadow"}"#,
        "duplicate(path) 18 1:19 /path",
    );
    refused(r#"{"p":1,"\u0070":2}"#, "duplicate(p) 7 1:8 /p");
    refused(
        r#"[{"a":{"é":1,"b":2,"\u00E9":3}}]"#,
        "duplicate(é) 20 1:20 /0/a/é",
    );
    refused(
        "{\"a~/b\":1,\n \"a~/b\":2}",
        "duplicate(a~/b) 12 2:2 /a~0~1b",
    );
    // different names that look alike are different
    kept("{\"é\":1,\"e\u{301}\":2}");
}

#[test]
fn c06_nesting_is_bounded_at_128_levels() {
    let arrays = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let objects = |depth: usize| r#"{"a":"#.repeat(depth - 1) + "{}" + &"}".repeat(depth - 1);
    for depth in [1, 127, 128] {
        kept(&arrays(depth));
        kept(&objects(depth));
    }
    refused(
        arrays(129),
        &format!("too-deep 128 1:129 {}", "/0".repeat(128)),
    );
    refused(
        objects(129),
        &format!("too-deep 640 1:641 {}", "/a".repeat(128)),
    );
    refused(
        "[".repeat(100_000),
        &format!("too-deep 128 1:129 {}", "/0".repeat(128)),
    );
}

#[test]
fn c06_no_limit_lets_the_depth_grow_beyond_what_may_recurse() {
    let endless = Limits {
        max_depth: usize::MAX,
        ..Limits::default()
    };
    let error = Json::read("[".repeat(129).as_bytes(), &endless).unwrap_err();
    assert_eq!(error.kind, ReadErrorKind::TooDeep);
    let narrow = Limits {
        max_depth: 2,
        ..Limits::default()
    };
    assert!(Json::read(b"[[1],[2],{}]", &narrow).is_ok());
    assert_eq!(
        Json::read(b"[[[1]]]", &narrow).unwrap_err().kind,
        ReadErrorKind::TooDeep
    );
}

#[test]
fn a_text_over_the_limit_is_refused_unread() {
    let limits = Limits {
        max_bytes: 4,
        ..Limits::default()
    };
    assert!(Json::read(b"[12]", &limits).is_ok());
    let error = Json::read(b"[12] ", &limits).unwrap_err();
    assert_eq!(told(&error), "too-large 4 1:5");
    assert!(!error.is_syntax());
}

#[test]
fn reserved_member_names_are_refused_also_when_escaped() {
    for name in ["Number", "RawValue"] {
        refused(
            format!(r#"{{"a":{{"$serde_json::private::{name}":"1"}}}}"#),
            &format!("reserved 6 1:7 /a/$serde_json::private::{name}"),
        );
    }
    refused(
        r#"{"\u0024serde_json::private::Number":"1"}"#,
        "reserved 1 1:2 /$serde_json::private::Number",
    );
    kept(r#"{"$serde_json::private::Other":"$serde_json::private::Number"}"#);
}

#[test]
fn a_root_that_is_no_object_is_told_from_what_is_no_json() {
    let object = |text: &str| Json::read_object(text.as_bytes(), &Limits::default());
    assert_eq!(object(r#" {"a":1} "#).unwrap().len(), 1);
    assert_eq!(told(&object("\n [1]").unwrap_err()), "not-object 2 2:2");
    assert_eq!(
        told(&object("[1").unwrap_err()),
        "end(`,` or `]` in an array) 2 1:3"
    );
    assert!(!object("null").unwrap_err().is_syntax());
}

#[test]
fn places_count_lines_and_characters() {
    refused("[1,\r\n  \"é😀\", x]", "syntax(a value) 17 2:9 /2");
    refused("\n\n\n", "end(a value) 3 4:1");
}

#[test]
fn messages_say_what_and_where() {
    let message = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(
        message(r#"{"cmds":["ls","rm -rf x""#),
        "not JSON at line 1 column 25: the text ends too early, expected `,` or `]` in an array"
    );
    assert_eq!(
        message("NaN"),
        "not JSON at line 1 column 1: expected a value"
    );
    assert_eq!(
        message(r#"{"a":{"p":1,"p":2}}"#),
        "refused JSON at line 1 column 13 (/a/p): the member `p` stands twice in one object"
    );
    let long = "x".repeat(1_000);
    let shown = message(&format!(r#"{{"{long}":1,"{long}":2}}"#));
    assert!(shown.len() < 300, "{shown}");
}

#[test]
fn an_error_inside_a_member_points_there_from_the_whole() {
    let error = read("[1e999]").unwrap_err().within("a/b");
    assert_eq!(error.pointer, "/a~1b/0");
}

#[track_caller]
fn split(text: &str) -> Vec<(String, String)> {
    let own = |(name, raw): (String, &[u8])| (name, String::from_utf8_lossy(raw).into_owned());
    members(text.as_bytes())
        .unwrap()
        .into_iter()
        .map(own)
        .collect()
}

#[track_caller]
fn unsplit(text: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(told(&members(text.as_ref()).unwrap_err()), expected);
}

#[test]
fn members_are_the_raw_texts_of_the_top_level() {
    assert_eq!(split(" { } "), []);
    let found = split("{ \"name\" : \"x\" , \"\\u0061\" : { \"b\" : [ 1E2, {} ] } ,\n\"n\":-0 }");
    let expected = [
        ("name", r#""x""#),
        ("a", r#"{ "b" : [ 1E2, {} ] }"#),
        ("n", "-0"),
    ];
    assert_eq!(
        found,
        expected.map(|(name, raw)| (name.to_owned(), raw.to_owned()))
    );
}

#[test]
fn members_leave_the_losslessness_of_values_to_their_reader() {
    for value in [
        "1e400",
        r#"{"p":1,"p":2}"#,
        r#""\ud800""#,
        r#"{"$serde_json::private::Number":"1"}"#,
        &"9".repeat(2_000),
        &("[".repeat(5_000) + &"]".repeat(5_000)),
        &(r#"{"a":"#.repeat(5_000) + "1" + &"}".repeat(5_000)),
    ] {
        assert_eq!(split(&format!(r#"{{"arguments":{value}}}"#))[0].1, value);
    }
}

#[test]
fn c02_members_of_a_body_that_is_cut_off_or_malformed_are_refused() {
    unsplit(
        r#"{"arguments":{"a":[1,"#,
        "end(a value) 21 1:22 /arguments",
    );
    unsplit(
        r#"{"arguments":{"a":1}"#,
        "end(`,` or `}` in an object) 20 1:21",
    );
    unsplit(
        r#"{"arguments":{"a":1]}"#,
        "syntax(`,` or `}` in an object) 19 1:20 /arguments",
    );
    unsplit(
        r#"{"arguments":{"a":1,}}"#,
        "syntax(a member name in double quotes) 20 1:21 /arguments",
    );
    unsplit(
        r#"{"arguments":[1,]}"#,
        "syntax(a value) 16 1:17 /arguments",
    );
    unsplit(
        r#"{"arguments":{"a"}}"#,
        "syntax(`:` after a member name) 17 1:18 /arguments",
    );
    unsplit(r#"{"n":NaN}"#, "syntax(a value) 5 1:6 /n");
    unsplit(r#"{"n":01}"#, "syntax(`,` or `}` in an object) 6 1:7");
    unsplit("{} x", "syntax(nothing after the value) 3 1:4");
    unsplit("\u{feff}{}", "syntax(a value, not a byte order mark) 0 1:1");
    unsplit(b"{\"a\":\"\xff\"}", "utf8 6 1:7");
    unsplit("", "end(a value) 0 1:1");
    unsplit(" [1]", "not-object 1 1:2");
    unsplit("[1", "end(`,` or `]` in an array) 2 1:3");
}

#[test]
fn c05_the_same_top_level_member_twice_is_refused() {
    unsplit(
        r#"{"name":1,"\u006eame":2}"#,
        "duplicate(name) 10 1:11 /name",
    );
    unsplit(
        r#"{"b":1,"a":2,"a":3,"b":4,"a":5}"#,
        "duplicate(a) 13 1:14 /a",
    );
    unsplit(
        r#"{"a":1,"a":2,"#,
        "end(a member name in double quotes) 13 1:14",
    );
    unsplit(r#"{"\ud800":1}"#, "lone-surrogate 2 1:3");
}

#[test]
fn c06_a_body_of_a_hundred_thousand_brackets_is_refused_cleanly() {
    unsplit("[".repeat(100_000), "end(a value) 100000 1:100001");
    unsplit(
        r#"{"a":"#.repeat(100_000),
        "end(a value) 500000 1:500001 /a",
    );
    let closed = "[".repeat(100_000) + &"]".repeat(100_000);
    unsplit(&closed, "not-object 0 1:1");
    assert_eq!(split(&format!(r#"{{"a":{closed}}}"#))[0].1, closed);
}
