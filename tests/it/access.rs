//! The door: every route of the router's own list, tried without a token, with the wrong
//! permission, as a foreign agent, with a bad Host, Origin and content type (C22).

use reqwest::{Method, RequestBuilder};
use toold::http::{Access, Route, routes};

use crate::harness::{Answer, Client, Daemon, Extra, story};

/// Tokens by hash, as an operator configures them.
const TOKENS: &str = r#"
[[auth.tokens]]
name = "foreign"
sha256 = "3fa37a5aec87692f9b7ef4ad482b194c66ae30c1e4fecf34575b8659eaaf1cf7"
permissions = ["call", "events", "approve", "register", "audit", "admin"]
agents = ["elsewhere"]
[[auth.tokens]]
name = "all"
sha256 = "61d15deeb3d3fb822b9c1d423f39dbd6fea517f6f31480965f77ece4deff7a99"
permissions = ["call", "events", "approve", "register", "audit", "admin"]
agents = ["*"]
[agents.elsewhere]
"#;

fn method(route: &Route) -> Method {
    Method::from_bytes(route.verb.as_str().as_bytes()).expect("a method")
}

/// The route's path with something plausible in its places.
fn path(route: &Route, session: &str) -> String {
    let mut path = route.path.replace("{session}", session);
    while let (Some(open), Some(close)) = (path.find('{'), path.find('}')) {
        path.replace_range(open..=close, "default");
    }
    path
}

fn request(client: &Client, route: &Route, session: &str) -> RequestBuilder {
    let request = client.request(method(route), &path(route, session));
    match method(route) {
        Method::GET | Method::DELETE => request,
        _ => request
            .header("content-type", "application/json")
            .body("{}"),
    }
}

fn needs_a_token(route: &Route) -> bool {
    !matches!(route.access, Access::Open | Access::Probe)
}

/// What a principal's token is answered on a route of later versions: those of executions take
/// another kind of token.
fn refusal_of_later(route: &Route) -> (u16, &'static str) {
    match route.access {
        Access::Execution => (401, "UNAUTHENTICATED"),
        Access::Open | Access::Probe | Access::Known | Access::Any(_) => (501, "NOT_BUILT"),
    }
}

/// What the journal and the registry hold, to prove that a refusal had no effect.
async fn state(all: &Client) -> (String, String) {
    let sessions = all.get("/v1/sessions").await.expect(200).text;
    let agents = all.get("/v1/agents").await.expect(200).text;
    (sessions, agents)
}

async fn refused(request: RequestBuilder, client: &Client, route: &Route, want: &[u16]) -> Answer {
    let answer = client.send(request).await;
    let status = answer.status.as_u16();
    let name = format!("{} {}", route.verb.as_str(), route.path);
    assert!(want.contains(&status), "{name}: {status} {}", answer.text);
    if method(route) != Method::HEAD {
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{name}"
        );
    }
    answer
}

/// The clients that one route is tried by.
struct Door {
    all: Client,
    foreign: Client,
    stranger: Client,
    wrong: Client,
    session: String,
}

impl Door {
    async fn refuses_the_unknown(&self, route: &Route) {
        for client in [&self.stranger, &self.wrong] {
            let request = request(client, route, &self.session);
            let answer = refused(request, client, route, &[401]).await;
            assert_eq!(answer.code(), "UNAUTHENTICATED");
        }
        let in_url = client_with_token_in_url(&self.stranger, route, &self.session);
        refused(in_url, &self.stranger, route, &[400, 401]).await;
    }

    async fn refuses_foreign_hosts(&self, route: &Route) {
        for host in [
            "evil.example:7878",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
        ] {
            let request = request(&self.all, route, &self.session).header("host", host);
            refused(request, &self.all, route, &[403]).await;
        }
    }

    async fn refuses_foreign_origins(&self, route: &Route) {
        for origin in [
            "null",
            "http://localhost.evil.example",
            "https://evil.example",
        ] {
            let request = request(&self.all, route, &self.session).header("origin", origin);
            refused(request, &self.all, route, &[403]).await;
            let preflight = self
                .all
                .request(Method::OPTIONS, &path(route, &self.session))
                .header("origin", origin)
                .header("access-control-request-method", route.verb.as_str());
            refused(preflight, &self.all, route, &[403]).await;
        }
    }

    async fn refuses_other_bodies(&self, route: &Route) {
        // Acting as an execution is judged by its token before all else.
        let want = if matches!(route.access, Access::Execution) {
            401
        } else {
            415
        };
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let request = self.all.request(method(route), &path(route, &self.session));
            let request = request.header("content-type", kind).body("{}");
            refused(request, &self.all, route, &[want]).await;
        }
    }

    async fn hides_what_is_foreign(&self, route: &Route) {
        let request = request(&self.foreign, route, &self.session);
        let answer = refused(request, &self.foreign, route, &[404]).await;
        assert_eq!(
            answer.code(),
            "NOT_FOUND",
            "a foreign agent's session reveals nothing"
        );
    }
}

