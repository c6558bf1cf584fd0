//! Sessions over HTTP: open, list, read, tighten, cancel, end (proto-docs/lifecycle.md).
//!
//! Imports `domain`, `journal`, `scheduler`. A session of an agent that the caller may not touch
//! does not exist for them.

use std::{sync::Arc, time::Duration};

use axum::{http::StatusCode, response::Response};
use serde::Deserialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::{
    HttpState,
    access::Caller,
    answer,
    prefer::{PREFERENCE_APPLIED, Preferences},
    problem::{Problem, ProblemCode},
    request::Admitted,
    shapes,
};
use crate::{
    domain::{AgentName, ApprovalPolicy, Json, Object, SessionId, json::ObjectWriter},
    journal::{PAGE_BYTES, SessionQuery, SessionRow},
    scheduler::{Error, NewSession, SessionState},
};

/// Rows that are looked at for one page of a filtered list; a page may so be short.
const LOOKED_AT: usize = 5000;

/// Rows that are read at once: with the metadata that they may have, two megabytes.
const ROWS: usize = 32;

/// Longest that the end of a session is waited for; bodies that ignore their signal take longer.
const REST: Duration = Duration::from_secs(30);

/// Most metadata of a session, in bytes of its compact form.
const MAX_METADATA: usize = 64 * 1024;

/// Metadata stays in memory with its session and is in every list of sessions.
fn within_bound(metadata: &Object) -> Result<(), Problem> {
    let size = Json::Object(metadata.clone()).to_text().len();
    if size <= MAX_METADATA {
        return Ok(());
    }
    let detail = format!("metadata has {size} bytes; at most {MAX_METADATA} are kept");
    Err(Problem::new(ProblemCode::InvalidRequest, detail).at("/metadata"))
}

/// Body of `POST /v1/sessions`; `metadata` is read apart, because its members are free.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenRequest {
    /// The agent that owns it; `default` when none is named.
    #[schema(value_type = Option<String>)]
    agent: Option<AgentName>,
    /// Its id; the daemon makes one when none is given.
    #[schema(value_type = Option<String>)]
    session_id: Option<SessionId>,
    /// A directory inside the workspace root.
    workspace: Option<String>,
    /// Its own approval policy; may only tighten.
    #[schema(value_type = Option<shapes::ApprovalPolicy>)]
    approval_policy: Option<ApprovalPolicy>,
}

/// Body of `PATCH /v1/sessions/{session}`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SessionPatch)]
pub(crate) struct PatchRequest {
    /// The new approval policy; may only tighten.
    #[schema(value_type = shapes::ApprovalPolicy)]
    approval_policy: ApprovalPolicy,
}

/// Body of the two cancels.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Cancel)]
pub(crate) struct CancelRequest {
    /// In words for the model.
    pub(crate) reason: Option<String>,
}

/// `POST /v1/sessions`
pub(crate) async fn open(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let mut members = request.members()?;
    let metadata = members.take_object("metadata")?;
    within_bound(&metadata)?;
    let body: OpenRequest = members.decode()?;
    let agent = body.agent.unwrap_or_else(AgentName::default_agent);
    let new = NewSession {
        id: body.session_id,
        agent: request
            .visible(agent)
            .map_err(|problem| problem.at("/agent"))?,
        workspace: body.workspace,
        approval_policy: body.approval_policy,
        metadata,
        principal: request.caller()?.principal(),
    };
    let row = state.scheduler.open_session(new).await.map_err(of_agent)?;
    let mut response = shown(&state, StatusCode::CREATED, &row);
    answer::locate(response.headers_mut(), &["sessions", row.id.as_str()]);
    Ok(response)
}

/// An agent that is not there is told as one that may not be touched.
pub(crate) fn of_agent(error: Error) -> Problem {
    let of_agent = matches!(error, Error::UnknownAgent);
    let problem = Problem::from(error);
    if of_agent {
        problem.at("/agent")
    } else {
        problem
    }
}

/// `GET /v1/sessions`
pub(crate) async fn list(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let caller = request.caller()?;
    let agent = request.agent_filter()?;
    let limit = request.query().limit();
    let mut cursor = request.query().number("cursor");
    let mut found = Found::default();
    for _ in 0..LOOKED_AT.div_ceil(ROWS) {
        let query = SessionQuery {
            agent: agent.clone(),
            cursor,
            limit: ROWS,
        };
        let rows = state.scheduler.sessions(query).await?;
        let was_last = rows.len() < ROWS;
        for (position, row) in rows {
            cursor = Some(position);
            if caller.sees(&row.agent) {
                found.add(&row, state.scheduler.session_state(&row));
            }
            if found.rows.len() == limit || found.bytes >= PAGE_BYTES {
                return Ok(found.page(cursor));
            }
        }
        if was_last {
            return Ok(found.page(None));
        }
    }
    Ok(found.page(cursor))
}

/// The items of a page, each as it is sent.
#[derive(Debug, Default)]
struct Found {
    rows: Vec<Vec<u8>>,
    bytes: usize,
}

impl Found {
    fn add(&mut self, row: &SessionRow, standing: SessionState) {
        let mut text = Vec::new();
        let mut w = ObjectWriter::new(&mut text);
        write(row, standing, &mut w);
        w.end();
        self.bytes += text.len();
        self.rows.push(text);
    }

    fn page(&self, next: Option<u64>) -> Response {
        answer::page(next, |items| {
            for row in &self.rows {
                items.raw(row);
            }
        })
    }
}

