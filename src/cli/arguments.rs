//! What can be typed: subcommands, options, and their help.
//!
//! Imports `domain`, `config`. Declares and parses; does nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    config::{Permission, agent_glob, principal_name},
    domain::{AgentName, CallId, SessionId, ToolName},
};

const AFTER_HELP: &str = "\
Environment:
  TOOLD_CONFIG   the configuration file, as --config
  TOOLD_URL      where the daemon is, as --url of call, tools and events
  TOOLD_TOKEN    the token to show it
  TOOLD_LOG      what `serve` logs, such as info or toold=debug
  XDG_STATE_HOME where store and generated tokens are, in toold/ [default: ~/.local/state; for
                 root /var/lib]

Exit status: 0 success; 1 the call failed, the configuration is wrong, or serve could not run;
2 wrong usage; 3 no daemon answers, or it refused the request; 130 Ctrl-C before the result.";

/// A daemon that executes tools for AI agents, and its command line.
#[derive(Debug, Parser)]
#[command(name = "toold", version, about, max_term_width = 100, after_help = AFTER_HELP)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) action: Action,
}

/// How the daemon is found; for the commands that speak to one, and no others.
#[derive(Debug, Args)]
pub(super) struct DaemonOptions {
    /// Where the daemon is [default: `TOOLD_URL`, else `http://127.0.0.1:7878`]
    #[arg(long, value_name = "URL", help_heading = "Daemon")]
    pub(super) url: Option<String>,
    /// File with the token [default: `TOOLD_TOKEN`, else the one that `serve` generated]
    #[arg(long, value_name = "FILE", help_heading = "Daemon")]
    pub(super) token_file: Option<PathBuf>,
}

