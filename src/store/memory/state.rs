//! What the memory store holds, and its writer.
//!
//! Owns the undo of an append that is refused at a later step. Appends change the state under its
//! lock as a whole, so that no reader sees half of one.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    time::Duration,
};

use crate::{
    domain::{CallId, Clock, ExecutionId, Json, SessionId, Timestamp},
    journal::{Append, CallRow, Committed, Error, Recorded, Refusal, SessionRow, Step, Write},
    store::{
        counters::Counters,
        queue::{Backend, DocumentChange},
        rules::{Facts, Lifecycle, refusal},
    },
};

/// Everything.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) closed: bool,
    events: Vec<Arc<Recorded>>,
    pub(super) sessions: HashMap<SessionId, Session>,
    /// Sessions by the id of the event that opened them.
    pub(super) opened: BTreeMap<u64, SessionId>,
    /// Calls without a result by the id of their accept.
    pub(super) open: BTreeMap<u64, (SessionId, CallId)>,
    pub(super) documents: BTreeMap<(&'static str, String), Json>,
}

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) row: SessionRow,
    events: Vec<Arc<Recorded>>,
    pub(super) calls: HashMap<CallId, CallRow>,
    /// Calls by the id of their accept.
    pub(super) accepted: BTreeMap<u64, CallId>,
}

/// What takes one step back.
enum Undo {
    Event(Option<SessionId>),
    Opened(u64, SessionId),
    Session(SessionRow),
    Accepted(u64, SessionId, CallId),
    Call(CallRow),
}

impl State {
    /// All events, or those of a session.
    pub(super) fn events_of(&self, session: Option<&SessionId>) -> &[Arc<Recorded>] {
        match session {
            None => &self.events,
            Some(id) => self.sessions.get(id).map_or(&[], |session| &session.events),
        }
    }

    fn call_mut(&mut self, session: &SessionId, call: &CallId) -> Option<&mut CallRow> {
        self.sessions.get_mut(session)?.calls.get_mut(call)
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Event(session) => {
                self.events.pop();
                if let Some(session) = session.and_then(|id| self.sessions.get_mut(&id)) {
                    session.events.pop();
                }
            }
            Undo::Opened(no, id) => {
                self.opened.remove(&no);
                self.sessions.remove(&id);
            }
            Undo::Session(row) => {
                if let Some(session) = self.sessions.get_mut(&row.id) {
                    session.row = row;
                }
            }
            Undo::Accepted(id, session, call) => {
                self.open.remove(&id);
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.accepted.remove(&id);
                    session.calls.remove(&call);
                }
            }
            Undo::Call(row) => {
                if row.settled.is_none() {
                    self.open
                        .insert(row.accepted, (row.session.clone(), row.call_id.clone()));
                }
                if let Some(slot) = self.call_mut(&row.session.clone(), &row.call_id.clone()) {
                    *slot = row;
                }
            }
        }
    }

    /// Changes the rows of a judged step; `id` is that of its event.
    fn change(&mut self, write: &Write, id: u64, undo: &mut Vec<Undo>) {
        match write {
            Write::Event => {}
            Write::OpenSession(row) => {
                undo.push(Undo::Opened(id, row.id.clone()));
                self.opened.insert(id, row.id.clone());
                self.sessions
                    .insert(row.id.clone(), Session::new(SessionRow::clone(row)));
            }
            Write::UpdateSession(new) => self.change_session(&new.id, undo, |row| {
                row.approval_policy = new.approval_policy;
                row.metadata.clone_from(&new.metadata);
            }),
            Write::EndSession(session, at) => {
                self.change_session(session, undo, |row| row.ended_at = Some(*at));
            }
            Write::AcceptCall(row) => self.accept(row, id, undo),
            Write::StartCall(session, call, _) => {
                self.change_call(session, call, undo, |row| row.started = Some(id));
            }
            Write::SettleCall(session, call, _) => {
                self.change_call(session, call, undo, |row| row.settled = Some(id));
            }
        }
    }

    fn change_session(
        &mut self,
        id: &SessionId,
        undo: &mut Vec<Undo>,
        change: impl FnOnce(&mut SessionRow),
    ) {
        if let Some(session) = self.sessions.get_mut(id) {
            undo.push(Undo::Session(session.row.clone()));
            change(&mut session.row);
        }
    }

    fn accept(&mut self, row: &CallRow, id: u64, undo: &mut Vec<Undo>) {
        let Some(session) = self.sessions.get_mut(&row.session) else {
            return;
        };
        undo.push(Undo::Accepted(id, row.session.clone(), row.call_id.clone()));
        let agent = session.row.agent.clone();
        let recorded = CallRow {
            accepted: id,
            started: None,
            settled: None,
            agent,
            ..row.clone()
        };
        session.calls.insert(row.call_id.clone(), recorded);
        session.accepted.insert(id, row.call_id.clone());
        self.open
            .insert(id, (row.session.clone(), row.call_id.clone()));
    }

    fn change_call(
        &mut self,
        session: &SessionId,
        call: &CallId,
        undo: &mut Vec<Undo>,
        change: impl FnOnce(&mut CallRow),
    ) {
        let Some(row) = self.call_mut(session, call) else {
            return;
        };
        undo.push(Undo::Call(row.clone()));
        change(row);
        let closed = row.settled.map(|_| row.accepted);
        if let Some(accepted) = closed {
            self.open.remove(&accepted);
        }
    }

    fn record(&mut self, event: Arc<Recorded>, undo: &mut Vec<Undo>) {
        undo.push(Undo::Event(event.session.clone()));
        if let Some(session) = event
            .session
            .as_ref()
            .and_then(|id| self.sessions.get_mut(id))
        {
            session.events.push(Arc::clone(&event));
        }
        self.events.push(event);
    }

    /// The number of the next event in its session.
    fn next_seq(&self, session: Option<&SessionId>) -> Option<u64> {
        let count = self.events_of(Some(session?)).len();
        Some(u64::try_from(count).unwrap_or(u64::MAX).saturating_add(1))
    }
}

