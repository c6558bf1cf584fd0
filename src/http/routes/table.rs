//! The routes that this version has.
//!
//! Each entry is the whole declaration of a route: the gate, the router and the documents follow
//! it. Names handlers, holds none.

use super::{
    Good, Group, Handler, Head, Route,
    Verb::{Delete, Get, Patch, Post, Put},
};
use crate::{
    config::Permission::{self, Admin, Call, Events, Register},
    http::{
        accept::Form, access::Access, agents, calls, catalogue, document::Shape, events, login,
        ops, query::Param, sessions, shapes,
    },
};

/// Who may read sessions, calls and catalogue.
pub(super) const READERS: &[Permission] = &[Call, Events];

const AGENT: Param = Param::text("agent", "Only of this agent.");
const OF_AGENT: Param = Param::text("agent", "The agent; `default` when none is named.");
const WAIT: Param = Param::seconds(
    "wait",
    "Seconds to wait for the result; at most `server.max_wait`.",
);
const PAGE_LIMIT: Param = Param {
    about: "Rows of the page; 100 when it is not given. A stream has none.",
    ..Param::LIMIT
};
const AFTER: Param = Param::cursor("after", "Cursor to go on behind; 0 is the beginning.");

/// Coerces a closure to a handler, so that the table reads as one line a route.
macro_rules! to {
    ($handler:path) => {{
        const HANDLER: Handler = |state, request| Box::pin($handler(state, request));
        HANDLER
    }};
}

const fn ok(about: &'static str, shape: Shape) -> Good {
    good(200, about, shape)
}

const fn good(status: u16, about: &'static str, shape: Shape) -> Good {
    Good {
        status,
        about,
        shape,
        headers: &[],
    }
}

const PREFER: Head = Head {
    name: "Prefer",
    about: "`wait=N` seconds, or `respond-async` for none (RFC 7240).",
};
const IF_NONE_MATCH: Head = Head {
    name: "If-None-Match",
    about: "An `ETag` that the client has.",
};
const LAST_EVENT_ID: Head = Head {
    name: "Last-Event-ID",
    about: "The `id` of the last event that came; goes before `after`.",
};
const LOCATION: Head = Head {
    name: "Location",
    about: "Where it is found.",
};
const APPLIED: Head = Head {
    name: "Preference-Applied",
    about: "What of `Prefer` was honoured.",
};
const REPLAYED: Head = Head {
    name: "Toold-Replayed",
    about: "`true` when the same call had been accepted before.",
};
const ETAG: Head = Head {
    name: "ETag",
    about: "Changes with what the agent's model is shown.",
};
const SET_COOKIE: Head = Head {
    name: "Set-Cookie",
    about: "The login.",
};

pub(super) static BUILT: &[Group] = &[
    Group {
        name: "sessions",
        routes: SESSIONS,
    },
    Group {
        name: "calls",
        routes: CALLS,
    },
    Group {
        name: "catalogue",
        routes: CATALOGUE,
    },
    Group {
        name: "agents",
        routes: AGENTS,
    },
    Group {
        name: "events",
        routes: EVENTS,
    },
    Group {
        name: "login",
        routes: LOGIN,
    },
    Group {
        name: "operations",
        routes: OPERATIONS,
    },
];

static SESSIONS: &[Route] = &[
    Route::new(
        Post,
        "/v1/sessions",
        Access::Any(&[Call]),
        to!(sessions::open),
    )
    .named("open_session", "Opens a session of an agent")
    .may_take(Shape::json::<shapes::NewSession>())
    .answers(&[good(
        201,
        "The session; `Location` names it",
        Shape::json::<shapes::Session>(),
    )
    .with(&[LOCATION])]),
    Route::new(
        Get,
        "/v1/sessions",
        Access::Any(READERS),
        to!(sessions::list),
    )
    .named("list_sessions", "Sessions, newest first")
    .query(&[AGENT, Param::CURSOR, Param::LIMIT])
    .answers(&[ok(
        "A page of sessions",
        Shape::json::<shapes::SessionPage>(),
    )]),
    Route::new(
        Get,
        "/v1/sessions/{session}",
        Access::Any(READERS),
        to!(sessions::read),
    )
    .named("read_session", "A session")
    .answers(&[ok("The session", Shape::json::<shapes::Session>())]),
    Route::new(
        Patch,
        "/v1/sessions/{session}",
        Access::Any(&[Call]),
        to!(sessions::patch),
    )
    .named("update_session", "Tightens a session's approval policy")
    .takes(Shape::json::<sessions::PatchRequest>())
    .answers(&[ok(
        "The session as it is now",
        Shape::json::<shapes::Session>(),
    )]),
    Route::new(
        Delete,
        "/v1/sessions/{session}",
        Access::Any(&[Call]),
        to!(sessions::end),
    )
    .named(
        "end_session",
        "Cancels what runs and ends the log; reading stays possible",
    )
    .heeds(&[PREFER])
    .answers(&[
        ok("The ended session", Shape::json::<shapes::Session>()).with(&[APPLIED]),
        good(
            202,
            "It takes no more calls, and ends once what was cancelled is at rest",
            Shape::json::<shapes::Session>(),
        )
        .with(&[LOCATION, APPLIED]),
    ]),
    Route::new(
        Post,
        "/v1/sessions/{session}/cancel",
        Access::Any(&[Call]),
        to!(sessions::cancel),
    )
    .named("cancel_session", "Asks every call of a session to stop")
    .may_take(Shape::json::<sessions::CancelRequest>())
    .answers(&[ok(
        "How many calls were asked",
        Shape::json::<shapes::Cancelled>(),
    )]),
];

