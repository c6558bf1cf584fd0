//! Accept: deduplicate, freeze, record `tool/call`, start the execution's task.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::FutureExt as _;

use super::{
    CallHandle, CallRequest, Error, Inner, Reserved, Scheduler,
    call::{CallEntry, CancelOnDrop, Identity, Phase},
    request::FrozenArguments,
    run::Run,
    session::{Joined, Session},
};
use crate::{
    domain::{CallId, EventDraft, EventType, Execution, ExecutionId, Json, ResultBytes, Subject},
    journal::{self, Append, CallRow, Commit, Write},
    pipeline::{Incoming, Progress},
    registry::{HostError, Signal},
    tasks::{HEAVY, in_place},
};

/// Most nested calls under way below one top-level call.
const MAX_BELOW_ROOT: usize = 1_000;
/// Most nested calls under way in the daemon.
const MAX_NESTED: usize = 10_000;

/// An append on its way into the journal's queue.
pub(super) type Submitting = Pin<Box<dyn Future<Output = Result<Commit, journal::Error>> + Send>>;

/// A call that was accepted, now or before.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// The call.
    pub handle: CallHandle,
    /// Whether an earlier submission had been accepted under the id.
    pub replayed: bool,
}

/// How a new execution descends from others.
#[derive(Debug)]
pub(super) struct Descent {
    pub(super) parent: Option<ExecutionId>,
    pub(super) root_call_id: CallId,
    pub(super) ancestors: Arc<[ExecutionId]>,
    pub(super) below_root: Arc<AtomicUsize>,
    pub(super) signal: Signal,
}

impl Scheduler {
    /// Submits a call. When it returns, `tool/call` is durable, and the execution goes on whatever
    /// becomes of the caller. The same call again joins or replays the first one.
    ///
    /// # Errors
    /// Nothing is recorded on any of them: [`Error::UnknownSession`], [`Error::SessionEnded`],
    /// [`Error::CallIdConflict`], [`Error::Overloaded`], [`Error::Draining`], [`Error::Store`].
    ///
    /// Dropping the future leaves the call to the daemon, unless the request is tied.
    pub async fn submit(&self, request: CallRequest) -> Result<Accepted, Error> {
        if self.draining() {
            return Err(Error::Draining);
        }
        let session = self.load(&request.session).await?;
        let raw = request.arguments.as_deref();
        let is_heavy = raw.is_some_and(|raw| raw.len() > HEAVY);
        let arguments = in_place(is_heavy, || FrozenArguments::read(&request.name, raw));
        let call_id = request
            .call_id
            .unwrap_or_else(|| CallId::from_uuid(self.0.parts.ids.uuid()));
        if let Some(entry) = session.call(&call_id) {
            let identity = Identity {
                name: &request.name,
                digest: arguments.digest,
                turn: request.turn,
                step: request.step,
            };
            return self.joined(&entry, identity).await;
        }
        let descent = Descent {
            parent: None,
            root_call_id: call_id.clone(),
            ancestors: Arc::default(),
            below_root: Arc::default(),
            signal: Signal::root(),
        };
        let execution = self.execution(
            &session,
            call_id,
            request.name,
            &arguments,
            &request.principal,
            &descent,
        );
        let entry = self.entry(&session, execution, (request.turn, request.step), &descent);
        let slot = match request.place {
            Some(Reserved(slot)) => slot,
            None => self.slot()?,
        };
        match session.join(&entry) {
            Joined::First => {}
            Joined::Other(other) => return self.joined(&other, Identity::of_entry(&entry)).await,
            Joined::Ending => return self.recorded(&entry).await,
        }
        let lane = session.lane.clone();
        let mut tie = CancelOnDrop::of(&entry, "its client went away");
        if !request.tied {
            tie.let_go();
        }
        self.start(&session, &entry, &arguments, lane, slot);
        let identity = Identity::of_entry(&entry);
        let answered = self.answered(&entry, identity, Submission::First).await;
        tie.let_go();
        answered
    }

    /// Takes a place for a call whose session is still to be made, so that nothing is recorded for
    /// one that has none.
    ///
    /// # Errors
    /// [`Error::Overloaded`], [`Error::Draining`].
    pub fn reserve(&self) -> Result<Reserved, Error> {
        self.slot().map(Reserved)
    }

    /// An ended session takes no more calls, and still answers for those that it had.
    async fn recorded(&self, entry: &CallEntry) -> Result<Accepted, Error> {
        let execution = &entry.execution;
        let store = self.0.parts.journal.store();
        match store.call(&execution.session, &execution.call_id).await? {
            None => Err(Error::SessionEnded),
            Some(row) if Identity::of_entry(entry).is_of(Identity::of_row(&row)) => Ok(Accepted {
                handle: self.of_row(&row).await?,
                replayed: true,
            }),
            Some(_) => Err(Error::CallIdConflict),
        }
    }

