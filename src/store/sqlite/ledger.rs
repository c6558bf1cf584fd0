//! What the writer knows without asking the database.
//!
//! Owns the counters, the open calls (all of them), the sessions used last and the backlog of the
//! lookup tables. There is one writer
//! and nobody else changes the file, so what is known here is true; whatever a rollback undoes in
//! the database is undone here too.

use std::collections::HashMap;

use super::backlog::{self, Backlog};
use crate::{
    domain::{CallId, ExecutionId, SessionId},
    store::{counters::Counters, rules::Lifecycle},
};

/// Sessions that are surely kept; up to twice as many may be.
const SESSIONS: usize = 4096;

/// A session as the writer needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Its number in the database.
    pub(super) no: i64,
    /// The seq of its newest event.
    pub(super) seq: u64,
    /// Whether it takes calls.
    pub(super) lifecycle: Lifecycle,
}

/// A call without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenCall {
    /// Id of its accept: its row.
    pub(super) accepted: i64,
    /// The execution it is recorded under.
    pub(super) execution: ExecutionId,
}

/// Number of the session, id of the call.
type CallKey = (i64, CallId);

/// What takes one change of the open calls back.
#[derive(Debug)]
enum Undo {
    Accepted(CallKey),
    Settled(CallKey, OpenCall),
}

/// A point to which the ledger can be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    counters: Counters,
    undo: usize,
    backlog: backlog::Mark,
}

/// The writer's knowledge.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) counters: Counters,
    pub(super) sessions: Recent,
    pub(super) backlog: Backlog,
    open: HashMap<CallKey, OpenCall>,
    undo: Vec<Undo>,
}

impl Ledger {
    pub(super) fn new(
        counters: Counters,
        open: HashMap<CallKey, OpenCall>,
        backlog: Backlog,
    ) -> Self {
        Self {
            counters,
            sessions: Recent::default(),
            backlog,
            open,
            undo: Vec::new(),
        }
    }

    pub(super) fn open_call(&self, session: i64, call: &CallId) -> Option<OpenCall> {
        self.open.get(&(session, call.clone())).copied()
    }

    pub(super) fn accepted(&mut self, session: i64, call: &CallId, open: OpenCall) {
        let key = (session, call.clone());
        self.undo.push(Undo::Accepted(key.clone()));
        self.backlog.call(session, call, open.accepted);
        self.open.insert(key, open);
    }

    pub(super) fn settled(&mut self, session: i64, call: &CallId) {
        let key = (session, call.clone());
        if let Some(open) = self.open.remove(&key) {
            self.undo.push(Undo::Settled(key, open));
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            counters: self.counters,
            undo: self.undo.len(),
            backlog: self.backlog.mark(),
        }
    }

    /// Takes everything since `mark` back. Sessions are read from the database again.
    pub(super) fn rollback(&mut self, mark: Mark) {
        self.counters = mark.counters;
        self.sessions = Recent::default();
        self.backlog.rollback(mark.backlog);
        for undo in self.undo.drain(mark.undo.min(self.undo.len())..).rev() {
            match undo {
                Undo::Accepted(key) => drop(self.open.remove(&key)),
                Undo::Settled(key, open) => drop(self.open.insert(key, open)),
            }
        }
    }

    /// What was done is durable; no mark made before is used any more.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }
}

/// The sessions used last: two generations, the older one given up when the younger is full.
#[derive(Debug, Default)]
pub(super) struct Recent {
    young: HashMap<SessionId, Known>,
    old: HashMap<SessionId, Known>,
}

impl Recent {
    /// A session, if it is kept; it then counts as just used.
    pub(super) fn get_mut(&mut self, id: &SessionId) -> Option<&mut Known> {
        if let Some((id, known)) = self.old.remove_entry(id) {
            self.insert(id, known);
        }
        self.young.get_mut(id)
    }

    pub(super) fn insert(&mut self, id: SessionId, known: Known) {
        if self.young.len() >= SESSIONS {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_used_last_are_kept_and_their_number_is_bounded() {
        let id = |n: usize| SessionId::parse(&n.to_string()).unwrap();
        let mut recent = Recent::default();
        for n in 0..SESSIONS * 5 {
            let known = Known {
                no: 0,
                seq: 0,
                lifecycle: Lifecycle::Open,
            };
            recent.insert(id(n), known);
            // each round uses two, so this one is among the last that were used
            let earlier = n.saturating_sub(SESSIONS / 2 - 1);
            assert!(
                recent.get_mut(&id(earlier)).is_some(),
                "{earlier} after {n}"
            );
            assert!(recent.young.len() + recent.old.len() <= SESSIONS * 2);
        }
        assert!(recent.get_mut(&id(0)).is_none());
    }
}
