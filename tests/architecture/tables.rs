//! The tables that the architecture test enforces; ARCHITECTURE.md explains them.
//!
//! To change one is to change the architecture: one commit, with its reason. No rule lives here.

/// A module, and the modules above it that it may import, separated by blanks.
pub(crate) type Row = (&'static str, &'static str);

/// May import every row above itself.
pub(crate) const EVERYTHING: &str = "*";

/// Who may import whom. Each row names only rows above it, so no cycle can be written.
///
/// Inside a row everything may import everything. The rows of `OPEN` need no mention.
pub(crate) const DIRECTION: &[Row] = &[
    ("domain", ""),
    ("config", ""),
    ("telemetry", ""),
    ("tasks", ""),
    ("journal", ""),
    ("registry", ""),
    ("outbound", ""),
    ("policy", "registry"),
    ("spill", "policy"),
    ("approval", "journal policy registry"),
    ("notify", "approval outbound"),
    ("pipeline", "journal registry policy approval"),
    ("scheduler", "journal registry approval pipeline"),
    ("store", "journal spill"),
    ("sandbox", ""),
    ("tools", "registry spill sandbox outbound"),
    ("hooks", "policy sandbox outbound"),
    ("provider", ""),
    ("code", "registry sandbox outbound provider"),
    ("worker", "registry sandbox outbound provider"),
    ("mcp::client", "registry sandbox outbound provider"),
    (
        "mcp::server",
        "journal registry approval scheduler provider",
    ),
    (
        "http",
        "journal spill registry policy approval scheduler provider worker",
    ),
    ("console", ""),
    ("cli", ""),
    ("app", EVERYTHING),
];

/// Open to every row below them: pure data, settings, signals, and owned background work.
pub(crate) const OPEN: &[&str] = &["domain", "config", "telemetry", "tasks"];

/// What `main.rs` may import, and nothing else. `lib.rs` holds the map and is free.
pub(crate) const MAIN: &[&str] = &["app", "cli", "config", "telemetry"];

/// `(module, path)`: a single door into a room that the module may not otherwise enter.
pub(crate) const OPENINGS: &[(&str, &str)] = &[
    // `toold check` and its like need the whole daemon, put together but not started
    ("cli", "app::offline"),
];

/// External paths and the only rows that may name them.
pub(crate) struct Confined {
    pub(crate) paths: &'static [&'static str],
    /// Separated by blanks; `main` is `main.rs`.
    pub(crate) rooms: &'static str,
    pub(crate) why: &'static str,
}

/// The longest path that fits decides, so an exception is a longer path.
pub(crate) const CONFINED: &[Confined] = &[
    Confined {
        paths: &["axum", "tower_http", "hyper", "hyper_util"],
        rooms: "http mcp::server console app",
        why: "routes and connections live at the edge",
    },
    Confined {
        paths: &["utoipa", "utoipa_axum"],
        rooms: "http",
        why: "the public document is made from routes and wire types",
    },
    Confined {
        paths: &["reqwest"],
        rooms: "outbound cli",
        why: "there is one outbound client, and the command line that speaks to a daemon",
    },
    Confined {
        paths: &["rusqlite"],
        rooms: "store",
        why: "SQL stays behind the port `Store`",
    },
    Confined {
        paths: &["jsonschema"],
        rooms: "registry",
        why: "schemas are compiled once, at registration",
    },
    Confined {
        paths: &["clap", "clap_complete"],
        rooms: "cli",
        why: "only the command line reads arguments",
    },
    Confined {
        paths: &["toml", "std::env"],
        rooms: "config",
        why: "config is the only reader of the file and of the environment",
    },
    Confined {
        paths: &["std::env::args", "std::env::args_os"],
        rooms: "main cli",
        why: "the command line begins there",
    },
    Confined {
        paths: &["anyhow"],
        rooms: "main app cli",
        why: "modules have an `Error` of their own",
    },
    Confined {
        paths: &["prometheus_client", "tracing_subscriber"],
        rooms: "telemetry",
        why: "every metric name stands once, and one place decides where logs go",
    },
    Confined {
        paths: &["std::process", "tokio::process"],
        rooms: "sandbox",
        why: "a process is confined before it starts",
    },
    Confined {
        paths: &["std::process::ExitCode"],
        rooms: "main app cli",
        why: "main returns how it went",
    },
    Confined {
        paths: &["tokio::runtime"],
        rooms: "main app cli tasks",
        why: "a handle to the runtime can spawn",
    },
    Confined {
        paths: &[
            "tokio::spawn",
            "tokio::task::spawn",
            "tokio::task::spawn_blocking",
            "tokio::task::spawn_local",
            "tokio::task::block_in_place",
            "tokio::task::Builder",
            "tokio::task::JoinSet",
            "tokio::task::LocalSet",
            "tokio_util::task::TaskTracker",
            "hyper_util::rt::TokioExecutor",
            "std::thread::spawn",
            "std::thread::Builder",
        ],
        rooms: "tasks",
        why: "background work is owned, stopped and joined: use `crate::tasks`",
    },
];

/// The longest file.
pub(crate) const LINES: usize = 500;

/// Names that say nothing.
pub(crate) const SHELVES: &[&str] = &[
    "utils", "util", "common", "helpers", "manager", "types", "misc",
];
