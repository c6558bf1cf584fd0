//! Calls over HTTP: submit and wait, read, list, cancel (proto-docs/lifecycle.md).
//!
//! Imports `domain`, `journal`, `scheduler`. Only waits: the execution is a task of its own, so
//! nothing that happens to a connection ends it, unless the client asked for that.

use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    http::{HeaderName, HeaderValue, StatusCode},
    response::Response,
};
use serde::Deserialize;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::{
    HttpState,
    accept::Form,
    answer, call_stream,
    connection::Peer,
    prefer::{PREFERENCE_APPLIED, Preferences},
    problem::{Problem, ProblemCode},
    request::Admitted,
    sessions::{self, CancelRequest},
    shapes,
};
use crate::{
    domain::{AgentName, CallId, CallState, OnDisconnect, ResultBytes, SessionId},
    journal::{CallQuery, Nested, SessionRow},
    scheduler::{Accepted, CallHandle, CallRecord, CallRequest, Error, NewSession, Reserved},
};

/// Told when the same call had been submitted before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("toold-replayed");
/// What the model is told when its client went away.
const GONE: &str = "the client closed its connection";

/// Body of `POST /v1/sessions/{session}/calls`; `arguments` is read apart, as raw text.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitRequest {
    /// The model's own id of the call: 1 to 256 bytes without control characters; the daemon makes
    /// one when none is given.
    #[schema(value_type = Option<String>)]
    call_id: Option<CallId>,
    /// The tool's name, as the model wrote it.
    name: String,
    /// The client's number of the turn.
    turn: Option<u64>,
    /// The client's number of the step.
    step: Option<u64>,
    /// What the end of the connection means; `continue` when nothing is said.
    #[serde(default)]
    #[schema(value_type = Option<shapes::OnDisconnect>)]
    on_disconnect: OnDisconnect,
}

/// `POST /v1/sessions/{session}/calls`
pub(crate) async fn submit(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = sessions::visible(&state, &request).await?;
    let mut members = request.members()?;
    let arguments = members.take_raw("arguments");
    let body: SubmitRequest = members.decode()?;
    run(&state, &request, &row.id, body, arguments, None).await
}

/// `POST /v1/calls`
pub(crate) async fn one_shot(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let mut members = request.members()?;
    let arguments = members.take_raw("arguments");
    let agent: Option<AgentName> = members.take("agent")?;
    let session: Option<SessionId> = members.take("session_id")?;
    let body: SubmitRequest = members.decode()?;
    let (row, place) = if let Some(session) = &session {
        let row = sessions::named(&state, &request, session, agent.as_ref()).await?;
        (row, None)
    } else {
        let place = state.scheduler.reserve()?;
        (fresh_session(&state, &request, agent).await?, Some(place))
    };
    run(&state, &request, &row.id, body, arguments, place).await
}

async fn fresh_session(
    state: &HttpState,
    request: &Admitted,
    agent: Option<AgentName>,
) -> Result<Arc<SessionRow>, Problem> {
    let agent = agent.unwrap_or_else(AgentName::default_agent);
    let new = NewSession {
        id: None,
        agent: request
            .visible(agent)
            .map_err(|problem| problem.at("/agent"))?,
        workspace: None,
        approval_policy: None,
        metadata: crate::domain::Object::new(),
        principal: request.caller()?.principal(),
    };
    let opened = state.scheduler.open_session(new).await;
    opened.map(Arc::new).map_err(sessions::of_agent)
}

async fn run(
    state: &HttpState,
    request: &Admitted,
    session: &SessionId,
    body: SubmitRequest,
    arguments: Option<Bytes>,
    place: Option<Reserved>,
) -> Result<Response, Problem> {
    let call = CallRequest {
        session: session.clone(),
        call_id: body.call_id,
        name: body.name,
        arguments,
        turn: body.turn,
        step: body.step,
        principal: request.caller()?.principal(),
        tied: body.on_disconnect == OnDisconnect::Cancel,
        place,
    };
    let peer = match body.on_disconnect {
        OnDisconnect::Cancel => Some(request.peer().cloned()),
        OnDisconnect::Continue => None,
    };
    if request.form() == Form::Events {
        return Box::pin(call_stream::submit(state, request, call, peer)).await;
    }
    let accepted = state.scheduler.submit(call).await?;
    let leash = Leash::of(&accepted.handle, peer);
    let mut response = settle(state, request, &accepted.handle, leash).await?;
    mark(&mut response, &accepted);
    Ok(response)
}

/// Whoever logged out while waiting is shown nothing more; the call goes on.
fn logged_out() -> Problem {
    Problem::unauthenticated("the login has ended; the call goes on")
}

/// Says that the same call had been submitted before.
pub(crate) fn mark(response: &mut Response, accepted: &Accepted) {
    if accepted.replayed {
        response
            .headers_mut()
            .insert(REPLAYED, HeaderValue::from_static("true"));
    }
}

