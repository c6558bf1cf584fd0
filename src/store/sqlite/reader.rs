//! Reading: a few threads, each with a connection of its own.
//!
//! Owns the statements of reading and the queue before them. A reader sees what was committed
//! when its statement begins and never holds the writer up.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use rusqlite::{Connection, Statement, params};
use tokio::sync::{mpsc, oneshot};

use super::{
    open::connect,
    queries,
    rows::{self, EVENT, Fault, SESSION, sql_id, sql_limit},
    schema::fault,
};
use crate::{
    config::Durability,
    domain::{CallId, Json, SessionId},
    journal::{
        Bounds, CallQuery, CallRow, DocumentKind, Error, EventPage, EventQuery, Nested, Recorded,
        SessionQuery, SessionRow,
    },
    store::error::Error as OpenError,
    tasks::Tasks,
};

/// Reading threads.
const READERS: usize = 4;
/// Most readings that wait; more wait outside.
const QUEUE: usize = 256;

type Job = Box<dyn FnOnce(&mut Reader<'_>) + Send>;

/// The reading threads. Cheap to share.
#[derive(Debug)]
pub(super) struct Readers {
    /// Gone once closed.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Readers {
    /// Starts the threads; each ends when the readers are closed or dropped.
    ///
    /// # Errors
    /// When a connection or a thread cannot be had.
    pub(super) fn start(
        path: &Path,
        durability: Durability,
    ) -> Result<(Self, Vec<JoinHandle<()>>), OpenError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let receiver = Arc::new(Mutex::new(receiver));
        let mut threads = Vec::with_capacity(READERS);
        for number in 1..=READERS {
            let connection = connect(path, durability)?;
            let prepare = || {
                connection.pragma_update(None, "query_only", true)?;
                // proves that the statements fit the schema; the thread prepares its own
                Reader::prepare(&connection).map(drop)
            };
            prepare().map_err(|e| fault(path, "preparing to read", e))?;
            let receiver = Arc::clone(&receiver);
            let work = move || run(&connection, &receiver);
            let name = format!("store-read-{number}");
            threads.push(Tasks::thread(&name, work).map_err(OpenError::Threads)?);
        }
        Ok((
            Self {
                queue: Mutex::new(Some(sender)),
            },
            threads,
        ))
    }

    /// Runs one reading. Dropping the future lets the reading finish unheard.
    ///
    /// # Errors
    /// [`Error::Closed`], and what the reading met.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        context: &'static str,
        read: impl FnOnce(&mut Reader<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let queue = queue.ok_or(Error::Closed)?;
        let (answer, done) = oneshot::channel();
        let job: Job = Box::new(move |reader| drop(answer.send(read(reader))));
        queue.send(job).await.map_err(|_| Error::Closed)?;
        done.await
            .map_err(|_| Error::Closed)?
            .map_err(|fault| fault.during(context))
    }

    /// Refuses every reading after those queued.
    pub(super) fn close(&self) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

fn run(connection: &Connection, queue: &Mutex<mpsc::Receiver<Job>>) {
    let mut reader = match Reader::prepare(connection) {
        Ok(reader) => reader,
        Err(error) => {
            tracing::error!(%error, "a reading thread could not start");
            return;
        }
    };
    loop {
        // one waits for the queue, the others for it
        let job = queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .blocking_recv();
        let Some(job) = job else { break };
        job(&mut reader);
    }
}

/// Every statement of reading, prepared once per connection.
pub(super) struct Reader<'c> {
    events: Statement<'c>,
    events_of_session: Statement<'c>,
    event: Statement<'c>,
    bounds: Statement<'c>,
    bounds_of_session: Statement<'c>,
    session: Statement<'c>,
    sessions: Statement<'c>,
    sessions_of_agent: Statement<'c>,
    call: Statement<'c>,
    calls: Statement<'c>,
    open_calls_of_session: Statement<'c>,
    open_calls: Statement<'c>,
    documents: Statement<'c>,
}

