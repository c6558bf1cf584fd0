//! Tools written in Rust: small ones that show what a body may do, and that the project's own
//! tests drive from outside.

use std::{
    collections::HashMap,
    io::Write as _,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::watch;
use toold::{
    domain::{Concurrency, Content, Json, Object, ToolDefinition, ToolName, json::Limits},
    registry::{ExecutionContext, Tool, ToolBody, ToolError},
};

/// Every tool of the example. `counter` appends its lines to `counted`.
pub(crate) fn all(counted: PathBuf) -> Vec<Arc<Tool>> {
    let gates = Gates::default();
    let any = r#"{"type":"object"}"#;
    let text = r#"{"type":"string"}"#;
    let numbers = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    let gate = r#"{"type":"object","required":["name"],"properties":{
        "name":{"type":"string"},"class":{"enum":["parallel","exclusive"]},
        "stubborn":{"type":"boolean"}}}"#;
    vec![
        parallel("echo", any, any, Echo),
        tool(
            "counter",
            numbers,
            numbers,
            Counter { file: counted },
            |_| {},
        ),
        tool("gate", gate, text, Gate(gates.clone()), |d| {
            d.concurrency = Concurrency::Classified;
        }),
        parallel("open_gate", gate, text, OpenGate(gates)),
        tool("hurried", any, text, Sleep, |d| {
            d.timeout = Some(Duration::from_millis(50));
        }),
        parallel("fail", any, text, Fail),
        parallel("wrong_output", any, r#"{"type":"integer"}"#, WrongOutput),
        parallel("panic", any, text, Panic),
        parallel("nest", NEST, any, Nest),
        parallel("chatty", CHATTY, text, Chatty),
        parallel("noop", any, any, Noop),
    ]
}

const NEST: &str = r#"{"type":"object","required":["name"],"properties":{
    "name":{"type":"string"},"arguments":{"type":"object"},
    "times":{"type":"integer","minimum":1,"maximum":100},
    "hasty":{"type":"boolean"}}}"#;

const CHATTY: &str = r#"{"type":"object","properties":{
    "count":{"type":"integer","minimum":0},"text":{"type":"string"}}}"#;

fn parallel(
    name: &str,
    parameters: &str,
    output: &str,
    body: impl ToolBody + 'static,
) -> Arc<Tool> {
    tool(name, parameters, output, body, |d| {
        d.concurrency = Concurrency::Parallel;
    })
}

fn tool(
    name: &str,
    parameters: &str,
    output: &str,
    body: impl ToolBody + 'static,
    adjust: impl FnOnce(&mut ToolDefinition),
) -> Arc<Tool> {
    let limits = Limits::default();
    let name = ToolName::parse(name).expect("a literal name");
    let parameters = Json::read_object(parameters.as_bytes(), &limits).expect("a literal schema");
    let output = Json::read(output.as_bytes(), &limits).expect("a literal schema");
    let mut definition =
        ToolDefinition::new(name, "A tool of the embedding example.", parameters, output);
    adjust(&mut definition);
    Tool::new(definition, Arc::new(body)).expect("a sound definition")
}

fn text<'a>(arguments: &'a Object, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Json::as_str)
}

/// Returns its arguments.
#[derive(Debug)]
struct Echo;

#[async_trait]
impl ToolBody for Echo {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        Ok(Json::Object(context.arguments().clone()))
    }
}

/// Returns an empty object: the least that a tool can do.
#[derive(Debug)]
struct Noop;

#[async_trait]
impl ToolBody for Noop {
    async fn run(&self, _context: &ExecutionContext) -> Result<Json, ToolError> {
        Ok(Json::Object(Object::new()))
    }
}

/// Appends a line to a file, so that runs can be counted from outside.
#[derive(Debug)]
struct Counter {
    file: PathBuf,
}

#[async_trait]
impl ToolBody for Counter {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let line = format!("{}\n", context.execution().call_id);
        let opened = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| ToolError::failed(format!("the line was not written: {error}")))?;
        Ok(Json::Object(context.arguments().clone()))
    }
}

/// Gates by name; each opens once and stays open.
#[derive(Debug, Clone, Default)]
struct Gates(Arc<Mutex<HashMap<String, watch::Sender<bool>>>>);

impl Gates {
    fn watch(&self, name: &str) -> watch::Receiver<bool> {
        let mut gates = self.0.lock().expect("no holder panics");
        gates
            .entry(name.to_owned())
            .or_insert_with(|| watch::Sender::new(false))
            .subscribe()
    }

