//! A real daemon in its own process, and a client that speaks to it over real HTTP.

mod client;
mod stream;

use std::{
    future::Future,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

pub(crate) use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

pub(crate) use client::{Answer, Client};
pub(crate) use stream::{Event, Stream};

/// The longest that one story may take; longer is a hang, and a hang is a failure.
const LONGEST: Duration = Duration::from_mins(4);

/// Runs one story to its end, within its bound.
pub(crate) fn story<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(LONGEST, story)
            .await
            .expect("the story took too long: it hangs")
    })
}

/// Lines of configuration beside the harness's own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extra {
    /// In `[server]`.
    pub(crate) server: &'static str,
    /// In `[workspace]`.
    pub(crate) workspace: &'static str,
    /// Further sections.
    pub(crate) rest: &'static str,
}

/// One daemon process with a workspace and a state directory of its own.
pub(crate) struct Daemon {
    child: Child,
    dir: tempfile::TempDir,
    extra: Extra,
    pub(crate) url: String,
}

impl Daemon {
    /// A daemon with the example's tools and the built-in ones.
    pub(crate) fn start() -> Self {
        Self::with(Extra::default())
    }

    /// The same with more configuration.
    pub(crate) fn with(extra: Extra) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("workspace")).expect("a workspace");
        let (child, url) = spawn(dir.path(), &extra);
        Self {
            child,
            dir,
            extra,
            url,
        }
    }

    /// Ends the process without warning, as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the daemon runs");
        self.child.wait().expect("the daemon can be waited for");
    }

    /// Starts it again on what it left behind.
    pub(crate) fn restart(&mut self) {
        let (child, url) = spawn(self.dir.path(), &self.extra);
        self.child = child;
        self.url = url;
    }

    /// Starts it again with other further sections.
    pub(crate) fn restart_with(&mut self, rest: &'static str) {
        self.extra.rest = rest;
        self.restart();
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the daemon runs");
    }

    /// Waits for the process to end by itself; its exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        loop {
            look.tick().await;
            let status = self.child.try_wait().expect("the daemon can be waited for");
            if let Some(status) = status {
                return status.code();
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A request as it goes over the wire; `what` is method and path, `lines` are header lines
    /// beside those that every request has.
    pub(crate) fn wire(&self, what: &str, lines: &[&str], body: &str) -> String {
        let host = format!("host: {}", self.address());
        let length = format!("content-length: {}", body.len());
        let announced = ["content-type: application/json", &length];
        let announced = if body.is_empty() { &[][..] } else { &announced };
        let lines = [&[host.as_str()], lines, announced].concat();
        format!("{what} HTTP/1.1\r\n{}\r\n\r\n{body}", lines.join("\r\n"))
    }

    /// The header line of a token.
    pub(crate) fn bearer(&self, name: &str) -> String {
        format!("authorization: Bearer {}", self.token(name))
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state/toold")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.state().join("toold.db")
    }

    /// How often the tool `counter` has run.
    pub(crate) fn counted(&self) -> usize {
        std::fs::read_to_string(self.dir.path().join("counted"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// Everything the daemon has written to its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Puts a file into the workspace.
    pub(crate) fn file(&self, name: &str, content: &str) {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, content).expect("a file");
    }

    pub(crate) fn token(&self, name: &str) -> String {
        let path = self.state().join("tokens").join(name);
        let token = std::fs::read_to_string(&path);
        token
            .unwrap_or_else(|e| panic!("no token at {}: {e}", path.display()))
            .trim()
            .to_owned()
    }

    /// A client with the generated `agent` token.
    pub(crate) fn agent(&self) -> Client {
        Client::new(&self.url, Some(self.token("agent")))
    }

    /// A client with the generated `operator` token.
    pub(crate) fn operator(&self) -> Client {
        Client::new(&self.url, Some(self.token("operator")))
    }

    /// A client without a token.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(&self.url, None)
    }

    /// Resident memory in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("the daemon runs");
        let line = status
            .lines()
            .find(|l| l.starts_with("VmRSS"))
            .expect("a VmRSS line");
        line.split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a number")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        if std::thread::panicking() {
            eprintln!("--- the daemon's log ---\n{}", self.log());
        }
    }
}

fn spawn(dir: &Path, extra: &Extra) -> (Child, String) {
    let config = dir.join("toold.toml");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n{}\n[workspace]\nroot = \"{}\"\n{}\n{}\n",
        extra.server,
        dir.join("workspace").display(),
        extra.workspace,
        extra.rest,
    );
    std::fs::write(&config, text).expect("a configuration");
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(dir.join("log"));
    let mut child = Command::new(example("embedded"))
        .args([&config, &dir.join("counted")])
        .env_clear()
        .env("XDG_STATE_HOME", dir.join("state"))
        .env("TOOLD_LOG", "info")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log.expect("a log file"))
        .spawn()
        .expect("the example starts");
    let url = first_url(&mut child).unwrap_or_else(|| {
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        panic!("the daemon did not start:\n{log}")
    });
    (child, url)
}

/// The address that the daemon prints when it listens.
fn first_url(child: &mut Child) -> Option<String> {
    let mut lines = BufReader::new(child.stdout.take()?);
    let mut line = String::new();
    while lines.read_line(&mut line).ok()? > 0 {
        if let Some(at) = line.find("http://") {
            let url = line[at..].split_whitespace().next()?.to_owned();
            // The pipe is drained so that the daemon can never block on it.
            std::thread::spawn(move || drop(lines.into_inner().read_to_end(&mut Vec::new())));
            return Some(url);
        }
        line.clear();
    }
    None
}

/// The program of an example, built beside the daemon.
pub(crate) fn example(name: &str) -> PathBuf {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_toold"));
    let path = binary
        .parent()
        .expect("a directory")
        .join("examples")
        .join(name);
    assert!(
        path.exists(),
        "build the examples first: cargo build --examples ({})",
        path.display()
    );
    path
}
