//! The configuration: what was typed (`raw`), then what it means ([`Config`]).
//!
//! The only reader of the configuration file and of the environment. Imports `domain`. Opens
//! nothing but what it is told to read; starts nothing.

mod checked;

pub use checked::{
    AgentConfig, Approvals, Auth, Config, Durability, Permission, Permissions, Restrict, Server,
    StoreConfig, Streams, TokenSpec, WorkspaceConfig,
};
