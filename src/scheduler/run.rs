//! The task of one execution: from the append of `tool/call` to the durable result.
//!
//! Owned by the daemon, never by a connection: HTTP handlers only wait for it.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;

use super::{
    Error, Scheduler,
    call::{CallEntry, Phase},
    lane::{Lane, Place},
    lock::Lock,
    session::Session,
    submit::{Slot, Submitting},
};
use crate::{
    journal::{self, Committed, Refusal},
    pipeline::{Created, Dispatched, Ended, Frozen, Judged},
};

/// First wait before a result that could not be written is appended again.
const RETRY_FIRST: Duration = Duration::from_millis(50);
/// Longest wait between two such tries.
const RETRY_MOST: Duration = Duration::from_secs(5);

/// The growing waits between tries.
#[derive(Debug)]
pub(super) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(RETRY_FIRST)
    }
}

impl Pauses {
    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(RETRY_MOST);
    }
}

/// What the task works on.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) scheduler: Scheduler,
    pub(super) session: Arc<Session>,
    pub(super) entry: Arc<CallEntry>,
    pub(super) lane: Lane,
    pub(super) _slot: Slot,
}

/// What a dispatched call holds until its result is durable.
#[derive(Debug, Default)]
struct Held {
    place: Option<Place>,
    lock: Option<Lock>,
}

impl Held {
    /// The result is durable: whoever waits may go on.
    fn release(self) {
        drop(self.lock);
        drop(self.place);
    }
}

impl Run {
    /// Runs the call to its end, whatever happens on the way: should a stage panic, which would be
    /// a fault of ours, the call is closed as recovery would close it.
    pub(super) async fn conclude(self, created: Result<Created, Ended>, submitted: Submitting) {
        let (scheduler, session) = (self.scheduler.clone(), Arc::clone(&self.session));
        let entry = Arc::clone(&self.entry);
        let driven = AssertUnwindSafe(self.drive(created, submitted)).catch_unwind();
        if driven.await.is_err() {
            tracing::error!(call_id = %entry.execution.call_id, "the task of a call panicked");
            entry.rest_below(&session).await;
            scheduler.close_after_fault(&entry).await;
            session.leave(&entry);
        }
    }

    /// Runs the call to its end. The task is never aborted.
    async fn drive(self, created: Result<Created, Ended>, submitted: Submitting) {
        if let Some((frozen, held)) = self.accepted(created, submitted).await {
            self.settle(&frozen).await;
            self.scheduler.0.tokens.revoke(self.entry.execution.id);
            held.release();
        }
        self.session.leave(&self.entry);
    }

    /// Records `tool/call` and walks the stages meanwhile: what policy computes has no effect
    /// outside, and the store starts no body whose `tool/call` is not durable. `None` when the
    /// call was not accepted; then nothing of it was recorded.
    async fn accepted(
        &self,
        created: Result<Created, Ended>,
        submitted: Submitting,
    ) -> Option<(Frozen, Held)> {
        let commit = match submitted.await {
            Ok(commit) => commit.durable(),
            Err(error) => {
                self.entry.enter(Phase::Refused(error.into()));
                return None;
            }
        };
        let acts_outside = match &created {
            Ok(created) => created.acts_outside(),
            Err(ended) => ended.acts_outside(),
        };
        if acts_outside {
            return match self.decide(commit.await) {
                Ok(()) => Some(self.walk(created).await),
                Err(NotAccepted) => None,
            };
        }
        let mut walk = std::pin::pin!(self.walk(created));
        let mut commit = std::pin::pin!(commit);
        tokio::select! {
            biased;
            // Dropping the walk is safe when the accept was refused: no body can have started.
            accept = &mut commit => match self.decide(accept) {
                Ok(()) => Some(walk.await),
                Err(NotAccepted) => None,
            },
            walked = &mut walk => match self.decide(commit.await) {
                Ok(()) => Some(walked),
                Err(NotAccepted) => None,
            },
        }
    }

