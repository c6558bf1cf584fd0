//! The suite of the port `Store`, continued: calls and their idempotency.

use toold::journal::{Append, CallQuery, CallRow, Committed, Nested, Refusal};

use crate::{
    fixture::{
        Bed, accept, agent, call_id, call_row, ids, nested_row, note, open, session_id, settle,
        start,
    },
    over_every_store,
};

over_every_store! {
    a_call_is_kept_as_it_was_given
    a_repeated_call_is_told_what_became_of_the_first
    c07_fifty_at_once_under_one_id_are_accepted_once
    calls_are_listed_in_the_order_of_their_accept
    open_calls_are_those_of_every_session_without_a_result
}

async fn a_call_is_kept_as_it_was_given(bed: Bed) {
    bed.append(open("s")).await;
    let top = CallRow {
        turn: Some(u64::MAX),
        step: Some(0),
        name: "no such tool \u{202e}".to_owned(),
        principal: "Zoë".into(),
        ..call_row("s", "call ünïque/../")
    };
    let nested = nested_row("s", "call ünïque/../:call:1", "call ünïque/../");
    for row in [top, nested] {
        let [event] = bed.append(accept(row.clone())).await.try_into().unwrap();
        let want = CallRow {
            accepted: event.id,
            ..row
        };
        let kept = bed.store.call(&want.session, &want.call_id).await.unwrap();
        assert_eq!(kept, Some(want));
    }
    assert_eq!(
        bed.store
            .call(&session_id("s"), &call_id("x"))
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        bed.store
            .call(&session_id("t"), &call_id("x"))
            .await
            .unwrap(),
        None
    );
}

async fn a_repeated_call_is_told_what_became_of_the_first(bed: Bed) {
    bed.append(open("s")).await;
    bed.append(open("t")).await;
    let repeat = || {
        bed.refused(accept(CallRow {
            name: "other".to_owned(),
            ..call_row("s", "c")
        }))
    };
    let mut want = CallRow {
        agent: agent("coder"),
        ..call_row("s", "c")
    };

    want.accepted = bed.append(accept(call_row("s", "c"))).await[0].id;
    assert_eq!(repeat().await, Refusal::CallExists(Box::new(want.clone())));
    want.started = Some(bed.append(start("s", "c")).await[0].id);
    assert_eq!(repeat().await, Refusal::CallExists(Box::new(want.clone())));
    want.started = Some(bed.append(start("s", "c")).await[0].id);
    want.settled = Some(bed.append(settle("s", "c")).await[0].id);
    assert_eq!(repeat().await, Refusal::CallExists(Box::new(want.clone())));
    bed.append(crate::fixture::end("s")).await;
    assert_eq!(
        repeat().await,
        Refusal::CallExists(Box::new(want)),
        "also of an ended session"
    );
    bed.append(accept(call_row("t", "c"))).await; // an id is unique in its session only
}

async fn c07_fifty_at_once_under_one_id_are_accepted_once(bed: Bed) {
    bed.append(open("s")).await;
    let tries = (0..50).map(|_| bed.journal.append(accept(call_row("s", "c1"))));
    let mut accepted = Vec::new();
    let mut told = Vec::new();
    for answer in futures_util::future::join_all(tries).await {
        match answer.unwrap() {
            Committed::Done(records) => accepted.extend(ids(&records)),
            Committed::Refused(Refusal::CallExists(row)) => told.push(row.accepted),
            Committed::Refused(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(accepted.len(), 1);
    assert_eq!(told, vec![accepted[0]; 49]);
    assert_eq!(bed.log(Some("s")).await.len(), 2);
}

/// Two sessions with top-level and nested calls, some settled, some not, and other events between.
async fn many_calls(bed: &Bed) -> Vec<CallRow> {
    for session in ["s", "t"] {
        bed.append(open(session)).await;
    }
    let mut rows = Vec::new();
    for number in 0..12 {
        let session = if number % 4 == 3 { "t" } else { "s" };
        let call = format!("c{}", (number * 7) % 12);
        let mut append = accept(call_row(session, &call));
        let nested = format!("{call}:call:1");
        append
            .steps
            .extend(accept(nested_row(session, &nested, &call)).steps);
        let accepted = ids(&bed.append(append).await);
        let mut top = CallRow {
            accepted: accepted[0],
            ..call_row(session, &call)
        };
        let inner = CallRow {
            accepted: accepted[1],
            ..nested_row(session, &nested, &call)
        };
        bed.append(note(session, "between")).await;
        if number % 3 == 0 {
            top.settled = Some(bed.append(settle(session, &call)).await[0].id);
        }
        rows.extend([top, inner]);
    }
    rows
}

async fn calls_are_listed_in_the_order_of_their_accept(bed: Bed) {
    let rows = many_calls(&bed).await;
    for session in ["s", "t", "nowhere"] {
        for nested in [Nested::Hidden, Nested::Shown] {
            for settled in [None, Some(true), Some(false)] {
                let want: Vec<_> = rows
                    .iter()
                    .filter(|row| row.session.as_str() == session)
                    .filter(|row| nested == Nested::Shown || row.parent.is_none())
                    .filter(|row| settled.is_none_or(|settled| row.settled.is_some() == settled))
                    .cloned()
                    .collect();
                let mut found: Vec<CallRow> = Vec::new();
                loop {
                    let after = found.last().map_or(0, |row| row.accepted);
                    let session = session_id(session);
                    let query = CallQuery {
                        session,
                        after,
                        limit: 2,
                        nested,
                        settled,
                    };
                    let page = bed.store.calls(query).await.unwrap();
                    if page.is_empty() {
                        break;
                    }
                    assert!(page.len() <= 2);
                    found.extend(page);
                }
                assert_eq!(found, want, "{session} {nested:?} {settled:?}");
            }
        }
    }
}

async fn open_calls_are_those_of_every_session_without_a_result(bed: Bed) {
    assert_eq!(bed.store.open_calls(0, 10).await.unwrap(), []);
    let rows = many_calls(&bed).await;
    let open: Vec<_> = rows
        .into_iter()
        .filter(|row| row.settled.is_none())
        .collect();
    assert_eq!(bed.store.open_calls(0, 1000).await.unwrap(), open);
    let rest = bed.store.open_calls(open[4].accepted, 3).await.unwrap();
    assert_eq!(rest, open[5..8]);
    let close_all = open.iter().fold(Append::default(), |mut all, row| {
        all.steps
            .extend(settle(row.session.as_str(), row.call_id.as_str()).steps);
        all
    });
    bed.append(close_all).await;
    assert_eq!(bed.store.open_calls(0, 1000).await.unwrap(), []);
}
