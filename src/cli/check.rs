//! `toold check`: every problem of a configuration, or what it means.
//!
//! Imports `config`, `screen`. Starts nothing and asks no daemon.

use std::{path::Path, process::ExitCode};

use super::{
    arguments::CheckOptions,
    error::Error,
    screen::{Screen, one_line, table},
};
use crate::{
    config::{
        AgentConfig, Config, Durability, GeneratedToken, Permission, Permissions, Place, Problem,
    },
    domain::{
        ApprovalPolicy,
        json::{ArrayWriter, ObjectWriter},
    },
};

/// Reports on a configuration that was loaded; status 1 when something is wrong with it.
///
/// # Errors
/// When nobody takes the output.
pub(super) fn run(
    loaded: &Result<Config, Vec<Problem>>,
    options: &CheckOptions,
    screen: &mut Screen,
) -> Result<ExitCode, Error> {
    let code = if loaded.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    };
    let text = match (loaded, options.json) {
        (Ok(config), false) => meaning(config),
        (Err(problems), false) => listed(problems),
        (loaded, true) => json(loaded.as_ref().map_err(Vec::as_slice)),
    };
    match screen.print(text.as_bytes()) {
        // Whoever has left still wants to know.
        Err(error) if error.is_broken_pipe() => Ok(code),
        printed => printed.map(|()| code),
    }
}

/// All problems, one on a line, and how many they are.
pub(super) fn listed(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems
        .iter()
        .map(|problem| one_line(&problem.to_string()))
        .collect();
    let number = problems.len();
    let noun = if number == 1 { "problem" } else { "problems" };
    format!("{}\n{number} {noun}\n", lines.join("\n"))
}

/// What a good configuration means, one fact on a line.
fn meaning(config: &Config) -> String {
    let mut facts = vec![
        ["configuration", &source(config.file.as_deref())].map(str::to_owned),
        ["address", &address(config)].map(str::to_owned),
        ["store", &store(config)].map(str::to_owned),
        ["workspace", &config.workspace.root.display().to_string()].map(str::to_owned),
        ["approvals", config.approvals.policy.as_str()].map(str::to_owned),
    ];
    facts.extend(
        tokens(config)
            .into_iter()
            .map(|token| [format!("token {}", token.name), token.told()]),
    );
    facts.extend(
        config
            .agents
            .iter()
            .map(|agent| [format!("agent {}", agent.name), told(agent)]),
    );
    let facts: Vec<_> = facts
        .into_iter()
        .map(|fact| fact.map(|text| one_line(&text)))
        .collect();
    format!("{}Nothing is wrong.\n", table(&facts))
}

fn source(file: Option<&Path>) -> String {
    file.map_or_else(
        || "built-in defaults".to_owned(),
        |file| file.display().to_string(),
    )
}

fn address(config: &Config) -> String {
    let listen = config.server.listen;
    let port = if listen.port() == 0 {
        ", any free port"
    } else {
        ""
    };
    let reach = if is_loopback(config) {
        "this machine only"
    } else {
        "open to the network"
    };
    format!("{listen} ({reach}{port})")
}

fn is_loopback(config: &Config) -> bool {
    config.server.listen.ip().to_canonical().is_loopback()
}

fn store(config: &Config) -> String {
    let survives = match config.store.durability {
        Durability::Process => "the daemon's death",
        Durability::Power => "loss of power",
    };
    let word = config.store.durability.as_str();
    format!(
        "{} (durability {word}: records survive {survives})",
        config.store.path.display()
    )
}

/// A token as the report names it.
struct Token {
    name: String,
    permissions: Permissions,
    agents: Vec<String>,
    generated_in: Option<String>,
}

impl Token {
    fn told(&self) -> String {
        let permissions: Vec<_> = self.permissions.iter().map(Permission::as_str).collect();
        let agents = format!(
            "{}; agents {}",
            permissions.join(", "),
            self.agents.join(", ")
        );
        match &self.generated_in {
            Some(file) => format!("{agents}; generated at start, in {file}"),
            None => agents,
        }
    }
}

