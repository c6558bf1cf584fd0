//! The gate before every route of the list: who is refused, how, and that nothing happens then.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use axum::{Router, http::Method, response::IntoResponse as _, routing::MethodRouter};
use globset::Glob;
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use super::*;
use crate::{
    config::{Permission, Permissions, TokenSpec},
    domain::SystemClock,
    http::{body::BodyRule, routes::routes},
};

const HOST: &str = "localhost:7878";
const SAME_ORIGIN: &str = "http://localhost:7878";

/// A token for every permission, called like it, and one called `none`.
fn gate() -> Gate {
    let listen: SocketAddr = "127.0.0.1:7878".parse().unwrap();
    let server = Server {
        listen,
        address_file: None,
        max_body: 1024,
        max_wait: Duration::from_secs(1),
        drain: Duration::from_secs(1),
        allowed_hosts: vec!["toold.example".to_owned()],
        allowed_origins: vec!["https://console.example".to_owned()],
        max_connections: 8,
        max_calls: 8,
    };
    let named = Permission::ALL.iter().map(|p| (p.as_str(), vec![*p]));
    let tokens = named
        .chain([("none", vec![])])
        .map(|(name, permissions)| TokenSpec {
            name: name.into(),
            sha256: Sha256::digest(format!("token of {name}").as_bytes()).into(),
            permissions: Permissions::from_iter(permissions),
            agents: vec![Glob::new("*").unwrap().compile_matcher()],
        });
    Gate::new(&server, tokens.collect(), Arc::new(SystemClock::new()))
}

/// Every route behind the gate, with a handler that only counts.
struct House {
    gate: Arc<Gate>,
    entered: Arc<AtomicUsize>,
}

impl House {
    fn new() -> Self {
        Self {
            gate: Arc::new(gate()),
            entered: Arc::default(),
        }
    }

    /// Sends a request to a route; the status, and whether it was let in.
    async fn ask(
        &self,
        route: &'static Route,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, bool) {
        let (gate, entered) = (Arc::clone(&self.gate), Arc::clone(&self.entered));
        let before = entered.load(Ordering::Relaxed);
        let enter = move |request: Request| {
            let (gate, entered) = (Arc::clone(&gate), Arc::clone(&entered));
            async move {
                let (uri, headers) = (request.uri().clone(), request.headers().clone());
                let probe = route.access == Access::Probe;
                let rule = if probe {
                    HostRule::Any
                } else {
                    HostRule::Allowed
                };
                gate.knock(&uri, &headers, rule)?;
                gate.admit(route, request).await?;
                entered.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Problem>("in".into_response())
            }
        };
        let router = Router::new().route(route.path, MethodRouter::new().fallback(enter));
        let response = router.oneshot(request(route, headers, body)).await.unwrap();
        let came_in = self.entered.load(Ordering::Relaxed) > before;
        (response.status().as_u16(), came_in)
    }
}

fn request(route: &Route, headers: &[(&str, &str)], body: &str) -> Request {
    let path = route.path.replace(['{', '}'], "");
    let method = Method::from_bytes(route.verb.as_str().as_bytes()).unwrap();
    let mut builder = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        builder = builder.header("host", HOST);
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        builder = builder.header(*name, *value);
    }
    builder.body(body.to_owned().into()).unwrap()
}

/// What a route wants to be sent, so that nothing but the check under test stands in the way.
fn fitting(route: &Route) -> (Vec<(&'static str, &'static str)>, &'static str) {
    match route.body {
        BodyRule::Required => (vec![("content-type", "application/json")], "{}"),
        BodyRule::Optional | BodyRule::None => (vec![], ""),
    }
}

fn bearer(name: &str) -> String {
    format!("Bearer token of {name}")
}

/// The permissions that open a route to a bearer token.
fn keys(route: &Route) -> Vec<&'static str> {
    let all = || {
        Permission::ALL
            .iter()
            .map(|p| p.as_str())
            .chain(["none"])
            .collect()
    };
    match route.access {
        Access::Open | Access::Probe | Access::Known => all(),
        Access::Any(permissions) => permissions.iter().map(|p| p.as_str()).collect(),
        Access::Execution => vec![],
    }
}

