//! Locks: calls serialised across sessions on a key (pipeline §4).
//!
//! A lock is held by an execution. A nested call shares what its ancestors hold. A wait that would
//! close a circle fails at once instead of waiting for ever.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::domain::ExecutionId;

/// Who asks for a lock: an execution and those that it runs inside of.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    /// The execution itself.
    pub(super) id: ExecutionId,
    /// Its parent, the parent's parent, and so on.
    pub(super) ancestors: Arc<[ExecutionId]>,
}

impl Claimant {
    fn is_inside(&self, other: ExecutionId) -> bool {
        self.id == other || self.ancestors.contains(&other)
    }
}

/// All locks of the daemon. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Locks(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    keys: HashMap<String, Key>,
}

#[derive(Debug, Default)]
struct Key {
    holding: Vec<(u64, Claimant)>,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    claimant: Claimant,
    grant: oneshot::Sender<()>,
}

/// A claim on a key, then the lock that it becomes. Dropping it withdraws or releases.
#[derive(Debug)]
pub(super) struct Lock {
    locks: Locks,
    key: String,
    id: u64,
    grant: Option<oneshot::Receiver<()>>,
}

/// Waiting would close a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WouldDeadlock;

impl Locks {
    /// Claims a key behind everybody who waits for it.
    pub(super) fn claim(&self, key: String, claimant: Claimant) -> Result<Lock, WouldDeadlock> {
        let mut table = self.lock();
        if table.closes_circle(&key, &claimant) {
            return Err(WouldDeadlock);
        }
        let id = table.next;
        table.next += 1;
        let (grant, granted) = oneshot::channel();
        let entry = table.keys.entry(key.clone()).or_default();
        entry.waiting.push_back(Waiter {
            id,
            claimant,
            grant,
        });
        let ready = entry.admit();
        drop(table);
        wake(ready);
        Ok(Lock {
            locks: self.clone(),
            key,
            id,
            grant: Some(granted),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing below panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, key: &str, id: u64) {
        let mut table = self.lock();
        let Some(entry) = table.keys.get_mut(key) else {
            return;
        };
        entry.holding.retain(|(held, _)| *held != id);
        entry.waiting.retain(|waiter| waiter.id != id);
        let ready = entry.admit();
        if entry.holding.is_empty() && entry.waiting.is_empty() {
            table.keys.remove(key);
        }
        drop(table);
        wake(ready);
    }
}

impl Key {
    fn admits(&self, claimant: &Claimant) -> bool {
        self.holding
            .iter()
            .all(|(_, holder)| claimant.is_inside(holder.id))
    }

    /// Grants in order. A nested call of a holder passes those who wait for that holder: it must,
    /// or the holder would wait for them.
    fn admit(&mut self) -> Vec<oneshot::Sender<()>> {
        let mut ready = Vec::new();
        loop {
            let inside = |w: &Waiter| !self.holding.is_empty() && self.admits(&w.claimant);
            let at = match self.waiting.iter().position(inside) {
                Some(at) => at,
                None if self.holding.is_empty() && !self.waiting.is_empty() => 0,
                None => return ready,
            };
            if let Some(Waiter {
                id,
                claimant,
                grant,
            }) = self.waiting.remove(at)
            {
                self.holding.push((id, claimant));
                ready.push(grant);
            }
        }
    }
}

impl Table {
    /// Whether `claimant`, by waiting for `key`, would come to wait for itself: a holder waits,
    /// or runs a nested call that waits, for something that `claimant` runs inside of.
    fn closes_circle(&self, key: &str, claimant: &Claimant) -> bool {
        let mut open: Vec<&str> = vec![key];
        let mut seen: HashSet<&str> = HashSet::new();
        while let Some(key) = open.pop() {
            if !seen.insert(key) {
                continue;
            }
            let Some(entry) = self.keys.get(key) else {
                continue;
            };
            for (_, holder) in &entry.holding {
                if claimant.is_inside(holder.id) {
                    // The first key may be shared with an ancestor; behind it, it is the circle.
                    if open_is_behind(&seen) {
                        return true;
                    }
                    continue;
                }
                open.extend(self.waits_of(holder.id));
            }
        }
        false
    }

    /// The keys that an execution, or a nested call of it, waits for.
    fn waits_of(&self, holder: ExecutionId) -> impl Iterator<Item = &str> {
        self.keys.iter().filter_map(move |(key, entry)| {
            let waits = entry
                .waiting
                .iter()
                .any(|waiter| waiter.claimant.is_inside(holder));
            waits.then_some(key.as_str())
        })
    }
}

/// Whether the walk has left the key that it began with.
fn open_is_behind(seen: &HashSet<&str>) -> bool {
    seen.len() > 1
}

fn wake(ready: Vec<oneshot::Sender<()>>) {
    for grant in ready {
        grant.send(()).ok();
    }
}

impl Lock {
    /// Waits for the lock. Cancellation-safe: the place in the queue is kept.
    pub(super) async fn held(&mut self) {
        if let Some(grant) = &mut self.grant {
            // The sender lives in the table until this claim leaves it, so it is always answered.
            drop(grant.await);
            self.grant = None;
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.locks.leave(&self.key, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Lock {
        fn is_held(&mut self) -> bool {
            self.grant
                .as_mut()
                .is_none_or(|grant| grant.try_recv().is_ok())
        }
    }

    fn execution(n: u128) -> ExecutionId {
        ExecutionId::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn claimant(id: u128, ancestors: &[u128]) -> Claimant {
        Claimant {
            id: execution(id),
            ancestors: ancestors.iter().map(|n| execution(*n)).collect(),
        }
    }

    fn claim(locks: &Locks, key: &str, who: &Claimant) -> Lock {
        locks.claim(key.to_owned(), who.clone()).unwrap()
    }

    #[test]
    fn a_key_is_held_by_one_and_passed_on_in_order() {
        let locks = Locks::default();
        let mut first = claim(&locks, "a", &claimant(1, &[]));
        let mut second = claim(&locks, "a", &claimant(2, &[]));
        let mut third = claim(&locks, "a", &claimant(3, &[]));
        assert!(first.is_held() && !second.is_held() && !third.is_held());
        drop(second);
        drop(first);
        assert!(third.is_held());
        drop(third);
        assert!(
            locks.lock().keys.is_empty(),
            "nothing is left of a key that nobody wants"
        );
    }

    #[test]
    fn a_nested_call_shares_what_its_ancestors_hold() {
        let locks = Locks::default();
        let mut root = claim(&locks, "a", &claimant(1, &[]));
        let mut stranger = claim(&locks, "a", &claimant(2, &[]));
        let mut nested = claim(&locks, "a", &claimant(3, &[1]));
        assert!(root.is_held() && nested.is_held() && !stranger.is_held());
        let mut sibling = claim(&locks, "a", &claimant(4, &[1]));
        assert!(
            !sibling.is_held(),
            "siblings do not share what one of them holds"
        );
        drop(nested);
        assert!(sibling.is_held());
    }

    #[test]
    fn a_wait_that_would_close_a_circle_fails_at_once() {
        let locks = Locks::default();
        let _one = claim(&locks, "a", &claimant(1, &[]));
        let _two = claim(&locks, "b", &claimant(2, &[]));
        let _waits = claim(&locks, "b", &claimant(11, &[1]));
        assert!(locks.claim("a".to_owned(), claimant(12, &[2])).is_err());
        assert!(
            locks.claim("a".to_owned(), claimant(3, &[])).is_ok(),
            "a stranger may wait"
        );
    }

    #[test]
    fn longer_circles_are_seen_too() {
        let locks = Locks::default();
        let _holds: Vec<Lock> = [("a", 1), ("b", 2), ("c", 3)]
            .map(|(key, n)| claim(&locks, key, &claimant(n, &[])))
            .into();
        let _waits: Vec<Lock> = [("b", 11, 1), ("c", 12, 2)]
            .map(|(key, n, parent)| claim(&locks, key, &claimant(n, &[parent])))
            .into();
        assert!(locks.claim("a".to_owned(), claimant(13, &[3])).is_err());
    }
}
