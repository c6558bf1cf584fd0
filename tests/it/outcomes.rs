//! The outcome table of the pipeline, row by row, as a client sees it; nested calls; contexts.

use serde_json::{Value, json};

use crate::harness::{Client, Daemon, story};

async fn check(agent: &Client, session: &str, name: &str, arguments: &str, want: &str, body: bool) {
    let id = format!("{name}-{want}");
    let result = agent
        .call(session, &id, name, arguments)
        .await
        .expect(200)
        .json();
    assert_eq!(result["is_error"], true, "{result}");
    assert_eq!(result["error"]["code"], want, "{result}");
    assert_eq!(result["body_invoked"], body, "{result}");
    assert!(
        result.get("value").is_none(),
        "a failure has no value: {result}"
    );
    let message = result["error"]["message"].as_str().unwrap();
    assert_eq!(result["content"][0]["text"], format!("Error: {message}"));
}

#[test]
fn every_failure_has_its_code_and_says_whether_the_body_was_reached() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        check(&agent, &session, "ecko", "{}", "UNKNOWN_TOOL", false).await;
        check(
            &agent,
            &session,
            "echo",
            r#"{"forbidden":1}"#,
            "DENIED",
            false,
        )
        .await;
        check(
            &agent,
            &session,
            "counter",
            r#"{"n":"x"}"#,
            "INVALID_ARGS",
            false,
        )
        .await;
        check(&agent, &session, "fail", "{}", "TOOL_ERROR", true).await;
        check(
            &agent,
            &session,
            "fail",
            r#"{"code":"WEATHER_GONE"}"#,
            "WEATHER_GONE",
            true,
        )
        .await;
        check(&agent, &session, "panic", "{}", "TOOL_ERROR", true).await;
        check(
            &agent,
            &session,
            "wrong_output",
            "{}",
            "INVALID_TOOL_OUTPUT",
            true,
        )
        .await;
        check(&agent, &session, "hurried", "{}", "TOOL_TIMEOUT", true).await;
        let ours = agent
            .call(&session, "o", "fail", r#"{"code":"DENIED"}"#)
            .await
            .expect(200);
        assert_eq!(
            ours.code(),
            "TOOL_ERROR",
            "a tool cannot wear one of our codes"
        );
        let near = agent.call(&session, "near", "ecko", "{}").await.json();
        assert!(
            near["error"]["message"].as_str().unwrap().contains("echo"),
            "{near}"
        );
        assert_eq!(daemon.counted(), 0);
    });
}

#[test]
fn decisions_are_in_the_log_before_the_result_they_led_to() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent
            .call(&session, "d", "echo", r#"{"forbidden":1}"#)
            .await
            .expect(200);
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events?after=0"))
            .await;
        let events = stream.collect("tool/result").await;
        let kinds: Vec<&str> = events
            .iter()
            .filter(|e| e.is_durable())
            .map(|e| e.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            ["session/start", "tool/call", "tool/decision", "tool/result"]
        );
        let decision = events[events.len() - 2].data();
        assert_eq!(decision["stage"], "pre-execute");
        assert_eq!(decision["layer"], "no-forbidden");
        assert_eq!(decision["decision"], "deny");
    });
}

#[test]
fn nested_calls_go_through_the_whole_pipeline_under_their_parent() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let three = r#"{"name":"counter","arguments":{"n":4},"times":3}"#;
        let result = agent
            .call(&session, "n", "nest", three)
            .await
            .expect(200)
            .json();
        assert_eq!(
            result["value"]["ends"].as_array().unwrap().len(),
            3,
            "{result}"
        );
        assert_eq!(daemon.counted(), 3);
        let denied = r#"{"name":"counter","arguments":{"forbidden":1}}"#;
        let result = agent
            .call(&session, "f", "nest", denied)
            .await
            .expect(200)
            .json();
        let end = result["value"]["ends"][0].as_str().unwrap();
        assert!(
            end.contains("denied by policy"),
            "policy holds for nested calls too: {end}"
        );
        assert_eq!(daemon.counted(), 3);
        let path = format!("/v1/sessions/{session}/calls");
        let top = agent.get(&path).await.expect(200).json();
        assert_eq!(ids(&top), ["n", "f"]);
        let all = agent
            .get(&format!("{path}?nested=true"))
            .await
            .expect(200)
            .json();
        assert_eq!(
            ids(&all),
            ["n", "n:call:1", "n:call:2", "n:call:3", "f", "f:call:1"]
        );
        let nested = &all["items"][1];
        assert_eq!(nested["root_call_id"], "n");
        assert_eq!(
            nested["parent_execution_id"],
            all["items"][0]["execution_id"]
        );
        assert!(
            nested["result"].get("meta").is_none(),
            "cards are for top-level calls"
        );
    });
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["call_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn cancelling_the_parent_cancels_its_nested_calls_and_each_has_one_result() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events"))
            .await;
        let waits = r#"{"name":"gate","arguments":{"name":"never","class":"parallel"},"times":2}"#;
        agent.start(&session, "p", "nest", waits).await;
        // The parent and both nested calls have started.
        for _ in 0..3 {
            stream.until("tool/started").await;
        }
        agent
            .post(&format!("/v1/sessions/{session}/calls/p/cancel"), "{}")
            .await
            .expect(200);
        let mut settled = Vec::new();
        for _ in 0..3 {
            let result = stream.until("tool/result").await;
            assert_eq!(result.data()["error"]["code"], "ABORTED");
            settled.push(result.call_id());
        }
        assert_eq!(
            settled.pop().as_deref(),
            Some("p"),
            "the parent settles last"
        );
        settled.sort();
        assert_eq!(settled, ["p:call:1", "p:call:2"]);
    });
}