#[test]
fn c22_every_route_refuses_strangers_wrong_hosts_origins_and_bodies_before_any_effect() {
    story(async {
        let daemon = Daemon::with(Extra {
            rest: TOKENS,
            ..Default::default()
        });
        let client = |token: &str| Client::new(&daemon.url, Some(token.to_owned()));
        let all = client("all-token-of-the-test-0123456789");
        let session = all.session().await;
        let before = state(&all).await;
        let door = Door {
            all,
            foreign: client("foreign-token-of-the-test-0123456789"),
            stranger: daemon.stranger(),
            wrong: client("not-a-token-at-all-0123456789abcdef"),
            session,
        };
        let mut seen = 0;
        for route in routes() {
            seen += 1;
            if needs_a_token(route) {
                door.refuses_the_unknown(route).await;
            }
            if route.access != Access::Probe {
                door.refuses_foreign_hosts(route).await;
            }
            door.refuses_foreign_origins(route).await;
            if !matches!(method(route), Method::GET | Method::DELETE) {
                door.refuses_other_bodies(route).await;
            }
            if route.path.contains("{session}") && route.is_built() {
                door.hides_what_is_foreign(route).await;
            }
        }
        assert!(seen > 20, "the list is the router's own: {seen}");
        assert_eq!(
            state(&door.all).await,
            before,
            "nothing of all this had an effect"
        );
    });
}

fn client_with_token_in_url(client: &Client, route: &Route, session: &str) -> RequestBuilder {
    let path = format!(
        "{}?access_token=all-token-of-the-test-0123456789",
        path(route, session)
    );
    let request = client.request(method(route), &path);
    match method(route) {
        Method::GET | Method::DELETE => request,
        _ => request
            .header("content-type", "application/json")
            .body("{}"),
    }
}

#[test]
fn every_route_refuses_a_token_that_lacks_its_permission() {
    story(async {
        let daemon = Daemon::start();
        let (agent, operator) = (daemon.agent(), daemon.operator());
        let session = agent.session().await;
        for route in routes() {
            let Access::Any(needed) = route.access else {
                continue;
            };
            let words: Vec<&str> = needed.iter().map(|p| p.as_str()).collect();
            if !words.iter().any(|word| ["call", "events"].contains(word)) {
                let answer = refused(request(&agent, route, &session), &agent, route, &[403]).await;
                assert_eq!(answer.code(), "FORBIDDEN");
            }
            if words == ["call"] {
                let answer = refused(
                    request(&operator, route, &session),
                    &operator,
                    route,
                    &[403],
                )
                .await;
                assert_eq!(answer.code(), "FORBIDDEN");
            }
        }
        let records = agent
            .get(&format!("/v1/sessions/{session}/calls"))
            .await
            .expect(200)
            .json();
        assert_eq!(records["items"].as_array().unwrap().len(), 0);
    });
}

#[test]
fn c22_loopback_names_are_allowed_in_any_case_and_with_a_final_dot() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let port = daemon.address().rsplit(':').next().unwrap().to_owned();
        for host in ["localhost", "LOCALHOST.", "127.0.0.1", "[::1]"] {
            let request = agent
                .request(Method::GET, "/v1/tools")
                .header("host", format!("{host}:{port}"));
            agent.send(request).await.expect(200);
        }
        let probe = daemon.stranger();
        for path in ["/healthz", "/readyz"] {
            let request = probe
                .request(Method::GET, path)
                .header("host", "10.1.2.3:7878");
            probe.send(request).await.expect(200);
        }
    });
}

#[test]
fn later_routes_say_that_they_are_not_there_yet() {
    story(async {
        let daemon = Daemon::with(Extra {
            rest: TOKENS,
            ..Default::default()
        });
        let all = Client::new(
            &daemon.url,
            Some("all-token-of-the-test-0123456789".to_owned()),
        );
        let session = all.session().await;
        let mut seen = 0;
        for route in routes().filter(|route| !route.is_built()) {
            seen += 1;
            let (status, code) = refusal_of_later(route);
            let answer = refused(request(&all, route, &session), &all, route, &[status]).await;
            assert_eq!(answer.code(), code);
            if status == 501 {
                assert!(
                    answer.text.contains("not available in this version"),
                    "{}",
                    answer.text
                );
            }
        }
        assert!(seen > 5, "{seen}");
    });
}

#[test]
fn tokens_are_in_no_log_and_no_answer() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent.call(&session, "c", "echo", "{}").await.expect(200);
        agent.get("/v1/nowhere").await.expect(404);
        let metrics = daemon.operator().get("/metrics").await.expect(200);
        let events = agent.page(&session).await;
        for token in [daemon.token("agent"), daemon.token("operator")] {
            for text in [&daemon.log(), &metrics.text, &events.text] {
                assert!(!text.contains(&token));
            }
        }
    });
}
