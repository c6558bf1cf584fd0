//! Answers that are not problems: how bytes become a response.
//!
//! Imports `domain`. Encodes nothing twice: what is already JSON is passed on as it is.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use crate::domain::json::{ArrayWriter, ObjectWriter};

/// An answer whose body is an object that `write` fills.
pub(crate) fn object(status: StatusCode, write: impl FnOnce(&mut ObjectWriter<'_>)) -> Response {
    let mut out = Vec::with_capacity(512);
    let mut w = ObjectWriter::new(&mut out);
    write(&mut w);
    w.end();
    json(status, out.into())
}

/// A page: `{items, next_cursor?}`.
pub(crate) fn page(
    next: Option<impl ToString>,
    items: impl FnOnce(&mut ArrayWriter<'_>),
) -> Response {
    object(StatusCode::OK, |w| {
        w.array("items", items);
        if let Some(next) = next {
            w.string("next_cursor", &next.to_string());
        }
    })
}

/// An answer whose body is JSON already. Nothing on the way may keep it: it belongs to one token.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Response {
    let mut response = typed(status, "application/json", body);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer of another media type.
pub(crate) fn typed(status: StatusCode, media_type: &'static str, body: Bytes) -> Response {
    with_body(status, media_type, Body::from(body))
}

/// An answer with a body that may be a stream.
pub(crate) fn with_body(status: StatusCode, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Says where the thing that was made can be found.
pub(crate) fn locate(headers: &mut HeaderMap, segments: &[&str]) {
    let mut path = String::from("/v1");
    for segment in segments {
        path.push('/');
        encode_segment(&mut path, segment);
    }
    // Encoded, so it always is a header value.
    if let Ok(value) = HeaderValue::try_from(path) {
        headers.insert(header::LOCATION, value);
    }
}

/// Percent-encodes everything but RFC 3986's unreserved characters.
fn encode_segment(path: &mut String, segment: &str) {
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
            continue;
        }
        path.push('%');
        for nibble in [byte >> 4, byte & 15] {
            let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
            path.push(digit.to_ascii_uppercase());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_survives_any_id() {
        let mut headers = HeaderMap::new();
        locate(&mut headers, &["sessions", "a/b?c", "calls", "é 1:call:2"]);
        assert_eq!(
            headers[header::LOCATION],
            "/v1/sessions/a%2Fb%3Fc/calls/%C3%A9%201%3Acall%3A2"
        );
    }
}
