//! The journal in a `SQLite` file: one writer thread with group commit, a few reading threads, a
//! checkpointer.
//!
//! Imports `journal` and this module's own rules and queue. Other processes may read the file at
//! any time; a second daemon is refused.

mod backlog;
mod checkpoint;
mod ledger;
mod open;
mod queries;
mod reader;
mod rows;
mod schema;
mod writer;

use std::{
    path::Path,
    sync::{Arc, mpsc::sync_channel},
    thread::JoinHandle,
};

use async_trait::async_trait;
use rusqlite::Connection;
use uuid::Uuid;

use checkpoint::Checkpoints;
use open::Opened;
use reader::Readers;
use rows::Fault;
use writer::Writer;

use super::{
    error::Error as OpenError,
    queue::{DocumentChange, Queue, serve},
};
use crate::{
    config::Durability,
    domain::{CallId, Clock, IdSource, Json, SessionId},
    journal::{
        Append, Bounds, CallQuery, CallRow, Commit, DocumentKind, Error, EventPage, EventQuery,
        Publish, Recorded, SessionQuery, SessionRow, Store,
    },
    tasks::Tasks,
};

/// A journal in a file. Its threads end, and the file is free for another, when it is closed;
/// dropping it instead is an unclean stop, in which nothing committed is lost.
#[derive(Debug)]
pub struct SqliteStore {
    log_id: Uuid,
    durability: Durability,
    queue: Queue,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the file at `path`, making it (mode 0600) and its directory (0700) when they are not
    /// there. Commits are shown to `publish`. Blocks while the file is read.
    ///
    /// `Process` survives the daemon's death, and of a loss of power everything but the newest
    /// records; `Power` syncs every commit group. Every start skips at least 2³² ids ahead, and
    /// further the older the log is, so that none is used twice, whatever copy of the file it is.
    ///
    /// # Errors
    /// As [`OpenError`] tells.
    pub fn open(
        path: &Path,
        durability: Durability,
        publish: Arc<dyn Publish>,
        clock: Arc<dyn Clock>,
        ids: &dyn IdSource,
    ) -> Result<Self, OpenError> {
        let opened = open::open(path, durability, ids, clock.now())?;
        let log_id = opened.log_id;
        let checkpoints = Checkpoints::start(open::connect(path, durability)?)?;
        let (readers, reading) = Readers::start(path, durability)?;
        let (queue, mut receiver) = Queue::new();
        let (ready, is_ready) = sync_channel(1);
        let time = Arc::clone(&clock);
        let work = move || {
            let Opened {
                connection,
                counters,
                lock,
                ..
            } = opened;
            let closing = match Writer::new(&connection, counters, clock, checkpoints) {
                Err(fault) => return drop(ready.send(Err(fault))),
                Ok(mut writer) => {
                    drop(ready.send(Ok(())));
                    let answer = serve(&mut receiver, &mut writer, &*publish, &*time);
                    writer.finish().stop();
                    answer
                }
            };
            reading.into_iter().for_each(join);
            let Some(answer) = closing else {
                return;
            };
            let closed = close(connection);
            drop(lock);
            drop(answer.send(closed));
        };
        Tasks::thread("store-write", work).map_err(OpenError::Threads)?;
        match is_ready.recv() {
            Ok(Ok(())) => Ok(Self {
                log_id,
                durability,
                queue,
                readers,
            }),
            Ok(Err(fault)) => Err(unopened(path, fault)),
            Err(_) => Err(unopened(
                path,
                Fault::Damaged("the writer ended".to_owned()),
            )),
        }
    }
}

fn unopened(path: &Path, fault: Fault) -> OpenError {
    match fault {
        Fault::Sql(error) => schema::fault(path, "preparing to write", error),
        Fault::Damaged(what) => OpenError::Damaged {
            path: path.to_owned(),
            what,
        },
    }
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a reading thread panicked");
    }
}

/// The clean end of the file.
fn close(connection: Connection) -> Result<(), Error> {
    let marked = open::finish(&connection);
    let closed = connection.close().map_err(|(_, error)| error);
    marked
        .and(closed)
        .map_err(|error| Fault::Sql(error).during("closing the store"))
}

#[async_trait]
impl Store for SqliteStore {
    async fn submit(&self, append: Append) -> Result<Commit, Error> {
        self.queue.submit(append).await
    }

    async fn events(&self, query: EventQuery) -> Result<EventPage, Error> {
        self.readers
            .run("reading events", move |reader| reader.events(&query))
            .await
    }

    async fn event(&self, id: u64) -> Result<Option<Arc<Recorded>>, Error> {
        self.readers
            .run("reading an event", move |reader| reader.event(id))
            .await
    }

    async fn bounds(&self, session: Option<SessionId>) -> Result<Bounds, Error> {
        let read = move |reader: &mut reader::Reader<'_>| reader.bounds(session.as_ref());
        self.readers.run("reading the log's bounds", read).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>, Error> {
        let id = id.clone();
        self.readers
            .run("reading a session", move |reader| reader.session(&id))
            .await
    }

    async fn sessions(&self, query: SessionQuery) -> Result<Vec<(u64, SessionRow)>, Error> {
        self.readers
            .run("listing sessions", move |reader| reader.sessions(&query))
            .await
    }

    async fn call(&self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Error> {
        let (session, call) = (session.clone(), call.clone());
        self.readers
            .run("reading a call", move |reader| reader.call(&session, &call))
            .await
    }

    async fn calls(&self, query: CallQuery) -> Result<Vec<CallRow>, Error> {
        self.readers
            .run("listing calls", move |reader| reader.calls(&query))
            .await
    }

    async fn open_calls(&self, after: u64, limit: usize) -> Result<Vec<CallRow>, Error> {
        let read = move |reader: &mut reader::Reader<'_>| reader.open_calls(after, limit);
        self.readers.run("listing open calls", read).await
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
        self.readers
            .run("reading documents", move |reader| reader.documents(kind))
            .await
    }

    fn log_id(&self) -> Uuid {
        self.log_id
    }

    async fn close(&self) -> Result<(), Error> {
        self.readers.close();
        self.queue.close().await
    }

    fn describe(&self) -> String {
        let durability = match self.durability {
            Durability::Process => "process",
            Durability::Power => "power",
        };
        format!("sqlite, durability {durability}")
    }
}
