//! Pure data of the daemon: ids, lossless JSON, tool definitions, executions, decisions, results,
//! events and error codes.
//!
//! Imports nothing of ours. Does no I/O, spawns nothing, reads no clock but through [`Clock`].

pub mod json;

mod clock;
mod content;
mod decision;
mod error_code;
mod event;
mod execution;
mod id;
mod outcome;
mod tool;

pub use clock::{Clock, IdSource, Monotonic, SystemClock, SystemIds, Timestamp};
pub use content::{Content, Context, ContextSource};
pub use decision::{PostDecision, PreDecision, Replacement, Stage, Vote};
pub use error_code::{Code, ErrorCode};
pub use event::{EventDraft, EventType, Frame, Subject};
pub use execution::{ApprovalPolicy, CallState, Execution, OnDisconnect, Workspace};
pub use id::{AgentName, CallId, ExecutionId, IdError, SessionId, ToolName};
pub use json::{Digest, Json, Object};
pub use outcome::{Draft, Failure, Outcome, ResultBytes, Success, Timing};
pub use tool::{Concurrency, Finalizer, ToolDefinition, ToolSourceName};
