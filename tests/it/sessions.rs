//! Sessions: what their end waits for, and how they stand meanwhile.

use reqwest::Method;

use crate::harness::{Client, Daemon, Extra, story};

/// A session with a body under way that ignores its signal until its gate is opened.
async fn stubborn(agent: &Client) -> String {
    let session = agent.session().await;
    let path = format!("/v1/sessions/{session}/events");
    let mut stream = agent.stream(&path).await;
    let arguments = r#"{"name":"s","stubborn":true}"#;
    agent.start(&session, "s", "gate", arguments).await;
    stream.until("tool/started").await;
    session
}

#[test]
fn the_end_of_a_session_that_a_body_holds_up_is_told_and_comes_by_itself() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = stubborn(&agent).await;
        let path = format!("/v1/sessions/{session}");
        let mut stream = agent.stream(&format!("{path}/events")).await;
        for _ in 0..2 {
            let end = agent.request(Method::DELETE, &path);
            let answer = agent.send(end.header("prefer", "wait=0")).await.expect(202);
            assert_eq!(answer.json()["state"], "ending");
            assert_eq!(answer.header("location"), Some(path.as_str()));
            assert_eq!(answer.header("preference-applied"), Some("wait=0"));
        }
        assert_eq!(agent.get(&path).await.expect(200).json()["state"], "ending");
        let listed = agent.get("/v1/sessions").await.expect(200).json();
        assert_eq!(listed["items"][0]["state"], "ending");
        let late = agent.call(&session, "late", "echo", "{}").await.expect(409);
        assert_eq!(late.code(), "SESSION_ENDED");

        let again = agent.delete(&path);
        let release = async {
            let other = agent.session().await;
            agent
                .call(&other, "o", "open_gate", r#"{"name":"s"}"#)
                .await
                .expect(200);
        };
        let (again, ()) = tokio::join!(again, release);
        assert_eq!(again.expect(200).json()["state"], "ended");
        stream.until("tool/result").await;
        stream.until("session/end").await;
        let after = agent.delete(&path).await.expect(409);
        assert_eq!(after.code(), "SESSION_ENDED");
        let record = agent.get(&path).await.expect(200).json();
        assert_eq!(record["state"], "ended", "reading stays possible");
    });
}

#[test]
fn an_end_that_a_crash_overtakes_leaves_the_session_open_and_its_call_closed() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = stubborn(&agent).await;
        let path = format!("/v1/sessions/{session}");
        let end = agent.request(Method::DELETE, &path);
        agent
            .send(end.header("prefer", "respond-async"))
            .await
            .expect(202);
        daemon.kill();
        daemon.restart();
        let agent = daemon.agent();
        assert_eq!(agent.get(&path).await.expect(200).json()["state"], "open");
        let result = agent.result(&session, "s").await;
        assert_eq!(result["error"]["code"], "TOOL_OUTCOME_UNKNOWN");
        let ended = agent.delete(&path).await.expect(200).json();
        assert_eq!(ended["state"], "ended");
    });
}

#[test]
fn a_one_shot_call_that_there_is_no_room_for_makes_no_session() {
    story(async {
        let daemon = Daemon::with(Extra {
            server: "max_calls = 1",
            ..Extra::default()
        });
        let agent = daemon.agent();
        let session = agent.session().await;
        agent.start(&session, "g", "gate", r#"{"name":"g"}"#).await;
        let body = r#"{"name":"echo","arguments":{}}"#;
        let refused = agent.post("/v1/calls", body).await.expect(503);
        assert_eq!(refused.code(), "OVERLOADED");
        assert!(refused.header("retry-after").is_some());
        let path = format!("/v1/sessions/{session}/calls");
        let refused = agent.post(&path, body).await.expect(503);
        assert_eq!(refused.code(), "OVERLOADED");
        let again = r#"{"call_id":"g","name":"gate","arguments":{"name":"g"}}"#;
        let repeated = agent
            .json(Method::POST, &path, again)
            .header("prefer", "wait=0");
        agent.send(repeated).await.expect(202);
        let (_, sessions) = agent.walk("/v1/sessions?limit=10", "session_id").await;
        assert_eq!(sessions, [session], "nothing else was recorded");
    });
}
