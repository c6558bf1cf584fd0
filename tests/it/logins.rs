//! Browsers: logging in, writing from an allowed origin, and what a logout ends.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use reqwest::Method;
use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};

use crate::harness::{Daemon, story};

#[test]
fn a_browser_logs_in_with_a_cookie_and_writes_only_from_an_allowed_origin() {
    story(async {
        let daemon = Daemon::start();
        let stranger = daemon.stranger();
        let (answer, pair) = stranger.log_in(&daemon.token("agent")).await;
        let cookie = answer.header("set-cookie").expect("a cookie");
        for word in ["HttpOnly", "SameSite=Strict"] {
            assert!(cookie.contains(word), "{cookie}");
        }
        assert!(
            !cookie.contains(&daemon.token("agent")),
            "the cookie is not the token"
        );
        let read = stranger
            .request(Method::GET, "/v1/tools")
            .header("cookie", &pair);
        stranger.send(read).await.expect(200);
        let write = || {
            stranger
                .json(Method::POST, "/v1/sessions", "{}")
                .header("cookie", &pair)
        };
        stranger.send(write()).await.expect(403);
        let same = write().header("origin", &daemon.url);
        stranger.send(same).await.expect(201);
        stranger.log_out(&pair).await;
        let after = stranger
            .request(Method::GET, "/v1/tools")
            .header("cookie", &pair);
        stranger.send(after).await.expect(401);
        stranger
            .post("/v1/login", r#"{"token":"wrong"}"#)
            .await
            .expect(401);
        let large = format!(r#"{{"token":"{}"}}"#, "x".repeat(20_000));
        stranger.post("/v1/login", &large).await.expect(413);
        daemon.agent().post("/v1/login", &large).await.expect(401);
    });
}

#[test]
fn a_logout_ends_the_streams_of_that_login_and_no_others() {
    story(async {
        let daemon = Daemon::start();
        let (agent, browser) = (daemon.agent(), daemon.stranger());
        let session = agent.session().await;
        let (_, leaving) = browser.log_in(&daemon.token("agent")).await;
        let (_, staying) = browser.log_in(&daemon.token("agent")).await;
        let with = |method, path: &str, cookie: &str| {
            let request = browser.request(method, path).header("cookie", cookie);
            request.header("origin", &daemon.url)
        };
        let all = with(Method::GET, "/v1/events", &leaving);
        let mut all = browser.stream_with(all).await;
        let path = format!("/v1/sessions/{session}/calls");
        let body = r#"{"call_id":"c","name":"gate","arguments":{"name":"k"}}"#;
        let call = with(Method::POST, &path, &leaving).header("content-type", "application/json");
        let mut call = browser.stream_with(call.body(body)).await;
        let path = format!("/v1/sessions/{session}/events?after=0");
        let mut other = browser
            .stream_with(with(Method::GET, &path, &staying))
            .await;
        call.until("tool/started").await;
        other.until("tool/started").await;
        browser.log_out(&leaving).await;
        for ended in [&mut all, &mut call] {
            let end = ended.until("stream/end").await;
            assert_eq!(end.data()["reason"], "the login has ended");
            assert!(ended.next().await.is_none(), "the stream is closed");
        }
        let elsewhere = agent.session().await;
        agent
            .call(&elsewhere, "o", "open_gate", r#"{"name":"k"}"#)
            .await
            .expect(200);
        other.until("tool/result").await;
        assert_eq!(agent.result(&session, "c").await["value"], "open");
    });
}

/// A connection that takes only a few kilobytes before somebody reads.
fn narrow(daemon: &Daemon) -> TcpStream {
    let stream = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    sockopt::set_socket_recv_buffer_size(&stream, 4096).expect("a small buffer");
    let address: SocketAddr = daemon.address().parse().expect("an address");
    connect(&stream, &address).expect("the daemon listens");
    let stream = TcpStream::from(stream);
    let patience = Some(Duration::from_mins(1));
    stream.set_read_timeout(patience).expect("a timeout");
    stream
}

#[test]
fn who_has_logged_out_is_sent_nothing_that_happens_later_however_slowly_it_reads() {
    story(async {
        let daemon = Daemon::start();
        let (agent, browser) = (daemon.agent(), daemon.stranger());
        let session = agent.session().await;
        let (_, cookie) = browser.log_in(&daemon.token("agent")).await;
        let mut reader = narrow(&daemon);
        let lines = [
            &format!("cookie: {cookie}"),
            "accept: text/event-stream",
            "connection: close",
        ];
        let request = daemon.wire("GET /v1/events", &lines, "");
        reader.write_all(request.as_bytes()).expect("a request");
        let mut first = [0];
        reader.read_exact(&mut first).expect("the stream begins");
        // more than the connection takes, less than a reader may lag behind
        let filling = format!(r#"{{"text":"{}"}}"#, "x".repeat(60_000));
        for n in 0..18 {
            let id = format!("fill{n}");
            agent
                .call(&session, &id, "echo", &filling)
                .await
                .expect(200);
        }
        browser.log_out(&cookie).await;
        for n in 0..20 {
            let id = format!("late{n}");
            let late = r#"{"text":"after the logout"}"#;
            agent.call(&session, &id, "echo", late).await.expect(200);
        }
        let read = tokio::task::spawn_blocking(move || {
            let mut read = Vec::new();
            reader.read_to_end(&mut read).map(|_| read)
        });
        let read = read.await.unwrap().expect("the stream ends");
        let read = String::from_utf8_lossy(&read);
        assert!(read.contains("the login has ended"), "{} bytes", read.len());
        assert!(!read.contains("after the logout"));
    });
}

#[test]
fn a_call_that_is_tied_to_its_client_stays_so_when_a_logout_ends_its_stream() {
    story(async {
        let daemon = Daemon::start();
        let (agent, browser) = (daemon.agent(), daemon.stranger());
        let session = agent.session().await;
        let (_, cookie) = browser.log_in(&daemon.token("agent")).await;
        let body =
            r#"{"call_id":"c","name":"gate","arguments":{"name":"k"},"on_disconnect":"cancel"}"#;
        let mut tied = TcpStream::connect(daemon.address()).expect("the daemon listens");
        let (cookie_line, origin) = (
            format!("cookie: {cookie}"),
            format!("origin: {}", daemon.url),
        );
        let lines = [&cookie_line, &origin, "accept: text/event-stream"];
        let what = format!("POST /v1/sessions/{session}/calls");
        let request = daemon.wire(&what, &lines, body);
        tied.write_all(request.as_bytes()).expect("a request");
        let mut events = agent
            .stream(&format!("/v1/sessions/{session}/events?after=0"))
            .await;
        events.until("tool/started").await;
        browser.log_out(&cookie).await;
        let ended = tokio::task::spawn_blocking(move || {
            let (mut read, mut bytes) = (Vec::new(), [0; 4096]);
            while !String::from_utf8_lossy(&read).contains("stream/end") {
                let taken = tied.read(&mut bytes).expect("an answer");
                assert!(taken > 0, "the connection ended");
                read.extend_from_slice(&bytes[..taken]);
            }
            tied
        });
        let tied = ended.await.unwrap();
        drop(tied);
        let result = agent.result(&session, "c").await;
        assert_eq!(result["error"]["code"], "ABORTED", "{result}");
    });
}
