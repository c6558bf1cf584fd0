//! Stores to test, what is appended to them, and bounds in time.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use toold::{
    config::Durability,
    domain::{
        AgentName, ApprovalPolicy, CallId, Clock, Digest, EventDraft, EventType, ExecutionId,
        Monotonic, Object, SessionId, Subject, SystemIds, Timestamp, Workspace, json::ObjectWriter,
    },
    journal::{
        Append, CallRow, Commit, Committed, EventQuery, Journal, Publish, Recorded, Refusal,
        SessionRow, Store, Tail, TailLimits, Write,
    },
    store::{memory::MemoryStore, sqlite::SqliteStore},
};
use uuid::Uuid;

/// Runs a test body that must end.
pub(crate) fn bounded<T>(body: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all();
    let runtime = runtime.build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_mins(2), body).await })
        .expect("the test hangs")
}

/// A wall clock that the test sets.
#[derive(Debug, Default)]
pub(crate) struct Wall(AtomicU64);

impl Wall {
    pub(crate) fn set(&self, micros: u64) {
        self.0.store(micros, Ordering::SeqCst);
    }
}

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Monotonic {
        Monotonic::default()
    }
}

/// Everything that a store showed, passed on to a tail.
#[derive(Debug)]
pub(crate) struct Shown {
    events: Mutex<Vec<Arc<Recorded>>>,
    tail: Tail,
}

impl Shown {
    pub(crate) fn events(&self) -> Vec<Arc<Recorded>> {
        self.events.lock().unwrap().clone()
    }
}

impl Publish for Shown {
    fn publish(&self, events: &[Arc<Recorded>]) {
        self.events.lock().unwrap().extend_from_slice(events);
        self.tail.publish(events);
    }
}

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Process,
    Power,
}

/// A store with everything around it.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) journal: Journal,
    pub(crate) shown: Arc<Shown>,
    pub(crate) wall: Arc<Wall>,
    home: Option<TempDir>,
}

pub(crate) const WIDE: TailLimits = TailLimits {
    events: 10_000,
    bytes: 8 << 20,
};

impl Bed {
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with_limits(kind, WIDE)
    }

    pub(crate) fn with_limits(kind: Kind, limits: TailLimits) -> Self {
        let home = (kind != Kind::Memory).then(|| tempfile::tempdir().unwrap());
        let path = home
            .as_ref()
            .map_or_else(PathBuf::new, |home| home.path().join("j.db"));
        let mut bed = Self::open(kind, &path, limits, 0);
        bed.home = home;
        bed
    }

    /// A `process` store on a file that outlives the bed.
    pub(crate) fn at(path: &Path) -> Self {
        Self::at_time(path, 0)
    }

    /// The same, opened at a time in microseconds.
    pub(crate) fn at_time(path: &Path, micros: u64) -> Self {
        Self::open(Kind::Process, path, WIDE, micros)
    }

    fn open(kind: Kind, path: &Path, limits: TailLimits, micros: u64) -> Self {
        let tail = Tail::new(limits);
        let shown = Arc::new(Shown {
            events: Mutex::default(),
            tail: tail.clone(),
        });
        let wall = Arc::new(Wall::default());
        wall.set(micros);
        let (publish, clock): (Arc<dyn Publish>, Arc<dyn Clock>) = (shown.clone(), wall.clone());
        let sqlite = |durability, publish, clock| -> Arc<dyn Store> {
            Arc::new(SqliteStore::open(path, durability, publish, clock, &SystemIds).unwrap())
        };
        let store = match kind {
            Kind::Memory => Arc::new(MemoryStore::new(publish, clock, &SystemIds).unwrap()),
            Kind::Process => sqlite(Durability::Process, publish, clock),
            Kind::Power => sqlite(Durability::Power, publish, clock),
        };
        let journal = Journal::new(Arc::clone(&store), tail, wall.clone());
        Self {
            store,
            journal,
            shown,
            wall,
            home: None,
        }
    }

    /// Appends what must not be refused.
    pub(crate) async fn append(&self, append: Append) -> Vec<Arc<Recorded>> {
        match self.journal.append(append).await.unwrap() {
            Committed::Done(records) => records,
            Committed::Refused(refusal) => panic!("refused: {refusal:?}"),
        }
    }

    /// Appends what must be refused.
    pub(crate) async fn refused(&self, append: Append) -> Refusal {
        match self.journal.append(append).await.unwrap() {
            Committed::Refused(refusal) => refusal,
            Committed::Done(records) => panic!("not refused: {records:?}"),
        }
    }

    pub(crate) async fn submit(&self, append: Append) -> Commit {
        self.journal.submit(append).await.unwrap()
    }

    /// Everything recorded, or everything of a session.
    pub(crate) async fn log(&self, session: Option<&str>) -> Vec<Arc<Recorded>> {
        let page = self.store.events(everything(session)).await.unwrap();
        assert!(!page.more);
        page.events
    }
}

