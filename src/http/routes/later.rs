//! Routes of the protocol that this version does not have.
//!
//! They are declared and guarded like all others, so that who may not ask is refused the same way
//! in every version; whoever may is told that they are not available. Their bodies and parameters
//! are not judged.

use super::{
    Group, Handler, Route,
    Verb::{Delete, Get, Post},
    table::READERS,
};
use crate::{
    config::Permission::{Admin, Approve, Audit, Call, Register},
    http::{access::Access, problem::Problem},
};

const CALLERS: Access = Access::Any(&[Call]);
const APPROVERS: Access = Access::Any(&[Approve]);
const REGISTRARS: Access = Access::Any(&[Register]);

macro_rules! says {
    ($what:literal) => {{
        const HANDLER: Handler = |_, _| Box::pin(async { Err(Problem::not_built($what)) });
        HANDLER
    }};
}

const BATCHES: Handler = says!("batches are");
const APPROVALS: Handler = says!("approvals are");
const WORKERS: Handler = says!("workers are");
const REGISTRATION: Handler = says!("registering tools at run time is");
const EXECUTIONS: Handler = says!("acting as an execution is");
const SPILL: Handler = says!("spilled content is");
const MCP: Handler = says!("the MCP server is");

pub(super) static LATER: &[Group] = &[Group {
    name: "not available in this version",
    routes: &[
        later(Post, "/v1/sessions/{session}/batches", CALLERS, BATCHES),
        later(
            Get,
            "/v1/sessions/{session}/batches/{batch}",
            Access::Any(READERS),
            BATCHES,
        ),
        later(
            Post,
            "/v1/sessions/{session}/batches/{batch}/cancel",
            CALLERS,
            BATCHES,
        ),
        later(
            Get,
            "/v1/agents/{agent}/presentation",
            Access::Any(READERS),
            says!("presentations are"),
        ),
        later(Post, "/v1/tools", REGISTRARS, REGISTRATION),
        later(Delete, "/v1/tools/{tool}", REGISTRARS, REGISTRATION),
        later(
            Post,
            "/v1/policy/explain",
            Access::Any(READERS),
            says!("explaining a verdict is"),
        ),
        later(Get, "/v1/approvals", APPROVERS, APPROVALS),
        later(Get, "/v1/approvals/{approval}", APPROVERS, APPROVALS),
        later(
            Post,
            "/v1/approvals/{approval}/decision",
            APPROVERS,
            APPROVALS,
        ),
        later(Get, "/v1/grants", APPROVERS, APPROVALS),
        later(Delete, "/v1/grants/{grant}", APPROVERS, APPROVALS),
        later(Get, "/v1/execution", Access::Execution, EXECUTIONS),
        later(Post, "/v1/execution/calls", Access::Execution, EXECUTIONS),
        later(
            Post,
            "/v1/execution/contexts",
            Access::Execution,
            EXECUTIONS,
        ),
        later(
            Post,
            "/v1/execution/conclusion",
            Access::Execution,
            EXECUTIONS,
        ),
        later(
            Post,
            "/v1/execution/progress",
            Access::Execution,
            EXECUTIONS,
        ),
        later(Post, "/v1/execution/result", Access::Execution, EXECUTIONS),
        later(Post, "/v1/workers", REGISTRARS, WORKERS),
        later(Get, "/v1/workers/{worker}/dispatches", REGISTRARS, WORKERS),
        later(Delete, "/v1/workers/{worker}", REGISTRARS, WORKERS),
        later(Get, "/v1/sessions/{session}/spill", CALLERS, SPILL),
        later(Get, "/v1/spill/{locator}", CALLERS, SPILL),
        later(
            Get,
            "/v1/audit/{execution}",
            Access::Any(&[Audit]),
            says!("sealed audit records are"),
        ),
        later(
            Post,
            "/v1/admin/reload",
            Access::Any(&[Admin]),
            says!("reloading the configuration is"),
        ),
        later(
            Get,
            "/asyncapi.json",
            Access::Open,
            says!("the AsyncAPI document is"),
        ),
        later(Get, "/", Access::Open, says!("the console is")),
        later(Get, "/mcp", CALLERS, MCP),
        later(Post, "/mcp", CALLERS, MCP),
        later(Delete, "/mcp", CALLERS, MCP),
        later(Get, "/mcp/{agent}", CALLERS, MCP),
        later(Post, "/mcp/{agent}", CALLERS, MCP),
        later(Delete, "/mcp/{agent}", CALLERS, MCP),
    ],
}];

const fn later(verb: super::Verb, path: &'static str, access: Access, handler: Handler) -> Route {
    Route::new(verb, path, access, handler).unjudged()
}
