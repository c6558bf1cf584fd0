//! The around stage: a `tower` stack between the permit and the body.
//!
//! Outermost first: metrics, wrappers of an embedder, timeout, checkpoint, body. A wrapper may
//! replace only the signal; identity, arguments and the caller's own cancellation are out of its
//! reach, and the body gets the caller's cancellation fused back in.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    task::{Context as TaskContext, Poll},
    time::Duration,
};

use tower::{Layer, Service, util::BoxCloneSyncService};

use super::{body::Body, progress::Progress};
use crate::{
    domain::{
        CallState, Clock, Context, ErrorCode, EventDraft, EventType, Execution, Failure, Json,
        Subject,
    },
    journal::{Append, Committed, Journal, Write},
    registry::{Cause, Class, ExecutionHost, Signal, Tool},
    telemetry::Telemetry,
};

/// A service of the around stage.
pub type AroundService = BoxCloneSyncService<Dispatch, Answer, DispatchFault>;

/// A wrapper of the around stage, as an embedder adds it.
#[derive(Clone)]
pub struct AroundLayer(Arc<dyn Fn(AroundService) -> AroundService + Send + Sync>);

impl AroundLayer {
    /// From a `tower` layer over [`AroundService`].
    pub fn new<L>(layer: L) -> Self
    where
        L: Layer<AroundService> + Send + Sync + 'static,
        L::Service: Service<Dispatch, Response = Answer, Error = DispatchFault>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as Service<Dispatch>>::Future: Send + 'static,
    {
        Self(Arc::new(move |inner| {
            AroundService::new(layer.layer(inner))
        }))
    }
}

impl fmt::Debug for AroundLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AroundLayer")
    }
}

/// The pipeline's own failure around a body; the call ends as `PIPELINE_ERROR`, unreviewed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct DispatchFault(pub String);

/// One dispatch on its way through the stack.
#[derive(Debug, Clone)]
pub struct Dispatch {
    pub(super) execution: Arc<Execution>,
    pub(super) tool: Arc<Tool>,
    pub(super) caller: Signal,
    pub(super) signal: Signal,
    pub(super) host: Arc<dyn ExecutionHost>,
    pub(super) progress: Arc<Progress>,
    pub(super) trace: Arc<Trace>,
    pub(super) class: Class,
}

/// What the stack leaves behind whatever it answers.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) attempts: AtomicU32,
    pub(super) body_invoked: AtomicBool,
}

impl Dispatch {
    /// The execution's identity.
    pub fn execution(&self) -> &Arc<Execution> {
        &self.execution
    }

    /// The captured tool.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// The signal that the next service gets.
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The same dispatch under another signal; a child of [`Self::signal`] is usual.
    #[must_use]
    pub fn with_signal(self, signal: Signal) -> Self {
        Self { signal, ..self }
    }
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyFailure {
    /// It failed.
    Failed(Failure),
    /// It ended because its signal asked it to.
    Interrupted,
}

/// What comes back through the stack. A value, a wrapper's own included, still passes the tool's
/// output contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The value or why there is none.
    pub value: Result<Json, BodyFailure>,
    /// Deferred by the body, then by wrappers: append yours at the end.
    pub contexts: Vec<Context>,
    /// Whether a success ends the turn.
    pub concludes_turn: bool,
}

impl Answer {
    /// A failure without contexts.
    pub fn failed(failure: Failure) -> Self {
        Self {
            value: Err(BodyFailure::Failed(failure)),
            contexts: Vec::new(),
            concludes_turn: false,
        }
    }
}

/// Builds the stack once; every dispatch runs on a clone.
pub(super) fn stack(
    journal: &Journal,
    clock: &Arc<dyn Clock>,
    telemetry: &Telemetry,
    wrappers: &[AroundLayer],
) -> AroundService {
    let checkpoint = Checkpoint {
        journal: journal.clone(),
        inner: Body,
    };
    let inner = AroundService::new(Timeout { inner: checkpoint });
    let inner = wrappers
        .iter()
        .rev()
        .fold(inner, |inner, AroundLayer(wrap)| wrap(inner));
    AroundService::new(Metrics {
        clock: Arc::clone(clock),
        telemetry: telemetry.clone(),
        inner,
    })
}

pub(super) type Pending = Pin<Box<dyn Future<Output = Result<Answer, DispatchFault>> + Send>>;

/// A clone of a service that is ready, by the rules of `tower`: the ready one is taken.
fn take_ready<S: Clone>(service: &mut S) -> S {
    let clone = service.clone();
    std::mem::replace(service, clone)
}

/// Measures the dispatch from outside everything else.
#[derive(Debug, Clone)]
struct Metrics<S> {
    clock: Arc<dyn Clock>,
    telemetry: Telemetry,
    inner: S,
}

