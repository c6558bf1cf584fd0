//! The read path of streams over real stores: hello, replay, gaps, live, lag.

use std::sync::Arc;

use futures_util::FutureExt as _;
use rusqlite::Connection;
use toold::{
    domain::{EventDraft, EventType, Subject},
    journal::{After, Append, Follow, FollowItem, Hello, Interest, Recorded, TailItem, Write},
};

use crate::{
    fixture::{Bed, agent, bounded, event, ids, note, open, session_id},
    over_every_store,
    sqlite::crash_copy,
};

over_every_store! {
    hello_tells_the_bounds_of_the_interest_and_where_the_stream_starts
    a_late_reader_sees_everything_a_resuming_one_the_rest_a_live_one_what_comes
    c13_foreign_cursors_only_position_or_are_told_as_a_gap
    live_events_come_in_their_place_and_are_not_recorded
    live_events_that_nobody_would_see_are_not_even_made
    readers_and_writers_at_once_lose_nothing_and_see_nothing_twice
}

pub(crate) fn of(session: &str) -> Interest {
    Interest::Session(session_id(session))
}

/// Everything that is there now.
pub(crate) async fn drain(follow: &mut Follow, until: u64) -> Vec<u64> {
    let mut found = Vec::new();
    while follow.last() < until {
        match follow.next().await.unwrap() {
            FollowItem::Events(items) => found.extend(items.iter().filter_map(TailItem::id)),
            FollowItem::Gap { .. } | FollowItem::Lagged { .. } => panic!("out of place"),
        }
    }
    assert!(follow.next().now_or_never().is_none(), "nothing is left");
    found
}

async fn hello_tells_the_bounds_of_the_interest_and_where_the_stream_starts(bed: Bed) {
    let log_id = bed.store.log_id();
    let hello = |interest, after| {
        let journal = bed.journal.clone();
        async move { *journal.follow(interest, after).await.unwrap().hello() }
    };
    let nothing = Hello {
        log_id,
        head: 0,
        oldest: 0,
        cursor: 0,
    };
    assert_eq!(hello(Interest::All, After::Live).await, nothing);
    for session in ["s", "t", "s"] {
        let append = if bed.log(Some(session)).await.is_empty() {
            open(session)
        } else {
            note(session, "")
        };
        bed.append(append).await;
    }
    let all = ids(&bed.log(None).await);
    let (first, second, last) = (all[0], all[1], all[2]);
    let want = |head, oldest, cursor| Hello {
        log_id,
        head,
        oldest,
        cursor,
    };
    assert_eq!(
        hello(Interest::All, After::Live).await,
        want(last, first, last)
    );
    assert_eq!(
        hello(Interest::All, After::Cursor(0)).await,
        want(last, first, 0)
    );
    assert_eq!(
        hello(of("t"), After::Live).await,
        want(second, second, last)
    );
    assert_eq!(
        hello(of("t"), After::Cursor(second)).await,
        want(second, second, second)
    );
    assert_eq!(hello(of("nowhere"), After::Cursor(1)).await, want(0, 0, 1));
}

async fn a_late_reader_sees_everything_a_resuming_one_the_rest_a_live_one_what_comes(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    // more than one page
    let many = |session: &'static str| {
        (0..700).fold(Append::default(), |all, _| {
            all.and(Write::Event, event(EventType::FsObserved, session, "x"))
        })
    };
    bed.append(many("s")).await;
    bed.append(many("t")).await;
    for interest in [None, Some("s"), Some("t")] {
        let wanted = || interest.map_or(Interest::All, of);
        let log = ids(&bed.log(interest).await);
        let last = log[log.len() - 1];
        let mut late = bed
            .journal
            .follow(wanted(), After::Cursor(0))
            .await
            .unwrap();
        let mut live = bed.journal.follow(wanted(), After::Live).await.unwrap();
        let mut resumed = bed
            .journal
            .follow(wanted(), After::Cursor(log[300]))
            .await
            .unwrap();
        assert_eq!(drain(&mut late, last).await, log);
        assert_eq!(drain(&mut resumed, last).await, log[301..]);
        assert!(live.next().now_or_never().is_none());
        let mut more = bed.append(note("s", "more")).await;
        more.extend(bed.append(note("t", "more")).await);
        let is_mine =
            |e: &&Arc<Recorded>| interest.is_none_or(|id| e.session == Some(session_id(id)));
        let mine: Vec<_> = more.iter().filter(is_mine).map(|event| event.id).collect();
        for follow in [&mut late, &mut live, &mut resumed] {
            assert_eq!(drain(follow, mine[mine.len() - 1]).await, mine);
        }
    }
}