/// What a submission may answer.
const SUBMITTED: &[Good] = &[
    good(200, "The result", Shape::json::<shapes::CallResult>()).with(&[REPLAYED, APPLIED]),
    good(
        200,
        "The call's own events, the last being `tool/result`",
        Shape::Events,
    )
    .with(&[REPLAYED]),
    good(
        202,
        "The call goes on; its record, and its place in `Location`",
        Shape::json::<shapes::CallRecord>(),
    )
    .with(&[LOCATION, REPLAYED, APPLIED]),
];

static CALLS: &[Route] = &[
    Route::new(
        Post,
        "/v1/sessions/{session}/calls",
        Access::Any(&[Call]),
        to!(calls::submit),
    )
    .named("submit_call", "Submits a call and waits for its result")
    .takes(Shape::json::<shapes::NewCall>())
    .makes(&[Form::Json, Form::Events])
    .heeds(&[PREFER])
    .answers(SUBMITTED),
    Route::new(
        Post,
        "/v1/calls",
        Access::Any(&[Call]),
        to!(calls::one_shot),
    )
    .named(
        "submit_one_shot",
        "Submits a call of a named session, or of a new one",
    )
    .takes(Shape::json::<shapes::OneShotCall>())
    .makes(&[Form::Json, Form::Events])
    .heeds(&[PREFER])
    .answers(SUBMITTED),
    Route::new(
        Get,
        "/v1/sessions/{session}/calls",
        Access::Any(READERS),
        to!(calls::list),
    )
    .named(
        "list_calls",
        "Calls of a session, in the order of their accept",
    )
    .query(&[
        Param::text("state", "Only calls that stand there."),
        Param::flag("nested", "Nested calls too."),
        Param::CURSOR,
        Param::LIMIT,
    ])
    .answers(&[ok(
        "A page of call records",
        Shape::json::<shapes::CallPage>(),
    )]),
    Route::new(
        Get,
        "/v1/sessions/{session}/calls/{call}",
        Access::Any(READERS),
        to!(calls::read),
    )
    .named(
        "read_call",
        "A call's record, its result included once it is there",
    )
    .query(&[WAIT])
    .answers(&[ok("The record", Shape::json::<shapes::CallRecord>())]),
    Route::new(
        Post,
        "/v1/sessions/{session}/calls/{call}/cancel",
        Access::Any(&[Call]),
        to!(calls::cancel),
    )
    .named("cancel_call", "Asks a call to stop")
    .may_take(Shape::json::<sessions::CancelRequest>())
    .answers(&[ok(
        "The record as it stands",
        Shape::json::<shapes::CallRecord>(),
    )]),
];

static CATALOGUE: &[Route] = &[
    Route::new(Get, "/v1/tools", Access::Any(READERS), to!(catalogue::list))
        .named(
            "list_tools",
            "What an agent's model is shown; carries an ETag",
        )
        .query(&[
            OF_AGENT,
            Param::word("format", catalogue::FORMATS, "The shape of the entries."),
            Param::NAME_CURSOR,
            Param::OWN_LIMIT,
        ])
        .heeds(&[IF_NONE_MATCH])
        .answers(&[
            ok(
                "The catalogue, in a stable order, or a page of it",
                Shape::json::<shapes::Catalogue>(),
            )
            .with(&[ETAG]),
            good(
                304,
                "It is the one that `If-None-Match` names",
                Shape::Nothing,
            )
            .with(&[ETAG]),
        ]),
    Route::new(
        Get,
        "/v1/tools/{tool}",
        Access::Any(READERS),
        to!(catalogue::read),
    )
    .named("read_tool", "A tool's whole definition, for operators")
    .query(&[OF_AGENT])
    .answers(&[ok(
        "The definition with its hash",
        Shape::json::<shapes::Definition>(),
    )]),
];

