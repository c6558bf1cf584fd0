//! Owns the tables of the writers: compact, pretty, canonical, one-pass, digests.
//!
//! Imports `json` only. Must not test reading.

use super::super::{
    ArrayWriter, Digest, Json, Object, ObjectWriter, escape_into, write_canonical_object,
    write_object,
};
use super::json;

fn canonical(text: &str) -> String {
    let mut out = Vec::new();
    json(text).write_canonical(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn strings_escape_what_they_must_and_nothing_else() {
    let all: String = (0..=0x7f_u8).map(char::from).collect();
    let mut out = Vec::new();
    escape_into(&mut out, &format!("{all}é\u{2028}\u{2029}\u{feff}😀"));
    let escapes = "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\
                   \\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\
                   \\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f";
    let plain: String = (b' '..=0x7f).map(char::from).collect();
    let plain = plain.replace('\\', "\\\\").replace('"', "\\\"");
    let expected = format!("\"{escapes}{plain}é\u{2028}\u{2029}\u{feff}😀\"");
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn every_text_is_one_line() {
    let hostile = "a\r\nevent: approval/decided\r\nid: 999999\r\n\r\nb";
    let text = Json::from_iter([(hostile, hostile)]).to_text();
    assert!(!text.contains(['\r', '\n']));
    assert_eq!(
        json(&text).get(hostile).and_then(Json::as_str),
        Some(hostile)
    );
}

#[test]
fn pretty_has_two_spaces_per_level_and_keeps_what_is_empty_together() {
    let value = json(r#"{"a":[1,{"b":[]}],"c":{},"d":"x"}"#);
    let expected = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": \"x\"\n}";
    assert_eq!(value.to_pretty(), expected);
    assert_eq!(json("1E2").to_pretty(), "1E2");
}

#[test]
fn canonical_members_are_sorted_by_utf16_code_units() {
    // RFC 8785, section 3.2.3
    let text = concat!(
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","#,
        r#""1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","#,
        r#""\u00f6":"Latin Small Letter O With Diaeresis"}"#
    );
    let expected = concat!(
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",",
        "\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",",
        "\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
    assert_eq!(canonical(text), expected);
    assert_eq!(
        canonical(r#"{"ab":1,"a":2,"":3,"b":{"d":[{"f":1,"e":2}],"c":1}}"#),
        r#"{"":3,"a":2,"ab":1,"b":{"c":1,"d":[{"e":2,"f":1}]}}"#
    );
}

#[test]
fn canonical_form_keeps_the_text_of_numbers() {
    assert_eq!(
        canonical(r#"{ "b": 1E2, "a": [ -0, 1.0, 1e-7 ] }"#),
        r#"{"a":[-0,1.0,1e-7],"b":1E2}"#
    );
}

#[test]
fn an_object_is_written_like_the_value_around_it() {
    let value = json(r#"{"b":1,"a":[2]}"#);
    let (mut compact, mut sorted) = (Vec::new(), Vec::new());
    write_object(value.as_object().unwrap(), &mut compact);
    write_canonical_object(value.as_object().unwrap(), &mut sorted);
    assert_eq!(compact, br#"{"b":1,"a":[2]}"#);
    assert_eq!(sorted, br#"{"a":[2],"b":1}"#);
}

#[test]
fn the_object_writer_writes_every_kind_of_member_once_separated() {
    let value = json(r#"{"n":1E2}"#);
    let mut out = b"data: ".to_vec();
    let mut writer = ObjectWriter::new(&mut out);
    writer
        .string("s\n", "\"")
        .string_opt("none", None)
        .string_opt("some", Some("x"))
        .raw("raw", b"[1, 2]")
        .json("json", &value)
        .json_opt("no_json", None)
        .json_opt("json_opt", Some(&Json::Null))
        .object("object", value.as_object().unwrap())
        .number("zero", 0)
        .number("max", u64::MAX)
        .number_opt("no_number", None)
        .number_opt("number_opt", Some(10))
        .bool("yes", true)
        .bool("no", false)
        .null("null")
        .array("empty", |_| {})
        .array("array", |array| {
            array
                .string("a")
                .number(12)
                .bool(true)
                .json(&value)
                .raw(b"null");
            array.nested(|object| {
                object.number("n", 1);
            });
            array.array(|inner| {
                inner.number(1).number(2);
            });
        })
        .nested("nothing", |_| {})
        .nested("nested", |nested| {
            nested.string("a", "b");
        });
    writer.end();
    let expected = concat!(
        r#"data: {"s\n":"\"","some":"x","raw":[1, 2],"json":{"n":1E2},"json_opt":null,"#,
        r#""object":{"n":1E2},"zero":0,"max":18446744073709551615,"number_opt":10,"yes":true,"#,
        r#""no":false,"null":null,"empty":[],"array":["a",12,true,{"n":1E2},null,{"n":1},[1,2]],"#,
        r#""nothing":{},"nested":{"a":"b"}}"#
    );
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn decimals_have_at_most_three_places_and_no_idle_zeros() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (1.9, "1.9"),
        (0.25, "0.25"),
        (1.234_56, "1.235"),
        (0.000_4, "0"),
        (-0.000_4, "0"),
        (-1.5, "-1.5"),
        (100.0, "100"),
        (0.05, "0.05"),
        (0.007, "0.007"),
        (12.34, "12.34"),
        (-0.999_9, "-1"),
        (9_007_199_254_740.5, "9007199254740.5"),
        (1e15, "1000000000000000"),
        (-1e22, "-10000000000000000000000"),
        (f64::NAN, "null"),
        (f64::INFINITY, "null"),
    ] {
        let mut out = Vec::new();
        let mut writer = ObjectWriter::new(&mut out);
        writer.decimal("d", value);
        writer.end();
        assert_eq!(String::from_utf8(out).unwrap(), format!("{{\"d\":{text}}}"));
    }
}

#[test]
fn an_array_can_be_the_root() {
    let mut out = Vec::new();
    let mut writer = ArrayWriter::new(&mut out);
    writer.number(1).string("b");
    writer.end();
    assert_eq!(out, br#"[1,"b"]"#);
}

#[test]
fn the_digest_of_a_call_is_that_of_its_canonical_text() {
    let arguments = |text: &str| json(text).as_object().unwrap().clone();
    let digest = Digest::of_call("re\"ad", &arguments(r#"{"path":"package.json","a":1}"#));
    let text = br#"{"arguments":{"a":1,"path":"package.json"},"name":"re\"ad"}"#;
    assert_eq!(digest, Digest::of_bytes(text));
    let spelled = arguments("{ \"a\" : 1,\n\"\\u0070ath\":\"package\\u002ejson\" }");
    assert_eq!(digest, Digest::of_call("re\"ad", &spelled));
    assert_ne!(
        digest,
        Digest::of_call("re\"ad", &arguments(r#"{"path":"package.json","a":1.0}"#))
    );
    assert_ne!(digest, Digest::of_call("write", &spelled));
    assert_ne!(digest, Digest::of_call("re\"ad", &Object::new()));
}

#[test]
fn a_digest_is_shown_and_parsed_as_sha256_and_hexadecimal_digits() {
    // FIPS 180-2, one block: "abc"
    let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let digest = Digest::of_bytes(b"abc");
    assert_eq!(digest.to_string(), text);
    assert_eq!(format!("{digest:?}"), text);
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(Json::from_serialize(&digest).unwrap(), Json::from(text));
    assert_eq!(Digest::from(*digest.as_bytes()), digest);
    for wrong in [
        "",
        "sha256:",
        &text[7..],
        &text[..70],
        &format!("{text}0"),
        &text.to_uppercase(),
        &text.replace("ba78", "bé7"),
        &text.replace('b', "g"),
    ] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}
