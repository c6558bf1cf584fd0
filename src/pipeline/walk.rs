//! What every stage carries, and the early exits.

use std::sync::Arc;

use super::{Pipeline, finalize, progress::Progress, settle::Frozen};
use crate::{
    domain::{
        CallState, Draft, ErrorCode, EventDraft, EventType, Execution, Failure, Outcome, Stage,
        Subject, Timing, Vote,
    },
    policy::{Effect, Judgement, PolicySet},
    registry::{Cause, ExecutionHost, Signal, Tool},
};

/// The state that travels with an execution from stage to stage.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) execution: Arc<Execution>,
    /// The captured tool: what is judged, shown and run.
    pub(super) tool: Option<Arc<Tool>>,
    /// The rules that this execution is judged by.
    pub(super) policy: Arc<PolicySet>,
    pub(super) signal: Signal,
    pub(super) host: Arc<dyn ExecutionHost>,
    pub(super) progress: Arc<Progress>,
    pub(super) timing: Timing,
    /// Decisions that have fallen, recorded together with the result.
    pub(super) decisions: Vec<EventDraft>,
}

impl Walk {
    pub(super) fn judgement(&self) -> Judgement<'_> {
        Judgement {
            execution: &self.execution,
            tool: self.tool.as_deref(),
            signal: &self.signal,
        }
    }

    /// Whether the stages may act outside the daemon, so that `tool/call` must be durable first.
    pub(super) fn acts_outside(&self) -> bool {
        self.policy.effect() == Effect::Outside || self.pipeline.is_wrapped
    }

    /// Keeps a decision for the record.
    pub(super) fn decided(&mut self, stage: Stage, decision: &str, vote: &Vote) {
        let subject = Subject::execution(&self.execution);
        let event = EventDraft::new(EventType::ToolDecision, subject, |w| {
            w.string("stage", stage.as_str())
                .string("layer", &vote.layer)
                .string_opt("rule", vote.rule.as_deref())
                .string("decision", decision)
                .string_opt("reason", vote.reason.as_deref());
        });
        self.decisions.push(event);
    }

    /// Leaves the walk with a failure that post-execute still sees.
    pub(super) fn end(self, code: ErrorCode, message: impl Into<String>) -> Ended {
        let draft = Draft::before_body(Outcome::Failure(Failure::new(code, message)));
        Ended::new(self, draft, Path::Reviewed)
    }

    /// Leaves the walk with a failure that nothing sees but the finalizer.
    pub(super) fn end_final(self, code: ErrorCode, message: impl Into<String>) -> Ended {
        let draft = Draft::before_body(Outcome::Failure(Failure::new(code, message)));
        Ended::new(self, draft, Path::Final)
    }

    /// Leaves the walk because the call is not wanted any more and its body was not reached.
    pub(super) fn abort(self) -> Ended {
        let message = aborted_message(self.signal.cause().as_ref(), "before it ran");
        self.end(ErrorCode::AbortedBeforeDispatch, message)
    }
}

/// The sentence of a cancelled call.
pub(super) fn aborted_message(cause: Option<&Cause>, when: &str) -> String {
    match cause {
        Some(Cause::Cancelled {
            reason: Some(reason),
        }) => {
            format!("the call was cancelled {when}: {reason}")
        }
        Some(Cause::Cancelled { reason: None } | Cause::Timeout) | None => {
            format!("the call was cancelled {when}")
        }
    }
}

/// Whether a result still passes through post-execute (proto-docs/errors.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Reviewed,
    Final,
}

/// An execution that has left the stages; it still ends in exactly one result.
#[derive(Debug)]
pub struct Ended(Box<EndedWalk>);

#[derive(Debug)]
struct EndedWalk {
    walk: Walk,
    draft: Draft,
    path: Path,
}

impl Ended {
    pub(super) fn new(walk: Walk, draft: Draft, path: Path) -> Self {
        Self(Box::new(EndedWalk { walk, draft, path }))
    }

    /// Whether the result still passes through post-execute.
    pub fn is_reviewed(&self) -> bool {
        self.0.path == Path::Reviewed
    }

    /// Whether what is left of its way may act outside the daemon.
    pub fn acts_outside(&self) -> bool {
        self.0.walk.acts_outside()
    }

    /// The way in which it has ended so far.
    pub fn outcome(&self) -> &Outcome {
        &self.0.draft.outcome
    }

    /// Post-execute where it applies, finalize, freeze. Never dropped half way.
    pub async fn finish(self) -> Frozen {
        let EndedWalk { walk, draft, path } = *self.0;
        walk.progress.enter(CallState::Finalizing);
        finalize::finish(walk, draft, path).await
    }
}
