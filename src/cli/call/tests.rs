//! What was typed is what is sent, and what is shown of the answer.

use std::io::{self, ErrorKind};

use clap::Parser;
use proptest::prelude::*;

use super::{
    super::arguments::{Action, Arguments},
    *,
};
use crate::domain::json::Limits;

fn options(typed: &[&str]) -> CallOptions {
    let typed = ["toold", "call"].iter().chain(typed);
    let Action::Call(options) = Arguments::try_parse_from(typed).unwrap().action else {
        panic!("that is no call");
    };
    options
}

fn sent(typed: &[&str], input: &str) -> String {
    match body(&options(typed), input.as_bytes()) {
        Ok(body) => String::from_utf8(body).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_was_typed_is_what_is_sent() {
    for (typed, expected) in [
        (&["echo"][..], r#"{"name":"echo","arguments":{}}"#),
        (
            &[
                "echo",
                "path=a=b",
                "n:=1.50",
                "l:= [1, 2] ",
                "empty=",
                "q=\"é\n",
            ],
            r#"{"name":"echo","arguments":{"path":"a=b","n":1.50,"l":[1, 2],"empty":"","q":"\"é\n"}}"#,
        ),
        (
            &["echo", "--json-args", r#" {"n": 123456789012345678901} "#],
            r#"{"name":"echo","arguments": {"n": 123456789012345678901} }"#,
        ),
        (
            &["echo", "--agent", "coder", "--call-id", "call_7"],
            r#"{"agent":"coder","call_id":"call_7","name":"echo","arguments":{}}"#,
        ),
        (
            &["no such tool!"],
            r#"{"name":"no such tool!","arguments":{}}"#,
        ),
    ] {
        assert_eq!(sent(typed, ""), expected);
    }
    let piped = sent(&["echo", "-"], "{\"a\":\n1}\n");
    assert_eq!(piped, "{\"name\":\"echo\",\"arguments\":{\"a\":\n1}\n}");
}

#[test]
fn arguments_that_are_none_are_refused_before_anything_is_sent() {
    for (typed, input, part) in [
        (&["t", "path"][..], "", "\"path\": an argument has a key"),
        (&["t", "=x"], "", "an argument has a key"),
        (&["t", ":=1"], "", "an argument has a key"),
        (&["t", "n:=one"], "", "behind := stands a JSON value"),
        (&["t", "n:="], "", "behind := stands a JSON value"),
        (&["t", "n:=1,\"m\":2"], "", "behind := stands a JSON value"),
        (&["t", "n:=1}"], "", "behind := stands a JSON value"),
        (
            &["t", "a=1", "a:=2"],
            "",
            "the argument \"a\" is given twice",
        ),
        (&["t", "-", "a=1"], "", "- stands for all arguments"),
        (
            &["t", "--json-args", "[1]"],
            "",
            "--json-args: expected a JSON object",
        ),
        (
            &["t", "-"],
            "{\"a\":",
            "standard input: expected a JSON object",
        ),
    ] {
        let said = sent(typed, input);
        assert!(said.contains(part), "{typed:?}: {said}");
    }
}

#[test]
fn an_input_that_fails_is_told() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(ErrorKind::PermissionDenied.into())
        }
    }
    let error = body(&options(&["t", "-"]), Broken).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("standard input cannot be read")
    );
}

fn rendered(result: &str) -> (String, String) {
    let fields = Fields::of(result.as_bytes()).unwrap();
    (content(&fields, Style::Raw), failure(&fields, Style::Raw))
}

#[test]
fn content_is_shown_as_text_block_by_block() {
    let (text, _) = rendered(
        r#"{"is_error":false,"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"},
        {"type":"image","data":"AAAA","mimeType":"image/png"},
        {"type":"resource_link","uri":"file:///x","name":"x"},
        {"type":"json","json":{"n":1.50}}]}"#,
    );
    assert_eq!(
        text,
        "a\nb\n[image: image/png, 3 bytes]\n[x: file:///x]\n{\n  \"n\": 1.50\n}\n"
    );
}

#[test]
fn a_failure_is_told_once_and_feedback_stays() {
    let failed = |content: &str| {
        rendered(&format!(
            r#"{{"is_error":true,"error":{{"code":"BLOCKED","message":"withheld"}},"content":[{content}]}}"#
        ))
    };
    let (text, told) = failed(r#"{"type":"text","text":"Error: withheld"}"#);
    assert_eq!((text.as_str(), told.as_str()), ("", "BLOCKED: withheld"));
    let (text, _) = failed(r#"{"type":"text","text":"ask the operator"}"#);
    assert_eq!(text, "ask the operator\n");
}

#[test]
fn content_that_is_nested_too_deep_is_shown_as_it_was_sent() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let (text, _) = rendered(&format!(r#"{{"content":{deep}}}"#));
    assert_eq!(text, deep);
}

proptest! {
    #[test]
    fn any_text_is_sent_as_that_text(key in "[^=:]{1,12}", value in any::<String>()) {
        let text = pairs(&[format!("{key}={value}")]).unwrap();
        let object = Json::read(&text, &Limits::default()).unwrap();
        prop_assert_eq!(object.get(&key).and_then(Json::as_str), Some(value.as_str()));
    }
}
