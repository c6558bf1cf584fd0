//! The composition root: the only place that names concrete adapters, and the order in which they
//! start and stop.
//!
//! Imports everything; nothing imports it. Holds no behaviour of calls, only their joining.

pub mod offline;
mod run;
mod tokens;

use std::{net::SocketAddr, ops::RangeInclusive, path::Path, sync::Arc, time::Duration};

use anyhow::Context as _;

pub use run::{run, serve};

use crate::{
    approval::Desk,
    config::{AgentConfig, Config},
    domain::{AgentName, Clock, EventDraft, EventType, IdSource, Subject, SystemClock, SystemIds},
    http::{self, About, HttpState, Serving},
    journal::{Interest, Journal, Publish, Store, Tail, TailLimits},
    pipeline::{self, AroundLayer, Pipeline},
    policy::PolicySet,
    registry::{AgentSpec, Restrict, Tool, ToolRegistry},
    scheduler::{self, Scheduler, Settings},
    store::sqlite::SqliteStore,
    tasks::Tasks,
    telemetry::Telemetry,
    tools::files::{self, WorkspaceRoot, WorkspaceSettings},
};

/// How long connections may take to write what they hold once all calls have their results: what
/// is left of the drain, within these.
const LAST_WORDS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(2);

/// A daemon to be started: a configuration, and what an embedder adds to it or puts in its place.
#[derive(Debug)]
pub struct Builder {
    config: Config,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    listener: Option<std::net::TcpListener>,
    tools: Vec<(AgentName, Arc<Tool>)>,
    policy: PolicySet,
    around: Vec<AroundLayer>,
}

