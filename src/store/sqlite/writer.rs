//! The writer: appends → rows, on the one connection that writes.
//!
//! Owns the statements of the hot path. Knows nothing of queues and waiting: see
//! [`crate::store::queue`].

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use rusqlite::{Connection, OptionalExtension as _, Statement, params};

use super::{
    backlog::{Backlog, Batch},
    checkpoint::Checkpoints,
    ledger::{Known, Ledger, Mark, OpenCall},
    rows::{self, Fault, sql_bits, sql_id, sql_object, sql_path},
};
use crate::{
    domain::{CallId, Clock, EventDraft, ExecutionId, SessionId},
    journal::{Append, CallRow, Committed, Error, Recorded, Refusal, SessionRow, Step, Write},
    store::{
        counters::Counters,
        queue::{Backend, DocumentChange},
        rules::{Facts, Lifecycle, refusal},
    },
};

/// Every statement of the writer, prepared once.
struct Statements<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    savepoint: Statement<'c>,
    release: Statement<'c>,
    undo: Statement<'c>,
    event: Statement<'c>,
    open_session: Statement<'c>,
    update_session: Statement<'c>,
    end_session: Statement<'c>,
    find_session: Statement<'c>,
    seq: Statement<'c>,
    batch: Batch<'c>,
    accept: Statement<'c>,
    start: Statement<'c>,
    settle: Statement<'c>,
    closed: Statement<'c>,
    find_call: Statement<'c>,
    put: Statement<'c>,
    has_document: Statement<'c>,
    delete: Statement<'c>,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let prepare = |sql: &str| connection.prepare(sql);
        Ok(Self {
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            savepoint: prepare("SAVEPOINT append")?,
            release: prepare("RELEASE append")?,
            undo: prepare("ROLLBACK TO append")?,
            event: prepare(
                "INSERT INTO events
                 (id, session_no, seq, type, agent, time, envelope_at, data_at, frame)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
            open_session: prepare(
                "INSERT INTO sessions (no, session_id, agent, workspace, approval_policy,
                 metadata, principal, created_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
            update_session: prepare(
                "UPDATE sessions SET approval_policy = ?2, metadata = ?3 WHERE no = ?1",
            )?,
            end_session: prepare("UPDATE sessions SET ended_at = ?2 WHERE no = ?1")?,
            find_session: prepare(
                "SELECT no, ended_at IS NOT NULL,
                 (SELECT id FROM session_events WHERE session_no = no ORDER BY id DESC LIMIT 1)
                 FROM sessions WHERE session_id = ?",
            )?,
            seq: prepare("SELECT seq FROM events WHERE id = ?")?,
            batch: Batch::prepare(connection)?,
            accept: prepare(
                "INSERT INTO calls (accepted, session_no, call_id, root_call_id, execution,
                 parent, name, digest, turn, step, principal)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
            start: prepare("UPDATE calls SET started = ?2 WHERE accepted = ?1")?,
            settle: prepare("UPDATE calls SET settled = ?2 WHERE accepted = ?1")?,
            closed: prepare("DELETE FROM open_calls WHERE accepted = ?")?,
            find_call: prepare(&format!(
                "SELECT c.accepted, {} FROM calls c JOIN sessions s ON s.no = c.session_no
                 WHERE c.accepted = coalesce(?1,
                     (SELECT accepted FROM call_ids WHERE session_no = ?2 AND call_id = ?3))",
                rows::CALL
            ))?,
            put: prepare("INSERT OR REPLACE INTO documents (kind, key, body) VALUES (?, ?, ?)")?,
            has_document: prepare("SELECT 1 FROM documents WHERE kind = ? AND key = ?")?,
            delete: prepare("DELETE FROM documents WHERE kind = ? AND key = ?")?,
        })
    }
}

/// The one who writes.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    sql: Statements<'c>,
    ledger: Ledger,
    /// Where the ledger was when the group began.
    group: Mark,
    clock: Arc<dyn Clock>,
    checkpoints: Checkpoints,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}

