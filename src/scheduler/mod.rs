//! Sessions, lanes, idempotency, cancellation, nested calls, recovery: who runs when.
//!
//! Drives the stages of `pipeline` and owns everything that lies between and around them. Imports
//! `domain`, `journal`, `registry`, `approval`, `pipeline`. Must not know HTTP.

mod call;
mod drain;
mod error;
mod lane;
mod lock;
mod nested;
mod observations;
mod record;
mod recovery;
mod request;
mod run;
mod session;
mod sessions;
mod submit;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

pub use call::{CallHandle, CallSummary};
pub use error::Error;
pub use record::{CallRecord, RecordPage};
pub use request::{CallRequest, NewSession, Reserved};
pub use session::SessionState;
pub use submit::Accepted;

use crate::{
    domain::{AgentName, ApprovalPolicy, Clock, IdSource, Json, SessionId},
    journal::{DocumentKind, Journal},
    pipeline::Pipeline,
    registry::{ExecutionTokens, ToolRegistry},
    tasks::Tasks,
    telemetry::Telemetry,
};

/// Parallel calls of one session or parent at once, where nothing else is configured.
const WIDTH: usize = 10;

/// What the scheduler keeps to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most top-level calls under way at once.
    pub max_calls: usize,
    /// The loosest approval policy of all.
    pub approval_policy: ApprovalPolicy,
    /// The workspace root, canonical.
    pub workspace_root: PathBuf,
}

/// The parts a [`Scheduler`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// The stages.
    pub pipeline: Arc<Pipeline>,
    /// Agents and tools.
    pub registry: ToolRegistry,
    /// Facts.
    pub journal: Journal,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn IdSource>,
    /// Where executions run.
    pub tasks: Tasks,
    /// Figures.
    pub telemetry: Telemetry,
    /// Bounds.
    pub settings: Settings,
}

#[derive(Debug)]
struct Inner {
    parts: Parts,
    sessions: session::Sessions,
    locks: lock::Locks,
    tokens: ExecutionTokens,
    /// Top-level calls under way.
    live: AtomicUsize,
    /// Nested calls under way.
    nested: AtomicUsize,
    /// Whether the last append that a call made could not be written.
    store_failing: AtomicBool,
    /// Told whenever the last of them ends.
    idle: Notify,
    draining: AtomicBool,
}

/// The scheduler. A cheap handle.
#[derive(Debug, Clone)]
pub struct Scheduler(Arc<Inner>);

impl Scheduler {
    /// A scheduler without calls. Call [`Self::recover`] before anything is submitted.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            parts,
            sessions: session::Sessions::new(),
            locks: lock::Locks::default(),
            tokens: ExecutionTokens::default(),
            live: AtomicUsize::new(0),
            nested: AtomicUsize::new(0),
            store_failing: AtomicBool::new(false),
            idle: Notify::new(),
            draining: AtomicBool::new(false),
        }))
    }

    /// Whether the daemon is stopping.
    pub fn draining(&self) -> bool {
        self.0.draining.load(Ordering::SeqCst)
    }

    /// Whether the store can be written. Where a call could not record something last, it is
    /// tried, so that a store that has come back is noticed although nobody sends calls.
    pub async fn store_is_writable(&self) -> bool {
        if !self.0.store_failing.load(Ordering::Acquire) {
            return true;
        }
        let store = self.0.parts.journal.store();
        let tried = store.put_document(DocumentKind::Probe, "write", Json::Bool(true));
        let writable = tried.await.is_ok();
        self.note_store(writable);
        writable
    }

    /// Keeps whether the last append of a call could be made.
    fn note_store(&self, written: bool) {
        self.0.store_failing.store(!written, Ordering::Release);
    }

    /// Calls under way that `visible` lets be seen, up to `limit`; whether there are more.
    pub fn in_flight(
        &self,
        session: Option<&SessionId>,
        visible: &dyn Fn(&AgentName) -> bool,
        limit: usize,
    ) -> (Vec<CallSummary>, bool) {
        let sessions = match session {
            Some(id) => self.0.sessions.get(id).into_iter().collect(),
            None => self.0.sessions.all(),
        };
        let mut found: Vec<CallSummary> = sessions
            .iter()
            .filter(|session| visible(&session.row.load().agent))
            .flat_map(|session| session.live())
            .filter(|entry| entry.is_accepted())
            .take(limit + 1)
            .map(|entry| CallSummary { entry })
            .collect();
        let more = found.len() > limit;
        found.truncate(limit);
        found.sort_by_key(|summary| summary.entry.execution.id);
        (found, more)
    }

    /// Top-level calls under way.
    pub fn live(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }
}
