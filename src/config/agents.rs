//! `[agents.NAME]`: settings and the chain of parents.
//!
//! Imports `section`, `value`, `checked`. Whether the names in a mask match a tool is known only
//! where tools are.

use std::collections::BTreeMap;

use super::{
    checked::{AgentConfig, Restrict},
    problem::suggestion,
    raw::Node,
    section::Section,
    value,
};
use crate::domain::AgentName;

/// Reads `[agents.*]`; the answer has parents before their children.
pub(super) fn read(section: Section<'_>) -> Vec<AgentConfig> {
    let mut agents = Vec::new();
    for (name, mut section) in section.named_sections() {
        let agent = read_one(&name, &mut section);
        section.finish();
        agents.extend(agent.map(|agent| (agent, section)));
    }
    let order = parents_first(&agents);
    let mut agents: Vec<_> = agents.into_iter().map(|(agent, _)| Some(agent)).collect();
    order
        .into_iter()
        .filter_map(|i| agents.get_mut(i).and_then(Option::take))
        .collect()
}

fn read_one(name: &str, section: &mut Section<'_>) -> Option<AgentConfig> {
    section.unavailable(&["preset"]);
    section.optional("mode", mode);
    let parent = section.optional("parent", agent_name);
    let place = section.origin("restrict");
    let restrict = restrict(section);
    let approval_policy = section.optional("approval_policy", value::approval_policy);
    let max_parallel = section.optional("max_parallel", |node| value::count(node, 1..=1000));
    let name = AgentName::parse(name)
        .map_err(|error| section.refuse("", error.to_string()))
        .ok()?;
    if name.is_global() {
        section.refuse("", "is the root of every chain and owns no calls; configure `default` or an agent of your own");
        return None;
    }
    let parent = parent.filter(|parent| !parent.is_global());
    Some(AgentConfig {
        name,
        place,
        parent,
        restrict,
        approval_policy,
        max_parallel,
    })
}

fn mode(node: &Node) -> Result<(), String> {
    let known = ["native", "code", "both"].map(|word| (word, word));
    match value::one_of(node, &known)? {
        "native" => Ok(()),
        other => Err(format!(
            "\"{other}\" is not available in this version of toold; use \"native\" or remove it"
        )),
    }
}

fn agent_name(node: &Node) -> Result<AgentName, String> {
    AgentName::parse(value::text(node)?).map_err(|error| error.to_string())
}

fn restrict(section: &mut Section<'_>) -> Option<Restrict> {
    if !section.has("restrict") {
        return None;
    }
    let mut mask = section.section("restrict");
    let [allow, deny] = ["allow", "deny"].map(|key| {
        let globs = mask.list(key, value::glob_text);
        // What was refused was meant to name something, and is told once.
        let names = globs
            .as_ref()
            .map_or(mask.has(key), |globs| !globs.is_empty());
        (globs.unwrap_or_default(), names)
    });
    if !allow.1 && !deny.1 {
        mask.refuse(
            "",
            "masks nothing; name tools in allow or deny, or remove it",
        );
    }
    mask.finish();
    Some(Restrict {
        allow: allow.0,
        deny: deny.0,
    })
}

/// The places of the agents in an order in which each stands behind its parent. Parents that do
/// not exist and chains that have no end are refused, each once.
fn parents_first(agents: &[(AgentConfig, Section<'_>)]) -> Vec<usize> {
    let places: BTreeMap<_, _> = agents
        .iter()
        .enumerate()
        .map(|(i, (agent, _))| (&agent.name, i))
        .collect();
    let mut order: Vec<usize> = Vec::with_capacity(agents.len());
    for start in 0..agents.len() {
        let mut chain: Vec<usize> = Vec::new();
        let mut next = Some(start);
        while let Some((i, (agent, section))) = next.and_then(|i| Some((i, agents.get(i)?))) {
            if order.contains(&i) {
                break;
            }
            if let Some(begin) = chain.iter().position(|seen| *seen == i) {
                refuse_cycle(agents, chain.get(begin..).unwrap_or_default());
                break;
            }
            chain.push(i);
            next = agent
                .parent
                .as_ref()
                .and_then(|parent| places.get(parent).copied());
            if let (Some(parent), None) = (&agent.parent, next) {
                check_undeclared(parent, section, places.keys().copied());
            }
        }
        order.extend(chain.into_iter().rev());
    }
    order
}

/// The one agent that needs no section is `default`.
fn check_undeclared<'a>(
    parent: &AgentName,
    section: &Section<'_>,
    declared: impl Iterator<Item = &'a AgentName>,
) {
    if *parent != AgentName::default_agent() {
        let known = declared.map(AgentName::as_str).chain(["default", "global"]);
        let near = suggestion(parent.as_str(), known);
        section.refuse("parent", format!("no agent is named \"{parent}\"{near}"));
    }
}

fn refuse_cycle(agents: &[(AgentConfig, Section<'_>)], cycle: &[usize]) {
    let members: Vec<_> = cycle.iter().filter_map(|i| agents.get(*i)).collect();
    let names = members.iter().map(|(agent, _)| agent.name.as_str());
    let Some((first, section)) = members.first() else {
        return;
    };
    let chain = names
        .chain([first.name.as_str()])
        .collect::<Vec<_>>()
        .join(" → ");
    section.refuse(
        "parent",
        format!("the chain of parents has no end: {chain}"),
    );
}
