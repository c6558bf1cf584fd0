//! Pages of other origins that are configured: their preflights, and leave to read the answers
//! (the Fetch standard, "CORS protocol").
//!
//! Pure: headers in, headers out. Imports nothing of ours. Whether an origin may talk to the
//! daemon at all is judged before this, by `host`.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
/// What a page may send beside the few headers that need no leave.
const TAKEN: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, if-none-match, prefer, last-event-id",
);
/// What a page may read beside the few headers that need no leave.
const SHOWN: HeaderValue =
    HeaderValue::from_static("location, etag, retry-after, toold-replayed, preference-applied");
/// Seconds for which a browser need not ask again.
const KEPT: HeaderValue = HeaderValue::from_static("600");

/// The origin of a request, when it is one of the configured.
pub(crate) fn origin_of(headers: &HeaderMap, configured: &[String]) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    configured
        .iter()
        .any(|known| known == text)
        .then(|| origin.clone())
}

/// Whether a request only asks what another one may do.
pub(crate) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to a preflight of a configured origin.
pub(crate) fn preflight(origin: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, TAKEN);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT);
    allow(headers, origin);
    response
}

/// Lets a page of a configured origin read an answer.
pub(crate) fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
    allow(headers, origin);
}

/// Says that the answer depends on who asks, for whatever keeps answers.
pub(crate) fn vary(headers: &mut HeaderMap) {
    const ORIGIN: HeaderName = header::ORIGIN;
    headers.append(header::VARY, HeaderValue::from_name(ORIGIN));
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        HeaderValue::from_static("true"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, v)| (name.clone(), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn only_a_configured_origin_is_shared_with() {
        let configured = ["https://console.example".to_owned()];
        for (origin, known) in [
            ("https://console.example", true),
            ("https://console.example.evil", false),
            ("http://console.example", false),
            ("null", false),
        ] {
            let asked = headers(&[(header::ORIGIN, origin)]);
            assert_eq!(origin_of(&asked, &configured).is_some(), known, "{origin}");
        }
        assert!(origin_of(&HeaderMap::new(), &configured).is_none());
    }

    #[test]
    fn a_preflight_is_told_apart_from_a_plain_options() {
        let asked = headers(&[(header::ACCESS_CONTROL_REQUEST_METHOD, "PUT")]);
        assert!(is_preflight(&Method::OPTIONS, &asked));
        assert!(!is_preflight(&Method::GET, &asked));
        assert!(!is_preflight(&Method::OPTIONS, &HeaderMap::new()));
        let answer = preflight(HeaderValue::from_static("https://console.example"));
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        let origin = &answer.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN];
        assert_eq!(origin, "https://console.example", "never a wildcard");
    }
}
