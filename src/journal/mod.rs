//! The event log: append, read, watch the tail; recovery facts. Port [`Store`].
//!
//! Owns the order append-then-wake: a record is durable before anybody sees it. Imports `domain`
//! (and the open modules). Must not know HTTP, the pipeline or a database.

mod append;
mod error;
mod follow;
mod store;
mod tail;

use std::sync::Arc;

pub use append::{Append, CallRow, Commit, Committed, Recorded, Refusal, SessionRow, Step, Write};
pub use error::Error;
pub use follow::{After, Follow, FollowItem, Hello};
pub use store::{
    Bounds, CallQuery, DocumentKind, EventPage, EventQuery, Nested, PAGE_BYTES, Publish,
    SessionQuery, Store,
};
pub use tail::{Interest, LagWatch, LiveEvent, Subscription, Tail, TailItem, TailLimits, TailRead};

use crate::domain::{Clock, EventDraft};

/// The journal as the rest of the daemon holds it: the store, and the tail that live readers
/// follow. A cheap handle.
#[derive(Debug, Clone)]
pub struct Journal {
    store: Arc<dyn Store>,
    tail: Tail,
    clock: Arc<dyn Clock>,
}

impl Journal {
    /// Joins a store to the tail that it publishes to.
    pub fn new(store: Arc<dyn Store>, tail: Tail, clock: Arc<dyn Clock>) -> Self {
        Self { store, tail, clock }
    }

    /// The store, for reading.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// The tail, for live readers.
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// Queues an append behind everything queued before and returns its pending commit. Once this
    /// returns, the append's place in the order is fixed; dropping the [`Commit`] does not undo it.
    ///
    /// # Errors
    /// [`Error::Closed`] after shutdown.
    pub async fn submit(&self, append: Append) -> Result<Commit, Error> {
        self.store.submit(append).await
    }

    /// Queues an append and waits until it is durable. Dropping the future may leave the append
    /// done or not done, never half done.
    ///
    /// # Errors
    /// As the store's.
    pub async fn append(&self, append: Append) -> Result<Committed, Error> {
        self.store.submit(append).await?.durable().await
    }

    /// Shows a live-only event of this interest to whoever watches it or all: `draft` is made and
    /// encoded only then. An event of no session is of [`Interest::All`].
    pub fn live(&self, interest: &Interest, draft: impl FnOnce() -> EventDraft) {
        if self.tail.is_watched(interest) {
            let draft = draft();
            let frame = draft.frame(None, None, self.clock.now());
            self.tail.publish_live(draft.kind, draft.subject, frame);
        }
    }
}
