//! The tables of `proto-docs`: routes, problems, outcomes, events.
//!
//! Imports `domain` for its closed sets of words. Each table follows the code that it describes.

use std::fmt::Write as _;

use crate::{
    domain::{ErrorCode, EventType},
    http::{problem::ProblemCode, routes::routes, sse::StreamEvent},
};

/// Routes and what they ask for, as a table of Markdown.
pub fn route_table() -> String {
    let mut out = String::from("| method | path | needs | what it does |\n|---|---|---|---|\n");
    for route in routes() {
        let what = if route.is_built() {
            route.summary
        } else {
            "not available in this version"
        };
        let (verb, access) = (route.verb.as_str(), route.access.describe());
        row(
            &mut out,
            &[verb, &format!("`{}`", route.path), &access, what],
        );
    }
    out
}

/// Codes of problems with their status, as a table of Markdown.
pub fn problem_table() -> String {
    let mut out = String::from("| code | status | meaning |\n|---|---|---|\n");
    for code in ProblemCode::ALL {
        let again = if code.retry_after().is_some() {
            "; carries `Retry-After`"
        } else {
            ""
        };
        let meaning = format!("{}{again}", code.title());
        row(
            &mut out,
            &[
                &format!("`{}`", code.as_str()),
                code.status().as_str(),
                &meaning,
            ],
        );
    }
    out
}

/// Outcome codes of calls, as a table of Markdown.
pub fn outcome_table() -> String {
    let mut out = String::from("| code | `error.name` | retryable |\n|---|---|---|\n");
    for code in ErrorCode::ALL {
        let retryable = if code.retryable() { "yes" } else { "no" };
        row(
            &mut out,
            &[
                &format!("`{}`", code.as_str()),
                code.class_name(),
                retryable,
            ],
        );
    }
    out
}

/// Types of events, as a table of Markdown.
pub fn event_table() -> String {
    let mut out = String::from("| type | kept | what it tells |\n|---|---|---|\n");
    for kind in EventType::ALL {
        let kept = if kind.is_durable() {
            "in the log"
        } else {
            "live only"
        };
        row(
            &mut out,
            &[&format!("`{}`", kind.as_str()), kept, told_by(*kind)],
        );
    }
    for (kind, about) in StreamEvent::ALL {
        row(
            &mut out,
            &[&format!("`{}`", kind.as_str()), "of the stream", about],
        );
    }
    out
}

fn row(out: &mut String, cells: &[&str]) {
    // Writing into a string cannot fail.
    writeln!(out, "| {} |", cells.join(" | ")).ok();
}

/// What the data of a type of event holds.
fn told_by(kind: EventType) -> &'static str {
    match kind {
        EventType::SessionStart => {
            "a session begins: `{workspace, approval_policy, principal, metadata}`"
        }
        EventType::SessionUpdated => "its settings changed; data as for the start",
        EventType::SessionEnd => "it ended and takes no more calls: `{}`",
        EventType::ToolCall => {
            "a call was accepted: `{name, arguments or raw_arguments, digest, view?, turn?, step?}`"
        }
        EventType::ToolDecision => {
            "a layer denied, asked, blocked or replaced: `{stage, layer, rule?, decision, reason?}`"
        }
        EventType::ToolStarted => "the body is about to run: `{attempt, class}`",
        EventType::ToolResult => "the frozen result, byte for byte",
        EventType::FsObserved => "a file was read: `{path, version}`",
        EventType::FsWriteIntent => {
            "a file is about to be written: `{path, digest_before?, digest_after, bytes}`"
        }
        EventType::FsEditIntent => {
            "a file is about to be edited: `{path, digest_before, digest_after, bytes, replacements}`"
        }
        EventType::ToolState => "a call moved to another stage: `{state}`",
        EventType::ToolProgress => "a body reports: `{message?, progress?, total?}`",
        EventType::ToolOutput => "a body's live output: `{stream, text}`",
        EventType::ToolsChange => "the tools that an agent sees changed: `{etag?}`",
    }
}
