//! Owned background work: spawn, stop, join. Nothing is spawned anywhere else.
//!
//! Imports nothing of ours. A [`Tasks`] is cloned freely; whoever composes the daemon closes and
//! awaits it, so that no work outlives the process's orderly end unseen.

use std::{future::Future, io, thread};

use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// A group of tasks with one stop signal.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// An empty group.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a future as a task of this group. The task is not ended by dropping the handle.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tracker.spawn(future)
    }

    /// Runs blocking work on the runtime's blocking threads and awaits it. Dropping the returned
    /// future does not stop the work, which is counted by this group until it ends.
    ///
    /// # Errors
    /// When the work panicked.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        self.tracker.spawn_blocking(work).await
    }

    /// Starts a named thread that ends by itself when its owner lets go of what it reads from.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn thread(
        name: &str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        thread::Builder::new().name(name.to_owned()).spawn(work)
    }

    /// The signal that asks the group's tasks to end.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Asks every task to end and waits until all have. Cancellation-safe: calling it again goes
    /// on waiting.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
