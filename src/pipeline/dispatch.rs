//! Dispatch: the permit is spent, the stack runs, the value meets its contract.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
};

use futures_util::FutureExt as _;
use tower::ServiceExt as _;

use super::{
    around::{Answer, BodyFailure, Dispatch, DispatchFault, Trace},
    finalize, output,
    prepare::Permit,
    settle::Frozen,
    walk::{Ended, Path, Walk, aborted_message},
};
use crate::{
    domain::{CallState, Draft, ErrorCode, Outcome, Stage, Vote},
    registry::Tool,
    tasks::{HEAVY, in_place},
};

/// An execution whose body is at rest.
#[derive(Debug)]
pub struct Dispatched {
    walk: Box<Walk>,
    draft: Draft,
}

impl Permit {
    /// Runs the around stack and the body, once. The future must be driven to its end: dropping it
    /// would abandon a started body.
    ///
    /// # Errors
    /// An [`Ended`] as `PIPELINE_ERROR` (final) when the start cannot be recorded or a wrapper
    /// fails; as `ABORTED_BEFORE_DISPATCH` when it was cancelled just before the body.
    pub async fn dispatch(self) -> Result<Dispatched, Ended> {
        let Self {
            mut walk,
            tool,
            class,
        } = self;
        let trace = Arc::new(Trace::default());
        let dispatch = Dispatch {
            execution: Arc::clone(&walk.execution),
            class,
            tool: Arc::clone(&tool),
            caller: walk.signal.clone(),
            signal: walk.signal.clone(),
            host: Arc::clone(&walk.host),
            progress: Arc::clone(&walk.progress),
            trace: Arc::clone(&trace),
        };
        let began = walk.pipeline.clock.monotonic();
        let stack = walk.pipeline.around.clone();
        let answer = AssertUnwindSafe(stack.oneshot(dispatch))
            .catch_unwind()
            .await;
        walk.timing.body = walk.pipeline.clock.monotonic().since(began);
        let answer = answer
            .unwrap_or_else(|_| Err(DispatchFault("a wrapper of the tool panicked".to_owned())));
        let body_invoked = trace.body_invoked.load(Ordering::Acquire);
        match answer {
            Ok(answer) => settle_answer(walk, &tool, answer, body_invoked),
            Err(fault) => {
                walk.decided(
                    Stage::Execute,
                    "fail",
                    &Vote::of("pipeline", fault.0.as_str()),
                );
                let mut draft =
                    Draft::before_body(Outcome::fail(ErrorCode::PipelineError, fault.0));
                draft.body_invoked = body_invoked;
                Err(Ended::new(walk, draft, Path::Final))
            }
        }
    }
}

/// Applies the output contract and the rules of cancellation to what came back.
fn settle_answer(
    mut walk: Walk,
    tool: &Tool,
    answer: Answer,
    body_invoked: bool,
) -> Result<Dispatched, Ended> {
    let cancelled = walk.signal.is_cancelled();
    let Answer {
        value,
        contexts,
        concludes_turn,
    } = answer;
    let outcome = match value {
        Err(BodyFailure::Failed(failure)) => {
            if failure.is(ErrorCode::GuardDenied) {
                let vote = Vote::of(tool.definition().source.as_str(), failure.message.as_str());
                walk.decided(Stage::Guard, "deny", &vote);
            }
            Outcome::Failure(failure)
        }
        Ok(_) | Err(BodyFailure::Interrupted) if cancelled => {
            if !body_invoked {
                return Err(walk.abort());
            }
            let message = aborted_message(walk.signal.cause().as_ref(), "while it ran");
            Outcome::fail(ErrorCode::Aborted, message)
        }
        Ok(value) => in_place(value.is_heavier_than(HEAVY), || {
            output::contract(tool, &walk.execution, value)
        }),
        Err(BodyFailure::Interrupted) => Outcome::fail(
            ErrorCode::ToolError,
            "the tool stopped although nobody asked it to",
        ),
    };
    let concludes_turn = concludes_turn && !outcome.is_error();
    let draft = Draft {
        outcome,
        contexts,
        concludes_turn,
        body_invoked,
        timing: walk.timing,
    };
    Ok(Dispatched {
        walk: Box::new(walk),
        draft,
    })
}

impl Dispatched {
    /// Post-execute, finalize, freeze. Never dropped half way.
    pub async fn finish(self) -> Frozen {
        self.walk.progress.enter(CallState::Finalizing);
        finalize::finish(*self.walk, self.draft, Path::Reviewed).await
    }
}
