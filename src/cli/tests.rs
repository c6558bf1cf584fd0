//! Commands against a daemon of few words: it gives one prepared answer to each request.

use std::{
    future::Future,
    io,
    process::ExitCode,
    sync::{Arc, Mutex},
    time::Duration,
};

use clap::Parser;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    arguments::{Action, Arguments},
    call,
    client::Client,
    error::Error,
    events,
    screen::{Screen, Style},
    tools,
};
use crate::{
    config::{Environment, User},
    tasks::Tasks,
};

/// What was written to one end of a screen.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How a command ended.
struct End {
    code: Result<ExitCode, Error>,
    out: String,
    err: String,
    /// What the daemon was asked, each request whole.
    asked: Vec<String>,
}

/// Longer than any of these daemons takes.
const FOR_EVER: Duration = Duration::from_mins(2);

/// Runs a command line against a daemon that gives these answers, in order, and then is gone.
fn run(typed: &[&str], answers: &[String]) -> End {
    run_bearing(FOR_EVER, typed, answers)
}

/// The same with a client that takes this silence for the end. An answer that ends with
/// [`HELD`] goes on without a word.
fn run_bearing(silence: Duration, typed: &[&str], answers: &[String]) -> End {
    within_a_minute(async {
        let tasks = Tasks::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = answers.to_vec();
        let daemon = tasks.spawn(async move {
            let (mut asked, mut held) = (Vec::new(), Vec::new());
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (text, goes_on) = match answer.strip_suffix(HELD) {
                    Some(text) => (text, true),
                    None => (answer.as_str(), false),
                };
                asked.push(serve(&mut stream, text).await);
                if goes_on {
                    held.push(stream);
                }
            }
            asked
        });
        let typed = ["toold"].into_iter().chain(typed.iter().copied());
        let typed = typed.chain(["--url", &url]);
        let arguments = Arguments::try_parse_from(typed).unwrap();
        let environment = Environment::new([("TOOLD_TOKEN", "hush")], "/", User::Other);
        let client = |options| Client::bearing(silence, options, &environment).unwrap();
        let (out, err) = (Written::default(), Written::default());
        let mut screen = Screen::new(out.clone(), err.clone(), [Style::Raw; 2]);
        let code = match &arguments.action {
            Action::Call(options) => {
                let body = call::body(options, io::empty()).unwrap();
                call::run(options, body, &client(&options.daemon), &mut screen).await
            }
            Action::Tools(options) => {
                tools::run(options, &client(&options.daemon), &mut screen).await
            }
            Action::Events(options) => {
                events::run(options, &client(&options.daemon), &mut screen).await
            }
            Action::Serve(_) | Action::Check(_) | Action::Token(_) | Action::Completions { .. } => {
                panic!("asks no daemon")
            }
        };
        End {
            code,
            out: out.text(),
            err: err.text(),
            asked: daemon.await.unwrap(),
        }
    })
}

fn within_a_minute<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let bounded = async { tokio::time::timeout(Duration::from_mins(1), work).await };
    runtime
        .block_on(bounded)
        .expect("the test did not come to its end")
}

/// Marks an answer that never ends.
const HELD: &str = "\0";

/// Reads one request, head and body, and gives the answer.
async fn serve(stream: &mut TcpStream, answer: &str) -> String {
    let mut request = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).await.unwrap();
        request.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            body.len() >= length.map_or(0, |length| length.parse().unwrap())
        });
        if whole || read == 0 {
            stream.write_all(answer.as_bytes()).await.unwrap();
            return text;
        }
    }
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn json(body: &str) -> String {
    answer("200 OK", "application/json", body)
}

fn refusal(status: &str, code: &str) -> String {
    let body = format!(r#"{{"code":"{code}","detail":"no"}}"#);
    answer(status, "application/problem+json", &body)
}

/// A stream that ends without a last word.
fn stream(frames: &[&str]) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    frames
        .iter()
        .fold(head.to_owned(), |text, frame| text + frame + "\n\n")
}

const RESULT: &str =
    r#"{"call_id":"c","session_id":"s","is_error":false,"content":[{"type":"text","text":"hi"}]}"#;
const FAILURE: &str = r#"{"is_error":true,"error":{"code":"UNKNOWN_TOOL","message":"no tool"},"content":[{"type":"text","text":"Error: no tool"}]}"#;
const CALLED: &str = r#"id: 1
event: tool/call
data: {"id":"1","time":"2026-11-30T20:15:03.123456Z","type":"tool/call","session_id":"s","call_id":"c","data":{"name":"t","arguments":{}}}"#;

