//! Owned background work: spawn, stop, join. Nothing is spawned anywhere else.
//!
//! Imports nothing of ours. A [`Tasks`] is cloned freely; whoever composes the daemon closes and
//! awaits it, so that no work outlives the process's orderly end unseen.

use std::{future::Future, io, thread};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinHandle, block_in_place},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Bytes from which the work on a value is worth making way for the other tasks of a thread.
pub const HEAVY: usize = 64 * 1024;

/// Runs work where it stands. Heavy work first hands the thread's other tasks to another thread,
/// so that a large value holds nobody up; on a runtime with one thread there is none.
pub fn in_place<T>(is_heavy: bool, work: impl FnOnce() -> T) -> T {
    let many = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread;
    if is_heavy && Handle::try_current().is_ok_and(many) {
        block_in_place(work)
    } else {
        work()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn heavy_work_lets_the_other_tasks_of_its_thread_go_on() {
        let tasks = Tasks::new();
        let others = tasks.clone();
        let heavy = tasks.spawn(async move {
            let (send, received) = std::sync::mpsc::channel();
            drop(others.spawn(async move { send.send("the other ran") }));
            in_place(true, || received.recv())
        });
        assert_eq!(heavy.await.unwrap(), Ok("the other ran"));
    }

    #[tokio::test]
    async fn on_one_thread_and_without_a_runtime_work_is_done_where_it_stands() {
        assert_eq!(in_place(true, || 1), 1);
        let apart = Tasks::thread("apart", || assert_eq!(in_place(true, || 2), 2)).unwrap();
        apart.join().unwrap();
    }
}
