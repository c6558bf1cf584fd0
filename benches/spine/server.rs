//! The servers under load, each a process of its own.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use axum::{
    Router, body::Bytes, http::header::CONTENT_TYPE, response::IntoResponse, routing::post,
};
use serde_json::Value;
use toold::{app, config::Config, domain::AgentName};

use crate::tools;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare JSON echo.
    Echo,
    /// The daemon, durability `process`.
    Process,
    /// The daemon, durability `power`.
    Power,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Process => "process",
            Self::Power => "power",
        }
    }
}

/// A running server; dropping it ends the process.
pub(crate) struct Server {
    child: Child,
    pub(crate) kind: Kind,
    pub(crate) address: String,
    dir: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Self {
        let dir = tempfile::tempdir_in(scratch()).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["serve", kind.word()])
            .arg(dir.path())
            .env("XDG_STATE_HOME", dir.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the benchmark can start itself");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| line.ok()?.split("http://").nth(1).map(str::to_owned))
            .expect("the server prints its address");
        let address = address
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        Self {
            child,
            kind,
            address,
            dir,
        }
    }

    pub(crate) fn token(&self) -> String {
        let path = self.dir.path().join("state/toold/tokens/agent");
        std::fs::read_to_string(path)
            .map(|token| token.trim().to_owned())
            .unwrap_or_default()
    }

    /// Resident memory in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A directory on the disk that the build lies on: a temporary file system would make `power` free.
fn scratch() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path
}

pub(crate) fn asked_to_serve(arguments: &[String]) -> Option<(Kind, PathBuf)> {
    let [serve, kind, dir] = arguments else {
        return None;
    };
    let kind = [Kind::Echo, Kind::Process, Kind::Power]
        .into_iter()
        .find(|k| k.word() == kind)?;
    (serve == "serve").then(|| (kind, PathBuf::from(dir)))
}

pub(crate) fn serve((kind, dir): (Kind, PathBuf)) {
    match kind {
        Kind::Echo => echo(),
        Kind::Process | Kind::Power => daemon(kind, &dir),
    }
}

fn echo() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let router = Router::new().route("/echo", post(echoed));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}", listener.local_addr().unwrap());
        let listener = axum::serve::ListenerExt::tap_io(listener, |tcp| {
            tcp.set_nodelay(true).ok();
        });
        axum::serve(listener, router).await.unwrap();
    });
}

/// What `axum::Json` in and out does: read, build a value, write it.
async fn echoed(body: Bytes) -> impl IntoResponse {
    let value: Value = serde_json::from_slice(&body).unwrap();
    (
        [(CONTENT_TYPE, "application/json")],
        serde_json::to_vec(&value).unwrap(),
    )
}

fn daemon(kind: Kind, dir: &std::path::Path) {
    let workspace = dir.join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let file = dir.join("toold.toml");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[store]\ndurability = {:?}\n[workspace]\nroot = \"{}\"\n",
        kind.word(),
        workspace.display()
    );
    std::fs::write(&file, text).unwrap();
    let config = Config::from_process(Some(&file)).expect("a sound configuration");
    let mut builder = app::Builder::new(config);
    for tool in tools::all(dir.join("counted")) {
        builder = builder.tool(AgentName::global(), tool);
    }
    app::run(builder).expect("the daemon runs");
}