    /// A live call has the id already.
    async fn joined(
        &self,
        entry: &Arc<CallEntry>,
        identity: Identity<'_>,
    ) -> Result<Accepted, Error> {
        if !identity.is_of(Identity::of_entry(entry)) {
            return Err(Error::CallIdConflict);
        }
        self.answered(entry, identity, Submission::Repeated).await
    }

    /// Waits until the accept is decided and says what it means for one submission.
    async fn answered(
        &self,
        entry: &Arc<CallEntry>,
        identity: Identity<'_>,
        submission: Submission,
    ) -> Result<Accepted, Error> {
        match entry.decided().await {
            Phase::Accepted | Phase::Unsettled(_) | Phase::Settled(_) | Phase::Pending => {
                Ok(Accepted {
                    handle: CallHandle::live(Arc::clone(entry)),
                    replayed: submission == Submission::Repeated,
                })
            }
            Phase::Refused(error) => Err(error),
            Phase::Taken(row) if identity.is_of(Identity::of_row(&row)) => {
                let handle = self.of_row(&row).await?;
                Ok(Accepted {
                    handle,
                    replayed: true,
                })
            }
            Phase::Taken(_) => Err(Error::CallIdConflict),
        }
    }

    /// A handle of a recorded call: its result, or the live call.
    pub(super) async fn of_row(&self, row: &CallRow) -> Result<CallHandle, Error> {
        if let Some(settled) = row.settled {
            let event = self.0.parts.journal.store().event(settled).await?;
            let event = event.ok_or(Error::UnknownCall)?;
            let result = ResultBytes(event.frame.data());
            return Ok(CallHandle::stored(
                row.session.clone(),
                row.call_id.clone(),
                result,
            ));
        }
        let session = self.load(&row.session).await?;
        let entry = session.call(&row.call_id).ok_or(Error::UnknownCall)?;
        Ok(CallHandle::live(entry))
    }

    /// The identity of a new execution.
    pub(super) fn execution(
        &self,
        session: &Session,
        call_id: CallId,
        name: String,
        arguments: &FrozenArguments,
        principal: &Arc<str>,
        descent: &Descent,
    ) -> Arc<Execution> {
        let parts = &self.0.parts;
        let row = session.row.load();
        let agent = parts.registry.agent(&row.agent);
        let of_agent = agent
            .map(|agent| agent.approval_policy())
            .unwrap_or_default();
        Arc::new(Execution {
            id: ExecutionId::from_uuid(parts.ids.uuid()),
            session: row.id.clone(),
            call_id,
            root_call_id: descent.root_call_id.clone(),
            parent: descent.parent,
            agent: row.agent.clone(),
            principal: Arc::clone(principal),
            name,
            arguments: Arc::clone(&arguments.object),
            digest: arguments.digest,
            workspace: row.workspace.clone(),
            approval_policy: parts
                .settings
                .approval_policy
                .strictest(of_agent)
                .strictest(row.approval_policy),
            created_at: parts.clock.now(),
            accepted: parts.clock.monotonic(),
        })
    }

    pub(super) fn entry(
        &self,
        session: &Session,
        execution: Arc<Execution>,
        place: (Option<u64>, Option<u64>),
        descent: &Descent,
    ) -> Arc<CallEntry> {
        let progress = Arc::new(Progress::new(
            Arc::clone(&execution),
            self.0.parts.journal.clone(),
        ));
        let ancestors = Arc::clone(&descent.ancestors);
        let below = Arc::clone(&descent.below_root);
        let width = self.width_of(&session.row.load());
        CallEntry::new(
            execution,
            place,
            descent.signal.clone(),
            progress,
            ancestors,
            below,
            width,
        )
    }

