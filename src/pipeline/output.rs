//! Output: the value against its schema, then its projections. Success is never faked.

use std::{panic::AssertUnwindSafe, sync::Arc};

use crate::{
    domain::{ErrorCode, Execution, Json, Outcome, Success},
    registry::Tool,
};

/// Deepest value that is accepted from a body.
const MAX_DEPTH: usize = 128;

/// Turns a body's value into a success, or into `INVALID_TOOL_OUTPUT`.
pub(super) fn contract(tool: &Tool, execution: &Execution, value: Json) -> Outcome {
    match project(tool, execution, value) {
        Ok(success) => Outcome::Success(success),
        Err(message) => Outcome::fail(ErrorCode::InvalidToolOutput, message),
    }
}

fn project(tool: &Tool, execution: &Execution, value: Json) -> Result<Success, String> {
    if is_deeper(&value, MAX_DEPTH) {
        return Err(format!(
            "the tool's value is nested deeper than {MAX_DEPTH} levels"
        ));
    }
    tool.check_output(&value)
        .map_err(|violation| format!("the tool's value does not fit its schema: {violation}"))?;
    let arguments = &execution.arguments;
    let body = tool.body();
    let content = contained("renderer", || body.render(arguments, &value))?;
    let meta = if execution.is_top_level() {
        contained("presentation", || body.meta(arguments, &value))?
    } else {
        None
    };
    Ok(Success {
        value: Arc::new(value),
        content,
        meta,
    })
}

/// Runs a projection of the tool's own; a panic is its failure.
fn contained<T>(what: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(projected)) => Ok(projected),
        Ok(Err(message)) => Err(format!("the tool's {what} failed: {message}")),
        Err(_) => Err(format!("the tool's {what} failed unexpectedly")),
    }
}

/// Walks without recursion, so that a hostile depth cannot exhaust the stack.
fn is_deeper(value: &Json, max: usize) -> bool {
    let mut open = vec![(value, 1_usize)];
    while let Some((value, depth)) = open.pop() {
        let below = depth + 1;
        match value {
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => continue,
            Json::Array(items) => open.extend(items.iter().map(|item| (item, below))),
            Json::Object(members) => open.extend(members.values().map(|item| (item, below))),
        }
        if depth > max {
            return true;
        }
    }
    false
}
