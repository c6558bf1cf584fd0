//! Properties: what agents see equals a naive reading of the rules, whatever was done before.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{prelude::*, sample::subsequence};

use super::{agent, tool, tool_from};
use crate::{
    domain::{AgentName, ToolName},
    registry::{AgentSpec, Restrict, ToolRegistry},
};

const AGENTS: [&str; 5] = ["global", "default", "a", "b", "c"];
const TOOLS: [&str; 5] = ["t0", "t1", "t2", "u0", "u1"];
/// Patterns, and the names that each means.
const PATTERNS: [(&str, &[&str]); 6] = [
    ("t0", &["t0"]),
    ("u1", &["u1"]),
    ("t*", &["t0", "t1", "t2"]),
    ("?1", &["t1", "u1"]),
    ("{t2,u0}", &["t2", "u0"]),
    ("*", &TOOLS),
];

#[derive(Debug, Clone)]
enum Step {
    Register {
        scope: usize,
        tool: usize,
    },
    Unregister {
        scope: usize,
        tool: usize,
    },
    Put {
        agent: usize,
        parent: usize,
        allow: Vec<usize>,
        deny: Vec<usize>,
    },
    Delete {
        agent: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (agents, tools) = (0..AGENTS.len(), 0..TOOLS.len());
    let patterns = || subsequence((0..PATTERNS.len()).collect::<Vec<_>>(), 0..=2);
    prop_oneof![
        4 => (agents.clone(), tools.clone())
            .prop_map(|(scope, tool)| Step::Register { scope, tool }),
        1 => (agents.clone(), tools).prop_map(|(scope, tool)| Step::Unregister { scope, tool }),
        4 => (agents.clone(), agents.clone(), patterns(), patterns())
            .prop_map(|(agent, parent, allow, deny)| Step::Put { agent, parent, allow, deny }),
        1 => agents.prop_map(|agent| Step::Delete { agent }),
    ]
}

/// Each scope by its declared parent, patterns and own tools, nothing derived.
#[derive(Debug, Default, Clone)]
struct Scope {
    parent: usize,
    allow: Vec<usize>,
    deny: Vec<usize>,
    own: BTreeSet<usize>,
}

#[derive(Debug)]
struct Model(BTreeMap<usize, Scope>);

impl Model {
    fn new() -> Self {
        Self(BTreeMap::from([
            (0, Scope::default()),
            (1, Scope::default()),
        ]))
    }

    /// Which scope's tool each visible name means.
    fn sees(&self, at: usize) -> BTreeMap<usize, usize> {
        let scope = &self.0[&at];
        let inherited = if at == 0 {
            BTreeMap::new()
        } else {
            self.sees(scope.parent)
        };
        let hit = |patterns: &[usize], tool: usize| {
            patterns
                .iter()
                .any(|pattern| PATTERNS[*pattern].1.contains(&TOOLS[tool]))
        };
        let stays =
            |tool| (scope.allow.is_empty() || hit(&scope.allow, tool)) && !hit(&scope.deny, tool);
        let mut seen: BTreeMap<_, _> = inherited
            .into_iter()
            .filter(|(tool, _)| stays(*tool))
            .collect();
        seen.extend(scope.own.iter().map(|tool| (*tool, at)));
        seen
    }

    fn ancestors(&self, mut at: usize) -> Vec<usize> {
        let mut ancestors = Vec::new();
        while at != 0 {
            at = self.0[&at].parent;
            ancestors.push(at);
        }
        ancestors
    }

    /// Whether the step is allowed; it is then taken.
    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Register { scope, tool } => self
                .0
                .get_mut(scope)
                .is_some_and(|scope| scope.own.insert(*tool)),
            Step::Unregister { scope, tool } => self
                .0
                .get_mut(scope)
                .is_some_and(|scope| scope.own.remove(tool)),
            Step::Put {
                agent,
                parent,
                allow,
                deny,
            } => self.put(*agent, *parent, allow, deny),
            Step::Delete { agent } => {
                let is_parent = self
                    .0
                    .iter()
                    .any(|(at, scope)| *at > 0 && scope.parent == *agent);
                *agent > 1 && !is_parent && self.0.remove(agent).is_some()
            }
        }
    }

    fn put(&mut self, agent: usize, parent: usize, allow: &[usize], deny: &[usize]) -> bool {
        if agent == 0 || agent == parent || !self.0.contains_key(&parent) {
            return false;
        }
        let mut above = self.ancestors(parent);
        above.push(parent);
        if above.contains(&agent) {
            return false;
        }
        let own = self
            .0
            .get(&agent)
            .map(|scope| scope.own.clone())
            .unwrap_or_default();
        let inherited: BTreeSet<usize> = above
            .iter()
            .flat_map(|at| self.0[at].own.difference(&own))
            .copied()
            .collect();
        let matters = |pattern: &usize| {
            inherited
                .iter()
                .any(|tool| PATTERNS[*pattern].1.contains(&TOOLS[*tool]))
        };
        if !allow.iter().chain(deny).all(matters) {
            return false;
        }
        self.0.insert(
            agent,
            Scope {
                parent,
                allow: allow.to_vec(),
                deny: deny.to_vec(),
                own,
            },
        );
        true
    }
}

