//! Random interleavings of appends, live events and followers that read, give up in the middle,
//! stall and resume: each follower sees exactly the durable events it should, in order, once.

use futures_util::FutureExt as _;
use proptest::prelude::*;
use toold::{
    domain::{EventDraft, EventType, Subject},
    journal::{After, Append, Follow, FollowItem, Interest, TailItem, TailLimits, Write},
};

use crate::fixture::{Bed, Kind, agent, bounded, event, ids, open, session_id};

const SESSIONS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
enum Op {
    Append {
        session: usize,
        events: usize,
        size: usize,
    },
    Live {
        session: usize,
    },
    Follow {
        interest: Option<usize>,
        after: Start,
    },
    /// Takes a few items, waiting only for what is surely there.
    Read {
        follower: usize,
        times: usize,
    },
    /// Begins to read and gives up.
    GiveUp {
        follower: usize,
    },
    Leave {
        follower: usize,
    },
}

#[derive(Debug, Clone, Copy)]
enum Start {
    Live,
    Beginning,
    /// Behind the event at this part of the log.
    Part(u8),
    Ahead,
}

fn op() -> impl Strategy<Value = Op> {
    let session = 0..SESSIONS.len();
    let interest = prop_oneof![Just(None), session.clone().prop_map(Some)];
    let after = prop_oneof![
        2 => Just(Start::Live),
        2 => Just(Start::Beginning),
        3 => any::<u8>().prop_map(Start::Part),
        1 => Just(Start::Ahead),
    ];
    let follower = 0..12_usize;
    prop_oneof![
        6 => (session.clone(), 1..6_usize, 0..300_usize)
            .prop_map(|(session, events, size)| Op::Append { session, events, size }),
        3 => session.prop_map(|session| Op::Live { session }),
        2 => (interest, after).prop_map(|(interest, after)| Op::Follow { interest, after }),
        4 => (follower.clone(), 1..5_usize)
            .prop_map(|(follower, times)| Op::Read { follower, times }),
        2 => follower.clone().prop_map(|follower| Op::GiveUp { follower }),
        1 => follower.prop_map(|follower| Op::Leave { follower }),
    ]
}

/// A follower and what it was given so far.
struct Reader {
    interest: Option<usize>,
    follow: Follow,
    start: u64,
    ids: Vec<u64>,
    live: Vec<u64>,
}

struct World {
    bed: Bed,
    readers: Vec<Reader>,
    live: u64,
}

fn interest(session: Option<usize>) -> Interest {
    session.map_or(Interest::All, |n| {
        Interest::Session(session_id(SESSIONS[n]))
    })
}

impl World {
    async fn new(kind: Kind, limits: TailLimits) -> Self {
        let bed = Bed::with_limits(kind, limits);
        for session in SESSIONS {
            bed.append(open(session)).await;
        }
        Self {
            bed,
            readers: Vec::new(),
            live: 0,
        }
    }

    /// What the log holds of an interest.
    async fn log(&self, of: Option<usize>) -> Vec<u64> {
        ids(&self.bed.log(of.map(|n| SESSIONS[n])).await)
    }

    async fn run(&mut self, op: Op) {
        match op {
            Op::Append {
                session,
                events,
                size,
            } => {
                let note = "x".repeat(size);
                let append = (0..events).fold(Append::default(), |all, _| {
                    all.and(
                        Write::Event,
                        event(EventType::FsObserved, SESSIONS[session], &note),
                    )
                });
                self.bed.append(append).await;
            }
            Op::Live { session } => self.show(session),
            Op::Follow { interest, after } => self.follow(interest, after).await,
            Op::Read { follower, times } => {
                let count = self.readers.len();
                for _ in 0..times {
                    if count > 0 {
                        self.read(follower % count).await;
                    }
                }
            }
            Op::GiveUp { follower } => {
                let count = self.readers.len();
                if count > 0 {
                    let reader = &mut self.readers[follower % count];
                    if let Some(item) = reader.follow.next().now_or_never() {
                        self.given(follower % count, item.unwrap()).await;
                    }
                }
            }
            Op::Leave { follower } => {
                if follower < self.readers.len() {
                    self.readers.swap_remove(follower);
                }
            }
        }
        let (events, bytes) = self.bed.journal.tail().kept();
        assert!(events <= LIMITS.events && (events <= 1 || bytes <= LIMITS.bytes));
    }

