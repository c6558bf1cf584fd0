//! The configuration: what was typed (`raw`), then what it means ([`Config`]).
//!
//! The only reader of the configuration file and of the environment. Imports `domain`. Opens
//! nothing but what it is told to read; starts nothing.

mod agents;
mod authority;
mod checked;
mod environment;
mod generated;
mod load;
mod problem;
mod raw;
mod secret;
mod section;
mod tokens;
mod value;

#[cfg(test)]
mod tests;

pub use authority::{Authority, Scheme};
pub use checked::{
    AgentConfig, Approvals, Auth, Config, Durability, Permission, Permissions, Restrict, Server,
    StoreConfig, Streams, TokenSpec, WorkspaceConfig,
};
pub use environment::{Environment, User};
pub use generated::GeneratedToken;
pub use load::LISTEN;
pub use problem::{Place, Problem};
pub use secret::{Secret, SecretError, hex};
pub use tokens::principal_name;
pub use value::agent_glob;
