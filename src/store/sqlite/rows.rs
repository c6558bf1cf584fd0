//! Rows → journal records, and the other way for what SQL cannot hold as it is.
//!
//! Owns the check that what is read is what was written: a row that breaks an invariant is
//! damaged and is not served.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf, sync::Arc};

use bytes::Bytes;
use rusqlite::{ErrorCode, Row};
use uuid::Uuid;

use crate::{
    domain::{
        AgentName, ApprovalPolicy, CallId, Digest, EventType, ExecutionId, Frame, Json, Object,
        SessionId, Timestamp, Workspace,
        json::{self, Limits},
    },
    journal::{CallRow, Error, Recorded, SessionRow},
};

/// Columns of [`recorded`] behind the event's id, over `events e LEFT JOIN sessions s`.
pub(super) const EVENT: &str =
    "e.seq, e.type, s.session_id, e.agent, e.envelope_at, e.data_at, e.frame, e.session_no";

/// Columns of [`session`], over `sessions s`.
pub(super) const SESSION: &str = "s.no, s.session_id, s.agent, s.workspace, s.approval_policy, \
     s.metadata, s.principal, s.created_at, s.ended_at";

/// Columns of [`call`] behind the id of its accept, over `calls c JOIN sessions s`.
pub(super) const CALL: &str = "s.session_id, c.call_id, c.root_call_id, c.execution, \
     c.parent, s.agent, c.name, c.digest, c.turn, c.step, c.principal, c.started, c.settled";

/// Why a row could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database said so.
    Sql(rusqlite::Error),
    /// It breaks an invariant.
    Damaged(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Fault {
    /// The journal's error for a fault met while doing `context`.
    pub(super) fn during(self, context: &'static str) -> Error {
        match self {
            Self::Damaged(what) => Error::Damaged { what },
            Self::Sql(error) if is_damage(&error) => Error::Damaged {
                what: format!("{context}: {error}"),
            },
            Self::Sql(error) => Error::Unavailable {
                context,
                source: Arc::new(error),
            },
        }
    }
}

/// Whether the file itself is at fault: what it holds, not whether it can be reached.
fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code == Some(ErrorCode::DatabaseCorrupt)
        || code == Some(ErrorCode::NotADatabase)
        || matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
        )
}

/// An id as SQL's integers hold it. Ids count from 1 and never come near the sign bit.
pub(super) fn sql_id(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// All 64 bits of a client's number.
pub(super) fn sql_bits(number: Option<u64>) -> Option<i64> {
    number.map(u64::cast_signed)
}

/// A page's size as SQL's integers hold it.
pub(super) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A workspace as bytes.
pub(super) fn sql_path(workspace: &Workspace) -> &[u8] {
    workspace.0.as_os_str().as_bytes()
}

/// A metadata object as text.
pub(super) fn sql_object(object: &Object) -> Result<String, Fault> {
    let mut text = Vec::new();
    json::write_object(object, &mut text);
    String::from_utf8(text).map_err(|e| Fault::Damaged(e.to_string()))
}

fn damaged(table: &str, id: i64, what: impl std::fmt::Display) -> Fault {
    Fault::Damaged(format!("{table} {id}: {what}"))
}

fn number(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| damaged("row", number, "a negative number"))
}