#[test]
fn a_parent_that_leaves_its_nested_call_behind_settles_and_frees_its_lane_only_after_it() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let path = format!("/v1/sessions/{session}");
        let mut stream = agent.stream(&format!("{path}/events")).await;
        let leaves = r#"{"name":"gate","arguments":{"name":"k","stubborn":true},"hasty":true}"#;
        agent.start(&session, "p", "nest", leaves).await;
        for _ in 0..2 {
            stream.until("tool/started").await;
        }
        let exclusive = r#"{"n":1}"#;
        agent.start(&session, "next", "counter", exclusive).await;
        let cancel = format!("{path}/calls/p/cancel");
        let record = agent.post(&cancel, "{}").await.expect(200).json();
        assert_eq!(record["state"], "running");
        let waited = format!("{path}/calls/p?wait=1");
        let record = agent.get(&waited).await.expect(200).json();
        assert_eq!(record["state"], "running", "what it called still runs");
        assert_eq!(daemon.counted(), 0, "and its lane is not free");

        let other = agent.session().await;
        let open = r#"{"name":"k"}"#;
        agent.call(&other, "o", "open_gate", open).await.expect(200);
        let mut settled = Vec::new();
        for _ in 0..3 {
            settled.push(stream.until("tool/result").await.call_id());
        }
        assert_eq!(settled, ["p:call:1", "p", "next"]);
        assert_eq!(daemon.counted(), 1);
    });
}

#[test]
fn a_body_that_ignores_cancellation_is_waited_for_and_its_success_becomes_aborted() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events"))
            .await;
        agent
            .start(
                &session,
                "s",
                "gate",
                r#"{"name":"s","stubborn":true,"class":"parallel"}"#,
            )
            .await;
        stream.until("tool/started").await;
        let path = format!("/v1/sessions/{session}/calls/s");
        let record = agent
            .post(&format!("{path}/cancel"), "{}")
            .await
            .expect(200)
            .json();
        assert_eq!(
            record["state"], "running",
            "it keeps its lane until it is at rest"
        );
        agent
            .call(&session, "o", "open_gate", r#"{"name":"s"}"#)
            .await
            .expect(200);
        let result = agent.result(&session, "s").await;
        assert_eq!(result["error"]["code"], "ABORTED");
        assert_eq!(result["body_invoked"], true);
    });
}

#[test]
fn retries_are_advised_where_they_can_help() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        for (id, name, arguments, retryable) in [
            ("a", "hurried", "{}", true),
            ("b", "fail", "{}", false),
            ("c", "nothing", "{}", false),
            ("d", "counter", r#"{"n":""}"#, false),
        ] {
            let result = agent
                .call(&session, id, name, arguments)
                .await
                .expect(200)
                .json();
            assert_eq!(result["error"]["retryable"], json!(retryable), "{result}");
        }
    });
}

#[test]
fn a_timing_says_where_the_time_went() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let result = agent
            .call(&session, "t", "echo", "{}")
            .await
            .expect(200)
            .json();
        let timing = |name: &str| result["timing"][name].as_f64().unwrap();
        let parts =
            timing("queued_ms") + timing("policy_ms") + timing("approval_ms") + timing("body_ms");
        assert!(parts <= timing("total_ms"), "{result}");
        assert!(timing("body_ms") > 0.0, "{result}");
    });
}

#[test]
fn the_figures_count_what_happened() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent.call(&session, "m", "echo", "{}").await.expect(200);
        let figures = daemon.operator().get("/metrics").await.expect(200).text;
        for line in [
            r#"toold_calls_total{tool="echo",outcome="success"} 1"#,
            "toold_journal_append_seconds_count 1",
        ] {
            assert!(figures.contains(line), "{line} is not in\n{figures}");
        }
    });
}
