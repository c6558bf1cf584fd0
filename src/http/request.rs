//! The gate that every route stands behind, and a request once it has passed.
//!
//! Order of the checks: `Host` and `Origin` (for every path, known or not), who is calling, what
//! they may do, the form of the answer, the query, the form of the body, its size. All of them
//! come before any effect. Imports `config` and `domain`.

use std::sync::Arc;

use axum::{
    body::Bytes,
    extract::{FromRequestParts as _, RawPathParams, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Uri, header, request::Parts},
};
use serde::de::DeserializeOwned;

use super::{
    accept::{self, Form},
    access::{Access, Caller, Credential},
    auth::{Authenticator, Stranger, shows_execution},
    body::{self, Members},
    connection::Peer,
    host::{Door, OriginVerdict},
    problem::{Problem, ProblemCode},
    query::Query,
    routes::{Queries, Route, Verb},
};
use crate::{
    config::{Authority, Server, TokenSpec},
    domain::{AgentName, CallId, Clock, SessionId, ToolName},
    tasks::{HEAVY, in_place},
};

/// Largest header that is looked at, in bytes of names and values.
pub(crate) const MAX_HEADER: usize = 32 * 1024;

/// Largest body of whoever is not known, in bytes: a login, or nothing.
const STRANGERS_BODY: usize = 16 * 1024;

/// Which hosts a path may be asked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostRule {
    /// Those that are let in.
    Allowed,
    /// Any, or none.
    Any,
}

/// What stands between the network and every route.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) door: Door,
    pub(crate) authenticator: Authenticator,
    max_body: usize,
}

impl Gate {
    /// The gate of a configuration.
    pub(crate) fn new(server: &Server, tokens: Vec<TokenSpec>, clock: Arc<dyn Clock>) -> Self {
        Self {
            door: Door::new(&server.allowed_hosts, &server.allowed_origins),
            authenticator: Authenticator::new(tokens, clock),
            max_body: server.max_body,
        }
    }

    /// Judges size of the header, `Host` and `Origin`; the same for every path.
    ///
    /// # Errors
    /// `HEADERS_TOO_LARGE`, `FORBIDDEN`, or `NOT_BUILT` for a transfer coding.
    pub(crate) fn knock(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        rule: HostRule,
    ) -> Result<(), Problem> {
        let size: usize = headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if size > MAX_HEADER {
            let detail = format!("a header may have at most {MAX_HEADER} bytes");
            return Err(Problem::new(ProblemCode::HeadersTooLarge, detail));
        }
        judge_coding(headers)?;
        let host = self.host(uri, headers);
        if host.is_none() && rule == HostRule::Allowed {
            return Err(Problem::new(
                ProblemCode::Forbidden,
                "this Host is not allowed; name it in server.allowed_hosts",
            ));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if self.door.judge_origin(origin, host.as_ref()) == OriginVerdict::Foreign {
                return Err(Problem::new(
                    ProblemCode::Forbidden,
                    "this Origin is not allowed; name it in server.allowed_origins",
                ));
            }
        }
        Ok(())
    }

    /// The one host that a request names, in `Host` or, as HTTP/2 and absolute forms do, in its
    /// URI; nothing when it names none, one that is not let in, or several.
    fn host(&self, uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
        let of_uri = uri
            .authority()
            .map(|authority| self.door.admit(authority.as_str()));
        let mut of_header = headers
            .get_all(header::HOST)
            .iter()
            .map(|host| self.door.admit(host.to_str().ok()?));
        let (first, more) = (of_header.next(), of_header.next());
        match (of_uri, first, more) {
            (Some(host), None, None) | (None, Some(host), None) => host,
            (Some(uri), Some(header), None) if uri == header => uri,
            _ => None,
        }
    }

    /// Lets a request through to its route, or says why not.
    ///
    /// # Errors
    /// The first check that fails.
    pub(crate) async fn admit(
        &self,
        route: &'static Route,
        request: Request,
    ) -> Result<Admitted, Problem> {
        let (mut parts, body) = request.into_parts();
        let caller = self.identify(route, &parts.headers)?;
        let form =
            accept::choose(&parts.headers, route.forms).ok_or_else(|| unacceptable(route))?;
        let query = match route.query {
            Queries::Declared(params) => Query::read(&parts.uri, params)?,
            Queries::Unread => Query::default(),
        };
        body::judge_form(&parts.headers, &body, route.body)?;
        let path = path_params(&mut parts).await?;
        let limit = match &caller {
            Some(_) => self.max_body,
            None => self.max_body.min(STRANGERS_BODY),
        };
        let body = body::read(body, limit).await?;
        let peer = parts.extensions.remove::<Peer>();
        Ok(Admitted {
            caller,
            form,
            query,
            path,
            headers: parts.headers,
            body,
            peer,
        })
    }

