//! The port [`ToolBody`]: the code behind a definition, and how it may fail.
//!
//! Imports `domain`. A body holds no policy: it is reached only through the pipeline and acts only
//! through its [`ExecutionContext`].

use std::fmt::Debug;

use async_trait::async_trait;

use super::context::ExecutionContext;
use crate::domain::{Content, Execution, Json, Object, Outcome};

/// Why a body did not return a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolError {
    /// It failed.
    Failed {
        /// The tool's own code, `^[A-Z][A-Z0-9_]{0,63}$`; none means `TOOL_ERROR`.
        code: Option<String>,
        /// For the model: what was wrong, where, what to do instead.
        message: String,
        /// Whether the same call may be worth repeating.
        retryable: bool,
    },
    /// A boundary held on what the body had opened said no; the call ends as `GUARD_DENIED`.
    Denied {
        /// Why, for the model.
        reason: String,
    },
    /// It ended because the signal asked it to.
    Interrupted,
}

impl ToolError {
    /// A failure under the tool's own code, not worth repeating.
    pub fn coded(code: &str, message: impl Into<String>) -> Self {
        Self::Failed {
            code: Some(code.to_owned()),
            message: message.into(),
            retryable: false,
        }
    }

    /// A failure without a code, not worth repeating.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed {
            code: None,
            message: message.into(),
            retryable: false,
        }
    }
}

/// The code behind a tool.
///
/// All methods but [`run`](Self::run) are pure and quick: they are called outside the body, some
/// of them before policy has spoken. One that panics counts as failing.
#[async_trait]
pub trait ToolBody: Debug + Send + Sync {
    /// Does the tool's work and returns its canonical value.
    ///
    /// Cancellation is cooperative and quiescent: the future is never dropped; it must watch
    /// [`ExecutionContext::signal`], bring its work to rest, and then return
    /// [`ToolError::Interrupted`].
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError>;

    /// For [`Concurrency::Classified`](crate::domain::Concurrency): exactly `Some(true)` lets this
    /// call overlap with others.
    fn classify(&self, arguments: &Object) -> Option<bool> {
        let _ = arguments;
        None
    }

    /// The key on which calls are serialised across sessions, read just before the lane is taken.
    /// May touch the file system to resolve a name.
    fn lock_key(&self, execution: &Execution) -> Option<String> {
        let _ = execution;
        None
    }

    /// Renders the value for the model. By default a string as it is, anything else as JSON.
    ///
    /// # Errors
    /// A sentence that says what could not be rendered; the call ends as `INVALID_TOOL_OUTPUT`.
    fn render(&self, arguments: &Object, value: &Json) -> Result<Vec<Content>, String> {
        let _ = arguments;
        Ok(vec![match value {
            Json::String(text) => Content::text(text.as_str()),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                Content::text(value.to_pretty())
            }
        }])
    }

    /// Projects the card that a user interface shows for the result; top-level calls only.
    ///
    /// # Errors
    /// As for [`render`](Self::render).
    fn meta(&self, arguments: &Object, value: &Json) -> Result<Option<Json>, String> {
        let _ = (arguments, value);
        Ok(None)
    }

    /// The card of the pending call, from the arguments alone.
    fn view(&self, arguments: &Object) -> Option<Json> {
        let _ = arguments;
        None
    }

    /// The last word over the content, for every outcome, once. May replace only content.
    ///
    /// # Errors
    /// A sentence that says what failed; the call ends as `INVALID_TOOL_OUTPUT`.
    fn finalize(
        &self,
        execution: &Execution,
        outcome: &Outcome,
    ) -> Result<Option<Vec<Content>>, String> {
        let _ = (execution, outcome);
        Ok(None)
    }
}
