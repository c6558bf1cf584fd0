//! Where the journal is kept: the port [`crate::journal::Store`] over `SQLite` and in memory.
//!
//! Imports `journal` (and the open modules). SQL is spoken here and nowhere else. Must not know
//! what an event means: frames are kept and given back as bytes.

mod counters;
mod error;
mod queue;
mod rules;

pub mod memory;
pub mod sqlite;

pub use error::Error;
