//! Prepare: the pre-execute waterfall, the desk, and after the lane the guards.
//!
//! [`Permit`] is minted in one place, from "allowed and guards passed", and dispatch consumes it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;

use super::{
    create::Created,
    walk::{Ended, Walk},
};
use crate::{
    domain::{CallState, ErrorCode, Execution, Monotonic, PreDecision, Stage, Vote},
    policy::{Judgement, LayerError, Next},
    registry::{Cause, Class, Presence, Signal, Tool},
};

/// An execution that policy allows, waiting for its lane.
#[derive(Debug)]
pub struct Judged {
    walk: Walk,
    tool: Arc<Tool>,
    class: Class,
    since: Monotonic,
}

/// The right to dispatch once.
#[derive(Debug)]
pub struct Permit {
    pub(super) walk: Walk,
    pub(super) tool: Arc<Tool>,
    pub(super) class: Class,
}

impl Created {
    /// Judges the execution: pre-execute layers, then the desk if one of them asks.
    ///
    /// # Errors
    /// An [`Ended`] as `DENIED`, `APPROVAL_…`, `ABORTED_BEFORE_DISPATCH`, or `PIPELINE_ERROR`
    /// (final) when a layer fails, panics or is late. The future is never dropped half way.
    pub async fn judge(self) -> Result<Judged, Ended> {
        let Self { mut walk, tool } = self;
        if walk.signal.is_cancelled() {
            return Err(walk.abort());
        }
        let began = walk.pipeline.clock.monotonic();
        let verdict = waterfall(&walk).await;
        let since = walk.pipeline.clock.monotonic();
        walk.timing.policy = since.since(began);
        let decision = match verdict {
            Ok(decision) => decision,
            Err(_) if walk.signal.is_cancelled() => return Err(walk.abort()),
            Err(error) => {
                tracing::error!(error = %error, tool = tool.name(), "pre-execute layer failed");
                walk.decided(
                    Stage::PreExecute,
                    "fail",
                    &Vote::of("policy", error.0.as_str()),
                );
                return Err(
                    walk.end_final(ErrorCode::PipelineError, "policy could not judge this call")
                );
            }
        };
        if walk.signal.is_cancelled() {
            return Err(walk.abort());
        }
        match decision {
            PreDecision::Allow => Ok(Judged {
                class: tool.class(&walk.execution.arguments),
                walk,
                tool,
                since,
            }),
            PreDecision::Deny(vote) => {
                walk.decided(Stage::PreExecute, "deny", &vote);
                Err(walk.end(ErrorCode::Denied, denied_message(&vote)))
            }
            PreDecision::Ask(votes) => Err(ask(walk, &votes)),
        }
    }
}

/// Takes an ask to the desk, which in this version never grants.
fn ask(mut walk: Walk, votes: &[Vote]) -> Ended {
    for vote in votes {
        walk.decided(Stage::PreExecute, "ask", vote);
    }
    let outcome = walk
        .pipeline
        .desk
        .ask(walk.execution.approval_policy, votes);
    walk.decided(
        Stage::Approval,
        outcome.as_str(),
        &Vote::of("desk", outcome.message()),
    );
    let why: Vec<&str> = votes
        .iter()
        .filter_map(|vote| vote.reason.as_deref())
        .collect();
    let message = if why.is_empty() {
        outcome.message().to_owned()
    } else {
        format!("{} ({})", outcome.message(), why.join("; "))
    };
    walk.end(outcome.code(), message)
}

/// Runs the layers under the stage's deadline. A late layer is cancelled and awaited.
async fn waterfall(walk: &Walk) -> Result<PreDecision, LayerError> {
    let layers = walk.policy.pre();
    if layers.is_empty() {
        return Ok(PreDecision::Allow);
    }
    let signal = walk.signal.child();
    let judgement = Judgement {
        signal: &signal,
        ..walk.judgement()
    };
    within(
        &signal,
        walk.policy.deadline(),
        Next::first(layers, judgement).run(),
    )
    .await
}

/// Runs a stage's layers: contains a panic, and past the deadline asks them to stop and waits.
pub(super) async fn within<T>(
    signal: &Signal,
    deadline: std::time::Duration,
    layers: impl Future<Output = Result<T, LayerError>>,
) -> Result<T, LayerError> {
    let mut layers = std::pin::pin!(AssertUnwindSafe(layers).catch_unwind());
    let answer = tokio::select! {
        biased;
        answer = &mut layers => answer,
        () = tokio::time::sleep(deadline) => {
            signal.cancel(Cause::Timeout);
            // Cancelled, then awaited: a layer may hold a process or a connection.
            drop(layers.await);
            return Err(LayerError(format!("the layers took longer than {deadline:?}")));
        }
    };
    answer.unwrap_or_else(|_| Err(LayerError("a layer panicked".to_owned())))
}

