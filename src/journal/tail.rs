//! The tail: what was published last, in memory, for the readers that are awake.
//!
//! Owns one bounded ring for all readers and the places where they wait. Imports `domain` and the
//! journal's records. Must not read the store and never makes the publisher wait for a reader:
//! who falls behind is told so, see [`super::Follow`] for the way back.

mod ring;

use std::sync::{
    Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicUsize, Ordering},
};

use ring::{Place, Ring, SharedTally, Took, Topic};

use super::{append::Recorded, store::Publish};
use crate::domain::{AgentName, EventType, Frame, SessionId, Subject};

/// How far a live reader may be behind, and so how much the ring keeps (configuration:
/// `streams.reader_events`, `streams.reader_bytes`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailLimits {
    /// In events that the reader would see.
    pub events: usize,
    /// In bytes of their frames; a single event is never too much.
    pub bytes: usize,
}

/// Whose events a reader wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Interest {
    /// All events, also those of no session.
    All,
    /// The events of one session.
    Session(SessionId),
}

/// A live-only event: shown once to whoever watches, never recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveEvent {
    /// Its type.
    pub kind: EventType,
    /// What it is about.
    pub subject: Subject,
    /// The one encoding.
    pub frame: Frame,
}

/// What a reader is given. Cloning shares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailItem {
    /// A durable event.
    Recorded(Arc<Recorded>),
    /// A live-only event.
    Live(Arc<LiveEvent>),
}

impl TailItem {
    /// The cursor of a durable event; live-only events have none.
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::Recorded(event) => Some(event.id),
            Self::Live(_) => None,
        }
    }

    /// Its type.
    pub fn kind(&self) -> EventType {
        match self {
            Self::Recorded(event) => event.kind,
            Self::Live(event) => event.kind,
        }
    }

    /// Its session, when it belongs to one.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Recorded(event) => event.session.as_ref(),
            Self::Live(event) => event.subject.session.as_ref(),
        }
    }

    /// Its agent, when it belongs to one.
    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            Self::Recorded(event) => event.agent.as_ref(),
            Self::Live(event) => event.subject.agent.as_ref(),
        }
    }

    /// Its encoding.
    pub fn frame(&self) -> &Frame {
        match self {
            Self::Recorded(event) => &event.frame,
            Self::Live(event) => &event.frame,
        }
    }
}

/// The tail of the journal. A cheap handle: clones are the same tail.
#[derive(Debug, Clone)]
pub struct Tail {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: TailLimits,
    watchers_of_all: AtomicUsize,
    watched_sessions: AtomicUsize,
    ring: RwLock<Ring>,
}

impl Shared {
    fn read(&self) -> RwLockReadGuard<'_, Ring> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Ring> {
        self.ring.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what [`Tail::is_watched`] looks at in step with the ring, while the ring is held.
    fn note_watchers(&self, ring: &Ring) {
        let (of_all, sessions) = ring.watchers();
        self.watchers_of_all.store(of_all, Ordering::Release);
        self.watched_sessions.store(sessions, Ordering::Release);
    }
}

