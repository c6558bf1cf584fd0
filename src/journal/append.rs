//! What is appended: steps, the rows they keep, and what comes back.
//!
//! An [`Append`] is one transaction. The store itself keeps the two invariants that everything
//! rests on: a call id is accepted once, and an execution that is settled is neither started nor
//! settled again.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::error::Error;
use crate::domain::{
    AgentName, ApprovalPolicy, CallId, Digest, EventDraft, EventType, ExecutionId, Frame, Object,
    SessionId, Subject, Timestamp, Workspace,
};

/// A session as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The agent that owns it.
    pub agent: AgentName,
    /// Where its file tools start.
    pub workspace: Workspace,
    /// Its own approval policy; may only tighten.
    pub approval_policy: ApprovalPolicy,
    /// What the client keeps with it.
    pub metadata: Object,
    /// Who made it.
    pub principal: Arc<str>,
    /// When.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// A call as the store keeps it. Arguments and result are in the events it points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// Its session.
    pub session: SessionId,
    /// The model's id, unique in the session.
    pub call_id: CallId,
    /// Its top-level call.
    pub root_call_id: CallId,
    /// The execution that runs it.
    pub execution: ExecutionId,
    /// The execution that made it, when nested.
    pub parent: Option<ExecutionId>,
    /// The session's agent.
    pub agent: AgentName,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// Digest of name and arguments: what deduplication compares.
    pub digest: Digest,
    /// The client's turn, when given.
    pub turn: Option<u64>,
    /// The client's step, when given.
    pub step: Option<u64>,
    /// Who submitted it.
    pub principal: Arc<str>,
    /// Id of `tool/call`; 0 in a row that is not recorded yet.
    pub accepted: u64,
    /// Id of the last `tool/started`.
    pub started: Option<u64>,
    /// Id of `tool/result`.
    pub settled: Option<u64>,
}

/// What a step does beside appending its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Nothing: the event alone. Refused for a session that is unknown.
    Event,
    /// Makes a session. Refused as [`Refusal::SessionExists`].
    OpenSession(Box<SessionRow>),
    /// Replaces a session's approval policy and metadata. Refused when unknown or ended.
    UpdateSession(Box<SessionRow>),
    /// Ends a session. Refused when unknown; ending an ended one is refused as
    /// [`Refusal::SessionEnded`].
    EndSession(SessionId, Timestamp),
    /// Accepts a call: its idempotency row. Refused as [`Refusal::CallExists`] with the recorded
    /// row, or [`Refusal::SessionEnded`]; nested calls of a session that is ending still pass.
    AcceptCall(Box<CallRow>),
    /// Marks the body as about to run. Refused as [`Refusal::NotOpen`] unless the call is
    /// recorded under this execution and has no result.
    StartCall(SessionId, CallId, ExecutionId),
    /// Settles a call. Refused as [`Refusal::NotOpen`] like a start.
    SettleCall(SessionId, CallId, ExecutionId),
}

/// One row change and its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The change.
    pub write: Write,
    /// The event that tells it.
    pub event: EventDraft,
}

/// One transaction: all of its steps, or none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Append {
    /// In order.
    pub steps: Vec<Step>,
}

impl Append {
    /// One step.
    pub fn one(write: Write, event: EventDraft) -> Self {
        Self {
            steps: vec![Step { write, event }],
        }
    }

    /// An event alone.
    pub fn event(event: EventDraft) -> Self {
        Self::one(Write::Event, event)
    }

    /// Adds a step behind the others.
    #[must_use]
    pub fn and(mut self, write: Write, event: EventDraft) -> Self {
        self.steps.push(Step { write, event });
        self
    }
}

/// An event as recorded. Shared by every reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Store-wide cursor; grows, never repeats.
    pub id: u64,
    /// 1, 2, 3 … within the session.
    pub seq: Option<u64>,
    /// Its type.
    pub kind: EventType,
    /// Session, when it belongs to one.
    pub session: Option<SessionId>,
    /// Agent, when it belongs to one.
    pub agent: Option<AgentName>,
    /// The one encoding.
    pub frame: Frame,
}

impl Recorded {
    /// Makes the record of a draft under its id, seq and time.
    pub fn of(draft: &EventDraft, id: u64, seq: Option<u64>, time: Timestamp) -> Self {
        let Subject { session, agent, .. } = &draft.subject;
        Self {
            id,
            seq,
            kind: draft.kind,
            session: session.clone(),
            agent: agent.clone(),
            frame: draft.frame(Some(id), seq, time),
        }
    }
}

/// Why an append was refused; nothing of it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The session id is taken.
    SessionExists,
    /// No such session.
    SessionUnknown,
    /// The session's log has ended.
    SessionEnded,
    /// The call id is taken; this is its row.
    CallExists(Box<CallRow>),
    /// The call is not recorded under this execution, or has its result.
    NotOpen,
}

/// What became of an append that the store could judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Durable, as the configured durability means it; the records, in the order of the steps.
    Done(Vec<Arc<Recorded>>),
    /// Refused; nothing was recorded.
    Refused(Refusal),
}

/// A pending commit. Dropping it does not undo the append.
#[derive(Debug)]
pub struct Commit(oneshot::Receiver<Result<Committed, Error>>);

impl Commit {
    /// A commit and the end that the writer answers on.
    pub fn channel() -> (oneshot::Sender<Result<Committed, Error>>, Self) {
        let (answer, commit) = oneshot::channel();
        (answer, Self(commit))
    }

    /// Waits until the append is durable or refused. Cancellation-safe.
    ///
    /// # Errors
    /// What the store met; then nothing of the append was recorded.
    pub async fn durable(self) -> Result<Committed, Error> {
        self.0.await.unwrap_or(Err(Error::Closed))
    }
}
