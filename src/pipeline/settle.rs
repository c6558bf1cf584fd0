//! Settle: the frozen result becomes durable, and only then anybody sees it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use super::walk::Walk;
use crate::{
    domain::{
        Code, Draft, EventDraft, EventType, Execution, Outcome, ResultBytes, Subject, Timing,
    },
    journal::{Append, Committed, Error, Write},
};

/// A result that is encoded and not yet durable.
#[derive(Debug)]
pub struct Frozen {
    walk: Box<Walk>,
    draft: Arc<Draft>,
    bytes: ResultBytes,
}

/// A result that is durable.
#[derive(Debug, Clone)]
pub struct Settled {
    /// The one encoding, shared with the event that records it.
    pub bytes: ResultBytes,
    draft: Arc<Draft>,
}

impl Settled {
    /// Success or failure, with the whole value.
    pub fn outcome(&self) -> &Outcome {
        &self.draft.outcome
    }

    /// Whether it ends the turn.
    pub fn concludes_turn(&self) -> bool {
        self.draft.concludes_turn
    }
}

impl Frozen {
    pub(super) fn new(walk: Walk, draft: Draft, bytes: ResultBytes) -> Self {
        Self {
            walk: Box::new(walk),
            draft: Arc::new(draft),
            bytes,
        }
    }

    /// Its execution.
    pub fn execution(&self) -> &Arc<Execution> {
        &self.walk.execution
    }

    /// Appends the result with the decisions that led to it. On an error nothing was recorded and
    /// the same result may be appended again; `Ok(None)` says that the store refused it, because
    /// the call is not open under this execution: then it is nobody's result.
    ///
    /// # Errors
    /// The store's.
    pub async fn settle(&self) -> Result<Option<Settled>, Error> {
        match self.walk.pipeline.journal.append(self.append()).await? {
            Committed::Done(records) => {
                self.notify();
                let recorded = records.last().map(|event| ResultBytes(event.frame.data()));
                Ok(Some(Settled {
                    bytes: recorded.unwrap_or_else(|| self.bytes.clone()),
                    draft: Arc::clone(&self.draft),
                }))
            }
            Committed::Refused(_) => Ok(None),
        }
    }

    fn append(&self) -> Append {
        let execution = &self.walk.execution;
        let mut append = Append::default();
        for decision in &self.walk.decisions {
            append = append.and(Write::Event, decision.clone());
        }
        let event = EventDraft {
            kind: EventType::ToolResult,
            subject: Subject::execution(execution),
            data: self.bytes.0.clone(),
        };
        let (session, call) = (execution.session.clone(), execution.call_id.clone());
        append.and(Write::SettleCall(session, call, execution.id), event)
    }

    /// Observers cannot change the result; one that fails is logged and contained.
    fn notify(&self) {
        let Walk {
            pipeline,
            execution,
            policy,
            tool,
            ..
        } = &*self.walk;
        let code = match &self.draft.outcome {
            Outcome::Success(_) => None,
            Outcome::Failure(failure) => Some(match &failure.code {
                Code::Ours(code) => code.as_str(),
                // A tool's own words are without number.
                Code::Tool(_) => "(tool)",
            }),
        };
        let tool = tool.as_ref().map(|tool| tool.name());
        pipeline.telemetry.settled(tool, code, &self.draft.timing);
        for observer in policy.observers() {
            let observe = || observer.settled(execution, &self.bytes);
            if std::panic::catch_unwind(AssertUnwindSafe(observe)).is_err() {
                tracing::error!(call_id = %execution.call_id, "an observer of results panicked");
            }
        }
    }

    /// Where the time went.
    pub fn timing(&self) -> &Timing {
        &self.draft.timing
    }
}
