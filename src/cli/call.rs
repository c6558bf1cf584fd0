//! `toold call`: one call from typed arguments to the shown result.
//!
//! Imports `client`, `wire`, `sse`, `event_line`, `screen`. Judges no argument: what was typed
//! goes to the daemon as it was typed.

use std::{io::Read, process::ExitCode, time::Duration};

use bytes::Bytes;
use indexmap::IndexMap;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};

use super::{
    arguments::CallOptions,
    client::Client,
    error::Error,
    event_line,
    screen::{Colour, Screen, Style},
    sse,
    wire::Fields,
};
use crate::domain::{
    ErrorCode, Json,
    json::{ObjectWriter, escape_into, members},
};

/// How long one request waits for the result, in seconds: shorter than the patience of a proxy.
const WAIT: &str = "50";
/// Pause between two questions, should a daemon not wait.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest standard input that is read as arguments, in bytes.
const MAX_INPUT: u64 = 64 << 20;

/// Said to whoever does not wait for the result.
pub(super) const LEFT: &str = "toold: not waited for; a call that the daemon has accepted goes on \
    there, and its result is kept (`toold events` follows it)";

/// Calls a tool and shows its result. Dropping the future leaves the call to the daemon, which
/// goes on with it.
///
/// # Errors
/// When the call could not be made or its end not be seen; a call that fails is status 1.
pub(super) async fn run(
    options: &CallOptions,
    body: Vec<u8>,
    client: &Client,
    screen: &mut Screen,
) -> Result<ExitCode, Error> {
    let request = request(options, client, body);
    let result = if options.stream {
        let response = client.stream(request).await?;
        streamed(options, response, client, screen).await?
    } else {
        waited(client.send(request).await?, client).await?
    };
    let (shown, code) = shown(&result, options, screen)?;
    match shown {
        Err(error) if !error.is_broken_pipe() => Err(error),
        Err(_) | Ok(()) => Ok(code),
    }
}

fn request(options: &CallOptions, client: &Client, body: Vec<u8>) -> RequestBuilder {
    let path = match &options.session {
        Some(session) => vec!["sessions", session.as_str(), "calls"],
        None => vec!["calls"],
    };
    let request = client.request(Method::POST, &path, &[]);
    let request = request
        .header(header::CONTENT_TYPE, "application/json")
        .body(body);
    if options.stream {
        request
    } else {
        request.header("Prefer", format!("wait={WAIT}"))
    }
}

/// The request's body. Blocks while `input` is read, if it is.
///
/// # Errors
/// When what was typed or read is no object of arguments.
pub(super) fn body(options: &CallOptions, input: impl Read) -> Result<Vec<u8>, Error> {
    let arguments = arguments(options, input)?;
    let mut body = Vec::with_capacity(arguments.len() + 128);
    let mut object = ObjectWriter::new(&mut body);
    object
        .string_opt("agent", options.agent.as_ref().map(AsRef::as_ref))
        .string_opt("call_id", options.call_id.as_ref().map(AsRef::as_ref))
        .string("name", &options.name)
        .raw("arguments", &arguments);
    object.end();
    Ok(body)
}

/// The arguments as JSON text, number by number as they were typed.
fn arguments(options: &CallOptions, input: impl Read) -> Result<Vec<u8>, Error> {
    if let Some(text) = &options.json_args {
        return object_text(text.as_bytes(), "--json-args");
    }
    if options.arguments.iter().any(|argument| argument == "-") {
        if options.arguments.len() > 1 {
            return Err(Error::Usage(
                "- stands for all arguments: give nothing else".to_owned(),
            ));
        }
        let mut text = Vec::new();
        input
            .take(MAX_INPUT + 1)
            .read_to_end(&mut text)
            .map_err(|error| Error::Usage(format!("standard input cannot be read: {error}")))?;
        if text.len() as u64 > MAX_INPUT {
            return Err(Error::Usage(
                "standard input is longer than 64 MiB".to_owned(),
            ));
        }
        return object_text(&text, "standard input");
    }
    pairs(&options.arguments)
}

fn object_text(text: &[u8], source: &str) -> Result<Vec<u8>, Error> {
    match members(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(Error::Usage(format!(
            "{source}: expected a JSON object: {error}"
        ))),
    }
}

fn pairs(typed: &[String]) -> Result<Vec<u8>, Error> {
    let mut values: IndexMap<&str, Vec<u8>> = IndexMap::with_capacity(typed.len());
    for argument in typed {
        let (key, value) = pair(argument)?;
        if values.insert(key, value).is_some() {
            return Err(Error::Usage(format!("the argument {key:?} is given twice")));
        }
    }
    let mut text = Vec::new();
    let mut object = ObjectWriter::new(&mut text);
    for (key, value) in &values {
        object.raw(key, value);
    }
    object.end();
    Ok(text)
}

/// One argument as its key and the JSON text of its value.
fn pair(argument: &str) -> Result<(&str, Vec<u8>), Error> {
    let refused = |why: &str| {
        Error::Usage(format!(
            "{argument:?}: {why}; write key=text, key:=JSON, or - alone"
        ))
    };
    let (key, text) = argument.split_once('=').unwrap_or_default();
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => (key, json_value(text)),
        None => (key, Some(json_string(text))),
    };
    if key.is_empty() {
        return Err(refused("an argument has a key"));
    }
    let value = value.ok_or_else(|| refused("behind := stands a JSON value"))?;
    Ok((key, value))
}

/// The text when it is one JSON value, as it was typed.
fn json_value(text: &str) -> Option<Vec<u8>> {
    let wrapped = format!("{{\"value\":{text}}}");
    let one = members(wrapped.as_bytes()).is_ok_and(|found| found.len() == 1);
    one.then(|| text.trim().as_bytes().to_owned())
}

