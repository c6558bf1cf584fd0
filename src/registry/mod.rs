//! Tools as agents see them: scopes, visibility, catalogues, schemas, execution tokens.
//! Ports [`ToolBody`] and [`ExecutionHost`].
//!
//! Imports `domain`. Judges nothing and runs nothing: it says which tool a name means for an
//! agent, and what its contract is.

mod agent;
mod body;
mod catalogue;
mod context;
mod error;
mod live;
mod schema;
mod scopes;
mod signal;
mod token;
mod tool;

#[cfg(test)]
mod tests;

pub use agent::{AgentSpec, Mode, Restrict};
pub use body::{ToolBody, ToolError};
pub use catalogue::Catalogue;
pub use context::{ExecutionContext, ExecutionHost, HostError, NestedResult};
pub use error::Error;
pub use live::{ChangeListener, Presence, ToolRegistry};
pub use schema::{DeclaredPath, Problem, Schema, SchemaError, SchemaRole, Unlisted, Violation};
pub use scopes::AgentView;
pub use signal::{Cause, Signal};
pub use token::{ExecutionToken, ExecutionTokens};
pub use tool::{Class, Tool};