#[test]
fn a_call_sends_its_token_and_prints_its_content() {
    let end = run(&["call", "t", "a=1"], &[json(RESULT)]);
    assert_eq!(
        (end.code.unwrap(), &*end.out, &*end.err),
        (ExitCode::SUCCESS, "hi\n", "")
    );
    let [asked] = &end.asked[..] else {
        panic!("{:?}", end.asked)
    };
    assert!(asked.starts_with("POST /v1/calls HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("authorization: Bearer hush\r\n"), "{asked}");
    assert!(
        asked.contains("content-type: application/json\r\n"),
        "{asked}"
    );
    assert!(
        asked.ends_with(r#"{"name":"t","arguments":{"a":"1"}}"#),
        "{asked}"
    );
}

#[test]
fn with_json_the_result_is_printed_as_it_was_sent() {
    let end = run(
        &["call", "t", "--json", "--session", "a/b"],
        &[json(FAILURE)],
    );
    assert_eq!(end.code.unwrap(), ExitCode::FAILURE);
    assert_eq!((end.out, &*end.err), (format!("{FAILURE}\n"), ""));
    assert!(end.asked[0].starts_with("POST /v1/sessions/a%2Fb/calls HTTP/1.1\r\n"));
}

#[test]
fn a_call_that_fails_is_told_on_standard_error() {
    let end = run(&["call", "t"], &[json(FAILURE)]);
    assert_eq!(end.code.unwrap(), ExitCode::FAILURE);
    let said = "UNKNOWN_TOOL: no tool\n`toold tools` lists what there is\n";
    assert_eq!((&*end.out, &*end.err), ("", said));
}

#[test]
fn a_call_that_takes_long_is_waited_for_by_its_record() {
    let record = |rest: &str| format!(r#"{{"call_id":"c","session_id":"s"{rest}}}"#);
    let answers = [
        answer(
            "202 Accepted",
            "application/json",
            &record(r#","state":"running""#),
        ),
        json(&record(r#","state":"running""#)),
        json(&record(&format!(r#","state":"settled","result":{RESULT}"#))),
    ];
    let end = run(&["call", "t", "--json"], &answers);
    assert_eq!(end.code.unwrap(), ExitCode::SUCCESS);
    assert_eq!(end.out, format!("{RESULT}\n"));
    assert!(end.asked[2].starts_with("GET /v1/sessions/s/calls/c?wait=50 HTTP/1.1\r\n"));
}

#[test]
fn a_streamed_call_ends_with_its_own_result() {
    let nested = r#"event: tool/result
data: {"session_id":"s","call_id":"c:call:1","parent_execution_id":"e","data":{"is_error":true}}"#;
    let own = format!("event: tool/result\ndata: {{\"session_id\":\"s\",\"data\":{RESULT}}}");
    let end = run(
        &["call", "t", "--stream"],
        &[stream(&[CALLED, nested, &own])],
    );
    assert_eq!((end.code.unwrap(), &*end.out), (ExitCode::SUCCESS, "hi\n"));
    assert_eq!(end.err.lines().count(), 3, "{}", end.err);
    assert!(
        end.err
            .starts_with("20:15:03.123        s tool/call      t {}\n"),
        "{}",
        end.err
    );
    assert!(end.asked[0].contains("accept: text/event-stream\r\n"));
}

#[test]
fn a_stream_that_breaks_off_leaves_the_call_to_its_record() {
    let record = format!(r#"{{"session_id":"s","call_id":"c","result":{RESULT}}}"#);
    let end = run(
        &["call", "t", "--stream"],
        &[stream(&[CALLED]), json(&record)],
    );
    assert_eq!((end.code.unwrap(), &*end.out), (ExitCode::SUCCESS, "hi\n"));
    assert!(
        end.err
            .ends_with("toold: the stream broke off; waiting for call c\n"),
        "{}",
        end.err
    );
}

#[test]
fn a_stream_that_falls_silent_is_taken_for_broken() {
    let record = format!(r#"{{"session_id":"s","call_id":"c","result":{RESULT}}}"#);
    let silent = stream(&[CALLED]) + HELD;
    let answers = [silent, json(&record)];
    let end = run_bearing(
        Duration::from_millis(300),
        &["call", "t", "--stream"],
        &answers,
    );
    assert_eq!((end.code.unwrap(), &*end.out), (ExitCode::SUCCESS, "hi\n"));
    assert!(
        end.err
            .ends_with("the stream broke off; waiting for call c\n"),
        "{}",
        end.err
    );

    let hello = "id: 5\nevent: stream/hello\ndata: {}";
    let answers = [
        stream(&[hello]) + HELD,
        stream(&["event: stream/end\ndata: {}"]),
    ];
    let end = run_bearing(Duration::from_millis(300), &["events", "--json"], &answers);
    assert_eq!(end.code.unwrap(), ExitCode::SUCCESS);
    assert!(
        end.err
            .contains("fell silent in the middle of an answer; reconnecting"),
        "{}",
        end.err
    );
}

#[test]
fn what_sends_no_events_is_no_daemon() {
    let page = answer("200 OK", "text/html", "<html>");
    let no_daemon = |end: End| {
        let error = end.code.unwrap_err();
        assert_eq!(error.exit_code(), ExitCode::from(3));
        assert!(
            error
                .to_string()
                .contains("is no toold daemon (it sends \"text/html\""),
            "{error}"
        );
    };
    no_daemon(run(&["events"], std::slice::from_ref(&page)));
    no_daemon(run(&["call", "t", "--stream"], std::slice::from_ref(&page)));
    no_daemon(run(
        &["events"],
        &[stream(&["id: 5\nevent: x\ndata: {}"]), page],
    ));
}

#[test]
fn refusals_say_what_the_daemon_said() {
    let said = |answer: String| run(&["call", "t"], &[answer]).code.unwrap_err().to_string();
    assert_eq!(said(refusal("404 Not Found", "NOT_FOUND")), "NOT_FOUND: no");
    let unknown = said(refusal("401 Unauthorized", "UNAUTHENTICATED"));
    assert_eq!(
        unknown,
        "UNAUTHENTICATED: no\nthe token was that of TOOLD_TOKEN"
    );
    let busy = refusal("503 Service Unavailable", "OVERLOADED")
        .replace("connection:", "retry-after: 1\r\nconnection:");
    assert_eq!(said(busy), "OVERLOADED: no (try again in 1 s)");
    let other = said(answer("404 Not Found", "text/html", "<html>"));
    assert!(
        other.contains("is no toold daemon (it says 404 Not Found)"),
        "{other}"
    );
}

#[test]
fn where_no_daemon_is_the_way_to_one_is_told() {
    let error = run(&["tools"], &[]).code.unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::from(3));
    let said = error.to_string();
    assert!(
        said.starts_with("no daemon answers at http://127.0.0.1:"),
        "{said}"
    );
    assert!(
        said.ends_with("start one with `toold serve`, or name it with --url"),
        "{said}"
    );
}

#[test]
fn tools_are_those_of_the_agent() {
    let catalogue = r#"{"items":[{"name":"t","description":"Does."}]}"#;
    let end = run(&["tools", "--agent", "coder"], &[json(catalogue)]);
    assert_eq!(end.out, "t  Does.\n");
    assert!(end.asked[0].starts_with("GET /v1/tools?agent=coder HTTP/1.1\r\n"));
    let end = run(&["tools", "t", "--json"], &[json("{}")]);
    assert_eq!(end.out, "{}\n");
    assert!(end.asked[0].starts_with("GET /v1/tools/t HTTP/1.1\r\n"));
}

#[test]
fn events_are_followed_across_breaks_until_the_daemon_ends_them() {
    let answers = [
        stream(&[
            "id: 5\nevent: stream/hello\ndata: {\"type\":\"stream/hello\",\"data\":{\"head\":\"5\"}}",
            "id: 6\nevent: session/end\ndata: {\"n\":6}",
            "event: tool/output\ndata: {\"live\":1}",
            "id: 7\nevent: cut",
        ])
        .trim_end()
        .to_owned(),
        refusal("503 Service Unavailable", "STORE_UNAVAILABLE"),
        stream(&["id: 7\nevent: session/end\ndata: {\"n\":7}", "event: stream/lagged\ndata: {}"]),
        stream(&["event: stream/end\ndata: {}"]),
    ];
    let typed = [
        "events",
        "--json",
        "--after",
        "4",
        "--session",
        "s",
        "--types",
        "a,b",
    ];
    let end = run(&typed, &answers);
    assert_eq!(end.code.unwrap(), ExitCode::SUCCESS);
    let expected = "{\"type\":\"stream/hello\",\"data\":{\"head\":\"5\"}}\n{\"n\":6}\n{\"live\":1}\n{\"n\":7}\n{}\n{}\n";
    assert_eq!(end.out, expected);
    assert_eq!(
        end.err,
        "toold: the stream broke off; reconnecting from event 6\ntoold: reconnected\n\
         toold: events were read too slowly; reconnecting from event 7\ntoold: reconnected\n"
    );
    let first = "GET /v1/events?session=s&types=a%2Cb&after=4 HTTP/1.1\r\n";
    assert!(end.asked[0].starts_with(first), "{}", end.asked[0]);
    for later in &end.asked[1..] {
        assert!(
            later.starts_with("GET /v1/events?session=s&types=a%2Cb HTTP/1.1\r\n"),
            "{later}"
        );
        assert!(later.contains("last-event-id: "), "{later}");
    }
}

#[test]
fn following_ends_when_the_daemon_refuses_to_go_on() {
    let answers = [
        stream(&["id: 5\nevent: x\ndata: {}"]),
        refusal("403 Forbidden", "FORBIDDEN"),
    ];
    let end = run(&["events"], &answers);
    assert_eq!(end.code.unwrap_err().to_string(), "FORBIDDEN: no");
    assert!(end.asked[1].contains("last-event-id: 5\r\n"));
}

#[test]
fn the_token_is_in_no_word_that_is_printed() {
    for end in [
        run(
            &["call", "t"],
            &[refusal("401 Unauthorized", "UNAUTHENTICATED")],
        ),
        run(&["events"], &[stream(&["event: stream/end\ndata: {}"])]),
    ] {
        let said = end
            .code
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(!format!("{said}{}{}", end.out, end.err).contains("hush"));
    }
}
