//! The refusal rules, the same for every store (see [`Write`]).
//!
//! Pure judgement over what a store says of itself. Changes nothing.

use crate::{
    domain::{CallId, ExecutionId, SessionId},
    journal::{CallRow, Refusal, Step, Write},
};

/// Whether a session still takes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifecycle {
    /// It does.
    Open,
    /// Its log has ended.
    Ended,
}

/// What the rules ask of a store, as of all steps before the one that is judged.
pub(super) trait Facts {
    /// Why the store cannot tell.
    type Error;
    /// A session.
    fn session(&mut self, id: &SessionId) -> Result<Option<Lifecycle>, Self::Error>;
    /// The row of a call, settled or not.
    fn call(&mut self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Self::Error>;
    /// The execution of a call that has no result.
    fn open_call(
        &mut self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<ExecutionId>, Self::Error>;
}

/// Why a step is refused, if it is.
pub(super) fn refusal<F: Facts>(facts: &mut F, step: &Step) -> Result<Option<Refusal>, F::Error> {
    let own = match &step.write {
        Write::Event => None,
        Write::OpenSession(row) => facts.session(&row.id)?.map(|_| Refusal::SessionExists),
        Write::UpdateSession(row) => not_open(facts.session(&row.id)?),
        Write::EndSession(id, _) => not_open(facts.session(id)?),
        Write::AcceptCall(row) => not_acceptable(facts, row)?,
        Write::StartCall(session, call, execution)
        | Write::SettleCall(session, call, execution) => {
            let open = facts.open_call(session, call)?;
            (open != Some(*execution)).then_some(Refusal::NotOpen)
        }
    };
    if own.is_some() {
        return Ok(own);
    }
    match &step.event.subject.session {
        Some(id) if !opens(&step.write, id) && facts.session(id)?.is_none() => {
            Ok(Some(Refusal::SessionUnknown))
        }
        Some(_) | None => Ok(None),
    }
}

fn not_open(session: Option<Lifecycle>) -> Option<Refusal> {
    match session {
        None => Some(Refusal::SessionUnknown),
        Some(Lifecycle::Ended) => Some(Refusal::SessionEnded),
        Some(Lifecycle::Open) => None,
    }
}

/// A repeated call is told so even when its session has ended; a nested one is still accepted
/// while its root drains.
fn not_acceptable<F: Facts>(facts: &mut F, row: &CallRow) -> Result<Option<Refusal>, F::Error> {
    let session = facts.session(&row.session)?;
    if session.is_none() {
        return Ok(Some(Refusal::SessionUnknown));
    }
    if let Some(recorded) = facts.call(&row.session, &row.call_id)? {
        return Ok(Some(Refusal::CallExists(Box::new(recorded))));
    }
    Ok(if row.parent.is_some() {
        None
    } else {
        not_open(session)
    })
}

fn opens(write: &Write, session: &SessionId) -> bool {
    matches!(write, Write::OpenSession(row) if row.id == *session)
}
