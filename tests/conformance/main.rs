//! One suite per port, run over every implementation of it.
//!
//! `store` is the suite of the journal's `Store`; `sqlite` is what only a file can show; `follow`
//! is the read path over both.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "every line here is a test, the fixture included"
)]

mod fixture;
mod follow;
mod follow_lag;
mod follow_random;
mod sqlite;
mod sqlite_damage;
mod sqlite_ids;
mod store;
mod store_calls;
mod store_order;
