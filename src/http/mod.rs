//! The daemon over HTTP: routes, wire types, access, streams, problems (protocol).
//!
//! Imports `domain`, `config`, `telemetry`, `tasks`, `journal`, `registry`, `scheduler`; `axum`
//! and `hyper` stay in here. Parses and answers, and holds no logic of calls: what is decided here
//! is who may ask and how an answer looks.

mod accept;
mod access;
mod agents;
mod answer;
mod auth;
mod body;
mod call_stream;
mod calls;
mod catalogue;
mod connection;
mod cors;
mod cursor;
pub mod document;
mod events;
mod host;
mod lists;
mod login;
mod ops;
mod prefer;
mod problem;
mod query;
mod request;
mod routes;
mod serve;
mod sessions;
mod shapes;
mod sse;

use std::{collections::BTreeSet, ops::Deref, sync::Arc};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use access::Access;
pub use agents::restore_agents;
pub use ops::About;
pub use problem::{Problem, ProblemCode};
pub use routes::{Route, Verb, router, routes};
pub use serve::Serving;

use crate::{
    config::{Auth, Server, Streams},
    domain::{AgentName, Clock},
    journal::Journal,
    registry::ToolRegistry,
    scheduler::Scheduler,
    tasks::Tasks,
    telemetry::Telemetry,
};

/// The parts an [`HttpState`] is made of.
#[derive(Debug)]
pub struct Parts {
    /// `[server]`.
    pub server: Server,
    /// `[auth]`: the tokens that are known, generated ones included.
    pub auth: Auth,
    /// `[streams]`.
    pub streams: Streams,
    /// Sessions and calls.
    pub scheduler: Scheduler,
    /// Agents and tools.
    pub registry: ToolRegistry,
    /// Agents that the configuration declares: not changed over HTTP.
    pub configured: BTreeSet<AgentName>,
    /// The event log.
    pub journal: Journal,
    /// Figures.
    pub telemetry: Telemetry,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// What `/readyz` tells of the rest of the daemon.
    pub about: About,
}

/// What every route works with. Cloning shares it.
#[derive(Debug, Clone)]
pub struct HttpState(Arc<Shared>);

/// See [`HttpState`].
#[derive(Debug)]
pub struct Shared {
    pub(crate) gate: request::Gate,
    pub(crate) server: Server,
    pub(crate) streams: Streams,
    pub(crate) scheduler: Scheduler,
    pub(crate) registry: ToolRegistry,
    pub(crate) configured: BTreeSet<AgentName>,
    pub(crate) journal: Journal,
    pub(crate) telemetry: Telemetry,
    pub(crate) clock: Arc<dyn Clock>,
    /// Changes that a client that goes away must not cut off.
    pub(crate) changes: Tasks,
    pub(crate) about: About,
    /// One change of agents at a time.
    pub(crate) registrations: Semaphore,
    pub(crate) openapi: Bytes,
    /// Ends the streams that do not end by themselves.
    pub(crate) ending: CancellationToken,
}

impl HttpState {
    /// Joins the parts.
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Shared {
            gate: request::Gate::new(&parts.server, parts.auth.tokens, Arc::clone(&parts.clock)),
            server: parts.server,
            streams: parts.streams,
            scheduler: parts.scheduler,
            registry: parts.registry,
            configured: parts.configured,
            journal: parts.journal,
            telemetry: parts.telemetry,
            clock: parts.clock,
            changes: Tasks::new(),
            about: parts.about,
            registrations: Semaphore::new(1),
            openapi: document::openapi().into(),
            ending: CancellationToken::new(),
        }))
    }
}

impl Deref for HttpState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