async fn c13_foreign_cursors_only_position_or_are_told_as_a_gap(bed: Bed) {
    for session in ["s", "t"] {
        bed.append(open(session)).await;
        bed.append(note(session, "")).await;
    }
    let all = ids(&bed.log(None).await);
    let head = all[3];
    // an id of t: the session's own later events, of which there are none yet
    let mut foreign = bed
        .journal
        .follow(of("s"), After::Cursor(all[2]))
        .await
        .unwrap();
    assert!(foreign.next().now_or_never().is_none());
    let gaps = [
        (After::Cursor(head + 1), head + 1),
        (After::Cursor(u64::MAX), u64::MAX),
        (After::Unreadable, 0),
    ];
    for interest in [Interest::All, of("s"), of("nowhere")] {
        for (after, from) in gaps {
            let mut follow = bed.journal.follow(interest.clone(), after).await.unwrap();
            assert_eq!(follow.hello().cursor, head);
            let gap = follow.next().await.unwrap();
            assert_eq!(
                gap,
                FollowItem::Gap { from, to: head },
                "{interest:?} {after:?}"
            );
            assert!(follow.next().now_or_never().is_none(), "then live");
        }
    }
    let mut gapped = bed
        .journal
        .follow(of("s"), After::Unreadable)
        .await
        .unwrap();
    gapped.next().await.unwrap();
    let [next] = bed.append(note("s", "")).await.try_into().unwrap();
    for follow in [&mut foreign, &mut gapped] {
        let item = follow.next().await.unwrap();
        assert_eq!(
            item,
            FollowItem::Events(vec![TailItem::Recorded(next.clone())])
        );
    }
}

fn output(session: &str, text: &str) -> EventDraft {
    let subject = Subject::session(&session_id(session), &agent("coder"));
    EventDraft::new(EventType::ToolOutput, subject, |w| {
        w.string("text", text);
    })
}

