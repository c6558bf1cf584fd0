//! Idempotency, waiting, cancelling, going away (C07 to C09, C12).

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use crate::harness::{Client, Daemon, example, story};

#[test]
fn the_first_call_ends_in_call_started_result_and_the_file() {
    story(async {
        let daemon = Daemon::start();
        daemon.file("package.json", "{\n  \"name\": \"demo\"\n}\n");
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events"))
            .await;
        stream.until("stream/hello").await;
        let body =
            r#"{"call_id":"call_7","name":"read_file","arguments":"{\"path\":\"package.json\"}"}"#;
        let answer = agent
            .post(&format!("/v1/sessions/{session}/calls"), body)
            .await
            .expect(200);
        let result = answer.json();
        assert_eq!(result["is_error"], false, "{result}");
        assert_eq!(result["value"]["content"], "{\n  \"name\": \"demo\"\n}\n");
        assert_eq!(result["value"]["path"], "package.json");
        assert_eq!(result["meta"]["card"], "read");
        let durable: Vec<_> = stream.collect("tool/result").await;
        let kinds: Vec<&str> = durable
            .iter()
            .filter(|e| e.is_durable())
            .map(|e| e.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            ["tool/call", "tool/started", "fs/observed", "tool/result"]
        );
        assert_eq!(durable.last().unwrap().data(), result);
    });
}

#[test]
fn c07_the_same_call_again_is_one_run_and_another_body_under_its_id_is_a_conflict() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let first = agent
            .call(&session, "c1", "counter", r#"{"n":1}"#)
            .await
            .expect(200);
        let again = agent
            .call(&session, "c1", "counter", r#"{"n":1 }"#)
            .await
            .expect(200);
        assert_eq!(first.text, again.text);
        assert_eq!(first.header("toold-replayed"), None);
        assert_eq!(again.header("toold-replayed"), Some("true"));
        let many = (0..50).map(|_| agent.call(&session, "c50", "counter", r#"{"n":1}"#));
        let answers = futures_util::future::join_all(many).await;
        let firsts = answers
            .iter()
            .filter(|a| a.header("toold-replayed").is_none())
            .count();
        assert_eq!(firsts, 1, "one of fifty was the first");
        assert!(
            answers
                .iter()
                .all(|a| a.status == 200 && a.text == answers[0].text)
        );
        assert_eq!(daemon.counted(), 2);
        let other = agent.call(&session, "c1", "counter", r#"{"n":2}"#).await;
        assert_eq!(other.expect(409).code(), "CALL_ID_CONFLICT");
        let other = agent.call(&session, "c1", "echo", r#"{"n":1}"#).await;
        assert_eq!(other.expect(409).code(), "CALL_ID_CONFLICT");
        daemon.kill();
        daemon.restart();
        let agent = daemon.agent();
        let after = agent
            .call(&session, "c1", "counter", r#"{"n":1}"#)
            .await
            .expect(200);
        assert_eq!(after.text, first.text);
        let other = agent.call(&session, "c1", "counter", r#"{"n":2}"#).await;
        assert_eq!(other.expect(409).code(), "CALL_ID_CONFLICT");
        assert_eq!(daemon.counted(), 2, "nothing ran again");
    });
}

/// Sends a raw request and keeps the connection.
fn raw(daemon: &Daemon, path: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(daemon.address()).expect("the daemon listens");
    socket
        .set_read_timeout(Some(Duration::from_mins(1)))
        .expect("a timeout");
    let request = daemon.wire(&format!("POST {path}"), &[&daemon.bearer("agent")], body);
    socket.write_all(request.as_bytes()).expect("a request");
    socket
}

fn gate(id: &str, on_disconnect: &str) -> String {
    format!(
        r#"{{"call_id":"{id}","name":"gate","arguments":{{"name":"{id}","class":"parallel"}},"on_disconnect":"{on_disconnect}"}}"#
    )
}

async fn running(agent: &Client, session: &str, id: &str) {
    loop {
        let record = agent
            .get(&format!("/v1/sessions/{session}/calls/{id}"))
            .await;
        if record.status == 200 && record.json()["state"] == "running" {
            return;
        }
    }
}

#[test]
fn c08_a_call_whose_answer_was_lost_is_not_run_again() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let body = r#"{"call_id":"lost","name":"counter","arguments":{}}"#;
        drop(raw(&daemon, &format!("/v1/sessions/{session}/calls"), body));
        // The request may not even have been read: then this one is the first, else it joins.
        let result = agent
            .call(&session, "lost", "counter", "{}")
            .await
            .expect(200)
            .json();
        assert_eq!(result["is_error"], false);
        assert_eq!(daemon.counted(), 1);
    });
}

#[test]
fn c09_a_closed_connection_lets_the_call_go_on_unless_it_said_cancel() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let path = format!("/v1/sessions/{session}/calls");
        let goes_on = raw(&daemon, &path, &gate("on", "continue"));
        let cancels = raw(&daemon, &path, &gate("off", "cancel"));
        let half = raw(&daemon, &path, &gate("half", "cancel"));
        for id in ["on", "off", "half"] {
            running(&agent, &session, id).await;
        }
        drop(goes_on);
        drop(cancels);
        half.shutdown(Shutdown::Write).expect("half a close");
        for id in ["off", "half"] {
            let result = agent.result(&session, id).await;
            assert_eq!(result["error"]["code"], "ABORTED", "{id}: {result}");
            assert_eq!(result["additional_contexts"][0]["source"]["kind"], "tool");
        }
        agent
            .call(&session, "open", "open_gate", r#"{"name":"on"}"#)
            .await
            .expect(200);
        assert_eq!(agent.result(&session, "on").await["value"], "open");
    });
}

