//! Owns what the registry refuses, and the sentence for each.
//!
//! Imports `domain` and the registry's own schema errors. Messages name what was offered, why it
//! is refused and what to do instead.

use super::schema::SchemaError;
use crate::domain::{AgentName, ToolName, ToolSourceName};

/// Why a definition, an agent or a change of either is refused. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A name that the daemon keeps for itself, in every scope.
    #[error("the tool name {name} is reserved in every scope; choose another")]
    Reserved {
        /// The name.
        name: ToolName,
    },
    /// A tool that says nothing of itself.
    #[error(
        "the tool {name} has no description; say in a sentence what it does and when to use it"
    )]
    NoDescription {
        /// The tool.
        name: ToolName,
    },
    /// A tool without an output schema.
    #[error("the tool {name} has no output schema; declare one, {{}} when any value will do")]
    NoOutputSchema {
        /// The tool.
        name: ToolName,
    },
    /// A schema that is refused.
    #[error("the {part} of the tool {name}: {source}")]
    Schema {
        /// The tool.
        name: ToolName,
        /// `parameters` or `output schema`.
        part: &'static str,
        /// What is wrong with it.
        source: SchemaError,
    },
    /// A timeout of nothing, or of more than a day.
    #[error("the timeout of the tool {name} is {found}; it must be more than 0s and at most 24h")]
    Timeout {
        /// The tool.
        name: ToolName,
        /// What was declared.
        found: String,
    },
    /// Two tools of one name in one layer.
    #[error(
        "the scope {scope} has two tools named {name}: one from {first}, one from {second}; rename \
         or remove one"
    )]
    Conflict {
        /// The layer.
        scope: AgentName,
        /// The name.
        name: ToolName,
        /// Origin of the one that is there.
        first: ToolSourceName,
        /// Origin of the one that was offered.
        second: ToolSourceName,
    },
    /// No tool of this name in this layer; it may be in another one.
    #[error("the scope {scope} itself has no tool named {name}")]
    UnknownTool {
        /// The layer.
        scope: AgentName,
        /// The name.
        name: ToolName,
    },
    /// No agent of this name.
    #[error("there is no agent named {name}")]
    UnknownAgent {
        /// The name.
        name: AgentName,
    },
    /// A change of the root scope, which is no agent.
    #[error(
        "global is the root of every chain and no agent: it has no parent, mask or policy, and \
         stays; name another agent"
    )]
    Global,
    /// The agent that is meant when none is named.
    #[error("the agent default always exists and cannot be removed")]
    Default,
    /// A parent that does not exist.
    #[error("the parent of the agent {agent}, {parent}, does not exist; define it first")]
    UnknownParent {
        /// The agent.
        agent: AgentName,
        /// Its parent.
        parent: AgentName,
    },
    /// An agent that would be its own ancestor.
    #[error("the agent {agent} cannot have the parent {parent}, which descends from {agent}")]
    ParentCycle {
        /// The agent.
        agent: AgentName,
        /// Its parent.
        parent: AgentName,
    },
    /// Removing an agent that another one inherits from.
    #[error("the agent {agent} is the parent of {child}; remove or move that one first")]
    HasChild {
        /// The agent.
        agent: AgentName,
        /// One that inherits from it.
        child: AgentName,
    },
    /// A mask without a pattern.
    #[error("the restrict of the agent {agent} names nothing; leave it out to inherit every tool")]
    EmptyRestrict {
        /// The agent.
        agent: AgentName,
    },
    /// A pattern of a mask that is none.
    #[error(
        "the restrict of the agent {agent}: {pattern:?} is not a glob over tool names: {reason}"
    )]
    Glob {
        /// The agent.
        agent: AgentName,
        /// The pattern, shortened.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// A mask over a name that the daemon keeps for itself.
    #[error("the restrict of the agent {agent}: {pattern} is reserved and cannot be masked")]
    RestrictReserved {
        /// The agent.
        agent: AgentName,
        /// The pattern.
        pattern: String,
    },
    /// A mask over what the agent registers itself.
    #[error(
        "the restrict of the agent {agent}: {pattern:?} names its own tools only, and a mask is \
         over what is inherited; remove the tool instead"
    )]
    RestrictOwn {
        /// The agent.
        agent: AgentName,
        /// The pattern.
        pattern: String,
    },
    /// A mask over nothing.
    #[error(
        "the restrict of the agent {agent}: {pattern:?} matches no tool that it inherits; check \
         the spelling"
    )]
    RestrictUnmatched {
        /// The agent.
        agent: AgentName,
        /// The pattern.
        pattern: String,
    },
    /// A pool without room.
    #[error("max_parallel of the agent {agent} must be at least 1")]
    MaxParallel {
        /// The agent.
        agent: AgentName,
    },
    /// A presentation that this version does not have.
    #[error("the mode {mode} is not available in this version; use native, or leave mode out")]
    ModeUnavailable {
        /// `code` or `both`.
        mode: &'static str,
    },
    /// Not a presentation at all.
    #[error("there is no mode {found:?}; use native, or leave mode out")]
    UnknownMode {
        /// What was asked for, shortened.
        found: String,
    },
}
