//! How an execution ends: the outcome as the stages shape it, and the one frozen encoding.
//!
//! Imports domain only. A result is a success or a failure, never both; once encoded, the bytes
//! are the result everywhere.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    content::{Content, Context},
    error_code::{Code, ErrorCode},
    execution::Execution,
    json::{Json, ObjectWriter},
};

/// A value that fits the tool's contract, and its projections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    /// The one fact.
    pub value: Arc<Json>,
    /// What the model reads.
    pub content: Vec<Content>,
    /// What a user interface shows; top-level calls only.
    pub meta: Option<Json>,
}

/// An end without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub code: Code,
    /// For the model: what was wrong, where, what to do instead.
    pub message: String,
    /// Whether the same call may be worth repeating.
    pub retryable: bool,
    /// What the model reads; one block `Error: <message>` unless feedback or a layer put another.
    pub content: Vec<Content>,
}

impl Failure {
    /// A failure of ours, with the code's own retry advice.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::of(code.into(), code.retryable(), message)
    }

    /// A failure with its own retry advice.
    pub fn of(code: Code, retryable: bool, message: impl Into<String>) -> Self {
        let message = message.into();
        let content = vec![Content::text(format!("Error: {message}"))];
        Self {
            code,
            message,
            retryable,
            content,
        }
    }

    /// What a block leaves: the feedback alone.
    pub fn blocked(feedback: Vec<Content>) -> Self {
        let message = feedback
            .iter()
            .find_map(Content::as_text)
            .unwrap_or("the result was withheld by policy")
            .to_owned();
        Self {
            code: ErrorCode::Blocked.into(),
            message,
            retryable: ErrorCode::Blocked.retryable(),
            content: feedback,
        }
    }

    /// Whether the code is this one of ours.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code == Code::Ours(code)
    }
}

/// Success or failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a value.
    Success(Success),
    /// Without.
    Failure(Failure),
}

impl Outcome {
    /// A failure of ours.
    pub fn fail(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Failure(Failure::new(code, message))
    }

    /// The model-facing content.
    pub fn content(&self) -> &[Content] {
        match self {
            Self::Success(success) => &success.content,
            Self::Failure(failure) => &failure.content,
        }
    }

    /// Whether it is a failure.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Failure(_))
    }
}

/// Where the time went. Approval time is not policy time; queued is the wait for lane and locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Waiting for lane and locks.
    pub queued: Duration,
    /// Pre-execute layers.
    pub policy: Duration,
    /// Waiting for a person.
    pub approval: Duration,
    /// Around stack and body.
    pub body: Duration,
    /// From accept to freeze.
    pub total: Duration,
}

impl Timing {
    fn write(&self, w: &mut ObjectWriter<'_>) {
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        w.decimal("queued_ms", ms(self.queued))
            .decimal("policy_ms", ms(self.policy))
            .decimal("approval_ms", ms(self.approval))
            .decimal("body_ms", ms(self.body))
            .decimal("total_ms", ms(self.total));
    }
}

/// A result before it is frozen: what post-execute and finalize may still shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Success or failure.
    pub outcome: Outcome,
    /// Messages for the model after the batch, in order.
    pub contexts: Vec<Context>,
    /// Whether a success ends the agent's turn.
    pub concludes_turn: bool,
    /// Whether the body was reached.
    pub body_invoked: bool,
    /// Where the time went so far.
    pub timing: Timing,
}

impl Draft {
    /// A draft of an execution whose body was not reached.
    pub fn before_body(outcome: Outcome) -> Self {
        Self {
            outcome,
            contexts: Vec::new(),
            concludes_turn: false,
            body_invoked: false,
            timing: Timing::default(),
        }
    }

    /// Encodes the result once (proto-docs/openapi.json).
    pub fn freeze(&self, execution: &Execution) -> ResultBytes {
        let mut bytes = Vec::with_capacity(512 + self.size_hint());
        let mut w = ObjectWriter::new(&mut bytes);
        w.string("call_id", execution.call_id.as_str());
        execution.id.with_text(|id| {
            w.string("execution_id", id);
        });
        w.string("session_id", execution.session.as_str())
            .string("name", &execution.name)
            .bool("is_error", self.outcome.is_error());
        match &self.outcome {
            Outcome::Success(success) => {
                w.json("value", &success.value);
                w.array("content", |a| Content::write_all(&success.content, a));
                if let Some(meta) = &success.meta {
                    w.json("meta", meta);
                }
            }
            Outcome::Failure(failure) => {
                w.nested("error", |e| {
                    e.string("code", failure.code.as_str())
                        .string("name", failure.code.class_name())
                        .string("message", &failure.message)
                        .bool("retryable", failure.retryable);
                });
                w.array("content", |a| Content::write_all(&failure.content, a));
            }
        }
        w.array("additional_contexts", |a| {
            for context in &self.contexts {
                a.nested(|c| context.write(c));
            }
        })
        .bool(
            "concludes_turn",
            self.concludes_turn && !self.outcome.is_error(),
        )
        .bool("body_invoked", self.body_invoked)
        .nested("timing", |t| self.timing.write(t));
        w.end();
        ResultBytes(bytes.into())
    }

    fn size_hint(&self) -> usize {
        self.outcome
            .content()
            .iter()
            .filter_map(Content::as_text)
            .map(str::len)
            .sum::<usize>()
            * 2
    }
}

/// The frozen encoding of a result: these bytes are `tool/result`'s data, the HTTP answer, the
/// stream and what observers see. Cloning shares them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultBytes(pub Bytes);