#[tokio::test]
async fn without_a_token_only_open_routes_are_entered() {
    let house = House::new();
    for route in routes() {
        let open = matches!(route.access, Access::Open | Access::Probe);
        let (headers, body) = fitting(route);
        let (status, came_in) = house.ask(route, &headers, body).await;
        assert_eq!(came_in, open, "{} {}", route.verb.as_str(), route.path);
        if !open {
            assert_eq!(status, 401, "{} {}", route.verb.as_str(), route.path);
        }
    }
}

#[tokio::test]
async fn a_token_opens_what_its_permissions_name_and_nothing_else() {
    let house = House::new();
    for route in routes() {
        for name in Permission::ALL.iter().map(|p| p.as_str()).chain(["none"]) {
            let token = bearer(name);
            let (mut headers, body) = fitting(route);
            headers.push(("authorization", &*token));
            let (status, came_in) = house.ask(route, &headers, body).await;
            let allowed = keys(route).contains(&name);
            let place = format!("{name}: {} {}", route.verb.as_str(), route.path);
            assert_eq!(came_in, allowed, "{place}");
            let want = if route.access == Access::Execution {
                401
            } else {
                403
            };
            assert!(allowed || status == want, "{place}: {status}");
        }
    }
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_on_every_route_whoever_asks() {
    let house = House::new();
    for route in routes() {
        let token = bearer(keys(route).first().unwrap_or(&"call"));
        let (fit, body) = fitting(route);
        let ask = |more: &[(&'static str, &'static str)]| {
            let mut headers: Vec<(&str, &str)> = fit.clone();
            headers.extend_from_slice(more);
            headers.push(("authorization", &token));
            let headers: Vec<(String, String)> = headers
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect();
            let house = &house;
            async move {
                let headers: Vec<_> = headers.iter().map(|(n, v)| (&**n, &**v)).collect();
                house.ask(route, &headers, body).await
            }
        };
        let place = format!("{} {}", route.verb.as_str(), route.path);
        let probe = route.access == Access::Probe;
        for host in [
            "evil.example:7878",
            "localhost.evil.example",
            "localhost@evil.example",
            "",
        ] {
            let host: &'static str = host;
            let (status, came_in) = ask(&[("host", host)]).await;
            assert!(
                came_in == probe && (probe || status == 403),
                "{place} Host {host}: {status}"
            );
        }
        for origin in [
            "null",
            "http://localhost.evil.example",
            "http://evil.example",
        ] {
            let origin: &'static str = origin;
            let (status, came_in) = ask(&[("origin", origin)]).await;
            assert!(
                !came_in && status == 403,
                "{place} Origin {origin}: {status}"
            );
        }
        if route.access != Access::Execution {
            for welcome in [
                ("host", "LOCALHOST."),
                ("host", "toold.example"),
                ("origin", SAME_ORIGIN),
                ("origin", "https://console.example"),
            ] {
                let (status, came_in) = ask(&[welcome]).await;
                assert!(came_in, "{place} {welcome:?}: {status}");
            }
        }
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_on_every_route() {
    let house = House::new();
    for route in routes().filter(|route| route.access != Access::Execution) {
        let token = bearer(keys(route).first().unwrap());
        let authorization = ("authorization", &*token);
        for content_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
        ] {
            let headers = [authorization, ("content-type", content_type)];
            let (status, came_in) = house.ask(route, &headers, "{}").await;
            let place = format!("{} {} {content_type}", route.verb.as_str(), route.path);
            assert!(!came_in && status == 415, "{place}: {status}");
        }
        let (mut headers, _) = fitting(route);
        headers.retain(|(name, _)| *name != "content-type");
        headers.push(authorization);
        headers.push(("content-type", "application/json"));
        let too_much = format!("{{\"x\":\"{}\"}}", "y".repeat(1024));
        let (status, came_in) = house.ask(route, &headers, &too_much).await;
        let want = if route.body == BodyRule::None {
            400
        } else {
            413
        };
        assert!(
            !came_in && status == want,
            "{} {}: {status}",
            route.verb.as_str(),
            route.path
        );
    }
}

#[tokio::test]
async fn a_write_with_a_cookie_needs_an_origin_that_is_allowed() {
    let house = House::new();
    let guarded = |route: &&Route| matches!(route.access, Access::Any(_) | Access::Known);
    for route in routes().filter(guarded) {
        let name = *keys(route).first().unwrap();
        let authenticator = &house.gate.authenticator;
        let token = authenticator
            .holder_of(&format!("token of {name}"))
            .unwrap();
        let login = authenticator.logins().open(token).unwrap();
        let cookie = format!("toold_login={}", login.as_str());
        let (mut headers, body) = fitting(route);
        headers.push(("cookie", &*cookie));
        let place = format!("{} {}", route.verb.as_str(), route.path);
        let (status, came_in) = house.ask(route, &headers, body).await;
        let reads = route.verb == Verb::Get;
        assert!(
            came_in == reads && (reads || status == 403),
            "{place}: {status}"
        );
        headers.push(("origin", SAME_ORIGIN));
        let (status, came_in) = house.ask(route, &headers, body).await;
        assert!(came_in, "{place}: {status}");
    }
}

#[tokio::test]
async fn an_execution_token_opens_nothing_and_is_told_so() {
    let house = House::new();
    for route in routes() {
        let (mut headers, body) = fitting(route);
        headers.push(("authorization", "Execution tx_00"));
        let (status, came_in) = house.ask(route, &headers, body).await;
        let open = matches!(route.access, Access::Open | Access::Probe);
        let want = if route.access == Access::Execution {
            501
        } else {
            401
        };
        assert!(
            came_in == open && (open || status == want),
            "{}: {status}",
            route.path
        );
    }
}

#[tokio::test]
async fn a_token_in_the_url_is_a_stranger() {
    let house = House::new();
    for route in routes().filter(|route| matches!(route.access, Access::Any(_))) {
        let mut request = request(route, &fitting(route).0, fitting(route).1);
        let with_token = format!("{}?token=token%20of%20call&access_token=x", request.uri());
        *request.uri_mut() = with_token.parse().unwrap();
        let refused = house.gate.admit(route, request).await;
        let code = refused.err().map(|problem| problem.code());
        assert_eq!(code, Some(ProblemCode::Unauthenticated), "{}", route.path);
    }
}

#[test]
fn a_host_must_be_named_once_wherever_it_stands() {
    let gate = gate();
    let knock = |uri: &str, hosts: &[&str]| {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        gate.knock(&uri.parse().unwrap(), &headers, HostRule::Allowed)
            .is_ok()
    };
    assert!(knock("/v1/tools", &[HOST]));
    assert!(
        knock("http://localhost:7878/v1/tools", &[]),
        "as HTTP/2 names it"
    );
    assert!(knock(
        "http://localhost:7878/v1/tools",
        &["LOCALHOST.:7878"]
    ));
    assert!(!knock("/v1/tools", &[]), "HTTP/1.0 without a host");
    assert!(!knock("/v1/tools", &[HOST, HOST]), "twice");
    assert!(
        !knock("http://evil.example/v1/tools", &[HOST]),
        "an absolute form decides too"
    );
    assert!(!knock("http://localhost:7878/v1/tools", &["evil.example"]));
    assert!(
        !knock("http://localhost:1/v1/tools", &[HOST]),
        "two different ones"
    );
}

#[test]
fn a_header_is_bounded() {
    let gate = gate();
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static(HOST));
    headers.insert(
        "x-long",
        HeaderValue::from_str(&"x".repeat(MAX_HEADER)).unwrap(),
    );
    let refused = gate.knock(&"/".parse().unwrap(), &headers, HostRule::Allowed);
    assert_eq!(
        refused.err().map(|p| p.code()),
        Some(ProblemCode::HeadersTooLarge)
    );
    headers.insert(
        "x-long",
        HeaderValue::from_str(&"x".repeat(10 * 1024)).unwrap(),
    );
    assert!(
        gate.knock(&"/".parse().unwrap(), &headers, HostRule::Allowed)
            .is_ok()
    );
}

#[test]
fn the_list_has_no_route_twice_and_every_open_route_is_meant() {
    let all: Vec<_> = routes()
        .map(|route| (route.verb.as_str(), route.path))
        .collect();
    let unique: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(unique.len(), all.len());
    let open = routes().filter(|route| matches!(route.access, Access::Open | Access::Probe));
    let open: Vec<_> = open
        .map(|route| format!("{} {}", route.verb.as_str(), route.path))
        .collect();
    assert_eq!(
        open,
        [
            "POST /v1/login",
            "GET /healthz",
            "GET /readyz",
            "GET /openapi.json",
            "GET /asyncapi.json",
            "GET /"
        ]
    );
}
