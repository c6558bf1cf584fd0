//! Restart: every call that was left open is closed with the truth (proto-docs/lifecycle.md).

use std::sync::Arc;

use super::{
    Error, Scheduler,
    call::{CallEntry, Phase},
    run::Pauses,
};
use crate::{
    domain::{Draft, ErrorCode, EventDraft, EventType, Execution, Outcome, Subject, Workspace},
    journal::{self, Append, CallRow, Committed, Write},
};

/// Calls closed per append.
const PAGE: usize = 200;

impl Scheduler {
    /// Closes what an earlier daemon left open; how many calls that were. Nothing is run again,
    /// finalizers do not run, and a second restart adds nothing.
    ///
    /// # Errors
    /// [`Error::Store`]; then nothing may be submitted.
    pub async fn recover(&self) -> Result<usize, Error> {
        let mut closed = 0;
        let mut after = 0;
        loop {
            let open = self.0.parts.journal.store().open_calls(after, PAGE).await?;
            let Some(last) = open.last() else {
                return Ok(closed);
            };
            after = last.accepted;
            let closing = open.iter().fold(Append::default(), |append, row| {
                let (write, event) = self.closing(row);
                append.and(write, event)
            });
            match self.0.parts.journal.append(closing).await? {
                Committed::Done(events) => closed += events.len(),
                Committed::Refused(_) => closed += self.recover_each(&open).await?,
            }
        }
    }

    /// Closes calls one by one, when they cannot be closed together.
    async fn recover_each(&self, open: &[CallRow]) -> Result<usize, Error> {
        for row in open {
            let (write, event) = self.closing(row);
            let closed = self
                .0
                .parts
                .journal
                .append(Append::one(write, event))
                .await?;
            if let Committed::Refused(refusal) = closed {
                let what = format!(
                    "the open call {:?} cannot be closed: {refusal:?}",
                    row.call_id
                );
                return Err(journal::Error::Damaged { what }.into());
            }
        }
        Ok(open.len())
    }

    /// Closes one call whose task is gone, and tells those who wait for it. Tries again while the
    /// store cannot write; when it is closed, the next start does it.
    pub(super) async fn close_after_fault(&self, entry: &CallEntry) {
        self.0.tokens.revoke(entry.execution.id);
        let mut pauses = Pauses::default();
        loop {
            match self.try_close(entry).await {
                Ok(()) => return entry.enter(Phase::Refused(Error::Faulted)),
                Err(error @ journal::Error::Closed) => {
                    return entry.enter(Phase::Unsettled(error));
                }
                Err(error) => entry.enter(Phase::Unsettled(error)),
            }
            pauses.wait().await;
        }
    }

    async fn try_close(&self, entry: &CallEntry) -> Result<(), journal::Error> {
        let (session, call) = (&entry.execution.session, &entry.execution.call_id);
        let journal = &self.0.parts.journal;
        // An accept that is still queued is answered before this.
        journal.append(Append::default()).await?;
        match journal.store().call(session, call).await? {
            Some(row) if row.settled.is_none() && row.execution == entry.execution.id => {
                let (write, event) = self.closing(&row);
                journal.append(Append::one(write, event)).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    fn closing(&self, row: &CallRow) -> (Write, EventDraft) {
        let execution = Execution {
            id: row.execution,
            session: row.session.clone(),
            call_id: row.call_id.clone(),
            root_call_id: row.root_call_id.clone(),
            parent: row.parent,
            agent: row.agent.clone(),
            principal: Arc::clone(&row.principal),
            name: row.name.clone(),
            arguments: Arc::default(),
            digest: row.digest,
            workspace: Workspace::default(),
            approval_policy: crate::domain::ApprovalPolicy::default(),
            created_at: self.0.parts.clock.now(),
            accepted: self.0.parts.clock.monotonic(),
        };
        let mut draft = Draft::before_body(self.truth(row));
        draft.body_invoked = row.started.is_some();
        let event = EventDraft {
            kind: EventType::ToolResult,
            subject: Subject::execution(&execution),
            data: draft.freeze(&execution).0,
        };
        (
            Write::SettleCall(row.session.clone(), row.call_id.clone(), row.execution),
            event,
        )
    }

    fn truth(&self, row: &CallRow) -> Outcome {
        if row.started.is_none() {
            let message = "the daemon stopped before the call ran; it had no effect";
            return Outcome::fail(ErrorCode::AbortedBeforeDispatch, message);
        }
        let tool = self.0.parts.registry.resolve(&row.agent, &row.name);
        let harmless = tool.is_some_and(|tool| {
            let definition = tool.definition();
            definition.read_only || definition.idempotent
        });
        let advice = if harmless {
            "the call may be repeated safely"
        } else {
            "check what it has done before you repeat it"
        };
        let message =
            format!("the daemon stopped while the tool ran, so its outcome is unknown; {advice}");
        Outcome::fail(ErrorCode::ToolOutcomeUnknown, message)
    }
}
