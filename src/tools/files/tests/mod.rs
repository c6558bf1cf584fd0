//! Tests of the file tools over real directories, and the small host that stands in for the
//! scheduler: it keeps observations and events in memory.

mod declared;
mod edit;
mod fence;
mod house;
mod list;
mod properties;
mod races;
mod read;
mod write;

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use tempfile::TempDir;

use super::{WorkspaceRoot, WorkspaceSettings, builtin};
use crate::{
    domain::{
        AgentName, ApprovalPolicy, CallId, Digest, EventDraft, EventType, Execution, ExecutionId,
        IdSource, Json, Monotonic, Object, SessionId, SystemIds, Timestamp, ToolDefinition,
        Workspace,
    },
    registry::{
        Cause, ExecutionContext, ExecutionHost, ExecutionToken, HostError, NestedResult, Signal,
        ToolBody, ToolError,
    },
    tasks::Tasks,
};

/// No call of a test may take longer.
const BOUND: Duration = Duration::from_mins(1);

type Hook = Box<dyn FnMut(&EventDraft) + Send>;

/// Observations and events, in memory.
#[derive(Default)]
struct MemoryHost {
    observed: Mutex<HashMap<(SessionId, String), String>>,
    events: Mutex<Vec<(EventType, Json)>>,
    /// Runs when an event is recorded, before it counts as durable.
    hook: Mutex<Option<Hook>>,
    /// Whether the journal refuses everything.
    closed: Mutex<bool>,
}

impl std::fmt::Debug for MemoryHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryHost")
    }
}

