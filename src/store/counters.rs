//! Ids and times of records: the two sequences that never go back.

use crate::domain::Timestamp;

/// How far ids skip ahead when the last stop was not a clean one.
///
/// What is lost with a machine's power, or by going back to a backup, may have been shown to
/// readers under ids that the file no longer knows. 2³² is more than any store publishes between
/// two syncs or two backups, and leaves room for two thousand million unclean starts.
pub(super) const SKIP: u64 = 1 << 32;

/// The next id and the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counters {
    next_id: u64,
    last_time: Timestamp,
}

impl Counters {
    /// Goes on with `next_id`; no record is older than `last_time`.
    pub(super) fn new(next_id: u64, last_time: Timestamp) -> Self {
        Self { next_id, last_time }
    }

    /// The id that comes next.
    pub(super) fn peek(&self) -> u64 {
        self.next_id
    }

    /// Takes the next id, and a time that is `now` unless the wall clock went back.
    pub(super) fn take(&mut self, now: Timestamp) -> (u64, Timestamp) {
        let id = self.next_id;
        self.next_id += 1;
        self.last_time = self.last_time.max(now);
        (id, self.last_time)
    }
}
