//! How long a client is willing to wait: `Prefer: wait=N` and `respond-async` (RFC 7240).
//!
//! Pure. Imports `query` for what a number is (RFC 9110 §10.2.3 has the same).

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{lists, query};

const PREFER: HeaderName = HeaderName::from_static("prefer");
/// The header that says which preferences were honoured (RFC 7240 §3).
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The preferences that we know; the others are ignored, as are malformed ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Preferences {
    wait: Option<u64>,
    respond_async: bool,
}

impl Preferences {
    /// Reads every `Prefer` header; of a preference that stands twice the first counts (§2).
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        for header in headers
            .get_all(PREFER)
            .iter()
            .filter_map(|h| h.to_str().ok())
        {
            for preference in lists::split(header, ',') {
                found.note(preference);
            }
        }
        found
    }

    fn note(&mut self, preference: &str) {
        let (name, value) = lists::pair(lists::split(preference, ';').next().unwrap_or_default());
        if name.eq_ignore_ascii_case("respond-async") {
            self.respond_async = true;
        } else if name.eq_ignore_ascii_case("wait") && self.wait.is_none() {
            self.wait = query::number(value);
        }
    }

    /// How long to wait for the result before the call record is answered instead.
    pub(crate) fn patience(self, longest: Duration) -> Duration {
        match (self.wait, self.respond_async) {
            (Some(seconds), _) => Duration::from_secs(seconds).min(longest),
            (None, true) => Duration::ZERO,
            (None, false) => longest,
        }
    }

    /// What `Preference-Applied` says; nothing when nothing was preferred.
    pub(crate) fn applied(self, longest: Duration) -> Option<HeaderValue> {
        let wait = self
            .wait
            .map(|_| format!("wait={}", self.patience(longest).as_secs()));
        let text = match (wait, self.respond_async) {
            (Some(wait), true) => format!("respond-async, {wait}"),
            (Some(wait), false) => wait,
            (None, true) => "respond-async".to_owned(),
            (None, false) => return None,
        };
        HeaderValue::from_str(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: Duration = Duration::from_mins(10);

    fn of(lines: &[&str]) -> (u64, Option<String>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PREFER, HeaderValue::from_str(line).unwrap());
        }
        let preferences = Preferences::of(&headers);
        let applied = preferences
            .applied(MAX)
            .map(|h| h.to_str().unwrap().to_owned());
        (preferences.patience(MAX).as_secs(), applied)
    }

    #[test]
    fn preferences_as_clients_write_them() {
        let applied = |text: &str| Some(text.to_owned());
        for (lines, want) in [
            (&[][..], (600, None)),
            (&["wait=10"], (10, applied("wait=10"))),
            (&["WAIT = \"10\""], (10, applied("wait=10"))),
            (&["wait=0"], (0, applied("wait=0"))),
            (&["respond-async"], (0, applied("respond-async"))),
            (
                &["Respond-Async, wait=5"],
                (5, applied("respond-async, wait=5")),
            ),
            (
                &["respond-async", "wait=5"],
                (5, applied("respond-async, wait=5")),
            ),
            (&["wait=7;foo=\"a,b\", wait=9"], (7, applied("wait=7"))),
            (&["wait=99999"], (600, applied("wait=600"))),
            (
                &["wait=99999999999999999999999"],
                (600, applied("wait=600")),
            ),
            (&["return=minimal, handling=lenient"], (600, None)),
            (&["wait"], (600, None)),
            (&["wait=-1"], (600, None)),
            (&["wait=1.5"], (600, None)),
            (&["wait=soon, wait=3"], (3, applied("wait=3"))),
            (&["x=\"wait=1, respond-async\""], (600, None)),
        ] {
            assert_eq!(of(lines), want, "{lines:?}");
        }
    }

    proptest! {
        #[test]
        fn nobody_waits_longer_than_the_daemon_allows(line in "[ -~]{0,60}") {
            let (seconds, _) = of(&[&line]);
            prop_assert!(seconds <= MAX.as_secs());
        }
    }
}
