//! Time and fresh ids, as the daemon sees them.
//!
//! Wall time is a label; every deadline and duration is monotonic. Both, and the randomness of
//! ids, enter through these traits so that a test can replace them. Imports nothing of ours.

use std::{
    fmt,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use uuid::Uuid;

/// Wall-clock microseconds since the Unix epoch, shown as RFC 3339 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From microseconds since the Unix epoch.
    pub fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    pub fn as_micros(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = UNIX_EPOCH + Duration::from_micros(self.0);
        fmt::Display::fmt(&humantime::format_rfc3339_micros(time), f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A reading of the monotonic clock: time since an arbitrary origin of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Monotonic(Duration);

impl Monotonic {
    /// From the time since the origin.
    pub fn from_origin(since: Duration) -> Self {
        Self(since)
    }

    /// Time from `earlier` to this reading; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Where the daemon reads the time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The wall clock; may jump, so it is only a label.
    fn now(&self) -> Timestamp;
    /// The monotonic clock, for durations.
    fn monotonic(&self) -> Monotonic;
}

/// The machine's clocks.
#[derive(Debug, Clone)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// Starts the monotonic clock's origin now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clocks"
    )]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clocks"
    )]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    fn monotonic(&self) -> Monotonic {
        Monotonic(self.origin.elapsed())
    }
}

/// Where fresh ids come from.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// A new `UUIDv7` (RFC 9562 §5.7), never made before.
    fn uuid(&self) -> Uuid;
}

/// Ids from the machine's clock and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_show_as_rfc_3339_in_utc_with_microseconds() {
        let shown = Timestamp::from_micros(1_700_000_000_123_456).to_string();
        assert_eq!(shown, "2023-11-14T22:13:20.123456Z");
    }
}