impl<'c> Writer<'c> {
    /// Prepares the statements and learns the open calls.
    ///
    /// # Errors
    /// As the database's.
    pub(super) fn new(
        connection: &'c Connection,
        counters: Counters,
        clock: Arc<dyn Clock>,
        checkpoints: Checkpoints,
    ) -> Result<Self, Fault> {
        let backlog = Backlog::read(connection)?;
        let ledger = Ledger::new(counters, open_calls(connection)?, backlog);
        let group = ledger.mark();
        let sql = Statements::prepare(connection)?;
        Ok(Self {
            connection,
            sql,
            ledger,
            group,
            clock,
            checkpoints,
        })
    }

    /// The checkpointer, at the writer's end.
    pub(super) fn finish(self) -> Checkpoints {
        self.checkpoints
    }

    /// Writes the steps in order until one is refused.
    fn steps(&mut self, steps: &[Step]) -> Result<Result<Vec<Arc<Recorded>>, Refusal>, Fault> {
        let mut records = Vec::with_capacity(steps.len());
        for step in steps {
            if let Some(refusal) = refusal(self, step)? {
                return Ok(Err(refusal));
            }
            records.push(self.step(step)?);
        }
        Ok(Ok(records))
    }

    /// Several steps: what was written before a refusal is undone.
    fn all_or_none(
        &mut self,
        steps: &[Step],
    ) -> Result<Result<Vec<Arc<Recorded>>, Refusal>, Fault> {
        let before = self.ledger.mark();
        self.sql.savepoint.execute([])?;
        let written = self.steps(steps)?;
        if written.is_err() {
            self.sql.undo.execute([])?;
            self.ledger.rollback(before);
        }
        self.sql.release.execute([])?;
        Ok(written)
    }

    /// Writes a judged step.
    fn step(&mut self, step: &Step) -> Result<Arc<Recorded>, Fault> {
        let (id, time) = self.ledger.counters.take(self.clock.now());
        if let Write::OpenSession(row) = &step.write {
            self.open_session(row, sql_id(id))?;
        }
        let EventDraft { subject, .. } = &step.event;
        let counted = match &subject.session {
            Some(session) => Some(self.count(session)?),
            None => None,
        };
        if let Some(known) = counted {
            self.ledger.backlog.event(known.no, sql_id(id));
        }
        let event = Recorded::of(&step.event, id, counted.map(|known| known.seq), time);
        let (envelope, data) = event.frame.offsets();
        self.sql.event.execute(params![
            sql_id(id),
            counted.map(|known| known.no),
            event.seq.map(sql_id),
            event.kind.as_str(),
            event.agent.as_ref().map(AsRef::as_ref),
            sql_id(time.as_micros()),
            i64::try_from(envelope).unwrap_or(i64::MAX),
            i64::try_from(data).unwrap_or(i64::MAX),
            &event.frame.sse()[..],
        ])?;
        self.change(&step.write, sql_id(id))?;
        Ok(Arc::new(event))
    }

    /// Changes the rows of a step beside its event, whose id is given.
    fn change(&mut self, write: &Write, id: i64) -> Result<(), Fault> {
        match write {
            Write::Event | Write::OpenSession(_) => {}
            Write::UpdateSession(row) => {
                let no = self.known(&row.id)?.map(|known| known.no);
                let policy = row.approval_policy.as_str();
                self.sql
                    .update_session
                    .execute(params![no, policy, sql_object(&row.metadata)?])?;
            }
            Write::EndSession(session, at) => {
                let no = self.known(session)?.map(|known| known.no);
                self.sql
                    .end_session
                    .execute(params![no, sql_id(at.as_micros())])?;
                if let Some(known) = self.ledger.sessions.get_mut(session) {
                    known.lifecycle = Lifecycle::Ended;
                }
            }
            Write::AcceptCall(row) => self.accept(row, id)?,
            Write::StartCall(session, call, _) => {
                if let Some((_, open)) = self.find_open(session, call)? {
                    self.sql.start.execute([open.accepted, id])?;
                }
            }
            Write::SettleCall(session, call, _) => {
                if let Some((no, open)) = self.find_open(session, call)? {
                    self.sql.settle.execute([open.accepted, id])?;
                    if self.ledger.backlog.covers(open.accepted) {
                        self.sql.closed.execute([open.accepted])?;
                    }
                    self.ledger.settled(no, call);
                }
            }
        }
        Ok(())
    }