/// Waits as long as the client and the daemon are willing to, then answers the result or the
/// record.
async fn settle(
    state: &HttpState,
    request: &Admitted,
    call: &CallHandle,
    mut leash: Leash,
) -> Result<Response, Problem> {
    let preferences = Preferences::of(request.headers());
    let patience = preferences.patience(state.server.max_wait);
    let caller = request.caller()?;
    let result = if patience.is_zero() {
        None
    } else {
        let waited = tokio::select! {
            biased;
            () = caller.revoked() => {
                drop(state.changes.spawn(leash.outlive(state.ending.clone())));
                return Err(logged_out());
            }
            waited = timeout(patience, leash.settled(call)) => waited,
        };
        waited.ok()
    };
    leash.let_go();
    let mut response = match result {
        Some(result) => answer::json(StatusCode::OK, result?.0),
        None => pending_record(state, call).await?,
    };
    if let Some(applied) = preferences.applied(state.server.max_wait) {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

async fn pending_record(state: &HttpState, call: &CallHandle) -> Result<Response, Problem> {
    let record = state
        .scheduler
        .record(call.session(), call.call_id())
        .await?;
    let mut response = answer::object(StatusCode::ACCEPTED, |w| record.write(w));
    let path = [
        "sessions",
        call.session().as_str(),
        "calls",
        call.call_id().as_str(),
    ];
    answer::locate(response.headers_mut(), &path);
    Ok(response)
}

/// Ties a call to its client's connection when the client asked for that: the end of the
/// connection, noticed by the socket or by being dropped, cancels the call.
#[derive(Debug)]
pub(crate) struct Leash {
    tied: Option<(CallHandle, Option<Peer>)>,
}

impl Leash {
    /// Ties the call to a peer; `None` ties nothing, `Some(None)` knows no socket and goes by
    /// being dropped alone.
    #[expect(
        clippy::option_option,
        reason = "not tied, and tied without a socket, are different"
    )]
    pub(crate) fn of(call: &CallHandle, peer: Option<Option<Peer>>) -> Self {
        Self {
            tied: peer.map(|peer| (call.clone(), peer)),
        }
    }

    /// Waits for the client to be gone, cancels the call, and then waits for ever: whoever
    /// half-closed may still read the result. Cancellation-safe.
    pub(crate) async fn watch(&mut self) -> Infallible {
        if let Some((call, Some(peer))) = &self.tied {
            peer.gone().await;
            call.cancel(Some(GONE.to_owned()));
        }
        pending().await
    }

    async fn settled(&mut self, call: &CallHandle) -> Result<ResultBytes, Error> {
        tokio::select! {
            result = call.settled() => result,
            never = self.watch() => match never {},
        }
    }

    /// Goes on watching the client after its answer ended without a result, until there is one or
    /// the daemon stops.
    pub(crate) async fn outlive(mut self, ending: CancellationToken) {
        if let Some((call, _)) = self.tied.clone() {
            tokio::select! {
                // What the result is, or why there is none, concerns nobody here.
                _ = self.settled(&call) => {}
                () = ending.cancelled() => {}
            }
        }
        self.let_go();
    }

    /// The leash, taken from where it was held.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            tied: self.tied.take(),
        }
    }

    /// The answer is there, or the client no longer waits for it.
    pub(crate) fn let_go(&mut self) {
        self.tied = None;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some((call, _)) = &self.tied {
            call.cancel(Some(GONE.to_owned()));
        }
    }
}

/// `GET /v1/sessions/{session}/calls/{call}`
pub(crate) async fn read(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = sessions::visible(&state, &request).await?;
    let call_id = request.call_id()?;
    if let Some(seconds) = request
        .query()
        .number("wait")
        .filter(|seconds| *seconds > 0)
    {
        let call = state.scheduler.find(&row.id, &call_id).await?;
        let patience = Duration::from_secs(seconds).min(state.server.max_wait);
        tokio::select! {
            biased;
            () = request.caller()?.revoked() => return Err(logged_out()),
            // Settled, still running, or not writable now: the record says which.
            _ = timeout(patience, call.settled()) => {}
        }
    }
    let record = state.scheduler.record(&row.id, &call_id).await?;
    Ok(answer::object(StatusCode::OK, |w| record.write(w)))
}

/// `POST /v1/sessions/{session}/calls/{call}/cancel`
pub(crate) async fn cancel(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = sessions::visible(&state, &request).await?;
    let call_id = request.call_id()?;
    let body: CancelRequest = request.decode()?;
    let record = state
        .scheduler
        .cancel(&row.id, &call_id, body.reason)
        .await?;
    Ok(answer::object(StatusCode::OK, |w| record.write(w)))
}

/// `GET /v1/sessions/{session}/calls`
pub(crate) async fn list(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let row = sessions::visible(&state, &request).await?;
    let query = request.query();
    let wanted = query.text("state").map(state_of).transpose()?;
    let rows = CallQuery {
        session: row.id.clone(),
        after: query.number("cursor").unwrap_or(0),
        limit: query.limit(),
        nested: if query.is_set("nested") {
            Nested::Shown
        } else {
            Nested::Hidden
        },
        settled: wanted.map(|state| state == CallState::Settled),
    };
    let mut page = state.scheduler.records(rows).await?;
    page.records
        .retain(|record| wanted.is_none_or(|state| record.state == state));
    Ok(answer::page(page.next, |items| {
        for record in &page.records {
            items.nested(|w| CallRecord::write(record, w));
        }
    }))
}

fn state_of(word: &str) -> Result<CallState, Problem> {
    let found = CallState::ALL
        .iter()
        .copied()
        .find(|state| state.as_str() == word);
    found.ok_or_else(|| {
        let known = CallState::ALL
            .iter()
            .map(|state| state.as_str())
            .collect::<Vec<_>>();
        let detail = format!(
            "the parameter `state` must be one of `{}`",
            known.join("`, `")
        );
        Problem::new(ProblemCode::InvalidRequest, detail)
    })
}
