//! Request bodies: reading them within their bound, and taking them apart strictly.
//!
//! Imports `domain`. The members of a body are judged one by one, so that `arguments` stays the
//! raw text that the client wrote and everything else is refused when it is not known.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, header},
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::problem::{Problem, ProblemCode};
use crate::domain::json::{Json, Limits, Object, ReadErrorKind, decode_object, members};

/// Longest silence in the middle of a body.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a whole body may take to arrive, beside the time for its size.
const WHOLE: Duration = Duration::from_secs(30);
/// The slowest rate that a large body may come at, in bytes per second.
const SLOWEST: u64 = 128 * 1024;

/// Whether a route takes a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRule {
    /// None; one that is sent is refused.
    None,
    /// One may be sent.
    Optional,
    /// One must be sent.
    Required,
}

/// Judges the announced form of a body: `application/json` in UTF-8, not compressed. Whether one
/// is there is what `rule` says; an empty one needs no form unless it must be there.
///
/// # Errors
/// `UNSUPPORTED_MEDIA_TYPE`, or `INVALID_REQUEST` where no body belongs.
pub(crate) fn judge_form(headers: &HeaderMap, body: &Body, rule: BodyRule) -> Result<(), Problem> {
    let is_empty = body.is_end_stream();
    let declared = headers
        .get(header::CONTENT_TYPE)
        .map(|v| v.to_str().unwrap_or_default());
    let fits = match declared {
        Some(declared) => is_json(declared),
        None => is_empty && rule != BodyRule::Required,
    };
    if !fits || headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(
            ProblemCode::UnsupportedMediaType,
            "send the body as plain `Content-Type: application/json`",
        ));
    }
    if rule == BodyRule::None && !is_empty {
        return Err(Problem::new(
            ProblemCode::InvalidRequest,
            "this request takes no body",
        ));
    }
    Ok(())
}

fn is_json(content_type: &str) -> bool {
    let mut parts = super::lists::split(content_type, ';');
    parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
        && parts.map(super::lists::pair).all(|(name, value)| {
            !name.eq_ignore_ascii_case("charset") || value.eq_ignore_ascii_case("utf-8")
        })
}

/// Reads a whole body. What was announced is only believed when it is too much: the bytes that
/// come are counted.
///
/// # Errors
/// `TOO_LARGE` beyond `limit` bytes; `INVALID_REQUEST` for a body that stalls or breaks off.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, Problem> {
    let whole = WHOLE + Duration::from_secs(limit as u64 / SLOWEST);
    timeout(whole, collect(body, limit))
        .await
        .map_err(|_| stalled())?
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large(limit));
    }
    let mut first = Bytes::new();
    let mut rest = Vec::new();
    while let Some(frame) = timeout(SILENCE, body.frame())
        .await
        .map_err(|_| stalled())?
    {
        // Trailers say nothing to us.
        let Ok(data) = frame.map_err(|_| broken_off())?.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        if first.is_empty() {
            first = data;
        } else {
            rest.extend_from_slice(&data);
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    let mut whole = Vec::with_capacity(first.len() + rest.len());
    whole.extend_from_slice(&first);
    whole.append(&mut rest);
    Ok(whole.into())
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        ProblemCode::TooLarge,
        format!("a body may have at most {limit} bytes (server.max_body)"),
    )
}

fn stalled() -> Problem {
    let detail = "the body came too slowly: send it without pauses";
    Problem::new(ProblemCode::InvalidRequest, detail)
}

fn broken_off() -> Problem {
    Problem::new(ProblemCode::BadJson, "the body broke off before its end")
}

/// The members of a body: some taken out raw or as free objects, the rest decoded strictly.
#[derive(Debug)]
pub(crate) struct Members {
    body: Bytes,
    left: Vec<(String, Bytes)>,
}

impl Members {
    /// Splits a body into its members. An empty body has none.
    ///
    /// # Errors
    /// `BAD_JSON` with line and column for what is not JSON, `INVALID_REQUEST` for JSON that is
    /// not an object.
    pub(crate) fn split(body: &Bytes) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self {
                body: body.clone(),
                left: Vec::new(),
            });
        }
        let found = members(body).map_err(|error| match error.kind {
            ReadErrorKind::RootNotObject => Problem::new(
                ProblemCode::InvalidRequest,
                "the body must be a JSON object",
            )
            .at(""),
            ReadErrorKind::Syntax { .. }
            | ReadErrorKind::UnexpectedEnd { .. }
            | ReadErrorKind::InvalidUtf8
            | ReadErrorKind::DuplicateMember { .. }
            | ReadErrorKind::NumberTooLong
            | ReadErrorKind::NumberOutOfRange
            | ReadErrorKind::LoneSurrogate
            | ReadErrorKind::TooDeep
            | ReadErrorKind::TooLarge
            | ReadErrorKind::ReservedMember => Problem::from(error),
        })?;
        let left = found
            .into_iter()
            .map(|(name, raw)| (name, body.slice_ref(raw)))
            .collect();
        Ok(Self {
            body: body.clone(),
            left,
        })
    }

    /// Takes a member out as the text that it was sent as.
    pub(crate) fn take_raw(&mut self, name: &str) -> Option<Bytes> {
        let at = self.left.iter().position(|(found, _)| found == name)?;
        Some(self.left.swap_remove(at).1)
    }

    /// Takes a member out whose own members are free; missing and `null` are an empty object.
    ///
    /// # Errors
    /// `BAD_JSON` when it cannot be kept exactly, `INVALID_REQUEST` when it is not an object.
    pub(crate) fn take_object(&mut self, name: &str) -> Result<Object, Problem> {
        let Some(raw) = self.take_raw(name) else {
            return Ok(Object::new());
        };
        match self.read(name, &raw)? {
            Json::Object(members) => Ok(members),
            Json::Null => Ok(Object::new()),
            Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                let detail = format!("`{name}` must be an object");
                Err(Problem::new(ProblemCode::InvalidRequest, detail).at(format!("/{name}")))
            }
        }
    }

    /// Takes out and decodes one member; missing and `null` are nothing.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    pub(crate) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Problem> {
        let Some(raw) = self.take_raw(name) else {
            return Ok(None);
        };
        let value = self.read(name, &raw)?;
        let decoded = value.decode::<Option<T>>();
        Ok(decoded.map_err(|mut error| {
            error.pointer.insert_str(0, &format!("/{name}"));
            error
        })?)
    }

    /// Decodes what is left.
    ///
    /// # Errors
    /// `BAD_JSON` for what cannot be kept exactly, `INVALID_REQUEST` with the pointer for members
    /// that are unknown, missing or of the wrong kind.
    pub(crate) fn decode<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let mut object = Object::with_capacity(self.left.len());
        for (name, raw) in &self.left {
            object.insert(name.clone(), self.read(name, raw)?);
        }
        Ok(decode_object(&object)?)
    }

    fn read(&self, name: &str, raw: &Bytes) -> Result<Json, Problem> {
        Json::read(raw, &Limits::default()).map_err(|error| {
            // The place counts from the member's start, which helps nobody: count from the body's.
            let start = raw
                .as_ptr()
                .addr()
                .saturating_sub(self.body.as_ptr().addr());
            let at = start + error.position.offset;
            let detail = format!("refused JSON at byte {at} of the body: {}", error.kind);
            Problem::new(ProblemCode::BadJson, detail).at(error.within(name).pointer)
        })
    }
}

#[cfg(test)]
mod tests {
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
        let text = r#"{"name":"echo","arguments": {"n":1e400, "deep":[1.0]} ,"turn":3,"metadata":{"any":1}}"#;
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
}
