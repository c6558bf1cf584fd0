//! toold, a daemon that executes tools for AI agents: the model only submits an untrusted
//! request; the pipeline turns it into a fact.
//!
//! The modules below are listed in reading order; each may import only what stands above it
//! (the table in `tests/architecture/tables.rs`, enforced by `tests/architecture.rs`).

pub mod domain;

pub mod config;
pub mod tasks;
pub mod telemetry;

pub mod journal;
pub mod registry;

pub mod policy;
pub mod approval;
pub mod pipeline;
pub mod scheduler;

pub mod store;
pub mod tools;
pub mod http;

pub mod cli;
pub mod app;
