//! Ids and times of records: the two sequences that never go back.

use crate::domain::Timestamp;

/// How far the ids of two starts are apart at least, and what a second is worth: more than any
/// store records in one.
const STRIDE: u64 = 1 << 32;

/// Where the ids of a start begin, in a log that was `born` and knows ids up to `newest`.
///
/// What is lost with a machine's power, or by going back to a backup, was shown to readers under
/// ids that the file no longer knows. Seconds since the log was born are the same in every copy
/// of it, so a later start begins behind all ids that any copy can have given out; should the
/// wall clock have gone back, at least far behind those that this one knows of.
pub(super) fn first_id(newest: u64, born: Timestamp, now: Timestamp) -> u64 {
    let age = now.as_micros().saturating_sub(born.as_micros()) / 1_000_000;
    let by_age = age.min(OLDEST) * STRIDE;
    by_age.max(newest.saturating_add(STRIDE))
}

/// The age in seconds, 40 years, beyond which starts are only 2³² apart: one with a wrong clock
/// must not use up the ids, of which there are 2⁶³.
const OLDEST: u64 = 40 * 365 * 24 * 3600;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_far_apart_whatever_the_clock_says() {
        let at = |seconds: u64| Timestamp::from_micros(seconds * 1_000_000);
        let born = at(1_000);
        // The clock stands still, or goes back.
        assert_eq!(first_id(7, born, born), 7 + STRIDE);
        assert_eq!(first_id(7, born, at(0)), 7 + STRIDE);
        // A copy from before a run that used up to a million ids a second.
        let first_run = first_id(7, born, at(1_060));
        let used = first_run + 3_600 * 1_000_000;
        assert!(first_id(7, born, at(1_060 + 3_600)) > used);
        // A clock from the far future.
        let far = first_id(7, born, at(1 << 40));
        assert!(far < 1 << 63);
        assert_eq!(first_id(far, born, at(1 << 40)), far + STRIDE);
    }
}
