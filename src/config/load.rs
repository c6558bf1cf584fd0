//! From file and environment to a checked [`Config`], or every problem at once.
//!
//! Imports everything of `config`. Which keys exist, their defaults and their bounds are here, and
//! in `tokens` and `agents`.

use std::{
    fs,
    io::Read,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    agents,
    checked::{Approvals, Config, Durability, Server, StoreConfig, Streams, WorkspaceConfig},
    environment::Environment,
    problem::{Place, Problem, Problems},
    raw::{self, Node, Table},
    section::Section,
    tokens::{self, Issuer},
    value,
};

/// Where the daemon listens, and the command line looks for it, when nothing else is said.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878);
const NOT_LOOPBACK: &str = "this address is open to the network and no token is configured; \
    add [[auth.tokens]] (`toold token new` makes one), or listen on 127.0.0.1";
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const DAY: Duration = Duration::from_hours(24);
/// Largest configuration file, in bytes.
const MAX_FILE: u64 = MIB;

/// Sections of the configuration that this version does not have.
const UNAVAILABLE: &[&str] = &[
    "spill",
    "sandbox",
    "rules",
    "policy",
    "limits",
    "guards",
    "screens",
    "tools",
    "mcp",
    "hooks",
    "audit",
    "workers",
    "telemetry",
    "tls",
    "code_mode",
];

impl Config {
    /// Reads the file, if one is named, lays the environment's `TOOLD_…` variables over it and
    /// checks all of it. Reads token files besides, and looks whether the workspace is there.
    ///
    /// # Errors
    /// Everything that is wrong, in the file's order, then the environment's.
    pub fn load(file: Option<&Path>, environment: &Environment) -> Result<Self, Vec<Problem>> {
        let problems = Problems::default();
        let mut tree = match file {
            Some(path) => read_file(path, &problems)?,
            None => Table::new(),
        };
        environment.overlay(&mut tree, &problems);
        let config = check(tree, &problems, file, environment);
        let found = problems.sorted();
        if found.is_empty() {
            Ok(config)
        } else {
            Err(found)
        }
    }

    /// Reads the file, if one is named, and this process's own environment.
    ///
    /// # Errors
    /// As [`load`](Self::load); also when the current directory is gone.
    pub fn from_process(file: Option<&Path>) -> Result<Self, Vec<Problem>> {
        let environment = Environment::of_process().map_err(|error| {
            let message = format!("the current directory cannot be read: {error}");
            vec![Problem::bare(Place::Process, message)]
        })?;
        Self::load(file, &environment)
    }
}

fn read_file(path: &Path, problems: &Problems) -> Result<Table, Vec<Problem>> {
    let fault = |message: String| vec![Problem::bare(Place::Whole(path.into()), message)];
    let unreadable = |error| fault(format!("the configuration cannot be read: {error}"));
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(fault(
            "over 1 MiB long, which is no configuration of toold".to_owned(),
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        fault(format!("not UTF-8, from byte {at} on; TOML is UTF-8"))
    })?;
    raw::parse(path, &text, |problem| problems.add(problem))
}

fn check(
    tree: Table,
    problems: &Problems,
    file: Option<&Path>,
    environment: &Environment,
) -> Config {
    let mut root = Section::root(tree, problems);
    let (auth, issuer) = tokens::read(root.section("auth"), environment);
    let server = server(root.section("server"), issuer, environment);
    let (store_path, durability) = store(root.section("store"), environment);
    let workspace = workspace(root.section("workspace"), environment);
    let approvals = approvals(root.section("approvals"));
    let agents = agents::read(root.section("agents"));
    let streams = streams(root.section("streams"));
    root.unavailable(UNAVAILABLE);
    root.finish();

    let state_dir = environment.state_dir().unwrap_or_else(|problem| {
        if issuer == Issuer::Generated || store_path.is_none() {
            problems.add(problem);
        }
        let beside = store_path.as_deref().and_then(Path::parent);
        beside
            .map(|directory| directory.join("toold"))
            .unwrap_or_default()
    });
    let path = store_path.unwrap_or_else(|| state_dir.join("toold.db"));
    Config {
        file: file.map(|file| environment.absolute(file)),
        state_dir,
        log_filter: environment.get("TOOLD_LOG").map(str::to_owned),
        server,
        store: StoreConfig { path, durability },
        auth,
        workspace,
        approvals,
        agents,
        streams,
    }
}

