//! Call records: what is known of a call, live or settled (proto-docs/lifecycle.md).

use bytes::Bytes;

use super::{CallHandle, Error, Scheduler, call::Phase};
use crate::{
    domain::{
        CallId, CallState, Json, SessionId,
        json::{Limits, ObjectWriter, members},
    },
    journal::{self, CallQuery, CallRow, PAGE_BYTES, Recorded},
};

/// Some records of a session.
#[derive(Debug, Clone, Default)]
pub struct RecordPage {
    /// In the order of their accept.
    pub records: Vec<CallRecord>,
    /// The `after` of the next page, when there is more.
    pub next: Option<u64>,
}

/// A call's record, complete.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// The store's row.
    pub row: CallRow,
    /// Where it stands.
    pub state: CallState,
    /// The member of `tool/call` that holds the arguments, `arguments` or `raw_arguments`, and its
    /// JSON text.
    pub arguments: Option<(&'static str, Bytes)>,
    /// RFC 3339 time of the accept.
    pub created_at: String,
    /// … of the last start of the body.
    pub started_at: Option<String>,
    /// … of the result.
    pub settled_at: Option<String>,
    /// The frozen result.
    pub result: Option<Bytes>,
}

impl CallRecord {
    /// Whether the body was reached.
    pub fn body_invoked(&self) -> bool {
        self.row.started.is_some()
    }

    /// Writes the record's members.
    pub fn write(&self, w: &mut ObjectWriter<'_>) {
        let row = &self.row;
        w.string("call_id", row.call_id.as_str())
            .string("root_call_id", row.root_call_id.as_str());
        for (key, id) in [
            ("execution_id", Some(row.execution)),
            ("parent_execution_id", row.parent),
        ] {
            if let Some(id) = id {
                id.with_text(|text| {
                    w.string(key, text);
                });
            }
        }
        w.string("session_id", row.session.as_str())
            .string("agent", row.agent.as_str())
            .string("name", &row.name);
        if let Some((key, text)) = &self.arguments {
            w.raw(key, text);
        }
        w.string("digest", &row.digest.to_string())
            .string("state", self.state.as_str())
            .string("created_at", &self.created_at)
            .string_opt("started_at", self.started_at.as_deref())
            .string_opt("settled_at", self.settled_at.as_deref())
            .bool("body_invoked", self.body_invoked());
        if let Some(result) = &self.result {
            w.raw("result", result);
        }
    }
}

