//! One event on one line: time, session, type, and what matters of it.
//!
//! Imports `sse`, `wire`, `screen`. Pure; shows nothing that could leave its line.

use super::{
    screen::{Colour, Style, one_line, shortened},
    sse::Message,
    wire::Fields,
};

/// Most characters of arguments, messages and output on a line.
const SHOWN: usize = 120;

/// The line of a message; none when it is no envelope.
pub(super) fn of(message: &Message, style: Style) -> Option<String> {
    let envelope = Fields::of(message.data.as_bytes()).ok()?;
    let time = envelope.text("time").unwrap_or_default();
    let session = envelope
        .text("session_id")
        .map_or_else(|| "-".to_owned(), |id| short(&id));
    let data = envelope.object("data");
    let (colour, essentials) = match &data {
        Some(data) => (colour(&message.kind, data), essentials(&message.kind, data)),
        None => (Colour::Dim, envelope.shown("data").unwrap_or_default()),
    };
    let nested = if envelope.raw("parent_execution_id").is_some() {
        "↳ "
    } else {
        ""
    };
    let line = format!(
        "{} {} {} {nested}{}",
        style.paint(Colour::Dim, &clock_time(&time)),
        style.paint(Colour::Cyan, &format!("{session:>8}")),
        style.paint(colour, &format!("{:<14}", one_line(&message.kind))),
        one_line(&essentials),
    );
    Some(line.trim_end().to_owned())
}

/// `20:15:03.123` of an RFC 3339 time.
fn clock_time(time: &str) -> String {
    time.get(11..23).map_or_else(|| one_line(time), one_line)
}

/// The part of a session's id that tells it from others: the end of an id that the daemon made,
/// whose beginning is its time, and the beginning of any other.
fn short(id: &str) -> String {
    match uuid::Uuid::try_parse(id) {
        Ok(_) => id
            .chars()
            .skip(id.chars().count().saturating_sub(8))
            .collect(),
        Err(_) => one_line(&shortened(id, 12)),
    }
}

fn colour(kind: &str, data: &Fields<'_>) -> Colour {
    match kind {
        "tool/result" if data.is_true("is_error") => Colour::Red,
        "tool/result" => Colour::Green,
        "tool/decision" | "stream/gap" | "stream/lagged" | "stream/end" => Colour::Yellow,
        "tool/state" | "tool/progress" | "tool/output" | "stream/hello" => Colour::Dim,
        _ => Colour::Cyan,
    }
}

fn essentials(kind: &str, data: &Fields<'_>) -> String {
    match kind {
        "tool/call" => {
            let arguments = data
                .shown("arguments")
                .or_else(|| data.shown("raw_arguments"));
            joined(data, &["name"], arguments.as_deref())
        }
        "tool/result" => result(data),
        "tool/started" => joined(data, &["class"], attempt(data).as_deref()),
        "tool/decision" => joined(
            data,
            &["stage", "layer", "rule", "decision", "reason"],
            None,
        ),
        "tool/state" => joined(data, &["state"], None),
        "tool/progress" => joined(data, &["message"], amount(data).as_deref()),
        "tool/output" => joined(data, &["stream", "text"], None),
        "fs/observed" | "fs/write-intent" | "fs/edit-intent" => joined(data, &["path"], None),
        "stream/hello" => data
            .shown("head")
            .map_or_else(String::new, |head| format!("at {head}")),
        "stream/gap" => {
            let bound = |name: &str| data.shown(name).unwrap_or_default();
            format!(
                "the log has no events {} to {} any more, or not yet",
                bound("from"),
                bound("to")
            )
        }
        "stream/lagged" => "read too slowly; going on from the log".to_owned(),
        "stream/end" => joined(data, &["reason"], None),
        _ => shortened(&data.all(), SHOWN),
    }
}

fn result(data: &Fields<'_>) -> String {
    let end = match data.object("error") {
        Some(error) => joined(&error, &["code", "message"], None),
        None => "ok".to_owned(),
    };
    let total = data
        .object("timing")
        .and_then(|timing| timing.shown("total_ms"));
    let total = total.map_or_else(String::new, |ms| format!(" ({ms} ms)"));
    joined(data, &["name"], Some(&format!("{end}{total}")))
}

