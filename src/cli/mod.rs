//! The command line: `toold serve | check | call | tools | events | token | completions`.
//!
//! Imports `domain`, `config`. Speaks to a daemon through the public HTTP API only, and runs none
//! itself: `serve` is only parsed and configured here, and handed to whoever composes the daemon.

mod arguments;
mod call;
mod check;
mod client;
mod error;
mod event_line;
mod events;
mod screen;
mod sse;
mod token;
mod tools;
mod wire;

#[cfg(test)]
mod tests;

use std::{
    ffi::OsString,
    future::Future,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory, Parser};

use self::{
    arguments::{Action, Arguments, ConfigOptions, DaemonOptions, TokenAction},
    client::Client,
    error::Error,
    screen::{ColourWish, Screen},
};
use crate::{
    app::offline,
    config::{Config, Environment, Problem},
};

/// The exit status of a command that the user did not wait for, as shells have it.
const INTERRUPTED: u8 = 130;

/// What was asked for.
#[derive(Debug)]
pub enum Command {
    /// To run the daemon.
    Serve(Box<Config>),
    /// Anything else; see [`run`].
    Client(Box<ClientCommand>),
}

/// A command that runs no daemon.
#[derive(Debug)]
pub struct ClientCommand {
    arguments: Arguments,
    environment: Environment,
}

/// Reads the arguments, the program's name first, and for `serve` the configuration.
///
/// # Errors
/// The exit status, after help, version, or what is wrong was printed.
pub fn parse<A: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = A>,
) -> Result<Command, ExitCode> {
    let arguments = Arguments::try_parse_from(arguments).map_err(|error| {
        // Help goes to standard output, whose reader may have left.
        let _unheard = error.print();
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
    })?;
    let environment = Environment::of_process().map_err(|error| {
        let error = format!("the current directory cannot be read: {error}");
        failed(
            &Error::Machine(error),
            &mut Screen::of_process(ColourWish::Declined),
        )
    })?;
    let Action::Serve(options) = &arguments.action else {
        return Ok(Command::Client(Box::new(ClientCommand {
            arguments,
            environment,
        })));
    };
    match Config::load(config_file(options, &environment).as_deref(), &environment) {
        Ok(config) => Ok(Command::Serve(Box::new(config))),
        Err(problems) => {
            let told = check::listed(&problems);
            Screen::of_process(ColourWish::Declined).note(told.trim_end());
            Err(ExitCode::FAILURE)
        }
    }
}

/// Carries a command out.
pub fn run(command: &ClientCommand) -> ExitCode {
    let mut screen = Screen::of_process(colour_wish(&command.environment));
    match carry_out(command, &mut screen) {
        Ok(code) => code,
        Err(error) => failed(&error, &mut screen),
    }
}

/// The exit status of a daemon that has ended, after saying why if it did not end well.
pub fn ended(daemon: anyhow::Result<()>) -> ExitCode {
    match daemon {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Screen::of_process(ColourWish::Declined).note(&format!("toold: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn failed(error: &Error, screen: &mut Screen) -> ExitCode {
    if error.is_broken_pipe() {
        return ExitCode::SUCCESS;
    }
    screen.note(&format!("toold: {error}"));
    error.exit_code()
}

fn carry_out(command: &ClientCommand, screen: &mut Screen) -> Result<ExitCode, Error> {
    let ClientCommand {
        arguments,
        environment,
    } = command;
    let ask = |options| Asking::new(options, environment);
    match &arguments.action {
        Action::Serve(_) => Err(Error::Usage("serve is not run here".to_owned())),
        Action::Check(options) => {
            let file = config_file(&options.file, environment);
            let loaded = Config::load(file.as_deref(), environment).and_then(startable);
            check::run(&loaded, options, screen)
        }
        Action::Call(options) => {
            let Asking { runtime, client } = ask(&options.daemon)?;
            let body = call::body(options, std::io::stdin())?;
            let ended = runtime.block_on(interruptible(call::run(options, body, &client, screen)));
            ended.unwrap_or_else(|| {
                screen.note(call::LEFT);
                Ok(ExitCode::from(INTERRUPTED))
            })
        }
        Action::Tools(options) => {
            let Asking { runtime, client } = ask(&options.daemon)?;
            runtime.block_on(tools::run(options, &client, screen))
        }
        Action::Events(options) => {
            let Asking { runtime, client } = ask(&options.daemon)?;
            let ended = runtime.block_on(interruptible(events::run(options, &client, screen)));
            // Following has no other end of its own.
            ended.unwrap_or(Ok(ExitCode::SUCCESS))
        }
        Action::Token(TokenAction::New(options)) => {
            token::make(options, screen).map(|()| ExitCode::SUCCESS)
        }
        Action::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Arguments::command(), "toold", &mut script);
            screen.print(&script).map(|()| ExitCode::SUCCESS)
        }
    }
}

/// What a command needs that asks a daemon.
struct Asking {
    runtime: tokio::runtime::Runtime,
    client: Client,
}

impl Asking {
    fn new(options: &DaemonOptions, environment: &Environment) -> Result<Self, Error> {
        let client = Client::new(options, environment)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Machine(format!("no runtime can be started: {error}")))?;
        Ok(Self { runtime, client })
    }
}

/// The end of a command, or nothing when the user interrupts it.
async fn interruptible<T>(command: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // Dropped at Ctrl-C, as it may be at any time: it only waits, reads and prints.
        end = command => Some(end),
        // Cancellation-safe; a process that cannot hear Ctrl-C is killed by it.
        Ok(()) = tokio::signal::ctrl_c() => None,
    }
}

/// A configuration that is well formed may still describe what cannot be started.
fn startable(config: Config) -> Result<Config, Vec<Problem>> {
    let problems = offline::check(&config);
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(problems)
    }
}

fn config_file(options: &ConfigOptions, environment: &Environment) -> Option<PathBuf> {
    let variable = || environment.path("TOOLD_CONFIG").map(Path::to_owned);
    options.config.clone().or_else(variable)
}

/// <https://no-color.org>, and terminals that say they are dumb.
fn colour_wish(environment: &Environment) -> ColourWish {
    let declined =
        environment.path("NO_COLOR").is_some() || environment.get("TERM") == Some("dumb");
    if declined {
        ColourWish::Declined
    } else {
        ColourWish::Open
    }
}
