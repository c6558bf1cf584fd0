//! [`PolicySet`]: the layers in force, as one immutable snapshot.

use std::{collections::HashMap, sync::Arc, time::Duration};

use super::{Effect, Guard, Judgement, Observe, PostExecute, PreExecute};
use crate::domain::{AgentName, Vote};

/// How long a stage's layers may take together before it is a pipeline failure.
const STAGE_DEADLINE: Duration = Duration::from_secs(30);

/// The layers in force. Built once, then shared; replacing policy replaces the whole set.
#[derive(Debug, Clone)]
pub struct PolicySet {
    pre: Vec<Arc<dyn PreExecute>>,
    guards: HashMap<AgentName, Vec<Arc<dyn Guard>>>,
    post: Vec<Arc<dyn PostExecute>>,
    observers: Vec<Arc<dyn Observe>>,
    deadline: Duration,
    effect: Effect,
}

impl PolicySet {
    /// A set without layers: everything is allowed, accepted and unobserved.
    pub fn builder() -> PolicySetBuilder {
        PolicySetBuilder {
            set: Self {
                pre: Vec::new(),
                guards: HashMap::new(),
                post: Vec::new(),
                observers: Vec::new(),
                deadline: STAGE_DEADLINE,
                effect: Effect::None,
            },
        }
    }

    /// Pre-execute layers, outermost first.
    pub fn pre(&self) -> &[Arc<dyn PreExecute>] {
        &self.pre
    }

    /// Post-execute layers, innermost first.
    pub fn post(&self) -> &[Arc<dyn PostExecute>] {
        &self.post
    }

    /// Observers of results.
    pub fn observers(&self) -> &[Arc<dyn Observe>] {
        &self.observers
    }

    /// What the layers of one stage may take together.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Whether judging or reviewing has effects outside the daemon.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The first denial of the guards along a chain of scopes, `global` first.
    pub fn guard<'a>(
        &self,
        chain: impl IntoIterator<Item = &'a AgentName>,
        judgement: Judgement<'_>,
    ) -> Option<Vote> {
        chain
            .into_iter()
            .filter_map(|scope| self.guards.get(scope))
            .flatten()
            .find_map(|guard| guard.check(judgement))
    }
}

/// Collects the layers of a [`PolicySet`].
#[derive(Debug)]
pub struct PolicySetBuilder {
    set: PolicySet,
}

impl PolicySetBuilder {
    /// Adds a pre-execute layer inside those added before.
    #[must_use]
    pub fn pre(mut self, layer: Arc<dyn PreExecute>) -> Self {
        self.note(layer.effect());
        self.set.pre.push(layer);
        self
    }

    /// Adds a guard to a scope; `global` guards come first for every agent.
    #[must_use]
    pub fn guard(mut self, scope: &AgentName, guard: Arc<dyn Guard>) -> Self {
        self.set
            .guards
            .entry(scope.clone())
            .or_default()
            .push(guard);
        self
    }

    /// Adds a post-execute layer outside those added before.
    #[must_use]
    pub fn post(mut self, layer: Arc<dyn PostExecute>) -> Self {
        self.note(layer.effect());
        self.set.post.push(layer);
        self
    }

    fn note(&mut self, effect: Effect) {
        if effect == Effect::Outside {
            self.set.effect = Effect::Outside;
        }
    }

    /// Adds an observer.
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observe>) -> Self {
        self.set.observers.push(observer);
        self
    }

    /// Bounds what the layers of one stage may take together.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.set.deadline = deadline;
        self
    }

    /// The set.
    pub fn build(self) -> PolicySet {
        self.set
    }
}