#[test]
fn c09_the_end_of_the_sending_side_alone_does_not_cost_the_answer() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut socket = raw(
            &daemon,
            &format!("/v1/sessions/{session}/calls"),
            &gate("g", "continue"),
        );
        socket.shutdown(Shutdown::Write).expect("half a close");
        running(&agent, &session, "g").await;
        agent
            .call(&session, "open", "open_gate", r#"{"name":"g"}"#)
            .await
            .expect(200);
        let answer = tokio::task::spawn_blocking(move || {
            let mut answer = String::new();
            socket.read_to_string(&mut answer).expect("an answer");
            answer
        });
        let answer = answer.await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains(r#""value":"open""#),
            "{answer}"
        );
    });
}

#[test]
fn c12_parallel_posts_while_another_process_reads_the_database_leave_no_gap() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let reading = std::process::Command::new(example("peek"))
            .arg(daemon.database())
            .arg("200")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the example starts");
        let calls: Vec<String> = (0..50).map(|n| format!("p{n}")).collect();
        let calls = calls
            .iter()
            .map(|id| agent.call(&session, id, "counter", "{}"));
        for answer in futures_util::future::join_all(calls).await {
            answer.expect(200);
        }
        let page = agent.page(&session).await.json();
        let seqs: Vec<u64> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(
            seqs,
            (1..=151).collect::<Vec<u64>>(),
            "one start and three events a call"
        );
        let read = reading.wait_with_output().expect("the reader ends");
        assert!(read.status.success(), "the reader was disturbed: {read:?}");
    });
}