    fn show(&mut self, session: usize) {
        self.live += 1;
        let number = self.live;
        let subject = Subject::session(&session_id(SESSIONS[session]), &agent("coder"));
        self.bed.journal.live(&interest(Some(session)), || {
            EventDraft::new(EventType::ToolOutput, subject, |w| {
                w.number("n", number);
            })
        });
    }

    async fn follow(&mut self, of: Option<usize>, after: Start) {
        let log = self.log(None).await;
        let head = log[log.len() - 1];
        let after = match after {
            Start::Live => After::Live,
            Start::Beginning => After::Cursor(0),
            Start::Part(part) => After::Cursor(log[usize::from(part) * log.len() / 256]),
            Start::Ahead => After::Cursor(head + 7),
        };
        let follow = self.bed.journal.follow(interest(of), after).await.unwrap();
        let start = follow.hello().cursor;
        assert_eq!(
            start,
            if let After::Cursor(asked) = after {
                asked.min(head)
            } else {
                head
            }
        );
        self.readers.push(Reader {
            interest: of,
            follow,
            start,
            ids: vec![],
            live: vec![],
        });
    }

    /// Takes one item, waiting for it only when something durable is missing.
    async fn read(&mut self, index: usize) {
        let newest = self
            .log(self.readers[index].interest)
            .await
            .last()
            .copied()
            .unwrap_or(0);
        let reader = &mut self.readers[index];
        let item = if reader.follow.last() < newest {
            Some(reader.follow.next().await)
        } else {
            reader.follow.next().now_or_never()
        };
        if let Some(item) = item {
            self.given(index, item.unwrap()).await;
        }
    }

    async fn given(&mut self, index: usize, item: FollowItem) {
        let reader = &mut self.readers[index];
        match item {
            FollowItem::Events(items) => {
                assert!(!items.is_empty());
                for item in &items {
                    match item {
                        TailItem::Recorded(event) => reader.ids.push(event.id),
                        TailItem::Live(event) => {
                            let data = String::from_utf8(event.frame.data().to_vec()).unwrap();
                            let number = data.trim_matches(|c: char| !c.is_ascii_digit());
                            reader.live.push(number.parse().unwrap());
                        }
                    }
                }
            }
            FollowItem::Gap { from, to } => {
                assert!(reader.ids.is_empty() && from > to && to == reader.start);
            }
            FollowItem::Lagged { last } => {
                assert!(reader.follow.lag_watch().lagged());
                assert_eq!(last, reader.ids.last().copied().unwrap_or(reader.start));
                let again = interest(reader.interest);
                let after = After::Cursor(last);
                reader.follow = self.bed.journal.follow(again, after).await.unwrap();
            }
        }
    }

    /// Reads everybody to the end and compares.
    async fn finish(mut self) {
        for index in 0..self.readers.len() {
            let log = self.log(self.readers[index].interest).await;
            let start = self.readers[index].start;
            let want: Vec<_> = log.into_iter().filter(|id| *id > start).collect();
            while self.readers[index].ids.len() < want.len() {
                self.read(index).await;
            }
            let reader = &self.readers[index];
            assert_eq!(reader.ids, want, "{:?} after {start}", reader.interest);
            assert!(
                reader.live.is_sorted_by(|a, b| a < b),
                "live events keep their order"
            );
        }
    }
}

/// So small that readers fall behind often.
const LIMITS: TailLimits = TailLimits {
    events: 9,
    bytes: 2500,
};

fn check(kind: Kind, ops: Vec<Op>) {
    bounded(async {
        let mut world = World::new(kind, LIMITS).await;
        for op in ops {
            world.run(op).await;
        }
        world.finish().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn over_memory_each_follower_sees_its_events_once_in_order(
        ops in prop::collection::vec(op(), 1..120),
    ) {
        check(Kind::Memory, ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn over_sqlite_each_follower_sees_its_events_once_in_order(
        ops in prop::collection::vec(op(), 1..120),
    ) {
        check(Kind::Process, ops);
    }
}
