//! What a session has seen of files: the memory behind read-before-overwrite.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use super::Error;
use crate::{
    domain::{EventType, Json, SessionId, json::Limits},
    journal::{EventQuery, Journal, PAGE_BYTES},
};

/// Most files that one session remembers; the oldest is forgotten first, and must be read again.
const MOST_FILES: usize = 10_000;
/// Events read at once while a session's memory is rebuilt.
const PAGE: usize = 500;

/// A session's memory of files, rebuilt from its log when the session comes back from the store.
#[derive(Debug)]
pub(super) struct Observations(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    /// `None` until it is known.
    seen: Option<IndexMap<String, String>>,
}

impl Observations {
    /// Of a session that has just begun: nothing seen.
    pub(super) fn none() -> Self {
        Self(Mutex::new(Memory {
            seen: Some(IndexMap::new()),
        }))
    }

    /// Of a session from the store: to be rebuilt when asked for.
    pub(super) fn unknown() -> Self {
        Self(Mutex::default())
    }

    /// The version kept for a path.
    pub(super) async fn get(
        &self,
        journal: &Journal,
        session: &SessionId,
        path: &str,
    ) -> Result<Option<String>, Error> {
        self.rebuild(journal, session).await?;
        Ok(self
            .lock()
            .seen
            .as_ref()
            .and_then(|seen| seen.get(path).cloned()))
    }

    /// Keeps the version of a path.
    pub(super) async fn put(
        &self,
        journal: &Journal,
        session: &SessionId,
        path: &str,
        version: &str,
    ) -> Result<(), Error> {
        self.rebuild(journal, session).await?;
        if let Some(seen) = &mut self.lock().seen {
            remember(seen, path.to_owned(), version.to_owned());
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn rebuild(&self, journal: &Journal, session: &SessionId) -> Result<(), Error> {
        if self.lock().seen.is_some() {
            return Ok(());
        }
        let folded = fold(journal, session).await?;
        // Two callers may fold at once; both see the same log, and the first one counts.
        self.lock().seen.get_or_insert(folded);
        Ok(())
    }
}

fn remember(seen: &mut IndexMap<String, String>, path: String, version: String) {
    seen.shift_remove(&path);
    if seen.len() >= MOST_FILES {
        seen.shift_remove_index(0);
    }
    seen.insert(path, version);
}

async fn fold(journal: &Journal, session: &SessionId) -> Result<IndexMap<String, String>, Error> {
    let mut seen = IndexMap::new();
    let mut after = 0;
    loop {
        let query = EventQuery {
            session: Some(session.clone()),
            after,
            limit: PAGE,
            max_bytes: PAGE_BYTES,
        };
        let page = journal.store().events(query).await?;
        for event in page
            .events
            .iter()
            .filter(|event| event.kind == EventType::FsObserved)
        {
            let data = Json::read(&event.frame.data(), &Limits::default()).ok();
            let member = |name| {
                data.as_ref()
                    .and_then(|d| d.get(name))
                    .and_then(Json::as_str)
            };
            if let (Some(path), Some(version)) = (member("path"), member("version")) {
                remember(&mut seen, path.to_owned(), version.to_owned());
            }
        }
        match page.events.last() {
            Some(last) if page.more => after = last.id,
            Some(_) | None => return Ok(seen),
        }
    }
}
