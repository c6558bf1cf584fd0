//! Stories told from outside: a real daemon in its own process, spoken to over real HTTP.
//!
//! Names that begin with `c01_` … are the cases of the field that must hold; see
//! `CONTRIBUTING.md`.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test starts processes and threads of its own, and fails by panicking"
)]

mod access;
mod arguments;
mod calls;
mod catalogue;
mod crash;
mod files;
mod harness;
mod logins;
mod outcomes;
mod sessions;
mod streams;