static AGENTS: &[Route] = &[
    Route::new(Get, "/v1/agents", Access::Any(READERS), to!(agents::list))
        .named("list_agents", "Agents that the token may touch, by name")
        .query(&[Param::NAME_CURSOR, Param::OWN_LIMIT])
        .answers(&[ok("The agents", Shape::json::<shapes::AgentPage>())]),
    Route::new(
        Get,
        "/v1/agents/{agent}",
        Access::Any(READERS),
        to!(agents::read),
    )
    .named("read_agent", "An agent")
    .answers(&[ok("The agent", Shape::json::<shapes::Agent>())]),
    Route::new(
        Put,
        "/v1/agents/{agent}",
        Access::Any(&[Register]),
        to!(agents::put),
    )
    .named("put_agent", "Registers an agent, or replaces one that was registered; durable. One of the configuration is refused")
    .takes(Shape::json::<agents::AgentRequest>())
    .answers(&[
        ok("It was replaced", Shape::json::<shapes::Agent>()),
        good(201, "It is new", Shape::json::<shapes::Agent>()),
    ]),
    Route::new(
        Delete,
        "/v1/agents/{agent}",
        Access::Any(&[Register]),
        to!(agents::delete),
    )
    .named(
        "delete_agent",
        "Removes a registered agent that no other inherits from",
    )
    .answers(&[good(204, "It is gone", Shape::Nothing)]),
];

static EVENTS: &[Route] = &[
    Route::new(Get, "/v1/events", Access::Any(&[Events]), to!(events::all))
        .named(
            "stream_events",
            "Everything that the token may see, as it happens",
        )
        .query(&[
            Param::text("session", "Only of this session."),
            AGENT,
            Param::text("types", "Only these types, separated by commas."),
            AFTER,
            Param::flag(
                "answers",
                "Counts the reader as one that answers approvals.",
            ),
        ])
        .makes(&[Form::Events])
        .heeds(&[LAST_EVENT_ID])
        .answers(&[ok("Server-sent events", Shape::Events)]),
    Route::new(
        Get,
        "/v1/sessions/{session}/events",
        Access::Any(&[Events]),
        to!(events::of_session),
    )
    .named(
        "session_events",
        "A session's events: a stream, or a page by `Accept`",
    )
    .query(&[AFTER, PAGE_LIMIT])
    .makes(&[Form::Events, Form::Json])
    .heeds(&[LAST_EVENT_ID])
    .answers(&[
        ok("Server-sent events", Shape::Events),
        ok(
            "A page of recorded events",
            Shape::json::<shapes::EventPage>(),
        ),
    ]),
];

static LOGIN: &[Route] = &[
    Route::new(Post, "/v1/login", Access::Open, to!(login::open))
        .named("log_in", "Gives a browser a cookie in place of a token")
        .takes(Shape::json::<login::LoginRequest>())
        .answers(&[ok(
            "Whose token it is; `Set-Cookie`",
            Shape::json::<shapes::Login>(),
        )
        .with(&[SET_COOKIE])]),
    Route::new(Delete, "/v1/login", Access::Known, to!(login::close))
        .named("log_out", "Ends the login of the cookie")
        .answers(&[good(204, "It is ended", Shape::Nothing)]),
];

static OPERATIONS: &[Route] = &[
    Route::new(Get, "/healthz", Access::Probe, to!(ops::health))
        .named("health", "Whether the daemon runs")
        .makes(&[Form::Plain])
        .answers(&[ok("It does", Shape::json::<shapes::Health>())]),
    Route::new(Get, "/readyz", Access::Probe, to!(ops::ready))
        .named(
            "readiness",
            "Whether it takes calls; whoever shows a token is told more",
        )
        .makes(&[Form::Plain])
        .answers(&[
            ok("It does", Shape::json::<shapes::Readiness>()),
            good(
                503,
                "It does not; `status` says why",
                Shape::json::<shapes::Readiness>(),
            ),
        ]),
    Route::new(Get, "/metrics", Access::Any(&[Admin]), to!(ops::metrics))
        .named("metrics", "Figures in the OpenMetrics text format")
        .makes(&[Form::Plain])
        .answers(&[ok("The figures", Shape::Metrics)]),
    Route::new(Get, "/openapi.json", Access::Open, to!(ops::openapi))
        .named("openapi", "This document")
        .answers(&[ok("OpenAPI 3.1", Shape::Any)]),
];