fn optional_number(row: &Row<'_>, column: usize) -> Result<Option<u64>, Fault> {
    let number: Option<i64> = row.get(column)?;
    number
        .map(|n| u64::try_from(n).map_err(|_| damaged("row", n, "a negative number")))
        .transpose()
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, Fault> {
    let value = row.get_ref(column)?;
    value
        .as_str()
        .map_err(|e| Fault::Damaged(format!("column {column}: {e}")))
}

/// One event, checked against its own frame.
pub(super) fn recorded(row: &Row<'_>) -> Result<Recorded, Fault> {
    let no: i64 = row.get(0)?;
    let bad = |what: &str| damaged("event", no, what);
    let id = number(row, 0)?;
    let kind = EventType::parse(text(row, 2)?).ok_or_else(|| bad("an unknown type"))?;
    let session = row
        .get_ref(3)?
        .as_str_or_null()
        .map_err(|_| bad("its session"))?;
    let of_session: Option<i64> = row.get(8)?;
    if of_session.is_some() != session.is_some() {
        return Err(bad("its session is missing"));
    }
    let agent = row
        .get_ref(4)?
        .as_str_or_null()
        .map_err(|_| bad("its agent"))?;
    let bytes = row.get_ref(7)?.as_blob().map_err(|_| bad("its frame"))?;
    let offset = |column| number(row, column).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let (envelope, data) = (offset(5)?, offset(6)?);
    if !begins_as(bytes, id, kind, envelope) || !bytes.ends_with(b"}\n\n") {
        return Err(bad("its frame is another's"));
    }
    if !bytes
        .get(envelope..data)
        .is_some_and(|head| head.ends_with(b"\"data\":"))
    {
        return Err(bad("its offsets"));
    }
    let frame = Frame::from_parts(Bytes::copy_from_slice(bytes), envelope, data)
        .ok_or_else(|| bad("its offsets"))?;
    Ok(Recorded {
        id,
        seq: optional_number(row, 1)?,
        kind,
        session: session
            .map(SessionId::parse)
            .transpose()
            .map_err(|_| bad("its session"))?,
        agent: agent
            .map(AgentName::parse)
            .transpose()
            .map_err(|_| bad("its agent"))?,
        frame,
    })
}

/// Whether a frame opens with this id and type, up to its envelope.
fn begins_as(frame: &[u8], id: u64, kind: EventType, envelope: usize) -> bool {
    let rest = frame
        .get(..envelope)
        .and_then(|head| head.strip_prefix(b"id: "));
    let rest = rest.and_then(|rest| rest.strip_prefix(id.to_string().as_bytes()));
    let rest = rest.and_then(|rest| rest.strip_prefix(b"\nevent: "));
    rest.and_then(|rest| rest.strip_prefix(kind.as_str().as_bytes())) == Some(b"\ndata: ")
}

/// One session, with its number.
pub(super) fn session(row: &Row<'_>) -> Result<(u64, SessionRow), Fault> {
    let no: i64 = row.get(0)?;
    let bad = |what: &str| damaged("session", no, what);
    let workspace = row
        .get_ref(3)?
        .as_blob()
        .map_err(|_| bad("its workspace"))?;
    let ended: Option<u64> = optional_number(row, 8)?;
    Ok((
        number(row, 0)?,
        SessionRow {
            id: SessionId::parse(text(row, 1)?).map_err(|_| bad("its id"))?,
            agent: AgentName::parse(text(row, 2)?).map_err(|_| bad("its agent"))?,
            workspace: Workspace(PathBuf::from(OsStr::from_bytes(workspace))),
            approval_policy: policy(text(row, 4)?).ok_or_else(|| bad("its approval policy"))?,
            metadata: Json::read_object(text(row, 5)?.as_bytes(), &unbounded())
                .map_err(|_| bad("its metadata"))?,
            principal: text(row, 6)?.into(),
            created_at: Timestamp::from_micros(number(row, 7)?),
            ended_at: ended.map(Timestamp::from_micros),
        },
    ))
}

/// One call.
pub(super) fn call(row: &Row<'_>) -> Result<CallRow, Fault> {
    let accepted: i64 = row.get(0)?;
    let bad = |what: &str| damaged("call", accepted, what);
    let id = |text: &str| CallId::parse_existing(text).map_err(|_| bad("its id"));
    let call_id = id(text(row, 2)?)?;
    let root = row
        .get_ref(3)?
        .as_str_or_null()
        .map_err(|_| bad("its root"))?;
    let execution = |bytes: &[u8]| {
        let uuid = Uuid::from_slice(bytes).map_err(|_| bad("its execution"))?;
        Ok::<_, Fault>(ExecutionId::from_uuid(uuid))
    };
    let parent = row
        .get_ref(5)?
        .as_blob_or_null()
        .map_err(|_| bad("its parent"))?;
    let digest: [u8; 32] = row.get(8)?;
    let bits = |column| {
        row.get::<_, Option<i64>>(column)
            .map(|n| n.map(i64::cast_unsigned))
    };
    Ok(CallRow {
        session: SessionId::parse(text(row, 1)?).map_err(|_| bad("its session"))?,
        root_call_id: root.map(id).transpose()?.unwrap_or_else(|| call_id.clone()),
        call_id,
        execution: execution(
            row.get_ref(4)?
                .as_blob()
                .map_err(|_| bad("its execution"))?,
        )?,
        parent: parent.map(execution).transpose()?,
        agent: AgentName::parse(text(row, 6)?).map_err(|_| bad("its agent"))?,
        name: text(row, 7)?.to_owned(),
        digest: Digest::from(digest),
        turn: bits(9)?,
        step: bits(10)?,
        principal: text(row, 11)?.into(),
        accepted: number(row, 0)?,
        started: optional_number(row, 12)?,
        settled: optional_number(row, 13)?,
    })
}

/// One document and its key.
pub(super) fn document(row: &Row<'_>) -> Result<(String, Json), Fault> {
    let key = text(row, 0)?.to_owned();
    let body = Json::read(text(row, 1)?.as_bytes(), &unbounded());
    let body = body.map_err(|_| Fault::Damaged(format!("document {key:?}")))?;
    Ok((key, body))
}

/// What was within its limits when it was written is read whatever the limits are now.
fn unbounded() -> Limits {
    Limits {
        max_bytes: usize::MAX,
        ..Limits::default()
    }
}

fn policy(text: &str) -> Option<ApprovalPolicy> {
    [ApprovalPolicy::Ask, ApprovalPolicy::Never]
        .into_iter()
        .find(|p| p.as_str() == text)
}
