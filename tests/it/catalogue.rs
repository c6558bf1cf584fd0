//! The catalogue, agents and their masks, and what happens when they change.

use reqwest::Method;

use crate::harness::{Daemon, Extra, story};

#[test]
fn the_catalogue_is_stable_carries_an_etag_and_shows_the_model_only_what_it_needs() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let first = agent.get("/v1/tools").await.expect(200);
        let etag = first.header("etag").expect("an ETag").to_owned();
        let items = first.json()["items"].as_array().unwrap().clone();
        for item in &items {
            let members: Vec<&String> = item.as_object().unwrap().keys().collect();
            assert_eq!(members, ["description", "name", "parameters"], "{item}");
        }
        let names: Vec<&str> = items.iter().map(|i| i["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"read_file") && names.contains(&"echo") && names.is_sorted());
        let request = agent
            .request(Method::GET, "/v1/tools")
            .header("if-none-match", &etag);
        agent.send(request).await.expect(304);
        daemon.kill();
        daemon.restart();
        let again = daemon.agent().get("/v1/tools").await.expect(200);
        assert_eq!(
            (again.text.as_str(), again.header("etag")),
            (first.text.as_str(), Some(&*etag))
        );
        let whole = daemon
            .agent()
            .get("/v1/tools/read_file")
            .await
            .expect(200)
            .json();
        assert!(
            whole["hash"].as_str().unwrap().starts_with("sha256:"),
            "{whole}"
        );
        daemon.agent().get("/v1/tools/nothing").await.expect(404);
    });
}

#[test]
fn an_agent_is_registered_masks_what_it_inherits_is_told_live_and_survives_a_restart() {
    story(async {
        let mut daemon = Daemon::start();
        let operator = daemon.operator();
        let mut stream = operator.stream("/v1/events").await;
        stream.until("stream/hello").await;
        let body = r#"{"restrict":{"allow":["echo","read_*"],"deny":[]}}"#;
        let put = operator.json(Method::PUT, "/v1/agents/narrow", body);
        operator.send(put).await.expect(201);
        let change = stream.until("tools/change").await;
        assert_eq!(change.json()["agent"], "narrow");
        daemon.kill();
        daemon.restart();
        let agent = daemon.agent();
        let seen = agent.get("/v1/tools?agent=narrow").await.expect(200).json();
        let names: Vec<&str> = seen["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["echo", "read_file"]);
        let opened = agent
            .post("/v1/sessions", r#"{"agent":"narrow"}"#)
            .await
            .expect(201)
            .json();
        let session = opened["session_id"].as_str().unwrap();
        let hidden = agent.call(session, "c", "counter", "{}").await.expect(200);
        assert_eq!(
            hidden.code(),
            "UNKNOWN_TOOL",
            "a masked tool is as good as none"
        );
        agent.call(session, "e", "echo", "{}").await.expect(200);
        let operator = daemon.operator();
        for bad in [
            r#"{"restrict":{"allow":[],"deny":[]}}"#,
            r#"{"restrict":{"allow":["nothing_like_this"]}}"#,
            r#"{"restrict":{"deny":["run_code"]}}"#,
            r#"{"mode":"code"}"#,
            r#"{"parnet":"x"}"#,
        ] {
            let put = operator.json(Method::PUT, "/v1/agents/bad", bad);
            let answer = operator.send(put).await;
            assert!(
                matches!(answer.status.as_u16(), 400 | 501),
                "{bad}: {}",
                answer.text
            );
        }
        operator.delete("/v1/agents/narrow").await.expect(204);
        agent.get("/v1/tools?agent=narrow").await.expect(404);
    });
}

#[test]
fn configured_agents_inherit_through_their_chain() {
    story(async {
        let daemon = Daemon::with(Extra {
            rest: "[agents.base]\n[agents.coder]\nparent = \"base\"\nrestrict = { allow = [\"read_file\"] }",
            ..Default::default()
        });
        let seen = daemon
            .agent()
            .get("/v1/tools?agent=coder")
            .await
            .expect(200)
            .json();
        assert_eq!(seen["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_configured_agent_is_changed_in_the_file_alone() {
    const ROUTE: &str = "/v1/agents/coder";
    story(async {
        let mut daemon = Daemon::start();
        let operator = daemon.operator();
        let open = operator.json(Method::PUT, ROUTE, r#"{"restrict":{"deny":["echo"]}}"#);
        operator.send(open).await.expect(201);
        daemon.kill();
        daemon.restart_with("[agents.coder]\nrestrict = { allow = [\"read_file\"] }");
        let operator = daemon.operator();
        let tools = async || operator.get("/v1/tools?agent=coder").await.expect(200);
        let of_file = tools().await.text;
        assert!(of_file.contains("read_file"), "the file wins: {of_file}");
        assert!(!of_file.contains("list_dir"), "the file wins: {of_file}");
        assert!(daemon.log().contains("declared in the configuration"));
        let put = operator.json(Method::PUT, ROUTE, "{}");
        let refused = [operator.send(put).await, operator.delete(ROUTE).await];
        for answer in refused {
            let answer = answer.expect(403);
            assert!(answer.text.contains("[agents.coder]"), "{}", answer.text);
        }
        assert_eq!(tools().await.text, of_file);
    });
}

#[test]
fn agents_and_tools_come_in_pages_when_that_is_asked() {
    story(async {
        let daemon = Daemon::start();
        let operator = daemon.operator();
        for name in ["a", "b", "c"] {
            let put = operator.json(Method::PUT, &format!("/v1/agents/{name}"), "{}");
            operator.send(put).await.expect(201);
        }
        for (path, member) in [("/v1/agents", "agent"), ("/v1/tools", "name")] {
            let whole = operator.get(path).await.expect(200).json();
            assert!(whole.get("next_cursor").is_none(), "{whole}");
            let whole = whole["items"].as_array().unwrap();
            let whole: Vec<_> = whole.iter().map(|item| item[member].clone()).collect();
            let (pages, members) = operator.walk(&format!("{path}?limit=2"), member).await;
            assert_eq!(members, whole, "{path}");
            assert_eq!(pages.len(), whole.len().div_ceil(2), "{path}");
        }
    });
}
