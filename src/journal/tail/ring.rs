//! Owns what the tail keeps in memory: the entries in publish order and, for each watched session,
//! the chain of its own entries among them.
//!
//! Imports the journal's records. Pure bookkeeping behind the lock of [`super::Tail`]: wakes
//! nobody, waits for nothing. An entry that no reader would see is not kept at all.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use super::{Interest, TailItem, TailLimits};
use crate::domain::SessionId;

/// Most items that a reader takes at once.
const BATCH_ITEMS: usize = 64;
/// A batch ends with the item that reaches this many bytes.
const BATCH_BYTES: usize = 256 * 1024;
/// Most entries that are looked at under one hold of the lock.
const BATCH_STEPS: usize = 1024;

/// How much of one interest was published: a count of events and the sum of their frames.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) events: u64,
    pub(super) bytes: u64,
}

/// A tally that is read without the lock.
#[derive(Debug, Default)]
pub(super) struct SharedTally {
    events: AtomicU64,
    bytes: AtomicU64,
}

impl SharedTally {
    pub(super) fn get(&self) -> Tally {
        Tally {
            events: self.events.load(Ordering::Acquire),
            bytes: self.bytes.load(Ordering::Acquire),
        }
    }

    /// Moves forward to `tally`, never back.
    pub(super) fn advance(&self, tally: Tally) {
        self.events.fetch_max(tally.events, Ordering::AcqRel);
        self.bytes.fetch_max(tally.bytes, Ordering::AcqRel);
    }
}

/// Where the readers of one interest wait, and how much was published for them.
#[derive(Debug, Default)]
pub(super) struct Topic {
    pub(super) published: SharedTally,
    pub(super) wake: Notify,
}

/// The place of a reader: the last entry that it took, or the end of its strand when it came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    tally: Tally,
    position: u64,
}

impl Place {
    pub(super) fn tally(self) -> Tally {
        self.tally
    }
}

/// What a reader found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Took {
    /// It has everything.
    Nothing,
    /// It moved on; what it may see is in the batch, which can be empty.
    Some,
    /// What comes next for it is no longer kept.
    Gone,
}

/// The entries of one interest.
#[derive(Debug, Default)]
struct Strand {
    topic: Arc<Topic>,
    readers: usize,
    tally: Tally,
    /// Position of its newest entry.
    newest: u64,
    /// Number and position of its oldest entry, if any is kept.
    oldest: (u64, u64),
    /// The publication that it was last stirred by.
    stirred: u64,
}

impl Strand {
    fn end(&self) -> Place {
        Place {
            tally: self.tally,
            position: self.newest,
        }
    }

    fn count(&mut self, bytes: u64) -> Tally {
        self.tally.events += 1;
        self.tally.bytes += bytes;
        self.topic.published.advance(self.tally);
        self.tally
    }

    /// Remembers the topic for waking, once per publication.
    fn stir(&mut self, publication: u64, stirred: &mut Vec<Arc<Topic>>) {
        if self.stirred != publication {
            self.stirred = publication;
            stirred.push(Arc::clone(&self.topic));
        }
    }
}

/// One item in the ring.
#[derive(Debug)]
pub(super) struct Entry {
    item: TailItem,
    /// Newest recorded id when this was published, its own included.
    head: u64,
    /// Tallies up to this entry, of all and of its session.
    all: Tally,
    own: Tally,
    /// Position of the session's next entry; 0 while there is none.
    next: u64,
}

impl Entry {
    /// Whether a reader that has everything up to `seen` should still see it. A live event that
    /// was published before something the reader has is stale.
    fn is_news(&self, seen: u64) -> bool {
        match self.item.id() {
            Some(id) => id > seen,
            // before the first publication of this process nothing can be older
            None => self.head == 0 || self.head >= seen,
        }
    }
}

/// The bounded ring. Positions count from 1 and are never used twice.
#[derive(Debug)]
pub(super) struct Ring {
    limits: TailLimits,
    entries: VecDeque<Entry>,
    /// Position of the front entry.
    first: u64,
    bytes: usize,
    head: u64,
    publication: u64,
    all: Strand,
    sessions: HashMap<SessionId, Strand>,
}

impl Ring {
    pub(super) fn new(limits: TailLimits) -> Self {
        Self {
            limits,
            entries: VecDeque::new(),
            first: 1,
            bytes: 0,
            head: 0,
            publication: 0,
            all: Strand::default(),
            sessions: HashMap::new(),
        }
    }

    /// Newest recorded id that was published; 0 before the first.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    /// Entries and frame bytes that are kept.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }

    pub(super) fn is_watched(&self, session: &SessionId) -> bool {
        self.sessions.contains_key(session)
    }

    /// Readers of all, and sessions that have readers of their own.
    pub(super) fn watchers(&self) -> (usize, usize) {
        (self.all.readers, self.sessions.len())
    }

    /// Adds a reader, placed at the end of its strand.
    pub(super) fn join(&mut self, interest: &Interest) -> (Arc<Topic>, Place) {
        let next = self.next_position();
        let strand = match interest {
            Interest::All => {
                // a reader of all steps from position to position, and none was counted while
                // nobody watched all
                self.all.newest = next.saturating_sub(1);
                &mut self.all
            }
            Interest::Session(session) => self.sessions.entry(session.clone()).or_default(),
        };
        strand.readers += 1;
        (Arc::clone(&strand.topic), strand.end())
    }

