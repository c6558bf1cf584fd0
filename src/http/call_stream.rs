//! A call's answer as a stream: its own events, the last being `tool/result` (proto-docs/lifecycle.md).
//!
//! Imports `domain`, `journal`, `scheduler`. The same frames as everywhere else, picked out of the
//! session's events; nested calls have ids of their own and are not among them.

use std::collections::VecDeque;

use axum::{body::Bytes, response::Response};
use tokio::time::Interval;

use super::{
    HttpState,
    calls::{Leash, mark},
    connection::{Peer, Watched},
    events::{Term, end, heartbeats, lagged},
    problem::Problem,
    request::Admitted,
    sse::{Frames, More, heartbeat, respond},
};
use crate::{
    domain::{CallId, EventType, Frame, json::escape_into},
    journal::{After, Follow, FollowItem, Interest, TailItem},
    scheduler::{Accepted, CallRequest},
};

/// Submits a call and streams its events, from the first on also when it had been submitted
/// before.
///
/// # Errors
/// As a submission's; once events flow, nothing is an error any more.
#[expect(
    clippy::option_option,
    reason = "not tied, and tied without a socket, are different"
)]
pub(crate) async fn submit(
    state: &HttpState,
    request: &Admitted,
    call: CallRequest,
    tied_to: Option<Option<Peer>>,
) -> Result<Response, Problem> {
    let interest = Interest::Session(call.session.clone());
    // Watched before it is submitted, so that not even its first live event is missed.
    let mut follow = state.journal.follow(interest.clone(), After::Live).await?;
    let accepted = state.scheduler.submit(call).await?;
    let leash = Leash::of(&accepted.handle, tied_to);
    if accepted.replayed {
        follow = state
            .journal
            .follow(interest, After::Cursor(before(state, &accepted).await?))
            .await?;
    }
    let watched = request.peer().map(|peer| peer.watch(follow.lag_watch()));
    let mut response = respond(CallReader {
        greeted: false,
        picks: Picker::new(accepted.handle.call_id()),
        heartbeat: heartbeats(state),
        term: Term::of(state, request.caller()?),
        state: state.clone(),
        follow,
        leash,
        watched,
    });
    mark(&mut response, &accepted);
    Ok(response)
}

/// The cursor just before a call's first event.
async fn before(state: &HttpState, accepted: &Accepted) -> Result<u64, Problem> {
    let call = &accepted.handle;
    let record = state
        .scheduler
        .record(call.session(), call.call_id())
        .await?;
    Ok(record.row.accepted.saturating_sub(1))
}

/// Picks one call's events out of its session's.
#[derive(Debug)]
struct Picker {
    call: CallId,
    member: Vec<u8>,
}

impl Picker {
    fn new(call: &CallId) -> Self {
        let mut member = br#","call_id":"#.to_vec();
        escape_into(&mut member, call.as_str());
        Self {
            call: call.clone(),
            member,
        }
    }

    fn takes(&self, event: &TailItem) -> bool {
        match event {
            TailItem::Live(event) => event.subject.call_id.as_ref() == Some(&self.call),
            TailItem::Recorded(event) => self.names(&event.frame),
        }
    }

    /// Whether the envelope, its data apart, has this call's `call_id`. The bytes looked for hold
    /// bare quotes, so they cannot lie inside a string.
    fn names(&self, frame: &Frame) -> bool {
        let (envelope, data) = frame.offsets();
        let bytes = frame.sse();
        let head = bytes.get(envelope..data).unwrap_or_default();
        head.windows(self.member.len())
            .any(|window| window == self.member)
    }
}

/// One call's stream.
struct CallReader {
    greeted: bool,
    picks: Picker,
    follow: Follow,
    heartbeat: Interval,
    term: Term,
    leash: Leash,
    state: HttpState,
    #[expect(
        dead_code,
        reason = "has the connection watch the stream as long as it lives"
    )]
    watched: Option<Watched>,
}

impl Frames for CallReader {
    fn is_revoked(&self) -> bool {
        self.term.is_revoked()
    }

    async fn next(&mut self, frames: &mut VecDeque<Bytes>) -> More {
        if !self.greeted {
            // The first bytes leave at once, whatever the tool does.
            self.greeted = true;
            frames.push_back(heartbeat());
            return More::Perhaps;
        }
        // All are cancellation-safe. The end comes last: what was published before it is told;
        // not so to one who may not see it any more.
        let item = tokio::select! {
            biased;
            () = self.term.revoked() => {
                frames.push_back(end(Term::REVOKED, self.state.clock.now(), None));
                return self.part();
            }
            _ = self.heartbeat.tick() => {
                frames.push_back(heartbeat());
                return More::Perhaps;
            }
            never = self.leash.watch() => match never {},
            item = self.follow.next() => item,
            () = self.term.over() => {
                frames.push_back(end(Term::OVER, self.state.clock.now(), None));
                return self.part();
            }
        };
        match item {
            Ok(FollowItem::Events(events)) => self.pass_on(&events, frames),
            Ok(FollowItem::Gap { .. }) => More::Perhaps,
            Ok(FollowItem::Lagged { last }) => {
                let (now, telemetry) = (self.state.clock.now(), &self.state.telemetry);
                frames.push_back(lagged(last, now, None, telemetry));
                self.part()
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a stream was cut short"
                );
                self.part()
            }
        }
    }
}

impl CallReader {
    fn pass_on(&mut self, events: &[TailItem], frames: &mut VecDeque<Bytes>) -> More {
        for event in events.iter().filter(|event| self.picks.takes(event)) {
            frames.push_back(event.frame().sse());
            if event.kind() == EventType::ToolResult {
                return self.finish();
            }
        }
        More::Perhaps
    }

    /// The stream ends with the result.
    fn finish(&mut self) -> More {
        self.leash.let_go();
        More::No
    }

    /// The stream ends without it. That is not the client's going away, which still counts when
    /// it comes.
    fn part(&mut self) -> More {
        let leash = self.leash.take();
        drop(
            self.state
                .changes
                .spawn(leash.outlive(self.state.ending.clone())),
        );
        More::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EventDraft, SessionId, Subject, Timestamp};

    fn frame(session: &str, call: Option<&str>, root: &str, data: &str) -> Frame {
        let subject = Subject {
            session: Some(SessionId::parse(session).unwrap()),
            call_id: call.map(|call| CallId::parse_existing(call).unwrap()),
            root_call_id: Some(CallId::parse_existing(root).unwrap()),
            ..Subject::default()
        };
        let draft = EventDraft::new(EventType::ToolCall, subject, |w| {
            w.string("text", data);
        });
        draft.frame(Some(1), Some(1), Timestamp::default())
    }

    #[test]
    fn a_call_is_picked_by_its_own_id_and_by_nothing_that_looks_like_it() {
        let call = CallId::parse("c\"7\\").unwrap();
        let picker = Picker::new(&call);
        assert!(picker.names(&frame("s", Some("c\"7\\"), "c\"7\\", "x")));
        let fake = r#","call_id":"c\"7\\""#;
        for other in [
            frame("s", Some("c\"7\\:call:1"), "c\"7\\", "x"),
            frame("s", Some("c\"7"), "c\"7\\", "x"),
            frame("s", None, "c\"7\\", "x"),
            frame("s", Some("other"), "other", fake),
            frame(fake, Some("other"), fake, "x"),
            frame("s", Some(fake), "other", "x"),
        ] {
            assert!(!picker.names(&other), "{other:?}");
        }
    }
}
