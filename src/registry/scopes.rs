//! Owns the scopes and what they mean: layers of tools in chains, shadowing and masks, and the
//! view of each agent that follows from them.
//!
//! Imports `domain`. Values of a moment: a change makes new [`Scopes`] from old ones and shares
//! what stays.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{
    agent::{AgentSpec, Mask, Mode},
    catalogue::Catalogue,
    error::Error,
    tool::Tool,
};
use crate::domain::{AgentName, ApprovalPolicy, ToolName};

/// What an agent is and sees at one moment.
#[derive(Debug)]
pub struct AgentView {
    spec: AgentSpec,
    chain: Vec<AgentName>,
    approval_policy: ApprovalPolicy,
    max_parallel: Option<usize>,
    catalogue: Catalogue,
}

impl AgentView {
    /// The agent as it was declared.
    pub fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    /// The scopes that it consists of, `global` first, itself last.
    pub fn chain(&self) -> &[AgentName] {
        &self.chain
    }

    /// How its tools are presented to the model.
    pub fn mode(&self) -> Mode {
        Mode::default()
    }

    /// The strictest approval policy of its chain.
    pub fn approval_policy(&self) -> ApprovalPolicy {
        self.approval_policy
    }

    /// Most parallel calls of one session at once, when its chain says: the nearest counts.
    pub fn max_parallel(&self) -> Option<usize> {
        self.max_parallel
    }

    /// What it sees.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }
}

/// One scope: an agent, or `global`.
#[derive(Debug, Clone)]
struct Layer {
    spec: AgentSpec,
    mask: Option<Mask>,
    tools: BTreeMap<ToolName, Arc<Tool>>,
}

