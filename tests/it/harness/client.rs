//! A thin client: what is sent is what the test wrote.

use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::Value;

use super::stream::Stream;

/// A client with one token.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e} in {:?}", self.text))
    }

    /// The problem's or the result's error code.
    pub(crate) fn code(&self) -> String {
        let json = self.json();
        let code = json.get("code").or_else(|| json.pointer("/error/code"));
        code.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Panics with the body unless the status is this one.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }
}

impl Client {
    pub(crate) fn new(url: &str, token: Option<String>) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client");
        Self {
            http,
            url: url.to_owned(),
            token,
        }
    }

    /// A request to refine.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.expect("a body");
        Answer {
            status,
            headers,
            text,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// A page of recorded events.
    pub(crate) async fn page(&self, session: &str) -> Answer {
        let path = format!("/v1/sessions/{session}/events?after=0&limit=1000");
        let request = self.request(Method::GET, &path);
        self.send(request.header("accept", "application/json"))
            .await
            .expect(200)
    }

    /// Walks a list to its end: every page as text, and this member of all its items.
    pub(crate) async fn walk(&self, path: &str, member: &str) -> (Vec<String>, Vec<String>) {
        let (mut pages, mut members, mut cursor) = (Vec::new(), Vec::new(), String::new());
        loop {
            let page = self.get(&format!("{path}{cursor}")).await.expect(200);
            let json = page.json();
            pages.push(page.text);
            for item in json["items"].as_array().expect("items") {
                members.push(item[member].as_str().expect("a text").to_owned());
            }
            match json["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return (pages, members),
            }
        }
    }

    /// Logs in with a token; the cookie as browsers send it back.
    pub(crate) async fn log_in(&self, token: &str) -> (Answer, String) {
        let body = format!(r#"{{"token":"{token}"}}"#);
        let answer = self.post("/v1/login", &body).await.expect(200);
        let cookie = answer.header("set-cookie").expect("a cookie");
        let pair = cookie.split(';').next().unwrap_or_default().to_owned();
        (answer, pair)
    }

    /// Ends the login of a cookie.
    pub(crate) async fn log_out(&self, cookie: &str) {
        let out = self.request(Method::DELETE, "/v1/login");
        let out = out.header("cookie", cookie).header("origin", &self.url);
        self.send(out).await.expect(204);
    }

    /// POSTs a body as it is written.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.send(self.json(Method::POST, path, body)).await
    }

    pub(crate) fn json(&self, method: Method, path: &str, body: &str) -> RequestBuilder {
        self.request(method, path)
            .header("content-type", "application/json")
            .body(body.to_owned())
    }

    /// Opens a session of the default agent.
    pub(crate) async fn session(&self) -> String {
        let answer = self.post("/v1/sessions", "{}").await.expect(201);
        answer.json()["session_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// One call, waited for.
    pub(crate) async fn call(
        &self,
        session: &str,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> Answer {
        self.post(
            &format!("/v1/sessions/{session}/calls"),
            &body(id, name, arguments),
        )
        .await
    }

    /// One call, not waited for; accepted when this returns.
    pub(crate) async fn start(&self, session: &str, id: &str, name: &str, arguments: &str) {
        let path = format!("/v1/sessions/{session}/calls");
        let request = self.json(Method::POST, &path, &body(id, name, arguments));
        self.send(request.header("prefer", "respond-async"))
            .await
            .expect(202);
    }

    /// The result of a call, waited for.
    pub(crate) async fn result(&self, session: &str, id: &str) -> Value {
        let path = format!("/v1/sessions/{session}/calls/{id}?wait=60");
        let record = self.get(&path).await.expect(200).json();
        assert_eq!(record["state"], "settled", "{record}");
        record["result"].clone()
    }

    /// A stream; `query` begins with a path.
    pub(crate) async fn stream(&self, path: &str) -> Stream {
        self.stream_with(self.request(Method::GET, path)).await
    }

    pub(crate) async fn stream_with(&self, request: RequestBuilder) -> Stream {
        let response = request.header("accept", "text/event-stream").send().await;
        Stream::new(response.expect("an answer"))
    }
}

fn body(id: &str, name: &str, arguments: &str) -> String {
    format!(r#"{{"call_id":{id:?},"name":{name:?},"arguments":{arguments}}}"#)
}
