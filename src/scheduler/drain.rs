//! The orderly stop: let calls finish, cancel the rest, write every result.

use std::{sync::atomic::Ordering, time::Duration};

use super::Scheduler;

/// How long cancelled bodies may take to come to rest before the stop goes on without them.
const REST: Duration = Duration::from_secs(5);

impl Scheduler {
    /// Refuses new calls from now on.
    pub fn start_draining(&self) {
        self.0.draining.store(true, Ordering::SeqCst);
    }

    /// Waits until no call is under way: up to `patience` for calls to finish by themselves, then
    /// cancelled, and a little longer for bodies to come to rest. How many were left; recovery
    /// closes those at the next start.
    pub async fn drain(&self, patience: Duration) -> usize {
        self.start_draining();
        if tokio::time::timeout(patience, self.quiet()).await.is_ok() {
            return 0;
        }
        for session in self.0.sessions.all() {
            for entry in session.live() {
                entry.cancel(Some("the daemon is stopping".to_owned()));
            }
        }
        if tokio::time::timeout(REST, self.quiet()).await.is_ok() {
            return 0;
        }
        let left: usize = self.0.sessions.all().iter().map(|s| s.live().len()).sum();
        tracing::error!(calls = left, "calls did not come to rest before the stop");
        left
    }

    async fn quiet(&self) {
        loop {
            let notified = self.0.idle.notified();
            if self.live() == 0 {
                return;
            }
            notified.await;
        }
    }
}
