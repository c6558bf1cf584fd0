//! `kill -9` and the orderly stop (C10, C17).

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::harness::{Daemon, Event, Signal, story};

async fn until_running(daemon: &Daemon, session: &str, id: &str) {
    let agent = daemon.agent();
    loop {
        let record = agent
            .get(&format!("/v1/sessions/{session}/calls/{id}"))
            .await
            .json();
        if record["state"] == "running" {
            return;
        }
    }
}

#[test]
fn c10_a_crash_closes_what_ran_as_unknown_and_what_waited_as_never_run_and_only_once() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent
            .start(
                &session,
                "runs",
                "gate",
                r#"{"name":"x","class":"exclusive"}"#,
            )
            .await;
        until_running(&daemon, &session, "runs").await;
        agent
            .start(&session, "waits", "counter", r#"{"n":1}"#)
            .await;
        let path = format!("/v1/sessions/{session}/events?after=0");
        let mut before = agent.stream(&path).await;
        let mut ids = Vec::new();
        while ids.len() < 4 {
            let event = before.next().await.expect("the stream is open");
            ids.extend(event.is_durable().then(|| event.id.clone().unwrap()));
        }
        for round in 0..3 {
            daemon.kill();
            daemon.restart();
            let agent = daemon.agent();
            let runs = agent.result(&session, "runs").await;
            assert_eq!(
                runs["error"]["code"], "TOOL_OUTCOME_UNKNOWN",
                "round {round}"
            );
            assert_eq!(runs["body_invoked"], true);
            let waits = agent.result(&session, "waits").await;
            assert_eq!(waits["error"]["code"], "ABORTED_BEFORE_DISPATCH");
            assert_eq!(waits["body_invoked"], false);
            let page = agent.page(&session).await;
            let items = page.json()["items"].clone();
            assert_eq!(
                items.as_array().unwrap().len(),
                6,
                "a restart adds nothing more"
            );
            let mut resumed = agent
                .stream(&format!("/v1/sessions/{session}/events?after={}", ids[3]))
                .await;
            let closed: Vec<Event> = vec![
                resumed.until("tool/result").await,
                resumed.until("tool/result").await,
            ];
            let mut called: Vec<String> = closed.iter().map(Event::call_id).collect();
            called.sort();
            assert_eq!(called, ["runs", "waits"], "the stream tells both, once");
        }
        assert_eq!(daemon.counted(), 0, "what waited was never run");
    });
}

#[test]
fn c17_sigterm_ends_streams_gives_running_calls_their_result_and_exits_with_0() {
    story(async {
        let mut daemon = Daemon::with(crate::harness::Extra {
            server: "drain = \"300ms\"",
            ..Default::default()
        });
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events?after=0"))
            .await;
        agent.start(&session, "g", "gate", r#"{"name":"g"}"#).await;
        until_running(&daemon, &session, "g").await;
        daemon.signal(Signal::TERM);
        let result = stream.until("tool/result").await;
        assert_eq!(result.data()["error"]["code"], "ABORTED");
        assert_eq!(stream.until("stream/end").await.kind, "stream/end");
        assert!(stream.next().await.is_none(), "nothing comes after the end");
        assert_eq!(daemon.ended().await, Some(0));
        daemon.restart();
        let kept = daemon.agent().result(&session, "g").await;
        assert_eq!(
            kept["error"]["code"], "ABORTED",
            "the result was durable before the exit"
        );
    });
}

#[test]
fn c17_while_draining_new_calls_are_refused_and_a_second_signal_ends_at_once() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent
            .start(&session, "g", "gate", r#"{"name":"g","class":"parallel"}"#)
            .await;
        until_running(&daemon, &session, "g").await;
        let path = format!("/v1/sessions/{session}/calls");
        daemon.signal(Signal::TERM);
        loop {
            let body = r#"{"call_id":"late","name":"echo","arguments":{}}"#;
            // On a connection that was open before the stop, a refusal; on a new one, nobody.
            match agent.json(reqwest::Method::POST, &path, body).send().await {
                Ok(answer) if answer.status() == 503 => {
                    assert!(answer.headers().contains_key("retry-after"));
                    break;
                }
                Ok(answer) => assert!(answer.status() == 200, "{answer:?}"),
                Err(_) => break,
            }
        }
        daemon.signal(Signal::TERM);
        assert!(
            daemon.ended().await.is_some_and(|code| code != 0),
            "it did not drain"
        );
        daemon.restart();
        let kept = daemon.agent().result(&session, "g").await;
        assert_eq!(kept["error"]["code"], "TOOL_OUTCOME_UNKNOWN");
    });
}

#[test]
fn c17_clients_that_keep_their_connections_do_not_hold_up_a_stop() {
    story(async {
        let mut daemon = Daemon::start();
        let mut kept = Vec::new();
        for _ in 0..3 {
            let mut idle = TcpStream::connect(daemon.address()).expect("the daemon listens");
            let request = daemon.wire("GET /healthz", &[], "");
            idle.write_all(request.as_bytes()).expect("a request");
            idle.read_exact(&mut [0; 12]).expect("an answer");
            kept.push(idle);
        }
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.ended().await, Some(0));
        let log = daemon.log();
        assert!(!log.contains("connections were cut"), "{log}");
        drop(kept);
    });
}

#[test]
fn a_hangup_changes_nothing_and_is_told() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        daemon.signal(Signal::HUP);
        while !daemon.log().contains("SIGHUP") {
            agent
                .get(&format!("/v1/sessions/{session}"))
                .await
                .expect(200);
        }
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.ended().await, Some(0), "and a stop is still orderly");
    });
}

#[test]
fn a_store_that_cannot_be_written_is_told_and_its_return_is_noticed_without_calls() {
    story(async {
        let daemon = Daemon::start();
        let (agent, probe) = (daemon.agent(), daemon.stranger());
        let session = agent.session().await;
        let stranger = rusqlite::Connection::open(daemon.database()).expect("the database");
        stranger.execute_batch("BEGIN IMMEDIATE").expect("its lock");
        let refused = agent.call(&session, "c", "counter", "{}").await.expect(503);
        assert_eq!(refused.code(), "STORE_UNAVAILABLE");
        let ready = probe.get("/readyz").await.expect(503);
        assert_eq!(ready.json()["status"], "store_unavailable");
        stranger.execute_batch("ROLLBACK").expect("its end");
        while probe.get("/readyz").await.status != 200 {}
        agent.call(&session, "c", "counter", "{}").await.expect(200);
        assert_eq!(daemon.counted(), 1, "what was refused was not run");
    });
}
