//! Owns the tables of decoding into Rust types.
//!
//! Imports `json` only. Must not test the strict reader.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::{DecodeError, decode_object};
use super::json;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    #[serde(default)]
    lines: Vec<Range>,
    mode: Option<Mode>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Range {
    from: u32,
    to: Option<i64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Fast,
    Sized(u8),
    Pair(u8, u8),
    Named { name: String },
}

#[track_caller]
fn refused<T: serde::de::DeserializeOwned + std::fmt::Debug>(text: &str, expected: &str) {
    let error = json(text).decode::<T>().unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_value_becomes_a_rust_type() {
    let value = json(r#"{"path":"é","lines":[{"from":1.0,"to":-1E2},{"from":0}],"mode":"fast"}"#);
    let expected = Edit {
        path: "é".to_owned(),
        lines: vec![
            Range {
                from: 1,
                to: Some(-100),
            },
            Range { from: 0, to: None },
        ],
        mode: Some(Mode::Fast),
    };
    assert_eq!(value.decode(), Ok(expected));
    assert_eq!(
        value.decode::<Edit>(),
        decode_object(value.as_object().unwrap())
    );
}

#[test]
fn every_form_of_an_enum_is_decoded() {
    for (text, expected) in [
        (r#""fast""#, Mode::Fast),
        (r#"{"fast":null}"#, Mode::Fast),
        (r#"{"sized":7}"#, Mode::Sized(7)),
        (r#"{"pair":[1,2]}"#, Mode::Pair(1, 2)),
        (
            r#"{"named":{"name":"n"}}"#,
            Mode::Named {
                name: "n".to_owned(),
            },
        ),
    ] {
        assert_eq!(json(text).decode(), Ok(expected), "{text}");
    }
    let object = json(r#"{"sized":7}"#);
    assert_eq!(
        decode_object(object.as_object().unwrap()),
        Ok(Mode::Sized(7))
    );
}

#[test]
fn an_unknown_member_is_pointed_at() {
    refused::<Edit>(
        r#"{"path":"a","line":[]}"#,
        "/line: unknown member `line`, expected one of `path`, `lines`, `mode`",
    );
    refused::<Edit>(
        r#"{"path":"a","lines":[{"from":1},{"from":1,"a/b":2}]}"#,
        "/lines/1/a~1b: unknown member `a/b`, expected one of `from`, `to`",
    );
    let object = json(r#"{"path":"a","x":1}"#);
    let error = decode_object::<Edit>(object.as_object().unwrap()).unwrap_err();
    assert_eq!(error.pointer, "/x");
}

#[test]
fn what_does_not_fit_is_pointed_at() {
    refused::<Edit>(r#"{"lines":[]}"#, "the member `path` is missing");
    refused::<Edit>(
        r#"{"path":"a","lines":[{}]}"#,
        "/lines/0: the member `from` is missing",
    );
    refused::<Edit>(r#"{"path":7}"#, "/path: expected a string, found integer 7");
    refused::<Edit>(r#"{"path":null}"#, "/path: expected a string, found null");
    refused::<Edit>(
        r#"{"path":{}}"#,
        "/path: expected a string, found an object",
    );
    refused::<Edit>(r#"{"path":[]}"#, "/path: expected a string, found an array");
    refused::<Edit>(
        r#"{"path":"a","lines":[{"from":"1"}]}"#,
        "/lines/0/from: expected a whole number (u32: not below 0), found the string \"1\"",
    );
    refused::<Edit>(
        r#"{"path":"a","mode":"slow"}"#,
        "/mode: unknown value `slow`, expected one of `fast`, `sized`, `pair`, `named`",
    );
    refused::<Mode>(
        r#"{"named":{"name":true}}"#,
        "/named/name: expected a string, found boolean true",
    );
    refused::<Mode>(r#""sized""#, "the content of `sized` is missing");
    refused::<Mode>(r#"{"fast":1}"#, "/fast: `fast` has no content");
    refused::<Vec<u8>>(
        "[1,2,300]",
        "/2: expected a whole number (u8: not below 0), found the number 300",
    );
    refused::<(u8, u8)>(
        "[1,2,3]",
        "invalid length 3, expected 2 elements in sequence",
    );
}

#[test]
fn integers_are_exact_or_refused() {
    assert_eq!(
        json("9007199254740993").decode(),
        Ok(9_007_199_254_740_993_u64)
    );
    assert_eq!(json("-9223372036854775808").decode(), Ok(i64::MIN));
    assert_eq!(
        json("123456789012345678901234567890").decode(),
        Ok(123_456_789_012_345_678_901_234_567_890_i128)
    );
    refused::<u64>(
        "18446744073709551616",
        "expected a whole number (u64: not below 0), found the number 18446744073709551616",
    );
    refused::<u64>(
        "-1",
        "expected a whole number (u64: not below 0), found the number -1",
    );
    refused::<i8>("1.5", "expected a whole number (i8), found the number 1.5");
    assert_eq!(json("1.5").decode(), Ok(1.5_f64));
    assert_eq!(json("0.1").decode(), Ok(0.1_f32));
    assert_eq!(
        json("123456789012345678901234567890").decode(),
        Ok(1.234_567_890_123_456_8e29)
    );
    assert!(json(&"9".repeat(400)).decode::<f64>().is_err());
}

#[test]
fn a_number_whose_type_nobody_names_is_exact_or_refused_too() {
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(untagged)]
    enum Any {
        Unsigned(u64),
        Signed(i64),
        Float(f64),
    }
    assert_eq!(json("1E2").decode(), Ok(Any::Unsigned(100)));
    assert_eq!(json("-7").decode(), Ok(Any::Signed(-7)));
    assert_eq!(json("0.5").decode(), Ok(Any::Float(0.5)));
    let error: DecodeError = json("123456789012345678901234567890")
        .decode::<Any>()
        .unwrap_err();
    assert!(
        error
            .message
            .contains("the number 123456789012345678901234567890"),
        "{error}"
    );
}

#[test]
fn no_member_name_is_magic_and_messages_stay_short() {
    let built = super::super::object([("$serde_json::private::Number", "1")]);
    let decoded: BTreeMap<String, String> = built.decode().unwrap();
    assert_eq!(decoded["$serde_json::private::Number"], "1");
    assert!(built.decode::<u64>().is_err());
    let long = super::super::object([("path", vec!["x".repeat(100_000)])]);
    assert!(
        long.decode::<BTreeMap<String, Vec<u8>>>()
            .unwrap_err()
            .to_string()
            .len()
            < 300
    );
}
