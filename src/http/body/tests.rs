//! What is read as a body, and what is refused.

use axum::http::{HeaderName, HeaderValue};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Wire {
    name: String,
    turn: Option<u64>,
}

fn split(text: &str) -> Result<Members, Problem> {
    Members::split(&Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn raw_members_keep_their_text_and_the_rest_is_decoded() {
    let text =
        r#"{"name":"echo","arguments": {"n":1e400, "deep":[1.0]} ,"turn":3,"metadata":{"any":1}}"#;
    let mut members = split(text).unwrap();
    let arguments = members.take_raw("arguments").unwrap();
    assert_eq!(&arguments[..], br#"{"n":1e400, "deep":[1.0]}"#);
    assert_eq!(members.take_object("metadata").unwrap().len(), 1);
    assert!(members.take_raw("arguments").is_none());
    assert_eq!(
        members.decode::<Wire>().unwrap(),
        Wire {
            name: "echo".to_owned(),
            turn: Some(3)
        }
    );
}

#[test]
fn an_unknown_member_is_told_all_that_there_are() {
    let mut members = split(r#"{"name":"a","argument":{}}"#).unwrap();
    members.take_raw("arguments");
    let problem = members.decode::<Wire>().unwrap_err();
    assert!(
        problem
            .detail()
            .ends_with("expected one of `arguments`, `name`, `turn`"),
        "{}",
        problem.detail()
    );
}

#[test]
fn a_body_that_is_refused_says_where() {
    let refused =
        |text: &str| -> Problem { split(text).and_then(Members::decode::<Wire>).unwrap_err() };
    for (text, code, pointer) in [
        (
            r#"{"name":"a","nmae":1}"#,
            ProblemCode::InvalidRequest,
            Some("/nmae"),
        ),
        (r#"{"turn":1}"#, ProblemCode::InvalidRequest, Some("")),
        (r#"{"name":1}"#, ProblemCode::InvalidRequest, Some("/name")),
        (
            r#"{"name":"a","turn":-1}"#,
            ProblemCode::InvalidRequest,
            Some("/turn"),
        ),
        (
            r#"{"name":"a","turn":1e400}"#,
            ProblemCode::BadJson,
            Some("/turn"),
        ),
        (
            r#"{"name":"a","name":"b"}"#,
            ProblemCode::BadJson,
            Some("/name"),
        ),
        (r#"{"name":"\ud800"}"#, ProblemCode::BadJson, Some("/name")),
        (r"[]", ProblemCode::InvalidRequest, Some("")),
        (r#"{"name":"a""#, ProblemCode::BadJson, None),
        ("not json", ProblemCode::BadJson, None),
    ] {
        let problem = refused(text);
        assert_eq!(problem.code(), code, "{text}: {}", problem.detail());
        if pointer.is_some() {
            assert_eq!(problem.pointer(), pointer, "{text}: {}", problem.detail());
        }
    }
    assert!(
        refused("{\n \"name\": }")
            .detail()
            .contains("line 2 column 10")
    );
    let place = refused(r#"{"name":"a","turn":1e400}"#).detail().to_owned();
    assert!(place.contains("byte 19"), "{place}");
}

#[test]
fn c06_a_hundred_thousand_brackets_are_refused_and_do_no_harm() {
    let deep = format!(r#"{{"name":"a","turn":{}"#, "[".repeat(100_000));
    assert_eq!(split(&deep).unwrap_err().code(), ProblemCode::BadJson);
    let closed = format!(
        r#"{{"name":"a","x":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let problem = split(&closed).unwrap().decode::<Wire>().unwrap_err();
    assert_eq!(problem.code(), ProblemCode::BadJson);
}

fn form(
    headers: &[(HeaderName, &str)],
    body: &'static str,
    rule: BodyRule,
) -> Result<(), ProblemCode> {
    let pairs = headers
        .iter()
        .map(|(n, v)| (n.clone(), HeaderValue::from_str(v).unwrap()));
    let body = if body.is_empty() {
        Body::empty()
    } else {
        Body::from(body)
    };
    judge_form(&pairs.collect(), &body, rule).map_err(|problem| problem.code())
}

#[test]
fn a_body_is_json_in_utf_8_and_says_so() {
    let unsupported = Err(ProblemCode::UnsupportedMediaType);
    for (content_type, want) in [
        ("application/json", Ok(())),
        ("Application/JSON; charset=UTF-8", Ok(())),
        ("application/json;charset=latin1", unsupported),
        ("application/jsonp", unsupported),
        ("text/plain", unsupported),
        ("", unsupported),
    ] {
        let headers = [(header::CONTENT_TYPE, content_type)];
        assert_eq!(
            form(&headers, "{}", BodyRule::Required),
            want,
            "{content_type}"
        );
        assert_eq!(
            form(&headers, "", BodyRule::Optional),
            want,
            "{content_type}"
        );
    }
    let packed = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CONTENT_ENCODING, "gzip"),
    ];
    assert_eq!(form(&packed, "x", BodyRule::Required), unsupported);
    for (first, second) in [
        ("application/json", "text/plain"),
        ("application/json", "application/json"),
    ] {
        let twice = [
            (header::CONTENT_TYPE, first),
            (header::CONTENT_TYPE, second),
        ];
        assert_eq!(form(&twice, "{}", BodyRule::Required), unsupported);
    }
}

#[test]
fn where_a_body_belongs_is_what_the_route_says() {
    let unsupported = Err(ProblemCode::UnsupportedMediaType);
    for (body, rule, want) in [
        ("{}", BodyRule::Optional, unsupported),
        ("", BodyRule::Required, unsupported),
        ("", BodyRule::Optional, Ok(())),
        ("", BodyRule::None, Ok(())),
        ("{}", BodyRule::None, unsupported),
    ] {
        assert_eq!(
            form(&[], body, rule),
            want,
            "{body:?} {rule:?} without a type"
        );
    }
    let json = [(header::CONTENT_TYPE, "application/json")];
    assert_eq!(form(&json, "", BodyRule::None), Ok(()));
    let text = [(header::CONTENT_TYPE, "text/plain")];
    assert_eq!(form(&text, "", BodyRule::None), Ok(()), "of nothing");
    assert_eq!(
        form(&json, "{}", BodyRule::None),
        Err(ProblemCode::InvalidRequest)
    );
}

#[tokio::test]
async fn a_body_is_bounded_whatever_was_announced() {
    let chunks = |sizes: &'static [usize]| {
        let parts = sizes
            .iter()
            .map(|n| Ok::<_, std::convert::Infallible>(vec![b'x'; *n]));
        Body::from_stream(tokio_stream::iter(parts))
    };
    assert_eq!(read(Body::from("12345"), 5).await.unwrap(), "12345");
    assert_eq!(read(chunks(&[2, 0, 3]), 5).await.unwrap(), "xxxxx");
    for body in [
        Body::from("123456"),
        chunks(&[3, 3]),
        chunks(&[6]),
        chunks(&[5, 1]),
    ] {
        assert_eq!(
            read(body, 5).await.unwrap_err().code(),
            ProblemCode::TooLarge
        );
    }
    let broken: Vec<Result<&str, std::io::Error>> =
        vec![Ok("ab"), Err(std::io::Error::other("gone"))];
    let broken = Body::from_stream(tokio_stream::iter(broken));
    assert_eq!(
        read(broken, 5).await.unwrap_err().code(),
        ProblemCode::BadJson
    );
}

proptest! {
    #[test]
    fn no_body_panics_and_every_refusal_is_the_clients(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let body = Bytes::from(bytes);
        if let Err(problem) = Members::split(&body).and_then(Members::decode::<Wire>) {
            prop_assert_eq!(problem.code().status().as_u16(), 400);
        }
    }
}
