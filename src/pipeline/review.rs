//! Post-execute: the layers over the result, innermost first, each on what the ones before left.

use super::{output, prepare::within, walk::Walk};
use crate::{
    domain::{Draft, ErrorCode, Failure, Outcome, PostDecision, Replacement, Stage, Vote},
    policy::{Judgement, LayerError},
};

/// Runs the layers over a draft.
///
/// # Errors
/// The sentence of a `PIPELINE_ERROR`, final: a layer failed, panicked, was late, or answered what
/// is not allowed.
pub(super) async fn review(walk: &mut Walk, draft: &mut Draft) -> Result<(), &'static str> {
    let policy = std::sync::Arc::clone(&walk.policy);
    for layer in policy.post() {
        // A review runs also for cancelled calls, so its signal is its own: the deadline's alone.
        let signal = crate::registry::Signal::root();
        let judgement = Judgement {
            signal: &signal,
            ..walk.judgement()
        };
        let reviewed = within(&signal, policy.deadline(), layer.review(judgement, draft)).await;
        let applied = reviewed.and_then(|decision| apply(walk, draft, layer.name(), decision));
        if let Err(error) = applied {
            tracing::error!(layer = layer.name(), error = %error, "post-execute layer failed");
            let vote = Vote::of(layer.name(), error.0.as_str());
            walk.decided(Stage::PostExecute, "fail", &vote);
            return Err("a review of the result failed, so it is withheld");
        }
    }
    Ok(())
}

fn apply(
    walk: &mut Walk,
    draft: &mut Draft,
    layer: &str,
    decision: PostDecision,
) -> Result<(), LayerError> {
    let vote = Vote {
        layer: layer.to_owned(),
        rule: None,
        reason: None,
    };
    match decision {
        PostDecision::Accept { replace, contexts } => {
            if let Some(replacement) = replace {
                put(walk, draft, replacement)?;
                walk.decided(Stage::PostExecute, "replace", &vote);
            }
            draft.contexts.extend(contexts);
        }
        PostDecision::Block { feedback, contexts } => {
            let reason = "the original was dropped: this version keeps no sealed audit record";
            let vote = Vote {
                reason: Some(reason.to_owned()),
                ..vote
            };
            walk.decided(Stage::PostExecute, "block", &vote);
            draft.outcome = Outcome::Failure(Failure::blocked(feedback));
            draft.concludes_turn = false;
            draft.contexts = contexts;
        }
    }
    Ok(())
}

fn put(walk: &Walk, draft: &mut Draft, replacement: Replacement) -> Result<(), LayerError> {
    match (replacement, &mut draft.outcome) {
        (Replacement::Content(content), Outcome::Success(success)) => success.content = content,
        (Replacement::Content(content), Outcome::Failure(failure)) => failure.content = content,
        (Replacement::Value(_), Outcome::Failure(_)) => {
            return Err(LayerError(
                "a failed result's value cannot be replaced".to_owned(),
            ));
        }
        (Replacement::Value(value), outcome @ Outcome::Success(_)) => {
            let Some(tool) = walk.tool.as_deref() else {
                return Err(LayerError("a success without a tool".to_owned()));
            };
            match output::contract(tool, &walk.execution, value) {
                fits @ Outcome::Success(_) => *outcome = fits,
                Outcome::Failure(failure) => {
                    debug_assert!(failure.is(ErrorCode::InvalidToolOutput));
                    return Err(LayerError(format!(
                        "the value put in place: {}",
                        failure.message
                    )));
                }
            }
        }
    }
    Ok(())
}
