//! What a running body may do: [`ExecutionContext`], and the port [`ExecutionHost`] behind it.
//!
//! Imports `domain`. Tools, workers and code act through this alone, so they need neither the
//! scheduler nor the journal.

use std::{
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{signal::Signal, token::ExecutionToken};
use crate::domain::{
    Content, Context, ContextSource, EventDraft, EventType, Execution, ExecutionId, Object,
    Outcome, Subject, json::ObjectWriter,
};

/// What a body may meet when it acts through its context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The journal cannot record it now.
    #[error("the journal is not available")]
    Journal,
    /// The execution has its result; nothing can be done in its name.
    #[error("the execution has settled")]
    Settled,
    /// Too many nested calls are under way.
    #[error("too many nested calls are under way at once; wait for some to end")]
    RateLimited,
    /// A nested call that cannot be accepted at all.
    #[error("{0}")]
    Refused(String),
}

/// How a nested call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedResult {
    /// Its execution.
    pub execution: ExecutionId,
    /// Success with the whole value, or failure.
    pub outcome: Outcome,
    /// Whether a success ends the agent's turn; pass it on with
    /// [`ExecutionContext::conclude_turn`].
    pub concludes_turn: bool,
}

/// What the daemon does for running bodies; implemented by the scheduler.
#[async_trait]
pub trait ExecutionHost: Debug + Send + Sync {
    /// Runs a nested call through the whole pipeline, in the parent's own sub-lane, and waits for
    /// its result. Dropping the future cancels the nested call.
    async fn call(
        &self,
        parent: &ExecutionContext,
        name: &str,
        arguments: Object,
    ) -> Result<NestedResult, HostError>;

    /// Records a durable event of the execution's session; durable when it returns.
    async fn record(&self, execution: &Execution, event: EventDraft) -> Result<(), HostError>;

    /// Shows a live event to whoever watches the session.
    fn live(&self, execution: &Execution, event: &dyn Fn() -> EventDraft);

    /// What the session last observed of a file, as [`observe`](Self::observe) kept it, also
    /// across a restart.
    async fn observed(
        &self,
        execution: &Execution,
        path: &str,
    ) -> Result<Option<String>, HostError>;

    /// Keeps what the session has seen of a file: `version` is the tool's own word for the state
    /// of the content. Recorded as `fs/observed`, in order, before it returns.
    async fn observe(
        &self,
        execution: &Execution,
        path: &str,
        version: &str,
    ) -> Result<(), HostError>;

    /// Mints the execution's token.
    fn token(&self, execution: &Execution) -> Result<ExecutionToken, HostError>;
}

#[derive(Debug, Default)]
struct Deferred {
    contexts: Vec<Context>,
    concludes: bool,
}

/// A body's view of its execution.
#[derive(Debug)]
pub struct ExecutionContext {
    execution: Arc<Execution>,
    signal: Signal,
    host: Arc<dyn ExecutionHost>,
    deferred: Mutex<Deferred>,
}

impl ExecutionContext {
    /// The context of one dispatch.
    pub fn new(execution: Arc<Execution>, signal: Signal, host: Arc<dyn ExecutionHost>) -> Self {
        Self {
            execution,
            signal,
            host,
            deferred: Mutex::default(),
        }
    }

    /// The frozen arguments.
    pub fn arguments(&self) -> &Object {
        &self.execution.arguments
    }

    /// The execution's identity.
    pub fn execution(&self) -> &Arc<Execution> {
        &self.execution
    }

    /// Asks the body to stop.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Calls another tool as this execution: whole pipeline, own events, id `<parent>:call:<n>`.
    /// Dropping the future cancels the nested call.
    ///
    /// # Errors
    /// [`HostError::Refused`] when the call cannot be accepted at all; a call that ends badly is
    /// an outcome.
    pub async fn call(&self, name: &str, arguments: Object) -> Result<NestedResult, HostError> {
        self.host.call(self, name, arguments).await
    }

    /// Records a durable event of this execution.
    ///
    /// # Errors
    /// [`HostError::Journal`] when it cannot be made durable.
    pub async fn record(
        &self,
        kind: EventType,
        write: impl FnOnce(&mut ObjectWriter<'_>) + Send,
    ) -> Result<(), HostError> {
        let event = EventDraft::new(kind, Subject::execution(&self.execution), write);
        self.host.record(&self.execution, event).await
    }

    /// What this session last saw of a file.
    ///
    /// # Errors
    /// [`HostError::Journal`] when the session's log cannot be read.
    pub async fn observed(&self, path: &str) -> Result<Option<String>, HostError> {
        self.host.observed(&self.execution, path).await
    }

    /// Keeps what this session has now seen of a file.
    ///
    /// # Errors
    /// [`HostError::Journal`] when it cannot be recorded.
    pub async fn observe(&self, path: &str, version: &str) -> Result<(), HostError> {
        self.host.observe(&self.execution, path, version).await
    }

    /// Shows a piece of live output.
    pub fn output(&self, stream: &str, text: &str) {
        self.host.live(&self.execution, &|| {
            EventDraft::new(
                EventType::ToolOutput,
                Subject::execution(&self.execution),
                |w| {
                    w.string("stream", stream).string("text", text);
                },
            )
        });
    }

    /// Reports progress: a message, and how much of how much.
    pub fn progress(&self, message: Option<&str>, progress: Option<f64>, total: Option<f64>) {
        self.host.live(&self.execution, &|| {
            EventDraft::new(
                EventType::ToolProgress,
                Subject::execution(&self.execution),
                |w| {
                    w.string_opt("message", message);
                    for (key, number) in [("progress", progress), ("total", total)] {
                        if let Some(number) = number.filter(|n| n.is_finite()) {
                            w.decimal(key, number);
                        }
                    }
                },
            )
        });
    }

    /// Adds a message for the model after the batch's results; kept also when the body then fails
    /// or is cancelled.
    pub fn defer_context(&self, content: Vec<Content>, source: Option<&str>) {
        let name = source.unwrap_or(&self.execution.name);
        let source = ContextSource {
            kind: "tool".to_owned(),
            name: name.to_owned(),
        };
        self.lock().contexts.push(Context { source, content });
    }

    /// Says that a success of this body ends the agent's turn.
    pub fn conclude_turn(&self) {
        self.lock().concludes = true;
    }

    /// The execution's token, for processes and workers that act in its name. It dies when the
    /// execution settles.
    ///
    /// # Errors
    /// [`HostError::Settled`] afterwards.
    pub fn token(&self) -> Result<ExecutionToken, HostError> {
        self.host.token(&self.execution)
    }

    /// Takes what the body has left: deferred contexts, and whether it concluded the turn.
    pub fn take_deferred(&self) -> (Vec<Context>, bool) {
        let mut deferred = self.lock();
        (
            std::mem::take(&mut deferred.contexts),
            std::mem::take(&mut deferred.concludes),
        )
    }

    fn lock(&self) -> MutexGuard<'_, Deferred> {
        // A panicking body leaves a list that is still whole.
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
