//! The one writer of a store: a bounded queue, group commit, publish, answer.
//!
//! Owns the order that readers rely on: what a group holds is committed, then shown, then
//! answered. What is written is a [`Backend`]'s business.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::{
    domain::{Clock, Json},
    journal::{Append, Commit, Committed, DocumentKind, Error, Publish},
};

/// Most requests that wait; more wait outside.
const QUEUE: usize = 1024;
/// Most requests of one commit group.
const GROUP: usize = 256;
/// A group ends with the request that reaches this many bytes of event data.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// A change of the documents beside the log.
#[derive(Debug)]
pub(super) enum DocumentChange {
    /// Keeps a document, replacing one that is there.
    Put(DocumentKind, String, Json),
    /// Removes one.
    Delete(DocumentKind, String),
}

/// What waits for the writer.
#[derive(Debug)]
pub(super) enum Request {
    Write(Work),
    Close(Answer<()>),
}

/// What is written, and who waits for it.
#[derive(Debug)]
pub(super) enum Work {
    Append(Append, Answer<Committed>),
    Change(DocumentChange, Answer<bool>),
}

impl Work {
    fn bytes(&self) -> usize {
        match self {
            Self::Append(append, _) => append.steps.iter().map(|step| step.event.data.len()).sum(),
            Self::Change(..) => 0,
        }
    }

    fn refuse(self, error: &Error) {
        match self {
            Self::Append(_, answer) => drop(answer.send(Err(error.clone()))),
            Self::Change(_, answer) => drop(answer.send(Err(error.clone()))),
        }
    }
}

/// Who writes. Between `begin` and `commit` nothing is durable, and `rollback` undoes it all.
pub(super) trait Backend {
    /// Begins a group; when that fails there is nothing to roll back.
    fn begin(&mut self) -> Result<(), Error>;
    /// Writes an append whole, or nothing of it when it is refused.
    fn append(&mut self, append: &Append) -> Result<Committed, Error>;
    /// Writes a document change; whether the document was there before.
    fn change(&mut self, change: &DocumentChange) -> Result<bool, Error>;
    /// Makes the group durable.
    fn commit(&mut self) -> Result<(), Error>;
    /// Forgets what the group wrote, after one of the above failed.
    fn rollback(&mut self);
    /// Does what nobody waits for, once a group has been answered. `idle` is how long nothing had
    /// been queued before it.
    fn rest(&mut self, idle: Duration);
}

/// The end of the queue that requests are put in. A cheap handle.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    sender: mpsc::Sender<Request>,
}

impl Queue {
    /// A queue and the end that [`serve`] reads.
    pub(super) fn new() -> (Self, mpsc::Receiver<Request>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Self { sender }, receiver)
    }

    pub(super) async fn submit(&self, append: Append) -> Result<Commit, Error> {
        let (answer, commit) = Commit::channel();
        self.send(Request::Write(Work::Append(append, answer)))
            .await?;
        Ok(commit)
    }

    pub(super) async fn change(&self, change: DocumentChange) -> Result<bool, Error> {
        let (answer, changed) = oneshot::channel();
        self.send(Request::Write(Work::Change(change, answer)))
            .await?;
        changed.await.unwrap_or(Err(Error::Closed))
    }

    /// Ends the writer once everything queued before is answered. Closing what is closed is done.
    pub(super) async fn close(&self) -> Result<(), Error> {
        let (answer, closed) = oneshot::channel();
        match self.send(Request::Close(answer)).await {
            Ok(()) => closed.await.unwrap_or(Ok(())),
            Err(_) => Ok(()),
        }
    }

    async fn send(&self, request: Request) -> Result<(), Error> {
        self.sender.send(request).await.map_err(|_| Error::Closed)
    }
}

/// Serves the queue until it is closed, then answers whom to tell; `None` when all handles were
/// dropped instead. What is still queued behind a close is answered [`Error::Closed`].
pub(super) fn serve(
    receiver: &mut mpsc::Receiver<Request>,
    backend: &mut impl Backend,
    publish: &dyn Publish,
    clock: &dyn Clock,
) -> Option<Answer<()>> {
    loop {
        let waiting = clock.monotonic();
        let first = receiver.blocking_recv()?;
        let idle = clock.monotonic().since(waiting);
        if let Request::Close(answer) = first {
            receiver.close();
            return Some(answer);
        }
        let mut group = Group::new(Some(receiver), first);
        commit(&mut group, backend, publish);
        if let Some(close) = group.close {
            receiver.close();
            return Some(close);
        }
        backend.rest(idle);
    }
}

