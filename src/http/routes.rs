//! The list of routes, and how it becomes a router.
//!
//! A route is one entry of [`routes`]: method, path, what it asks of the caller, its handler and
//! its documents. The router is made of that list alone and every handler is reached through the
//! gate, so that nothing can be mounted without a requirement. Knows no handler's business.

mod later;
mod table;

use std::any::Any;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, header},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, MethodRouter},
};
use futures_util::future::BoxFuture;
use tower_http::catch_panic::CatchPanicLayer;

use super::{
    HttpState,
    accept::Form,
    access::Access,
    body::BodyRule,
    cors,
    document::Shape,
    problem::{Problem, ProblemCode},
    query::Param,
    request::{Admitted, HostRule},
};

/// What answers a request that has passed the gate.
pub(crate) type Handler = fn(HttpState, Admitted) -> BoxFuture<'static, Result<Response, Problem>>;

/// A method that routes are declared for. `HEAD` goes where `GET` goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Reads.
    Get,
    /// Makes or asks for something.
    Post,
    /// Puts something in place.
    Put,
    /// Changes a part.
    Patch,
    /// Ends or removes.
    Delete,
}

impl Verb {
    /// The method's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

/// An answer that a route gives when all goes well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Good {
    pub(crate) status: u16,
    pub(crate) about: &'static str,
    pub(crate) shape: Shape,
    pub(crate) headers: &'static [Head],
}

impl Good {
    /// With headers that it may have.
    pub(crate) const fn with(self, headers: &'static [Head]) -> Self {
        Self { headers, ..self }
    }
}

/// A header that a request or an answer may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

/// One route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// Method.
    pub verb: Verb,
    /// Path with `{parameters}`.
    pub path: &'static str,
    /// What it asks of the caller.
    pub access: Access,
    /// Its name in the document of the API; empty for one that is not built.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    pub(crate) query: Queries,
    pub(crate) body: BodyRule,
    pub(crate) request: Option<Shape>,
    pub(crate) forms: &'static [Form],
    pub(crate) heeds: &'static [Head],
    pub(crate) good: &'static [Good],
    pub(crate) handler: Handler,
}

/// Which query parameters a route takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Queries {
    /// These and no others.
    Declared(&'static [Param]),
    /// Whatever comes: nothing is read.
    Unread,
}

impl Route {
    /// A route without query and body that answers JSON.
    pub(crate) const fn new(
        verb: Verb,
        path: &'static str,
        access: Access,
        handler: Handler,
    ) -> Self {
        Self {
            verb,
            path,
            access,
            name: "",
            summary: "",
            query: Queries::Declared(&[]),
            body: BodyRule::None,
            request: None,
            forms: &[Form::Json],
            heeds: &[],
            good: &[],
            handler,
        }
    }

    /// With its name and its line in the documents.
    pub(crate) const fn named(self, name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            summary,
            ..self
        }
    }

    /// With these query parameters.
    pub(crate) const fn query(self, query: &'static [Param]) -> Self {
        Self {
            query: Queries::Declared(query),
            ..self
        }
    }

    /// With a body of this shape.
    pub(crate) const fn takes(self, shape: Shape) -> Self {
        Self {
            body: BodyRule::Required,
            request: Some(shape),
            ..self
        }
    }

    /// With a body of this shape that may be left out.
    pub(crate) const fn may_take(self, shape: Shape) -> Self {
        Self {
            body: BodyRule::Optional,
            request: Some(shape),
            ..self
        }
    }

    /// With these forms of answer, the favourite first.
    pub(crate) const fn makes(self, forms: &'static [Form]) -> Self {
        Self { forms, ..self }
    }

    /// Heeding these headers of a request.
    const fn heeds(self, heeds: &'static [Head]) -> Self {
        Self { heeds, ..self }
    }

    /// With these good answers.
    pub(crate) const fn answers(self, good: &'static [Good]) -> Self {
        Self { good, ..self }
    }

    /// With query and form of answer left unjudged, and any JSON body allowed.
    pub(crate) const fn unjudged(self) -> Self {
        let (query, body) = (Queries::Unread, BodyRule::Optional);
        Self {
            query,
            body,
            forms: &[Form::Plain],
            ..self
        }
    }

    /// Whether this version has it; the others are declared, guarded and answer `NOT_BUILT`.
    pub fn is_built(&self) -> bool {
        !self.good.is_empty()
    }
}

