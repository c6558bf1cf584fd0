//! Events over HTTP: streams that replay and go on live, and pages (proto-docs/events.md).
//!
//! Imports `domain`, `journal`, `scheduler`. Visibility is judged at delivery, event by event; a
//! reader costs a place in the tail and what its connection holds, never a copy of the log.

use std::collections::VecDeque;

use axum::{body::Bytes, response::Response};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{
    HttpState,
    accept::Form,
    access::Caller,
    answer,
    connection::Watched,
    cursor::Cursor,
    login::Lease,
    problem::{Problem, ProblemCode},
    request::Admitted,
    sessions,
    sse::{Frames, More, StreamEvent, heartbeat, respond},
};
use crate::{
    config::Permission,
    domain::{AgentName, EventType, SessionId, Timestamp},
    journal::{After, EventQuery, Follow, FollowItem, Hello, Interest, PAGE_BYTES, TailItem},
    telemetry::{Open, Telemetry},
};

/// Longest list in `stream/hello`.
const HELLO_LIST: usize = 100;

/// `GET /v1/events`
pub(crate) async fn all(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let query = request.query();
    if query.is_set("answers") {
        let approve = [Permission::Approve];
        if !request.caller()?.may(&approve) {
            let detail = "`answers=true` needs the permission approve, which the token lacks";
            return Err(Problem::new(ProblemCode::Forbidden, detail));
        }
        return Err(Problem::not_built("answering approvals is"));
    }
    let session = match query.text("session") {
        None => None,
        Some(named) => {
            let id = SessionId::parse(named).map_err(|_| Problem::no_session())?;
            let row = state.scheduler.session(&id).await?;
            Some(sessions::seen_by(request.caller()?, row)?.id.clone())
        }
    };
    let sight = Sight {
        caller: request.caller()?.clone(),
        agent: request.agent_filter()?,
        types: query.text("types").map(types_of).transpose()?,
    };
    stream(&state, &request, session, sight).await
}

/// `GET /v1/sessions/{session}/events`
pub(crate) async fn of_session(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = sessions::visible(&state, &request).await?;
    if request.form() == Form::Json {
        return page(&state, &request, row.id.clone()).await;
    }
    let sight = Sight {
        caller: request.caller()?.clone(),
        agent: None,
        types: None,
    };
    stream(&state, &request, Some(row.id.clone()), sight).await
}

/// A page of a session's recorded events: the very envelopes that its stream sends.
async fn page(
    state: &HttpState,
    request: &Admitted,
    session: SessionId,
) -> Result<Response, Problem> {
    let query = EventQuery {
        session: Some(session),
        after: request.query().number("after").unwrap_or(0),
        limit: request.query().limit(),
        max_bytes: PAGE_BYTES,
    };
    let page = state.journal.store().events(query).await?;
    let next = page
        .events
        .last()
        .filter(|_| page.more)
        .map(|event| event.id);
    Ok(answer::page(next, |items| {
        for event in &page.events {
            items.raw(&event.frame.envelope());
        }
    }))
}

/// Types that the protocol knows and this version never records.
const LATER: &[&str] = &[
    "approval/asked",
    "approval/decided",
    "tool/retry",
    "tool/code-dispatch-start",
    "tool/code-dispatch",
    "hook/invoked",
    "hook/result",
    "todo/write",
    "job/started",
    "job/finished",
    "context/added",
    "grant/added",
    "grant/revoked",
];

fn types_of(list: &str) -> Result<Vec<EventType>, Problem> {
    let known = |word: &str| {
        EventType::parse(word).ok_or_else(|| {
            if LATER.contains(&word) {
                return Problem::not_built(&format!("the event type {word} is"));
            }
            let word = word.chars().take(80).collect::<String>();
            let all = EventType::ALL
                .iter()
                .map(|kind| kind.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            let detail = format!("the parameter `types` names {word:?}; this version has {all}");
            Problem::new(ProblemCode::InvalidRequest, detail)
        })
    };
    list.split(',').map(known).collect()
}

/// What a reader is shown of all that happens.
#[derive(Debug)]
struct Sight {
    caller: Caller,
    agent: Option<AgentName>,
    types: Option<Vec<EventType>>,
}

impl Sight {
    fn covers(&self, event: &TailItem) -> bool {
        self.types
            .as_ref()
            .is_none_or(|types| types.contains(&event.kind()))
            && self
                .agent
                .as_ref()
                .is_none_or(|agent| event.agent() == Some(agent))
            && self.caller.sees_event_of(event.agent())
    }

    fn covers_agent(&self, agent: &AgentName) -> bool {
        self.agent.as_ref().is_none_or(|only| only == agent) && self.caller.sees(agent)
    }
}

async fn stream(
    state: &HttpState,
    request: &Admitted,
    session: Option<SessionId>,
    sight: Sight,
) -> Result<Response, Problem> {
    let after = match Cursor::of(request.headers(), request.query().number("after")) {
        Cursor::Live => After::Live,
        Cursor::After(id) => After::Cursor(id),
        Cursor::Foreign => After::Unreadable,
    };
    let interest = session.clone().map_or(Interest::All, Interest::Session);
    let follow = Box::pin(state.journal.follow(interest, after)).await?;
    let watched = request.peer().map(|peer| peer.watch(follow.lag_watch()));
    Ok(respond(Reader {
        hello: Some(*follow.hello()),
        heartbeat: heartbeats(state),
        term: Term::of(state, &sight.caller),
        open: state.telemetry.stream_opened(),
        state: state.clone(),
        follow,
        session,
        sight,
        watched,
    }))
}

/// The clock of a stream's heartbeats.
pub(crate) fn heartbeats(state: &HttpState) -> Interval {
    let mut beats = interval(state.streams.heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beats.reset();
    beats
}

/// How long a stream may last.
#[derive(Debug)]
pub(crate) struct Term {
    ending: CancellationToken,
    caller: Caller,
}

impl Term {
    /// Of a stream that this caller opens: until the daemon stops, or the login ends.
    pub(crate) fn of(state: &HttpState, caller: &Caller) -> Self {
        Self {
            ending: state.ending.clone(),
            caller: caller.clone(),
        }
    }

    /// Why a stream that is over ends.
    pub(crate) const OVER: &str = "the daemon is stopping";
    /// Why a stream that is revoked ends.
    pub(crate) const REVOKED: &str = "the login has ended";

    /// Returns when the daemon stops. Cancellation-safe.
    pub(crate) async fn over(&self) {
        self.ending.cancelled().await;
    }

    /// Returns when its reader may see nothing more. Cancellation-safe.
    pub(crate) async fn revoked(&self) {
        self.caller.revoked().await;
    }

    /// Whether its reader may see nothing more.
    pub(crate) fn is_revoked(&self) -> bool {
        self.caller.login().is_some_and(Lease::is_over)
    }
}

/// One stream.
struct Reader {
    hello: Option<Hello>,
    follow: Follow,
    session: Option<SessionId>,
    sight: Sight,
    heartbeat: Interval,
    term: Term,
    state: HttpState,
    #[expect(dead_code, reason = "counts the stream as long as it lives")]
    open: Open,
    #[expect(
        dead_code,
        reason = "has the connection watch the stream as long as it lives"
    )]
    watched: Option<Watched>,
}