/// The configured tokens; without any the two that `serve` generates.
fn tokens(config: &Config) -> Vec<Token> {
    if config.auth.tokens.is_empty() {
        let generated = |token: GeneratedToken| Token {
            name: token.name().to_owned(),
            permissions: token.permissions(),
            agents: vec!["*".to_owned()],
            generated_in: Some(token.path(&config.state_dir).display().to_string()),
        };
        return GeneratedToken::ALL.map(generated).into();
    }
    let configured = config.auth.tokens.iter().map(|token| Token {
        name: token.name.to_string(),
        permissions: token.permissions,
        agents: token
            .agents
            .iter()
            .map(|agent| agent.glob().glob().to_owned())
            .collect(),
        generated_in: None,
    });
    configured.collect()
}

fn told(agent: &AgentConfig) -> String {
    let mut facts = vec![format!("parent {}", parent(agent))];
    if let Some(mask) = &agent.restrict {
        if !mask.allow.is_empty() {
            facts.push(format!("inherits only {}", mask.allow.join(", ")));
        }
        if !mask.deny.is_empty() {
            facts.push(format!("does not inherit {}", mask.deny.join(", ")));
        }
    }
    facts.extend(
        agent
            .approval_policy
            .map(|policy| format!("approvals {}", policy.as_str())),
    );
    facts.extend(
        agent
            .max_parallel
            .map(|most| format!("at most {most} calls in parallel")),
    );
    facts.join("; ")
}

fn parent(agent: &AgentConfig) -> &str {
    agent.parent.as_ref().map_or("global", AsRef::as_ref)
}

fn json(loaded: Result<&Config, &[Problem]>) -> String {
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    object.bool("ok", loaded.is_ok());
    let problems = loaded.err().unwrap_or_default();
    object.array("problems", |list| {
        for problem in problems {
            list.nested(|each| write_problem(each, problem));
        }
    });
    if let Ok(config) = loaded {
        object.nested("configuration", |each| write_meaning(each, config));
    }
    object.end();
    out.push(b'\n');
    String::from_utf8_lossy(&out).into_owned()
}

fn write_problem(object: &mut ObjectWriter<'_>, problem: &Problem) {
    match &problem.place {
        Place::File { file, line, column } => object
            .string("file", &file.to_string_lossy())
            .number("line", *line as u64)
            .number("column", *column as u64),
        Place::Whole(file) => object.string("file", &file.to_string_lossy()),
        Place::Variable(name) => object.string("variable", name),
        Place::Process => object,
    };
    object
        .string("section", &problem.section)
        .string("key", &problem.key)
        .string("message", &problem.message);
}

fn write_meaning(object: &mut ObjectWriter<'_>, config: &Config) {
    let file = config.file.as_deref().map(Path::to_string_lossy);
    object
        .string_opt("file", file.as_deref())
        .string("state_dir", &config.state_dir.to_string_lossy())
        .string("listen", &config.server.listen.to_string())
        .bool("loopback", is_loopback(config))
        .string("store", &config.store.path.to_string_lossy())
        .string("durability", config.store.durability.as_str())
        .string("workspace", &config.workspace.root.to_string_lossy())
        .string("approval_policy", config.approvals.policy.as_str())
        .array("tokens", |list| {
            for token in tokens(config) {
                list.nested(|each| {
                    each.string("name", &token.name)
                        .array("permissions", |list| {
                            strings(list, token.permissions.iter().map(Permission::as_str));
                        })
                        .array("agents", |list| {
                            strings(list, token.agents.iter().map(String::as_str));
                        })
                        .string_opt("generated_in", token.generated_in.as_deref());
                });
            }
        })
        .array("agents", |list| {
            for agent in &config.agents {
                list.nested(|each| {
                    write_agent(each, agent);
                });
            }
        });
}

fn write_agent(object: &mut ObjectWriter<'_>, agent: &AgentConfig) {
    object
        .string("name", agent.name.as_str())
        .string("parent", parent(agent));
    if let Some(mask) = &agent.restrict {
        object.nested("restrict", |each| {
            for (key, globs) in [("allow", &mask.allow), ("deny", &mask.deny)] {
                each.array(key, |list| strings(list, globs.iter().map(String::as_str)));
            }
        });
    }
    let policy = agent.approval_policy.map(ApprovalPolicy::as_str);
    object.string_opt("approval_policy", policy);
    if let Some(most) = agent.max_parallel {
        object.number("max_parallel", most as u64);
    }
}

