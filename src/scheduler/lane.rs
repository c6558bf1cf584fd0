//! Lanes: which calls of a session may overlap.
//!
//! A lane is first come, first served. Parallel calls share it up to its width; an exclusive call
//! waits for all before it and bars all behind it. A waiter that goes away leaves at once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use crate::registry::Class;

/// A first-come-first-served lane. Cloning shares it.
#[derive(Debug, Clone)]
pub(super) struct Lane(Arc<Mutex<Queue>>);

#[derive(Debug)]
struct Queue {
    width: usize,
    next: u64,
    holding: HashMap<u64, Class>,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    class: Class,
    grant: oneshot::Sender<()>,
}

/// A ticket, then the place that it becomes. Dropping it leaves the queue or frees the lane.
#[derive(Debug)]
pub(super) struct Place {
    lane: Lane,
    id: u64,
    grant: Option<oneshot::Receiver<()>>,
}

impl Lane {
    /// A lane on which up to `width` parallel calls overlap (at least one).
    pub(super) fn of_width(width: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            width: width.max(1),
            next: 0,
            holding: HashMap::new(),
            waiting: VecDeque::new(),
        })))
    }

    /// Takes a ticket behind everybody who has one.
    pub(super) fn ticket(&self, class: Class) -> Place {
        let (grant, granted) = oneshot::channel();
        let (id, ready) = {
            let mut queue = self.lock();
            let id = queue.next;
            queue.next += 1;
            queue.waiting.push_back(Waiter { id, class, grant });
            (id, queue.admit())
        };
        wake(ready);
        Place {
            lane: self.clone(),
            id,
            grant: Some(granted),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing below panics between two changes that belong together.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, id: u64) {
        let ready = {
            let mut queue = self.lock();
            if queue.holding.remove(&id).is_none() {
                queue.waiting.retain(|waiter| waiter.id != id);
            }
            queue.admit()
        };
        wake(ready);
    }
}

impl Queue {
    /// Moves as many waiters from the front into the lane as fit.
    fn admit(&mut self) -> Vec<oneshot::Sender<()>> {
        let mut ready = Vec::new();
        while let Some(front) = self.waiting.front() {
            if !self.has_room_for(front.class) {
                break;
            }
            if let Some(Waiter { id, class, grant }) = self.waiting.pop_front() {
                self.holding.insert(id, class);
                ready.push(grant);
            }
        }
        ready
    }

    fn has_room_for(&self, class: Class) -> bool {
        match class {
            Class::Exclusive => self.holding.is_empty(),
            Class::Parallel => {
                self.holding.len() < self.width
                    && self.holding.values().all(|held| *held == Class::Parallel)
            }
        }
    }
}

/// Tells waiters outside the lock. One that is gone frees its place when it is dropped.
fn wake(ready: Vec<oneshot::Sender<()>>) {
    for grant in ready {
        grant.send(()).ok();
    }
}

impl Place {
    /// Whether the lane is held already.
    pub(super) fn is_held(&mut self) -> bool {
        match &mut self.grant {
            None => true,
            Some(grant) => match grant.try_recv() {
                Ok(()) => {
                    self.grant = None;
                    true
                }
                Err(_) => false,
            },
        }
    }

    /// Waits for the lane. Cancellation-safe: the place in the queue is kept.
    pub(super) async fn held(&mut self) {
        if let Some(grant) = &mut self.grant {
            // The sender lives in the queue until this place leaves it, so it is always answered.
            drop(grant.await);
            self.grant = None;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lane.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn held(places: &mut [Option<Place>]) -> Vec<usize> {
        let mut held = Vec::new();
        for (at, place) in places.iter_mut().enumerate() {
            if place.as_mut().is_some_and(Place::is_held) {
                held.push(at);
            }
        }
        held
    }

    #[test]
    fn an_exclusive_call_waits_for_all_and_bars_all() {
        let lane = Lane::of_width(10);
        let classes = [
            Class::Parallel,
            Class::Parallel,
            Class::Exclusive,
            Class::Parallel,
        ];
        let mut places: Vec<_> = classes.into_iter().map(|c| Some(lane.ticket(c))).collect();
        assert_eq!(held(&mut places), [0, 1]);
        places[0] = None;
        assert_eq!(held(&mut places), [1]);
        places[1] = None;
        assert_eq!(held(&mut places), [2]);
        places[2] = None;
        assert_eq!(held(&mut places), [3]);
    }

    #[test]
    fn a_waiter_that_leaves_lets_those_behind_it_through_at_once() {
        let lane = Lane::of_width(10);
        let classes = [Class::Parallel, Class::Exclusive, Class::Parallel];
        let mut places: Vec<_> = classes.into_iter().map(|c| Some(lane.ticket(c))).collect();
        assert_eq!(held(&mut places), [0]);
        places[1] = None;
        assert_eq!(held(&mut places), [0, 2]);
    }

    /// What the lane promises, on a list: the longest prefix of tickets that fits is held.
    fn model(tickets: &[(usize, Class)], holding: &mut Vec<(usize, Class)>, width: usize) {
        for (at, class) in tickets {
            if holding.iter().any(|(held, _)| held == at) {
                continue;
            }
            let fits = match class {
                Class::Exclusive => holding.is_empty(),
                Class::Parallel => {
                    holding.len() < width && holding.iter().all(|(_, c)| *c == Class::Parallel)
                }
            };
            if !fits {
                break;
            }
            holding.push((*at, *class));
        }
    }

    proptest! {
        #[test]
        fn the_lane_is_first_come_first_served_whatever_leaves_when(
            steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0..3_u8), 1..60),
            width in 1_usize..4,
        ) {
            let lane = Lane::of_width(width);
            let mut places: Vec<Option<Place>> = Vec::new();
            let mut tickets: Vec<(usize, Class)> = Vec::new();
            let mut holding = Vec::new();
            for (parallel, who, action) in steps {
                if action < 2 || tickets.is_empty() {
                    let class = if parallel { Class::Parallel } else { Class::Exclusive };
                    tickets.push((places.len(), class));
                    places.push(Some(lane.ticket(class)));
                } else {
                    let (at, _) = tickets.remove(who.index(tickets.len()));
                    holding.retain(|(held, _)| *held != at);
                    places[at] = None;
                }
                model(&tickets, &mut holding, width);
                let mut want: Vec<usize> = holding.iter().map(|(at, _)| *at).collect();
                want.sort_unstable();
                prop_assert_eq!(held(&mut places), want);
            }
        }
    }
}
