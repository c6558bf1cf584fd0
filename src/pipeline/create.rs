//! Create: freeze the identity, resolve the tool as the agent sees it, check the arguments.
//!
//! Unknown tools and arguments that break the schema end here, before policy: no person is ever
//! asked about a call that can only fail.

use std::sync::Arc;

use super::{
    Pipeline,
    progress::Progress,
    walk::{Ended, Walk},
};
use crate::{
    domain::{ErrorCode, Execution, Json, Timing, json::ReadError},
    registry::{ExecutionHost, Signal, Tool},
};

/// An accepted call, as the scheduler hands it over.
#[derive(Debug)]
pub struct Incoming {
    /// Its identity, arguments frozen.
    pub execution: Arc<Execution>,
    /// Why the arguments could not be read, if they could not.
    pub unreadable: Option<ReadError>,
    /// The caller's cancellation.
    pub signal: Signal,
    /// What the body acts through.
    pub host: Arc<dyn ExecutionHost>,
    /// Where the call's state is kept.
    pub progress: Arc<Progress>,
}

/// An execution whose tool is captured and whose arguments fit it.
#[derive(Debug)]
pub struct Created {
    pub(super) walk: Walk,
    pub(super) tool: Arc<Tool>,
}

impl Pipeline {
    /// The create stage. Quick and without effects.
    ///
    /// # Errors
    /// An [`Ended`] as `INVALID_ARGS` (unreadable: final), `ABORTED_BEFORE_DISPATCH` (final) or
    /// `UNKNOWN_TOOL`.
    pub fn create(self: &Arc<Self>, incoming: Incoming) -> Result<Created, Ended> {
        let Incoming {
            execution,
            unreadable,
            signal,
            host,
            progress,
        } = incoming;
        let tool = self.registry.resolve(&execution.agent, &execution.name);
        let walk = Walk {
            pipeline: Arc::clone(self),
            policy: self.policy.load_full(),
            tool: tool.clone(),
            execution,
            signal,
            host,
            progress,
            timing: Timing::default(),
            decisions: Vec::new(),
        };
        if let Some(error) = unreadable {
            return Err(walk.end_final(ErrorCode::InvalidArgs, unreadable_message(&error)));
        }
        if walk.signal.is_cancelled() {
            let message =
                super::walk::aborted_message(walk.signal.cause().as_ref(), "before it ran");
            return Err(walk.end_final(ErrorCode::AbortedBeforeDispatch, message));
        }
        let Some(tool) = tool else {
            let message = self.unknown_tool_message(&walk.execution);
            return Err(walk.end(ErrorCode::UnknownTool, message));
        };
        match tool.check_arguments(&walk.execution.arguments) {
            Ok(()) => Ok(Created { walk, tool }),
            Err(violation) => {
                let message = format!("the arguments do not fit {}: {violation}", tool.name());
                Err(walk.end(ErrorCode::InvalidArgs, message))
            }
        }
    }

    fn unknown_tool_message(&self, execution: &Execution) -> String {
        let shown: String = execution.name.chars().take(64).collect();
        let near = self.registry.suggest(&execution.agent, &execution.name);
        if near.is_empty() {
            return format!(
                "there is no tool named {shown:?}; call one of the tools you were given"
            );
        }
        let near: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
        format!(
            "there is no tool named {shown:?}; did you mean {}?",
            near.join(" or ")
        )
    }
}

fn unreadable_message(error: &ReadError) -> String {
    format!("the arguments are not usable JSON: {error}")
}

impl Created {
    /// Whether the stages to come may act outside the daemon, so that `tool/call` must be durable
    /// before them.
    pub fn acts_outside(&self) -> bool {
        self.walk.acts_outside()
    }

    /// The card of the pending call, from the arguments alone.
    pub fn view(&self) -> Option<Json> {
        self.tool.view(&self.walk.execution.arguments)
    }
}
