//! Lossless arguments from the wire to the journal and back (C01 to C06).

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use crate::harness::{Daemon, story};

#[test]
fn c01_calls_without_arguments_get_an_empty_object() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let path = format!("/v1/sessions/{session}/calls");
        for (n, arguments) in [r#""""#, r#""  \n""#, "null", "{}", r#""{}""#]
            .iter()
            .enumerate()
        {
            let answer = agent
                .call(&session, &format!("c{n}"), "echo", arguments)
                .await
                .expect(200);
            assert_eq!(
                answer.json()["value"],
                serde_json::json!({}),
                "for {arguments}"
            );
        }
        let absent = agent
            .post(&path, r#"{"call_id":"absent","name":"echo"}"#)
            .await
            .expect(200);
        assert_eq!(absent.json()["value"], serde_json::json!({}));
        let missing = agent
            .call(&session, "missing", "read_file", r#""""#)
            .await
            .expect(200);
        assert_eq!(missing.code(), "INVALID_ARGS");
        let message = missing.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            message.contains("path"),
            "the message names the property: {message}"
        );
        assert!(!message.contains("end of input"), "{message}");
    });
}

#[test]
fn c02_cut_off_arguments_are_refused_with_their_position_and_run_nothing() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let cut = r#""{\"cmds\":[\"ls\",\"rm -rf x\"""#;
        let answer = agent
            .call(&session, "cut", "counter", cut)
            .await
            .expect(200);
        assert_eq!(answer.code(), "INVALID_ARGS");
        let result = answer.json();
        let message = result["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("line 1 column"),
            "the position is told: {message}"
        );
        assert_eq!(result["body_invoked"], false);
        let path = format!("/v1/sessions/{session}/calls");
        let body = agent
            .post(
                &path,
                r#"{"call_id":"body","name":"counter","arguments":{"n":1"#,
            )
            .await;
        assert_eq!(body.expect(400).code(), "BAD_JSON");
        agent.get(&format!("{path}/body")).await.expect(404);
        assert_eq!(daemon.counted(), 0);
    });
}

const NUMBERS: &str = r#"{"id":9007199254740993,"neg":-9223372036854775808,"u64":18446744073709551615,"big":123456789012345678901234567890,"dec":0.1000000000000000055511151231257827,"zero":-0,"one":1.0,"hundred":1E2}"#;