impl fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl<'c> Reader<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let prepare = |sql: &str| connection.prepare(sql);
        let events = "events e LEFT JOIN sessions s ON s.no = e.session_no";
        Ok(Self {
            events: prepare(&format!(
                "SELECT e.id, {EVENT} FROM {events} WHERE e.id > ? ORDER BY e.id LIMIT ?"
            ))?,
            events_of_session: prepare(&queries::events_of_session())?,
            event: prepare(&format!(
                "SELECT e.id, {EVENT} FROM {events} WHERE e.id = ?"
            ))?,
            bounds: prepare(
                "SELECT (SELECT id FROM events ORDER BY id LIMIT 1),
                        (SELECT id FROM events ORDER BY id DESC LIMIT 1),
                        (SELECT value FROM meta WHERE key = 'pruned')",
            )?,
            bounds_of_session: prepare(&queries::bounds_of_session())?,
            session: prepare(&format!(
                "SELECT {SESSION} FROM sessions s WHERE s.session_id = ?"
            ))?,
            sessions: prepare(&format!(
                "SELECT {SESSION} FROM sessions s WHERE s.no < ? ORDER BY s.no DESC LIMIT ?"
            ))?,
            sessions_of_agent: prepare(&format!(
                "SELECT {SESSION} FROM sessions s INDEXED BY sessions_of_agent
                 WHERE s.agent = ?3 AND s.no < ?1 ORDER BY s.no DESC LIMIT ?2"
            ))?,
            call: prepare(&queries::call())?,
            calls: prepare(&queries::calls())?,
            open_calls_of_session: prepare(&queries::open_calls_of_session())?,
            open_calls: prepare(&queries::open_calls())?,
            documents: prepare("SELECT key, body FROM documents WHERE kind = ? ORDER BY key")?,
        })
    }

    pub(super) fn events(&mut self, query: &EventQuery) -> Result<EventPage, Fault> {
        // one more than asked for tells whether there are more
        let limit = sql_limit(query.limit.saturating_add(1));
        let after = sql_id(query.after);
        let mut rows = match &query.session {
            None => self.events.query([after, limit])?,
            Some(id) => self
                .events_of_session
                .query(params![id.as_str(), after, limit])?,
        };
        let mut page = EventPage::default();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            if page.events.len() >= query.limit || bytes >= query.max_bytes {
                page.more = true;
                break;
            }
            let event = rows::recorded(row)?;
            bytes += event.frame.len();
            page.events.push(Arc::new(event));
        }
        Ok(page)
    }

    pub(super) fn event(&mut self, id: u64) -> Result<Option<Arc<Recorded>>, Fault> {
        let event = first(&mut self.event, [sql_id(id)], rows::recorded)?;
        Ok(event.map(Arc::new))
    }

    pub(super) fn bounds(&mut self, session: Option<&SessionId>) -> Result<Bounds, Fault> {
        let bounds = |row: &rusqlite::Row<'_>| {
            let id = |column| Ok::<_, Fault>(row.get::<_, Option<i64>>(column)?.unwrap_or(0));
            let [oldest, head, pruned] = [id(0)?, id(1)?, id(2)?].map(i64::cast_unsigned);
            Ok(Bounds {
                oldest,
                head,
                pruned,
            })
        };
        let found = match session {
            None => first(&mut self.bounds, [], bounds)?,
            Some(id) => first(&mut self.bounds_of_session, [id.as_str()], bounds)?,
        };
        Ok(found.unwrap_or_default())
    }

    pub(super) fn session(&mut self, id: &SessionId) -> Result<Option<SessionRow>, Fault> {
        let found = first(&mut self.session, [id.as_str()], rows::session)?;
        Ok(found.map(|(_, row)| row))
    }

    pub(super) fn sessions(
        &mut self,
        query: &SessionQuery,
    ) -> Result<Vec<(u64, SessionRow)>, Fault> {
        let before = query.cursor.map_or(i64::MAX, sql_id);
        let limit = sql_limit(query.limit);
        match &query.agent {
            None => all(&mut self.sessions, [before, limit], rows::session),
            Some(agent) => {
                let statement = &mut self.sessions_of_agent;
                all(
                    statement,
                    params![before, limit, agent.as_str()],
                    rows::session,
                )
            }
        }
    }

    pub(super) fn call(
        &mut self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<CallRow>, Fault> {
        first(
            &mut self.call,
            [session.as_str(), call.as_str()],
            rows::call,
        )
    }

    pub(super) fn calls(&mut self, query: &CallQuery) -> Result<Vec<CallRow>, Fault> {
        let session = query.session.as_str();
        let (after, limit) = (sql_id(query.after), sql_limit(query.limit));
        let nested = query.nested == Nested::Shown;
        match query.settled {
            // few calls are open: there is no need to walk the session's events
            Some(false) => {
                let statement = &mut self.open_calls_of_session;
                all(
                    statement,
                    params![session, after, limit, nested],
                    rows::call,
                )
            }
            settled => {
                let statement = &mut self.calls;
                all(
                    statement,
                    params![session, after, limit, nested, settled],
                    rows::call,
                )
            }
        }
    }

    pub(super) fn open_calls(&mut self, after: u64, limit: usize) -> Result<Vec<CallRow>, Fault> {
        all(
            &mut self.open_calls,
            [sql_id(after), sql_limit(limit)],
            rows::call,
        )
    }

    pub(super) fn documents(&mut self, kind: DocumentKind) -> Result<Vec<(String, Json)>, Fault> {
        all(&mut self.documents, [kind.as_str()], rows::document)
    }
}

/// The first row, if there is one.
fn first<T>(
    statement: &mut Statement<'_>,
    values: impl rusqlite::Params,
    read: impl FnOnce(&rusqlite::Row<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    statement.query(values)?.next()?.map(read).transpose()
}

/// Every row.
fn all<T>(
    statement: &mut Statement<'_>,
    values: impl rusqlite::Params,
    read: impl Fn(&rusqlite::Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut rows = statement.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}
