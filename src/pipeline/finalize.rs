//! Finalize: the tool's last word over the content, once for every outcome; then freeze.

use std::{panic::AssertUnwindSafe, sync::Arc};

use super::{
    review,
    settle::Frozen,
    walk::{Path, Walk, aborted_message},
};
use crate::{
    domain::{Content, Draft, ErrorCode, Finalizer, Outcome, Stage, Vote},
    policy::truncate,
    registry::Tool,
    tasks::{HEAVY, in_place},
};

/// Most bytes of a result: more would hold up the journal, and no model can read it.
const MOST: usize = 64 << 20;

/// Post-execute where it applies, finalize, a last look at cancellation, freeze.
pub(super) async fn finish(mut walk: Walk, mut draft: Draft, path: Path) -> Frozen {
    if path == Path::Reviewed
        && let Err(message) = review::review(&mut walk, &mut draft).await
    {
        draft.outcome = Outcome::fail(ErrorCode::PipelineError, message);
        draft.contexts.clear();
    }
    if let Some(tool) = walk.tool.clone() {
        finalize(&mut walk, &tool, &mut draft);
    }
    if walk.signal.is_cancelled() && !draft.outcome.is_error() {
        let (code, when) = if draft.body_invoked {
            (ErrorCode::Aborted, "while it ran")
        } else {
            (ErrorCode::AbortedBeforeDispatch, "before it ran")
        };
        let message = aborted_message(walk.signal.cause().as_ref(), when);
        draft.outcome = Outcome::fail(code, message);
    }
    draft.concludes_turn &= !draft.outcome.is_error();
    draft.timing = walk.timing;
    draft.timing.total = walk
        .pipeline
        .clock
        .monotonic()
        .since(walk.execution.accepted);
    let bytes = in_place(is_heavy(&draft.outcome), || {
        let bytes = draft.freeze(&walk.execution);
        if bytes.0.len() <= MOST {
            return bytes;
        }
        let message = format!(
            "the result has {} bytes; at most {MOST} can be kept: ask for less",
            bytes.0.len()
        );
        draft.outcome = Outcome::fail(ErrorCode::InvalidToolOutput, message);
        draft.contexts.clear();
        draft.concludes_turn = false;
        draft.freeze(&walk.execution)
    });
    Frozen::new(walk, draft, bytes)
}

fn is_heavy(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Success(success) => success.value.is_heavier_than(HEAVY),
        Outcome::Failure(_) => false,
    }
}

fn finalize(walk: &mut Walk, tool: &Arc<Tool>, draft: &mut Draft) {
    match last_word(walk, tool, &draft.outcome) {
        Ok(None) => {}
        Ok(Some(content)) => {
            match &mut draft.outcome {
                Outcome::Success(success) => success.content = content,
                Outcome::Failure(failure) => failure.content = content,
            }
            let by = Vote::of(
                tool.name(),
                "the tool's finalizer put other content in place",
            );
            walk.decided(Stage::Finalize, "replace", &by);
        }
        Err(message) => draft.outcome = Outcome::fail(ErrorCode::InvalidToolOutput, message),
    }
}

/// The declared finalizer works on what the body's own has left.
fn last_word(walk: &Walk, tool: &Tool, outcome: &Outcome) -> Result<Option<Vec<Content>>, String> {
    let own = || tool.body().finalize(&walk.execution, outcome);
    let own = match std::panic::catch_unwind(AssertUnwindSafe(own)) {
        Ok(Ok(content)) => content,
        Ok(Err(message)) => return Err(format!("the tool's finalizer failed: {message}")),
        Err(_) => return Err("the tool's finalizer failed unexpectedly".to_owned()),
    };
    let declared = tool
        .definition()
        .finalize
        .and_then(|Finalizer::MaxBytes(max)| {
            truncate(own.as_deref().unwrap_or(outcome.content()), max)
        });
    Ok(declared.or(own))
}
