//! A live call: what is shared between its task, those who wait for it and those who cancel it.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use tokio::sync::{Notify, watch};

use super::{Error, lane::Lane, lock::Claimant, session::Session};
use crate::{
    domain::{CallId, Digest, Execution, ResultBytes, SessionId, json::ObjectWriter},
    journal::{self, CallRow},
    pipeline::{Progress, Settled},
    registry::{Cause, Signal},
};

/// How far a live call has come for those who wait for it.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// `tool/call` is being written.
    Pending,
    /// `tool/call` is durable.
    Accepted,
    /// The id was taken by a call that the store knows.
    Taken(Box<CallRow>),
    /// `tool/call` could not be written; nothing was recorded.
    Refused(Error),
    /// The result is frozen and cannot be written now; the append is being retried.
    Unsettled(journal::Error),
    /// The result is durable.
    Settled(Arc<Settled>),
}

/// One live call.
#[derive(Debug)]
pub(super) struct CallEntry {
    pub(super) execution: Arc<Execution>,
    pub(super) turn: Option<u64>,
    pub(super) step: Option<u64>,
    pub(super) signal: Signal,
    pub(super) progress: Arc<Progress>,
    pub(super) claimant: Claimant,
    phase: watch::Sender<Phase>,
    width: usize,
    nested_lane: OnceLock<Lane>,
    nested: AtomicU64,
    /// Nested calls under way below the top-level call, shared by all of them.
    pub(super) below_root: Arc<AtomicUsize>,
    /// Those that its body made.
    pub(super) children: Children,
}

/// The calls that one body has under way.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// How many, and whether there may be more.
    state: Mutex<(usize, bool)>,
    quiet: Notify,
}

impl Children {
    /// Counts one more, unless the body is at rest.
    pub(super) fn enter(&self) -> bool {
        let mut state = self.state();
        let (under_way, closed) = &mut *state;
        *under_way += usize::from(!*closed);
        !*closed
    }

    /// Counts one less.
    pub(super) fn leave(&self) {
        let left = {
            let mut state = self.state();
            state.0 -= 1;
            state.0
        };
        if left == 0 {
            self.quiet.notify_waiters();
        }
    }

    /// Lets no more in; whether some are under way.
    fn close(&self) -> bool {
        let mut state = self.state();
        state.1 = true;
        state.0 > 0
    }

    /// Waits until none is under way. Cancellation-safe.
    async fn quiet(&self) {
        loop {
            let notified = self.quiet.notified();
            if self.state().0 == 0 {
                return;
            }
            notified.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, (usize, bool)> {
        // Nothing panics while it is half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallEntry {
    pub(super) fn new(
        execution: Arc<Execution>,
        (turn, step): (Option<u64>, Option<u64>),
        signal: Signal,
        progress: Arc<Progress>,
        ancestors: Arc<[crate::domain::ExecutionId]>,
        below_root: Arc<AtomicUsize>,
        width: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            claimant: Claimant {
                id: execution.id,
                ancestors,
            },
            execution,
            turn,
            step,
            signal,
            progress,
            phase: watch::Sender::new(Phase::Pending),
            width,
            nested_lane: OnceLock::new(),
            nested: AtomicU64::new(0),
            below_root,
            children: Children::default(),
        })
    }

    /// Ends what the body has left running: a call is at rest when all that it called is. Waits
    /// for it, and lets no more calls in.
    pub(super) async fn rest_below(&self, session: &Session) {
        if !self.children.close() {
            return;
        }
        for entry in session.live() {
            if entry.execution.parent == Some(self.execution.id) {
                entry.cancel(Some("its caller has ended".to_owned()));
            }
        }
        self.children.quiet().await;
    }

    /// The lane of the calls that this one makes.
    pub(super) fn nested_lane(&self) -> &Lane {
        self.nested_lane.get_or_init(|| Lane::of_width(self.width))
    }

    /// The number of the next nested call, from 1.
    pub(super) fn next_nested(&self) -> u64 {
        self.nested.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Whether `tool/call` is durable.
    pub(super) fn is_accepted(&self) -> bool {
        matches!(
            &*self.phase.borrow(),
            Phase::Accepted | Phase::Unsettled(_) | Phase::Settled(_)
        )
    }

    /// Waits until the accept is decided: recorded, taken or refused. Cancellation-safe.
    pub(super) async fn decided(&self) -> Phase {
        self.wait(|phase| !matches!(phase, Phase::Pending)).await
    }

    /// Waits for the result, or for the reason why there is none to show now. Cancellation-safe.
    pub(super) async fn ended(&self) -> Phase {
        self.wait(|phase| !matches!(phase, Phase::Pending | Phase::Accepted))
            .await
    }

    async fn wait(&self, mut until: impl FnMut(&Phase) -> bool) -> Phase {
        let mut phase = self.phase.subscribe();
        match phase.wait_for(|phase| until(phase)).await {
            Ok(phase) => phase.clone(),
            // The sender lives as long as `self`, which this future borrows.
            Err(_) => Phase::Refused(Error::Store(journal::Error::Closed)),
        }
    }

    pub(super) fn cancel(&self, reason: Option<String>) {
        self.signal.cancel(Cause::Cancelled { reason });
    }
}

/// Cancels a call whose caller goes away.
pub(super) struct CancelOnDrop {
    entry: Option<Arc<CallEntry>>,
    why: &'static str,
}

impl CancelOnDrop {
    pub(super) fn of(entry: &Arc<CallEntry>, why: &'static str) -> Self {
        Self {
            entry: Some(Arc::clone(entry)),
            why,
        }
    }

    /// The caller no longer minds.
    pub(super) fn let_go(&mut self) {
        self.entry = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(entry) = &self.entry {
            entry.cancel(Some(self.why.to_owned()));
        }
    }
}

/// What identifies a repetition as the same call (proto-docs/lifecycle.md).
#[derive(Debug, Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) name: &'a str,
    pub(super) digest: Digest,
    pub(super) turn: Option<u64>,
    pub(super) step: Option<u64>,
}

impl Identity<'_> {
    /// Whether a call under the same id is this one. Turn and step count when both name them.
    pub(super) fn is_of(self, other: Identity<'_>) -> bool {
        let agree = |a: Option<u64>, b: Option<u64>| a.is_none() || b.is_none() || a == b;
        self.name == other.name
            && self.digest == other.digest
            && agree(self.turn, other.turn)
            && agree(self.step, other.step)
    }

