//! The way to a daemon: where it is, what token to show it, and what its refusals mean.
//!
//! Imports `config`, `error`, `wire`. Speaks the public HTTP API and nothing else.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header, redirect};
use tokio::time::timeout;

use super::{arguments::DaemonOptions, error::Error, wire::Fields};
use crate::config::{Environment, GeneratedToken, LISTEN, Secret, SecretError};

/// A local daemon accepts at once; a far one that needs longer is as good as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an answer may take to begin: longer than any request here asks the daemon to wait.
const PATIENCE: Duration = Duration::from_secs(80);

/// How long an answer may be silent once it has begun: the heartbeats of a stream come at least
/// once a minute.
const SILENCE: Duration = Duration::from_secs(150);

/// Where a daemon is; shown as it would be typed.
#[derive(Debug, Clone)]
struct Base(Url);

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

/// The media type of a stream of events.
const EVENTS: &str = "text/event-stream";

/// A daemon that can be asked.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    base: Base,
    token: Option<Secret>,
    /// Where the token came from or was looked for, for a refusal.
    token_source: String,
}

impl Client {
    /// Finds daemon and token: options before variables before what `serve` does by default.
    ///
    /// # Errors
    /// When the address is none, or a token that was named cannot be read. That no token was
    /// found anywhere is for the daemon to judge.
    pub(super) fn new(options: &DaemonOptions, environment: &Environment) -> Result<Self, Error> {
        Self::bearing(SILENCE, options, environment)
    }

    /// The same for a client that takes another silence for the end.
    pub(super) fn bearing(
        silence: Duration,
        options: &DaemonOptions,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let base = base_url(options.url.as_deref(), environment)?;
        let (token, token_source) = find_token(options, environment)?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(silence)
            // The daemon redirects nowhere, and its token is meant for nobody else.
            .redirect(redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| Error::Machine(format!("no HTTP client can be had: {error}")))?;
        Ok(Self {
            http,
            base,
            token,
            token_source,
        })
    }

