//! Event streams: late, resumed and stalled readers, foreign cursors (C13, C15, C16, C23).

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use crate::harness::{Client, Daemon, Event, Extra, Stream, story};

fn durable(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .filter(|e| e.is_durable())
        .map(|e| e.text.clone())
        .collect()
}

#[test]
fn a_late_subscriber_and_one_that_resumes_see_the_same_bytes_as_the_first() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let path = format!("/v1/sessions/{session}/events");
        let mut first = agent.stream(&format!("{path}?after=0")).await;
        for id in ["a", "b", "c"] {
            agent
                .call(&session, id, "echo", r#"{"x":1.0}"#)
                .await
                .expect(200);
        }
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.extend(first.collect("tool/result").await);
        }
        let mut late = agent.stream(&format!("{path}?after=0")).await;
        let mut again = Vec::new();
        for _ in 0..3 {
            again.extend(late.collect("tool/result").await);
        }
        assert_eq!(
            durable(&seen),
            durable(&again),
            "live and replayed are the same bytes"
        );
        let at = seen.iter().find(|e| e.kind == "tool/result").unwrap();
        let request = agent.request(reqwest::Method::GET, &path);
        let request = request.header("last-event-id", at.id.clone().unwrap());
        let mut resumed = agent.stream_with(request).await;
        let mut rest = Vec::new();
        for _ in 0..2 {
            rest.extend(resumed.collect("tool/result").await);
        }
        let expected = durable(&seen);
        let from = expected.iter().position(|text| *text == at.text).unwrap() + 1;
        assert_eq!(
            durable(&rest),
            expected[from..],
            "exactly what came after, once"
        );
        let page = agent.page(&session).await;
        for text in &expected {
            assert!(
                page.text.contains(text.as_str()),
                "the page holds the same bytes"
            );
        }
    });
}

#[test]
fn without_a_cursor_a_stream_is_live_only_and_its_hello_tells_what_is_under_way() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        agent
            .call(&session, "before", "echo", "{}")
            .await
            .expect(200);
        agent
            .start(&session, "g", "gate", r#"{"name":"g","class":"parallel"}"#)
            .await;
        let mut stream = agent.stream("/v1/events").await;
        let hello = stream.next().await.expect("a first frame");
        assert_eq!(hello.kind, "stream/hello");
        assert!(
            hello.id.is_some(),
            "a reconnect before the first event loses nothing"
        );
        let hello = hello.json();
        let hello = hello.get("data").cloned().unwrap_or(hello);
        assert_eq!(hello["in_flight"][0]["call_id"], "g", "{hello}");
        assert_eq!(hello["pending_approvals"].as_array().unwrap().len(), 0);
        assert!(hello["log_id"].is_string());
        agent
            .call(&session, "after", "echo", "{}")
            .await
            .expect(200);
        assert_eq!(stream.until("tool/call").await.call_id(), "after");
    });
}

#[test]
fn live_output_stays_one_line_of_data_whatever_it_holds() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stream = agent
            .stream(&format!("/v1/sessions/{session}/events"))
            .await;
        stream.until("stream/hello").await;
        let text = r"a\r\nevent: approval/decided\r\nid: 999999\r\n\r\nb";
        let arguments = format!(r#"{{"text":"{text}","count":1}}"#);
        agent
            .call(&session, "c", "chatty", &arguments)
            .await
            .expect(200);
        let events = stream.collect("tool/result").await;
        let output = events
            .iter()
            .find(|e| e.kind == "tool/output")
            .expect("live output");
        assert_eq!(output.id, None, "live frames carry no cursor");
        assert_eq!(
            output.data()["text"],
            "a\r\nevent: approval/decided\r\nid: 999999\r\n\r\nb"
        );
        assert!(events.iter().all(|e| e.id.as_deref() != Some("999999")));
        assert!(events.iter().all(|e| e.kind != "approval/decided"));
    });
}

