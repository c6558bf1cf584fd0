//! What operators and probes ask: health, readiness, metrics, the document of the API.
//!
//! Imports `journal`, `scheduler`, `telemetry`. Strangers learn one word.

use std::time::Duration;

use axum::{http::StatusCode, response::Response};
use tokio::time::timeout;

use super::{HttpState, answer, problem::Problem, request::Admitted};
use crate::{domain::json::ObjectWriter, journal::Journal};

/// How long the store may take to show that it is there.
const STORE_TIME: Duration = Duration::from_secs(2);

/// What `/readyz` tells of the daemon beside what is asked of it then.
#[derive(Debug, Clone)]
pub struct About {
    /// The daemon's version.
    pub version: &'static str,
    /// Kind and durability of the store.
    pub store: String,
    /// How processes are confined; `none` while there are none.
    pub sandbox: String,
    /// Where tools come from, each with its state in a word.
    pub sources: Vec<(String, String)>,
    /// Counts the configurations put in force, from 1.
    pub config_generation: u64,
}

impl About {
    /// A daemon with this journal and the tools that it ships with.
    pub fn new(journal: &Journal) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            store: journal.store().describe(),
            sandbox: "none".to_owned(),
            sources: vec![("builtin".to_owned(), "ready".to_owned())],
            config_generation: 1,
        }
    }
}

/// The media type of figures.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readiness {
    Ready,
    Draining,
    StoreUnavailable,
}

impl Readiness {
    fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::StoreUnavailable => "store_unavailable",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::Ready => StatusCode::OK,
            Self::Draining | Self::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// `GET /healthz`
pub(crate) async fn health(_: HttpState, _: Admitted) -> Result<Response, Problem> {
    Ok(answer::object(StatusCode::OK, |w| {
        w.string("status", "ok");
    }))
}

/// `GET /readyz`
pub(crate) async fn ready(state: HttpState, request: Admitted) -> Result<Response, Problem> {
    let readiness = readiness(&state).await;
    Ok(answer::object(readiness.status(), |w| {
        w.string("status", readiness.word());
        if request.maybe_caller().is_some() {
            report(&state, w);
        }
    }))
}

async fn readiness(state: &HttpState) -> Readiness {
    if state.scheduler.draining() {
        return Readiness::Draining;
    }
    let works = async {
        let reads = state.journal.store().bounds(None).await.is_ok();
        reads && state.scheduler.store_is_writable().await
    };
    if timeout(STORE_TIME, works).await.unwrap_or(false) {
        Readiness::Ready
    } else {
        Readiness::StoreUnavailable
    }
}

fn report(state: &HttpState, w: &mut ObjectWriter<'_>) {
    let about = &state.about;
    w.string("version", about.version)
        .string("store", &about.store)
        .string("sandbox", &about.sandbox)
        .array("sources", |list| {
            for (name, state) in &about.sources {
                list.nested(|w| {
                    w.string("name", name).string("state", state);
                });
            }
        })
        .number("config_generation", about.config_generation)
        .number("calls_in_flight", state.scheduler.live() as u64);
}

/// `GET /metrics`
pub(crate) async fn metrics(state: HttpState, _: Admitted) -> Result<Response, Problem> {
    state.telemetry.calls_under_way(state.scheduler.live());
    let text = state.telemetry.render();
    Ok(answer::typed(StatusCode::OK, OPEN_METRICS, text.into()))
}

/// `GET /openapi.json`
pub(crate) async fn openapi(state: HttpState, _: Admitted) -> Result<Response, Problem> {
    Ok(answer::typed(
        StatusCode::OK,
        "application/json",
        state.openapi.clone(),
    ))
}
