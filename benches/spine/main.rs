//! What the whole path of a call costs, beside a bare `axum` JSON echo in the same run.
//!
//! `cargo bench --bench spine` starts each server as a process of its own on loopback, drives it
//! from this one, and prints requests per second, p50, p99 and the ratios. Bounded: some seconds
//! per row, and it ends every process that it started. `-- --seconds N` sets the time per row.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark measures time, starts processes and prints what it saw"
)]

#[path = "../../examples/embedded/tools.rs"]
mod tools;

mod load;
mod server;
mod subscribers;

use std::time::Duration;

use load::{Figures, Target};
use mimalloc::MiMalloc;
use server::{Kind, Server};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const CONNECTIONS: [usize; 3] = [1, 16, 64];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(kind) = server::asked_to_serve(&arguments) {
        server::serve(kind);
        return;
    }
    let seconds = arguments
        .iter()
        .position(|argument| argument == "--seconds")
        .and_then(|at| arguments.get(at + 1))
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(4);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(measure(Duration::from_secs(seconds)));
}

async fn measure(each: Duration) {
    println!(
        "{:<34}{:>12}{:>11}{:>11}",
        "", "requests/s", "p50 µs", "p99 µs"
    );
    let echo = rows("bare axum JSON echo", Kind::Echo, each).await;
    let process = rows("toold no-op, process", Kind::Process, each).await;
    let power = rows("toold no-op, power", Kind::Power, each).await;
    let [_, _, echo_at_64] = &echo;
    let [process_at_1, _, process_at_64] = &process;
    let [_, _, power_at_64] = &power;
    let above = process_at_1.p50.as_secs_f64() - echo[0].p50.as_secs_f64();
    println!();
    println!(
        "process / echo at 64 connections: {:.2} × (at least 0.2)",
        process_at_64.rate / echo_at_64.rate
    );
    println!(
        "p50 above echo at 1 connection:   {:.0} µs (at most 300)",
        above * 1e6
    );
    println!(
        "p99 at 64 connections:            {:.2} ms (under 5)",
        process_at_64.p99.as_secs_f64() * 1e3
    );
    println!(
        "power / process at 64:            {:.2} × (at least 0.8)",
        power_at_64.rate / process_at_64.rate
    );
    println!();
    subscribers::measure(each).await;
}

async fn rows(name: &str, kind: Kind, each: Duration) -> [Figures; 3] {
    let server = Server::start(kind);
    let mut rows = Vec::new();
    for connections in CONNECTIONS {
        let target = Target::of(&server, connections).await;
        // A warm-up, so that the first row does not pay for caches that the others find full.
        target.drive(connections, Duration::from_millis(500)).await;
        let figures = target.drive(connections, each).await;
        println!(
            "{:<34}{:>12.0}{:>11.0}{:>11.0}",
            format!("{name}, {connections} conn."),
            figures.rate,
            figures.p50.as_secs_f64() * 1e6,
            figures.p99.as_secs_f64() * 1e6
        );
        rows.push(figures);
    }
    rows.try_into().expect("one row per number of connections")
}
