//! The life of one execution, as types: `Created → Judged → Permit → Dispatched → Frozen`.
//!
//! A value of a later stage can only be made from the stage before it; whoever leaves the walk
//! early holds an [`Ended`], which also ends in exactly one [`Frozen`] result. Imports `domain`,
//! `journal`, `registry`, `policy`, `approval`. Must not know sessions, lanes or HTTP: the
//! scheduler drives the stages, because the lane lies between them.

mod around;
mod body;
mod create;
mod dispatch;
mod finalize;
mod output;
mod prepare;
mod progress;
mod review;
mod settle;
mod walk;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use around::{Answer, AroundLayer, AroundService, BodyFailure, Dispatch, DispatchFault};
pub use create::{Created, Incoming};
pub use dispatch::Dispatched;
pub use prepare::{Judged, Permit};
pub use progress::Progress;
pub use settle::{Frozen, Settled};
pub use walk::Ended;

use crate::{
    approval::Desk, domain::Clock, journal::Journal, policy::PolicySet, registry::ToolRegistry,
    telemetry::Telemetry,
};

/// What the stages work with. Shared by every execution.
#[derive(Debug)]
pub struct Pipeline {
    registry: ToolRegistry,
    policy: ArcSwap<PolicySet>,
    desk: Desk,
    journal: Journal,
    clock: Arc<dyn Clock>,
    telemetry: Telemetry,
    around: AroundService,
    /// Whether an embedder's wrappers are around bodies; what they do is not known.
    is_wrapped: bool,
}

/// The parts a [`Pipeline`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// Which tool a name means, and its contract.
    pub registry: ToolRegistry,
    /// The layers in force.
    pub policy: PolicySet,
    /// Where asks go.
    pub desk: Desk,
    /// Where facts go.
    pub journal: Journal,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where figures go.
    pub telemetry: Telemetry,
    /// Wrappers of the body between metrics and timeout, outermost first.
    pub around: Vec<AroundLayer>,
}

impl Pipeline {
    /// Joins the parts; the around stack is built once.
    pub fn new(parts: Parts) -> Arc<Self> {
        let around = around::stack(
            &parts.journal,
            &parts.clock,
            &parts.telemetry,
            &parts.around,
        );
        Arc::new(Self {
            registry: parts.registry,
            policy: ArcSwap::from_pointee(parts.policy),
            desk: parts.desk,
            journal: parts.journal,
            clock: parts.clock,
            telemetry: parts.telemetry,
            around,
            is_wrapped: !parts.around.is_empty(),
        })
    }

    /// Puts other layers in force: executions that are being judged keep the rules they started
    /// with; guards are always the live ones.
    pub fn replace_policy(&self, policy: PolicySet) {
        self.policy.store(Arc::new(policy));
    }
}
