//! The process: runtime, log, signals, and an end that comes when it is asked for.

use std::io::Write as _;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Builder;
use crate::{config::Config, telemetry};

/// What is logged where nothing else is said.
const LOG: &str = "info";

/// Runs the daemon of a configuration until it is told to stop.
///
/// # Errors
/// As for [`run`].
pub fn serve(config: Config) -> anyhow::Result<()> {
    run(Builder::new(config))
}

/// Runs a daemon until SIGTERM or SIGINT, then stops it in order; a second signal ends it at once.
/// SIGHUP changes nothing: it asks for a reload, which this version cannot do.
///
/// # Errors
/// What kept it from starting or from stopping in order.
pub fn run(builder: Builder) -> anyhow::Result<()> {
    let filter = builder.config.log_filter.clone();
    telemetry::log_to_stderr(filter.as_deref().unwrap_or(LOG)).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("toold")
        .build()
        .context("starting the runtime")?;
    let ended = runtime.block_on(until_told(builder));
    // Blocking work that never returns must not keep the process.
    runtime.shutdown_background();
    ended
}

async fn until_told(builder: Builder) -> anyhow::Result<()> {
    let mut told = Told::new()?;
    let tokens = builder.config.state_dir.join("tokens");
    let generated = builder.config.auth.tokens.is_empty();
    let daemon = builder.start().await?;
    say(&format!("toold listens on http://{}", daemon.address()));
    if generated {
        say(&format!(
            "tokens: {}, in the files agent and operator",
            tokens.display()
        ));
    }
    told.stop().await;
    tracing::info!("stopping; a second signal ends at once");
    tokio::select! {
        stopped = daemon.stop() => stopped.inspect(|()| tracing::info!("stopped")),
        () = told.stop() => anyhow::bail!(
            "ended at once by a second signal; calls under way are closed at the next start"
        ),
    }
}

/// The signals that mean something here.
struct Told {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Told {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal that means stop. Cancellation-safe.
    async fn stop(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => tracing::warn!(
                    "SIGHUP: this version cannot reload its configuration; nothing was changed, \
                     restart to apply changes"
                ),
            }
        }
    }
}

/// A line on standard output, for whoever started the daemon; nobody may be reading.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}