    fn open_session(&mut self, row: &SessionRow, no: i64) -> Result<(), Fault> {
        self.sql.open_session.execute(params![
            no,
            row.id.as_str(),
            row.agent.as_str(),
            sql_path(&row.workspace),
            row.approval_policy.as_str(),
            sql_object(&row.metadata)?,
            row.principal,
            sql_id(row.created_at.as_micros()),
            row.ended_at.map(|at| sql_id(at.as_micros())),
        ])?;
        let lifecycle = lifecycle(row.ended_at.is_some());
        self.ledger.sessions.insert(
            row.id.clone(),
            Known {
                no,
                seq: 0,
                lifecycle,
            },
        );
        Ok(())
    }

    fn accept(&mut self, row: &CallRow, id: i64) -> Result<(), Fault> {
        let Some(Known { no, .. }) = self.known(&row.session)? else {
            return Ok(());
        };
        let root = (row.root_call_id != row.call_id).then(|| row.root_call_id.as_str());
        self.sql.accept.execute(params![
            id,
            no,
            row.call_id.as_str(),
            root,
            row.execution.as_uuid().as_bytes(),
            row.parent.map(|parent| *parent.as_uuid().as_bytes()),
            row.name,
            row.digest.as_bytes(),
            sql_bits(row.turn),
            sql_bits(row.step),
            row.principal,
        ])?;
        let open = OpenCall {
            accepted: id,
            execution: row.execution,
        };
        self.ledger.accepted(no, &row.call_id, open);
        Ok(())
    }

    /// Counts one event of a session.
    fn count(&mut self, session: &SessionId) -> Result<Known, Fault> {
        self.known(session)?;
        let Some(known) = self.ledger.sessions.get_mut(session) else {
            return Err(Fault::Damaged(format!("session {session:?} vanished")));
        };
        known.seq += 1;
        Ok(*known)
    }

    /// A session, from the ledger or the database.
    fn known(&mut self, session: &SessionId) -> Result<Option<Known>, Fault> {
        if let Some(known) = self.ledger.sessions.get_mut(session) {
            return Ok(Some(*known));
        }
        let row = |row: &rusqlite::Row<'_>| {
            let known = Known {
                no: row.get(0)?,
                seq: 0,
                lifecycle: lifecycle(row.get(1)?),
            };
            Ok((known, row.get::<_, Option<i64>>(2)?))
        };
        let session_id = [session.as_str()];
        let found = self
            .sql
            .find_session
            .query_row(session_id, row)
            .optional()?;
        let Some((mut known, indexed)) = found else {
            return Ok(None);
        };
        if let Some(newest) = self.ledger.backlog.newest(known.no).or(indexed) {
            let seq: i64 = self.sql.seq.query_row([newest], |row| row.get(0))?;
            known.seq = seq.cast_unsigned();
        }
        self.ledger.sessions.insert(session.clone(), known);
        Ok(Some(known))
    }

    fn find_open(
        &mut self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<(i64, OpenCall)>, Fault> {
        let Some(Known { no, .. }) = self.known(session)? else {
            return Ok(None);
        };
        Ok(self.ledger.open_call(no, call).map(|open| (no, open)))
    }
}

impl Facts for Writer<'_> {
    type Error = Fault;

    fn session(&mut self, id: &SessionId) -> Result<Option<Lifecycle>, Fault> {
        Ok(self.known(id)?.map(|known| known.lifecycle))
    }

    fn call(&mut self, session: &SessionId, call: &CallId) -> Result<Option<CallRow>, Fault> {
        let Some(Known { no, .. }) = self.known(session)? else {
            return Ok(None);
        };
        let recent = self.ledger.backlog.accepted(no, call);
        let mut found = self
            .sql
            .find_call
            .query(params![recent, no, call.as_str()])?;
        found.next()?.map(rows::call).transpose()
    }

    fn open_call(
        &mut self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<ExecutionId>, Fault> {
        Ok(self
            .find_open(session, call)?
            .map(|(_, open)| open.execution))
    }
}

