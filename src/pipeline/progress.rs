//! Where a running call stands, and its live `tool/state` events.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use crate::{
    domain::{CallState, EventDraft, EventType, Execution, Subject},
    journal::{Interest, Journal},
};

/// The state of one execution. Nothing is shown before its `tool/call` is.
#[derive(Debug)]
pub struct Progress {
    execution: Arc<Execution>,
    journal: Journal,
    interest: Interest,
    state: AtomicU8,
    accepted: AtomicBool,
}

impl Progress {
    /// A call that is about to be judged.
    pub fn new(execution: Arc<Execution>, journal: Journal) -> Self {
        let interest = Interest::Session(execution.session.clone());
        Self {
            execution,
            journal,
            interest,
            state: AtomicU8::new(CallState::Policy as u8),
            accepted: AtomicBool::new(false),
        }
    }

    /// The state now.
    pub fn state(&self) -> CallState {
        let state = self.state.load(Ordering::Acquire);
        CallState::ALL
            .iter()
            .copied()
            .find(|s| *s as u8 == state)
            .unwrap_or(CallState::Settled)
    }

    /// Moves to a state and shows it.
    pub fn enter(&self, state: CallState) {
        self.state.store(state as u8, Ordering::Release);
        if self.accepted.load(Ordering::Acquire) {
            self.show(state);
        }
    }

    /// `tool/call` is durable: from now on moves are shown, beginning with where the call stands.
    /// That it begins in `policy` is no move, and may be outdated already: its start can have
    /// become durable together with it.
    pub fn accepted(&self) {
        self.accepted.store(true, Ordering::Release);
        let state = self.state();
        if state != CallState::Policy {
            self.show(state);
        }
    }

    fn show(&self, state: CallState) {
        self.journal.live(&self.interest, || {
            EventDraft::new(
                EventType::ToolState,
                Subject::execution(&self.execution),
                |w| {
                    w.string("state", state.as_str());
                },
            )
        });
    }
}
