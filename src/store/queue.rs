//! The one writer of a store: a bounded queue, group commit, publish, answer.
//!
//! Owns the order that readers rely on: what a group holds is committed, then shown, then
//! answered. What is written is a [`Backend`]'s business.

use tokio::sync::{mpsc, oneshot};

use crate::{
    domain::Json,
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
) -> Option<Answer<()>> {
    while let Some(first) = receiver.blocking_recv() {
        let (group, close) = gather(first, receiver);
        if !group.is_empty() {
            commit(group, backend, publish);
        }
        if close.is_some() {
            receiver.close();
            return close;
        }
    }
    None
}

/// Takes what is queued, up to the bounds of a group or a close.
fn gather(
    first: Request,
    receiver: &mut mpsc::Receiver<Request>,
) -> (Vec<Work>, Option<Answer<()>>) {
    let mut group = Vec::new();
    let mut bytes = 0;
    let mut next = Some(first);
    while let Some(request) = next {
        match request {
            Request::Close(answer) => return (group, Some(answer)),
            Request::Write(work) => {
                bytes += work.bytes();
                group.push(work);
            }
        }
        let full = group.len() >= GROUP || bytes >= GROUP_BYTES;
        next = if full { None } else { receiver.try_recv().ok() };
    }
    (group, None)
}

/// What became of one piece of work.
enum Outcome {
    Appended(Committed),
    Changed(bool),
}

/// Commits a group; when it cannot be committed as a whole, each of its works alone, so that one
/// too many does not fail the others.
fn commit(group: Vec<Work>, backend: &mut impl Backend, publish: &dyn Publish) {
    let error = match attempt(&group, backend) {
        Ok(outcomes) => return deliver(group, outcomes, publish),
        Err(error) => error,
    };
    let (cause, retry) = match &error {
        Failed::NotBegun(cause) => (cause, false),
        Failed::Undone(cause) => (cause, group.len() > 1),
    };
    tracing::warn!(error = ?cause, works = group.len(), retry, "commit group failed");
    if !retry {
        return group.into_iter().for_each(|work| work.refuse(cause));
    }
    for work in group {
        let alone = [work];
        match attempt(&alone, backend) {
            Ok(outcomes) => deliver(alone, outcomes, publish),
            Err(Failed::NotBegun(cause) | Failed::Undone(cause)) => {
                let [work] = alone;
                work.refuse(&cause);
            }
        }
    }
}

/// Why a group is not committed.
enum Failed {
    /// Nothing can be written now: another try would only wait as long again.
    NotBegun(Error),
    /// Something in it could not be written; all of it is undone.
    Undone(Error),
}

fn attempt(group: &[Work], backend: &mut impl Backend) -> Result<Vec<Outcome>, Failed> {
    backend.begin().map_err(Failed::NotBegun)?;
    write(group, backend).map_err(|error| {
        backend.rollback();
        Failed::Undone(error)
    })
}

fn write(group: &[Work], backend: &mut impl Backend) -> Result<Vec<Outcome>, Error> {
    let outcomes = group.iter().map(|work| match work {
        Work::Append(append, _) => backend.append(append).map(Outcome::Appended),
        Work::Change(change, _) => backend.change(change).map(Outcome::Changed),
    });
    let outcomes = outcomes.collect::<Result<_, _>>()?;
    backend.commit()?;
    Ok(outcomes)
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
