//! The journal in memory: for embedders and tests that need no file. Nothing survives its end.
//!
//! Imports `journal` and this module's own rules and queue. Same promises as the file store, but
//! for durability: a commit is as durable as the process.

mod state;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use async_trait::async_trait;
use state::{State, Writer};
use uuid::Uuid;

use super::{
    error::Error as OpenError,
    queue::{DocumentChange, Queue, serve},
};
use crate::{
    domain::{CallId, Clock, IdSource, Json, SessionId},
    journal::{
        Append, Bounds, CallQuery, CallRow, Commit, DocumentKind, Error, EventPage, EventQuery,
        Nested, Publish, Recorded, SessionQuery, SessionRow, Store,
    },
    tasks::Tasks,
};

/// A journal in memory. A cheap handle; its thread ends when it is closed or the last handle goes.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    log_id: Uuid,
    queue: Queue,
    state: Arc<RwLock<State>>,
}

impl MemoryStore {
    /// An empty journal that shows its commits to `publish`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(
        publish: Arc<dyn Publish>,
        clock: Arc<dyn Clock>,
        ids: &dyn IdSource,
    ) -> Result<Self, OpenError> {
        let state = Arc::new(RwLock::new(State::default()));
        let (queue, mut receiver) = Queue::new();
        let mut writer = Writer::new(Arc::clone(&state), Arc::clone(&clock));
        Tasks::thread("store-memory", move || {
            if let Some(answer) = serve(&mut receiver, &mut writer, &*publish, &*clock) {
                writer.close();
                drop(answer.send(Ok(())));
            }
        })
        .map_err(OpenError::Threads)?;
        Ok(Self {
            log_id: ids.uuid(),
            queue,
            state,
        })
    }

    fn read(&self) -> Result<RwLockReadGuard<'_, State>, Error> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            Err(Error::Closed)
        } else {
            Ok(state)
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn submit(&self, append: Append) -> Result<Commit, Error> {
        self.queue.submit(append).await
    }

    async fn events(&self, query: EventQuery) -> Result<EventPage, Error> {
        let state = self.read()?;
        let events = state.events_of(query.session.as_ref());
        let rest = events.partition_point(|event| event.id <= query.after);
        let mut page = EventPage::default();
        let mut bytes = 0;
        for event in events.iter().skip(rest) {
            if page.events.len() >= query.limit || bytes >= query.max_bytes {
                page.more = true;
                break;
            }
            bytes += event.frame.len();
            page.events.push(Arc::clone(event));
        }
        Ok(page)
    }

    async fn event(&self, id: u64) -> Result<Option<Arc<Recorded>>, Error> {
        let state = self.read()?;
        let events = state.events_of(None);
        let at = events.partition_point(|event| event.id < id);
        Ok(events.get(at).filter(|event| event.id == id).cloned())
    }

    async fn bounds(&self, session: Option<SessionId>) -> Result<Bounds, Error> {
        let state = self.read()?;
        let events = state.events_of(session.as_ref());
        let id = |event: Option<&Arc<Recorded>>| event.map_or(0, |event| event.id);
        Ok(Bounds {
            oldest: id(events.first()),
            head: id(events.last()),
            pruned: 0,
        })
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error> {
        Ok(self
            .read()?
            .sessions
            .get(id)
            .map(|session| session.row.clone()))
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<(u64, SessionRow)>, Error> {
        let state = self.read()?;
        let before = query.cursor.unwrap_or(u64::MAX);
        let newest_first = state.opened.range(..before).rev();
        Ok(newest_first
            .filter_map(|(no, id)| Some((*no, state.sessions.get(id)?.row.clone())))
            .filter(|(_, row)| query.agent.as_ref().is_none_or(|agent| row.agent == *agent))
            .take(query.limit)
            .collect())
    }

    async fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Error> {
        let state = self.read()?;
        Ok(state
            .sessions
            .get(session)
            .and_then(|known| known.calls.get(call).cloned()))
    }

    async fn calls(&self, query: CallQuery) -> Result<Vec<CallRow>, Error> {
        let state = self.read()?;
        let Some(session) = state.sessions.get(&query.session) else {
            return Ok(Vec::new());
        };
        let later = session.accepted.range(query.after.saturating_add(1)..);
        Ok(later
            .filter_map(|(_, call)| session.calls.get(call))
            .filter(|row| query.nested == Nested::Shown || row.parent.is_none())
            .filter(|row| {
                query
                    .settled
                    .is_none_or(|settled| row.settled.is_some() == settled)
            })
            .take(query.limit)
            .cloned()
            .collect())
    }

    async fn open_calls(&self, after: u64, limit: usize) -> Result<Vec<CallRow>, Error> {
        let state = self.read()?;
        let later = state.open.range(after.saturating_add(1)..);
        Ok(later
            .filter_map(|(_, (session, call))| state.sessions.get(session)?.calls.get(call))
            .take(limit)
            .cloned()
            .collect())
    }

    async fn put_document(&self, kind: DocumentKind, key: &str, body: Json) -> Result<(), Error> {
        self.queue
            .change(DocumentChange::Put(kind, key.to_owned(), body))
            .await
            .map(drop)
    }

    async fn delete_document(&self, kind: DocumentKind, key: &str) -> Result<bool, Error> {
        self.queue
            .change(DocumentChange::Delete(kind, key.to_owned()))
            .await
    }

    async fn documents(&self, kind: DocumentKind) -> Result<Vec<(String, Json)>, Error> {
        let state = self.read()?;
        let of_kind = state
            .documents
            .iter()
            .filter(|((of, _), _)| *of == kind.as_str());
        Ok(of_kind
            .map(|((_, key), body)| (key.clone(), body.clone()))
            .collect())
    }

    fn log_id(&self) -> Uuid {
        self.log_id
    }

    async fn close(&self) -> Result<(), Error> {
        self.queue.close().await
    }

    fn describe(&self) -> String {
        "memory, nothing is kept".to_owned()
    }
}
