//! One pass of a call through the pipeline: its immutable identity.
//!
//! Imports domain only. What changes while it runs (stage, cancellation, contexts) is not here.

use std::{path::PathBuf, sync::Arc};

use super::{
    clock::{Monotonic, Timestamp},
    id::{AgentName, CallId, ExecutionId, SessionId},
    json::{Digest, Object},
};

/// Whether a person may be asked. The strictest of configuration, agent and session
/// counts.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalPolicy {
    /// Ask when policy says so.
    #[default]
    Ask,
    /// Reject without asking anyone.
    Never,
}

impl ApprovalPolicy {
    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }

    /// The stricter of two.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        self.max(other)
    }
}

/// What the end of the client's connection means for its call (proto-docs/lifecycle.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDisconnect {
    /// Nothing: the call goes on and its result is found under its id.
    #[default]
    Continue,
    /// The caller is gone; the call is cancelled.
    Cancel,
}

/// Where a call stands, as its record and `tool/state` say it (proto-docs/lifecycle.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CallState {
    /// Being judged.
    Policy,
    /// A person is asked.
    AwaitingApproval,
    /// Waiting for lane and locks.
    Queued,
    /// Dispatched.
    Running,
    /// The result is being shaped.
    Finalizing,
    /// The result is durable.
    Settled,
}

impl CallState {
    /// Every state, in the order of the pipeline.
    pub const ALL: &'static [Self] = &[
        Self::Policy,
        Self::AwaitingApproval,
        Self::Queued,
        Self::Running,
        Self::Finalizing,
        Self::Settled,
    ];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Finalizing => "finalizing",
            Self::Settled => "settled",
        }
    }

    /// The state of a wire word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|state| state.as_str() == text)
    }
}

/// The directory that a session's file tools start from, relative to the configured root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workspace(pub PathBuf);

/// An execution's identity, frozen when it is created and shared by everything that acts on it.
#[derive(Debug)]
pub struct Execution {
    /// Public id.
    pub id: ExecutionId,
    /// The session that owns the call.
    pub session: SessionId,
    /// The model's id of the call.
    pub call_id: CallId,
    /// The top-level call that this one descends from; its own id when it is one.
    pub root_call_id: CallId,
    /// The execution that made this nested call.
    pub parent: Option<ExecutionId>,
    /// The scope that owns the call.
    pub agent: AgentName,
    /// Name of the token that submitted it.
    pub principal: Arc<str>,
    /// The tool's name as the model wrote it; need not be that of a tool.
    pub name: String,
    /// Frozen arguments; empty when they could not be read.
    pub arguments: Arc<Object>,
    /// Digest of `{name, arguments}`.
    pub digest: Digest,
    /// The session's directory under the workspace root.
    pub workspace: Workspace,
    /// The strictest approval policy that applies.
    pub approval_policy: ApprovalPolicy,
    /// Wall time of the accept, a label.
    pub created_at: Timestamp,
    /// Monotonic time of the accept.
    pub accepted: Monotonic,
}

impl Execution {
    /// Whether a model made the call itself.
    pub fn is_top_level(&self) -> bool {
        self.parent.is_none()
    }
}