    pub(super) fn of_entry(entry: &CallEntry) -> Identity<'_> {
        Identity {
            name: &entry.execution.name,
            digest: entry.execution.digest,
            turn: entry.turn,
            step: entry.step,
        }
    }

    pub(super) fn of_row(row: &CallRow) -> Identity<'_> {
        Identity {
            name: &row.name,
            digest: row.digest,
            turn: row.turn,
            step: row.step,
        }
    }
}

/// An accepted call, to wait for or to cancel. Cloning shares it; dropping it means nothing.
#[derive(Debug, Clone)]
pub struct CallHandle {
    session: SessionId,
    call_id: CallId,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Live(Arc<CallEntry>),
    Stored(ResultBytes),
}

impl CallHandle {
    pub(super) fn live(entry: Arc<CallEntry>) -> Self {
        Self {
            session: entry.execution.session.clone(),
            call_id: entry.execution.call_id.clone(),
            source: Source::Live(entry),
        }
    }

    pub(super) fn stored(session: SessionId, call_id: CallId, result: ResultBytes) -> Self {
        Self {
            session,
            call_id,
            source: Source::Stored(result),
        }
    }

    /// Its session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Its id.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// Whether the result was durable already when this handle was made.
    pub fn was_settled(&self) -> bool {
        matches!(self.source, Source::Stored(_))
    }

    /// Waits for the frozen result. Cancellation-safe.
    ///
    /// # Errors
    /// [`Error::Store`] when the result cannot be made durable now; the append is retried, and
    /// the result is then found at the call's id.
    pub async fn settled(&self) -> Result<ResultBytes, Error> {
        let entry = match &self.source {
            Source::Stored(result) => return Ok(result.clone()),
            Source::Live(entry) => entry,
        };
        match entry.ended().await {
            Phase::Settled(settled) => Ok(settled.bytes.clone()),
            Phase::Refused(error) => Err(error),
            Phase::Unsettled(error) => Err(error.into()),
            Phase::Taken(_) | Phase::Pending | Phase::Accepted => Err(Error::UnknownCall),
        }
    }

    /// Asks the call to stop; nothing happens to one that is settled.
    pub fn cancel(&self, reason: Option<String>) {
        if let Source::Live(entry) = &self.source {
            entry.cancel(reason);
        }
    }
}

/// A call under way, as `stream/hello` lists it.
#[derive(Debug, Clone)]
pub struct CallSummary {
    pub(super) entry: Arc<CallEntry>,
}

impl CallSummary {
    /// Writes the summary's members.
    pub fn write(&self, w: &mut ObjectWriter<'_>) {
        let execution = &self.entry.execution;
        w.string("session_id", execution.session.as_str())
            .string("agent", execution.agent.as_str())
            .string("call_id", execution.call_id.as_str())
            .string("root_call_id", execution.root_call_id.as_str());
        execution.id.with_text(|id| {
            w.string("execution_id", id);
        });
        w.string("name", &execution.name)
            .string("state", self.entry.progress.state().as_str())
            .string("created_at", &execution.created_at.to_string());
    }
}
