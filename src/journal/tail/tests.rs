//! The tail by itself: who is woken, who is behind, who is lagged.

use std::{
    pin::pin,
    sync::atomic::AtomicUsize,
    task::{Context, Poll, Wake, Waker},
};

use super::*;
use crate::domain::{EventDraft, Timestamp};

const LIMITS: TailLimits = TailLimits {
    events: 10,
    bytes: 10_000,
};

fn of(session: &str) -> Interest {
    Interest::Session(SessionId::parse(session).unwrap())
}

fn draft(session: &str, size: usize) -> EventDraft {
    let session = SessionId::parse(session).unwrap();
    let subject = Subject::session(&session, &AgentName::default_agent());
    EventDraft::new(EventType::FsObserved, subject, |w| {
        w.string("note", &"x".repeat(size));
    })
}

/// A tail and the ids of what was published to it.
struct Bed {
    tail: Tail,
    next: u64,
}

impl Bed {
    fn new() -> Self {
        Self {
            tail: Tail::new(LIMITS),
            next: 1,
        }
    }

    fn publish(&mut self, session: &str, size: usize) -> u64 {
        let id = self.next;
        self.next += 1;
        let event = Recorded::of(&draft(session, size), id, Some(1), Timestamp::default());
        self.tail.publish(&[Arc::new(event)]);
        id
    }

    fn live(&self, session: &str) {
        let EventDraft { kind, subject, .. } = draft(session, 0);
        let frame = draft(session, 0).frame(None, None, Timestamp::default());
        self.tail.publish_live(kind, subject, frame);
    }
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The ids of what is there, live events as 0.
fn read(reader: &mut Subscription) -> Result<Vec<u64>, TailRead> {
    let mut found = Vec::new();
    loop {
        match reader.poll_now() {
            None => return Ok(found),
            Some(TailRead::Items(items)) => {
                found.extend(items.iter().map(|item| item.id().unwrap_or(0)));
            }
            Some(read) => return Err(read),
        }
    }
}

#[test]
fn a_reader_of_one_session_is_woken_by_its_events_only() {
    let mut bed = Bed::new();
    let mut reader = bed.tail.subscribe(of("mine"));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut next = pin!(reader.next());
    assert!(next.as_mut().poll(&mut context).is_pending());
    for _ in 0..1000 {
        bed.publish("other", 0);
        bed.live("other");
    }
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    let id = bed.publish("mine", 0);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    let Poll::Ready(TailRead::Items(items)) = next.poll(&mut context) else {
        panic!("no items")
    };
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].id(), Some(id));
}

#[test]
fn a_reader_is_lagged_one_event_behind_the_limit() {
    for interest in [Interest::All, of("s")] {
        let mut bed = Bed::new();
        let mut reader = bed.tail.subscribe(interest);
        let watch = reader.lag_watch();
        let ids: Vec<_> = (0..10).map(|_| bed.publish("s", 0)).collect();
        assert!(!watch.lagged());
        assert_eq!(read(&mut reader), Ok(ids));
        for _ in 0..10 {
            bed.publish("s", 0);
        }
        assert!(!watch.lagged());
        bed.publish("s", 0);
        assert!(watch.lagged());
        assert_eq!(read(&mut reader), Err(TailRead::Lagged));
        assert_eq!(reader.seen(), 10);
    }
}

#[test]
fn bytes_count_too_but_a_single_event_is_never_too_much() {
    let mut bed = Bed::new();
    let mut reader = bed.tail.subscribe(of("s"));
    for _ in 0..3 {
        let id = bed.publish("s", 50_000);
        assert!(!reader.lag_watch().lagged());
        assert_eq!(read(&mut reader), Ok(vec![id]));
    }
    bed.publish("s", 6_000);
    bed.publish("s", 6_000);
    assert!(reader.lag_watch().lagged());
    assert_eq!(read(&mut reader), Err(TailRead::Lagged));
}

#[test]
fn a_reader_whose_events_were_pushed_out_by_others_is_behind_and_not_lagged() {
    let mut bed = Bed::new();
    let all = bed.tail.subscribe(Interest::All);
    let mut reader = bed.tail.subscribe(of("quiet"));
    let missed = bed.publish("quiet", 0);
    for _ in 0..10 {
        bed.publish("busy", 0);
    }
    assert!(all.lag_watch().lagged() && !reader.lag_watch().lagged());
    assert_eq!(read(&mut reader), Err(TailRead::Behind));
    // the store would tell it what it missed
    assert_eq!(reader.rejoin(), 11);
    reader.skip_to(missed);
    let next = bed.publish("quiet", 0);
    assert_eq!(read(&mut reader), Ok(vec![next]));
    // its last event has left the ring, the next is found all the same
    for _ in 0..50 {
        bed.publish("busy", 0);
    }
    let next = bed.publish("quiet", 0);
    assert_eq!(read(&mut reader), Ok(vec![next]));
}

#[test]
fn a_session_that_is_watched_again_starts_afresh_among_entries_of_before() {
    let mut bed = Bed::new();
    let mut all = bed.tail.subscribe(Interest::All);
    let before = bed.tail.subscribe(of("s"));
    for _ in 0..6 {
        bed.publish("s", 0);
    }
    drop(before);
    let mut again = bed.tail.subscribe(of("s"));
    let mut late = bed.tail.subscribe(of("s"));
    for _ in 0..40 {
        let id = bed.publish("s", 0);
        assert_eq!(read(&mut again), Ok(vec![id]));
        read(&mut all).unwrap();
        if id.is_multiple_of(8) {
            assert_eq!(read(&mut late).unwrap().last(), Some(&id));
        }
    }
}

#[test]
fn what_a_reader_has_from_elsewhere_is_not_given_again_nor_what_was_shown_before_it() {
    let mut bed = Bed::new();
    let mut reader = bed.tail.subscribe(of("s"));
    bed.publish("s", 0);
    bed.live("s");
    let replayed = bed.publish("s", 0);
    bed.live("s");
    let next = bed.publish("s", 0);
    reader.skip_to(replayed);
    assert_eq!(read(&mut reader), Ok(vec![0, next]));
}

#[test]
fn what_nobody_watches_is_not_kept() {
    let mut bed = Bed::new();
    bed.publish("s", 0);
    assert_eq!(bed.tail.kept(), (0, 0));
    let reader = bed.tail.subscribe(of("s"));
    assert!(bed.tail.is_watched(&of("s")));
    assert!(!bed.tail.is_watched(&of("t")) && !bed.tail.is_watched(&Interest::All));
    bed.publish("t", 0);
    assert_eq!(bed.tail.kept().0, 0);
    bed.publish("s", 0);
    assert_eq!(bed.tail.kept().0, 1);
    let all = bed.tail.subscribe(Interest::All);
    drop(reader);
    assert!(bed.tail.is_watched(&of("t")) && bed.tail.is_watched(&Interest::All));
    bed.publish("t", 0);
    assert_eq!(bed.tail.kept().0, 2);
    drop(all);
    assert_eq!(bed.tail.kept(), (0, 0));
    assert!(!bed.tail.is_watched(&of("s")));
}