impl MemoryHost {
    fn open(&self) -> Result<(), HostError> {
        if *self.closed.lock().unwrap() {
            Err(HostError::Journal)
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl ExecutionHost for MemoryHost {
    async fn call(
        &self,
        _: &ExecutionContext,
        name: &str,
        _: Object,
    ) -> Result<NestedResult, HostError> {
        Err(HostError::Refused(format!("no nested call of {name} here")))
    }

    async fn record(&self, _: &Execution, event: EventDraft) -> Result<(), HostError> {
        self.open()?;
        if let Some(hook) = &mut *self.hook.lock().unwrap() {
            hook(&event);
        }
        let data = str::from_utf8(&event.data).unwrap().parse().unwrap();
        self.events.lock().unwrap().push((event.kind, data));
        Ok(())
    }

    fn live(&self, _: &Execution, _: &dyn Fn() -> EventDraft) {}

    async fn observed(&self, by: &Execution, path: &str) -> Result<Option<String>, HostError> {
        self.open()?;
        let key = (by.session.clone(), path.to_owned());
        Ok(self.observed.lock().unwrap().get(&key).cloned())
    }

    async fn observe(&self, by: &Execution, path: &str, version: &str) -> Result<(), HostError> {
        self.open()?;
        let key = (by.session.clone(), path.to_owned());
        self.observed
            .lock()
            .unwrap()
            .insert(key, version.to_owned());
        Ok(())
    }

    fn token(&self, _: &Execution) -> Result<ExecutionToken, HostError> {
        Err(HostError::Settled)
    }
}

/// A workspace `w/p` on the disk with something outside of it, the tools, and a session.
struct World {
    /// Holds everything; removed at the end.
    _home: TempDir,
    /// The workspace root.
    root: PathBuf,
    /// A directory beside it that no tool may reach.
    outside: PathBuf,
    tools: Vec<(ToolDefinition, Arc<dyn ToolBody>)>,
    host: Arc<MemoryHost>,
    session: SessionId,
    workspace: Workspace,
}

impl World {
    fn new() -> Self {
        Self::with(|_, _| {})
    }

    /// With other settings than just the root; the second argument is the directory outside.
    fn with(settle: impl FnOnce(&mut WorkspaceSettings, &Path)) -> Self {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("w/p"), home.path().join("w/p-evil"));
        for directory in [&root, &outside] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(outside.join("x"), "secret").unwrap();
        let mut settings = WorkspaceSettings {
            root: root.clone(),
            ..WorkspaceSettings::default()
        };
        settle(&mut settings, &outside);
        let opened = Arc::new(WorkspaceRoot::open(&settings).unwrap());
        Self {
            tools: builtin(&opened, &Tasks::new()),
            _home: home,
            root,
            outside,
            host: Arc::default(),
            session: SessionId::parse("s1").unwrap(),
            workspace: Workspace::default(),
        }
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.root.join(path)).unwrap();
    }

    fn tool(&self, name: &str) -> &(ToolDefinition, Arc<dyn ToolBody>) {
        self.tools
            .iter()
            .find(|(definition, _)| definition.name.as_str() == name)
            .unwrap()
    }

    fn execution(&self, name: &str, arguments: &Object) -> Arc<Execution> {
        let call_id = CallId::parse("c1").unwrap();
        Arc::new(Execution {
            id: ExecutionId::from_uuid(SystemIds.uuid()),
            session: self.session.clone(),
            root_call_id: call_id.clone(),
            call_id,
            parent: None,
            agent: AgentName::default_agent(),
            principal: "test".into(),
            name: name.to_owned(),
            digest: Digest::of_call(name, arguments),
            arguments: Arc::new(arguments.clone()),
            workspace: self.workspace.clone(),
            approval_policy: ApprovalPolicy::Ask,
            created_at: Timestamp::default(),
            accepted: Monotonic::default(),
        })
    }

    /// Calls a tool under a signal, within the bound, and holds its value against its schema.
    async fn call_under(
        &self,
        signal: Signal,
        name: &str,
        arguments: &Object,
    ) -> Result<Json, ToolError> {
        let (definition, body) = self.tool(name);
        let host = Arc::clone(&self.host) as Arc<dyn ExecutionHost>;
        let context = ExecutionContext::new(self.execution(name, arguments), signal, host);
        let ended = tokio::time::timeout(BOUND, body.run(&context))
            .await
            .expect("in time");
        if let Ok(value) = &ended {
            declared::check(&definition.output_schema, value);
            body.render(arguments, value).unwrap();
            body.meta(arguments, value).unwrap();
        }
        ended
    }

    /// Calls a tool with arguments as JSON text.
    async fn call(&self, name: &str, arguments: &str) -> Result<Json, ToolError> {
        self.call_under(Signal::root(), name, &object(arguments))
            .await
    }

    async fn read(&self, path: &str) -> Result<Json, ToolError> {
        self.call("read_file", &format!(r#"{{"path":{}}}"#, Json::from(path)))
            .await
    }

    async fn write(&self, path: &str, content: &str) -> Result<Json, ToolError> {
        let (path, content) = (Json::from(path), Json::from(content));
        self.call(
            "write_file",
            &format!(r#"{{"path":{path},"content":{content}}}"#),
        )
        .await
    }

    async fn edit(&self, path: &str, old: &str, new: &str) -> Result<Json, ToolError> {
        let [path, old, new] = [path, old, new].map(Json::from);
        let arguments = format!(r#"{{"path":{path},"old_text":{old},"new_text":{new}}}"#);
        self.call("edit_file", &arguments).await
    }

    async fn list(&self, path: &str) -> Result<Json, ToolError> {
        self.call("list_dir", &format!(r#"{{"path":{}}}"#, Json::from(path)))
            .await
    }

    fn lock_key(&self, path: &str) -> Option<String> {
        let arguments = object(&format!(r#"{{"path":{}}}"#, Json::from(path)));
        self.tool("edit_file")
            .1
            .lock_key(&self.execution("edit_file", &arguments))
    }

    fn events(&self) -> Vec<(EventType, Json)> {
        self.host.events.lock().unwrap().clone()
    }

    fn on_record(&self, hook: impl FnMut(&EventDraft) + Send + 'static) {
        *self.host.hook.lock().unwrap() = Some(Box::new(hook));
    }

    /// Names left in a directory, hidden ones included.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn object(text: &str) -> Object {
    text.parse::<Json>().unwrap().as_object().unwrap().clone()
}

fn content(value: &Result<Json, ToolError>) -> &str {
    value
        .as_ref()
        .unwrap()
        .get("content")
        .unwrap()
        .as_str()
        .unwrap()
}

/// The code of a failure, with the pipeline's word for a denial.
fn code<T: std::fmt::Debug>(result: &Result<T, ToolError>) -> String {
    match result {
        Ok(value) => panic!("not a failure: {value:?}"),
        Err(ToolError::Failed { code, .. }) => code.clone().unwrap_or("TOOL_ERROR".to_owned()),
        Err(ToolError::Denied { .. }) => "GUARD_DENIED".to_owned(),
        Err(ToolError::Interrupted) => "INTERRUPTED".to_owned(),
    }
}

fn message<T: std::fmt::Debug>(result: &Result<T, ToolError>) -> &str {
    match result {
        Err(ToolError::Failed { message, .. } | ToolError::Denied { reason: message }) => message,
        other => panic!("no message in {other:?}"),
    }
}

fn cancelled() -> Signal {
    let signal = Signal::root();
    signal.cancel(Cause::Cancelled { reason: None });
    signal
}