/// Opens a session's stream at a cursor and follows it, if it opens, past one more call.
async fn try_cursor(agent: &Client, session: &str, cursor: &str, way: &str, id: &str) {
    let path = format!("/v1/sessions/{session}/events");
    let request = if way == "header" {
        let request = agent.request(reqwest::Method::GET, &path);
        request.header("last-event-id", cursor)
    } else {
        agent.request(reqwest::Method::GET, &format!("{path}?after={cursor}"))
    };
    let request = request.header("accept", "text/event-stream");
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let is_number = !cursor.is_empty() && cursor.bytes().all(|b| b.is_ascii_digit());
    // What a browser sends by itself is never refused; what somebody wrote wrongly is.
    let want = if way == "header" || is_number {
        200
    } else {
        400
    };
    assert_eq!(status, want, "{cursor:.20} by {way}");
    if status != 200 {
        return;
    }
    let mut stream = Stream::new(response);
    agent.call(session, id, "echo", "{}").await.expect(200);
    let events = stream.collect("tool/result").await;
    let told = events.iter().any(|event| event.kind == "stream/gap");
    // An empty one names no event: a browser that has seen none sends it.
    assert!(
        told || is_number || cursor.is_empty(),
        "{cursor:.20}: no gap is told"
    );
    for event in events {
        let of = event.json()["session_id"].as_str().map(str::to_owned);
        assert!(
            of.is_none_or(|of| of == session),
            "{cursor:.20}: {}",
            event.text
        );
    }
}

#[test]
fn c13_foreign_and_broken_cursors_show_only_this_session_or_a_gap_and_never_a_fault() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let (mine, other) = (agent.session().await, agent.session().await);
        agent.call(&other, "theirs", "echo", "{}").await.expect(200);
        let mut stream = agent
            .stream(&format!("/v1/sessions/{other}/events?after=0"))
            .await;
        let foreign = stream.until("tool/result").await.id.unwrap();
        agent.call(&mine, "mine", "echo", "{}").await.expect(200);
        let long = "9".repeat(10 * 1024);
        let cursors = [
            foreign.as_str(),
            "-1",
            "abc",
            "18446744073709551616",
            "",
            &long,
            "%00",
            "0",
            "1e3",
        ];
        for (n, cursor) in cursors.iter().enumerate() {
            for way in ["header", "query"] {
                let id = format!("end-{way}-{n}");
                try_cursor(&agent, &mine, cursor, way, &id).await;
            }
        }
        let path = format!("/v1/sessions/{mine}/events?after=9000000000000000000");
        let gap = agent.stream(&path).await.until("stream/gap").await;
        assert!(gap.text.contains("9000000000000000000"), "{}", gap.text);
    });
}

