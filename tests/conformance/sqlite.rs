//! What only the file store can show: the file itself, and what it keeps across stops.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use toold::{
    config::Durability,
    domain::{Clock, Json, Monotonic, SystemClock, SystemIds, Timestamp},
    journal::{CallQuery, Committed, DocumentKind, Error, Nested, Refusal, Store as _, Tail},
    store::{Error as OpenError, sqlite::SqliteStore},
    tasks::Tasks,
};

use crate::fixture::{
    Bed, WIDE, accept, bounded, call_id, call_row, counted, everything, note, open, seqs,
    session_id, settle, start,
};

pub(crate) fn try_open(path: &Path) -> Result<SqliteStore, OpenError> {
    let clock = Arc::new(SystemClock::new());
    let tail = Arc::new(Tail::new(WIDE));
    SqliteStore::open(path, Durability::Process, tail, clock, &SystemIds)
}

/// What a crash at this moment would leave behind: the file and its log, without a stop.
pub(crate) fn crash_copy(from: &Path, to: &Path) {
    for suffix in ["", "-wal"] {
        let name = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        if name(from).exists() {
            fs::copy(name(from), name(to)).unwrap();
        }
    }
}

#[test]
fn file_log_and_directory_are_their_owners_alone() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state/toold/j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        for suffix in ["", "-wal", "-shm", ".lock"] {
            assert_eq!(
                mode(format!("{}{suffix}", path.display()).into()),
                0o600,
                "{suffix}"
            );
        }
        assert_eq!(mode(home.path().join("state")), 0o700);
        assert_eq!(mode(home.path().join("state/toold")), 0o700);
    });
}

#[test]
fn a_second_daemon_is_refused_until_the_first_has_closed() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let first = Bed::at(&path);
        let refused = try_open(&path).unwrap_err();
        assert!(matches!(refused, OpenError::InUse { .. }), "{refused}");
        assert!(refused.to_string().contains("in use by another daemon"));
        first.append(open("s")).await;
        first.store.close().await.unwrap();
        assert!(
            !path.with_extension("db-wal").exists(),
            "a clean stop leaves one file"
        );
        try_open(&path).unwrap();
    });
}

#[test]
fn a_clean_stop_keeps_everything_and_ids_grow() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let first = Bed::at(&path);
        first.wall.set(9_000_000);
        first.append(open("s")).await;
        for call in ["queued", "running", "done"] {
            first.append(accept(call_row("s", call))).await;
        }
        first.append(start("s", "running")).await;
        first.append(start("s", "done")).await;
        first.append(settle("s", "done")).await;
        first
            .store
            .put_document(DocumentKind::Agent, "a", Json::Null)
            .await
            .unwrap();
        let log = first.log(None).await;
        let open_calls = first.store.open_calls(0, 10).await.unwrap();
        let log_id = first.store.log_id();
        first.store.close().await.unwrap();

        let second = Bed::at(&path);
        assert_eq!(second.store.log_id(), log_id);
        assert_eq!(second.log(None).await, log);
        assert_eq!(second.store.open_calls(0, 10).await.unwrap(), open_calls);
        assert_eq!(open_calls.len(), 2);
        assert_eq!(
            second
                .store
                .documents(DocumentKind::Agent)
                .await
                .unwrap()
                .len(),
            1
        );
        let repeated = second.refused(accept(call_row("s", "done"))).await;
        assert!(matches!(repeated, Refusal::CallExists(row) if row.settled.is_some()));
        assert_eq!(second.refused(settle("s", "done")).await, Refusal::NotOpen);
        let [settled] = second
            .append(settle("s", "running"))
            .await
            .try_into()
            .unwrap();
        assert!(settled.id > log[log.len() - 1].id);
        assert_eq!(settled.seq, Some(8));
        let envelope = String::from_utf8(settled.frame.envelope().to_vec()).unwrap();
        assert!(
            envelope.contains("1970-01-01T00:00:09"),
            "time goes on, too: {envelope}"
        );
    });
}

#[test]
fn dropping_a_store_loses_nothing_that_was_queued() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        for _ in 0..200 {
            bed.submit(note("s", "")).await;
        }
        drop(bed);
        // the writer lets go of the file when it has written what was queued
        let again = loop {
            match try_open(&path) {
                Ok(store) => break store,
                Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        };
        let page = again.events(everything(Some("s"))).await.unwrap();
        assert_eq!(seqs(&page.events), counted(201));
    });
}