    /// Tells those who wait what became of the accept.
    fn decide(&self, accept: Result<Committed, journal::Error>) -> Result<(), NotAccepted> {
        self.scheduler.note_store(accept.is_ok());
        let phase = match accept {
            Ok(Committed::Done(_)) => {
                self.entry.enter(Phase::Accepted);
                self.entry.progress.accepted();
                return Ok(());
            }
            Ok(Committed::Refused(Refusal::CallExists(row))) => Phase::Taken(row),
            Ok(Committed::Refused(Refusal::SessionUnknown)) => {
                Phase::Refused(Error::UnknownSession)
            }
            Ok(Committed::Refused(
                Refusal::SessionEnded | Refusal::SessionExists | Refusal::NotOpen,
            )) => Phase::Refused(Error::SessionEnded),
            Err(error) => Phase::Refused(error.into()),
        };
        self.entry.enter(phase);
        Err(NotAccepted)
    }

    /// The stages, and what is held until the result is durable.
    async fn walk(&self, created: Result<Created, Ended>) -> (Frozen, Held) {
        let mut held = Held::default();
        let staged = Box::pin(self.stages(created, &mut held)).await;
        self.entry.rest_below(&self.session).await;
        let frozen = match staged {
            Ok(dispatched) => dispatched.finish().await,
            Err(ended) => ended.finish().await,
        };
        (frozen, held)
    }

    async fn stages(
        &self,
        created: Result<Created, Ended>,
        held: &mut Held,
    ) -> Result<Dispatched, Ended> {
        let judged = created?.judge().await?;
        let (judged, place) = self.take_lane(judged).await?;
        held.place = Some(place);
        let (judged, lock) = self.take_lock(judged).await?;
        held.lock = lock;
        judged.guard()?.dispatch().await
    }

    /// Takes a ticket and waits for the lane; a cancelled call leaves the queue at once.
    async fn take_lane(&self, judged: Judged) -> Result<(Judged, Place), Ended> {
        let mut place = self.lane.ticket(judged.class());
        if place.is_held() {
            return Ok((judged, place));
        }
        judged.queued();
        let held = tokio::select! {
            biased;
            () = judged.signal().cancelled() => false,
            () = place.held() => true,
        };
        if held {
            Ok((judged, place))
        } else {
            Err(judged.abort())
        }
    }

    async fn take_lock(&self, judged: Judged) -> Result<(Judged, Option<Lock>), Ended> {
        let Some(key) = judged.lock_key() else {
            return Ok((judged, None));
        };
        let claim = self
            .scheduler
            .0
            .locks
            .claim(key, self.entry.claimant.clone());
        let Ok(mut lock) = claim else {
            return Err(judged.deadlocked());
        };
        if lock.is_held() {
            return Ok((judged, Some(lock)));
        }
        judged.queued();
        let held = tokio::select! {
            biased;
            () = judged.signal().cancelled() => false,
            () = lock.held() => true,
        };
        if held {
            Ok((judged, Some(lock)))
        } else {
            Err(judged.abort())
        }
    }

    /// Makes the result durable, then shows it. While the store cannot write, callers are told so
    /// and the append is tried again; when the store is closed, recovery closes the call.
    async fn settle(&self, frozen: &Frozen) {
        let mut pauses = Pauses::default();
        let parts = &self.scheduler.0.parts;
        loop {
            let queued = parts.clock.monotonic();
            match frozen.settle().await {
                Ok(Some(settled)) => {
                    self.scheduler.note_store(true);
                    parts
                        .telemetry
                        .appended(parts.clock.monotonic().since(queued));
                    self.entry.progress.enter(crate::domain::CallState::Settled);
                    return self.entry.enter(Phase::Settled(Arc::new(settled)));
                }
                Ok(None) => {
                    tracing::error!(call_id = %self.entry.execution.call_id,
                        "the store holds another end of this call");
                    return self.entry.enter(Phase::Refused(Error::UnknownCall));
                }
                Err(error @ journal::Error::Closed) => {
                    return self.entry.enter(Phase::Unsettled(error));
                }
                Err(error) => {
                    tracing::error!(error = %error, call_id = %self.entry.execution.call_id,
                        "a result could not be recorded; trying again");
                    self.scheduler.note_store(false);
                    self.entry.enter(Phase::Unsettled(error));
                    pauses.wait().await;
                }
            }
        }
    }
}

/// The call was not accepted, and those who wait have been told why.
struct NotAccepted;