impl Builder {
    /// The daemon that the configuration describes.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(SystemIds),
            listener: None,
            tools: Vec::new(),
            policy: PolicySet::builder().build(),
            around: Vec::new(),
        }
    }

    /// Registers a tool in a scope: `global`, or an agent of the configuration.
    #[must_use]
    pub fn tool(mut self, scope: AgentName, tool: Arc<Tool>) -> Self {
        self.tools.push((scope, tool));
        self
    }

    /// The layers on the seams around a body.
    #[must_use]
    pub fn policy(mut self, policy: PolicySet) -> Self {
        self.policy = policy;
        self
    }

    /// Adds a wrapper around bodies, inside those added before.
    #[must_use]
    pub fn around(mut self, layer: AroundLayer) -> Self {
        self.around.push(layer);
        self
    }

    /// Another clock than the machine's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Other ids than random ones.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdSource>) -> Self {
        self.ids = ids;
        self
    }

    /// A socket that listens already, in place of `server.listen`.
    #[must_use]
    pub fn listener(mut self, listener: std::net::TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Starts everything in order; when it returns, the daemon answers. Must run inside a tokio
    /// runtime.
    ///
    /// # Errors
    /// What could not be started, and why. Nothing is left running.
    pub async fn start(mut self) -> anyhow::Result<Daemon> {
        tokens::prepare(&mut self.config)?;
        let listener = self.bind()?;
        let journal = self.journal()?;
        let started = self.start_on(listener, journal.clone()).await;
        if started.is_err() {
            // The first error is the one to tell; what is recorded is kept either way.
            drop(journal.store().close().await);
        }
        started
    }

    async fn start_on(
        mut self,
        listener: tokio::net::TcpListener,
        journal: Journal,
    ) -> anyhow::Result<Daemon> {
        let tasks = Tasks::new();
        let telemetry = Telemetry::new();
        let registry = self.registry(&tasks).await?;
        let configured = self.config.agents.iter().map(|agent| agent.name.clone());
        let configured = configured.collect();
        http::restore_agents(&registry, &journal, &configured)
            .await
            .context("agents of the store")?;
        announce_changes(&registry, &journal);
        let scheduler = self.scheduler(&registry, &journal, &tasks, &telemetry)?;
        let closed = scheduler
            .recover()
            .await
            .context("closing what an earlier daemon left")?;
        if closed > 0 {
            tracing::warn!(calls = closed, "calls of an earlier daemon were closed");
        }
        let (config, clock) = (self.config, self.clock);
        let state = HttpState::new(http::Parts {
            server: config.server.clone(),
            auth: config.auth,
            streams: config.streams,
            scheduler: scheduler.clone(),
            registry,
            configured,
            journal: journal.clone(),
            telemetry,
            clock: Arc::clone(&clock),
            about: About::new(&journal),
        });
        // Last of what can fail; whoever reads it early waits in the listener's backlog.
        if let Some(file) = &config.server.address_file {
            write_address(file, listener.local_addr()?)?;
        }
        let serving = Serving::start(listener, &state).context("serving")?;
        let address = serving.address();
        Ok(Daemon {
            address,
            drain: config.server.drain,
            clock,
            serving,
            scheduler,
            journal,
            tasks,
        })
    }

    fn journal(&self) -> anyhow::Result<Journal> {
        let streams = &self.config.streams;
        let tail = Tail::new(TailLimits {
            events: streams.reader_events,
            bytes: streams.reader_bytes,
        });
        let publish: Arc<dyn Publish> = Arc::new(tail.clone());
        let clock = Arc::clone(&self.clock);
        let kept = &self.config.store;
        let store = SqliteStore::open(&kept.path, kept.durability, publish, clock, &*self.ids)?;
        let store: Arc<dyn Store> = Arc::new(store);
        Ok(Journal::new(store, tail, Arc::clone(&self.clock)))
    }

    /// Tools first, so that the masks of agents have something to match.
    async fn registry(&self, tasks: &Tasks) -> anyhow::Result<ToolRegistry> {
        let registry = ToolRegistry::new();
        let (settings, owned) = (workspace(&self.config), tasks.clone());
        let shipped = tasks.blocking(move || shipped(&settings, &owned)).await??;
        registry.register_all(&AgentName::global(), &shipped)?;
        self.register_own(&registry, &AgentName::global())?;
        let default = AgentName::default_agent();
        let is_declared = self.config.agents.iter().any(|agent| agent.name == default);
        if !is_declared {
            self.register_own(&registry, &default)?;
        }
        for agent in &self.config.agents {
            registry.put_agent(declared(agent))?;
            self.register_own(&registry, &agent.name)?;
        }
        for (scope, tool) in &self.tools {
            let name = tool.name();
            anyhow::ensure!(
                scope.is_global() || registry.agent(scope).is_some(),
                "the tool {name} was given to the agent {scope}, which is not configured"
            );
        }
        Ok(registry)
    }

    /// Registers the embedder's tools of one scope.
    fn register_own(&self, registry: &ToolRegistry, scope: &AgentName) -> anyhow::Result<()> {
        for (_, tool) in self.tools.iter().filter(|(own, _)| own == scope) {
            registry.register(scope, Arc::clone(tool))?;
        }
        Ok(())
    }

    fn scheduler(
        &mut self,
        registry: &ToolRegistry,
        journal: &Journal,
        tasks: &Tasks,
        telemetry: &Telemetry,
    ) -> anyhow::Result<Scheduler> {
        let pipeline = Pipeline::new(pipeline::Parts {
            registry: registry.clone(),
            policy: self.policy.clone(),
            desk: Desk,
            journal: journal.clone(),
            clock: Arc::clone(&self.clock),
            telemetry: telemetry.clone(),
            around: std::mem::take(&mut self.around),
        });
        let root = &self.config.workspace.root;
        Ok(Scheduler::new(scheduler::Parts {
            pipeline,
            registry: registry.clone(),
            journal: journal.clone(),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            tasks: tasks.clone(),
            telemetry: telemetry.clone(),
            settings: Settings {
                max_calls: self.config.server.max_calls,
                approval_policy: self.config.approvals.policy,
                workspace_root: root
                    .canonicalize()
                    .with_context(|| format!("workspace.root {}", root.display()))?,
            },
        }))
    }

    fn bind(&mut self) -> anyhow::Result<tokio::net::TcpListener> {
        let listen = self.config.server.listen;
        let listener = match self.listener.take() {
            Some(listener) => listener,
            None => std::net::TcpListener::bind(listen).with_context(|| {
                format!("server.listen {listen}: choose a free address, or stop what uses it")
            })?,
        };
        listener.set_nonblocking(true)?;
        Ok(tokio::net::TcpListener::from_std(listener)?)
    }
}