#[test]
fn c12_fifty_writers_work_while_somebody_else_reads_the_file() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        let done = Arc::new(AtomicBool::new(false));
        let (file, over) = (path.clone(), Arc::clone(&done));
        let stranger = move || {
            let connection = Connection::open(&file).unwrap();
            let count = || -> i64 {
                connection
                    .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
                    .unwrap()
            };
            let mut seen = 0;
            while !over.load(Ordering::SeqCst) || seen < 3001 {
                // a long read: the same answer until it ends
                connection.execute_batch("BEGIN").unwrap();
                let first = count();
                assert!(first >= seen);
                assert_eq!(count(), first);
                seen = first;
                connection.execute_batch("COMMIT").unwrap();
            }
            seen
        };
        let writers = (0..50).map(|writer| {
            let journal = bed.journal.clone();
            async move {
                for number in 0..20 {
                    let call = format!("{writer}-{number}");
                    for append in [
                        accept(call_row("s", &call)),
                        start("s", &call),
                        settle("s", &call),
                    ] {
                        let done = journal.append(append).await.unwrap();
                        assert!(matches!(done, Committed::Done(_)));
                    }
                }
            }
        });
        let write = async {
            futures_util::future::join_all(writers).await;
            done.store(true, Ordering::SeqCst);
        };
        let tasks = Tasks::new();
        let (seen, ()) = tokio::join!(tasks.blocking(stranger), write);
        assert_eq!(seen.unwrap(), 3001);
        assert_eq!(seqs(&bed.log(Some("s")).await), counted(3001));
        assert_eq!(bed.store.open_calls(0, 10).await.unwrap(), []);
    });
}

#[test]
fn one_append_that_cannot_be_written_fails_alone_and_leaves_no_gap() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        let stranger = Connection::open(&path).unwrap();
        let fail = "CREATE TRIGGER fail BEFORE INSERT ON events
                    WHEN instr(NEW.frame, CAST('poison' AS BLOB))
                    BEGIN SELECT RAISE(ABORT, 'no room'); END";
        stranger.execute_batch(fail).unwrap();
        // while the file is held, what is submitted gathers into one group
        stranger.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut commits = Vec::new();
        for number in 0..60 {
            let mut append = accept(call_row("s", &format!("c{number}")));
            let poison = if number % 20 == 10 { "poison" } else { "" };
            append.steps.extend(note("s", poison).steps);
            commits.push((number, bed.submit(append).await));
        }
        stranger.execute_batch("COMMIT").unwrap();
        for (number, commit) in commits {
            let answer = commit.durable().await;
            if number % 20 == 10 {
                let Err(Error::Unavailable { context, .. }) = answer else {
                    panic!("{answer:?}")
                };
                assert_eq!(context, "appending");
            } else {
                assert!(matches!(answer, Ok(Committed::Done(_))), "{answer:?}");
            }
        }
        let log = bed.log(Some("s")).await;
        assert_eq!(seqs(&log), counted(1 + 57 * 2));
        assert_eq!(bed.shown.events(), log);
        assert_eq!(bed.store.open_calls(0, 100).await.unwrap().len(), 57);
        assert_eq!(bed.refused(settle("s", "c10")).await, Refusal::NotOpen);
        stranger.execute_batch("DROP TRIGGER fail").unwrap();
        bed.append(accept(call_row("s", "c10"))).await;
        bed.append(settle("s", "c10")).await;
    });
}

/// A clock on which this much passes between two looks.
#[derive(Debug)]
struct Strides(Duration, Mutex<Duration>);

impl Clock for Strides {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn monotonic(&self) -> Monotonic {
        let mut time = self.1.lock().unwrap();
        *time += self.0;
        Monotonic::from_origin(*time)
    }
}

/// The longest that the log beside the file gets while MiB after MiB is written, with this much
/// silence between two.
fn longest_log(mebibytes: u64, silence: Duration) -> u64 {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let clock = Arc::new(Strides(silence, Mutex::default()));
        let tail = Arc::new(Tail::new(WIDE));
        let store = SqliteStore::open(&path, Durability::Process, tail, clock, &SystemIds).unwrap();
        let append = async |append| store.submit(append).await.unwrap().durable().await.unwrap();
        append(open("s")).await;
        let payload = "x".repeat(1 << 20);
        let mut longest = 0;
        for _ in 0..mebibytes {
            append(note("s", &payload)).await;
            longest = longest.max(fs::metadata(path.with_extension("db-wal")).unwrap().len());
        }
        let bounds = store.bounds(Some(session_id("s"))).await.unwrap();
        assert_eq!(bounds.head, 1 + mebibytes);
        longest
    })
}

#[test]
fn the_log_beside_the_file_starts_over_early_when_there_is_little_to_do() {
    let longest = longest_log(120, Duration::from_millis(10));
    assert!(longest < 80 << 20, "it grew to {longest}");
}

#[test]
fn the_log_beside_the_file_stays_bounded_under_load() {
    let longest = longest_log(400, Duration::ZERO);
    assert!(longest < 200 << 20, "it grew to {longest}");
}