/// Takes the step for real and says whether it was allowed.
fn take(registry: &ToolRegistry, step: &Step) -> bool {
    let named = |at: &usize| agent(AGENTS[*at]);
    match step {
        Step::Register { scope, tool } => registry
            .register(&named(scope), tool_from(TOOLS[*tool], AGENTS[*scope]))
            .is_ok(),
        Step::Unregister { scope, tool } => registry
            .unregister(&named(scope), &ToolName::parse(TOOLS[*tool]).unwrap())
            .is_ok(),
        Step::Put {
            agent,
            parent,
            allow,
            deny,
        } => {
            let texts = |patterns: &[usize]| {
                patterns
                    .iter()
                    .map(|pattern| PATTERNS[*pattern].0.to_owned())
                    .collect()
            };
            let restrict = Restrict {
                allow: texts(allow),
                deny: texts(deny),
            };
            let none = allow.is_empty() && deny.is_empty();
            let spec = AgentSpec {
                parent: Some(named(parent)),
                restrict: (!none).then_some(restrict),
                ..AgentSpec::new(named(agent))
            };
            registry.put_agent(spec).is_ok()
        }
        Step::Delete { agent } => registry.delete_agent(&named(agent)).is_ok(),
    }
}

fn compare(registry: &ToolRegistry, model: &Model) -> Result<(), TestCaseError> {
    for (at, name) in AGENTS.iter().enumerate().skip(1) {
        let view = registry.agent(&agent(name));
        prop_assert_eq!(view.is_some(), model.0.contains_key(&at));
        let Some(view) = view else { continue };
        let seen: Vec<(String, String)> = view
            .catalogue()
            .tools()
            .iter()
            .map(|tool| (tool.name().to_owned(), tool.definition().source.to_string()))
            .collect();
        let expected: Vec<(String, String)> = model
            .sees(at)
            .into_iter()
            .map(|(tool, scope)| (TOOLS[tool].to_owned(), AGENTS[scope].to_owned()))
            .collect();
        prop_assert_eq!(&seen, &expected, "{}", name);
        for tool in TOOLS {
            let resolved = registry.resolve(&agent(name), tool);
            let source = resolved.map(|tool| tool.definition().source.to_string());
            let expected = expected
                .iter()
                .find(|(name, _)| name == tool)
                .map(|(_, scope)| scope);
            prop_assert_eq!(source.as_ref(), expected);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agents_see_what_the_rules_say(steps in prop::collection::vec(step(), 1..24)) {
        let (registry, mut model) = (ToolRegistry::new(), Model::new());
        for step in &steps {
            prop_assert_eq!(take(&registry, step), model.take(step), "{:?}", step);
            compare(&registry, &model)?;
        }
    }

    #[test]
    fn the_catalogue_is_the_same_bytes_in_whatever_order_tools_come(
        names in prop::collection::btree_set("[A-Za-z0-9_-]{1,12}", 1..12)
            .prop_filter("reserved", |names| !names.contains("run_code")),
        order in any::<prop::sample::Index>(),
    ) {
        let tools: Vec<_> = names.iter().map(|name| tool(name)).collect();
        let mut turned = tools.clone();
        turned.rotate_left(order.index(tools.len()));
        turned.reverse();
        let (at_once, one_by_one) = (ToolRegistry::new(), ToolRegistry::new());
        at_once.register_all(&AgentName::global(), &tools).unwrap();
        for tool in turned {
            one_by_one.register(&AgentName::global(), tool).unwrap();
        }
        let shown = |registry: &ToolRegistry| {
            let view = registry.agent(&AgentName::default_agent()).unwrap();
            (view.catalogue().native().clone(), view.catalogue().etag().to_owned())
        };
        prop_assert_eq!(shown(&at_once), shown(&one_by_one));
    }
}