/// `GET /v1/sessions/{session}`
pub(crate) async fn read(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = visible(&state, &request).await?;
    Ok(shown(&state, StatusCode::OK, &row))
}

/// `PATCH /v1/sessions/{session}`
pub(crate) async fn patch(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = visible(&state, &request).await?;
    let body: PatchRequest = request.decode()?;
    let row = state
        .scheduler
        .update_session(&row.id, body.approval_policy)
        .await?;
    Ok(shown(&state, StatusCode::OK, &row))
}

/// `DELETE /v1/sessions/{session}`
pub(crate) async fn end(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = visible(&state, &request).await?;
    let preferences = Preferences::of(request.headers());
    let longest = REST.min(state.server.max_wait);
    let ending = state.scheduler.end_session(&row.id);
    let waited = tokio::select! {
        biased;
        () = request.caller()?.revoked() => {
            return Err(Problem::unauthenticated("the login has ended; the session's end goes on"));
        }
        // Cancellation-safe: the end goes on by itself.
        waited = timeout(preferences.patience(longest), ending) => waited,
    };
    let (status, row) = match waited {
        Ok(ended) => (StatusCode::OK, Arc::new(ended?)),
        Err(_) => match state.scheduler.session(&row.id).await? {
            row if row.ended_at.is_some() => (StatusCode::OK, row),
            row => (StatusCode::ACCEPTED, row),
        },
    };
    let mut response = shown(&state, status, &row);
    if status == StatusCode::ACCEPTED {
        answer::locate(response.headers_mut(), &["sessions", row.id.as_str()]);
    }
    if let Some(applied) = preferences.applied(longest) {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

/// `POST /v1/sessions/{session}/cancel`
pub(crate) async fn cancel(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = visible(&state, &request).await?;
    let body: CancelRequest = request.decode()?;
    let cancelled = state.scheduler.cancel_session(&row.id, body.reason).await?;
    Ok(answer::object(StatusCode::OK, |w| {
        w.number("cancelled", cancelled as u64);
    }))
}

/// The session of the path, when it exists for the caller.
///
/// # Errors
/// `NOT_FOUND`: another agent's session looks like none.
pub(crate) async fn visible(
    state: &HttpState,
    request: &Admitted,
) -> Result<Arc<SessionRow>, Problem> {
    let row = state.scheduler.session(&request.session_id()?).await?;
    seen_by(request.caller()?, row)
}

/// A session, when it exists for the caller.
///
/// # Errors
/// `NOT_FOUND`.
pub(crate) fn seen_by(caller: &Caller, row: Arc<SessionRow>) -> Result<Arc<SessionRow>, Problem> {
    if caller.sees(&row.agent) {
        Ok(row)
    } else {
        Err(Problem::no_session())
    }
}

/// A session named in a body, when it exists for the caller and belongs to the agent that the
/// body names.
///
/// # Errors
/// `NOT_FOUND`, or `INVALID_REQUEST` for another agent.
pub(crate) async fn named(
    state: &HttpState,
    request: &Admitted,
    session: &SessionId,
    agent: Option<&AgentName>,
) -> Result<Arc<SessionRow>, Problem> {
    let found = state.scheduler.session(session).await;
    let row = found.map_err(|error| Problem::from(error).at("/session_id"))?;
    let row = seen_by(request.caller()?, row).map_err(|problem| problem.at("/session_id"))?;
    if agent.is_some_and(|agent| *agent != row.agent) {
        let detail = "the session belongs to another agent; leave `agent` out";
        return Err(Problem::new(ProblemCode::InvalidRequest, detail).at("/agent"));
    }
    Ok(row)
}

fn shown(state: &HttpState, status: StatusCode, row: &SessionRow) -> Response {
    let standing = state.scheduler.session_state(row);
    answer::object(status, |w| write(row, standing, w))
}

fn write(row: &SessionRow, standing: SessionState, w: &mut ObjectWriter<'_>) {
    w.string("session_id", row.id.as_str())
        .string("agent", row.agent.as_str())
        .string("state", standing.as_str())
        .string("workspace", &row.workspace.0.to_string_lossy())
        .string("approval_policy", row.approval_policy.as_str())
        .object("metadata", &row.metadata)
        .string("created_at", &row.created_at.to_string())
        .string_opt("ended_at", row.ended_at.map(|at| at.to_string()).as_deref());
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::domain::{Timestamp, Workspace};

    #[test]
    fn a_session_is_shown_with_what_its_client_keeps() {
        let mut metadata = Object::new();
        metadata.insert("ticket".to_owned(), 7_u64.into());
        let row = SessionRow {
            id: SessionId::parse("s 1").unwrap(),
            agent: AgentName::default_agent(),
            workspace: Workspace(PathBuf::from("a/b")),
            approval_policy: ApprovalPolicy::Never,
            metadata,
            principal: "p".into(),
            created_at: Timestamp::from_micros(0),
            ended_at: Some(Timestamp::from_micros(1)),
        };
        let mut out = Vec::new();
        let mut w = ObjectWriter::new(&mut out);
        write(&row, SessionState::Ended, &mut w);
        w.end();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"session_id":"s 1","agent":"default","state":"ended","workspace":"a/b","approval_policy":"never","metadata":{"ticket":7},"created_at":"1970-01-01T00:00:00.000000Z","ended_at":"1970-01-01T00:00:00.000001Z"}"#
        );
    }
}