fn workspace(config: &Config) -> WorkspaceSettings {
    WorkspaceSettings {
        root: config.workspace.root.clone(),
        deny_read: config.workspace.deny_read.clone(),
        deny_write: config.workspace.deny_write.clone(),
        ask_read: config.workspace.ask_read.clone(),
        protected: config.protected_paths(),
    }
}

/// The tools that ship, over the workspace. Blocks while the root is opened.
fn shipped(settings: &WorkspaceSettings, tasks: &Tasks) -> anyhow::Result<Vec<Arc<Tool>>> {
    let root = Arc::new(WorkspaceRoot::open(settings)?);
    let tools = files::builtin(&root, tasks).into_iter();
    tools
        .map(|(definition, body)| Ok(Tool::new(definition, body)?))
        .collect()
}

fn declared(agent: &AgentConfig) -> AgentSpec {
    AgentSpec {
        name: agent.name.clone(),
        parent: agent.parent.clone(),
        restrict: agent.restrict.as_ref().map(|r| Restrict {
            allow: r.allow.clone(),
            deny: r.deny.clone(),
        }),
        approval_policy: agent.approval_policy,
        max_parallel: agent.max_parallel,
    }
}

/// Turns every change of a visible set into `tools/change`.
fn announce_changes(registry: &ToolRegistry, journal: &Journal) {
    let (catalogues, journal) = (registry.clone(), journal.clone());
    registry.on_change(Arc::new(move |agents| {
        for agent in agents {
            journal.live(&Interest::All, || {
                let view = catalogues.agent(agent);
                let etag = view.as_ref().map(|view| view.catalogue().etag());
                EventDraft::new(EventType::ToolsChange, Subject::agent(agent), |w| {
                    w.string_opt("etag", etag);
                })
            });
        }
    }));
}

fn write_address(file: &Path, address: SocketAddr) -> anyhow::Result<()> {
    // Written aside and renamed, so that whoever waits for it never reads half an address.
    let aside = file.with_extension("new");
    let written = std::fs::write(&aside, format!("{address}\n"));
    written
        .and_then(|()| std::fs::rename(&aside, file))
        .with_context(|| format!("server.address_file {}", file.display()))
}

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    address: SocketAddr,
    drain: Duration,
    clock: Arc<dyn Clock>,
    serving: Serving,
    scheduler: Scheduler,
    journal: Journal,
    tasks: Tasks,
}

impl Daemon {
    /// Where it listens; the port is the chosen one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The orderly stop: no new calls, those under way finish within `server.drain` or are
    /// cancelled, every result is written, streams end, the store is closed. Where bodies end
    /// when they are told to and clients read, it is over with the drain.
    ///
    /// # Errors
    /// When the store could not be closed cleanly, or bodies did not come to rest; nothing
    /// recorded is lost.
    pub async fn stop(self) -> anyhow::Result<()> {
        let begun = self.clock.monotonic();
        let left = self.scheduler.drain(self.drain).await;
        let (least, most) = LAST_WORDS.into_inner();
        let remaining = self
            .drain
            .saturating_sub(self.clock.monotonic().since(begun));
        // What waits for a body that does not end waits in vain.
        let patience = if left == 0 {
            remaining.clamp(least, most)
        } else {
            least
        };
        self.serving.stop(patience).await;
        let at_rest = tokio::time::timeout(patience, self.tasks.stop()).await;
        if at_rest.is_err() {
            tracing::error!("work was left behind that did not come to rest");
        }
        // Some may have come to rest meanwhile.
        let left = self.scheduler.live();
        self.journal
            .store()
            .close()
            .await
            .context("closing the store")?;
        anyhow::ensure!(
            left == 0,
            "{left} calls did not come to rest; the next start closes them with the truth"
        );
        Ok(())
    }
}