impl Judged {
    /// How the call may overlap with others; read once, for its lane and its record.
    pub fn class(&self) -> Class {
        self.class
    }

    /// The key on which it is serialised across sessions.
    pub fn lock_key(&self) -> Option<String> {
        self.tool.lock_key(&self.walk.execution)
    }

    /// Its identity.
    pub fn execution(&self) -> &Arc<Execution> {
        &self.walk.execution
    }

    /// The caller's cancellation.
    pub fn signal(&self) -> &Signal {
        &self.walk.signal
    }

    /// Marks it as waiting for its lane or its lock.
    pub fn queued(&self) {
        self.walk.progress.enter(CallState::Queued);
    }

    /// Leaves the queue with `ABORTED_BEFORE_DISPATCH`.
    pub fn abort(mut self) -> Ended {
        self.walk.timing.queued = self.waited();
        self.walk.abort()
    }

    /// Leaves the queue because its lock can never be had: waiting for it would close a circle.
    pub fn deadlocked(mut self) -> Ended {
        self.walk.timing.queued = self.waited();
        let message = "another call holds what this one needs and waits for what this one's \
                       parent holds; repeat the call";
        self.walk.end(ErrorCode::ToolUnavailable, message)
    }

    /// The checks behind the lane: still wanted, still visible, unchanged, and the guards.
    ///
    /// # Errors
    /// An [`Ended`] as `ABORTED_BEFORE_DISPATCH`, `TOOL_UNAVAILABLE`, `GUARD_DENIED`, or
    /// `PIPELINE_ERROR` (final) when a guard panics.
    pub fn guard(mut self) -> Result<Permit, Ended> {
        self.walk.timing.queued = self.waited();
        let Self {
            mut walk,
            tool,
            class,
            ..
        } = self;
        if walk.signal.is_cancelled() {
            return Err(walk.abort());
        }
        let agent = &walk.execution.agent;
        match walk.pipeline.registry.still(agent, &tool) {
            Presence::Same => {}
            Presence::Changed => {
                let message = "the tool's definition changed while the call waited; look at the \
                               catalogue and call it again";
                return Err(walk.end(ErrorCode::ToolUnavailable, message));
            }
            Presence::Gone => {
                let message = "the tool was removed while the call waited";
                return Err(walk.end(ErrorCode::ToolUnavailable, message));
            }
        }
        match guards(&walk) {
            Ok(None) => {}
            Ok(Some(vote)) => {
                walk.decided(Stage::Guard, "deny", &vote);
                return Err(walk.end(ErrorCode::GuardDenied, denied_message(&vote)));
            }
            Err(()) => {
                walk.decided(
                    Stage::Guard,
                    "fail",
                    &Vote::of("policy", "a guard panicked"),
                );
                return Err(walk.end_final(ErrorCode::PipelineError, "a guard failed on this call"));
            }
        }
        if walk.signal.is_cancelled() {
            return Err(walk.abort());
        }
        Ok(Permit { walk, tool, class })
    }

    fn waited(&self) -> std::time::Duration {
        self.walk.pipeline.clock.monotonic().since(self.since)
    }
}

/// The live guards along the agent's chain; `Err` when one panics.
fn guards(walk: &Walk) -> Result<Option<Vote>, ()> {
    let policy = walk.pipeline.policy.load();
    let Some(view) = walk.pipeline.registry.agent(&walk.execution.agent) else {
        return Ok(Some(Vote::of(
            "registry",
            "the agent was removed while the call waited",
        )));
    };
    let check = || policy.guard(view.chain(), walk.judgement());
    std::panic::catch_unwind(AssertUnwindSafe(check)).map_err(|_| {
        tracing::error!(tool = %walk.execution.name, "a guard panicked");
    })
}

fn denied_message(vote: &Vote) -> String {
    let by = vote.rule.as_deref().unwrap_or(&vote.layer);
    match &vote.reason {
        Some(reason) => format!("the call was denied by policy: {reason}"),
        None => format!("the call was denied by policy ({by})"),
    }
}