#[test]
fn sessions_and_calls_are_found_wherever_they_are_in_the_log() {
    // more than one batch of the lookup tables, and a part of the next one
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let bed = Bed::at(&path("0.db"));
        for session in ["s", "t", "u"] {
            bed.append(open(session)).await;
        }
        bed.append(accept(call_row("u", "old"))).await;
        for number in 0..700 {
            let call = format!("c{number}");
            bed.append(accept(call_row("s", &call))).await;
            bed.append(accept(call_row("t", &call))).await;
            bed.append(start("s", &call)).await;
            if number % 100 != 50 {
                bed.append(settle("s", &call)).await;
                bed.append(settle("t", &call)).await;
            }
        }
        crash_copy(&path("0.db"), &path("1.db"));
        let next = Bed::at(&path("1.db"));
        for bed in [&bed, &next] {
            found_wherever_they_are(bed).await;
        }
        // what was open across batches can end, once
        next.append(settle("u", "old")).await;
        next.append(settle("s", "c50")).await;
        assert_eq!(next.refused(settle("u", "old")).await, Refusal::NotOpen);
        next.store.close().await.unwrap();
        drop(next);
        let last = Bed::at(&path("1.db"));
        assert_eq!(last.store.open_calls(0, 1000).await.unwrap().len(), 13);
        assert_eq!(last.refused(settle("u", "old")).await, Refusal::NotOpen);
    });
}

async fn found_wherever_they_are(bed: &Bed) {
    assert_eq!(seqs(&bed.log(Some("s")).await), counted(1 + 700 * 3 - 7));
    assert_eq!(seqs(&bed.log(Some("t")).await), counted(1 + 700 * 2 - 7));
    assert_eq!(seqs(&bed.log(Some("u")).await), counted(2));
    let whole = bed.log(None).await;
    for (session, head) in [("s", whole.len() as u64 - 1), ("u", 4)] {
        let bounds = bed.store.bounds(Some(session_id(session))).await.unwrap();
        assert_eq!((bounds.oldest > 0, bounds.head), (true, head), "{session}");
    }
    let open = bed.store.open_calls(0, 1000).await.unwrap();
    assert_eq!(open.len(), 15);
    assert!(open.is_sorted_by_key(|row| row.accepted));
    for number in [0, 150, 699] {
        let call = format!("c{number}");
        for session in ["s", "t"] {
            let row = bed
                .store
                .call(&session_id(session), &call_id(&call))
                .await
                .unwrap()
                .unwrap();
            assert_eq!(row.session, session_id(session));
            let again = bed.refused(accept(call_row(session, &call))).await;
            assert_eq!(again, Refusal::CallExists(Box::new(row)));
        }
    }
    for (settled, count) in [(None, 700), (Some(true), 693), (Some(false), 7)] {
        let query = |after, limit| CallQuery {
            session: session_id("s"),
            after,
            limit,
            nested: Nested::Hidden,
            settled,
        };
        let all = bed.store.calls(query(0, 1000)).await.unwrap();
        assert_eq!(all.len(), count, "{settled:?}");
        assert!(all.is_sorted_by_key(|row| row.accepted));
        let middle = count / 2;
        let rest = bed.store.calls(query(all[middle].accepted, 1000)).await;
        assert_eq!(rest.unwrap(), all[middle + 1..], "{settled:?}");
    }
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let foreign = home.path().join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    let newer = home.path().join("newer.db");
    drop(try_open(&newer).unwrap());
    let raised = Connection::open(&newer)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99");
    raised.unwrap();
    crash_copy(&newer, &home.path().join("newer-copy.db"));
    let text = home.path().join("text.db");
    fs::write(&text, "dear diary ".repeat(1000)).unwrap();

    let refused = try_open(&foreign).unwrap_err();
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    let refused = try_open(&home.path().join("newer-copy.db")).unwrap_err();
    assert!(
        matches!(
            refused,
            OpenError::Newer {
                found: 99,
                known: 1,
                ..
            }
        ),
        "{refused}"
    );
    let refused = try_open(&text).unwrap_err();
    assert!(matches!(refused, OpenError::Foreign { .. }), "{refused}");
    assert!(fs::read_to_string(&text).unwrap().starts_with("dear diary"));
    let directory = try_open(home.path()).unwrap_err();
    assert!(matches!(directory, OpenError::File { .. }), "{directory}");
}

#[test]
fn the_session_of_a_call_is_found_again_after_many_others() {
    // more sessions than the writer remembers
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let bed = Bed::at(&home.path().join("j.db"));
        bed.append(open("first")).await;
        bed.append(accept(call_row("first", "c"))).await;
        let mut commits = Vec::new();
        for number in 0..9000 {
            commits.push(bed.submit(open(&format!("s{number}"))).await);
        }
        for commit in commits {
            commit.durable().await.unwrap();
        }
        bed.append(settle("first", "c")).await;
        assert_eq!(seqs(&bed.log(Some("first")).await), counted(3));
        let row = bed.store.session(&session_id("s4500")).await.unwrap();
        assert!(row.is_some());
    });
}
