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
            problems.push(Problem {
                place: agent.place.clone(),
                section: format!("agents.{}", agent.name),
                key: agent.restrict.iter().map(|_| "restrict").collect(),
                message: error.to_string(),
            });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, User};

    #[test]
    fn a_mask_that_matches_nothing_is_found_where_it_was_typed() {
        let here = tempfile::tempdir().unwrap();
        let file = here.path().join("toold.toml");
        let text = "[agents.a]\nrestrict = { allow = [\"nosuch\"] }\n\
                    [agents.b]\n[agents.b.restrict]\ndeny = [\"run_code\"]\n[agents.c]\n";
        std::fs::write(&file, text).unwrap();
        let environment =
            Environment::new([("XDG_STATE_HOME", "/state")], here.path(), User::Other);
        let config = Config::load(Some(&file), &environment).unwrap();
        let told: Vec<String> = check(&config)
            .iter()
            .map(|problem| {
                problem
                    .to_string()
                    .replace(here.path().to_str().unwrap(), "HERE")
            })
            .collect();
        let expected = [
            "HERE/toold.toml:2:1 [agents.a] restrict: ",
            "HERE/toold.toml:4:11 [agents.b] restrict: ",
        ];
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
