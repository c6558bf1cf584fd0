//! The seams around a body, as ports: [`PreExecute`], [`Guard`], [`PostExecute`], [`Observe`]; and
//! the layers that ship on them.
//!
//! Imports `domain` and `registry`. A layer judges; it runs no tool, writes no journal and knows
//! no session but through what it is handed. Any failure of a layer denies.

mod set;
mod truncate;

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

pub use set::{PolicySet, PolicySetBuilder};
pub use truncate::{Truncate, truncate};

use crate::{
    domain::{Draft, Execution, PostDecision, PreDecision, ResultBytes, Vote},
    registry::{Signal, Tool},
};

/// Why a layer could not answer. The call ends as `PIPELINE_ERROR`, never as an allow.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct LayerError(pub String);

/// What a layer judges: one execution of one captured tool.
#[derive(Debug, Clone, Copy)]
pub struct Judgement<'a> {
    /// Identity and frozen arguments.
    pub execution: &'a Execution,
    /// The captured tool; none when the name means nothing to the agent (post-execute only).
    pub tool: Option<&'a Tool>,
    /// Asks the layer to give up: cancellation, or the stage's deadline.
    pub signal: &'a Signal,
}

/// Whether a layer acts on the outside world when it judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// It only computes; it may run while `tool/call` is still being written.
    #[default]
    None,
    /// It runs a process or asks a peer; `tool/call` is durable first.
    Outside,
}

/// A negotiable layer before the lane.
///
/// Layers run in the order of registration; each may look at what `next` says and tighten or
/// overrule it. On cancellation or past the stage's deadline the signal fires, and the answer is
/// awaited, then ignored. The future is dropped in one case: the layers have no effect outside,
/// and the call turns out to repeat an earlier one.
#[async_trait]
pub trait PreExecute: Debug + Send + Sync {
    /// The layer's name in decisions.
    fn name(&self) -> &str;

    /// Whether judging has an effect outside the daemon.
    fn effect(&self) -> Effect {
        Effect::None
    }

    /// Judges one execution. Past the last layer, `next` answers allow.
    async fn judge(
        &self,
        judgement: Judgement<'_>,
        next: Next<'_>,
    ) -> Result<PreDecision, LayerError>;
}

/// The layers behind the one that is being asked.
#[derive(Debug)]
pub struct Next<'a> {
    layers: &'a [Arc<dyn PreExecute>],
    judgement: Judgement<'a>,
}

impl<'a> Next<'a> {
    /// The whole waterfall over an execution.
    pub fn first(layers: &'a [Arc<dyn PreExecute>], judgement: Judgement<'a>) -> Self {
        Self { layers, judgement }
    }

    /// Asks the layers behind; allow when there is none.
    pub async fn run(self) -> Result<PreDecision, LayerError> {
        match self.layers.split_first() {
            None => Ok(PreDecision::Allow),
            Some((layer, rest)) => {
                layer
                    .judge(
                        self.judgement,
                        Next {
                            layers: rest,
                            ..self
                        },
                    )
                    .await
            }
        }
    }
}

/// A monotonic check right before the body: a reason, or nothing. There is no
/// allow, so no order, approval or layer can turn a denial back. Synchronous; must not block.
pub trait Guard: Debug + Send + Sync {
    /// The reason to deny, if there is one. One that panics is a pipeline failure.
    fn check(&self, judgement: Judgement<'_>) -> Option<Vote>;
}

/// A layer over the result. Layers run innermost first, each on the result as the
/// layers before it left it.
#[async_trait]
pub trait PostExecute: Debug + Send + Sync {
    /// The layer's name in decisions.
    fn name(&self) -> &str;

    /// Whether reviewing has an effect outside the daemon.
    fn effect(&self) -> Effect {
        Effect::None
    }

    /// Reviews one result. The same rules of cancellation hold as for [`PreExecute::judge`].
    async fn review(
        &self,
        judgement: Judgement<'_>,
        draft: &Draft,
    ) -> Result<PostDecision, LayerError>;
}

/// Hears of settled results and cannot change them. One that panics is logged
/// and contained. Must not block.
pub trait Observe: Debug + Send + Sync {
    /// Called once per result, after it is durable.
    fn settled(&self, execution: &Execution, result: &ResultBytes);
}
