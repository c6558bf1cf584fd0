//! What the log holds and the lookup tables do not hold yet.
//!
//! Owns when entries of `session_events`, `call_ids` and `open_calls` are written: many at a time,
//! so that the pages of many sessions are touched once per batch and not once per append. Entries
//! are kept in memory until then, and are read back from the end of the log after a restart.

use rusqlite::{Connection, Statement, params};

use super::rows::Fault;
use crate::domain::CallId;

/// Events from which a batch is written. Also bounds what a reader walks at the end of the log, to
/// this and one commit group.
const BATCH: usize = 1024;

/// The entries to be written, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The newest event that the lookup tables cover.
    indexed: i64,
    /// Session's number, event's id.
    events: Vec<(i64, i64)>,
    /// Session's number, call's id, id of its accept.
    calls: Vec<(i64, CallId, i64)>,
}

/// A point to which the backlog can be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    events: usize,
    calls: usize,
}

impl Backlog {
    /// Reads what is not in the lookup tables.
    ///
    /// # Errors
    /// As the database's; a row that breaks an invariant.
    pub(super) fn read(connection: &Connection) -> Result<Self, Fault> {
        let indexed = "SELECT value FROM meta WHERE key = 'indexed'";
        let mut backlog = Self {
            indexed: connection.query_row(indexed, [], |row| row.get(0))?,
            ..Self::default()
        };
        let mut events = connection.prepare(
            "SELECT session_no, id FROM events
             WHERE id > ? AND session_no IS NOT NULL ORDER BY id",
        )?;
        let mut rows = events.query([backlog.indexed])?;
        while let Some(row) = rows.next()? {
            backlog.events.push((row.get(0)?, row.get(1)?));
        }
        let mut calls = connection.prepare(
            "SELECT session_no, call_id, accepted FROM calls
             WHERE accepted > ? ORDER BY accepted",
        )?;
        let mut rows = calls.query([backlog.indexed])?;
        while let Some(row) = rows.next()? {
            let (call, accepted): (String, i64) = (row.get(1)?, row.get(2)?);
            let call = CallId::parse_existing(&call)
                .map_err(|_| Fault::Damaged(format!("call {accepted}: its id")))?;
            backlog.calls.push((row.get(0)?, call, accepted));
        }
        Ok(backlog)
    }

    pub(super) fn event(&mut self, session: i64, id: i64) {
        self.events.push((session, id));
    }

    pub(super) fn call(&mut self, session: i64, call: &CallId, accepted: i64) {
        self.calls.push((session, call.clone(), accepted));
    }

    /// The newest event of a session.
    pub(super) fn newest(&self, session: i64) -> Option<i64> {
        let mut newest_first = self.events.iter().rev();
        let (_, id) = newest_first.find(|(of, _)| *of == session)?;
        Some(*id)
    }

    /// The accept of a call.
    pub(super) fn accepted(&self, session: i64, call: &CallId) -> Option<i64> {
        let mut newest_first = self.calls.iter().rev();
        let (_, _, accepted) = newest_first.find(|(of, id, _)| *of == session && id == call)?;
        Some(*accepted)
    }

    /// Whether the lookup tables know the call that was accepted with this event.
    pub(super) fn covers(&self, accepted: i64) -> bool {
        accepted <= self.indexed
    }

    pub(super) fn is_due(&self) -> bool {
        self.events.len() >= BATCH
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            events: self.events.len(),
            calls: self.calls.len(),
        }
    }

    /// Forgets everything since `mark`.
    pub(super) fn rollback(&mut self, mark: Mark) {
        self.events.truncate(mark.events);
        self.calls.truncate(mark.calls);
    }

    /// The batch up to `newest` is durable.
    pub(super) fn written(&mut self, newest: i64) {
        self.indexed = newest;
        self.events.clear();
        self.calls.clear();
    }
}

/// The statements that write a batch.
pub(super) struct Batch<'c> {
    event: Statement<'c>,
    call: Statement<'c>,
    open: Statement<'c>,
    indexed: Statement<'c>,
}

impl<'c> Batch<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            event: connection.prepare("INSERT INTO session_events VALUES (?, ?)")?,
            call: connection.prepare("INSERT INTO call_ids VALUES (?, ?, ?)")?,
            open: connection.prepare("INSERT INTO open_calls VALUES (?)")?,
            indexed: connection.prepare("UPDATE meta SET value = ? WHERE key = 'indexed'")?,
        })
    }

    /// Writes the backlog, which holds everything up to the event `newest`; it stays as it is
    /// until the commit. `is_open` tells whether a call of a session has no result.
    pub(super) fn write(
        &mut self,
        backlog: &Backlog,
        newest: i64,
        is_open: impl Fn(i64, &CallId) -> bool,
    ) -> rusqlite::Result<()> {
        let mut events = backlog.events.clone();
        events.sort_unstable();
        for (session, id) in events {
            self.event.execute([session, id])?;
        }
        let mut calls: Vec<_> = backlog.calls.iter().collect();
        calls.sort_unstable_by(|(a, x, _), (b, y, _)| (a, x.as_str()).cmp(&(b, y.as_str())));
        for (session, call, accepted) in calls {
            self.call
                .execute(params![session, call.as_str(), accepted])?;
        }
        for (session, call, accepted) in &backlog.calls {
            if is_open(*session, call) {
                self.open.execute([accepted])?;
            }
        }
        self.indexed.execute([newest])?;
        Ok(())
    }
}
