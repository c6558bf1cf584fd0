//! Server-sent events: the frames around the journal's own, and the body of a stream.
//!
//! Imports `domain`, `journal`. Recorded events are passed on as the bytes that were recorded;
//! only `stream/*` frames and heartbeats are made here.

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use tokio_stream::Stream;

use super::answer;
use crate::domain::{SessionId, Timestamp, json::ObjectWriter};

/// What proxies of one kind need to be told not to collect a stream.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A comment: no event, no id, only proof of life.
pub(crate) fn heartbeat() -> Bytes {
    Bytes::from_static(b": \n\n")
}

/// The types of the frames that a stream itself sends; never recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEvent {
    /// First: where the reader stands.
    Hello,
    /// What was asked for is not kept, or not there yet.
    Gap,
    /// The reader fell behind its bound.
    Lagged,
    /// The daemon stops, or the reader's view changed.
    End,
}

impl StreamEvent {
    /// Every type, with what its data holds.
    pub(crate) const ALL: &'static [(Self, &'static str)] = &[
        (
            Self::Hello,
            "`{log_id, head, oldest, in_flight, pending_approvals, more?}`: identity of the log, its newest and oldest id, what is under way (up to 100 each, then `more` is true). The frame's `id:` is the cursor that the stream starts from",
        ),
        (
            Self::Gap,
            "`{from, to}`: events between the two cursors cannot be given; the stream goes on live behind `to`",
        ),
        (
            Self::Lagged,
            "`{last}`: the reader fell behind; the stream closes, and the reader resumes behind `last`",
        ),
        (Self::End, "`{reason}`: the daemon ends the stream"),
    ];

    /// The wire word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Hello => "stream/hello",
            Self::Gap => "stream/gap",
            Self::Lagged => "stream/lagged",
            Self::End => "stream/end",
        }
    }

    /// Makes a frame; `id` is the cursor that a reader keeps, `data` fills the event's data.
    pub(crate) fn frame(
        self,
        id: Option<u64>,
        now: Timestamp,
        session: Option<&SessionId>,
        data: impl FnOnce(&mut ObjectWriter<'_>),
    ) -> Bytes {
        let id = id.map(|id| id.to_string());
        let mut out = Vec::with_capacity(256);
        if let Some(id) = &id {
            out.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        out.extend_from_slice(format!("event: {}\ndata: ", self.as_str()).as_bytes());
        let mut w = ObjectWriter::new(&mut out);
        w.string_opt("id", id.as_deref())
            .string("time", &now.to_string())
            .string("type", self.as_str())
            .string_opt("session_id", session.map(SessionId::as_str))
            .nested("data", data);
        w.end();
        out.extend_from_slice(b"\n\n");
        out.into()
    }
}

/// Something that has frames to send, a few at a time.
pub(crate) trait Frames: Send + 'static {
    /// Whether the reader may see nothing more: what waits to be sent is then dropped.
    fn is_revoked(&self) -> bool;

    /// Waits for the next frames and appends them. Answers whether more may follow. Never
    /// dropped half way while the stream is read.
    fn next(&mut self, frames: &mut VecDeque<Bytes>) -> impl Future<Output = More> + Send;
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// It does.
    Perhaps,
    /// What was appended is the end.
    No,
}

/// The answer that streams these frames: uncompressed, uncached, its first bytes at once.
pub(crate) fn respond(frames: impl Frames) -> Response {
    let body = Body::from_stream(stream(frames));
    let mut response = answer::with_body(StatusCode::OK, "text/event-stream", body);
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-store, no-transform"),
    );
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

fn stream(source: impl Frames) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let start = Box::new((source, VecDeque::new(), More::Perhaps));
    futures_util::stream::unfold(start, |mut state| async move {
        loop {
            let (source, ready, more) = &mut *state;
            if *more == More::Perhaps && source.is_revoked() {
                ready.clear();
            }
            if let Some(frame) = ready.pop_front() {
                return Some((Ok(frame), state));
            }
            if *more == More::No {
                return None;
            }
            *more = source.next(ready).await;
        }
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::StreamExt as _;

    use super::*;

    #[test]
    fn a_stream_frame_is_an_envelope_with_or_without_a_cursor() {
        let now = Timestamp::from_micros(0);
        let hello = StreamEvent::Hello.frame(Some(7), now, None, |w| {
            w.string("head", "9");
        });
        assert_eq!(
            hello,
            "id: 7\nevent: stream/hello\ndata: {\"id\":\"7\",\"time\":\"1970-01-01T00:00:00.000000Z\",\"type\":\"stream/hello\",\"data\":{\"head\":\"9\"}}\n\n"
        );
        let end = StreamEvent::End.frame(None, now, None, |_| {});
        assert!(end.starts_with(b"event: stream/end\n"));
    }

    #[test]
    fn c16_a_heartbeat_is_a_comment_without_an_id() {
        assert!(heartbeat().starts_with(b":"));
        assert!(!heartbeat().windows(3).any(|w| w == b"id:"));
    }

    struct Counting(usize);

    impl Frames for Counting {
        fn is_revoked(&self) -> bool {
            false
        }

        async fn next(&mut self, frames: &mut VecDeque<Bytes>) -> More {
            self.0 += 1;
            frames.extend((0..self.0).map(|n| Bytes::from(format!("{}.{n}", self.0))));
            if self.0 < 3 { More::Perhaps } else { More::No }
        }
    }

    #[tokio::test]
    async fn frames_leave_in_order_and_the_last_batch_is_sent_whole() {
        let sent: Vec<_> = stream(Counting(0)).map(|f| f.unwrap()).collect().await;
        assert_eq!(sent, ["1.0", "2.0", "2.1", "3.0", "3.1", "3.2"]);
    }

    /// Revoked once it was asked so often.
    struct Revoked(Cell<usize>);

    impl Frames for Revoked {
        fn is_revoked(&self) -> bool {
            self.0.set(self.0.get().saturating_sub(1));
            self.0.get() == 0
        }

        async fn next(&mut self, frames: &mut VecDeque<Bytes>) -> More {
            if self.is_revoked() {
                frames.push_back(Bytes::from_static(b"end"));
                return More::No;
            }
            frames.extend([b"a", b"b", b"c"].map(|text| Bytes::from_static(text)));
            More::Perhaps
        }
    }

    #[tokio::test]
    async fn what_waits_to_be_sent_is_dropped_when_its_reader_may_not_see_it_any_more() {
        let source = Revoked(Cell::new(5));
        let sent: Vec<_> = stream(source).map(|f| f.unwrap()).collect().await;
        assert_eq!(sent, ["a", "b", "end"]);
    }

    #[tokio::test]
    async fn c16_streams_are_not_collected_cached_or_compressed_on_the_way() {
        let response = respond(Counting(0));
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert_eq!(
            response.headers()[header::CACHE_CONTROL],
            "no-store, no-transform"
        );
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "text/event-stream"
        );
        assert!(!response.headers().contains_key(header::CONTENT_ENCODING));
    }
}
