//! Keeping the write-ahead log short without the writer waiting for the disk.
//!
//! Owns when pages move from the log into the main file. A thread of its own copies while the
//! writer goes on; only what was written meanwhile is left for the writer, which starts the log
//! over after it.

use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::{Connection, MAIN_DB, wal::CheckpointMode};

use crate::{store::error::Error, tasks::Tasks};

/// Frames in the log (pages of 4 KiB) between two copies of the thread, and from which the log
/// starts over when there is little to do: 16 MiB.
const LIMIT: i32 = 4096;
/// Frames from which the log starts over whatever there is to do: 128 MiB. What is left to copy
/// then costs the writer two syncs, some tens of milliseconds on a slow disk.
const LONG: i32 = 8 * LIMIT;
/// Frames that the writer copies itself: a millisecond or two, and the syncs.
const RESIDUE: i32 = 256;
/// The same when there is little to do.
const IDLE_RESIDUE: i32 = 2048;
/// Silence before a commit that says so.
const IDLE: Duration = Duration::from_millis(2);
/// Frames from which the writer copies whatever is left: the thread alone does not keep up.
const BEHIND: i32 = LONG + LIMIT;
/// Frames from which the writer waits for the thread first.
const FULL: i32 = 2 * LONG;
/// Frames between two attempts to start a long log over: a long reader may prevent it.
const STEP: i32 = 512;

/// The writer's side of the checkpointer.
#[derive(Debug)]
pub(super) struct Checkpoints {
    wake: SyncSender<()>,
    copied: Receiver<()>,
    /// Whether the thread is at work.
    copying: bool,
    /// Frames from which something is done next.
    due: i32,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Starts the thread, which works on a connection of its own.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub(super) fn start(connection: Connection) -> Result<Self, Error> {
        let (wake, woken) = sync_channel(1);
        let (done, copied) = sync_channel(1);
        let work = move || {
            while woken.recv().is_ok() {
                copy(&connection);
                if done.send(()).is_err() {
                    break;
                }
            }
        };
        let thread = Tasks::thread("store-checkpoint", work).map_err(Error::Threads)?;
        Ok(Self {
            wake,
            copied,
            copying: false,
            due: LIMIT,
            thread,
        })
    }

    /// Looks at the log after a commit, on the writer's connection. `idle` is how long the writer
    /// had had nothing to do before.
    pub(super) fn look(&mut self, connection: &Connection, idle: Duration) {
        let Ok((frames, copied)) =
            connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::NOOP)
        else {
            return;
        };
        if frames < LIMIT {
            self.due = LIMIT;
        }
        if frames < self.due || self.is_copying(frames) {
            return;
        }
        let is_idle = idle >= IDLE;
        let step = if frames < LONG && !is_idle {
            LIMIT
        } else {
            STEP
        };
        self.due = frames.saturating_add(step);
        let residue = frames.saturating_sub(copied);
        let enough = if is_idle {
            residue <= IDLE_RESIDUE
        } else {
            residue <= RESIDUE && frames >= LONG
        };
        if enough || frames >= BEHIND {
            copy(connection);
        } else if residue > RESIDUE {
            self.copying = self.wake.send(()).is_ok();
        }
    }

    /// Whether the thread is still at work; a log that is too long is waited for.
    fn is_copying(&mut self, frames: i32) -> bool {
        if self.copying && frames >= FULL {
            // an answer, or the thread's end: at work it is no more
            self.copying = false;
            self.copied.recv().ok();
        } else if self.copying {
            self.copying = self.copied.try_recv().is_err();
        }
        self.copying
    }

    /// Ends the thread.
    pub(super) fn stop(self) {
        drop((self.wake, self.copied));
        if self.thread.join().is_err() {
            tracing::error!("the checkpointer panicked");
        }
    }
}

/// Copies what no reader holds back.
fn copy(connection: &Connection) {
    if let Err(error) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE) {
        tracing::warn!(%error, "checkpoint failed, the log grows until the next");
    }
}