async fn live_events_come_in_their_place_and_are_not_recorded(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    let mut watcher = bed.journal.follow(of("s"), After::Live).await.unwrap();
    let show = |session, text| bed.journal.live(&of(session), || output(session, text));
    show("t", "not mine");
    show("s", "first");
    bed.append(note("s", "second")).await;
    bed.append(note("t", "not mine")).await;
    show("s", "third");
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let FollowItem::Events(items) = watcher.next().await.unwrap() else {
            panic!()
        };
        for item in items {
            let live = item.id().is_none();
            let frame = String::from_utf8(item.frame().sse().to_vec()).unwrap();
            assert_eq!(live, !frame.starts_with("id: "), "{frame}");
            assert_eq!(live, !frame.contains(r#""seq":"#));
            assert_eq!(item.session(), Some(&session_id("s")));
            seen.push(frame);
        }
    }
    for (frame, text) in seen.iter().zip(["first", "second", "third"]) {
        assert!(frame.contains(text), "{frame}");
    }
    assert!(watcher.next().now_or_never().is_none());
    assert_eq!(bed.log(None).await.len(), 4);
}

async fn live_events_that_nobody_would_see_are_not_even_made(bed: Bed) {
    bed.append(open("s")).await;
    let made = std::cell::Cell::new(0);
    let show = |session| {
        bed.journal.live(&of(session), || {
            made.set(made.get() + 1);
            output(session, "")
        });
        made.get()
    };
    assert_eq!(show("s"), 0, "nobody is there");
    let watcher = bed.journal.follow(of("s"), After::Live).await.unwrap();
    assert_eq!(show("t"), 0, "nobody watches t");
    assert_eq!(show("s"), 1);
    let mut all = bed
        .journal
        .follow(Interest::All, After::Live)
        .await
        .unwrap();
    drop(watcher);
    assert_eq!(show("t"), 2, "all are watched");
    let FollowItem::Events(items) = all.next().await.unwrap() else {
        panic!()
    };
    assert_eq!(items.len(), 1);
    drop(all);
    assert_eq!(show("t"), 2, "nobody again");
    assert_eq!(
        bed.journal.tail().kept(),
        (0, 0),
        "nothing is kept for nobody"
    );
}

async fn readers_and_writers_at_once_lose_nothing_and_see_nothing_twice(bed: Bed) {
    const SESSIONS: [&str; 3] = ["a", "b", "c"];
    for session in SESSIONS {
        bed.append(open(session)).await;
    }
    let last = "the last one";
    let writers = async {
        let writer = |session: &'static str| {
            let journal = bed.journal.clone();
            async move {
                for number in 0..150 {
                    journal
                        .append(note(session, &number.to_string()))
                        .await
                        .unwrap();
                }
            }
        };
        futures_util::future::join_all(SESSIONS.iter().chain(&SESSIONS).map(|s| writer(s))).await;
        for session in SESSIONS {
            bed.append(note(session, last)).await;
        }
    };
    let readers = (0..16).map(|number: usize| {
        let journal = bed.journal.clone();
        let session = SESSIONS.get(number % 4).copied();
        async move {
            let after = if number.is_multiple_of(2) {
                After::Cursor(0)
            } else {
                After::Live
            };
            let interest = session.map_or(Interest::All, of);
            let mut follow = journal.follow(interest, after).await.unwrap();
            let start = follow.hello().cursor;
            let mut found = Vec::new();
            let mut ends = if session.is_some() { 1 } else { 3 };
            while ends > 0 {
                let FollowItem::Events(items) = follow.next().await.unwrap() else {
                    panic!()
                };
                for item in items {
                    let data = String::from_utf8(item.frame().data().to_vec()).unwrap();
                    ends -= usize::from(data.contains(last));
                    found.push(item.id().unwrap());
                }
                if number.is_multiple_of(3) {
                    tokio::task::yield_now().await;
                }
            }
            (session, start, found)
        }
    });
    let (read, ()) = tokio::join!(futures_util::future::join_all(readers), writers);
    for (session, start, found) in read {
        let log = ids(&bed.log(session).await);
        let want: Vec<_> = log.into_iter().filter(|id| *id > start).collect();
        assert_eq!(found, want, "{session:?} after {start}");
    }
}

#[test]
fn a_reader_behind_what_retention_removed_is_told_so_and_gets_the_rest() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        bed.append(open("t")).await;
        for _ in 0..10 {
            bed.append(note("s", "")).await;
        }
        let log = ids(&bed.log(None).await);
        bed.store.close().await.unwrap();
        let pruned = home.path().join("pruned.db");
        crash_copy(&path, &pruned);
        let edge = log[5];
        Connection::open(&pruned)
            .unwrap()
            .execute_batch(&format!(
                "DELETE FROM events WHERE id <= {edge} AND session_no = {s};
                 INSERT INTO meta VALUES ('pruned', {edge});
                 UPDATE sessions SET pruned = {edge} WHERE no = {s}",
                s = log[0],
            ))
            .unwrap();
        let bed = Bed::at(&pruned);
        for interest in [Interest::All, of("s")] {
            for asked in [0, log[0], edge - 1] {
                let mut follow = bed
                    .journal
                    .follow(interest.clone(), After::Cursor(asked))
                    .await
                    .unwrap();
                let gap = follow.next().await.unwrap();
                assert_eq!(
                    gap,
                    FollowItem::Gap {
                        from: asked,
                        to: edge
                    }
                );
                assert_eq!(follow.hello().cursor, edge);
                assert_eq!(drain(&mut follow, log[11]).await, log[6..]);
            }
            let mut follow = bed
                .journal
                .follow(interest, After::Cursor(edge))
                .await
                .unwrap();
            assert_eq!(
                drain(&mut follow, log[11]).await,
                log[6..],
                "nothing is missing behind it"
            );
        }
        let mut other = bed.journal.follow(of("t"), After::Cursor(0)).await.unwrap();
        assert_eq!(
            drain(&mut other, log[1]).await,
            [log[1]],
            "of this session nothing was removed"
        );
    });
}