fn attempt(data: &Fields<'_>) -> Option<String> {
    data.shown("attempt")
        .filter(|attempt| attempt != "1")
        .map(|n| format!("attempt {n}"))
}

fn amount(data: &Fields<'_>) -> Option<String> {
    let progress = data.shown("progress")?;
    Some(
        data.shown("total")
            .map_or_else(|| progress.clone(), |total| format!("{progress}/{total}")),
    )
}

/// The members that are there, and something behind them.
fn joined(data: &Fields<'_>, names: &[&str], last: Option<&str>) -> String {
    let members = names.iter().filter_map(|name| data.shown(name));
    let parts = members
        .chain(last.map(str::to_owned))
        .map(|part| shortened(&part, SHOWN));
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, members: &str, data: &str, expected: &str) {
        let data = format!(
            r#"{{"id":"7","time":"2026-11-30T20:15:03.123456Z","type":"{kind}"{members},"data":{data}}}"#
        );
        let message = Message {
            kind: kind.to_owned(),
            data,
        };
        assert_eq!(of(&message, Style::Raw).as_deref(), Some(expected));
    }

    const SESSION: &str = r#","session_id":"0197f3a0-7c1e-7000-8000-0123456789ab""#;

    #[test]
    fn a_call_is_followed_from_line_to_line() {
        check(
            "tool/call",
            SESSION,
            r#"{"name":"read_file","arguments":{"path":"a"},"digest":"sha256:0"}"#,
            r#"20:15:03.123 456789ab tool/call      read_file {"path":"a"}"#,
        );
        check(
            "tool/call",
            r#","session_id":"mine","parent_execution_id":"x""#,
            r#"{"name":"t","raw_arguments":"{\"a\":"}"#,
            r#"20:15:03.123     mine tool/call      ↳ t {"a":"#,
        );
        check(
            "tool/started",
            SESSION,
            r#"{"attempt":1,"class":"parallel"}"#,
            "20:15:03.123 456789ab tool/started   parallel",
        );
        check(
            "tool/result",
            SESSION,
            r#"{"name":"read_file","is_error":false,"value":1,"timing":{"total_ms":1.9}}"#,
            "20:15:03.123 456789ab tool/result    read_file ok (1.9 ms)",
        );
        check(
            "tool/result",
            SESSION,
            r#"{"name":"x","is_error":true,"error":{"code":"UNKNOWN_TOOL","message":"no such tool"}}"#,
            "20:15:03.123 456789ab tool/result    x UNKNOWN_TOOL no such tool",
        );
    }

    #[test]
    fn other_events_show_what_matters_of_them() {
        check(
            "tool/progress",
            SESSION,
            r#"{"message":"half","progress":5,"total":10}"#,
            "20:15:03.123 456789ab tool/progress  half 5/10",
        );
        check(
            "tool/decision",
            SESSION,
            r#"{"stage":"guard","layer":"workspace","decision":"deny","reason":"outside"}"#,
            "20:15:03.123 456789ab tool/decision  guard workspace deny outside",
        );
        check(
            "stream/gap",
            "",
            r#"{"from":"5","to":"400"}"#,
            "20:15:03.123        - stream/gap     the log has no events 5 to 400 any more, or not yet",
        );
        check(
            "stream/hello",
            "",
            r#"{"head":"9"}"#,
            "20:15:03.123        - stream/hello   at 9",
        );
        check(
            "new/type",
            "",
            r#"{"a":[1]}"#,
            r#"20:15:03.123        - new/type       {"a":[1]}"#,
        );
        check(
            "new/type",
            "",
            "3",
            "20:15:03.123        - new/type       3",
        );
    }

    #[test]
    fn output_stays_on_its_line_and_is_cut() {
        check(
            "tool/output",
            r#","session_id":"s""#,
            r#"{"stream":"stdout","text":"a\r\n\u001b[2Jb"}"#,
            r"20:15:03.123        s tool/output    stdout a\r\n\u{1b}[2Jb",
        );
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(500));
        let cut = format!(
            "20:15:03.123        - tool/output    {}…",
            "x".repeat(SHOWN)
        );
        check("tool/output", "", &long, &cut);
    }

    #[test]
    fn what_is_no_envelope_has_no_line() {
        let message = Message {
            kind: "x".to_owned(),
            data: "not json".to_owned(),
        };
        assert_eq!(of(&message, Style::Raw), None);
    }
}