impl Backend for Writer<'_> {
    fn begin(&mut self) -> Result<(), Error> {
        self.group = self.ledger.mark();
        self.sql
            .begin
            .execute([])
            .map_err(|e| Fault::Sql(e).during("beginning a commit group"))?;
        Ok(())
    }

    fn append(&mut self, append: &Append) -> Result<Committed, Error> {
        let written = match append.steps.as_slice() {
            // a single step is refused before anything is written
            single @ ([] | [_]) => self.steps(single),
            several => self.all_or_none(several),
        };
        match written.map_err(|fault| fault.during("appending"))? {
            Ok(records) => Ok(Committed::Done(records)),
            Err(refusal) => Ok(Committed::Refused(refusal)),
        }
    }

    fn change(&mut self, change: &DocumentChange) -> Result<bool, Error> {
        let mut write = || {
            let (DocumentChange::Put(kind, key, _) | DocumentChange::Delete(kind, key)) = change;
            let was_there = self.sql.has_document.exists([kind.as_str(), key])?;
            match change {
                DocumentChange::Put(_, _, body) => {
                    self.sql
                        .put
                        .execute([kind.as_str(), key, &body.to_text()])?
                }
                DocumentChange::Delete(..) => self.sql.delete.execute([kind.as_str(), key])?,
            };
            Ok(was_there)
        };
        write().map_err(|e| Fault::Sql(e).during("keeping a document"))
    }

    fn commit(&mut self) -> Result<(), Error> {
        let newest = sql_id(self.ledger.counters.peek() - 1);
        let batch = self.ledger.backlog.is_due();
        let mut commit = || {
            if batch {
                let ledger = &self.ledger;
                let is_open = |session, call: &CallId| ledger.open_call(session, call).is_some();
                self.sql.batch.write(&ledger.backlog, newest, is_open)?;
            }
            self.sql.commit.execute([])
        };
        commit().map_err(|e| Fault::Sql(e).during("committing"))?;
        if batch {
            self.ledger.backlog.written(newest);
        }
        self.ledger.commit();
        Ok(())
    }

    fn rest(&mut self, idle: Duration) {
        self.checkpoints.look(self.connection, idle);
    }

    fn rollback(&mut self) {
        self.ledger.rollback(self.group);
        // some failures have ended the transaction already
        if !self.connection.is_autocommit()
            && let Err(error) = self.sql.rollback.execute([])
        {
            tracing::error!(%error, "rolling back failed");
        }
    }
}

fn lifecycle(ended: bool) -> Lifecycle {
    if ended {
        Lifecycle::Ended
    } else {
        Lifecycle::Open
    }
}

/// Every call without a result.
fn open_calls(connection: &Connection) -> Result<HashMap<(i64, CallId), OpenCall>, Fault> {
    let mut statement = connection.prepare(
        "SELECT session_no, call_id, accepted, execution FROM open_calls o
         JOIN calls c USING (accepted)
         UNION ALL
         SELECT session_no, call_id, accepted, execution FROM calls
         WHERE accepted > (SELECT value FROM meta WHERE key = 'indexed') AND settled IS NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut open = HashMap::new();
    while let Some(row) = rows.next()? {
        let call: String = row.get(1)?;
        let accepted: i64 = row.get(2)?;
        let call = CallId::parse_existing(&call)
            .map_err(|_| Fault::Damaged(format!("call {accepted}: its id")))?;
        let execution: [u8; 16] = row.get(3)?;
        let execution = ExecutionId::from_uuid(uuid::Uuid::from_bytes(execution));
        open.insert(
            (row.get(0)?, call),
            OpenCall {
                accepted,
                execution,
            },
        );
    }
    Ok(open)
}
