//! The suite of the port `Store`: rows, refusals, documents, the end. Every test runs over every
//! store.

use std::path::PathBuf;

use toold::{
    domain::{
        ApprovalPolicy, EventDraft, EventType, Json, Subject, Timestamp, Workspace, json::Limits,
    },
    journal::{
        Append, Bounds, DocumentKind, Error, Refusal, SessionQuery, SessionRow, Step, Write,
    },
};

use crate::fixture::{
    Bed, Kind, accept, agent, bounded, call_row, counted, end, event, everything, execution, ids,
    nested_row, note, open, seqs, session_id, session_row, settle, start,
};

/// Runs each of these over each store.
#[macro_export]
macro_rules! over_every_store {
    ($($test:ident)+) => {
        mod memory {
            $(#[test] fn $test() { $crate::fixture::bounded(super::$test($crate::fixture::Bed::new($crate::fixture::Kind::Memory))); })+
        }
        mod sqlite_process {
            $(#[test] fn $test() { $crate::fixture::bounded(super::$test($crate::fixture::Bed::new($crate::fixture::Kind::Process))); })+
        }
        mod sqlite_power {
            $(#[test] fn $test() { $crate::fixture::bounded(super::$test($crate::fixture::Bed::new($crate::fixture::Kind::Power))); })+
        }
    };
}

over_every_store! {
    refusals_follow_the_table
    an_append_is_whole_or_not_at_all
    sessions_are_kept_as_they_were_given
    sessions_are_listed_newest_first_and_by_agent
    bounds_are_those_of_the_log_or_of_one_session
    an_event_of_no_session_has_no_seq
    documents_are_kept_replaced_and_removed
    a_closed_store_refuses_everything
}

/// What is refused once [`refusals_follow_the_table`] has prepared its sessions.
fn refused_appends() -> Vec<(Append, Refusal)> {
    let update = |session: &str| {
        let row = Box::new(session_row(session));
        Append::one(
            Write::UpdateSession(row),
            event(EventType::SessionUpdated, session, ""),
        )
    };
    let other_execution = |mut append: Append| {
        for Step { write, .. } in &mut append.steps {
            if let Write::StartCall(_, _, id) | Write::SettleCall(_, _, id) = write {
                *id = execution("another");
            }
        }
        append
    };
    let event_elsewhere = Append::one(
        Write::OpenSession(Box::new(session_row("new"))),
        event(EventType::SessionStart, "nowhere", ""),
    );
    vec![
        (note("nowhere", ""), Refusal::SessionUnknown),
        (open("live"), Refusal::SessionExists),
        (open("ended"), Refusal::SessionExists),
        (event_elsewhere, Refusal::SessionUnknown),
        (update("nowhere"), Refusal::SessionUnknown),
        (update("ended"), Refusal::SessionEnded),
        (end("nowhere"), Refusal::SessionUnknown),
        (end("ended"), Refusal::SessionEnded),
        (accept(call_row("nowhere", "c")), Refusal::SessionUnknown),
        (accept(call_row("ended", "c")), Refusal::SessionEnded),
        (start("nowhere", "running"), Refusal::NotOpen),
        (start("live", "nothing"), Refusal::NotOpen),
        (start("live", "done"), Refusal::NotOpen),
        (other_execution(start("live", "running")), Refusal::NotOpen),
        (settle("live", "nothing"), Refusal::NotOpen),
        (settle("live", "done"), Refusal::NotOpen),
        (other_execution(settle("live", "running")), Refusal::NotOpen),
    ]
}

async fn refusals_follow_the_table(bed: Bed) {
    for session in ["live", "ended"] {
        bed.append(open(session)).await;
    }
    for (session, call) in [("live", "running"), ("live", "done"), ("ended", "late")] {
        bed.append(accept(call_row(session, call))).await;
    }
    bed.append(settle("live", "done")).await;
    bed.append(end("ended")).await;
    let before = bed.log(None).await;

    for (append, refusal) in refused_appends() {
        let shown = format!("{append:?}");
        assert_eq!(bed.refused(append).await, refusal, "{shown}");
    }
    assert_eq!(
        bed.log(None).await,
        before,
        "a refused append records nothing"
    );

    // what the table allows: events, started calls and nested calls of an ended session
    bed.append(note("ended", "still read")).await;
    bed.append(accept(nested_row("ended", "late:call:1", "late")))
        .await;
    bed.append(start("ended", "late")).await;
    bed.append(start("ended", "late")).await;
    bed.append(settle("ended", "late")).await;
}

async fn an_append_is_whole_or_not_at_all(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(accept(call_row("s", "taken"))).await;
    let before = bed.log(None).await;

    let mut doomed = open("t");
    doomed.steps.extend(accept(call_row("t", "a")).steps);
    doomed.steps.extend(start("t", "a").steps);
    doomed.steps.extend(settle("t", "a").steps);
    doomed.steps.extend(end("t").steps);
    doomed.steps.extend(note("s", "lost").steps);
    doomed.steps.extend(settle("s", "taken").steps);
    doomed.steps.extend(accept(call_row("s", "taken")).steps);
    assert!(matches!(
        bed.refused(doomed.clone()).await,
        Refusal::CallExists(_)
    ));
    assert_eq!(bed.log(None).await, before);
    assert_eq!(bed.shown.events(), before);
    assert_eq!(bed.store.session(&session_id("t")).await.unwrap(), None);
    assert_eq!(bed.store.open_calls(0, 9).await.unwrap().len(), 1);

    // the same without its last step: each step sees what those before it did
    doomed.steps.pop();
    let steps = doomed.steps.len();
    let records = bed.append(doomed).await;
    assert_eq!(records.len(), steps);
    assert_eq!(seqs(&bed.log(Some("t")).await), counted(5));
    assert_eq!(seqs(&bed.log(Some("s")).await), counted(4));
    let all = ids(&bed.log(None).await);
    assert!(all.is_sorted_by(|a, b| a < b));
    assert_eq!(bed.store.open_calls(0, 9).await.unwrap(), []);
    assert!(
        bed.append(Append::default()).await.is_empty(),
        "nothing to do is done"
    );
}

async fn sessions_are_kept_as_they_were_given(bed: Bed) {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let metadata = br#"{"big":123456789012345678901234567890,"exp":1E2,"z":1,"a":["\u2028",null]}"#;
    let row = SessionRow {
        workspace: Workspace(PathBuf::from(OsStr::from_bytes(b"deep/er\xff/dir"))),
        approval_policy: ApprovalPolicy::Never,
        metadata: Json::read_object(metadata, &Limits::default()).unwrap(),
        principal: "Zoë\n".into(),
        ..session_row("s")
    };
    let start = event(EventType::SessionStart, "s", "");
    bed.append(Append::one(
        Write::OpenSession(Box::new(row.clone())),
        start,
    ))
    .await;
    let id = session_id("s");
    let kept = bed.store.session(&id).await.unwrap().unwrap();
    assert_eq!(kept, row);
    let names: Vec<_> = kept.metadata.keys().cloned().collect();
    assert_eq!(names, ["big", "exp", "z", "a"], "members keep their order");

    let update = SessionRow {
        approval_policy: ApprovalPolicy::Ask,
        metadata: Json::read_object(br#"{"n":1}"#, &Limits::default()).unwrap(),
        workspace: Workspace(PathBuf::from("elsewhere")),
        ..row.clone()
    };
    let updated = event(EventType::SessionUpdated, "s", "");
    bed.append(Append::one(
        Write::UpdateSession(Box::new(update.clone())),
        updated,
    ))
    .await;
    bed.append(end("s")).await;
    let want = SessionRow {
        approval_policy: update.approval_policy,
        metadata: update.metadata,
        ended_at: Some(Timestamp::from_micros(99)),
        ..row
    };
    assert_eq!(
        bed.store.session(&id).await.unwrap(),
        Some(want),
        "only policy and metadata change"
    );
    assert_eq!(bed.store.session(&session_id("t")).await.unwrap(), None);
}

async fn sessions_are_listed_newest_first_and_by_agent(bed: Bed) {
    for number in 0..10 {
        let id = format!("s{number}");
        let row = SessionRow {
            agent: agent(if number % 2 == 0 { "even" } else { "odd" }),
            ..session_row(&id)
        };
        let start = event(EventType::SessionStart, &id, "");
        bed.append(Append::one(Write::OpenSession(Box::new(row)), start))
            .await;
        bed.append(note(&id, "ids are not dense")).await;
    }
    let list = |filter: Option<&'static str>| {
        let store = bed.store.clone();
        async move {
            let mut found = Vec::new();
            let mut cursor = None;
            loop {
                let query = SessionQuery {
                    agent: filter.map(agent),
                    cursor,
                    limit: 3,
                };
                let page = store.sessions(query).await.unwrap();
                assert!(page.len() <= 3);
                let Some((last, _)) = page.last() else {
                    break found;
                };
                cursor = Some(*last);
                found.extend(page.into_iter().map(|(_, row)| row.id.to_string()));
            }
        }
    };
    let all: Vec<_> = (0..10).rev().map(|n| format!("s{n}")).collect();
    assert_eq!(list(None).await, all);
    assert_eq!(list(Some("even")).await, ["s8", "s6", "s4", "s2", "s0"]);
    assert_eq!(list(Some("nobody")).await, [""; 0]);
}

async fn bounds_are_those_of_the_log_or_of_one_session(bed: Bed) {
    assert_eq!(bed.store.bounds(None).await.unwrap(), Bounds::default());
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    bed.append(note("s", "")).await;
    let log = ids(&bed.log(None).await);
    let bounds = |oldest, head| Bounds {
        oldest,
        head,
        pruned: 0,
    };
    assert_eq!(
        bed.store.bounds(None).await.unwrap(),
        bounds(log[0], log[2])
    );
    let of = |id| bed.store.bounds(Some(session_id(id)));
    assert_eq!(of("s").await.unwrap(), bounds(log[0], log[2]));
    assert_eq!(of("t").await.unwrap(), bounds(log[1], log[1]));
    assert_eq!(of("nowhere").await.unwrap(), Bounds::default());
}

async fn an_event_of_no_session_has_no_seq(bed: Bed) {
    bed.append(open("s")).await;
    let subject = Subject::agent(&agent("coder"));
    let draft = EventDraft::new(EventType::SessionUpdated, subject, |_| {});
    let [event] = bed.append(Append::event(draft)).await.try_into().unwrap();
    assert_eq!((event.seq, event.session.clone()), (None, None));
    assert_eq!(event.agent, Some(agent("coder")));
    let bare = EventDraft::new(EventType::SessionUpdated, Subject::default(), |_| {});
    let [bare] = bed.append(Append::event(bare)).await.try_into().unwrap();
    let log = bed.log(None).await;
    assert_eq!(log[1..], [event.clone(), bare.clone()]);
    assert_eq!(bed.log(Some("s")).await.len(), 1);
    assert_eq!(bed.store.event(event.id).await.unwrap(), Some(event));
    assert_eq!(bed.store.event(bare.id + 1).await.unwrap(), None);
}

async fn documents_are_kept_replaced_and_removed(bed: Bed) {
    let kind = DocumentKind::Agent;
    let text = r#"{"n":1E2,"deep":{"k":[1.0,-0]}}"#;
    let body = Json::read(text.as_bytes(), &Limits::default()).unwrap();
    bed.store.put_document(kind, "b", Json::Null).await.unwrap();
    bed.store
        .put_document(kind, "a", "first".into())
        .await
        .unwrap();
    bed.store
        .put_document(kind, "a", body.clone())
        .await
        .unwrap();
    let kept = bed.store.documents(kind).await.unwrap();
    assert_eq!(kept, [("a".to_owned(), body), ("b".to_owned(), Json::Null)]);
    assert_eq!(kept[0].1.to_text(), text);
    assert!(bed.store.delete_document(kind, "a").await.unwrap());
    assert!(!bed.store.delete_document(kind, "a").await.unwrap());
    assert_eq!(bed.store.documents(kind).await.unwrap().len(), 1);
}

async fn a_closed_store_refuses_everything(bed: Bed) {
    bed.append(open("s")).await;
    let queued: Vec<_> = futures_util::future::join_all((0..50).map(|n| {
        let append = note("s", &n.to_string());
        bed.submit(append)
    }))
    .await;
    bed.store.close().await.unwrap();
    for commit in queued {
        commit
            .durable()
            .await
            .expect("what was queued before the close is committed");
    }
    let refused = bed.journal.submit(note("s", "")).await;
    assert!(matches!(refused, Err(Error::Closed)), "{refused:?}");
    let id = session_id("s");
    assert!(matches!(
        bed.store.events(everything(None)).await,
        Err(Error::Closed)
    ));
    assert!(matches!(bed.store.session(&id).await, Err(Error::Closed)));
    let put = bed
        .store
        .put_document(DocumentKind::Agent, "a", Json::Null)
        .await;
    assert!(matches!(put, Err(Error::Closed)));
    bed.store
        .close()
        .await
        .expect("closing again is done already");
}

#[test]
fn a_store_tells_operators_what_it_is() {
    let told = [Kind::Memory, Kind::Process, Kind::Power]
        .map(|kind| bounded(async { Bed::new(kind).store.describe() }));
    let want = [
        "memory, nothing is kept",
        "sqlite, durability process",
        "sqlite, durability power",
    ];
    assert_eq!(told, want);
}
