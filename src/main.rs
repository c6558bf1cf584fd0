//! The binary: parse, run, exit code.

use std::process::ExitCode;

use toold::cli::{self, Command};

fn main() -> ExitCode {
    match cli::parse(std::env::args_os()) {
        Ok(Command::Serve(config)) => cli::ended(toold::app::serve(*config)),
        Ok(Command::Client(command)) => cli::run(&command),
        Err(code) => code,
    }
}