/// What is committed together. It grows while it is written: what is queued meanwhile joins it,
/// up to the bounds of a group or a close.
struct Group<'r> {
    /// What has not joined yet.
    queued: Option<&'r mut mpsc::Receiver<Request>>,
    first: Option<Request>,
    works: Vec<Work>,
    bytes: usize,
    close: Option<Answer<()>>,
}

impl<'r> Group<'r> {
    fn new(queued: Option<&'r mut mpsc::Receiver<Request>>, first: Request) -> Self {
        Self {
            queued,
            first: Some(first),
            works: Vec::new(),
            bytes: 0,
            close: None,
        }
    }

    /// One more work of the group, if one is queued and the group has room for it.
    fn grow(&mut self) -> Option<&Work> {
        let full = self.works.len() >= GROUP || self.bytes >= GROUP_BYTES || self.close.is_some();
        let queued = self.queued.as_mut().filter(|_| !full);
        let request = self
            .first
            .take()
            .or_else(|| queued.and_then(|queued| queued.try_recv().ok()));
        match request? {
            Request::Close(answer) => {
                self.close = Some(answer);
                None
            }
            Request::Write(work) => {
                self.bytes += work.bytes();
                self.works.push(work);
                self.works.last()
            }
        }
    }

    /// Writes every work and makes the group durable.
    fn attempt(&mut self, backend: &mut impl Backend) -> Result<Vec<Outcome>, Failed> {
        if let Err(cause) = backend.begin() {
            // whoever is queued would only wait as long again
            while self.grow().is_some() {}
            return Err(Failed::NotBegun(cause));
        }
        self.write(backend).map_err(|cause| {
            backend.rollback();
            Failed::Undone(cause)
        })
    }

    fn write(&mut self, backend: &mut impl Backend) -> Result<Vec<Outcome>, Error> {
        let mut outcomes = Vec::new();
        while let Some(work) = self.grow() {
            outcomes.push(match work {
                Work::Append(append, _) => backend.append(append).map(Outcome::Appended)?,
                Work::Change(change, _) => backend.change(change).map(Outcome::Changed)?,
            });
        }
        backend.commit()?;
        Ok(outcomes)
    }
}

/// What became of one piece of work.
enum Outcome {
    Appended(Committed),
    Changed(bool),
}

/// Why a group is not committed.
enum Failed {
    /// Nothing can be written now.
    NotBegun(Error),
    /// Something in it could not be written; all of it is undone.
    Undone(Error),
}

/// Commits a group; when it cannot be committed as a whole, each of its works alone, so that one
/// too many does not fail the others.
/// Whether anything can be written at all is the answer.
fn commit(group: &mut Group<'_>, backend: &mut impl Backend, publish: &dyn Publish) -> bool {
    let attempted = group.attempt(backend);
    let works = std::mem::take(&mut group.works);
    let (cause, began, retry) = match attempted {
        Ok(outcomes) => {
            deliver(works, outcomes, publish);
            return true;
        }
        Err(Failed::NotBegun(cause)) => (cause, false, false),
        Err(Failed::Undone(cause)) => (cause, true, works.len() > 1),
    };
    tracing::warn!(error = ?cause, works = works.len(), retry, "commit group failed");
    let mut writable = retry;
    for work in works {
        // Once nothing can be begun, each of the others would only wait as long for the same.
        if writable {
            let mut alone = Group::new(None, Request::Write(work));
            writable = commit(&mut alone, backend, publish);
        } else {
            work.refuse(&cause);
        }
    }
    began
}

/// Shows what a group recorded, then answers everybody; nobody need be waiting for it.
fn deliver(group: impl IntoIterator<Item = Work>, outcomes: Vec<Outcome>, publish: &dyn Publish) {
    let mut events = Vec::with_capacity(outcomes.len());
    for outcome in &outcomes {
        if let Outcome::Appended(Committed::Done(records)) = outcome {
            events.extend(records.iter().cloned());
        }
    }
    if !events.is_empty() {
        publish.publish(&events);
    }
    for (work, outcome) in group.into_iter().zip(outcomes) {
        match (work, outcome) {
            (Work::Append(_, answer), Outcome::Appended(done)) => drop(answer.send(Ok(done))),
            (Work::Change(_, answer), Outcome::Changed(was)) => drop(answer.send(Ok(was))),
            // each outcome was made from the work beside it
            (Work::Append(..), Outcome::Changed(_)) | (Work::Change(..), Outcome::Appended(_)) => {}
        }
    }
}
