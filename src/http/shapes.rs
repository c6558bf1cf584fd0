//! The shapes of answers, for the document of the API.
//!
//! Answers are encoded by the writers of `domain` and `scheduler`, once and without these types;
//! the contract test holds real answers against the schemas that are made here. Imports `domain`
//! for its closed sets of words.
#![expect(dead_code, reason = "shapes are described, never made")]
#![expect(
    clippy::struct_field_names,
    reason = "fields are the members of the wire"
)]
#![expect(
    unused_qualifications,
    reason = "the derive repeats the types of fields"
)]

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr, Schema, Type,
        schema::{self, AdditionalProperties, SchemaType},
    },
};

use super::{calls::SubmitRequest, problem::ProblemCode, sessions::OpenRequest, sse::StreamEvent};
use crate::domain::{CallState as States, EventType as Types};

/// A shape whose schema is written by hand.
macro_rules! shape {
    ($(#[$doc:meta])* $name:ident, $schema:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.into()
            }
        }
    };
}

/// A shape that is one of some words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $words:expr) => {
        shape!($(#[$doc])* $name, one_of($words));
    };
}

fn one_of(words: Vec<&'static str>) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
}

shape!(
    /// An object whose members are free.
    Members,
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
);
shape!(
    /// JSON of any kind.
    Anything,
    schema::empty()
);

words!(
    /// Whether a person may be asked.
    ApprovalPolicy,
    vec!["ask", "never"]
);
words!(
    /// What the end of the connection means.
    OnDisconnect,
    vec!["continue", "cancel"]
);
words!(
    /// Where a call stands.
    CallState,
    States::ALL.iter().map(|state| state.as_str()).collect()
);
words!(
    /// The code of a problem.
    Code,
    ProblemCode::ALL.iter().map(|code| code.as_str()).collect()
);
words!(
    /// The type of an event.
    EventType,
    Types::ALL
        .iter()
        .map(|kind| kind.as_str())
        .chain(StreamEvent::ALL.iter().map(|(kind, _)| kind.as_str()))
        .collect()
);

/// The body of a request: what is decoded, and the members that are read apart.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident, $decoded:ty, [$(($member:literal, $about:literal, $types:expr)),+]) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                <$decoded>::schemas(schemas);
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let mut schema = <$decoded>::schema();
                if let RefOr::T(Schema::Object(object)) = &mut schema {
                    object.description = None;
                    $(
                        let member = ObjectBuilder::new()
                            .schema_type(SchemaType::from_iter($types))
                            .description(Some($about));
                        object.properties.insert($member.to_owned(), member.into());
                    )+
                }
                schema
            }
        }
    };
}

body!(
    /// Body of `POST /v1/sessions`.
    NewSession,
    OpenRequest,
    [("metadata", "Whatever the client wants to keep with it.", [Type::Object, Type::Null])]
);
body!(
    /// Body of `POST /v1/sessions/{session}/calls`.
    NewCall,
    SubmitRequest,
    [("arguments", "JSON text as models emit it, or an object.", [Type::String, Type::Object, Type::Null])]
);
body!(
    /// Body of `POST /v1/calls`: that of a call, and whose it is.
    OneShotCall,
    NewCall,
    [
        ("agent", "The agent of the new session; `default` when none is named.", [Type::String, Type::Null]),
        ("session_id", "An existing session; a new one is made when none is named.", [Type::String, Type::Null])
    ]
);

/// A request that failed (RFC 9457).
#[derive(Debug, ToSchema)]
pub(crate) struct Problem {
    /// A URN that ends in the code.
    r#type: String,
    /// The same sentence for every problem of this code.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What, where, what to do.
    detail: String,
    /// What to match on.
    code: Code,
    /// Where in the body, as an RFC 6901 pointer.
    #[schema(nullable = false)]
    pointer: Option<String>,
}

/// A session.
#[derive(Debug, ToSchema)]
pub(crate) struct Session {
    session_id: String,
    agent: String,
    /// `open`, `ending` (it takes no more calls and waits for what was cancelled) or `ended`.
    state: String,
    /// Its directory, relative to the workspace root.
    workspace: String,
    approval_policy: ApprovalPolicy,
    metadata: Members,
    created_at: String,
    #[schema(nullable = false)]
    ended_at: Option<String>,
}

