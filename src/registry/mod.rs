//! Tools as agents see them: scopes, visibility, catalogues, schemas, execution tokens.
//! Ports [`ToolBody`] and [`ExecutionHost`].
//!
//! Imports `domain`. Judges nothing and runs nothing: it says which tool a name means for an
//! agent, and what its contract is.

mod body;
mod context;
mod signal;
mod token;

pub use body::{ToolBody, ToolError};
pub use context::{ExecutionContext, ExecutionHost, HostError, NestedResult};
pub use signal::{Cause, Signal};
pub use token::{ExecutionToken, ExecutionTokens};