    fn identify(&self, route: &Route, headers: &HeaderMap) -> Result<Option<Caller>, Problem> {
        let known = self.authenticator.identify(headers);
        let permissions = match route.access {
            Access::Open | Access::Probe => return Ok(known.ok()),
            Access::Execution => return Err(refuse_execution(headers)),
            Access::Known => None,
            Access::Any(permissions) => Some(permissions),
        };
        let caller = known.map_err(|stranger| match stranger {
            Stranger::Nothing => Problem::unauthenticated("send `Authorization: Bearer <token>`"),
            Stranger::Unknown => Problem::unauthenticated("the token is not known"),
        })?;
        let writes_by_cookie = caller.credential() == Credential::Cookie && route.verb != Verb::Get;
        if writes_by_cookie && !headers.contains_key(header::ORIGIN) {
            return Err(Problem::new(
                ProblemCode::Forbidden,
                "a write with a cookie needs an allowed Origin",
            ));
        }
        if permissions.is_some_and(|any_of| !caller.may(any_of)) {
            let needed = route.access.describe();
            let detail = format!("this needs the permission {needed}, which the token lacks");
            return Err(Problem::new(ProblemCode::Forbidden, detail));
        }
        Ok(Some(caller))
    }
}

/// A coding that nobody here undoes would be read as other bytes than the client's (RFC 9112,
/// section 6.1).
fn judge_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let is_chunked = |coding: &str| coding.trim().eq_ignore_ascii_case("chunked");
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if codings.all(|coding| coding.to_str().is_ok_and(is_chunked)) {
        return Ok(());
    }
    Err(Problem::not_built(
        "a transfer coding other than `chunked` is",
    ))
}

/// Execution tokens open nothing in this version, whoever shows one.
fn refuse_execution(headers: &HeaderMap) -> Problem {
    if shows_execution(headers) {
        Problem::not_built("acting as an execution is")
    } else {
        Problem::unauthenticated("send `Authorization: Execution <token>`")
    }
}

fn unacceptable(route: &Route) -> Problem {
    let made = route
        .forms
        .iter()
        .map(|form| form.media_type())
        .collect::<Vec<_>>()
        .join(" or ");
    Problem::new(
        ProblemCode::NotAcceptable,
        format!("this route answers {made}"),
    )
}

async fn path_params(parts: &mut Parts) -> Result<Vec<(String, String)>, Problem> {
    // What does not decode names nothing that exists.
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params =
        params.map_err(|_| Problem::new(ProblemCode::NotFound, "there is no such path"))?;
    Ok(params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// A request that has passed the gate.
#[derive(Debug)]
pub(crate) struct Admitted {
    caller: Option<Caller>,
    form: Form,
    query: Query,
    path: Vec<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
    peer: Option<Peer>,
}

impl Admitted {
    /// Who is calling.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` when nobody is known, as on open routes.
    pub(crate) fn caller(&self) -> Result<&Caller, Problem> {
        let nobody = || Problem::unauthenticated("send `Authorization: Bearer <token>`");
        self.caller.as_ref().ok_or_else(nobody)
    }

    /// Who is calling, on routes that are open to strangers.
    pub(crate) fn maybe_caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// The form of answer that the client wants most.
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The query.
    pub(crate) fn query(&self) -> &Query {
        &self.query
    }

    /// The headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// A header, when it is text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers
            .get(name)
            .map(HeaderValue::to_str)
            .and_then(Result::ok)
    }

    /// The connection that it came over, when it came over one.
    pub(crate) fn peer(&self) -> Option<&Peer> {
        self.peer.as_ref()
    }

    /// The members of the body.
    ///
    /// # Errors
    /// As [`Members::split`].
    pub(crate) fn members(&self) -> Result<Members, Problem> {
        in_place(self.body.len() > HEAVY, || Members::split(&self.body))
    }

    /// The whole body.
    ///
    /// # Errors
    /// As [`Members::split`] and [`Members::decode`].
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.members()?.decode()
    }

    /// `{session}` of the path. What cannot be a session id names no session.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn session_id(&self) -> Result<SessionId, Problem> {
        SessionId::parse(self.param("session")).map_err(|_| Problem::no_session())
    }

    /// `{call}` of the path.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn call_id(&self) -> Result<CallId, Problem> {
        CallId::parse_existing(self.param("call")).map_err(|_| Problem::no_call())
    }

    /// `{agent}` of the path, when the caller may touch it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn agent(&self) -> Result<AgentName, Problem> {
        let agent = AgentName::parse(self.param("agent")).map_err(|_| Problem::no_agent())?;
        self.visible(agent)
    }

    /// `?agent=`, or the default agent, when the caller may touch it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn agent_or_default(&self) -> Result<AgentName, Problem> {
        let named = self.agent_filter()?;
        named.map_or_else(|| self.visible(AgentName::default_agent()), Ok)
    }

    /// `?agent=` as a filter.
    ///
    /// # Errors
    /// `NOT_FOUND` for one that the caller may not touch.
    pub(crate) fn agent_filter(&self) -> Result<Option<AgentName>, Problem> {
        let Some(text) = self.query.text("agent") else {
            return Ok(None);
        };
        let agent = AgentName::parse(text).map_err(|_| Problem::no_agent())?;
        self.visible(agent).map(Some)
    }

    /// An agent that the caller may touch.
    ///
    /// # Errors
    /// `NOT_FOUND`: another's agent looks like none.
    pub(crate) fn visible(&self, agent: AgentName) -> Result<AgentName, Problem> {
        if self.caller()?.sees(&agent) {
            Ok(agent)
        } else {
            Err(Problem::no_agent())
        }
    }

    /// `{tool}` of the path.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub(crate) fn tool(&self) -> Result<ToolName, Problem> {
        let none = |_| Problem::new(ProblemCode::NotFound, "the agent sees no such tool");
        ToolName::parse(self.param("tool")).map_err(none)
    }

    fn param(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, value)| value)
    }
}

#[cfg(test)]
mod tests;
