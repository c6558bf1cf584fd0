//! What running bodies do through the scheduler: nested calls, events, observations, tokens.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Scheduler,
    call::{CallEntry, CancelOnDrop, Phase},
    request::FrozenArguments,
    session::Joined,
    submit::Descent,
};
use crate::{
    domain::{
        CallId, EventDraft, EventType, Execution, Object, Subject,
        json::{Limits, check_object},
    },
    journal::{Append, Committed, Interest},
    registry::{ExecutionContext, ExecutionHost, ExecutionToken, HostError, NestedResult},
};

/// Deepest nesting of calls.
const MAX_DEPTH: usize = 16;
/// Most nested calls of one execution.
const MAX_NESTED: u64 = 10_000;

#[async_trait]
impl ExecutionHost for Scheduler {
    async fn call(
        &self,
        parent: &ExecutionContext,
        name: &str,
        arguments: Object,
    ) -> Result<NestedResult, HostError> {
        let entry = self.start_nested(parent, name, arguments).await?;
        // Kept to the end: to cancel what has ended changes nothing.
        let _tie = CancelOnDrop::of(&entry, "its caller went away");
        match entry.ended().await {
            Phase::Settled(settled) => Ok(NestedResult {
                execution: entry.execution.id,
                outcome: settled.outcome().clone(),
                concludes_turn: settled.concludes_turn(),
            }),
            Phase::Unsettled(_) => Err(HostError::Journal),
            Phase::Refused(error) => Err(HostError::Refused(error.to_string())),
            Phase::Taken(_) | Phase::Pending | Phase::Accepted => Err(HostError::Refused(
                "the nested call's id is taken".to_owned(),
            )),
        }
    }

    async fn record(&self, execution: &Execution, event: EventDraft) -> Result<(), HostError> {
        self.entry_of(execution).await?;
        match self.0.parts.journal.append(Append::event(event)).await {
            Ok(Committed::Done(_)) => Ok(()),
            Ok(Committed::Refused(_)) => Err(HostError::Settled),
            Err(error) => {
                tracing::error!(error = %error, "an event of a running tool could not be recorded");
                Err(HostError::Journal)
            }
        }
    }

    fn live(&self, execution: &Execution, event: &dyn Fn() -> EventDraft) {
        self.0
            .parts
            .journal
            .live(&Interest::Session(execution.session.clone()), event);
    }

    async fn observed(
        &self,
        execution: &Execution,
        path: &str,
    ) -> Result<Option<String>, HostError> {
        let session = self
            .load(&execution.session)
            .await
            .map_err(|_| HostError::Journal)?;
        let journal = &self.0.parts.journal;
        let seen = session
            .observations
            .get(journal, &execution.session, path)
            .await;
        seen.map_err(|_| HostError::Journal)
    }

    async fn observe(
        &self,
        execution: &Execution,
        path: &str,
        version: &str,
    ) -> Result<(), HostError> {
        let session = self
            .load(&execution.session)
            .await
            .map_err(|_| HostError::Journal)?;
        let journal = &self.0.parts.journal;
        let event = EventDraft::new(EventType::FsObserved, Subject::execution(execution), |w| {
            w.string("path", path).string("version", version);
        });
        // In order before the result; that it is durable then follows from the one order.
        drop(
            journal
                .submit(Append::event(event))
                .await
                .map_err(|_| HostError::Journal)?,
        );
        let kept = session
            .observations
            .put(journal, &execution.session, path, version)
            .await;
        kept.map_err(|_| HostError::Journal)
    }

    fn token(&self, execution: &Execution) -> Result<ExecutionToken, HostError> {
        let session = self
            .0
            .sessions
            .get(&execution.session)
            .ok_or(HostError::Settled)?;
        session.call(&execution.call_id).ok_or(HostError::Settled)?;
        self.0
            .tokens
            .mint(execution.id)
            .map_err(|_| HostError::Refused("the system has no random numbers to give".to_owned()))
    }
}

impl Scheduler {
    /// The live call of a running execution.
    async fn entry_of(&self, execution: &Execution) -> Result<Arc<CallEntry>, HostError> {
        let session = self
            .load(&execution.session)
            .await
            .map_err(|_| HostError::Journal)?;
        let entry = session.call(&execution.call_id).ok_or(HostError::Settled)?;
        if entry.execution.id == execution.id {
            Ok(entry)
        } else {
            Err(HostError::Settled)
        }
    }

    async fn start_nested(
        &self,
        parent: &ExecutionContext,
        name: &str,
        arguments: Object,
    ) -> Result<Arc<CallEntry>, HostError> {
        check_object(&arguments, &Limits::default()).map_err(|error| {
            HostError::Refused(format!("the arguments cannot be kept: {error}"))
        })?;
        let execution = parent.execution();
        let parent_entry = self.entry_of(execution).await?;
        let session = self
            .load(&execution.session)
            .await
            .map_err(|_| HostError::Journal)?;
        let n = parent_entry.next_nested();
        let outer = &parent_entry.claimant.ancestors;
        if n > MAX_NESTED || outer.len() + 1 >= MAX_DEPTH {
            let message =
                format!("a call makes at most {MAX_NESTED} nested calls, at most {MAX_DEPTH} deep");
            return Err(HostError::Refused(message));
        }
        let below_root = &parent_entry.below_root;
        let slot = self.nested_slot(&parent_entry)?;
        let ancestors = std::iter::once(execution.id)
            .chain(outer.iter().copied())
            .collect();
        let descent = Descent {
            parent: Some(execution.id),
            root_call_id: execution.root_call_id.clone(),
            ancestors,
            below_root: Arc::clone(below_root),
            // A child of what the body sees, so that its timeout reaches nested calls too.
            signal: parent.signal().child(),
        };
        let call_id = CallId::nested(&execution.call_id, n);
        let arguments = FrozenArguments::of(name, arguments);
        let nested = self.execution(
            &session,
            call_id,
            name.to_owned(),
            &arguments,
            &execution.principal,
            &descent,
        );
        let entry = self.entry(&session, nested, (None, None), &descent);
        match session.join(&entry) {
            Joined::First => {}
            Joined::Other(_) | Joined::Ending => {
                return Err(HostError::Refused(
                    "the nested call's id is taken".to_owned(),
                ));
            }
        }
        self.start(
            &session,
            &entry,
            &arguments,
            parent_entry.nested_lane().clone(),
            slot,
        );
        Ok(entry)
    }
}
