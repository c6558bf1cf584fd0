//! Where a reader of events wants to go on: `Last-Event-ID` and `?after=` (proto-docs/events.md).
//!
//! Pure; imports nothing of ours. A cursor is a position in the log and no more: whoever sends
//! one learns nothing by it.

use axum::http::{HeaderMap, HeaderName};

use super::query::number;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Where to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// With what happens from now on.
    Live,
    /// Behind the event of this id; 0 is the beginning, what is too large is ahead of everything.
    After(u64),
    /// Somewhere that no log of ours has: the reader is told that there is a gap.
    Foreign,
}

impl Cursor {
    /// The header wins: a browser that reconnects sends it beside the URL it was opened with.
    pub(crate) fn of(headers: &HeaderMap, after: Option<u64>) -> Self {
        match headers.get(LAST_EVENT_ID) {
            Some(value) if !value.is_empty() => value
                .to_str()
                .ok()
                .and_then(number)
                .map_or(Self::Foreign, Self::After),
            Some(_) | None => after.map_or(Self::Live, Self::After),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(header: Option<&[u8]>, after: Option<u64>) -> Cursor {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(LAST_EVENT_ID, HeaderValue::from_bytes(header).unwrap());
        }
        Cursor::of(&headers, after)
    }

    #[test]
    fn c13_every_cursor_means_something() {
        let long = vec![b'9'; 10 * 1024];
        for (header, after, want) in [
            (None, None, Cursor::Live),
            (None, Some(0), Cursor::After(0)),
            (Some(&b""[..]), None, Cursor::Live),
            (Some(b""), Some(4), Cursor::After(4)),
            (Some(b"17"), Some(4), Cursor::After(17)),
            (Some(b"-1"), Some(4), Cursor::Foreign),
            (Some(b"abc"), None, Cursor::Foreign),
            (Some(b"1 2"), None, Cursor::Foreign),
            (Some(b"\xff"), None, Cursor::Foreign),
            (Some(b"18446744073709551616"), None, Cursor::After(u64::MAX)),
            (Some(&long), None, Cursor::After(u64::MAX)),
        ] {
            assert_eq!(of(header, after), want, "{header:?} {after:?}");
        }
    }
}