pub(crate) fn everything(session: Option<&str>) -> EventQuery {
    let session = session.map(session_id);
    EventQuery {
        session,
        after: 0,
        limit: usize::MAX,
        max_bytes: usize::MAX,
    }
}

pub(crate) fn session_id(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

pub(crate) fn call_id(id: &str) -> CallId {
    CallId::parse_existing(id).unwrap()
}

pub(crate) fn agent(name: &str) -> AgentName {
    AgentName::parse(name).unwrap()
}

pub(crate) fn session_row(id: &str) -> SessionRow {
    SessionRow {
        id: session_id(id),
        agent: agent("coder"),
        workspace: Workspace::default(),
        approval_policy: ApprovalPolicy::Ask,
        metadata: Object::new(),
        principal: "tester".into(),
        created_at: Timestamp::from_micros(7),
        ended_at: None,
    }
}

/// An event of a session that carries a note.
pub(crate) fn event(kind: EventType, session: &str, note: &str) -> EventDraft {
    let subject = Subject::session(&session_id(session), &agent("coder"));
    EventDraft::new(kind, subject, |w: &mut ObjectWriter<'_>| {
        w.string("note", note);
    })
}

pub(crate) fn open(session: &str) -> Append {
    let row = Box::new(session_row(session));
    Append::one(
        Write::OpenSession(row),
        event(EventType::SessionStart, session, ""),
    )
}

pub(crate) fn end(session: &str) -> Append {
    let write = Write::EndSession(session_id(session), Timestamp::from_micros(99));
    Append::one(write, event(EventType::SessionEnd, session, ""))
}

pub(crate) fn note(session: &str, note: &str) -> Append {
    Append::event(event(EventType::FsObserved, session, note))
}

/// The row of a call whose execution is made of its name.
pub(crate) fn call_row(session: &str, call: &str) -> CallRow {
    let id = call_id(call);
    CallRow {
        session: session_id(session),
        call_id: id.clone(),
        root_call_id: id,
        execution: execution(call),
        parent: None,
        agent: agent("coder"),
        name: "echo".to_owned(),
        digest: Digest::of_bytes(call.as_bytes()),
        turn: None,
        step: None,
        principal: "tester".into(),
        accepted: 0,
        started: None,
        settled: None,
    }
}

pub(crate) fn nested_row(session: &str, call: &str, parent: &str) -> CallRow {
    let mut row = call_row(session, call);
    row.parent = Some(execution(parent));
    row.root_call_id = call_id(parent);
    row
}

pub(crate) fn execution(call: &str) -> ExecutionId {
    let digest = Digest::of_bytes(call.as_bytes());
    ExecutionId::from_uuid(Uuid::from_slice(&digest.as_bytes()[..16]).unwrap())
}

pub(crate) fn accept(row: CallRow) -> Append {
    let draft = event(
        EventType::ToolCall,
        row.session.as_str(),
        row.call_id.as_str(),
    );
    Append::one(Write::AcceptCall(Box::new(row)), draft)
}

pub(crate) fn start(session: &str, call: &str) -> Append {
    let write = Write::StartCall(session_id(session), call_id(call), execution(call));
    Append::one(write, event(EventType::ToolStarted, session, call))
}

pub(crate) fn settle(session: &str, call: &str) -> Append {
    let write = Write::SettleCall(session_id(session), call_id(call), execution(call));
    Append::one(write, event(EventType::ToolResult, session, call))
}

/// The seqs 1, 2, 3 … up to a count.
pub(crate) fn counted(count: usize) -> Vec<Option<u64>> {
    (1..=u64::try_from(count).unwrap()).map(Some).collect()
}

pub(crate) fn seqs(events: &[Arc<Recorded>]) -> Vec<Option<u64>> {
    events.iter().map(|event| event.seq).collect()
}

pub(crate) fn ids(events: &[Arc<Recorded>]) -> Vec<u64> {
    events.iter().map(|event| event.id).collect()
}
