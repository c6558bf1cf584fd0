//! Locks: calls serialised across sessions on a key.
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

    /// Itself and what it runs inside of.
    fn executions(&self) -> impl Iterator<Item = ExecutionId> {
        std::iter::once(self.id).chain(self.ancestors.iter().copied())
    }
}

/// All locks of the daemon. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub(super) struct Locks(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    keys: HashMap<Arc<str>, Key>,
    /// The claims that wait, under each execution that cannot end before they are granted: who
    /// claims, and what that runs inside of.
    waits: HashMap<ExecutionId, HashMap<u64, Wait>>,
}

/// A claim that waits.
#[derive(Debug, Clone)]
struct Wait {
    key: Arc<str>,
    claimant: Claimant,
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
    key: Arc<str>,
    id: u64,
    grant: Option<oneshot::Receiver<()>>,
}

/// Waiting would close a circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WouldDeadlock;

impl Locks {
    /// Claims a key behind everybody who waits for it.
    pub(super) fn claim(&self, key: String, claimant: Claimant) -> Result<Lock, WouldDeadlock> {
        let key: Arc<str> = key.into();
        let mut table = self.lock();
        if table.closes_circle(&key, &claimant) {
            return Err(WouldDeadlock);
        }
        let id = table.next;
        table.next += 1;
        let (grant, granted) = oneshot::channel();
        let wait = Wait {
            key: Arc::clone(&key),
            claimant: claimant.clone(),
        };
        for execution in claimant.executions() {
            let of_execution = table.waits.entry(execution).or_default();
            of_execution.insert(id, wait.clone());
        }
        let entry = table.keys.entry(Arc::clone(&key)).or_default();
        entry.waiting.push_back(Waiter {
            id,
            claimant,
            grant,
        });
        let ready = table.admit(&key);
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
        let withdrawn = entry.waiting.iter().position(|waiter| waiter.id == id);
        if let Some(waiter) = withdrawn.and_then(|at| entry.waiting.remove(at)) {
            table.waits_no_more(id, &waiter.claimant);
        }
        let ready = table.admit(key);
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
    fn admit(&mut self) -> Vec<Waiter> {
        let mut ready = Vec::new();
        loop {
            let inside = |w: &Waiter| !self.holding.is_empty() && self.admits(&w.claimant);
            let at = match self.waiting.iter().position(inside) {
                Some(at) => at,
                None if self.holding.is_empty() && !self.waiting.is_empty() => 0,
                None => return ready,
            };
            if let Some(waiter) = self.waiting.remove(at) {
                self.holding.push((waiter.id, waiter.claimant.clone()));
                ready.push(waiter);
            }
        }
    }

    /// The holders that a claim of this key waits for.
    fn blockers<'k>(&'k self, claimant: &'k Claimant) -> impl Iterator<Item = ExecutionId> + 'k {
        let holders = self.holding.iter().map(|(_, holder)| holder.id);
        holders.filter(|holder| !claimant.is_inside(*holder))
    }
}

impl Table {
    /// Grants what can be granted of a key, and forgets one that nobody wants.
    fn admit(&mut self, key: &str) -> Vec<Waiter> {
        let Some(entry) = self.keys.get_mut(key) else {
            return Vec::new();
        };
        let ready = entry.admit();
        if entry.holding.is_empty() && entry.waiting.is_empty() {
            self.keys.remove(key);
        }
        for waiter in &ready {
            self.waits_no_more(waiter.id, &waiter.claimant);
        }
        ready
    }

    fn waits_no_more(&mut self, id: u64, claimant: &Claimant) {
        for execution in claimant.executions() {
            if let Some(of_execution) = self.waits.get_mut(&execution) {
                of_execution.remove(&id);
                if of_execution.is_empty() {
                    self.waits.remove(&execution);
                }
            }
        }
    }

    /// Whether `claimant`, by waiting for `key`, would come to wait for itself. Followed from
    /// holder to holder: one cannot end while it, or a nested call of it, waits; and each of those
    /// waits for the holders that it does not itself run inside of. It is a circle when one of
    /// them is what `claimant` runs inside of.
    fn closes_circle(&self, key: &str, claimant: &Claimant) -> bool {
        let blockers = |key: &str, claimant: &Claimant| -> Vec<ExecutionId> {
            let entry = self.keys.get(key);
            entry.map_or_else(Vec::new, |entry| entry.blockers(claimant).collect())
        };
        let mut open = blockers(key, claimant);
        let mut seen = HashSet::new();
        while let Some(holder) = open.pop() {
            if !seen.insert(holder) {
                continue;
            }
            for wait in self
                .waits
                .get(&holder)
                .into_iter()
                .flat_map(HashMap::values)
            {
                let next = blockers(&wait.key, &wait.claimant);
                if next.iter().any(|holder| claimant.is_inside(*holder)) {
                    return true;
                }
                open.extend(next);
            }
        }
        false
    }
}

fn wake(ready: Vec<Waiter>) {
    for waiter in ready {
        waiter.grant.send(()).ok();
    }
}

impl Lock {
    /// Whether it is held already.
    pub(super) fn is_held(&mut self) -> bool {
        if self
            .grant
            .as_mut()
            .is_some_and(|grant| grant.try_recv().is_ok())
        {
            self.grant = None;
        }
        self.grant.is_none()
    }

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
        let table = locks.lock();
        assert!(
            table.keys.is_empty() && table.waits.is_empty(),
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

    #[test]
    fn siblings_that_nest_below_what_their_root_holds_close_no_circle() {
        let locks = Locks::default();
        let mut root = claim(&locks, "a", &claimant(1, &[]));
        let mut left = claim(&locks, "b", &claimant(2, &[1]));
        let mut right = claim(&locks, "a", &claimant(3, &[1]));
        assert!(root.is_held() && left.is_held() && right.is_held());
        // waits for 3, which ends by itself, and not for its own root
        let mut below = claim(&locks, "a", &claimant(4, &[2, 1]));
        assert!(!below.is_held());
        // so whoever is inside the root may wait for 2
        let mut other = claim(&locks, "b", &claimant(5, &[1]));
        assert!(!other.is_held());
        // but 3 may not: 2 waits for it
        let closing = locks.claim("b".to_owned(), claimant(6, &[3, 1]));
        assert!(closing.is_err());
        drop(right);
        assert!(below.is_held());
        drop((below, left));
        assert!(other.is_held());
    }
}
