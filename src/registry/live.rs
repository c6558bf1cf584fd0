//! Owns the registry that the daemon shares: one snapshot of all scopes, replaced whole.
//!
//! Imports `domain`. Readers never wait; writers wait for one another for the few lines of a
//! change, never across an await. Judges nothing and runs nothing.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;

use super::{
    agent::AgentSpec,
    error::Error,
    scopes::{AgentView, Scopes},
    tool::Tool,
};
use crate::domain::{AgentName, ToolName};

/// What became of a captured tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The agent still sees this definition under its name.
    Same,
    /// The agent sees another definition under its name.
    Changed,
    /// The agent sees no tool of this name, or is gone itself.
    Gone,
}

/// Told which agents see something else than before.
pub type ChangeListener = Arc<dyn Fn(&[AgentName]) + Send + Sync>;

/// Tools in scopes, as agents see them. A cheap handle; clones share the registry.
///
/// The agent `default` always exists. A view or tool that was read stays as it was; what was
/// captured can be compared with what is visible now ([`still`](Self::still)).
#[derive(Clone)]
pub struct ToolRegistry(Arc<Shared>);

struct Shared {
    scopes: ArcSwap<Scopes>,
    listeners: ArcSwap<Vec<ChangeListener>>,
    changing: Mutex<()>,
}

impl ToolRegistry {
    /// An empty registry.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            scopes: ArcSwap::from_pointee(Scopes::new()),
            listeners: ArcSwap::default(),
            changing: Mutex::new(()),
        }))
    }

    /// Adds a tool to the layer of a scope: `global` or an agent.
    ///
    /// # Errors
    /// [`Error::UnknownAgent`]; [`Error::Conflict`] when the layer has a tool of this name.
    pub fn register(&self, scope: &AgentName, tool: Arc<Tool>) -> Result<(), Error> {
        self.register_all(scope, &[tool])
    }

    /// Adds tools to the layer of a scope in one change, all of them or none.
    ///
    /// # Errors
    /// As for [`register`](Self::register), also for two of one name among them.
    pub fn register_all(&self, scope: &AgentName, tools: &[Arc<Tool>]) -> Result<(), Error> {
        self.change(|scopes| Ok((scopes.with_tools(scope, tools)?, ())))
    }

    /// Takes a tool out of the layer of a scope and returns it. Executions that captured it keep
    /// it.
    ///
    /// # Errors
    /// [`Error::UnknownAgent`], [`Error::UnknownTool`].
    pub fn unregister(&self, scope: &AgentName, name: &ToolName) -> Result<Arc<Tool>, Error> {
        self.change(|scopes| scopes.without_tool(scope, name))
    }

    /// Declares an agent, or declares it anew; the tools of its layer stay. A pattern of its mask
    /// must match a tool that a scope above registers now, so register tools first.
    ///
    /// # Errors
    /// [`Error::Global`], [`Error::UnknownParent`], [`Error::ParentCycle`],
    /// [`Error::MaxParallel`], [`Error::EmptyRestrict`], [`Error::Glob`],
    /// [`Error::RestrictReserved`], [`Error::RestrictOwn`], [`Error::RestrictUnmatched`].
    pub fn put_agent(&self, spec: AgentSpec) -> Result<(), Error> {
        self.change(|scopes| Ok((scopes.with_agent(spec)?, ())))
    }

    /// Removes an agent and the tools of its layer.
    ///
    /// # Errors
    /// [`Error::Global`], [`Error::Default`], [`Error::UnknownAgent`], [`Error::HasChild`].
    pub fn delete_agent(&self, agent: &AgentName) -> Result<(), Error> {
        self.change(|scopes| Ok((scopes.without_agent(agent)?, ())))
    }

    /// Every agent, by name; `global` is none.
    pub fn agents(&self) -> Vec<Arc<AgentView>> {
        self.0.scopes.load().views().map(Arc::clone).collect()
    }

    /// An agent as it is now.
    pub fn agent(&self, agent: &AgentName) -> Option<Arc<AgentView>> {
        self.0.scopes.load().view(agent).map(Arc::clone)
    }

    /// The tool that a name means for an agent now. Two hash lookups, no allocation.
    pub fn resolve(&self, agent: &AgentName, name: &str) -> Option<Arc<Tool>> {
        self.0
            .scopes
            .load()
            .view(agent)?
            .catalogue()
            .get(name)
            .map(Arc::clone)
    }

    /// Up to three visible names that may have been meant by one that means nothing.
    pub fn suggest(&self, agent: &AgentName, name: &str) -> Vec<ToolName> {
        let scopes = self.0.scopes.load();
        scopes
            .view(agent)
            .map(|view| view.catalogue().suggest(name))
            .unwrap_or_default()
    }

    /// Whether an agent still sees a tool that was captured before: the same
    /// definition by hash.
    pub fn still(&self, agent: &AgentName, captured: &Tool) -> Presence {
        match self.resolve(agent, captured.name()) {
            Some(tool) if tool.hash() == captured.hash() => Presence::Same,
            Some(_) => Presence::Changed,
            None => Presence::Gone,
        }
    }

    /// Adds a listener. It is called after every change of a visible set with the agents that it
    /// concerns, by whoever made the change, outside all locks; it must be quick. Two changes at
    /// once may be told in either order, so it looks at the registry for what is.
    pub fn on_change(&self, listener: ChangeListener) {
        let _changing = self.alone();
        let mut listeners = Vec::clone(&self.0.listeners.load());
        listeners.push(listener);
        self.0.listeners.store(Arc::new(listeners));
    }

    fn alone(&self) -> MutexGuard<'_, ()> {
        // It guards no data: a writer that panicked has left the old snapshot.
        self.0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&Scopes) -> Result<(Scopes, T), Error>,
    ) -> Result<T, Error> {
        let (concerned, answer) = {
            let _changing = self.alone();
            let before = self.0.scopes.load_full();
            let (after, answer) = change(&before)?;
            let concerned = after.changed_since(&before);
            self.0.scopes.store(Arc::new(after));
            (concerned, answer)
        };
        if !concerned.is_empty() {
            for listener in self.0.listeners.load().iter() {
                listener(&concerned);
            }
        }
        Ok(answer)
    }
}

impl Default for ToolRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes = self.0.scopes.load();
        let tools = |view: &Arc<AgentView>| view.catalogue().tools().len();
        let agents = scopes.views().map(|view| (&view.spec().name, tools(view)));
        f.debug_map().entries(agents).finish()
    }
}
