//! Output: the value against its schema, then its projections. Success is never faked.

use std::{panic::AssertUnwindSafe, sync::Arc};

use crate::{
    domain::{ErrorCode, Execution, Json, Outcome, Success, json::Limits},
    registry::Tool,
};

/// Turns a body's value into a success, or into `INVALID_TOOL_OUTPUT`.
pub(super) fn contract(tool: &Tool, execution: &Execution, value: Json) -> Outcome {
    match project(tool, execution, value) {
        Ok(success) => Outcome::Success(success),
        Err(message) => Outcome::fail(ErrorCode::InvalidToolOutput, message),
    }
}

fn project(tool: &Tool, execution: &Execution, value: Json) -> Result<Success, String> {
    value
        .check(&Limits::default())
        .map_err(|error| format!("the tool's value cannot be kept: {error}"))?;
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