    /// Starts the task of a call that has joined its session. It ends in one result, or, should
    /// its create stage panic, which would be a fault of ours, unrecorded.
    pub(super) fn start(
        &self,
        session: &Arc<Session>,
        entry: &Arc<CallEntry>,
        arguments: &FrozenArguments,
        lane: super::lane::Lane,
        slot: Slot,
    ) {
        let incoming = Incoming {
            execution: Arc::clone(&entry.execution),
            unreadable: arguments
                .unreadable
                .as_ref()
                .map(|(error, _)| error.clone()),
            signal: entry.signal.clone(),
            host: Arc::new(self.clone()),
            progress: Arc::clone(&entry.progress),
        };
        let create = AssertUnwindSafe(|| {
            let created = self.0.parts.pipeline.create(incoming);
            let view = created
                .as_ref()
                .ok()
                .and_then(crate::pipeline::Created::view);
            let append = accept(entry, arguments, view.as_ref());
            (created, append)
        });
        let begun = in_place(arguments.is_heavy(), || catch_unwind(create));
        let Ok((created, append)) = begun else {
            tracing::error!(call_id = %entry.execution.call_id, "a call could not be created");
            entry.enter(Phase::Refused(Error::Faulted));
            return session.leave(entry);
        };
        // Queued here and not by the task, so that calls are accepted in the order in which they
        // were submitted; only when the queue is full does the task wait for its place.
        let journal = self.0.parts.journal.clone();
        let mut submitting: Submitting = Box::pin(async move { journal.submit(append).await });
        let submitted = match submitting.as_mut().now_or_never() {
            Some(commit) => Box::pin(std::future::ready(commit)),
            None => submitting,
        };
        let run = Run {
            scheduler: self.clone(),
            session: Arc::clone(session),
            entry: Arc::clone(entry),
            lane,
            _slot: slot,
        };
        let mut task = Box::pin(run.conclude(created, submitted));
        // The first steps are taken here: a call that waits for nobody then has its start queued
        // right behind its accept, and both are made durable together.
        if task.as_mut().now_or_never().is_none() {
            drop(self.0.parts.tasks.spawn(task));
        }
    }

    /// A place among the top-level calls under way, while the daemon takes calls.
    fn slot(&self) -> Result<Slot, Error> {
        if !taken(&self.0.live, self.0.parts.settings.max_calls) {
            return Err(Error::Overloaded);
        }
        let slot = Slot {
            scheduler: self.clone(),
            nested: None,
        };
        // Looked at once it is counted: a drain that has not seen it has said so before.
        if self.draining() {
            return Err(Error::Draining);
        }
        Ok(slot)
    }

    /// A place among the nested calls under way.
    ///
    /// # Errors
    /// [`HostError::Settled`] when the body of the parent is at rest, [`HostError::RateLimited`]
    /// when there is no place.
    pub(super) fn nested_slot(&self, parent: &Arc<CallEntry>) -> Result<Slot, HostError> {
        if !parent.children.enter() {
            return Err(HostError::Settled);
        }
        // From here on dropping it gives back whatever was counted.
        let mut slot = Slot {
            scheduler: self.clone(),
            nested: Some((Arc::clone(parent), 0)),
        };
        for (count, most) in [
            (&*parent.below_root, MAX_BELOW_ROOT),
            (&self.0.nested, MAX_NESTED),
        ] {
            if !taken(count, most) {
                return Err(HostError::RateLimited);
            }
            if let Some((_, counted)) = &mut slot.nested {
                *counted += 1;
            }
        }
        Ok(slot)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Submission {
    First,
    Repeated,
}

/// A place among the calls under way; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot {
    scheduler: Scheduler,
    /// The parent of a nested call, and in how many of the two counters of those it is.
    nested: Option<(Arc<CallEntry>, usize)>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Inner { live, nested, .. } = &*self.scheduler.0;
        match &self.nested {
            None => {
                if live.fetch_sub(1, Ordering::SeqCst) == 1 {
                    self.scheduler.0.idle.notify_waiters();
                }
            }
            Some((parent, counted)) => {
                for counter in [&*parent.below_root, nested].iter().take(*counted) {
                    counter.fetch_sub(1, Ordering::SeqCst);
                }
                parent.children.leave();
            }
        }
    }
}

/// Counts one more unless that would be over the bound.
fn taken(count: &AtomicUsize, max: usize) -> bool {
    let more = |live| (live < max).then_some(live + 1);
    count
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
        .is_ok()
}

/// The append of `tool/call` with its idempotency row.
fn accept(entry: &CallEntry, arguments: &FrozenArguments, view: Option<&Json>) -> Append {
    let execution = &entry.execution;
    let row = CallRow {
        session: execution.session.clone(),
        call_id: execution.call_id.clone(),
        root_call_id: execution.root_call_id.clone(),
        execution: execution.id,
        parent: execution.parent,
        agent: execution.agent.clone(),
        name: execution.name.clone(),
        digest: execution.digest,
        turn: entry.turn,
        step: entry.step,
        principal: Arc::clone(&execution.principal),
        accepted: 0,
        started: None,
        settled: None,
    };
    let subject = Subject::execution(execution);
    let event = EventDraft::new(EventType::ToolCall, subject, |w| {
        w.string("name", &execution.name);
        match &arguments.unreadable {
            None => w.object("arguments", &execution.arguments),
            Some((_, text)) => w.string("raw_arguments", text),
        };
        w.string("digest", &execution.digest.to_string());
        if let Some(view) = view {
            w.json("view", view);
        }
        for (key, number) in [("turn", entry.turn), ("step", entry.step)] {
            if let Some(number) = number {
                w.number(key, number);
            }
        }
    });
    Append::one(Write::AcceptCall(Box::new(row)), event)
}