    /// Removes a reader; gives back what nobody waits for any more, to be dropped elsewhere.
    pub(super) fn leave(&mut self, interest: &Interest) -> VecDeque<Entry> {
        match interest {
            Interest::All => self.all.readers = self.all.readers.saturating_sub(1),
            Interest::Session(session) => {
                if let Some(strand) = self.sessions.get_mut(session) {
                    strand.readers = strand.readers.saturating_sub(1);
                    if strand.readers == 0 {
                        self.sessions.remove(session);
                    }
                }
            }
        }
        if self.all.readers > 0 || !self.sessions.is_empty() {
            return VecDeque::new();
        }
        self.first = self.next_position();
        self.bytes = 0;
        std::mem::take(&mut self.entries)
    }

    /// The end of an interest's strand: where a reader goes that will read the rest elsewhere.
    pub(super) fn end(&self, interest: &Interest) -> Place {
        self.strand(interest).map(Strand::end).unwrap_or_default()
    }

    /// Begins a publication: strands are stirred once in it.
    pub(super) fn begin(&mut self) {
        self.publication += 1;
    }

    /// Appends an item for whoever watches, and notes whom to wake.
    pub(super) fn push(&mut self, item: TailItem, stirred: &mut Vec<Arc<Topic>>) {
        self.head = item.id().unwrap_or(self.head);
        let position = self.next_position();
        let own = item
            .session()
            .and_then(|session| self.sessions.get_mut(session));
        if own.is_none() && self.all.readers == 0 {
            return;
        }
        let size = item.frame().len();
        let bytes = u64::try_from(size).unwrap_or(u64::MAX);
        let mut entry = Entry {
            item,
            head: self.head,
            all: Tally::default(),
            own: Tally::default(),
            next: 0,
        };
        if self.all.readers > 0 {
            entry.all = self.all.count(bytes);
            self.all.newest = position;
            self.all.stir(self.publication, stirred);
        }
        if let Some(strand) = own {
            entry.own = strand.count(bytes);
            strand.stir(self.publication, stirred);
            match entry_at(&mut self.entries, self.first, strand.newest) {
                Some(before) => before.next = position,
                None => strand.oldest = (entry.own.events, position),
            }
            strand.newest = position;
        }
        self.entries.push_back(entry);
        self.bytes += size;
        self.evict();
    }

    /// Moves a reader on and gives it what is news to it; `seen` follows the recorded ids.
    pub(super) fn take(
        &self,
        interest: &Interest,
        place: &mut Place,
        seen: &mut u64,
        batch: &mut Vec<TailItem>,
    ) -> Took {
        let mut bytes = 0;
        let mut took = Took::Nothing;
        for _ in 0..BATCH_STEPS {
            let next = match self.successor(interest, *place) {
                Ok(next) => next,
                Err(Evicted) if took == Took::Nothing => return Took::Gone,
                Err(Evicted) => None,
            };
            let Some((position, entry)) = next else { break };
            place.position = position;
            took = Took::Some;
            place.tally = match interest {
                Interest::All => entry.all,
                Interest::Session(_) => entry.own,
            };
            if entry.is_news(*seen) {
                *seen = entry.item.id().unwrap_or(*seen);
                bytes += entry.item.frame().len();
                batch.push(entry.item.clone());
            }
            if batch.len() >= BATCH_ITEMS || bytes >= BATCH_BYTES {
                break;
            }
        }
        took
    }

    /// The entry that follows a place in its strand; none at the end.
    fn successor(
        &self,
        interest: &Interest,
        place: Place,
    ) -> Result<Option<(u64, &Entry)>, Evicted> {
        let Some(strand) = self.strand(interest) else {
            return Ok(None);
        };
        if place.tally.events >= strand.tally.events {
            return Ok(None);
        }
        let position = match interest {
            Interest::All => place.position + 1,
            Interest::Session(_) => match self.entry(place.position) {
                Some(last) => last.next,
                None if strand.oldest.0 == place.tally.events + 1 => strand.oldest.1,
                None => 0,
            },
        };
        self.entry(position)
            .map(|entry| Some((position, entry)))
            .ok_or(Evicted)
    }

    fn strand(&self, interest: &Interest) -> Option<&Strand> {
        match interest {
            Interest::All => Some(&self.all),
            Interest::Session(session) => self.sessions.get(session),
        }
    }

    fn entry(&self, position: u64) -> Option<&Entry> {
        let index = position.checked_sub(self.first)?;
        self.entries.get(usize::try_from(index).ok()?)
    }

    fn next_position(&self) -> u64 {
        self.first + u64::try_from(self.entries.len()).unwrap_or(u64::MAX)
    }

    /// Keeps the bounds; the newest entry stays whatever its size.
    fn evict(&mut self) {
        while self.entries.len() > 1
            && (self.entries.len() > self.limits.events || self.bytes > self.limits.bytes)
        {
            let Some(old) = self.entries.pop_front() else {
                break;
            };
            let position = self.first;
            self.first += 1;
            self.bytes = self.bytes.saturating_sub(old.item.frame().len());
            let strand = old
                .item
                .session()
                .and_then(|session| self.sessions.get_mut(session));
            // an entry of readers that have left is not of the strand that has their name now
            if let Some(strand) = strand
                && strand.oldest.1 == position
                && old.next > 0
            {
                strand.oldest = (old.own.events + 1, old.next);
            }
        }
    }
}

/// What a reader would read next is no longer kept.
struct Evicted;

fn entry_at(entries: &mut VecDeque<Entry>, first: u64, position: u64) -> Option<&mut Entry> {
    let index = position.checked_sub(first)?;
    entries.get_mut(usize::try_from(index).ok()?)
}