impl<S> Service<Dispatch> for Metrics<S>
where
    S: Service<Dispatch, Response = Answer, Error = DispatchFault> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Answer;
    type Error = DispatchFault;
    type Future = Pending;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), DispatchFault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, dispatch: Dispatch) -> Pending {
        let mut inner = take_ready(&mut self.inner);
        let (clock, telemetry) = (Arc::clone(&self.clock), self.telemetry.clone());
        Box::pin(async move {
            let began = clock.monotonic();
            let tool = Arc::clone(&dispatch.tool);
            let answer = inner.call(dispatch).await;
            telemetry.dispatched(tool.name(), clock.monotonic().since(began));
            answer
        })
    }
}

/// The tool's declared budget over all attempts. It signals and then waits: a started body is
/// never abandoned.
#[derive(Debug, Clone)]
struct Timeout<S> {
    inner: S,
}

impl<S> Service<Dispatch> for Timeout<S>
where
    S: Service<Dispatch, Response = Answer, Error = DispatchFault> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Answer;
    type Error = DispatchFault;
    type Future = Pending;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), DispatchFault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, dispatch: Dispatch) -> Pending {
        let mut inner = take_ready(&mut self.inner);
        let Some(budget) = dispatch.tool.definition().timeout else {
            return Box::pin(inner.call(dispatch));
        };
        let signal = dispatch.signal.child();
        Box::pin(async move {
            let answer = inner.call(dispatch.with_signal(signal.clone()));
            timed(answer, &signal, budget).await
        })
    }
}

async fn timed(
    answer: impl Future<Output = Result<Answer, DispatchFault>>,
    signal: &Signal,
    budget: Duration,
) -> Result<Answer, DispatchFault> {
    let mut answer = std::pin::pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        () = tokio::time::sleep(budget) => {}
    }
    // Of timeout and cancellation the first cause wins; `cancel` says whether it was this one.
    let own = signal.cancel(Cause::Timeout);
    let mut answer = answer.await?;
    let was_denied = matches!(&answer.value, Err(BodyFailure::Failed(failure))
        if failure.is(ErrorCode::GuardDenied));
    if own && !was_denied {
        let message = format!(
            "the tool took longer than its {}",
            humantime::format_duration(budget)
        );
        answer.value = Err(BodyFailure::Failed(Failure::new(
            ErrorCode::ToolTimeout,
            message,
        )));
    }
    Ok(answer)
}

/// Makes `tool/started` durable right before the body.
#[derive(Debug, Clone)]
struct Checkpoint<S> {
    journal: Journal,
    inner: S,
}

impl<S> Service<Dispatch> for Checkpoint<S>
where
    S: Service<Dispatch, Response = Answer, Error = DispatchFault> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Answer;
    type Error = DispatchFault;
    type Future = Pending;

    fn poll_ready(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), DispatchFault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, dispatch: Dispatch) -> Pending {
        let mut inner = take_ready(&mut self.inner);
        let journal = self.journal.clone();
        Box::pin(async move {
            // The caller's too: a wrapper may have put another signal in its place.
            if dispatch.signal.is_cancelled() || dispatch.caller.is_cancelled() {
                return Ok(interrupted());
            }
            record_start(&journal, &dispatch).await?;
            dispatch.trace.body_invoked.store(true, Ordering::Release);
            dispatch.progress.enter(CallState::Running);
            inner.call(dispatch).await
        })
    }
}

fn interrupted() -> Answer {
    Answer {
        value: Err(BodyFailure::Interrupted),
        contexts: Vec::new(),
        concludes_turn: false,
    }
}

async fn record_start(journal: &Journal, dispatch: &Dispatch) -> Result<(), DispatchFault> {
    let execution = &dispatch.execution;
    let attempt = dispatch.trace.attempts.fetch_add(1, Ordering::AcqRel) + 1;
    let event = EventDraft::new(EventType::ToolStarted, Subject::execution(execution), |w| {
        w.number("attempt", u64::from(attempt))
            .string("class", dispatch.class.as_str());
    });
    let write = Write::StartCall(
        execution.session.clone(),
        execution.call_id.clone(),
        execution.id,
    );
    match journal.append(Append::one(write, event)).await {
        Ok(Committed::Done(_)) => Ok(()),
        Ok(Committed::Refused(_)) => Err(DispatchFault(
            "the call is not open any more and must not run".to_owned(),
        )),
        Err(error) => {
            tracing::error!(error = %error, "tool/started could not be recorded");
            Err(DispatchFault(
                "the start of the tool could not be recorded; it was not run".to_owned(),
            ))
        }
    }
}