/// Where the configuration is.
#[derive(Debug, Args)]
pub(super) struct ConfigOptions {
    /// The configuration file [default: `TOOLD_CONFIG`, else built-in defaults]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Run the daemon
    Serve(ConfigOptions),
    /// Check a configuration, tell every problem and what it means; start nothing
    Check(CheckOptions),
    /// Call a tool and wait for its result
    Call(CallOptions),
    /// List the tools of an agent, or show one whole
    Tools(ToolsOptions),
    /// Follow the events, live and across reconnects, until Ctrl-C or an orderly stop of the daemon
    Events(EventsOptions),
    /// Make tokens
    #[command(subcommand)]
    Token(TokenAction),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// `toold check`.
#[derive(Debug, Args)]
pub(super) struct CheckOptions {
    #[command(flatten)]
    pub(super) file: ConfigOptions,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// `toold call`.
#[derive(Debug, Args)]
pub(super) struct CallOptions {
    #[command(flatten)]
    pub(super) daemon: DaemonOptions,
    /// The tool
    pub(super) name: String,
    /// Arguments: key=text, key:=JSON, or - to read the whole JSON object from standard input
    #[arg(value_name = "ARGUMENT")]
    pub(super) arguments: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(super) json_args: Option<String>,
    /// Call in this session instead of a new one, which every call without it makes
    #[arg(long, value_name = "ID", value_parser = SessionId::parse)]
    pub(super) session: Option<SessionId>,
    /// Call as this agent [default: the agent `default`]
    #[arg(long, value_name = "NAME", value_parser = AgentName::parse, conflicts_with = "session")]
    pub(super) agent: Option<AgentName>,
    /// Id of the call; in the same --session the same call under its id runs once
    #[arg(long, value_name = "ID", value_parser = CallId::parse)]
    pub(super) call_id: Option<CallId>,
    /// Show the call's events as they happen, on standard error
    #[arg(long)]
    pub(super) stream: bool,
    /// Print the result as the daemon sent it; with --stream, the events
    #[arg(long)]
    pub(super) json: bool,
}

/// `toold tools`.
#[derive(Debug, Args)]
pub(super) struct ToolsOptions {
    #[command(flatten)]
    pub(super) daemon: DaemonOptions,
    /// Show this tool whole
    #[arg(value_parser = ToolName::parse)]
    pub(super) name: Option<ToolName>,
    /// The agent whose tools are meant [default: the agent `default`]
    #[arg(long, value_name = "NAME", value_parser = AgentName::parse)]
    pub(super) agent: Option<AgentName>,
    /// Print what the daemon sent
    #[arg(long)]
    pub(super) json: bool,
}

/// `toold events`.
#[derive(Debug, Args)]
pub(super) struct EventsOptions {
    #[command(flatten)]
    pub(super) daemon: DaemonOptions,
    /// Only those of this session
    #[arg(long, value_name = "ID", value_parser = SessionId::parse)]
    pub(super) session: Option<SessionId>,
    /// Only those of this agent
    #[arg(long, value_name = "NAME", value_parser = AgentName::parse)]
    pub(super) agent: Option<AgentName>,
    /// Only these types, separated by commas
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    pub(super) types: Vec<String>,
    /// Begin behind this cursor; 0 is the beginning [default: now]
    #[arg(long, value_name = "CURSOR")]
    pub(super) after: Option<u64>,
    /// Print each event's envelope on a line
    #[arg(long)]
    pub(super) json: bool,
}

/// `toold token`.
#[derive(Debug, Subcommand)]
pub(super) enum TokenAction {
    /// Make a token: print it, once, and the configuration that knows it
    New(TokenOptions),
}

/// `toold token new`.
#[derive(Debug, Args)]
pub(super) struct TokenOptions {
    /// Name of the principal
    #[arg(long, default_value = "backend", value_parser = principal_name)]
    pub(super) name: String,
    /// What it may do, separated by commas: call, events, approve, register, audit, admin
    #[arg(long, value_delimiter = ',', default_value = "call,events", value_parser = permission)]
    pub(super) permissions: Vec<Permission>,
    /// The agents that it may touch: globs, separated by commas
    #[arg(long, value_name = "GLOB", value_delimiter = ',', default_value = "*", value_parser = agent_glob)]
    pub(super) agents: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn permission(text: &str) -> Result<Permission, String> {
    Permission::parse(text).ok_or_else(|| {
        let known: Vec<_> = Permission::ALL
            .iter()
            .map(|permission| permission.as_str())
            .collect();
        format!("expected one of {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn ids_names_and_permissions_are_judged_where_they_are_typed() {
        for wrong in [
            &["call", "echo", "--session", ".."][..],
            &["call", "echo", "--call-id", "a:call:1"],
            &["call", "echo", "--agent", "not a name"],
            &["call", "echo", "--agent", "a", "--session", "s"],
            &["call", "echo", "a=1", "--json-args", "{}"],
            &["tools", "not a name"],
            &["events", "--after", "x"],
            &["token", "new", "--permissions", "call,sudo"],
            &["token", "new", "--name", "two words"],
            &["completions", "cmd.exe"],
            &[],
        ] {
            let arguments = ["toold"].iter().chain(wrong);
            let error = Arguments::try_parse_from(arguments).expect_err(&wrong.join(" "));
            assert_eq!(error.exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn only_commands_that_speak_to_a_daemon_are_told_where_it_is() {
        let parse = |typed: &[&str]| {
            let typed = ["toold"]
                .iter()
                .chain(typed)
                .chain(&["--url", "http://h:1"]);
            Arguments::try_parse_from(typed).map(|parsed| parsed.action)
        };
        for asks in [&["call", "x", "-"][..], &["tools"], &["events"]] {
            let url = match parse(asks).unwrap() {
                Action::Call(options) => options.daemon.url,
                Action::Tools(options) => options.daemon.url,
                Action::Events(options) => options.daemon.url,
                Action::Serve(_)
                | Action::Check(_)
                | Action::Token(_)
                | Action::Completions { .. } => panic!("{asks:?} speaks to no daemon"),
            };
            assert_eq!(url.as_deref(), Some("http://h:1"));
        }
        for alone in [&["serve"][..], &["check"], &["token", "new"]] {
            assert_eq!(parse(alone).unwrap_err().exit_code(), 2, "{alone:?}");
        }
    }
}