#[test]
fn a_call_can_be_answered_later_polled_and_cancelled() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let path = format!("/v1/sessions/{session}/calls");
        let request = agent.json(reqwest::Method::POST, &path, &gate("g", "continue"));
        let accepted = agent
            .send(request.header("prefer", "respond-async"))
            .await
            .expect(202);
        assert_eq!(
            accepted.header("location"),
            Some(format!("{path}/g").as_str())
        );
        assert_eq!(accepted.json()["call_id"], "g");
        running(&agent, &session, "g").await;
        let waiting = agent
            .get(&format!("{path}/g?wait=0"))
            .await
            .expect(200)
            .json();
        assert_eq!(waiting["state"], "running");
        assert!(waiting.get("result").is_none());
        agent
            .post(
                &format!("{path}/g/cancel"),
                r#"{"reason":"changed my mind"}"#,
            )
            .await
            .expect(200);
        let result = agent.result(&session, "g").await;
        assert_eq!(result["error"]["code"], "ABORTED");
        assert!(
            result["error"]["message"]
                .as_str()
                .unwrap()
                .contains("changed my mind")
        );
        let late = agent
            .post(&format!("{path}/g/cancel"), "{}")
            .await
            .expect(409);
        assert_eq!(late.code(), "CALL_SETTLED");
    });
}

#[test]
fn a_queued_call_that_is_cancelled_leaves_at_once_and_those_behind_it_go_on() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent
            .start(
                &session,
                "one",
                "gate",
                r#"{"name":"one","class":"parallel"}"#,
            )
            .await;
        running(&agent, &session, "one").await;
        agent
            .start(
                &session,
                "two",
                "gate",
                r#"{"name":"two","class":"exclusive"}"#,
            )
            .await;
        agent.start(&session, "three", "echo", "{}").await;
        let queued = agent
            .get(&format!("/v1/sessions/{session}/calls/three"))
            .await
            .json();
        assert_eq!(
            queued["state"], "queued",
            "it waits behind the exclusive call"
        );
        agent
            .post(&format!("/v1/sessions/{session}/calls/two/cancel"), "{}")
            .await
            .expect(200);
        let cancelled = agent.result(&session, "two").await;
        assert_eq!(cancelled["error"]["code"], "ABORTED_BEFORE_DISPATCH");
        assert_eq!(cancelled["body_invoked"], false);
        assert_eq!(agent.result(&session, "three").await["is_error"], false);
        let one = agent
            .get(&format!("/v1/sessions/{session}/calls/one"))
            .await
            .json();
        assert_eq!(one["state"], "running", "the first was never disturbed");
    });
}

#[test]
fn ending_a_session_cancels_what_runs_and_keeps_what_was() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent.start(&session, "g", "gate", r#"{"name":"g"}"#).await;
        running(&agent, &session, "g").await;
        agent.start(&session, "q", "gate", r#"{"name":"g"}"#).await;
        agent
            .delete(&format!("/v1/sessions/{session}"))
            .await
            .expect(200);
        assert_eq!(
            agent.result(&session, "g").await["error"]["code"],
            "ABORTED"
        );
        assert_eq!(
            agent.result(&session, "q").await["error"]["code"],
            "ABORTED_BEFORE_DISPATCH"
        );
        let late = agent.call(&session, "late", "echo", "{}").await.expect(409);
        assert_eq!(late.code(), "SESSION_ENDED");
        let again = agent.call(&session, "g", "gate", r#"{"name":"g"}"#).await;
        assert_eq!(
            again.expect(200).code(),
            "ABORTED",
            "what was is still answered"
        );
    });
}

#[test]
fn pages_of_calls_are_bounded_in_bytes_and_lose_nothing() {
    const CALLS: usize = 12;
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let big = format!(r#"{{"text":"{}"}}"#, "x".repeat(1_000_000));
        for n in 0..CALLS {
            let id = format!("c{n}");
            agent.call(&session, &id, "echo", &big).await.expect(200);
        }
        let path = format!("/v1/sessions/{session}/calls?limit=50");
        let (pages, seen) = agent.walk(&path, "call_id").await;
        // what fills the page, and the one call that reaches the bound
        assert!(pages.iter().all(|page| page.len() < 7_000_000));
        let all: Vec<_> = (0..CALLS).map(|n| format!("c{n}")).collect();
        assert_eq!(seen, all);
        assert!(pages.len() > 2, "{}", pages.len());
    });
}