fn server(mut section: Section<'_>, issuer: Issuer, environment: &Environment) -> Server {
    let absolute = |node: &Node| value::path(node).map(|path| environment.absolute(path));
    let listen = section.optional("listen", value::address).unwrap_or(LISTEN);
    if issuer == Issuer::Generated && !listen.ip().to_canonical().is_loopback() {
        section.refuse("listen", NOT_LOOPBACK);
    }
    let wait = Duration::ZERO..=DAY;
    let server = Server {
        listen,
        address_file: section.optional("address_file", absolute),
        max_body: section
            .optional("max_body", |node| value::size(node, KIB..=GIB))
            .unwrap_or(4 << 20),
        max_wait: section
            .optional("max_wait", |node| value::duration(node, wait.clone()))
            .unwrap_or(Duration::from_mins(10)),
        drain: section
            .optional("drain", |node| value::duration(node, wait))
            .unwrap_or(Duration::from_secs(30)),
        allowed_hosts: section
            .list("allowed_hosts", value::host)
            .unwrap_or_default(),
        allowed_origins: section
            .list("allowed_origins", value::origin)
            .unwrap_or_default(),
        max_connections: section
            .optional("max_connections", |node| value::count(node, 1..=1_000_000))
            .unwrap_or(4096),
        max_calls: section
            .optional("max_calls", |node| value::count(node, 1..=1_000_000))
            .unwrap_or(1024),
    };
    section.unavailable(&["runtime_command_tools"]);
    section.finish();
    server
}

fn store(mut section: Section<'_>, environment: &Environment) -> (Option<PathBuf>, Durability) {
    let url = section.optional("url", value::store_url);
    let durability = section.optional("durability", value::durability);
    section.unavailable(&["retention", "retention_events", "inline_value"]);
    section.finish();
    (
        url.map(|path| environment.absolute(&path)),
        durability.unwrap_or(Durability::Process),
    )
}

fn workspace(mut section: Section<'_>, environment: &Environment) -> WorkspaceConfig {
    let root = section.optional("root", |node| {
        let root = environment.absolute(value::path(node)?);
        let is_there = fs::metadata(&root).is_ok_and(|found| found.is_dir());
        is_there.then(|| root.clone()).ok_or_else(|| {
            format!(
                "{} is not a directory; make it, or name another",
                root.display()
            )
        })
    });
    let mut globs = |key| section.list(key, value::path_glob).unwrap_or_default();
    let workspace = WorkspaceConfig {
        root: root.unwrap_or_else(|| environment.absolute(Path::new("."))),
        deny_read: globs("deny_read"),
        deny_write: globs("deny_write"),
        ask_read: globs("ask_read"),
    };
    section.finish();
    workspace
}

fn approvals(mut section: Section<'_>) -> Approvals {
    let policy = section
        .optional("policy", value::approval_policy)
        .unwrap_or_default();
    section.unavailable(&["expires", "wait_for_approver", "self_approval", "notify"]);
    section.finish();
    Approvals { policy }
}

fn streams(mut section: Section<'_>) -> Streams {
    // Proxies cut a silent connection after a minute or so: a rarer heartbeat would keep none.
    let beat = Duration::from_millis(10)..=Duration::from_mins(1);
    let streams = Streams {
        heartbeat: section
            .optional("heartbeat", |node| value::duration(node, beat))
            .unwrap_or(Duration::from_secs(15)),
        reader_events: section
            .optional("reader_events", |node| value::count(node, 1..=10_000_000))
            .unwrap_or(10_000),
        reader_bytes: section
            .optional("reader_bytes", |node| value::size(node, KIB..=GIB))
            .unwrap_or(8 << 20),
    };
    section.finish();
    streams
}