impl Frames for Reader {
    fn is_revoked(&self) -> bool {
        self.term.is_revoked()
    }

    async fn next(&mut self, frames: &mut VecDeque<Bytes>) -> More {
        if let Some(hello) = self.hello.take() {
            frames.push_back(self.greet(&hello));
            return More::Perhaps;
        }
        // All are cancellation-safe. The end comes last: what was published before it is told;
        // not so to one who may not see it any more.
        tokio::select! {
            biased;
            () = self.term.revoked() => {
                frames.push_back(end(Term::REVOKED, self.now(), self.session.as_ref()));
                More::No
            }
            _ = self.heartbeat.tick() => {
                frames.push_back(heartbeat());
                More::Perhaps
            }
            item = self.follow.next() => self.pass_on(item, frames),
            () = self.term.over() => {
                frames.push_back(end(Term::OVER, self.now(), self.session.as_ref()));
                More::No
            }
        }
    }
}

impl Reader {
    fn pass_on(
        &self,
        item: Result<FollowItem, crate::journal::Error>,
        frames: &mut VecDeque<Bytes>,
    ) -> More {
        match item {
            Ok(FollowItem::Events(events)) => {
                let seen = events.iter().filter(|event| self.sight.covers(event));
                frames.extend(seen.map(|event| event.frame().sse()));
                More::Perhaps
            }
            Ok(FollowItem::Gap { from, to }) => {
                frames.push_back(gap(from, to, self.now(), self.session.as_ref()));
                More::Perhaps
            }
            Ok(FollowItem::Lagged { last }) => {
                let telemetry = &self.state.telemetry;
                frames.push_back(lagged(last, self.now(), self.session.as_ref(), telemetry));
                More::No
            }
            // The reader resumes behind the last event that it has.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a stream was cut short"
                );
                More::No
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.state.clock.now()
    }

    fn greet(&self, hello: &Hello) -> Bytes {
        let visible = |agent: &AgentName| self.sight.covers_agent(agent);
        let scheduler = &self.state.scheduler;
        let (calls, more) = scheduler.in_flight(self.session.as_ref(), &visible, HELLO_LIST);
        let session = self.session.as_ref();
        StreamEvent::Hello.frame(Some(hello.cursor), self.now(), session, |w| {
            w.string("log_id", &hello.log_id.to_string())
                .string("head", &hello.head.to_string())
                .string("oldest", &hello.oldest.to_string())
                .array("in_flight", |list| {
                    for call in &calls {
                        list.nested(|w| call.write(w));
                    }
                })
                .array("pending_approvals", |_| {});
            if more {
                w.bool("more", true);
            }
        })
    }
}

/// Tells a reader that events between two cursors cannot be given.
fn gap(from: u64, to: u64, now: Timestamp, session: Option<&SessionId>) -> Bytes {
    StreamEvent::Gap.frame(None, now, session, |w| {
        w.string("from", &from.to_string())
            .string("to", &to.to_string());
    })
}

/// Tells a reader that the daemon ends the stream, and why.
pub(crate) fn end(reason: &str, now: Timestamp, session: Option<&SessionId>) -> Bytes {
    StreamEvent::End.frame(None, now, session, |w| {
        w.string("reason", reason);
    })
}

/// Tells a reader that it fell behind, and counts it.
pub(crate) fn lagged(
    last: u64,
    now: Timestamp,
    session: Option<&SessionId>,
    telemetry: &Telemetry,
) -> Bytes {
    telemetry.reader_lagged();
    StreamEvent::Lagged.frame(None, now, session, |w| {
        w.string("last", &last.to_string());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_words_of_this_version() {
        for later in LATER {
            assert!(EventType::parse(later).is_none(), "{later} is there now");
            assert_eq!(types_of(later).unwrap_err().code(), ProblemCode::NotBuilt);
        }
        let types = types_of("tool/call,tool/result").unwrap();
        assert_eq!(types, [EventType::ToolCall, EventType::ToolResult]);
        for bad in ["", "tool/calls", "tool/call, tool/result", "stream/hello"] {
            assert!(types_of(bad).is_err(), "{bad:?}");
        }
    }
}