fn strings<'a>(list: &mut ArrayWriter<'_>, texts: impl Iterator<Item = &'a str>) {
    for text in texts {
        list.string(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, User};

    /// Loads a file of this text in a directory whose path is shown as `HERE`.
    fn reported(text: Option<&str>, report: fn(&Result<Config, Vec<Problem>>) -> String) -> String {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("toold.toml");
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let environment =
            Environment::new([("XDG_STATE_HOME", "/state")], here.path(), User::Other);
        let loaded = Config::load(text.map(|_| file.as_path()), &environment);
        report(&loaded).replace(here.path().to_str().unwrap(), "HERE")
    }

    fn told(loaded: &Result<Config, Vec<Problem>>) -> String {
        match loaded {
            Ok(config) => meaning(config),
            Err(problems) => listed(problems),
        }
    }

    fn encoded(loaded: &Result<Config, Vec<Problem>>) -> String {
        json(loaded.as_ref().map_err(Vec::as_slice))
    }

    const GOOD: &str = r#"
[server]
listen = "0.0.0.0:0"
[store]
url = "sqlite:my.db"
durability = "power"
[[auth.tokens]]
name = "backend"
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
permissions = ["events", "call"]
agents = ["team-*", "base"]
[agents.team-a]
parent = "base"
restrict = { allow = ["read_file", "list_*"], deny = ["x"] }
approval_policy = "never"
max_parallel = 3
[agents.base]
"#;

    #[test]
    fn without_a_file_the_defaults_are_told() {
        let expected = "\
configuration   built-in defaults
address         127.0.0.1:7878 (this machine only)
store           /state/toold/toold.db (durability process: records survive the daemon's death)
workspace       HERE
approvals       ask
token agent     call, events; agents *; generated at start, in /state/toold/tokens/agent
token operator  events, approve, register, audit, admin; agents *; generated at start, in /state/toold/tokens/operator
Nothing is wrong.
";
        assert_eq!(reported(None, told), expected);
    }

    #[test]
    fn what_a_configuration_means_is_told_without_secrets() {
        let expected = "\
configuration  HERE/toold.toml
address        0.0.0.0:0 (open to the network, any free port)
store          HERE/my.db (durability power: records survive loss of power)
workspace      HERE
approvals      ask
token backend  call, events; agents team-*, base
agent base     parent global
agent team-a   parent base; inherits only read_file, list_*; does not inherit x; approvals never; at most 3 calls in parallel
Nothing is wrong.
";
        assert_eq!(reported(Some(GOOD), told), expected);
    }

    #[test]
    fn as_json_it_says_the_same() {
        let expected = concat!(
            r#"{"ok":true,"problems":[],"configuration":{"file":"HERE/toold.toml","#,
            r#""state_dir":"/state/toold","listen":"0.0.0.0:0","loopback":false,"#,
            r#""store":"HERE/my.db","durability":"power","workspace":"HERE","#,
            r#""approval_policy":"ask","tokens":[{"name":"backend","#,
            r#""permissions":["call","events"],"agents":["team-*","base"]}],"#,
            r#""agents":[{"name":"base","parent":"global"},{"name":"team-a","parent":"base","#,
            r#""restrict":{"allow":["read_file","list_*"],"deny":["x"]},"#,
            r#""approval_policy":"never","max_parallel":3}]}}"#,
            "\n"
        );
        assert_eq!(reported(Some(GOOD), encoded), expected);
    }

    #[test]
    fn problems_are_listed_and_counted() {
        let expected = "\
HERE/toold.toml:1:1 rules: not available in this version of toold; remove it
HERE/toold.toml:2:2 sever: unknown key; did you mean \"server\"?
2 problems
";
        assert_eq!(reported(Some("rules = []\n[sever]"), told), expected);
        assert!(reported(Some("[sever]"), told).ends_with("\n1 problem\n"));
        let expected = concat!(
            r#"{"ok":false,"problems":[{"file":"HERE/toold.toml","line":2,"column":1,"#,
            r#""section":"server","key":"x","message":"unknown key"}]}"#,
            "\n"
        );
        assert_eq!(reported(Some("[server]\nx = 1"), encoded), expected);
    }
}
