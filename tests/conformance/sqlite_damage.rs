//! C11: what a torn log or a damaged file leaves, and what is refused.

use std::fs::{self, File};

use rusqlite::Connection;
use toold::journal::Error;

use crate::{
    fixture::{Bed, accept, bounded, call_row, everything, ids, note, open, settle, start},
    sqlite::{crash_copy, try_open},
};

#[test]
fn c11_a_log_cut_anywhere_leaves_a_prefix_of_whole_appends() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        let mut ends = vec![0, 1];
        for number in 0..40 {
            let call = format!("c{number}");
            let mut append = accept(call_row("s", &call));
            append
                .steps
                .extend(note("s", &"x".repeat(number * 100)).steps);
            append.steps.extend(start("s", &call).steps);
            bed.append(append).await;
            bed.append(settle("s", &call)).await;
            ends.extend([ends[ends.len() - 1] + 3, ends[ends.len() - 1] + 4]);
        }
        let log = bed.log(None).await;
        let length = fs::metadata(path.with_extension("db-wal")).unwrap().len();
        let mut lengths = Vec::new();
        for cut in 0..60 {
            let torn = home.path().join(format!("torn{cut}.db"));
            crash_copy(&path, &torn);
            let keep = length * cut / 60 + cut % 7;
            let wal = File::options()
                .write(true)
                .open(torn.with_extension("db-wal"))
                .unwrap();
            wal.set_len(keep).unwrap();
            let survivor = Bed::at(&torn);
            assert_eq!(survivor.store.log_id(), bed.store.log_id());
            let left = survivor.log(None).await;
            assert_eq!(left, log[..left.len()], "a prefix");
            assert!(
                ends.contains(&left.len()),
                "an append is whole: {}",
                left.len()
            );
            let open_calls = survivor.store.open_calls(0, 100).await.unwrap();
            let want = usize::from(left.len() > 1 && left.len() % 4 == 0);
            assert_eq!(
                open_calls.len(),
                want,
                "rows and events agree at {}",
                left.len()
            );
            if left.is_empty() {
                survivor.append(open("s")).await;
            }
            let [next] = survivor.append(note("s", "")).await.try_into().unwrap();
            assert!(next.id > log[log.len() - 1].id, "what was lost had ids");
            lengths.push(left.len());
        }
        assert!(
            lengths.is_sorted() && lengths[0] == 0 && lengths[59] > 100,
            "{lengths:?}"
        );
    });
}

#[test]
fn c11_a_damaged_record_is_named_and_not_served() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        for _ in 0..4 {
            bed.append(note("s", "hello")).await;
        }
        let log = bed.log(None).await;
        let victim = log[2].id;
        bed.store.close().await.unwrap();
        let damages = [
            "type = 'no/such'",
            "type = 'fs/write-intent'",
            "data_at = data_at - 1",
            "data_at = 1000000",
            "data_at = -1",
            "envelope_at = envelope_at + 1",
            "frame = x'00'",
            "frame = substr(frame, 1, length(frame) - 1)",
            "frame = (SELECT frame FROM events WHERE id = 1)",
            "session_no = 77",
            "seq = -1",
            "agent = 'no agent!'",
        ];
        for (number, damage) in damages.into_iter().enumerate() {
            let copy = home.path().join(format!("{number}.db"));
            crash_copy(&path, &copy);
            let stranger = Connection::open(&copy).unwrap();
            let sql = format!("UPDATE events SET {damage} WHERE id = {victim}");
            assert_eq!(stranger.execute(&sql, []).unwrap(), 1);
            drop(stranger);
            let survivor = Bed::at(&copy);
            let before = survivor.store.event(log[1].id).await.unwrap();
            assert_eq!(before.as_ref(), Some(&log[1]), "the others are served");
            for read in [
                survivor.store.event(victim).await.map(drop),
                survivor.store.events(everything(None)).await.map(drop),
            ] {
                let Err(Error::Damaged { what }) = read else {
                    panic!("{damage}: {read:?}")
                };
                assert!(
                    damage.contains("-1") || what.contains(&victim.to_string()),
                    "{what}"
                );
            }
        }
        assert_eq!(ids(&log).len(), 5);
    });
}

#[test]
fn c11_a_damaged_file_never_gives_other_records_than_were_written() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("j.db");
        let bed = Bed::at(&path);
        bed.append(open("s")).await;
        for number in 0..200 {
            let call = format!("c{number}");
            bed.append(accept(call_row("s", &call))).await;
            bed.append(settle("s", &call)).await;
        }
        let log = bed.log(None).await;
        bed.store.close().await.unwrap();
        let whole = fs::read(&path).unwrap();
        let pages = whole.len() / 4096;
        let mut refused = 0;
        for page in 0..pages {
            let copy = home.path().join(format!("{page}.db"));
            let mut torn = whole.clone();
            torn[page * 4096..(page + 1) * 4096].fill(0);
            fs::write(&copy, torn).unwrap();
            let Ok(store) = try_open(&copy) else {
                refused += 1;
                continue;
            };
            let store: std::sync::Arc<dyn toold::journal::Store> = std::sync::Arc::new(store);
            match store.events(everything(None)).await {
                Ok(served) => {
                    let known = |event: &_| log.contains(event);
                    assert!(served.events.iter().all(known), "page {page}");
                    refused += usize::from(served.events.len() < log.len());
                }
                Err(_) => refused += 1,
            }
        }
        assert!(
            refused > 0,
            "{pages} pages were wiped and nothing was noticed"
        );
    });
}