impl Layer {
    fn plain(name: AgentName) -> Self {
        Self {
            spec: AgentSpec::new(name),
            mask: None,
            tools: BTreeMap::new(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(ToolName::as_str)
    }
}

/// All scopes of one moment, and the views that they give.
#[derive(Debug, Clone)]
pub(super) struct Scopes {
    layers: BTreeMap<AgentName, Arc<Layer>>,
    views: HashMap<AgentName, Arc<AgentView>>,
}

impl Scopes {
    /// `global` and the agent `default`, both empty.
    pub(super) fn new() -> Self {
        let names = [AgentName::global(), AgentName::default_agent()];
        let layer = |name: AgentName| (name.clone(), Arc::new(Layer::plain(name)));
        let mut scopes = Self {
            layers: names.into_iter().map(layer).collect(),
            views: HashMap::new(),
        };
        scopes.look_again(&AgentName::global());
        scopes
    }

    pub(super) fn view(&self, agent: &AgentName) -> Option<&Arc<AgentView>> {
        self.views.get(agent)
    }

    pub(super) fn views(&self) -> impl Iterator<Item = &Arc<AgentView>> {
        self.layers.keys().filter_map(|name| self.views.get(name))
    }

    /// The same scopes with tools added to one layer, all of them or none.
    pub(super) fn with_tools(&self, scope: &AgentName, tools: &[Arc<Tool>]) -> Result<Self, Error> {
        let mut layer = self.layer(scope)?.clone();
        for tool in tools {
            let name = &tool.definition().name;
            if let Some(first) = layer.tools.insert(name.clone(), Arc::clone(tool)) {
                return Err(Error::Conflict {
                    scope: scope.clone(),
                    name: name.clone(),
                    first: first.definition().source.clone(),
                    second: tool.definition().source.clone(),
                });
            }
        }
        Ok(self.with_layer(layer))
    }

    /// The same scopes without one tool of one layer.
    pub(super) fn without_tool(
        &self,
        scope: &AgentName,
        name: &ToolName,
    ) -> Result<(Self, Arc<Tool>), Error> {
        let mut layer = self.layer(scope)?.clone();
        let unknown = || Error::UnknownTool {
            scope: scope.clone(),
            name: name.clone(),
        };
        let tool = layer.tools.remove(name).ok_or_else(unknown)?;
        Ok((self.with_layer(layer), tool))
    }

    /// The same scopes with an agent declared, or declared anew with the tools that it has.
    pub(super) fn with_agent(&self, spec: AgentSpec) -> Result<Self, Error> {
        let agent = &spec.name;
        if agent.is_global() {
            return Err(Error::Global);
        }
        if spec.max_parallel == Some(0) {
            return Err(Error::MaxParallel {
                agent: agent.clone(),
            });
        }
        let parent = spec.parent();
        if !self.layers.contains_key(&parent) {
            return Err(Error::UnknownParent {
                agent: agent.clone(),
                parent,
            });
        }
        let above = self.upwards(&parent);
        if above.iter().any(|layer| layer.spec.name == *agent) {
            return Err(Error::ParentCycle {
                agent: agent.clone(),
                parent,
            });
        }
        let tools = self
            .layers
            .get(agent)
            .map(|layer| layer.tools.clone())
            .unwrap_or_default();
        let mask = match &spec.restrict {
            None => None,
            Some(restrict) => {
                let inherited: Vec<&str> = above.iter().flat_map(|layer| layer.names()).collect();
                let own: Vec<&str> = tools.keys().map(ToolName::as_str).collect();
                Some(Mask::compile(agent, restrict, &inherited, &own)?)
            }
        };
        Ok(self.with_layer(Layer { spec, mask, tools }))
    }

    /// The same scopes without an agent and the tools of its layer.
    pub(super) fn without_agent(&self, agent: &AgentName) -> Result<Self, Error> {
        if agent.is_global() {
            return Err(Error::Global);
        }
        if *agent == AgentName::default_agent() {
            return Err(Error::Default);
        }
        self.layer(agent)?;
        let inherits = |layer: &&Arc<Layer>| layer.spec.parent.as_ref() == Some(agent);
        if let Some(child) = self.layers.values().find(inherits) {
            let child = child.spec.name.clone();
            return Err(Error::HasChild {
                agent: agent.clone(),
                child,
            });
        }
        let mut scopes = self.clone();
        scopes.layers.remove(agent);
        scopes.views.remove(agent);
        Ok(scopes)
    }

    /// The agents that see something else than they did in the scopes before.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<AgentName> {
        let nothing = Catalogue::of(BTreeMap::new());
        let shown = |scopes: &Self, agent: &AgentName| scopes.views.get(agent).map(Arc::clone);
        let changed = |agent: &&AgentName| {
            let (old, new) = (shown(before, agent), shown(self, agent));
            let old = old.as_deref().map_or(&nothing, AgentView::catalogue);
            !new.as_deref()
                .map_or(&nothing, AgentView::catalogue)
                .shows_same(old)
        };
        let gone = before
            .layers
            .keys()
            .filter(|agent| !self.layers.contains_key(*agent));
        self.layers
            .keys()
            .chain(gone)
            .filter(changed)
            .cloned()
            .collect()
    }

    fn layer(&self, scope: &AgentName) -> Result<&Layer, Error> {
        self.layers
            .get(scope)
            .map(Arc::as_ref)
            .ok_or_else(|| Error::UnknownAgent {
                name: scope.clone(),
            })
    }

    fn with_layer(&self, layer: Layer) -> Self {
        let scope = layer.spec.name.clone();
        let mut scopes = self.clone();
        scopes.layers.insert(scope.clone(), Arc::new(layer));
        scopes.look_again(&scope);
        scopes
    }

    /// A scope and those that it inherits from, itself first. Ends: parents make no cycle.
    fn upwards(&self, scope: &AgentName) -> Vec<&Arc<Layer>> {
        let mut chain = Vec::new();
        let mut at = self.layers.get(scope);
        while let Some(layer) = at {
            chain.push(layer);
            at = if layer.spec.name.is_global() {
                None
            } else {
                self.layers.get(&layer.spec.parent())
            };
        }
        chain
    }

    /// Makes the views of a scope and of all that inherit from it anew.
    fn look_again(&mut self, scope: &AgentName) {
        let mut views = Vec::new();
        for agent in self.layers.keys().filter(|name| !name.is_global()) {
            let mut chain = self.upwards(agent);
            if chain.iter().any(|layer| layer.spec.name == *scope) {
                chain.reverse();
                views.extend(view(&chain).map(|view| (agent.clone(), Arc::new(view))));
            }
        }
        self.views.extend(views);
    }
}

/// What the last scope of a chain sees, `global` first.
fn view(chain: &[&Arc<Layer>]) -> Option<AgentView> {
    let mut visible = BTreeMap::new();
    let mut approval_policy = ApprovalPolicy::default();
    let mut max_parallel = None;
    for layer in chain {
        if let Some(mask) = &layer.mask {
            visible.retain(|name: &ToolName, _| mask.lets_through(name.as_str()));
        }
        visible.extend(
            layer
                .tools
                .iter()
                .map(|(name, tool)| (name.clone(), Arc::clone(tool))),
        );
        approval_policy = approval_policy.strictest(layer.spec.approval_policy.unwrap_or_default());
        max_parallel = layer.spec.max_parallel.or(max_parallel);
    }
    Some(AgentView {
        spec: chain.last()?.spec.clone(),
        chain: chain.iter().map(|layer| layer.spec.name.clone()).collect(),
        approval_policy,
        max_parallel,
        catalogue: Catalogue::of(visible),
    })
}
