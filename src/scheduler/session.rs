//! Live sessions: the lane, the calls under way, and the bounded table that holds them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use tokio::sync::{Notify, Semaphore};

use super::{call::CallEntry, lane::Lane, observations::Observations};
use crate::{
    domain::{CallId, SessionId},
    journal::SessionRow,
};

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It takes calls.
    Open,
    /// It takes no more; what runs was cancelled and is waited for.
    Ending,
    /// Its log has ended.
    Ended,
}

impl SessionState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ending => "ending",
            Self::Ended => "ended",
        }
    }
}

/// One session in memory. It can be dropped and made again from the store whenever no call of it
/// is under way.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) row: ArcSwap<SessionRow>,
    pub(super) lane: Lane,
    pub(super) observations: Observations,
    /// One change of the row at a time, from reading it to keeping what was recorded.
    pub(super) turn: Semaphore,
    ending: AtomicBool,
    calls: Mutex<HashMap<CallId, Arc<CallEntry>>>,
    quiet: Notify,
}

/// What became of a call that was to join a session.
#[derive(Debug)]
pub(super) enum Joined {
    /// It is the first under its id and now in the table.
    First,
    /// A live call has its id.
    Other(Arc<CallEntry>),
    /// The session takes no more calls.
    Ending,
}

impl Session {
    pub(super) fn new(row: SessionRow, width: usize, observations: Observations) -> Self {
        Self {
            ending: AtomicBool::new(row.ended_at.is_some()),
            row: ArcSwap::from_pointee(row),
            lane: Lane::of_width(width),
            observations,
            turn: Semaphore::new(1),
            calls: Mutex::default(),
            quiet: Notify::new(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<CallId, Arc<CallEntry>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a call among those under way, unless its id is or the session is ending. Nested calls
    /// still pass: their parent is under way.
    pub(super) fn join(&self, entry: &Arc<CallEntry>) -> Joined {
        let mut calls = self.calls();
        if let Some(other) = calls.get(&entry.execution.call_id) {
            return Joined::Other(Arc::clone(other));
        }
        if entry.execution.is_top_level() && self.is_closed() {
            return Joined::Ending;
        }
        calls.insert(entry.execution.call_id.clone(), Arc::clone(entry));
        Joined::First
    }

    /// Takes a call out; only the entry itself, never another one under its id.
    pub(super) fn leave(&self, entry: &Arc<CallEntry>) {
        let mut calls = self.calls();
        let id = &entry.execution.call_id;
        if calls.get(id).is_some_and(|held| Arc::ptr_eq(held, entry)) {
            calls.remove(id);
        }
        if calls.is_empty() {
            drop(calls);
            self.quiet.notify_waiters();
        }
    }

    pub(super) fn call(&self, id: &CallId) -> Option<Arc<CallEntry>> {
        self.calls().get(id).cloned()
    }

    pub(super) fn live(&self) -> Vec<Arc<CallEntry>> {
        self.calls().values().cloned().collect()
    }

    /// Takes no more top-level calls from now on. Whether this call closed it.
    pub(super) fn close(&self) -> bool {
        let _calls = self.calls();
        !self.ending.swap(true, Ordering::AcqRel)
    }

    /// Whether it takes no more top-level calls.
    pub(super) fn is_closed(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    /// Takes calls again: its end could not be recorded.
    pub(super) fn reopen(&self) {
        self.ending.store(false, Ordering::Release);
    }

    /// Waits until no call is under way. Cancellation-safe.
    pub(super) async fn quiet(&self) {
        loop {
            let notified = self.quiet.notified();
            if self.calls().is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Whether no call is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.calls().is_empty()
    }
}

/// Shards of the table: lookups of different sessions rarely meet.
const SHARDS: usize = 16;
/// Sessions that a shard keeps before it drops idle ones.
const KEPT_PER_SHARD: usize = 1024;

/// The sessions in memory.
#[derive(Debug)]
pub(super) struct Sessions {
    shards: Vec<Mutex<HashMap<SessionId, Arc<Session>>>>,
    hasher: RandomState,
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
        }
    }

    fn shard(&self, id: &SessionId) -> Option<MutexGuard<'_, HashMap<SessionId, Arc<Session>>>> {
        let at = usize::try_from(self.hasher.hash_one(id)).unwrap_or(usize::MAX) % SHARDS;
        let shard = self.shards.get(at)?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.shard(id)?.get(id).cloned()
    }

    /// Puts a session in, unless it is there; returns the one that is there now.
    pub(super) fn insert(&self, session: Session) -> Arc<Session> {
        let id = session.row.load().id.clone();
        let session = Arc::new(session);
        let Some(mut shard) = self.shard(&id) else {
            return session;
        };
        if let Some(there) = shard.get(&id) {
            return Arc::clone(there);
        }
        if shard.len() >= KEPT_PER_SHARD {
            // Some of the idle ones, whichever they are: to drop all would have every client
            // wait for the store at once.
            let mut left = KEPT_PER_SHARD / 4;
            shard.retain(|_, held| {
                // Whoever holds a session took it under this lock, so a count of one means nobody.
                let kept = left == 0 || Arc::strong_count(held) > 1 || !held.is_idle();
                left -= usize::from(!kept);
                kept
            });
        }
        shard.insert(id, Arc::clone(&session));
        session
    }

    /// Every session in memory.
    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        let lock = |shard: &Mutex<HashMap<SessionId, Arc<Session>>>| -> Vec<Arc<Session>> {
            shard
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .values()
                .cloned()
                .collect()
        };
        self.shards.iter().flat_map(lock).collect()
    }
}
