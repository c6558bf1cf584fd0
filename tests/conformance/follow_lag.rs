//! Readers that fall behind: seen to lag though nobody asks them, told so, bounded in memory.

use std::sync::Arc;

use futures_util::FutureExt as _;
use toold::{
    domain::EventType,
    journal::{After, FollowItem, Interest, Publish as _, Recorded, Tail, TailItem, TailLimits},
};

use crate::{
    fixture::{Bed, Kind, WIDE, bounded, event, ids, note, open},
    follow::{drain, of},
};

#[test]
fn c15_a_reader_that_never_reads_is_seen_to_lag_while_others_go_on() {
    bounded(async {
        let bed = Bed::with_limits(
            Kind::Process,
            TailLimits {
                events: 100,
                bytes: 64 * 1024,
            },
        );
        bed.append(open("s")).await;
        bed.append(open("t")).await;
        let mut stalled = bed
            .journal
            .follow(Interest::All, After::Live)
            .await
            .unwrap();
        let quiet = bed.journal.follow(of("t"), After::Live).await.unwrap();
        let mut reading = bed.journal.follow(of("s"), After::Live).await.unwrap();
        let mut paging = bed.journal.follow(of("s"), After::Cursor(0)).await.unwrap();
        let start = stalled.last();
        let (mut written, mut paged) = (Vec::new(), Vec::new());
        for _ in 0..600 {
            written.extend(ids(&bed.append(note("s", &"x".repeat(200))).await));
            let FollowItem::Events(items) = reading.next().await.unwrap() else {
                panic!()
            };
            assert_eq!(items.len(), 1);
            let (events, bytes) = bed.journal.tail().kept();
            assert!(events <= 100 && bytes <= 64 * 1024);
            // most of the time it gives up before it has its page
            if let Some(item) = paging.next().now_or_never() {
                let FollowItem::Events(items) = item.unwrap() else {
                    panic!()
                };
                paged.extend(items.iter().filter_map(TailItem::id));
            }
            assert!(!reading.lag_watch().lagged() && !paging.lag_watch().lagged());
        }
        assert!(stalled.lag_watch().lagged());
        assert!(
            !quiet.lag_watch().lagged(),
            "nothing happened in its session"
        );
        paged.extend(drain(&mut paging, written[599]).await);
        assert_eq!(paged, ids(&bed.log(Some("s")).await));
        for _ in 0..2 {
            assert_eq!(
                stalled.next().await.unwrap(),
                FollowItem::Lagged { last: start }
            );
        }
        // it resumes from the log
        let mut resumed = bed
            .journal
            .follow(Interest::All, After::Cursor(start))
            .await
            .unwrap();
        assert_eq!(drain(&mut resumed, written[599]).await, written);
    });
}

#[test]
fn a_catch_up_reader_that_stops_asking_is_seen_to_lag_too() {
    bounded(async {
        let bed = Bed::with_limits(
            Kind::Memory,
            TailLimits {
                events: 10,
                bytes: 1 << 20,
            },
        );
        bed.append(open("s")).await;
        for _ in 0..1000 {
            bed.append(note("s", "")).await;
        }
        let mut follow = bed.journal.follow(of("s"), After::Cursor(0)).await.unwrap();
        follow.next().await.unwrap();
        for _ in 0..10 {
            bed.append(note("s", "")).await;
        }
        assert!(!follow.lag_watch().lagged());
        bed.append(note("s", "")).await;
        assert!(follow.lag_watch().lagged());
        // asking again, it is at work
        let FollowItem::Events(_) = follow.next().await.unwrap() else {
            panic!()
        };
        assert!(!follow.lag_watch().lagged());
    });
}

#[test]
fn c15_a_hundred_thousand_events_in_the_tail_take_bounded_memory() {
    bounded(async {
        let tail = Tail::new(WIDE);
        let stalled = tail.subscribe(Interest::All);
        let draft = event(EventType::FsObserved, "s", &"x".repeat(2048));
        let frame = draft.frame(Some(1), Some(1), toold::domain::Timestamp::default());
        let watch = stalled.lag_watch();
        for id in 1..=100_000 {
            let recorded = Recorded {
                id,
                seq: Some(id),
                kind: draft.kind,
                session: draft.subject.session.clone(),
                agent: None,
                frame: frame.clone(),
            };
            tail.publish(&[Arc::new(recorded)]);
        }
        let (events, bytes) = tail.kept();
        assert!(
            events <= WIDE.events && bytes <= WIDE.bytes,
            "{events} events, {bytes} bytes"
        );
        assert!(events > 1000, "it keeps what it may");
        assert!(watch.lagged());
        drop(stalled);
        assert_eq!(tail.kept(), (0, 0));
    });
}
