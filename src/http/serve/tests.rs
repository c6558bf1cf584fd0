//! The accept loop over real sockets: who is still answered, who is noticed to be gone, and how it
//! all ends.

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    extract::Extension,
    response::IntoResponse,
    routing::{get, post},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Notify,
};

use super::*;
use crate::http::problem::{Problem, ProblemCode};

/// Longest that anything here may take.
const BOUND: Duration = Duration::from_secs(20);

/// A daemon whose handlers say what happened to them.
struct Stage {
    serving: Serving,
    entered: Arc<Notify>,
    release: Arc<Notify>,
    noticed: Arc<Notify>,
    dropped: Arc<AtomicUsize>,
}

struct CountsDrop(Arc<AtomicUsize>, Arc<Notify>);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.notify_one();
    }
}

impl Stage {
    async fn open(slots: usize) -> Self {
        let [entered, release, noticed] = std::array::from_fn(|_| Arc::new(Notify::new()));
        let dropped = Arc::new(AtomicUsize::new(0));
        let gate = {
            let (entered, release) = (Arc::clone(&entered), Arc::clone(&release));
            get(move || async move {
                entered.notify_one();
                release.notified().await;
                "released"
            })
        };
        let silent = {
            let (entered, noticed) = (Arc::clone(&entered), Arc::clone(&noticed));
            let dropped = Arc::clone(&dropped);
            post(move |Extension(peer): Extension<Peer>| async move {
                let _counts = CountsDrop(dropped, Arc::clone(&noticed));
                entered.notify_one();
                peer.gone().await;
                "you are gone"
            })
        };
        let never = {
            let (entered, noticed) = (Arc::clone(&entered), Arc::clone(&noticed));
            let dropped = Arc::clone(&dropped);
            get(move || async move {
                let _counts = CountsDrop(dropped, noticed);
                entered.notify_one();
                std::future::pending::<()>().await;
            })
        };
        let refuse = post(|| async {
            Problem::new(ProblemCode::Forbidden, "nobody reads this body").into_response()
        });
        let router = Router::new()
            .route("/gate", gate)
            .route("/silent", silent)
            .route("/never", never)
            .route("/refuse", refuse)
            .route("/", get(|| async { "hello" }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let ending = CancellationToken::new();
        let serving = Serving::of(listener, router, Telemetry::new(), ending, slots).unwrap();
        Self {
            serving,
            entered,
            release,
            noticed,
            dropped,
        }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.serving.address()).await.unwrap()
    }
}

/// Fails instead of hanging.
async fn bounded<T>(what: impl Future<Output = T>) -> T {
    timeout(BOUND, what).await.expect("it took too long")
}

async fn ask(stream: &mut TcpStream, request: &str) {
    stream.write_all(request.as_bytes()).await.unwrap();
}

/// Everything until the daemon closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A reset after the answer is an end too.
    stream.read_to_end(&mut all).await.ok();
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads until a text has come.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut all = Vec::new();
    while !String::from_utf8_lossy(&all).contains(text) {
        let mut chunk = [0_u8; 1024];
        let read = stream.read(&mut chunk).await.unwrap();
        assert!(
            read > 0,
            "closed before {text}: {}",
            String::from_utf8_lossy(&all)
        );
        all.extend_from_slice(&chunk[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn c09_whoever_only_ends_the_sending_side_is_still_answered() {
    let stage = Stage::open(4).await;
    let mut stream = stage.connect().await;
    ask(&mut stream, "GET /gate HTTP/1.1\r\nHost: a\r\n\r\n").await;
    bounded(stage.entered.notified()).await;
    stream.shutdown().await.unwrap();
    stage.release.notify_one();
    let answer = bounded(rest(&mut stream)).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("released"),
        "{answer}"
    );
}

#[tokio::test]
async fn c09_either_end_of_the_connection_is_noticed_while_the_handler_is_silent() {
    let stage = Stage::open(4).await;
    let request = "POST /silent HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";

    let mut half = stage.connect().await;
    ask(&mut half, request).await;
    bounded(stage.entered.notified()).await;
    half.shutdown().await.unwrap();
    bounded(stage.noticed.notified()).await;
    let answer = bounded(rest(&mut half)).await;
    assert!(
        answer.ends_with("you are gone"),
        "a half-closed client still reads: {answer}"
    );

    let mut whole = stage.connect().await;
    ask(&mut whole, request).await;
    bounded(stage.entered.notified()).await;
    drop(whole);
    bounded(stage.noticed.notified()).await;

    let mut reset = stage.connect().await;
    ask(&mut reset, request).await;
    bounded(stage.entered.notified()).await;
    reset.set_zero_linger().unwrap();
    drop(reset);
    bounded(stage.noticed.notified()).await;
    assert_eq!(stage.dropped.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn c09_bytes_that_nobody_reads_yet_are_not_the_end_and_do_not_hide_it() {
    let stage = Stage::open(4).await;
    let mut stream = stage.connect().await;
    let first = "POST /silent HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    ask(&mut stream, first).await;
    bounded(stage.entered.notified()).await;
    ask(&mut stream, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let early = timeout(Duration::from_millis(200), stage.noticed.notified()).await;
    assert!(early.is_err(), "a second request is not the end");
    stream.shutdown().await.unwrap();
    bounded(stage.noticed.notified()).await;
    let answers = bounded(rest(&mut stream)).await;
    assert!(
        answers.contains("you are gone") && answers.ends_with("hello"),
        "{answers}"
    );
}

#[tokio::test]
async fn an_answer_that_comes_before_the_body_was_read_arrives() {
    let stage = Stage::open(4).await;
    let mut stream = stage.connect().await;
    let head = "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n";
    ask(&mut stream, head).await;
    let (mut reader, mut writer) = stream.split();
    let sending = async {
        let chunk = [b'x'; 16 * 1024];
        while writer.write_all(&chunk).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    let reading = async {
        let mut all = Vec::new();
        let mut chunk = [0_u8; 1024];
        while !String::from_utf8_lossy(&all).contains("nobody reads this body") {
            let read = reader
                .read(&mut chunk)
                .await
                .expect("the answer was lost to a reset");
            assert!(read > 0);
            all.extend_from_slice(&chunk[..read]);
        }
    };
    tokio::select! {
        () = bounded(reading) => {}
        () = sending => {}
    }
}

#[tokio::test]
async fn a_header_that_is_far_too_large_is_431_and_a_connection_beyond_the_slots_waits() {
    let stage = Stage::open(1).await;
    let mut large = stage.connect().await;
    let header = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "y".repeat(4 * MAX_HEADER)
    );
    ask(&mut large, &header).await;
    let mut second = stage.connect().await;
    ask(
        &mut second,
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    )
    .await;
    let answer = bounded(rest(&mut large)).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    drop(large);
    assert!(bounded(rest(&mut second)).await.ends_with("hello"));
}

#[tokio::test]
async fn c17_a_stop_lets_answers_finish_closes_idle_connections_and_takes_no_more() {
    let stage = Stage::open(4).await;
    let mut idle = stage.connect().await;
    ask(&mut idle, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    bounded(read_until(&mut idle, "hello")).await;
    let mut busy = stage.connect().await;
    ask(&mut busy, "GET /gate HTTP/1.1\r\nHost: a\r\n\r\n").await;
    bounded(stage.entered.notified()).await;

    let address = stage.serving.address();
    let mut stop: Pin<Box<_>> = Box::pin(stage.serving.stop(BOUND));
    let closed = async {
        tokio::select! {
            () = stop.as_mut() => panic!("it stopped with an answer under way"),
            left = rest(&mut idle) => assert_eq!(left, ""),
        }
    };
    bounded(closed).await;
    assert!(
        TcpStream::connect(address).await.is_err(),
        "it still listens"
    );
    stage.release.notify_one();
    let (answer, ()) = bounded(async { tokio::join!(rest(&mut busy), stop) }).await;
    assert!(answer.ends_with("released"), "{answer}");
}

#[tokio::test]
async fn c17_a_client_in_the_middle_of_a_request_does_not_hold_up_a_stop() {
    let stage = Stage::open(8).await;
    let mut halves = Vec::new();
    for half in ["GET / HT", "GET / HTTP/1.1\r\nHost: a\r\n", "PRI * HT"] {
        let mut stream = stage.connect().await;
        ask(&mut stream, half).await;
        halves.push(stream);
    }
    let mut h2 = stage.connect().await;
    ask(&mut h2, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    halves.push(h2);
    let dropped = Arc::clone(&stage.dropped);
    tokio::select! {
        biased;
        () = stage.serving.stop(BOUND) => {}
        () = sleep(BOUND / 2) => panic!("it waits for what will never come"),
    }
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(halves);
}

#[tokio::test]
async fn c17_what_does_not_end_within_the_grace_is_cut() {
    let stage = Stage::open(4).await;
    let mut stuck = stage.connect().await;
    ask(&mut stuck, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    bounded(stage.entered.notified()).await;
    bounded(stage.serving.stop(Duration::from_millis(50))).await;
    assert_eq!(stage.dropped.load(Ordering::Relaxed), 1);
    assert_eq!(bounded(rest(&mut stuck)).await, "");
}

/// HTTP/2 by hand: preface, empty settings, then a request of three indexed fields and a host.
mod h2c {
    use super::*;

    const HEADERS: u8 = 1;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut out = length[1..].to_vec();
        out.extend([kind, flags]);
        out.extend(stream.to_be_bytes());
        out.extend_from_slice(payload);
        out
    }

    fn request(stream: u32, path: &str) -> Vec<u8> {
        let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
        block.extend_from_slice(path.as_bytes());
        block.extend([0x01, 9]);
        block.extend_from_slice(b"localhost");
        frame(HEADERS, 0b101, stream, &block)
    }

    async fn open(stage: &Stage) -> TcpStream {
        let mut stream = stage.connect().await;
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await
            .unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
        stream
    }

    /// The payload of the first frame of a kind on a stream.
    async fn wait_for(stream: &mut TcpStream, kind: u8, number: u32) -> Vec<u8> {
        loop {
            let mut head = [0_u8; 9];
            stream.read_exact(&mut head).await.unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0_u8; length as usize];
            stream.read_exact(&mut payload).await.unwrap();
            let on = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            if head[3] == kind && on == number {
                return payload;
            }
        }
    }

    #[tokio::test]
    async fn http_2_is_spoken_with_prior_knowledge() {
        let stage = Stage::open(4).await;
        let mut stream = open(&stage).await;
        stream.write_all(&request(1, "/")).await.unwrap();
        let headers = bounded(wait_for(&mut stream, HEADERS, 1)).await;
        assert_eq!(headers[0], 0x88, ":status 200 from the static table");
    }

    #[tokio::test]
    async fn c09_a_stream_that_is_reset_drops_its_handler_and_no_other() {
        let stage = Stage::open(4).await;
        let mut stream = open(&stage).await;
        stream.write_all(&request(1, "/never")).await.unwrap();
        bounded(stage.entered.notified()).await;
        stream.write_all(&request(3, "/gate")).await.unwrap();
        bounded(stage.entered.notified()).await;
        stream
            .write_all(&frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes()))
            .await
            .unwrap();
        bounded(stage.noticed.notified()).await;
        assert_eq!(stage.dropped.load(Ordering::Relaxed), 1);
        stage.release.notify_one();
        bounded(wait_for(&mut stream, HEADERS, 3)).await;
    }

    #[tokio::test]
    async fn c09_the_end_of_the_connection_drops_every_handler() {
        let stage = Stage::open(4).await;
        let mut stream = open(&stage).await;
        stream.write_all(&request(1, "/never")).await.unwrap();
        bounded(stage.entered.notified()).await;
        drop(stream);
        bounded(stage.noticed.notified()).await;
    }
}
