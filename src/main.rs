//! The binary: parse, run, exit code.

use std::process::ExitCode;

use mimalloc::MiMalloc;
use toold::cli::{self, Command};

/// A call is some hundred small, short-lived allocations that cross threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok(Command::Serve(config)) => cli::ended(toold::app::serve(*config)),
        Ok(Command::Client(command)) => cli::run(&command),
        Err(code) => code,
    }
}