fn json_string(text: &str) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    escape_into(&mut quoted, text);
    quoted
}

/// Under which names a call's result is found.
#[derive(Debug)]
struct CallName {
    session: String,
    call: String,
}

impl CallName {
    fn of(fields: &Fields<'_>) -> Result<Self, Error> {
        let member = |name: &str| {
            let missing = || Error::Answer(format!("the daemon's answer has no {name}"));
            fields.text(name).ok_or_else(missing)
        };
        Ok(Self {
            session: member("session_id")?,
            call: member("call_id")?,
        })
    }
}

/// The result in an answer, or behind it.
async fn waited(response: Response, client: &Client) -> Result<Bytes, Error> {
    let goes_on = response.status() == StatusCode::ACCEPTED;
    let body = client.body(response).await?;
    if goes_on {
        awaited(&CallName::of(&Fields::of(&body)?)?, client).await
    } else {
        Ok(body)
    }
}

/// Asks for a call's record until it holds the result.
async fn awaited(name: &CallName, client: &Client) -> Result<Bytes, Error> {
    let path = ["sessions", &name.session, "calls", &name.call];
    loop {
        let request = client.request(Method::GET, &path, &[("wait", WAIT)]);
        let record = client.body(client.send(request).await?).await?;
        if let Some(result) = Fields::of(&record)?.raw("result") {
            return Ok(record.slice_ref(result));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Shows a call's events until its result, which is the last of them.
async fn streamed(
    options: &CallOptions,
    mut response: Response,
    client: &Client,
    screen: &mut Screen,
) -> Result<Bytes, Error> {
    let mut parser = sse::Parser::default();
    let (mut name, mut is_heard) = (None, true);
    while let Ok(Some(bytes)) = client.chunk(&mut response).await {
        let messages = parser
            .feed(&bytes)
            .map_err(|error| Error::Answer(error.to_string()))?;
        for message in messages {
            if options.json {
                // Whoever has left still wants the call's end as the exit status.
                match is_heard.then(|| screen.line(&message.data)) {
                    Some(Err(error)) if error.is_broken_pipe() => is_heard = false,
                    printed => printed.unwrap_or(Ok(()))?,
                }
            } else if let Some(line) = event_line::of(&message, screen.note_style()) {
                screen.note(&line);
            }
            let envelope = Fields::of(message.data.as_bytes())?;
            if name.is_none() {
                name = CallName::of(&envelope).ok();
            }
            let nested = envelope.raw("parent_execution_id").is_some();
            if let ("tool/result", false, Some(result)) =
                (message.kind.as_str(), nested, envelope.raw("data"))
            {
                return Ok(Bytes::copy_from_slice(result));
            }
        }
    }
    let name = name.ok_or_else(|| {
        Error::Unreachable("the daemon ended the stream before it named the call".to_owned())
    })?;
    screen.note(&format!(
        "toold: the stream broke off; waiting for call {}",
        name.call
    ));
    awaited(&name, client).await
}

/// Shows a result; the exit status is known even when nobody takes the output.
fn shown(
    result: &[u8],
    options: &CallOptions,
    screen: &mut Screen,
) -> Result<(Result<(), Error>, ExitCode), Error> {
    let fields = Fields::of(result)?;
    let failed = fields.is_true("is_error");
    let code = if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    };
    let printed = match (options.json, options.stream) {
        // The events were printed, and the result is the last of them.
        (true, true) => Ok(()),
        (true, false) => screen.print(&[result, b"\n"].concat()),
        (false, _) => screen.print(content(&fields, screen.style()).as_bytes()),
    };
    if failed && !options.json {
        let told = failure(&fields, screen.note_style());
        screen.note(&told);
    }
    Ok((printed, code))
}

/// The content blocks as text, each ended by an end of line. The one block that only repeats the
/// error's message is left out.
fn content(result: &Fields<'_>, style: Style) -> String {
    let message = result
        .object("error")
        .and_then(|error| error.text("message"));
    let repeated = message.map(|message| format!("Error: {message}"));
    let Some(content) = result.json("content") else {
        return result.shown("content").unwrap_or_default();
    };
    let blocks: Vec<_> = content
        .as_array()
        .unwrap_or_default()
        .iter()
        .map(block)
        .collect();
    if let ([only], Some(repeated)) = (blocks.as_slice(), &repeated)
        && only == repeated
    {
        return String::new();
    }
    let mut text = String::new();
    for block in &blocks {
        text.push_str(&style.lines(block));
        if !block.is_empty() && !block.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// One content block as text.
fn block(block: &Json) -> String {
    let member = |name: &str| block.get(name).and_then(Json::as_str).unwrap_or_default();
    let kind = member("type");
    match kind {
        "text" => member("text").to_owned(),
        "image" | "audio" => {
            let bytes = member("data").trim_end_matches('=').len() * 3 / 4;
            format!("[{kind}: {}, {bytes} bytes]", member("mimeType"))
        }
        "resource_link" => format!("[{}: {}]", member("name"), member("uri")),
        "json" => block.get("json").map(Json::to_pretty).unwrap_or_default(),
        _ => block.to_pretty(),
    }
}

fn failure(result: &Fields<'_>, style: Style) -> String {
    let error = result.object("error");
    let member = |name: &str| error.as_ref().and_then(|error| error.text(name));
    let code = member("code").unwrap_or_else(|| "FAILED".to_owned());
    let message = member("message").unwrap_or_default();
    let told = format!(
        "{}: {}",
        style.paint(Colour::Red, &code),
        style.lines(&message)
    );
    if code == ErrorCode::UnknownTool.as_str() {
        format!("{told}\n`toold tools` lists what there is")
    } else {
        told
    }
}

#[cfg(test)]
mod tests;