    /// A request to `/v1/…`; each segment is escaped on its own.
    pub(super) fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> RequestBuilder {
        let request = self.http.request(method, address(&self.base, path, query));
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// Sends a request and takes any answer that is a success.
    ///
    /// # Errors
    /// When nobody answers, or the answer is a refusal.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = self
            .begun(request.send(), PATIENCE)
            .await?
            .map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refusal(response).await)
    }

    /// Sends a request for a stream of events and takes nothing else.
    ///
    /// # Errors
    /// As for [`Self::send`], or when the answer is another.
    pub(super) async fn stream(&self, request: RequestBuilder) -> Result<Response, Error> {
        let request = request.header(header::ACCEPT, EVENTS);
        let response = self.send(request).await?;
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) == Some(EVENTS) {
            return Ok(response);
        }
        Err(Error::Answer(format!(
            "what answers at {} is no toold daemon (it sends {kind:?} for a stream of events)",
            self.base
        )))
    }

    /// The whole body of an answer.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(super) async fn body(&self, response: Response) -> Result<Bytes, Error> {
        response.bytes().await.map_err(|error| self.broken(&error))
    }

    /// The next piece of an answer's body; none at its end.
    ///
    /// # Errors
    /// When the connection ends before it.
    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, Error> {
        response.chunk().await.map_err(|error| self.broken(&error))
    }

    /// What begins in time. A daemon that was stopped still has its connections accepted, by the
    /// system, so only silence tells.
    async fn begun<T>(
        &self,
        answer: impl Future<Output = T>,
        within: Duration,
    ) -> Result<T, Error> {
        timeout(within, answer).await.map_err(|_| {
            Error::Unreachable(format!(
                "the daemon at {} takes connections and does not answer ({} s): look at its log, \
                 or start it anew",
                self.base,
                within.as_secs()
            ))
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        if error.is_connect() {
            return Error::Unreachable(format!(
                "no daemon answers at {} ({}): start one with `toold serve`, or name it with --url",
                self.base,
                innermost(error)
            ));
        }
        self.broken(error)
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
        let base = &self.base;
        Error::Unreachable(if error.is_timeout() {
            format!("the daemon at {base} fell silent in the middle of an answer")
        } else {
            let why = innermost(error);
            format!("the daemon at {base} broke the answer off: {why}")
        })
    }

    async fn refusal(&self, response: Response) -> Error {
        let status = response.status();
        let retry_after = response
            .headers()
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let body = response.bytes().await.unwrap_or_default();
        let mut message = problem_text(status, &body, &self.base);
        if status == StatusCode::UNAUTHORIZED {
            message = format!("{message}\n{}", self.token_source);
        }
        if let Some(seconds) = retry_after {
            message = format!("{message} (try again in {seconds} s)");
        }
        Error::Refused {
            message,
            passing: status.is_server_error(),
        }
    }
}

/// What a refusal says: the problem's code, detail and pointer.
fn problem_text(status: StatusCode, body: &[u8], base: &Base) -> String {
    let problem = Fields::of(body).ok();
    let member = |name: &str| problem.as_ref().and_then(|problem| problem.text(name));
    let Some(code) = member("code") else {
        return format!("what answers at {base} is no toold daemon (it says {status})");
    };
    let detail = member("detail")
        .or_else(|| member("title"))
        .unwrap_or_default();
    match member("pointer") {
        Some(pointer) => format!("{code}: {detail} (at {pointer})"),
        None => format!("{code}: {detail}"),
    }
}

fn address(base: &Base, path: &[&str], query: &[(&str, &str)]) -> Url {
    let mut url = base.0.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().push("v1").extend(path);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

fn base_url(option: Option<&str>, environment: &Environment) -> Result<Base, Error> {
    let (text, source) = match (option, environment.get("TOOLD_URL")) {
        (Some(text), _) => (text.to_owned(), "--url"),
        (None, Some(text)) => (text.to_owned(), "TOOLD_URL"),
        (None, None) => (format!("http://{LISTEN}"), "the default"),
    };
    let expected = |why: &str| {
        Error::Usage(format!(
            "{source}: expected an address such as http://{LISTEN}; {why}"
        ))
    };
    let url = Url::parse(&text).map_err(|error| expected(&format!("{text:?}: {error}")))?;
    match url.scheme() {
        "http" => {}
        "https" => {
            return Err(Error::Usage(format!(
                "{source}: https:// is not available in this version of toold; use http://, \
                 through a tunnel where the network is not yours"
            )));
        }
        other => return Err(expected(&format!("{text:?} has the scheme {other:?}"))),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(expected(
            "a token does not belong in it: use TOOLD_TOKEN or --token-file",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(expected(&format!(
            "{text:?} says more than where the daemon is"
        )));
    }
    Ok(Base(url))
}

/// The token, and what to say of it when the daemon refuses it.
fn find_token(
    options: &DaemonOptions,
    environment: &Environment,
) -> Result<(Option<Secret>, String), Error> {
    if let Some(path) = &options.token_file {
        let secret = Secret::read_file(path)
            .map_err(|error| Error::Usage(format!("--token-file: {error}")))?;
        return Ok((
            Some(secret),
            format!("the token was that of {}", path.display()),
        ));
    }
    if let Some(text) = environment.get("TOOLD_TOKEN") {
        let secret = Secret::parse(text)
            .ok_or_else(|| Error::Usage("TOOLD_TOKEN: expected one token".to_owned()))?;
        return Ok((Some(secret), "the token was that of TOOLD_TOKEN".to_owned()));
    }
    let Ok(state) = environment.state_dir() else {
        return Ok((None, NO_TOKEN.to_owned()));
    };
    let path = GeneratedToken::Agent.path(&state);
    let shown = path.display();
    match Secret::read_file(&path) {
        Ok(secret) => Ok((
            Some(secret),
            format!(
                "the token was the generated one in {shown}, which may be another daemon's; {NO_TOKEN}"
            ),
        )),
        Err(SecretError::Unreadable { source, .. }) => {
            let place = "XDG_STATE_HOME says where";
            Ok((
                None,
                format!("no token in {shown} ({source}; {place}); {NO_TOKEN}"),
            ))
        }
        Err(error) => Err(Error::Usage(error.to_string())),
    }
}

const NO_TOKEN: &str = "set TOOLD_TOKEN, or name a file that holds one with --token-file";

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::User;

    fn base(option: Option<&str>, variable: Option<&str>) -> Result<String, String> {
        let variables = variable.map(|url| ("TOOLD_URL", url));
        let environment = Environment::new(variables, "/", User::Other);
        base_url(option, &environment)
            .map(|base| base.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_daemon_is_where_the_option_then_the_variable_then_the_default_says() {
        assert_eq!(
            base(Some("http://a:1"), Some("http://b:2")).unwrap(),
            "http://a:1"
        );
        assert_eq!(
            base(None, Some("http://b:2/under/")).unwrap(),
            "http://b:2/under"
        );
        assert_eq!(base(None, None).unwrap(), "http://127.0.0.1:7878");
    }

    #[tokio::test]
    async fn a_daemon_that_says_nothing_is_not_waited_for_without_end() {
        let options = DaemonOptions {
            url: None,
            token_file: None,
        };
        let environment = Environment::new([("TOOLD_TOKEN", "hush")], "/", User::Other);
        let client = Client::new(&options, &environment).unwrap();
        let silence = std::future::pending::<()>();
        let error = client.begun(silence, Duration::ZERO).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("http://127.0.0.1:7878 takes connections"),
            "{error}"
        );
        assert_eq!(client.begun(async { 7 }, Duration::ZERO).await.unwrap(), 7);
    }

    #[test]
    fn an_address_that_cannot_be_used_says_what_is_expected() {
        for (url, part) in [
            ("localhost:7878", r#"has the scheme "localhost""#),
            ("127.0.0.1:7878", "relative URL without a base"),
            (
                "https://a",
                "https:// is not available in this version of toold",
            ),
            ("http://user:pass@a", "a token does not belong in it"),
            ("http://a/?x=1", "says more than where the daemon is"),
        ] {
            let said = base(Some(url), None).unwrap_err();
            assert!(
                said.starts_with("--url: ") && said.contains(part),
                "{url}: {said}"
            );
            assert!(!said.contains("pass@"), "{said}");
        }
    }

    #[test]
    fn segments_and_parameters_are_escaped() {
        let base = Base(Url::parse("http://a:1/under/").unwrap());
        let url = address(&base, &["sessions", "a/b?c%d é"], &[("agent", "x&y=z")]);
        assert_eq!(
            url.as_str(),
            "http://a:1/under/v1/sessions/a%2Fb%3Fc%25d%20%C3%A9?agent=x%26y%3Dz"
        );
    }

    #[test]
    fn a_problem_is_told_by_its_code_and_detail() {
        let base = Base(Url::parse("http://a:1").unwrap());
        let say = |body: &str| problem_text(StatusCode::BAD_REQUEST, body.as_bytes(), &base);
        assert_eq!(
            say(
                r#"{"code":"INVALID_REQUEST","title":"t","detail":"unknown member","pointer":"/x"}"#
            ),
            "INVALID_REQUEST: unknown member (at /x)"
        );
        assert_eq!(
            say(r#"{"code":"NOT_FOUND","title":"none"}"#),
            "NOT_FOUND: none"
        );
        for other in ["<html>", "", r#"{"error":1}"#] {
            let said = "what answers at http://a:1 is no toold daemon (it says 400 Bad Request)";
            assert_eq!(say(other), said);
        }
    }

    #[test]
    fn the_token_comes_from_the_option_then_the_variable_then_the_generated_file() {
        let directory = tempfile::tempdir().unwrap();
        let token = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path
        };
        let find = |token_file: Option<&std::path::Path>, variable: Option<&str>| {
            let state = directory.path().to_str().unwrap();
            let variables = [("XDG_STATE_HOME", Some(state)), ("TOOLD_TOKEN", variable)];
            let set = variables
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            let environment = Environment::new(set, "/", User::Other);
            let options = DaemonOptions {
                url: None,
                token_file: token_file.map(Into::into),
            };
            find_token(&options, &environment)
                .map(|(token, source)| (token.map(|token| token.expose().to_owned()), source))
                .map_err(|error| error.to_string())
        };

        let (none, advice) = find(None, None).unwrap();
        assert_eq!(none, None);
        assert!(
            advice.contains("toold/tokens/agent") && advice.ends_with(NO_TOKEN),
            "{advice}"
        );

        token("toold/tokens/agent", "generated\n");
        let named = token("named", "named\n");
        let found = |file, variable| find(file, variable).unwrap().0;
        assert_eq!(found(None, None).as_deref(), Some("generated"));
        assert_eq!(found(None, Some("variable")).as_deref(), Some("variable"));
        assert_eq!(
            found(Some(&named), Some("variable")).as_deref(),
            Some("named")
        );

        assert!(find(Some(&directory.path().join("absent")), None).is_err());
        assert_eq!(
            find(None, Some("two words")).unwrap_err(),
            "TOOLD_TOKEN: expected one token"
        );
    }
}
