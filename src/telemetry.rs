//! What operators see: metrics, and where log lines go. Every metric name stands here, once.
//!
//! Imports `domain`. One registry per daemon and no global one, so that two daemons in a process
//! do not mix. Labels are bounded: names of tools that exist, routes as declared, our own words.
//! Arguments, results and tokens never come here.

use std::io::IsTerminal as _;
use std::{
    fmt,
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};
use tracing_subscriber::EnvFilter;

use crate::domain::Timing;

/// Outcome label of a call that succeeded.
const SUCCESS: &str = "success";
/// Tool label of a call whose name no tool has.
const NO_TOOL: &str = "(unknown)";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    stage: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// From 50 µs to nearly 7 minutes, by factors of 4.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 4.0, 12))
}

/// The stages of a call, looked up once.
struct Stages {
    family: Durations<StageLabels>,
    queued: Histogram,
    policy: Histogram,
    approval: Histogram,
    body: Histogram,
    total: Histogram,
}

impl Stages {
    fn new() -> Self {
        let family: Durations<StageLabels> = Family::new_with_constructor(durations);
        let of = |stage| family.get_or_create_owned(&StageLabels { stage });
        Self {
            queued: of("queued"),
            policy: of("policy"),
            approval: of("approval"),
            body: of("body"),
            total: of("total"),
            family,
        }
    }

    fn observe(&self, timing: &Timing) {
        for (stage, time) in [
            (&self.queued, timing.queued),
            (&self.policy, timing.policy),
            (&self.approval, timing.approval),
            (&self.body, timing.body),
            (&self.total, timing.total),
        ] {
            stage.observe(time.as_secs_f64());
        }
    }
}

/// The daemon's figures. A cheap handle: clones count into the same registry.
#[derive(Clone)]
pub struct Telemetry(Arc<Metrics>);

struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    stages: Stages,
    dispatches: Durations<ToolLabels>,
    in_flight: Gauge,
    requests: Family<RequestLabels, Counter>,
    connections: Gauge,
    streams: Gauge,
    lagged: Counter,
    appends: Histogram,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry {
    /// A registry of its own, with every metric at zero.
    pub fn new() -> Self {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("toold"),
            calls: Family::default(),
            stages: Stages::new(),
            dispatches: Family::new_with_constructor(durations),
            in_flight: Gauge::default(),
            requests: Family::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            lagged: Counter::default(),
            appends: durations(),
        };
        metrics.register();
        Self(Arc::new(metrics))
    }

    /// A call has its result: which tool it reached, the code of a failure, where its time went.
    pub fn settled(&self, tool: Option<&str>, failure: Option<&str>, timing: &Timing) {
        let labels = CallLabels {
            tool: tool.unwrap_or(NO_TOOL).to_owned(),
            outcome: failure.unwrap_or(SUCCESS).to_owned(),
        };
        self.0.calls.get_or_create(&labels).inc();
        self.0.stages.observe(timing);
    }

    /// One pass of the around stack, body and wrappers together.
    pub fn dispatched(&self, tool: &str, time: Duration) {
        let labels = ToolLabels {
            tool: tool.to_owned(),
        };
        self.0
            .dispatches
            .get_or_create(&labels)
            .observe(time.as_secs_f64());
    }

    /// How many top-level calls are under way.
    pub fn calls_under_way(&self, calls: usize) {
        self.0
            .in_flight
            .set(i64::try_from(calls).unwrap_or(i64::MAX));
    }

    /// A request was answered.
    pub fn answered(&self, method: &'static str, route: &'static str, status: u16) {
        self.0
            .requests
            .get_or_create(&RequestLabels {
                method,
                route,
                status,
            })
            .inc();
    }

    /// A connection was accepted; it counts as open until the guard is dropped.
    pub fn connection_opened(&self) -> Open {
        Open::count(&self.0.connections)
    }

    /// A stream was opened; it counts as open until the guard is dropped.
    pub fn stream_opened(&self) -> Open {
        Open::count(&self.0.streams)
    }

    /// A stream's reader fell behind its bound.
    pub fn reader_lagged(&self) {
        self.0.lagged.inc();
    }

    /// A result became durable this long after its append was queued.
    pub fn appended(&self, took: Duration) {
        self.0.appends.observe(took.as_secs_f64());
    }

    /// Every metric in the `OpenMetrics` text format.
    pub fn render(&self) -> String {
        let mut out = String::with_capacity(8 * 1024);
        // Writing into a string cannot fail.
        text::encode(&mut out, &self.0.registry).ok();
        out
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "calls",
            "Calls that have their result, by tool and outcome code",
            self.calls.clone(),
        );
        registry.register(
            "call_stage_seconds",
            "Where the time of settled calls went",
            self.stages.family.clone(),
        );
        registry.register(
            "dispatch_seconds",
            "Time of the around stack with the body",
            self.dispatches.clone(),
        );
        registry.register(
            "calls_in_flight",
            "Top-level calls under way",
            self.in_flight.clone(),
        );
        registry.register(
            "http_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        registry.register(
            "http_connections",
            "Open connections",
            self.connections.clone(),
        );
        registry.register("streams", "Open event streams", self.streams.clone());
        registry.register(
            "streams_lagged",
            "Streams closed because their reader fell behind",
            self.lagged.clone(),
        );
        registry.register(
            "journal_append_seconds",
            "From queueing the append of a result to its being durable",
            self.appends.clone(),
        );
    }
}

/// Something that counts as open until it is dropped.
#[derive(Debug)]
#[must_use = "it counts as open only as long as it is kept"]
pub struct Open(Gauge<i64, AtomicI64>);

impl Open {
    fn count(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Sends log lines to standard error, coloured on a terminal: `filter` in the syntax of
/// `tracing`'s directives (`info`, `toold=debug`). The first call in a process counts.
///
/// # Errors
/// A sentence that says why the filter cannot be read.
pub fn log_to_stderr(filter: &str) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("TOOLD_LOG: {filter:?} is not a filter ({error})"))?;
    // A second subscriber is refused; the first one's lines go on.
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .with_target(false)
        .try_init()
        .ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_counted_under_its_name() {
        let telemetry = Telemetry::new();
        let timing = Timing {
            body: Duration::from_millis(3),
            ..Timing::default()
        };
        telemetry.settled(Some("read_file"), None, &timing);
        telemetry.settled(None, Some("UNKNOWN_TOOL"), &Timing::default());
        telemetry.dispatched("read_file", Duration::from_millis(2));
        telemetry.calls_under_way(3);
        telemetry.answered("GET", "/healthz", 200);
        telemetry.reader_lagged();
        telemetry.appended(Duration::from_micros(80));
        let (kept, dropped) = (telemetry.stream_opened(), telemetry.stream_opened());
        drop(dropped);
        let text = telemetry.render();
        for line in [
            r#"toold_calls_total{tool="read_file",outcome="success"} 1"#,
            r#"toold_calls_total{tool="(unknown)",outcome="UNKNOWN_TOOL"} 1"#,
            r#"toold_call_stage_seconds_count{stage="body"} 2"#,
            r#"toold_dispatch_seconds_count{tool="read_file"} 1"#,
            "toold_calls_in_flight 3",
            r#"toold_http_requests_total{method="GET",route="/healthz",status="200"} 1"#,
            "toold_streams 1",
            "toold_streams_lagged_total 1",
            "toold_journal_append_seconds_count 1",
            "# EOF",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        drop(kept);
        assert!(telemetry.render().contains("toold_streams 0"));
        assert!(
            Telemetry::new().render().contains("toold_streams 0"),
            "registries are apart"
        );
    }
}
