//! The load: keep-alive connections that send one request after the other and time each.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::server::{Kind, Server};

/// Numbers the calls, so that each is new to the daemon.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What one row saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Requests per second.
    pub(crate) rate: f64,
    pub p50: Duration,
    pub p99: Duration,
}

/// Where a row's requests go: one session per connection.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    address: String,
    token: String,
    kind: Kind,
    pub(crate) sessions: Vec<String>,
}

impl Target {
    pub(crate) async fn of(server: &Server, connections: usize) -> Self {
        let mut target = Self {
            address: server.address.clone(),
            token: server.token(),
            kind: server.kind,
            sessions: Vec::new(),
        };
        if server.kind != Kind::Echo {
            for _ in 0..connections {
                let session = target.open_session().await;
                target.sessions.push(session);
            }
        }
        target
    }

    async fn open_session(&self) -> String {
        let mut connection = Connection::open(&self.address).await;
        let answer = connection
            .exchange(&self.request("/v1/sessions", "{}"))
            .await;
        let json: serde_json::Value = serde_json::from_slice(&answer).expect("a session");
        json["session_id"]
            .as_str()
            .expect("a session id")
            .to_owned()
    }

    pub(crate) fn request(&self, path: &str, body: &str) -> Vec<u8> {
        format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            self.token,
            body.len()
        )
        .into_bytes()
    }

    /// A subscriber of the first session, that reads whatever comes.
    pub(crate) async fn subscribe(&self) -> TcpStream {
        let session = self.sessions.first().expect("a session");
        let mut socket = TcpStream::connect(&self.address)
            .await
            .expect("a connection");
        let head = format!(
            "GET /v1/sessions/{session}/events HTTP/1.1\r\nhost: {}\r\n\
             authorization: Bearer {}\r\naccept: text/event-stream\r\n\r\n",
            self.address, self.token
        );
        socket.write_all(head.as_bytes()).await.expect("a request");
        socket
    }

    /// Drives `connections` for so long, with one subscriber on one of the sessions.
    pub(crate) async fn drive(&self, connections: usize, time: Duration) -> Figures {
        let watcher = match self.kind {
            Kind::Echo => None,
            Kind::Process | Kind::Power => Some(self.subscribe().await),
        };
        let reading = watcher.map(|mut socket| {
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while socket.read(&mut buffer).await.is_ok_and(|n| n > 0) {}
            })
        });
        let began = Instant::now();
        let mut workers = JoinSet::new();
        for n in 0..connections {
            let target = self.clone();
            workers.spawn(async move { target.worker(n, began + time).await });
        }
        let mut times: Vec<Duration> = Vec::new();
        while let Some(of_one) = workers.join_next().await {
            times.extend(of_one.expect("a worker"));
        }
        let elapsed = began.elapsed();
        if let Some(reading) = reading {
            reading.abort();
        }
        figures(times, elapsed)
    }

    async fn worker(&self, n: usize, until: Instant) -> Vec<Duration> {
        let mut connection = Connection::open(&self.address).await;
        let mut times = Vec::with_capacity(1 << 16);
        while Instant::now() < until {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let body = format!(r#"{{"call_id":"c{id}","name":"noop","arguments":{{"n":1}}}}"#);
            let request = match self.sessions.get(n) {
                None => self.request("/echo", &body),
                Some(session) => self.request(&format!("/v1/sessions/{session}/calls"), &body),
            };
            let sent = Instant::now();
            let answer = connection.exchange(&request).await;
            times.push(sent.elapsed());
            assert!(!answer.is_empty(), "an empty answer");
        }
        times
    }
}

fn figures(mut times: Vec<Duration>, elapsed: Duration) -> Figures {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list"
        )]
        let place = (times.len() as f64 * share) as usize;
        times
            .get(place.min(times.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    };
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let rate = times.len() as f64 / elapsed.as_secs_f64();
    Figures {
        rate,
        p50: at(0.50),
        p99: at(0.99),
    }
}

/// One keep-alive connection.
struct Connection {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let socket = TcpStream::connect(address).await.expect("a connection");
        socket.set_nodelay(true).expect("no delay");
        Self {
            socket,
            buffer: Vec::with_capacity(8192),
        }
    }

    /// Sends a request and returns the body of its answer.
    async fn exchange(&mut self, request: &[u8]) -> Vec<u8> {
        self.socket.write_all(request).await.expect("a request");
        self.buffer.clear();
        loop {
            if let Some((head, length)) = self.whole() {
                return self.buffer[head..head + length].to_vec();
            }
            let read = self
                .socket
                .read_buf(&mut self.buffer)
                .await
                .expect("an answer");
            assert!(read > 0, "the server closed the connection");
        }
    }

    /// Where the body begins and its length, once it is all there.
    fn whole(&self) -> Option<(usize, usize)> {
        let head = self
            .buffer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")?
            + 4;
        let text = std::str::from_utf8(&self.buffer[..head]).ok()?;
        assert!(text.starts_with("HTTP/1.1 20"), "an error: {text}");
        let length = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse::<usize>().ok())?;
        (self.buffer.len() >= head + length).then_some((head, length))
    }
}