#[test]
fn c15_a_reader_that_never_reads_costs_bounded_memory_and_is_closed_as_lagged() {
    story(async {
        let daemon = Daemon::with(Extra {
            rest: "[streams]\nheartbeat = \"500ms\"\nreader_events = 2000\nreader_bytes = \"2MiB\"",
            ..Default::default()
        });
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut stalled = TcpStream::connect(daemon.address()).expect("the daemon listens");
        let path = format!("/v1/sessions/{session}/events");
        let lines = [&daemon.bearer("agent"), "connection: close"];
        let request = daemon.wire(&format!("GET {path}"), &lines, "");
        stalled.write_all(request.as_bytes()).expect("a request");
        let mut reader = agent
            .stream(&format!("/v1/sessions/{session}/events"))
            .await;
        reader.until("stream/hello").await;
        let before = daemon.resident();
        let text = "x".repeat(2048);
        // 100,000 events of about 2 KiB. The other reader keeps up: one call's burst is inside
        // its bound, and the next one waits until it has seen the result.
        for n in 0..100 {
            let arguments = format!(r#"{{"text":"{text}","count":500}}"#);
            let id = format!("c{n}");
            let call = agent.call(&session, &id, "chatty", &arguments);
            let read = reader.collect("tool/result");
            let (answer, events) = futures_util::future::join(call, read).await;
            answer.expect(200);
            assert_eq!(
                events.iter().filter(|e| e.kind == "tool/output").count(),
                500
            );
        }
        let grown = daemon.resident().saturating_sub(before);
        assert!(grown < 64 * 1024, "resident memory grew by {grown} KiB");
        // The socket's buffers are read only now. The connection behind them has been cut, or, on
        // a machine that was faster than the daemon's patience, ends with `stream/lagged`.
        stalled
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a timeout");
        let (ended, received) = tokio::task::spawn_blocking(move || {
            let mut received = 0;
            let mut buffer = vec![0; 1 << 16];
            loop {
                match stalled.read(&mut buffer) {
                    Ok(0) => return (true, received),
                    Ok(n) => received += n,
                    Err(e) => return (e.kind() == std::io::ErrorKind::ConnectionReset, received),
                }
            }
        })
        .await
        .unwrap();
        assert!(ended, "the stalled reader's connection was not closed");
        assert!(
            received < 100 * 500 * 2048,
            "it did not get everything: {received}"
        );
    });
}

#[test]
fn c16_streams_are_never_compressed_and_begin_at_once() {
    story(async {
        let daemon = Daemon::with(Extra {
            rest: "[streams]\nheartbeat = \"200ms\"",
            ..Default::default()
        });
        let agent = daemon.agent();
        let request = agent.request(reqwest::Method::GET, "/v1/events");
        let mut stream = agent
            .stream_with(request.header("accept-encoding", "gzip, br"))
            .await;
        let headers = stream.response.headers().clone();
        assert!(!headers.contains_key("content-encoding"));
        assert_eq!(headers["x-accel-buffering"], "no");
        assert!(
            headers["content-type"]
                .to_str()
                .unwrap()
                .starts_with("text/event-stream")
        );
        stream.until("stream/hello").await;
        let session = agent.session().await;
        // Heartbeats are comments: they carry no id and move no cursor.
        while stream.comments < 2 {
            let chunk = stream
                .response
                .chunk()
                .await
                .expect("the stream is open")
                .unwrap();
            let text = String::from_utf8(chunk.to_vec()).unwrap();
            for line in text.lines().filter(|line| line.starts_with(':')) {
                assert!(!line.contains("id"), "{line}");
                stream.comments += 1;
            }
        }
        drop(session);
    });
}

#[test]
fn c23_an_idle_stream_and_a_long_call_stay_alive_through_heartbeats_and_202() {
    story(async {
        let daemon = Daemon::with(Extra {
            server: "max_wait = \"300ms\"",
            rest: "[streams]\nheartbeat = \"100ms\"",
            ..Default::default()
        });
        let agent = daemon.agent();
        let session = agent.session().await;
        let mut idle = agent.stream("/v1/events?types=session/end").await;
        let gate = r#"{"name":"g","class":"parallel"}"#;
        let answer = agent.call(&session, "long", "gate", gate).await.expect(202);
        assert_eq!(
            answer.json()["state"],
            "running",
            "what outlives the wait is answered 202"
        );
        let mut beats = 0;
        while beats < 5 {
            let chunk = idle.response.chunk().await.expect("alive").expect("open");
            beats += chunk
                .split(|b| *b == b'\n')
                .filter(|l| l.starts_with(b":"))
                .count();
        }
        agent
            .call(&session, "o", "open_gate", r#"{"name":"g"}"#)
            .await
            .expect(200);
        assert_eq!(agent.result(&session, "long").await["value"], "open");
    });
}

#[test]
fn a_call_asked_for_as_a_stream_ends_with_its_own_result() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let body = r#"{"call_id":"s","name":"chatty","arguments":{"count":3}}"#;
        for replayed in [false, true] {
            let path = format!("/v1/sessions/{session}/calls");
            let request = agent.json(reqwest::Method::POST, &path, body);
            let mut stream = agent.stream_with(request).await;
            let events = stream.collect("tool/result").await;
            assert!(
                events
                    .iter()
                    .filter(|e| e.is_durable())
                    .all(|e| e.call_id() == "s")
            );
            let live = events.iter().filter(|e| e.kind == "tool/output").count();
            assert_eq!(
                live,
                if replayed { 0 } else { 3 },
                "live output is live only"
            );
            assert!(stream.next().await.is_none(), "the result is the last");
        }
    });
}

#[test]
fn the_moves_of_a_call_are_shown_live_in_their_order() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let (session, elsewhere) = (agent.session().await, agent.session().await);
        let path = format!("/v1/sessions/{session}/events");
        let mut stream = agent.stream(&path).await;
        stream.until("stream/hello").await;
        let open = async |name: &str| {
            let arguments = format!(r#"{{"name":"{name}"}}"#);
            let call = agent.call(&elsewhere, name, "open_gate", &arguments);
            call.await.expect(200);
        };
        agent.start(&session, "a", "gate", r#"{"name":"a"}"#).await;
        stream.until("tool/started").await;
        agent.start(&session, "b", "gate", r#"{"name":"b"}"#).await;
        let mut events = stream.collect("tool/call").await;
        open("a").await;
        events.extend(stream.collect("tool/started").await);
        open("b").await;
        events.extend(stream.collect("tool/result").await);
        let moves = events.iter().filter(|event| event.kind == "tool/state");
        let moves: Vec<_> = moves
            .inspect(|event| assert!(event.id.is_none(), "it is not recorded: {}", event.text))
            .map(|event| {
                let state = event.data()["state"].clone();
                format!("{} {}", event.call_id(), state.as_str().unwrap_or_default())
            })
            .collect();
        let of = |call: &str| {
            let moves = moves.iter().filter_map(|text| text.strip_prefix(call));
            moves.collect::<Vec<_>>()
        };
        assert_eq!(of("a "), ["running", "finalizing", "settled"], "{moves:?}");
        assert_eq!(of("b "), ["queued", "running", "finalizing"], "{moves:?}");
    });
}
