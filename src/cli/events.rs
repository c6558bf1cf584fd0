//! `toold events`: the stream, followed over every break of the connection.
//!
//! Imports `client`, `sse`, `event_line`, `screen`. Prints what the daemon sent, in its order.

use std::{process::ExitCode, time::Duration};

use reqwest::{Method, RequestBuilder, Response};
use tokio::time::sleep;

use super::{
    arguments::EventsOptions, client::Client, error::Error, event_line, screen::Screen, sse,
};

/// Pauses before attempts to reconnect, but for the first, which comes at once: the second's, and
/// the longest of the doubling ones.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];

/// The pause before the next attempt; grows while attempts bring nothing.
#[derive(Debug)]
struct Pause(Duration);

impl Pause {
    fn first() -> Self {
        Self(Duration::ZERO)
    }

    fn take(&mut self) -> Duration {
        let [least, longest] = PAUSES;
        let longer = longest.min(least.max(self.0 * 2));
        std::mem::replace(&mut self.0, longer)
    }
}

/// Follows the events until the daemon ends the stream. Dropping the future ends it at once.
///
/// # Errors
/// When the first connection fails, or the daemon refuses a later one for good.
pub(super) async fn run(
    options: &EventsOptions,
    client: &Client,
    screen: &mut Screen,
) -> Result<ExitCode, Error> {
    let mut parser = sse::Parser::default();
    let mut pause = Pause::first();
    let first = client
        .stream(request(options, client, Start::of(options)))
        .await?;
    let mut end = read(first, options, &mut parser, client, screen).await?;
    while let End::Broken(why) = end {
        let cursor = parser.last_id().map(str::to_owned);
        let from = cursor.as_deref().map_or_else(
            || "now, because no event has come yet".to_owned(),
            |cursor| format!("event {cursor}"),
        );
        screen.note(&format!("toold: {why}; reconnecting from {from}"));
        let start = cursor
            .as_deref()
            .map_or_else(|| Start::of(options), Start::Behind);
        let response = reconnected(options, client, start, &mut pause).await?;
        screen.note("toold: reconnected");
        parser.reconnect();
        let before = parser.last_id().map(str::to_owned);
        end = read(response, options, &mut parser, client, screen).await?;
        if parser.last_id() != before.as_deref() {
            pause = Pause::first();
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start<'c> {
    /// With what happens next.
    Now,
    /// Behind a cursor that was asked for.
    After(u64),
    /// Behind the last event that came.
    Behind(&'c str),
}

impl Start<'_> {
    fn of(options: &EventsOptions) -> Self {
        options.after.map_or(Self::Now, Self::After)
    }
}

fn request(options: &EventsOptions, client: &Client, start: Start<'_>) -> RequestBuilder {
    let types = options.types.join(",");
    let after = match start {
        Start::After(cursor) => Some(cursor.to_string()),
        Start::Now | Start::Behind(_) => None,
    };
    let given = [
        ("session", options.session.as_ref().map(AsRef::as_ref)),
        ("agent", options.agent.as_ref().map(AsRef::as_ref)),
        ("types", (!types.is_empty()).then_some(types.as_str())),
        ("after", after.as_deref()),
    ];
    let query: Vec<_> = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let request = client.request(Method::GET, &["events"], &query);
    match start {
        Start::Behind(cursor) => request.header("Last-Event-ID", cursor),
        Start::Now | Start::After(_) => request,
    }
}

/// How a stream came to its end.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The daemon said so.
    Said,
    /// It broke; why.
    Broken(String),
}

async fn read(
    mut response: Response,
    options: &EventsOptions,
    parser: &mut sse::Parser,
    client: &Client,
    screen: &mut Screen,
) -> Result<End, Error> {
    loop {
        let bytes = match client.chunk(&mut response).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(End::Broken("the stream broke off".to_owned())),
            Err(error) => return Ok(End::Broken(error.to_string())),
        };
        let messages = parser
            .feed(&bytes)
            .map_err(|error| Error::Answer(error.to_string()))?;
        for message in messages {
            if options.json {
                screen.line(&message.data)?;
            } else if let Some(line) = event_line::of(&message, screen.style()) {
                screen.line(&line)?;
            }
            match message.kind.as_str() {
                "stream/end" => return Ok(End::Said),
                "stream/lagged" => {
                    return Ok(End::Broken("events were read too slowly".to_owned()));
                }
                _ => {}
            }
        }
    }
}

/// Tries until the daemon is there again, with growing pauses.
async fn reconnected(
    options: &EventsOptions,
    client: &Client,
    start: Start<'_>,
    pause: &mut Pause,
) -> Result<Response, Error> {
    loop {
        sleep(pause.take()).await;
        match client.stream(request(options, client, start)).await {
            Ok(response) => return Ok(response),
            Err(Error::Unreachable(_) | Error::Refused { passing: true, .. }) => {}
            Err(
                error @ (Error::Usage(_)
                | Error::Refused { passing: false, .. }
                | Error::Answer(_)
                | Error::Output(_)
                | Error::Machine(_)),
            ) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_bring_nothing_come_ever_more_slowly() {
        let mut pause = Pause::first();
        let taken = std::array::from_fn(|_| pause.take().as_millis());
        assert_eq!(taken, [0, 250, 500, 1000, 2000, 4000, 5000, 5000]);
    }
}
