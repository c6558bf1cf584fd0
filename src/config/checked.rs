//! What the configuration means: every value parsed, every name known.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use globset::GlobMatcher;

use super::problem::Place;
use crate::domain::{AgentName, ApprovalPolicy};

/// The whole configuration, checked. Every path in it is absolute.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file it was read from, if any.
    pub file: Option<PathBuf>,
    /// Where the generated tokens live, and the store unless it was put elsewhere.
    pub state_dir: PathBuf,
    /// What is logged, in the words of `TOOLD_LOG`, which nobody has checked yet; none means the
    /// daemon's own default.
    pub log_filter: Option<String>,
    /// `[server]`.
    pub server: Server,
    /// `[store]`.
    pub store: StoreConfig,
    /// `[auth]`.
    pub auth: Auth,
    /// `[workspace]`.
    pub workspace: WorkspaceConfig,
    /// `[approvals]`.
    pub approvals: Approvals,
    /// `[agents.*]`, parents before children.
    pub agents: Vec<AgentConfig>,
    /// `[streams]`.
    pub streams: Streams,
}

impl Config {
    /// The daemon's own files and directories, which no tool may reach wherever they lie: state,
    /// store with its companions, configuration, token files, address file. Some may not exist.
    pub fn protected_paths(&self) -> Vec<PathBuf> {
        let beside_store = ["", "-wal", "-shm", "-journal"].map(|suffix| {
            let mut path = self.store.path.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        });
        std::iter::once(&self.state_dir)
            .chain(&beside_store)
            .chain(&self.file)
            .chain(&self.auth.files)
            .chain(&self.server.address_file)
            .cloned()
            .collect()
    }
}

/// `[server]`.
#[derive(Debug, Clone)]
pub struct Server {
    /// Address to bind; port 0 picks one.
    pub listen: SocketAddr,
    /// Where the chosen address is written.
    pub address_file: Option<PathBuf>,
    /// Largest request body in bytes.
    pub max_body: usize,
    /// Longest wait for a call's result.
    pub max_wait: Duration,
    /// How long a stop lets calls finish.
    pub drain: Duration,
    /// Host names beside loopback's.
    pub allowed_hosts: Vec<String>,
    /// Origins beside the daemon's own.
    pub allowed_origins: Vec<String>,
    /// Most connections at once; more wait to be accepted.
    pub max_connections: usize,
    /// Most calls under way at once; more are answered `OVERLOADED`.
    pub max_calls: usize,
}

/// What a record survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The daemon's death.
    Process,
    /// Loss of power: one sync per commit group.
    Power,
}

impl Durability {
    /// Both modes.
    pub const ALL: [Self; 2] = [Self::Process, Self::Power];

    /// The word in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Power => "power",
        }
    }
}

/// `[store]`.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The database file.
    pub path: PathBuf,
    /// What a record survives.
    pub durability: Durability,
}

/// `[auth]`.
#[derive(Debug, Clone)]
pub struct Auth {
    /// The configured tokens; none means that two are generated and only loopback may be bound.
    pub tokens: Vec<TokenSpec>,
    /// The files that tokens were read from.
    pub files: Vec<PathBuf>,
}

/// One token.
#[derive(Debug, Clone)]
pub struct TokenSpec {
    /// The principal.
    pub name: Arc<str>,
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// What it may do.
    pub permissions: Permissions,
    /// The agents that it may touch.
    pub agents: Vec<GlobMatcher>,
}

/// One permission (proto-docs/routes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Sessions, calls, batches, spill of its agents.
    Call,
    /// Watching.
    Events,
    /// Deciding approvals.
    Approve,
    /// Agents, tools, workers.
    Register,
    /// Sealed records.
    Audit,
    /// Reload, configuration, metrics.
    Admin,
}

impl Permission {
    /// Every permission.
    pub const ALL: &'static [Self] = &[
        Self::Call,
        Self::Events,
        Self::Approve,
        Self::Register,
        Self::Audit,
        Self::Admin,
    ];

    /// The wire word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Events => "events",
            Self::Approve => "approve",
            Self::Register => "register",
            Self::Audit => "audit",
            Self::Admin => "admin",
        }
    }

    /// The permission of a wire word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.as_str() == text)
    }

    fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A set of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions(u8);

impl Permissions {
    /// Whether it holds one of these.
    pub fn any(self, of: &[Permission]) -> bool {
        of.iter().any(|p| self.0 & p.bit() != 0)
    }

    /// Its members, in the order of [`Permission::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |p| self.any(&[*p]))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().fold(0, |set, p| set | p.bit()))
    }
}

/// `[workspace]`.
#[derive(Debug, Clone)]
pub struct WorkspaceConfig {
    /// The root directory, absolute.
    pub root: PathBuf,
    /// Globs over paths relative to the root that file tools never read.
    pub deny_read: Vec<String>,
    /// … never write.
    pub deny_write: Vec<String>,
    /// … read only with a person's consent.
    pub ask_read: Vec<String>,
}

/// `[approvals]`.
#[derive(Debug, Clone)]
pub struct Approvals {
    /// The loosest approval policy of all sessions.
    pub policy: ApprovalPolicy,
}

/// `[agents.NAME]`.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// Its name.
    pub name: AgentName,
    /// Where its mask was typed, or else its section.
    pub place: Place,
    /// The scope that it inherits from; `global` when none is named.
    pub parent: Option<AgentName>,
    /// Mask over what it inherits.
    pub restrict: Option<Restrict>,
    /// Its approval policy; may only tighten.
    pub approval_policy: Option<ApprovalPolicy>,
    /// Most parallel calls of one of its sessions at once.
    pub max_parallel: Option<usize>,
}

/// A mask over inherited tools: globs over names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Restrict {
    /// Only these; empty means all.
    pub allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

/// `[streams]`.
#[derive(Debug, Clone)]
pub struct Streams {
    /// Comment heartbeat of every stream.
    pub heartbeat: Duration,
    /// A live reader further behind is lagged, in events.
    pub reader_events: usize,
    /// … in bytes of frames.
    pub reader_bytes: usize,
}
