//! Owns the table of how the arguments of a call are read.
//!
//! Imports `json` only. Must not test what the strict reader alone decides (see `reading`).

use super::super::{Json, Limits, Object, ReadError};
use super::told;

fn arguments(raw: &str) -> Result<Object, ReadError> {
    Json::read_arguments(Some(raw.as_bytes()), &Limits::default())
}

/// `written` as it travels: a JSON string.
fn travelling(written: &str) -> String {
    Json::from(written).to_text()
}

#[track_caller]
fn reads_as(raw: &str, expected: &str) {
    assert_eq!(
        Json::Object(arguments(raw).unwrap()).to_text(),
        expected,
        "{raw}"
    );
}

#[track_caller]
fn refused(raw: &str, expected: &str) {
    assert_eq!(told(&arguments(raw).unwrap_err()), expected, "{raw}");
}

#[test]
fn c01_no_arguments_in_any_form_are_an_empty_object() {
    assert_eq!(
        Json::read_arguments(None, &Limits::default()).unwrap(),
        Object::new()
    );
    for raw in [
        "null",
        r#""""#,
        r#""  \n""#,
        r#""\t\r""#,
        r#""null""#,
        r#"" null ""#,
        "{}",
        r#""{}""#,
    ] {
        reads_as(raw, "{}");
    }
}

#[test]
fn an_object_and_the_string_of_it_are_the_same_arguments() {
    reads_as(r#"{"path":"package.json"}"#, r#"{"path":"package.json"}"#);
    reads_as(
        r#""{\"path\":\"package.json\"}""#,
        r#"{"path":"package.json"}"#,
    );
    reads_as(r#""\n{ \"n\" : 1E2 }\n""#, r#"{"n":1E2}"#);
}

#[test]
fn arguments_encoded_twice_are_unwrapped_once() {
    let once = r#"{"path":"a \"b\".txt"}"#;
    let twice = travelling(once);
    reads_as(&travelling(&twice), once);
    reads_as(
        &travelling(&format!(" {} ", travelling(&format!("\n{once}")))),
        once,
    );
    refused(&travelling(&travelling(&twice)), "not-object 0 1:1");
}

#[test]
fn nothing_but_an_object_is_unwrapped() {
    for inner in ["", "  ", "null", "[1]", "text", "1"] {
        refused(&travelling(&travelling(inner)), "not-object 0 1:1");
    }
}

#[test]
fn arguments_of_another_kind_are_refused() {
    refused("[1]", "not-object 0 1:1");
    refused("7", "not-object 0 1:1");
    refused("false", "not-object 0 1:1");
    refused(r#""[1]""#, "not-object 0 1:1");
    refused(r#"" true""#, "not-object 1 1:2");
    refused(r#""ls -l""#, "syntax(a value) 0 1:1");
}

#[test]
fn c02_cut_off_arguments_are_refused_at_their_place_in_what_the_model_wrote() {
    let written = "{\n \"cmds\":[\"ls\",\"rm -rf x\"";
    refused(
        &travelling(written),
        "end(`,` or `]` in an array) 26 2:25 /cmds",
    );
    refused(
        &travelling(&travelling(written)),
        "end(`,` or `]` in an array) 26 2:25 /cmds",
    );
    refused(
        &travelling(r#"{"a":1}}"#),
        "syntax(nothing after the value) 7 1:8",
    );
    refused(
        &travelling("{'a':1}"),
        "syntax(a member name in double quotes) 1 1:2",
    );
}

#[test]
fn what_cannot_be_kept_is_refused_in_every_form() {
    for (written, expected) in [
        (r#"{"n":1e400}"#, "out-of-range 5 1:6 /n"),
        (
            r#"{"path":"/tmp/ok","path":"/etc/shadow"}"#,
            "duplicate(path) 18 1:19 /path",
        ),
        (r#"{"t":"\ud800"}"#, "lone-surrogate 6 1:7 /t"),
    ] {
        refused(written, expected);
        refused(&travelling(written), expected);
        refused(&travelling(&travelling(written)), expected);
    }
    // the string itself: there is no decoded text to count in
    refused(r#""{\"t\":\"\ud800\"}""#, "lone-surrogate 10 1:11");
}

#[test]
fn c06_the_depth_of_arguments_is_bounded_in_every_form() {
    let nested = |depth: usize| {
        format!(
            r#"{{"a":{}{}}}"#,
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    for depth in [127, 128] {
        reads_as(&nested(depth), &nested(depth));
        reads_as(&travelling(&nested(depth)), &nested(depth));
    }
    let deep = format!("too-deep 132 1:133 /a{}", "/0".repeat(127));
    refused(&nested(129), &deep);
    refused(&travelling(&nested(129)), &deep);
    refused(
        &travelling(&"[".repeat(100_000)),
        &format!("too-deep 128 1:129 {}", "/0".repeat(128)),
    );
}