impl Scheduler {
    /// The record of a call.
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::UnknownCall`], [`Error::Store`].
    pub async fn record(&self, session: &SessionId, call: &CallId) -> Result<CallRecord, Error> {
        let row = self.row(session, call).await?;
        Ok(self.complete(row).await?.0)
    }

    /// A handle to wait on an existing call.
    ///
    /// # Errors
    /// As for [`Self::record`].
    pub async fn find(&self, session: &SessionId, call: &CallId) -> Result<CallHandle, Error> {
        let live = self.load(session).await?.call(call);
        if let Some(entry) = live
            && !matches!(entry.decided().await, Phase::Refused(_) | Phase::Taken(_))
        {
            return Ok(CallHandle::live(entry));
        }
        let row = self.row(session, call).await?;
        self.of_row(&row).await
    }

    /// Records of a session's calls, in the order of their accept: at most `query.limit`, and no
    /// more behind the one that brings arguments and results to [`PAGE_BYTES`].
    ///
    /// # Errors
    /// [`Error::UnknownSession`], [`Error::Store`].
    pub async fn records(&self, mut query: CallQuery) -> Result<RecordPage, Error> {
        self.load(&query.session).await?;
        let limit = query.limit;
        query.limit = limit.saturating_add(1);
        let rows = self.0.parts.journal.store().calls(query).await?;
        let mut page = RecordPage::default();
        let mut bytes = 0;
        for row in rows {
            if page.records.len() >= limit || bytes >= PAGE_BYTES {
                page.next = page.records.last().map(|record| record.row.accepted);
                break;
            }
            let (record, size) = self.complete(row).await?;
            bytes += size;
            page.records.push(record);
        }
        Ok(page)
    }

    /// Asks a call to stop and answers its record as it stands then.
    ///
    /// # Errors
    /// [`Error::CallSettled`] when it has its result; else as for [`Self::record`].
    pub async fn cancel(
        &self,
        session: &SessionId,
        call: &CallId,
        reason: Option<String>,
    ) -> Result<CallRecord, Error> {
        let live = self.load(session).await?.call(call);
        if let Some(entry) = live {
            match entry.decided().await {
                Phase::Accepted | Phase::Unsettled(_) => {
                    entry.cancel(reason);
                    return self.record(session, call).await;
                }
                Phase::Pending | Phase::Taken(_) | Phase::Refused(_) | Phase::Settled(_) => {}
            }
        }
        self.row(session, call).await?;
        Err(Error::CallSettled)
    }

    async fn row(&self, session: &SessionId, call: &CallId) -> Result<CallRow, Error> {
        if let Some(entry) = self.load(session).await?.call(call) {
            entry.decided().await;
        }
        self.0
            .parts
            .journal
            .store()
            .call(session, call)
            .await?
            .ok_or(Error::UnknownCall)
    }

    /// The record of a row, and the bytes of its events.
    async fn complete(&self, row: CallRow) -> Result<(CallRecord, usize), Error> {
        let accepted = self
            .event(Some(row.accepted))
            .await?
            .ok_or(Error::UnknownCall)?;
        let started = self.event(row.started).await?;
        let settled = self.event(row.settled).await?;
        let live = self.load(&row.session).await?.call(&row.call_id);
        let state = match (row.settled, live) {
            (None, Some(entry)) => entry.progress.state(),
            (Some(_), _) | (None, None) => CallState::Settled,
        };
        let sizes = [Some(&accepted), settled.as_ref()];
        let bytes = sizes.into_iter().flatten().map(|e| e.frame.len()).sum();
        let record = CallRecord {
            arguments: arguments_of(&accepted.frame.data())?,
            created_at: time_of(&accepted),
            started_at: started.as_deref().map(time_of),
            settled_at: settled.as_deref().map(time_of),
            result: settled.map(|event| event.frame.data()),
            // Settled between the two looks: the row is from before.
            state: if row.settled.is_none() && state == CallState::Settled {
                CallState::Finalizing
            } else {
                state
            },
            row,
        };
        Ok((record, bytes))
    }

    async fn event(&self, id: Option<u64>) -> Result<Option<std::sync::Arc<Recorded>>, Error> {
        match id {
            Some(id) => Ok(self.0.parts.journal.store().event(id).await?),
            None => Ok(None),
        }
    }
}

/// The arguments in the data of a `tool/call`, as they stand there: whatever was accepted once is
/// not judged again.
fn arguments_of(data: &Bytes) -> Result<Option<(&'static str, Bytes)>, Error> {
    let damaged = |error| {
        Error::Store(journal::Error::Damaged {
            what: format!("a tool/call: {error}"),
        })
    };
    let found = members(data).map_err(damaged)?;
    Ok(found.into_iter().find_map(|(name, text)| {
        let key = ["arguments", "raw_arguments"]
            .into_iter()
            .find(|key| *key == name)?;
        Some((key, data.slice_ref(text)))
    }))
}

/// The time in an event's envelope, of which the data is not looked at.
fn time_of(event: &Recorded) -> String {
    let (envelope, data) = event.frame.offsets();
    let head = event.frame.sse();
    let mut head = head.get(envelope..data).unwrap_or_default().to_vec();
    head.extend_from_slice(b"null}");
    let read = Json::read(&head, &Limits::default());
    let time = read
        .ok()
        .as_ref()
        .and_then(|e| e.get("time"))
        .and_then(Json::as_str)
        .map(str::to_owned);
    time.unwrap_or_default()
}
