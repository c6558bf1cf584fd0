//! No id is used twice: not after a crash, and not after going back to a copy.

use std::fs;

use crate::{
    fixture::{Bed, accept, bounded, call_row, ids, note, open, settle},
    sqlite::crash_copy,
};

#[test]
fn going_back_to_a_copy_uses_no_id_twice() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let (path, backup) = (home.path().join("j.db"), home.path().join("backup.db"));
        let first = Bed::at_time(&path, 1_000_000);
        first.append(open("s")).await;
        first.store.close().await.unwrap();
        fs::copy(&path, &backup).unwrap();

        let second = Bed::at_time(&path, 60_000_000);
        let mut used = 0;
        for _ in 0..100 {
            let [lost] = second.append(note("s", "lost")).await.try_into().unwrap();
            used = lost.id;
        }
        second.store.close().await.unwrap();
        fs::copy(&backup, &path).unwrap();

        let third = Bed::at_time(&path, 61_000_000);
        let [next] = third.append(note("s", "")).await.try_into().unwrap();
        assert!(next.id > used, "{} was used", next.id);
        assert_eq!(next.seq, Some(2));
    });
}

#[test]
fn after_a_crash_everything_is_there_and_no_id_is_used_twice() {
    bounded(async {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let bed = Bed::at(&path("0.db"));
        bed.append(open("s")).await;
        for number in 0..100 {
            let call = format!("c{number}");
            bed.append(accept(call_row("s", &call))).await;
            if number % 2 == 0 {
                bed.append(settle("s", &call)).await;
            }
        }
        let log = bed.log(None).await;
        // a run that dies may have shown what is lost: also one that began after a crash, and one
        // whose events are all lost
        let mut used = ids(&log)[log.len() - 1];
        for run in 0..3 {
            crash_copy(
                &path(&format!("{run}.db")),
                &path(&format!("{}.db", run + 1)),
            );
            let next = Bed::at(&path(&format!("{}.db", run + 1)));
            assert_eq!(next.log(None).await, log);
            assert_eq!(next.store.open_calls(0, 1000).await.unwrap().len(), 50);
            crash_copy(&path(&format!("{}.db", run + 1)), &path("lost.db"));
            let [lost] = next.append(note("s", "lost")).await.try_into().unwrap();
            assert!(lost.id > used + (1 << 16), "{} after {used}", lost.id);
            assert_eq!(lost.seq, Some(152));
            used = lost.id;
            next.store.close().await.unwrap();
            crash_copy(&path("lost.db"), &path(&format!("{}.db", run + 1)));
        }
    });
}
