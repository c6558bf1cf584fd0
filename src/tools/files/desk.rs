//! What the four bodies share: the root, the threads for blocking work, and the order in which a
//! file is judged, noted and written.
//!
//! Imports `domain`, `registry`, `tasks` and siblings.

use std::{path::PathBuf, sync::Arc};

use super::{
    arguments,
    error::Error,
    place::Target,
    replace::Replacement,
    root::WorkspaceRoot,
    route::{Route, name_of},
    version::{Snapshot, Version},
};
use crate::{
    domain::{Digest, EventType, Execution, Workspace},
    registry::{ExecutionContext, Signal},
    tasks::Tasks,
};

/// The root and the threads. A cheap handle.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    root: Arc<WorkspaceRoot>,
    tasks: Tasks,
}

/// What blocking work gets: the root, and who it works for.
#[derive(Debug)]
pub(super) struct Work {
    /// The root.
    pub(super) root: Arc<WorkspaceRoot>,
    /// The session's directory.
    pub(super) workspace: Workspace,
    /// Asks to stop.
    pub(super) signal: Signal,
}

impl Work {
    /// A route from the session's directory.
    pub(super) fn route(&self, path: &str) -> Result<Route, Error> {
        self.root.route(&self.workspace, path)
    }
}

/// A file that is about to change, with every name it is known by.
#[derive(Debug)]
pub(super) struct Aim {
    /// What is there.
    pub(super) target: Target,
    /// How events and observations name it.
    pub(super) key: String,
    /// How the value names it.
    pub(super) told: String,
}

/// A change that is decided: what will be written, and what the journal says of it.
#[derive(Debug)]
pub(super) struct Change {
    /// What is written where.
    pub(super) write: Replacement,
    /// How events and observations name the file.
    pub(super) key: String,
    /// Digest of what is replaced, when it was read.
    pub(super) before: Option<Digest>,
    /// How many places an edit replaces.
    pub(super) replacements: Option<u64>,
}

impl Desk {
    /// The root.
    pub(super) fn root(&self) -> &WorkspaceRoot {
        &self.root
    }

    /// Over a root.
    pub(super) fn new(root: Arc<WorkspaceRoot>, tasks: Tasks) -> Self {
        Self { root, tasks }
    }

    /// Does blocking work off the async threads and waits for it. Once begun it is at rest when
    /// this returns; it watches the signal itself.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        context: &ExecutionContext,
        work: impl FnOnce(&Work) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let given = Work {
            root: Arc::clone(&self.root),
            workspace: context.execution().workspace.clone(),
            signal: context.signal().clone(),
        };
        self.tasks
            .blocking(move || work(&given))
            .await
            .map_err(|_| Error::BrokeDown)?
    }

    /// Finds what a write to `path` is aimed at, inside the boundary.
    pub(super) async fn aim(&self, context: &ExecutionContext, path: String) -> Result<Aim, Error> {
        self.work(context, move |work| {
            let route = work.route(&path)?;
            let target = work.root.target(&route)?;
            let relative = match &target {
                Target::Taken(file) => &file.place.relative,
                Target::Free(spot) => &spot.relative,
            };
            Ok(Aim {
                key: name_of(relative)?,
                told: route.told(relative)?,
                target,
            })
        })
        .await
    }

    /// Records the intent, durably, then writes, then notes the new state for this session, so
    /// that its own next change is not stale. Returns the digest of the new content.
    pub(super) async fn commit(
        &self,
        context: &ExecutionContext,
        kind: EventType,
        change: Change,
    ) -> Result<Digest, Error> {
        let Change {
            write,
            key,
            before,
            replacements,
        } = change;
        let after = Digest::of_bytes(&write.bytes);
        let bytes = write.bytes.len() as u64;
        let recorded = context.record(kind, |event| {
            event
                .string("path", &key)
                .string_opt(
                    "digest_before",
                    before.map(|digest| digest.to_string()).as_deref(),
                )
                .string("digest_after", &after.to_string())
                .number("bytes", bytes)
                .number_opt("replacements", replacements);
        });
        recorded.await.map_err(Error::Journal)?;
        self.work(context, move |work| work.root.put(&write, &work.signal))
            .await?;
        let version = Version::Digest(after).to_string();
        context
            .observe(&key, &version)
            .await
            .map_err(Error::Unnoted)?;
        Ok(after)
    }

    /// The lock key of a call that writes: the file's real path below the root, so that every
    /// spelling and every link to it shares one key. None when there is nothing that it could
    /// write.
    pub(super) fn lock_key(&self, execution: &Execution) -> Option<String> {
        let path = arguments::path(&execution.arguments);
        let route = self.root.route(&execution.workspace, path).ok()?;
        let settled: PathBuf = self.root.settle(&route).ok()?;
        Some(settled.to_string_lossy().into_owned())
    }
}

/// Whether a session may change a file in this state: it observed the file, and nothing changed
/// since.
pub(super) fn check_fresh(observed: Option<&str>, now: &Snapshot) -> Result<(), Error> {
    match observed {
        None => Err(Error::NotObserved),
        Some(observed) if now.is(observed) => Ok(()),
        Some(_) => Err(Error::Stale(
            "changed since this session last read or wrote it",
        )),
    }
}