#[test]
fn c03_numbers_keep_their_text_through_value_content_stream_journal_and_restart() {
    story(async {
        let mut daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let answer = agent
            .call(&session, "numbers", "echo", NUMBERS)
            .await
            .expect(200);
        assert!(
            answer.text.contains(&format!(r#""value":{NUMBERS}"#)),
            "{}",
            answer.text
        );
        for text in [
            "123456789012345678901234567890",
            "0.1000000000000000055511151231257827",
            "1E2",
        ] {
            assert!(
                answer.json()["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains(text),
                "{text}"
            );
        }
        let path = format!("/v1/sessions/{session}/events?after=0");
        let mut stream = agent.stream(&path).await;
        let call = stream.until("tool/call").await;
        assert!(
            call.text.contains(&format!(r#""arguments":{NUMBERS}"#)),
            "{}",
            call.text
        );
        let result = stream.until("tool/result").await;
        assert!(
            result
                .text
                .ends_with(&format!(r#""data":{}}}"#, answer.text)),
            "byte for byte"
        );
        daemon.kill();
        daemon.restart();
        let replayed = daemon
            .agent()
            .call(&session, "numbers", "echo", NUMBERS)
            .await
            .expect(200);
        assert_eq!(replayed.text, answer.text, "the same bytes after a restart");
        assert_eq!(replayed.header("toold-replayed"), Some("true"));
    });
}

#[test]
fn c04_what_is_no_number_is_refused_and_never_passes_a_maximum() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        for (n, number) in ["1e400", "-1e400", "1e-400"].iter().enumerate() {
            let id = format!("n{n}");
            let answer = agent
                .call(&session, &id, "echo", &format!(r#"{{"n":{number}}}"#))
                .await;
            assert_eq!(answer.expect(200).code(), "INVALID_ARGS", "{number}");
        }
        for number in ["NaN", "Infinity", "-Infinity", "+1", "01"] {
            let answer = agent
                .call(&session, "bad", "echo", &format!(r#"{{"n":{number}}}"#))
                .await;
            assert_eq!(answer.expect(400).code(), "BAD_JSON", "{number}");
        }
        for (id, number, fits) in [
            ("one", "1.0", true),
            ("hundred", "1E2", true),
            ("half", "1.5", false),
            ("zero", "-0", true),
        ] {
            let answer = agent
                .call(&session, id, "counter", &format!(r#"{{"n":{number}}}"#))
                .await
                .expect(200);
            assert_eq!(answer.json()["is_error"], !fits, "{number} against integer");
        }
    });
}

#[test]
fn c05_a_member_named_twice_is_refused_in_arguments_and_requests() {
    story(async {
        let daemon = Daemon::start();
        daemon.file("ok", "ok");
        let agent = daemon.agent();
        let session = agent.session().await;
        for (n, twice) in [
            r#"{"path":"ok","path":"/etc/shadow"}"#,
            r#"{"path":"ok","\u0070ath":"x"}"#,
        ]
        .iter()
        .enumerate()
        {
            let answer = agent
                .call(&session, &format!("t{n}"), "read_file", twice)
                .await
                .expect(200);
            assert_eq!(answer.code(), "INVALID_ARGS");
            assert!(
                answer.text.contains("path"),
                "the member is named: {}",
                answer.text
            );
        }
        let path = format!("/v1/sessions/{session}/calls");
        let twice = r#"{"call_id":"a","name":"echo","\u006eame":"counter"}"#;
        agent.post(&path, twice).await.expect(400);
        let metadata = r#"{"metadata":{"a":1,"a":2}}"#;
        agent.post("/v1/sessions", metadata).await.expect(400);
    });
}

#[test]
fn c06_depth_is_bounded_at_128_and_a_flood_of_brackets_is_refused_cleanly() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        let nested = |levels: usize| {
            // The object itself is the first level.
            format!(
                r#"{{"a":{}{}}}"#,
                "[".repeat(levels - 1),
                "]".repeat(levels - 1)
            )
        };
        for (levels, fits) in [(127, true), (128, true), (129, false), (4_000, false)] {
            let id = format!("d{levels}");
            let answer = agent
                .call(&session, &id, "echo", &nested(levels))
                .await
                .expect(200);
            // The test's own reader stops before 128 levels, so the text is looked at.
            let refused = answer.text.contains(r#""code":"INVALID_ARGS""#);
            let error = answer.text.contains(r#""is_error":true"#);
            assert_eq!((refused, error), (!fits, !fits), "{levels} levels");
        }
        let flood = "[".repeat(100_000);
        agent
            .post(&format!("/v1/sessions/{session}/calls"), &flood)
            .await
            .expect(400);
        let inside = format!(r#"{{"call_id":"f","name":"echo","arguments":{flood}}}"#);
        agent
            .post(&format!("/v1/sessions/{session}/calls"), &inside)
            .await
            .expect(400);
        agent
            .call(&session, "after", "echo", "{}")
            .await
            .expect(200);
    });
}

#[test]
fn pages_of_sessions_are_bounded_in_bytes_and_lose_nothing() {
    const SESSIONS: usize = 90;
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let note = "x".repeat(60_000);
        for n in 0..SESSIONS {
            let body = format!(r#"{{"session_id":"s{n}","metadata":{{"note":"{note}"}}}}"#);
            agent.post("/v1/sessions", &body).await.expect(201);
        }
        let (pages, seen) = agent.walk("/v1/sessions?limit=500", "session_id").await;
        assert!(pages.iter().all(|page| page.len() < 4_400_000));
        let newest_first: Vec<_> = (0..SESSIONS).rev().map(|n| format!("s{n}")).collect();
        assert_eq!(seen, newest_first);
        assert_eq!(pages.len(), 2);
    });
}

#[test]
fn a_transfer_coding_that_nobody_undoes_is_refused_before_anything_is_read() {
    story(async {
        let daemon = Daemon::start();
        let agent = daemon.agent();
        let session = agent.session().await;
        for (coding, want) in [
            ("gzip, chunked", "501"),
            ("identity, chunked", "501"),
            ("Chunked", "200"),
        ] {
            let body = r#"{"name":"counter","arguments":{}}"#;
            let mut stream = TcpStream::connect(daemon.address()).expect("the daemon listens");
            let request = format!(
                "POST /v1/sessions/{session}/calls HTTP/1.1\r\nhost: {}\r\n{}\r\nconnection: close\r\n\
                 content-type: application/json\r\ntransfer-encoding: {coding}\r\n\r\n\
                 {:x}\r\n{body}\r\n0\r\n\r\n",
                daemon.address(),
                daemon.bearer("agent"),
                body.len(),
            );
            stream.write_all(request.as_bytes()).expect("a request");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {want}")),
                "{coding}: {answer}"
            );
        }
        assert_eq!(daemon.counted(), 1);
    });
}