/// A page of sessions.
#[derive(Debug, ToSchema)]
pub(crate) struct SessionPage {
    items: Vec<Session>,
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// How many calls were asked to stop.
#[derive(Debug, ToSchema)]
pub(crate) struct Cancelled {
    cancelled: u64,
}

/// What is known of a call.
#[derive(Debug, ToSchema)]
pub(crate) struct CallRecord {
    call_id: String,
    root_call_id: String,
    execution_id: String,
    #[schema(nullable = false)]
    parent_execution_id: Option<String>,
    session_id: String,
    agent: String,
    name: String,
    /// The frozen arguments.
    #[schema(nullable = false)]
    arguments: Option<Members>,
    /// What was sent in their place when it could not be read.
    #[schema(nullable = false)]
    raw_arguments: Option<String>,
    /// `sha256:<hex>` over name and arguments.
    digest: String,
    state: CallState,
    created_at: String,
    #[schema(nullable = false)]
    started_at: Option<String>,
    #[schema(nullable = false)]
    settled_at: Option<String>,
    /// Whether the body was reached.
    body_invoked: bool,
    #[schema(nullable = false)]
    result: Option<CallResult>,
}

/// A page of call records.
#[derive(Debug, ToSchema)]
pub(crate) struct CallPage {
    items: Vec<CallRecord>,
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// The frozen result of a call: a success has `value`, a failure has `error`.
#[derive(Debug, ToSchema)]
#[schema(as = Result)]
pub(crate) struct CallResult {
    call_id: String,
    execution_id: String,
    session_id: String,
    name: String,
    is_error: bool,
    /// The canonical value, of whatever type the tool's output schema says.
    #[schema(nullable = false)]
    value: Option<Anything>,
    #[schema(nullable = false)]
    error: Option<Failure>,
    /// What the model reads; blocks in MCP's shapes.
    content: Vec<Members>,
    /// What a user interface shows.
    #[schema(nullable = false)]
    meta: Option<Anything>,
    additional_contexts: Vec<Context>,
    concludes_turn: bool,
    body_invoked: bool,
    timing: Timing,
}

/// Why a call failed.
#[derive(Debug, ToSchema)]
pub(crate) struct Failure {
    /// One of the daemon's codes, or the tool's own.
    code: String,
    name: String,
    /// For the model: what was wrong, where, what to do instead.
    message: String,
    /// Whether the same call may be worth repeating.
    retryable: bool,
}

/// A message for the model after the results.
#[derive(Debug, ToSchema)]
pub(crate) struct Context {
    source: ContextSource,
    content: Vec<Members>,
}

/// Who added a context.
#[derive(Debug, ToSchema)]
pub(crate) struct ContextSource {
    kind: String,
    name: String,
}

/// Where the time went, in milliseconds.
#[derive(Debug, ToSchema)]
pub(crate) struct Timing {
    queued_ms: f64,
    policy_ms: f64,
    approval_ms: f64,
    body_ms: f64,
    total_ms: f64,
}

/// What a model is shown.
#[derive(Debug, ToSchema)]
pub(crate) struct Catalogue {
    items: Vec<CatalogueEntry>,
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// A tool as a model is shown it.
#[derive(Debug, ToSchema)]
pub(crate) struct CatalogueEntry {
    name: String,
    description: String,
    /// JSON Schema of the arguments.
    parameters: Members,
}

/// A tool's whole definition.
#[derive(Debug, ToSchema)]
pub(crate) struct Definition {
    name: String,
    description: String,
    parameters: Members,
    output: Output,
    source: String,
    concurrency: String,
    idempotent: bool,
    read_only: bool,
    revision: u32,
    #[schema(nullable = false)]
    timeout: Option<String>,
    #[schema(nullable = false)]
    finalize: Option<Members>,
    /// `sha256:<hex>` over the canonical form of all the rest.
    hash: String,
}

/// What a tool's value looks like.
#[derive(Debug, ToSchema)]
pub(crate) struct Output {
    /// JSON Schema of the canonical value.
    schema: Anything,
}

/// An agent.
#[derive(Debug, ToSchema)]
pub(crate) struct Agent {
    agent: String,
    /// The scope that it inherits from; `global` has none.
    #[schema(nullable = false)]
    parent: Option<String>,
    /// How its tools are presented; `native` in this version.
    mode: String,
    #[schema(nullable = false)]
    restrict: Option<super::agents::RestrictRequest>,
    #[schema(nullable = false)]
    approval_policy: Option<ApprovalPolicy>,
    #[schema(nullable = false)]
    max_parallel: Option<u64>,
}

/// The agents that a token may touch.
#[derive(Debug, ToSchema)]
pub(crate) struct AgentPage {
    items: Vec<Agent>,
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// An event, as its envelope.
#[derive(Debug, ToSchema)]
pub(crate) struct Event {
    /// The store-wide cursor; live events have none.
    #[schema(nullable = false)]
    id: Option<String>,
    /// 1, 2, 3 … within the session.
    #[schema(nullable = false)]
    seq: Option<u64>,
    time: String,
    r#type: EventType,
    #[schema(nullable = false)]
    session_id: Option<String>,
    #[schema(nullable = false)]
    agent: Option<String>,
    #[schema(nullable = false)]
    call_id: Option<String>,
    #[schema(nullable = false)]
    root_call_id: Option<String>,
    #[schema(nullable = false)]
    execution_id: Option<String>,
    #[schema(nullable = false)]
    parent_execution_id: Option<String>,
    data: Members,
}

/// A page of recorded events.
#[derive(Debug, ToSchema)]
pub(crate) struct EventPage {
    items: Vec<Event>,
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// Whose token a login was made with.
#[derive(Debug, ToSchema)]
pub(crate) struct Login {
    principal: String,
    permissions: Vec<String>,
}

/// The daemon runs.
#[derive(Debug, ToSchema)]
pub(crate) struct Health {
    status: String,
}

/// Whether the daemon takes calls.
#[derive(Debug, ToSchema)]
pub(crate) struct Readiness {
    /// `ready`, `draining` or `store_unavailable`.
    status: String,
    #[schema(nullable = false)]
    version: Option<String>,
    #[schema(nullable = false)]
    store: Option<String>,
    #[schema(nullable = false)]
    sandbox: Option<String>,
    #[schema(nullable = false)]
    sources: Option<Vec<Source>>,
    #[schema(nullable = false)]
    config_generation: Option<u64>,
    #[schema(nullable = false)]
    calls_in_flight: Option<u64>,
}

/// Where tools come from.
#[derive(Debug, ToSchema)]
pub(crate) struct Source {
    name: String,
    state: String,
}