/// Routes that belong together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) routes: &'static [Route],
}

/// Every route in its group: those that are built, then those that answer that they are not.
pub(crate) fn groups() -> impl Iterator<Item = &'static Group> {
    table::BUILT.iter().chain(later::LATER)
}

/// Every route.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    groups().flat_map(|group| group.routes)
}

/// The router of a daemon. Pure: it owns no socket and starts nothing.
pub fn router(state: &HttpState) -> Router {
    let mut router = Router::new();
    let mut mounted: Vec<&'static str> = Vec::new();
    for route in routes() {
        if !mounted.contains(&route.path) {
            mounted.push(route.path);
            router = router.route(route.path, methods_of(route.path, state));
        }
    }
    let router =
        router.fallback(|| async { Problem::new(ProblemCode::NotFound, "there is no such path") });
    guarded(router, state)
}

fn methods_of(path: &'static str, state: &HttpState) -> MethodRouter {
    let mut allow = Vec::new();
    let mut methods = MethodRouter::new();
    for route in routes().filter(|route| route.path == path) {
        allow.push(route.verb.as_str());
        if route.verb == Verb::Get {
            allow.push("HEAD");
        }
        let state = state.clone();
        let enter = move |request: Request| enter(route, state.clone(), request);
        methods = methods.on(route.verb.filter(), enter);
    }
    let allow = allow.join(", ");
    methods.fallback(move || {
        let allow = allow.clone();
        async move { Problem::method_not_allowed(allow) }
    })
}

/// The one way into every handler.
async fn enter(route: &'static Route, state: HttpState, request: Request) -> Response {
    let answer = match state.gate.admit(route, request).await {
        Ok(admitted) => (route.handler)(state.clone(), admitted).await,
        Err(problem) => Err(problem),
    };
    let response = answer.unwrap_or_else(Problem::into_response);
    let status = response.status().as_u16();
    state
        .telemetry
        .answered(route.verb.as_str(), route.path, status);
    tracing::debug!(
        method = route.verb.as_str(),
        route = route.path,
        status,
        "request answered"
    );
    response
}

/// What lies around every path, known or not. Panics become problems; then come `Host` and
/// `Origin`, then the preflights of configured origins.
fn guarded(router: Router, state: &HttpState) -> Router {
    let state = state.clone();
    let knock = move |request: Request, next: Next| {
        let state = state.clone();
        async move {
            let host = host_rule(request.uri().path());
            let knocked = state.gate.knock(request.uri(), request.headers(), host);
            let mut response = match knocked {
                Ok(()) => across_origins(state.gate.door.origins(), request, next).await,
                Err(problem) => problem.into_response(),
            };
            // Nothing that is answered is a page.
            let nosniff = HeaderValue::from_static("nosniff");
            response
                .headers_mut()
                .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
            response
        }
    };
    router
        .layer(from_fn(knock))
        .layer(CatchPanicLayer::custom(panicked))
}

async fn across_origins(configured: &[String], request: Request, next: Next) -> Response {
    if configured.is_empty() {
        return next.run(request).await;
    }
    let origin = cors::origin_of(request.headers(), configured);
    let is_preflight = cors::is_preflight(request.method(), request.headers());
    let mut response = match origin {
        Some(origin) if is_preflight => cors::preflight(origin),
        Some(origin) => {
            let mut response = next.run(request).await;
            cors::share(response.headers_mut(), origin);
            response
        }
        None => next.run(request).await,
    };
    cors::vary(response.headers_mut());
    response
}

/// Probes may name any host: they ask by the address of the machine or pod.
fn host_rule(path: &str) -> HostRule {
    let is_probe = |route: &Route| route.access == Access::Probe && route.path == path;
    if routes().any(is_probe) {
        HostRule::Any
    } else {
        HostRule::Allowed
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the layer hands the payload over"
)]
fn panicked(payload: Box<dyn Any + Send>) -> Response {
    let said = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    tracing::error!(
        panic = said.as_deref().unwrap_or("no text"),
        "a request panicked"
    );
    Problem::new(
        ProblemCode::Internal,
        "the daemon met a fault of its own; its log says more",
    )
    .into_response()
}
