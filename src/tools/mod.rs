//! The tools that ship with the daemon: the bodies behind their definitions.
//!
//! Imports `domain`, `registry` and `tasks`. A body acts through its
//! [`ExecutionContext`](crate::registry::ExecutionContext) alone: it knows no scheduler, no
//! journal and no HTTP.

pub mod files;