    fn open(&self, name: &str) {
        drop(self.watch(name));
        let gates = self.0.lock().expect("no holder panics");
        if let Some(gate) = gates.get(name) {
            gate.send_replace(true);
        }
    }
}

/// Waits until somebody opens its gate. `class` chooses whether it overlaps; a stubborn one
/// ignores cancellation.
#[derive(Debug)]
struct Gate(Gates);

#[async_trait]
impl ToolBody for Gate {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let arguments = context.arguments();
        let name = text(arguments, "name").unwrap_or_default();
        let stubborn = arguments.get("stubborn").and_then(Json::as_bool) == Some(true);
        let mut gate = self.0.watch(name);
        tokio::select! {
            _ = gate.wait_for(|open| *open) => Ok(Json::from("open")),
            () = context.signal().cancelled(), if !stubborn => {
                context.defer_context(vec![Content::text("the gate never opened")], None);
                Err(ToolError::Interrupted)
            }
        }
    }

    fn classify(&self, arguments: &Object) -> Option<bool> {
        Some(text(arguments, "class") == Some("parallel"))
    }
}

/// Opens a gate.
#[derive(Debug)]
struct OpenGate(Gates);

#[async_trait]
impl ToolBody for OpenGate {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        self.0
            .open(text(context.arguments(), "name").unwrap_or_default());
        Ok(Json::from("opened"))
    }
}

/// Waits for its signal and nothing else.
#[derive(Debug)]
struct Sleep;

#[async_trait]
impl ToolBody for Sleep {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        context.signal().cancelled().await;
        Err(ToolError::Interrupted)
    }
}

/// Fails under the code of its arguments.
#[derive(Debug)]
struct Fail;

#[async_trait]
impl ToolBody for Fail {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let code = text(context.arguments(), "code").map(str::to_owned);
        let message = text(context.arguments(), "message")
            .unwrap_or("asked to fail")
            .to_owned();
        Err(ToolError::Failed {
            code,
            message,
            retryable: false,
        })
    }
}

/// Returns what its schema forbids.
#[derive(Debug)]
struct WrongOutput;

#[async_trait]
impl ToolBody for WrongOutput {
    async fn run(&self, _context: &ExecutionContext) -> Result<Json, ToolError> {
        Ok(Json::from("not an integer"))
    }
}

/// Panics.
#[derive(Debug)]
struct Panic;

#[async_trait]
impl ToolBody for Panic {
    async fn run(&self, _context: &ExecutionContext) -> Result<Json, ToolError> {
        panic!("asked to panic");
    }
}

/// Calls another tool `times` times, all at once, and returns how each ended. A hasty one does not
/// wait for them once it is told to stop.
#[derive(Debug)]
struct Nest;

#[async_trait]
impl ToolBody for Nest {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let arguments = context.arguments();
        let name = text(arguments, "name").unwrap_or_default();
        let nested = arguments
            .get("arguments")
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        let times = arguments.get("times").and_then(Json::as_u64).unwrap_or(1);
        let hasty = arguments.get("hasty").and_then(Json::as_bool) == Some(true);
        let calls = (0..times).map(|_| context.call(name, nested.clone()));
        let results = tokio::select! {
            results = futures_util::future::join_all(calls) => results,
            () = context.signal().cancelled(), if hasty => return Err(ToolError::Interrupted),
        };
        let mut ends = Vec::new();
        for result in results {
            let result = result.map_err(|error| ToolError::failed(error.to_string()))?;
            if result.concludes_turn {
                context.conclude_turn();
            }
            let blocks = result.outcome.content().iter();
            let said: String = blocks.filter_map(Content::as_text).collect();
            ends.push(Json::from(said.as_str()));
        }
        if context.signal().is_cancelled() {
            return Err(ToolError::Interrupted);
        }
        Ok(toold::domain::json::object([("ends", Json::Array(ends))]))
    }
}

/// Talks while it works.
#[derive(Debug)]
struct Chatty;

#[async_trait]
impl ToolBody for Chatty {
    async fn run(&self, context: &ExecutionContext) -> Result<Json, ToolError> {
        let said = text(context.arguments(), "text").unwrap_or("hello");
        let count = context
            .arguments()
            .get("count")
            .and_then(Json::as_u64)
            .unwrap_or(1);
        for n in 0..count {
            context.output("stdout", said);
            #[expect(clippy::cast_precision_loss, reason = "a small count")]
            context.progress(Some("talking"), Some(n as f64), Some(count as f64));
            tokio::task::yield_now().await;
        }
        Ok(Json::from(said))
    }
}