impl Tail {
    /// An empty tail.
    pub fn new(limits: TailLimits) -> Self {
        let shared = Shared {
            limits,
            watchers_of_all: AtomicUsize::new(0),
            watched_sessions: AtomicUsize::new(0),
            ring: RwLock::new(Ring::new(limits)),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Whether anybody would see an event of this interest now. Cheap; takes no lock unless some
    /// session is watched and nobody watches all.
    pub fn is_watched(&self, interest: &Interest) -> bool {
        if self.shared.watchers_of_all.load(Ordering::Acquire) > 0 {
            return true;
        }
        match interest {
            Interest::All => false,
            Interest::Session(session) => {
                self.shared.watched_sessions.load(Ordering::Acquire) > 0
                    && self.shared.read().is_watched(session)
            }
        }
    }

    /// Shows a live-only event to whoever watches its session or all.
    pub fn publish_live(&self, kind: EventType, subject: Subject, frame: Frame) {
        let event = LiveEvent {
            kind,
            subject,
            frame,
        };
        self.show([TailItem::Live(Arc::new(event))]);
    }

    /// Watches from now on: everything published after this returns is seen, in order.
    pub fn subscribe(&self, interest: Interest) -> Subscription {
        let mut ring = self.shared.write();
        let (topic, place) = ring.join(&interest);
        let seen = ring.head();
        self.shared.note_watchers(&ring);
        drop(ring);
        let progress = Arc::new(SharedTally::default());
        progress.advance(place.tally());
        let watch = LagWatch {
            topic,
            progress,
            limits: self.shared.limits,
        };
        Subscription {
            tail: self.clone(),
            interest,
            watch,
            place,
            seen,
        }
    }

    /// Events and frame bytes that the ring keeps now; bounded by the limits, and nothing while
    /// nobody watches.
    pub fn kept(&self) -> (usize, usize) {
        self.shared.read().size()
    }

    fn show(&self, items: impl IntoIterator<Item = TailItem>) {
        let mut stirred = Vec::new();
        let mut ring = self.shared.write();
        ring.begin();
        for item in items {
            ring.push(item, &mut stirred);
        }
        drop(ring);
        for topic in stirred {
            topic.wake.notify_waiters();
        }
    }
}

impl Publish for Tail {
    fn publish(&self, events: &[Arc<Recorded>]) {
        self.show(events.iter().cloned().map(TailItem::Recorded));
    }
}

/// What comes next for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailRead {
    /// Some items, in publish order, recorded ids strictly increasing.
    Items(Vec<TailItem>),
    /// The ring has moved past the reader, which is not far behind: the store has what is missing.
    Behind,
    /// The reader is further behind than the limits allow.
    Lagged,
}

/// One reader's place in the tail. Dropping it ends the watch.
#[derive(Debug)]
pub struct Subscription {
    tail: Tail,
    interest: Interest,
    watch: LagWatch,
    place: Place,
    /// Newest recorded id that the reader has.
    seen: u64,
}

impl Subscription {
    /// Waits for the next items. Cancellation-safe: what was not returned is returned next time.
    pub async fn next(&mut self) -> TailRead {
        loop {
            if let Some(read) = self.poll_now() {
                return read;
            }
            let topic = Arc::clone(&self.watch.topic);
            // made before the second look, so that no wake falls between look and wait
            let woken = topic.wake.notified();
            if let Some(read) = self.poll_now() {
                return read;
            }
            woken.await;
        }
    }

    /// What is there now, without waiting.
    fn poll_now(&mut self) -> Option<TailRead> {
        if self.watch.lagged() {
            return Some(TailRead::Lagged);
        }
        let mut batch = Vec::new();
        loop {
            let ring = self.tail.shared.read();
            let took = ring.take(&self.interest, &mut self.place, &mut self.seen, &mut batch);
            drop(ring);
            self.watch.progress.advance(self.place.tally());
            match took {
                Took::Nothing => return None,
                Took::Gone => return Some(TailRead::Behind),
                Took::Some if batch.is_empty() => {}
                Took::Some => return Some(TailRead::Items(batch)),
            }
        }
    }

    /// Newest recorded id that the reader has.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The reader has everything up to `id` from elsewhere: what is older is not news to it.
    pub fn skip_to(&mut self, id: u64) {
        self.seen = id;
    }

    /// The reader is at work elsewhere: its lag counts from now on.
    pub fn touch(&self) {
        self.watch
            .progress
            .advance(self.watch.topic.published.get());
    }

    /// Gives up the place in the ring for its end; returns the newest recorded id published
    /// before it, 0 when there was none yet. What lies between is to be read from the store.
    pub fn rejoin(&mut self) -> u64 {
        let ring = self.tail.shared.read();
        self.place = ring.end(&self.interest);
        let head = ring.head();
        drop(ring);
        self.watch.progress.advance(self.place.tally());
        head
    }

    /// An eye on this reader's lag, for somebody else.
    pub fn lag_watch(&self) -> LagWatch {
        self.watch.clone()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut ring = self.tail.shared.write();
        let garbage = ring.leave(&self.interest);
        self.tail.shared.note_watchers(&ring);
        drop(ring);
        drop(garbage);
    }
}

/// Tells whether a reader is lagged although nobody asks it for its next item.
#[derive(Debug, Clone)]
pub struct LagWatch {
    topic: Arc<Topic>,
    progress: Arc<SharedTally>,
    limits: TailLimits,
}

impl LagWatch {
    /// Whether more than the limits was published since the reader was last seen reading. Takes no
    /// lock.
    pub fn lagged(&self) -> bool {
        // in this order: what the reader takes meanwhile makes the difference smaller, never larger
        let published = self.topic.published.get();
        let taken = self.progress.get();
        let limit = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
        let events = published.events.saturating_sub(taken.events);
        let bytes = published.bytes.saturating_sub(taken.bytes);
        events > limit(self.limits.events) || (events > 1 && bytes > limit(self.limits.bytes))
    }
}

#[cfg(test)]
mod tests;
