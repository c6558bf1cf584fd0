//! Following the journal: one read path for everything that streams events.
//!
//! Owns the way from a cursor to the live end: pages from the store, then the tail, without loss,
//! without a double, recorded ids strictly increasing (proto-docs/events.md). Imports the journal's
//! own parts. Must not know HTTP; frames are passed on as they were recorded.

use super::{
    EventQuery, Journal,
    error::Error,
    tail::{Interest, LagWatch, Subscription, TailItem, TailRead},
};
use crate::domain::SessionId;

/// Most events of one catch-up page.
const PAGE_EVENTS: usize = 256;
/// A catch-up page ends with the event that reaches this many bytes of frames.
const READ_BYTES: usize = 256 * 1024;

/// Where a follower begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// With what comes next.
    Live,
    /// Behind this id; 0 is the beginning. Ids of other sessions only position.
    Cursor(u64),
    /// Behind something that is no cursor of ours: told as a gap, then live.
    Unreadable,
}

/// What a stream says first (`stream/hello`, proto-docs/events.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Identity of the log.
    pub log_id: uuid::Uuid,
    /// Newest id of the interest; 0 when there is none.
    pub head: u64,
    /// Oldest kept id of the interest; 0 when there is none.
    pub oldest: u64,
    /// The cursor that the follower starts from, behind a gap if there is one.
    pub cursor: u64,
}

/// What a follower is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowItem {
    /// Events, at least one, recorded ids strictly increasing over the whole follow.
    Events(Vec<TailItem>),
    /// Comes first if at all: the cursor that was asked for cannot be followed from. What lies
    /// between may be missing; the follow goes on behind `to`.
    Gap {
        /// The cursor asked for; 0 for one that could not be read.
        from: u64,
        /// The cursor gone on from.
        to: u64,
    },
    /// The follower is further behind than the limits allow and gets nothing more: it resumes by
    /// following again behind `last`.
    Lagged {
        /// Newest id that was delivered, or the starting cursor.
        last: u64,
    },
}

/// Where the next events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The store, until everything published before this id's publication was read; 0 when only
    /// the end of the store can tell.
    Replay(u64),
    /// The tail.
    Live,
}

/// One follower of the journal. Dropping it ends the follow.
#[derive(Debug)]
pub struct Follow {
    journal: Journal,
    session: Option<SessionId>,
    tail: Subscription,
    stage: Stage,
    gap: Option<(u64, u64)>,
    hello: Hello,
}

impl Journal {
    /// Follows an interest from a cursor. Cancellation-safe.
    ///
    /// # Errors
    /// As the store's, when it cannot tell its bounds.
    pub async fn follow(&self, interest: Interest, after: After) -> Result<Follow, Error> {
        let session = match &interest {
            Interest::All => None,
            Interest::Session(session) => Some(session.clone()),
        };
        // the tail is watched before the store is read, so nothing falls between the two
        let mut tail = self.tail.subscribe(interest);
        let published = tail.seen();
        let whole = self.store.bounds(None).await?;
        let own = match &session {
            None => whole,
            Some(session) => self.store.bounds(Some(session.clone())).await?,
        };
        let (cursor, gap) = match after {
            After::Live => (whole.head, None),
            After::Unreadable => (whole.head, Some((0, whole.head))),
            After::Cursor(asked) if asked > whole.head => (whole.head, Some((asked, whole.head))),
            After::Cursor(asked) if asked < own.pruned => (own.pruned, Some((asked, own.pruned))),
            After::Cursor(asked) => (asked, None),
        };
        tail.skip_to(cursor);
        let stage = if cursor < own.head {
            Stage::Replay(published)
        } else {
            Stage::Live
        };
        let log_id = self.store.log_id();
        let hello = Hello {
            log_id,
            head: own.head,
            oldest: own.oldest,
            cursor,
        };
        Ok(Follow {
            journal: self.clone(),
            session,
            tail,
            stage,
            gap,
            hello,
        })
    }
}

impl Follow {
    /// What the stream says first.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Newest recorded id that was delivered, or the starting cursor.
    pub fn last(&self) -> u64 {
        self.tail.seen()
    }

    /// An eye on this follower's lag, for somebody who closes the connection of a reader that
    /// never asks. A follower that pages through the store is lagged only if more than the limits
    /// was published since it last asked.
    pub fn lag_watch(&self) -> LagWatch {
        self.tail.lag_watch()
    }

    /// Waits for what comes next. After [`FollowItem::Lagged`] it answers nothing else.
    /// Cancellation-safe: what was not returned is returned next time.
    ///
    /// # Errors
    /// As the store's; asking again goes on where it was.
    pub async fn next(&mut self) -> Result<FollowItem, Error> {
        if let Some((from, to)) = self.gap.take() {
            return Ok(FollowItem::Gap { from, to });
        }
        loop {
            let events = match self.stage {
                Stage::Replay(published) => self.replay(published).await?,
                Stage::Live => match self.tail.next().await {
                    TailRead::Items(items) => items,
                    TailRead::Lagged => return Ok(FollowItem::Lagged { last: self.last() }),
                    TailRead::Behind => {
                        self.stage = Stage::Replay(self.tail.rejoin());
                        continue;
                    }
                },
            };
            if !events.is_empty() {
                return Ok(FollowItem::Events(events));
            }
        }
    }

    /// One page from the store, and the step over to the tail when it was the last.
    async fn replay(&mut self, published: u64) -> Result<Vec<TailItem>, Error> {
        self.tail.touch();
        let query = EventQuery {
            session: self.session.clone(),
            after: self.last(),
            limit: PAGE_EVENTS,
            max_bytes: READ_BYTES,
        };
        let page = self.journal.store.events(query).await?;
        if let Some(newest) = page.events.last() {
            self.tail.skip_to(newest.id);
        }
        if !page.more || (published > 0 && self.last() >= published) {
            self.stage = Stage::Live;
        }
        Ok(page.events.into_iter().map(TailItem::Recorded).collect())
    }
}
