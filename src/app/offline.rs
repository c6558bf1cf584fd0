//! What can be said of a configuration without starting it: for `toold check`.
//!
//! Imports what it must open to know. Starts nothing, listens on nothing, writes nothing.

use super::{declared, shipped, workspace};
use crate::{
    config::{Config, Place, Problem},
    domain::AgentName,
    registry::ToolRegistry,
    tasks::Tasks,
};

/// What a start would refuse although every value is well formed: a workspace root that cannot be
/// opened, masks of agents that match nothing. All of it at once. Opens the workspace root and
/// reads nothing below it.
pub fn check(config: &Config) -> Vec<Problem> {
    let registry = ToolRegistry::new();
    let tools = match shipped(&workspace(config), &Tasks::new()) {
        Ok(tools) => tools,
        Err(error) => return vec![problem(config, "workspace", "root", error.to_string())],
    };
    let global = registry.register_all(&AgentName::global(), &tools);
    let mut problems: Vec<Problem> = global
        .err()
        .map(|error| problem(config, "", "", error.to_string()))
        .into_iter()
        .collect();
    for agent in &config.agents {
        if let Err(error) = registry.put_agent(declared(agent)) {
            let section = format!("agents.{}", agent.name);
            problems.push(problem(config, &section, "", error.to_string()));
        }
    }
    problems
}

fn problem(config: &Config, section: &str, key: &str, message: String) -> Problem {
    let file = config.file.as_deref();
    Problem {
        place: file.map_or(Place::Process, |file| Place::Whole(file.into())),
        section: section.to_owned(),
        key: key.to_owned(),
        message,
    }
}
