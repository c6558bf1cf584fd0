//! The port [`Store`]: where the journal is kept. Its conformance suite is `tests/conformance`.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

use super::{
    append::{Append, CallRow, Commit, Recorded, SessionRow},
    error::Error,
};
use crate::domain::{AgentName, CallId, Json, SessionId};

/// Where a store shows what it has committed: called once per commit group, in commit order,
/// after the group is durable and before its appenders are answered. Must not block.
pub trait Publish: Debug + Send + Sync {
    /// Shows one group.
    fn publish(&self, events: &[Arc<Recorded>]);
}

/// Bytes from which a page ends, however few items are on it: what is read, held and sent at once
/// for one reader.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Only this session's.
    pub session: Option<SessionId>,
    /// Only with a greater id.
    pub after: u64,
    /// At most this many events.
    pub limit: usize,
    /// Stops after the event that reaches this many frame bytes.
    pub max_bytes: usize,
}

/// A page of events in id order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Arc<Recorded>>,
    /// Whether more were there when the page was read.
    pub more: bool,
}

/// What there is between the ends of the log or of one session; ids are 0 when there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Oldest kept event.
    pub oldest: u64,
    /// Newest event.
    pub head: u64,
    /// Newest event that retention removed: a reader behind an older one has missed something.
    pub pruned: u64,
}

/// Which sessions to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only of this agent.
    pub agent: Option<AgentName>,
    /// Position behind which the page starts, from the page before.
    pub cursor: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

/// Which calls of a session to list, in the order of their accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallQuery {
    /// The session.
    pub session: SessionId,
    /// Only accepted after this event id.
    pub after: u64,
    /// At most this many.
    pub limit: usize,
    /// Whether nested calls are listed too.
    pub nested: Nested,
    /// Only with (`Some(true)`) or without (`Some(false)`) a result.
    pub settled: Option<bool>,
}

/// Whether nested calls are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nested {
    /// Top-level calls only.
    #[default]
    Hidden,
    /// All.
    Shown,
}

/// Small durable documents beside the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// Agents registered at run time.
    Agent,
    /// Nothing: it is put to see whether anything can be.
    Probe,
}

impl DocumentKind {
    /// The store's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Probe => "probe",
        }
    }
}

/// Where the journal is kept.
///
/// Ordering: appends take effect in the order in which `submit` returned, each whole or not at
/// all; ids grow in that order and are never used twice, also after going back to a copy (every
/// start skips ahead); `seq` counts 1, 2, 3 … per session without a gap. Durability: a commit is
/// answered, and its events are published, only when it is durable as configured. Reads see every
/// commit that was answered before they began. Every method is cancellation-safe: a dropped
/// future leaves the store whole.
#[async_trait]
pub trait Store: Debug + Send + Sync {
    /// Queues an append behind all queued before. Waits while the queue is full.
    async fn submit(&self, append: Append) -> Result<Commit, Error>;
    /// A page of events after a cursor, the very frames that were published.
    async fn events(&self, query: EventQuery) -> Result<EventPage, Error>;
    /// One event by its id.
    async fn event(&self, id: u64) -> Result<Option<Arc<Recorded>>, Error>;
    /// Oldest and newest id, of the store or of one session.
    async fn bounds(&self, session: Option<SessionId>) -> Result<Bounds, Error>;
    /// One session.
    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error>;
    /// Sessions, newest first, each with the cursor that continues behind it.
    async fn sessions(&self, query: SessionQuery) -> Result<Vec<(u64, SessionRow)>, Error>;
    /// One call.
    async fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Error>;
    /// Calls of a session.
    async fn calls(&self, query: CallQuery) -> Result<Vec<CallRow>, Error>;
    /// Calls without a result, of every session, in the order of their accept, after an event id.
    async fn open_calls(&self, after: u64, limit: usize) -> Result<Vec<CallRow>, Error>;
    /// Keeps a document under its kind and key, replacing one that is there. Durable when it
    /// returns.
    async fn put_document(&self, kind: DocumentKind, key: &str, body: Json) -> Result<(), Error>;
    /// Removes a document; whether it was there.
    async fn delete_document(&self, kind: DocumentKind, key: &str) -> Result<bool, Error>;
    /// All documents of a kind, by key.
    async fn documents(&self, kind: DocumentKind) -> Result<Vec<(String, Json)>, Error>;
    /// Identity of this log, as `stream/hello` tells it.
    fn log_id(&self) -> uuid::Uuid;
    /// Commits what is queued, marks the stop as clean and refuses everything after.
    async fn close(&self) -> Result<(), Error>;
    /// For operators: kind and durability, as `/readyz` tells them.
    fn describe(&self) -> String;
}