impl Session {
    fn new(row: SessionRow) -> Self {
        Self {
            row,
            events: Vec::new(),
            calls: HashMap::new(),
            accepted: BTreeMap::new(),
        }
    }
}

impl Facts for State {
    type Error = Infallible;

    fn session(&mut self, id: &SessionId) -> Result<Option<Lifecycle>, Infallible> {
        let ended = |session: &Session| session.row.ended_at.is_some();
        let lifecycle = |ended| {
            if ended {
                Lifecycle::Ended
            } else {
                Lifecycle::Open
            }
        };
        Ok(self.sessions.get(id).map(ended).map(lifecycle))
    }

    fn call(&mut self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Infallible> {
        Ok(self
            .sessions
            .get(session)
            .and_then(|session| session.calls.get(call).cloned()))
    }

    fn open_call(
        &mut self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<ExecutionId>, Infallible> {
        let row = self
            .sessions
            .get(session)
            .and_then(|session| session.calls.get(call));
        Ok(row
            .filter(|row| row.settled.is_none())
            .map(|row| row.execution))
    }
}

/// The only one who changes the state.
#[derive(Debug)]
pub(super) struct Writer {
    state: Arc<RwLock<State>>,
    counters: Counters,
    clock: Arc<dyn Clock>,
}

impl Writer {
    pub(super) fn new(state: Arc<RwLock<State>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            state,
            counters: Counters::new(1, Timestamp::default()),
            clock,
        }
    }

    /// Refuses reading from now on, and lets go of everything.
    pub(super) fn close(&mut self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        *state = State {
            closed: true,
            ..State::default()
        };
    }

    fn steps(&mut self, steps: &[Step]) -> Result<Vec<Arc<Recorded>>, Refusal> {
        let state = Arc::clone(&self.state);
        let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
        let counters = self.counters;
        let mut undo = Vec::new();
        let mut records = Vec::with_capacity(steps.len());
        for step in steps {
            let Ok(refused) = refusal(&mut *state, step);
            if let Some(refusal) = refused {
                undo.into_iter().rev().for_each(|undo| state.undo(undo));
                self.counters = counters;
                return Err(refusal);
            }
            records.push(self.step(step, &mut state, &mut undo));
        }
        Ok(records)
    }

    fn step(
        &mut self,
        step: &Step,
        state: &mut RwLockWriteGuard<'_, State>,
        undo: &mut Vec<Undo>,
    ) -> Arc<Recorded> {
        let (id, time) = self.counters.take(self.clock.now());
        state.change(&step.write, id, undo);
        let seq = state.next_seq(step.event.subject.session.as_ref());
        let event = Arc::new(Recorded::of(&step.event, id, seq, time));
        state.record(Arc::clone(&event), undo);
        event
    }
}

impl Backend for Writer {
    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn append(&mut self, append: &Append) -> Result<Committed, Error> {
        Ok(match self.steps(&append.steps) {
            Ok(records) => Committed::Done(records),
            Err(refusal) => Committed::Refused(refusal),
        })
    }

    fn change(&mut self, change: &DocumentChange) -> Result<bool, Error> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        Ok(match change {
            DocumentChange::Put(kind, key, body) => state
                .documents
                .insert((kind.as_str(), key.clone()), body.clone())
                .is_some(),
            DocumentChange::Delete(kind, key) => state
                .documents
                .remove(&(kind.as_str(), key.clone()))
                .is_some(),
        })
    }

    fn commit(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Nothing here can fail, so there is nothing to undo.
    fn rollback(&mut self) {}

    fn rest(&mut self, _: Duration) {}
}
