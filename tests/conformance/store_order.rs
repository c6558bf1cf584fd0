//! The suite of the port `Store`, continued: ids, seqs, times, pages, and who is told when.

use std::sync::{
    Arc, Mutex,
    mpsc::{Receiver, SyncSender, sync_channel},
};

use futures_util::FutureExt as _;
use toold::{
    domain::{Clock, EventType, SystemClock, SystemIds},
    journal::{Append, Commit, Committed, Error, EventQuery, Publish, Recorded, Store, Write},
    store::{memory::MemoryStore, sqlite::SqliteStore},
};

use crate::{
    fixture::{Bed, bounded, counted, event, everything, ids, note, open, seqs},
    over_every_store,
};

over_every_store! {
    ids_grow_in_the_order_of_submit
    c12_seqs_count_without_gap_or_double_under_fifty_writers
    what_is_shown_is_what_is_read_back
    pages_end_at_their_limits_and_say_whether_more_is_there
    time_never_goes_back
    a_dropped_commit_is_not_undone
}

async fn ids_grow_in_the_order_of_submit(bed: Bed) {
    bed.append(open("s")).await;
    let mut commits = Vec::new();
    for number in 0..600 {
        commits.push(bed.submit(note("s", &number.to_string())).await);
    }
    let mut last = 0;
    for (number, commit) in commits.into_iter().enumerate() {
        let done = commit.durable().await.unwrap();
        let Committed::Done(records) = done else {
            panic!("refused")
        };
        let [record] = records.try_into().unwrap();
        assert!(record.id > last, "ids grow");
        last = record.id;
        assert_eq!(record.frame.data(), format!(r#"{{"note":"{number}"}}"#));
    }
}

async fn c12_seqs_count_without_gap_or_double_under_fifty_writers(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    let writers = (0..50).map(|writer| {
        let journal = bed.journal.clone();
        async move {
            for number in 0..10 {
                let other = if number % 5 == 0 { "t" } else { "s" };
                let append = note(other, &format!("{writer}/{number}"));
                // some are several events at once
                let append = append.and(Write::Event, event(EventType::FsObserved, "s", "x"));
                journal.append(append).await.unwrap();
            }
        }
    });
    futures_util::future::join_all(writers).await;
    let s = bed.log(Some("s")).await;
    let t = bed.log(Some("t")).await;
    assert_eq!(seqs(&s), counted(1 + 50 * 18));
    assert_eq!(seqs(&t), counted(1 + 50 * 2));
    let all = ids(&bed.log(None).await);
    assert_eq!(all.len(), s.len() + t.len());
    assert!(
        all.is_sorted_by(|a, b| a < b),
        "ids are strictly increasing"
    );
}

async fn what_is_shown_is_what_is_read_back(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    for size in [0, 1, 100, 5_000, 300_000] {
        bed.append(note("s", &"é\n\u{0}".repeat(size))).await;
        bed.append(note(
            "t",
            "a\r\nevent: approval/decided\r\nid: 999999\r\n\r\nb",
        ))
        .await;
    }
    let shown = bed.shown.events();
    assert_eq!(shown.len(), 12);
    assert_eq!(bed.log(None).await, shown);
    for record in &shown {
        let read = bed.store.event(record.id).await.unwrap().unwrap();
        assert_eq!(read.frame.sse(), record.frame.sse());
        assert_eq!(read.frame.envelope(), record.frame.envelope());
        assert_eq!(read.frame.data(), record.frame.data());
    }
    for session in ["s", "t"] {
        let own = shown
            .iter()
            .filter(|e| e.session.as_ref().is_some_and(|s| s.as_str() == session));
        assert_eq!(
            bed.log(Some(session)).await,
            own.cloned().collect::<Vec<_>>()
        );
    }
}

async fn pages_end_at_their_limits_and_say_whether_more_is_there(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    for number in 0..20 {
        bed.append(note(if number % 2 == 0 { "s" } else { "t" }, "same size"))
            .await;
    }
    for session in [None, Some("s")] {
        let all = bed.log(session).await;
        let query = |after, limit, max_bytes| EventQuery {
            after,
            limit,
            max_bytes,
            ..everything(session)
        };
        // page by page is the same as all at once
        let mut paged = Vec::new();
        loop {
            let after = paged.last().map_or(0, |e: &Arc<Recorded>| e.id);
            let page = bed.store.events(query(after, 3, usize::MAX)).await.unwrap();
            assert_eq!(page.more, paged.len() + page.events.len() < all.len());
            paged.extend(page.events);
            if !page.more {
                break;
            }
        }
        assert_eq!(paged, all);
        // a page ends with the event that reaches the bytes, and holds at least one
        let first = all[0].frame.len();
        let sizes = |max| {
            bed.store
                .events(query(0, 100, max))
                .map(|page| page.unwrap().events.len())
        };
        assert_eq!(sizes(1).await, 1);
        assert_eq!(sizes(first).await, 1);
        assert_eq!(sizes(first + 1).await, 2);
        // at the very end there is no more
        let exact = bed
            .store
            .events(query(0, all.len(), usize::MAX))
            .await
            .unwrap();
        assert!(!exact.more);
        for after in [all[all.len() - 1].id, u64::MAX] {
            let past = bed.store.events(query(after, 3, usize::MAX)).await.unwrap();
            assert!(past.events.is_empty() && !past.more);
        }
    }
    let unknown = bed.store.events(everything(Some("nowhere"))).await.unwrap();
    assert!(unknown.events.is_empty() && !unknown.more);
}

async fn time_never_goes_back(bed: Bed) {
    bed.append(open("s")).await;
    for micros in [5_000_000, 3_000_000, 6_000_000] {
        bed.wall.set(micros);
        bed.append(note("s", "")).await;
    }
    let log = bed.log(Some("s")).await;
    let times = log[1..].iter().map(|event| {
        let envelope = String::from_utf8(event.frame.envelope().to_vec()).unwrap();
        envelope
            .split(r#""time":"1970-01-01T00:00:0"#)
            .nth(1)
            .unwrap()[..1]
            .to_owned()
    });
    assert_eq!(times.collect::<Vec<_>>(), ["5", "5", "6"]);
}

async fn a_dropped_commit_is_not_undone(bed: Bed) {
    bed.append(open("s")).await;
    drop(bed.submit(note("s", "kept")).await);
    bed.append(note("s", "later")).await;
    assert_eq!(seqs(&bed.log(Some("s")).await), counted(3));
}

/// Holds the writer inside the publication of a group until it is let go.
#[derive(Debug)]
struct Gate {
    entered: SyncSender<usize>,
    leave: Mutex<Receiver<()>>,
}

impl Publish for Gate {
    fn publish(&self, events: &[Arc<Recorded>]) {
        self.entered.send(events.len()).unwrap();
        self.leave.lock().unwrap().recv().unwrap();
    }
}

fn gated_stores(gates: [Gate; 2]) -> Vec<(Arc<dyn Store>, Option<tempfile::TempDir>)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let [memory, file] = gates;
    let memory = MemoryStore::new(Arc::new(memory), clock.clone(), &SystemIds).unwrap();
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("j.db");
    let durability = toold::config::Durability::Process;
    let file = SqliteStore::open(&path, durability, Arc::new(file), clock, &SystemIds).unwrap();
    vec![(Arc::new(memory), None), (Arc::new(file), Some(home))]
}

fn gate() -> (Gate, Receiver<usize>, SyncSender<()>) {
    let (entered, is_inside) = sync_channel(0);
    let (let_go, leave) = sync_channel(0);
    (
        Gate {
            entered,
            leave: Mutex::new(leave),
        },
        is_inside,
        let_go,
    )
}

/// Commits that nobody has answered yet.
fn still_waiting(commits: Vec<Commit>) -> impl Future<Output = Vec<Result<Committed, Error>>> {
    let answers = commits.into_iter().map(|commit| Box::pin(commit.durable()));
    let mut waiting = futures_util::future::join_all(answers);
    assert!(
        (&mut waiting).now_or_never().is_none(),
        "answered before it was shown"
    );
    waiting
}

#[test]
fn appenders_are_answered_only_after_their_events_were_shown_and_wait_as_one_group() {
    let (one, two) = (gate(), gate());
    let stores = gated_stores([one.0, two.0]);
    for ((store, _home), (is_inside, let_go)) in
        stores.into_iter().zip([(one.1, one.2), (two.1, two.2)])
    {
        bounded(async {
            let submit = |append: Append| async { store.submit(append).await.unwrap() };
            let first = vec![submit(open("s")).await];
            assert_eq!(is_inside.recv().unwrap(), 1);
            let first = still_waiting(first);
            // what is submitted while a group is shown becomes one group
            let mut rest = Vec::new();
            for _ in 0..9 {
                rest.push(submit(note("s", "")).await);
            }
            let_go.send(()).unwrap();
            first.await;
            assert_eq!(is_inside.recv().unwrap(), 9);
            let page = store.events(everything(None)).await.unwrap();
            assert_eq!(page.events.len(), 10, "committed before it is shown");
            let rest = still_waiting(rest);
            let_go.send(()).unwrap();
            for done in rest.await {
                done.unwrap();
            }
        });
    }
}
