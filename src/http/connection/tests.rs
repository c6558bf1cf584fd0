//! Real sockets: what a connection knows of its client.

use tokio::{io::AsyncWriteExt as _, net::TcpListener};

use super::*;
use crate::{
    domain::{AgentName, EventDraft, EventType, Subject, Timestamp},
    journal::{Interest, Tail, TailLimits},
};

async fn pair() -> (Arc<Connection>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap());
    let (client, accepted) = tokio::join!(client, listener.accept());
    (
        Connection::new(accepted.unwrap().0).unwrap(),
        client.unwrap(),
    )
}

fn publish(tail: &Tail, times: usize) {
    let subject = Subject::agent(&AgentName::default_agent());
    let draft = EventDraft::new(EventType::ToolsChange, subject.clone(), |_| {});
    let frame = draft.frame(None, None, Timestamp::default());
    for _ in 0..times {
        tail.publish_live(draft.kind, subject.clone(), frame.clone());
    }
}

#[tokio::test]
async fn c15_a_reader_is_stalled_when_it_lags_and_takes_nothing_for_some_looks() {
    let (connection, _client) = pair().await;
    let peer = Peer::of(&connection);
    let tail = Tail::new(TailLimits {
        events: 2,
        bytes: 1 << 20,
    });
    let (idle, behind) = (tail.subscribe(Interest::All), tail.subscribe(Interest::All));
    let watched = peer.watch(behind.lag_watch());
    publish(&tail, 2);
    let looks = || (0..PATIENCE).any(|_| connection.holds_a_stalled_reader());
    assert!(!looks() && !looks(), "it does not lag");
    publish(&tail, 8);
    assert!(looks(), "it takes nothing");
    connection.written.fetch_add(1, Ordering::Relaxed);
    assert!(!connection.holds_a_stalled_reader(), "it takes something");
    let other = peer.watch(idle.lag_watch());
    drop(watched);
    assert!(
        !connection.holds_a_stalled_reader(),
        "the other has had one look"
    );
    drop(other);
    assert!(!looks(), "none is left");
}

#[tokio::test]
async fn the_protocol_is_told_by_the_first_bytes_however_they_come() {
    let (h1, mut client) = pair().await;
    client.write_all(b"P").await.unwrap();
    let early = timeout(Duration::from_millis(50), h1.speaks()).await;
    assert!(early.is_err(), "`P` may begin both");
    client.write_all(b"OST / HTTP/1.1\r\n").await.unwrap();
    assert_eq!(h1.speaks().await.unwrap(), Protocol::Http1);

    let (h2, mut client) = pair().await;
    let told = async {
        for byte in PREFACE {
            client.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        client
    };
    let (spoken, _client) = tokio::join!(h2.speaks(), told);
    assert_eq!(spoken.unwrap(), Protocol::Http2);

    for (sent, half) in [("", false), ("P", false), ("PRI * HTTP/2.0\r\n", true)] {
        let (gone, mut client) = pair().await;
        client.write_all(sent.as_bytes()).await.unwrap();
        client.shutdown().await.unwrap();
        let kept = half.then_some(client);
        let spoken = timeout(Duration::from_secs(20), gone.speaks()).await;
        assert_eq!(spoken.expect("it spins").unwrap(), Protocol::Http1);
        drop(kept);
    }
}

#[tokio::test]
async fn a_connection_is_idle_when_it_answers_nothing_streams_nothing_and_wrote_nothing() {
    let (connection, _client) = pair().await;
    let idle = || connection.is_idle(Protocol::Http1);
    assert!(idle());
    let answer = connection.answering();
    assert!(!idle(), "a request is being answered");
    drop(answer);
    assert!(idle());
    let tail = Tail::new(TailLimits {
        events: 2,
        bytes: 1 << 20,
    });
    let reader = tail.subscribe(Interest::All);
    let watched = Peer::of(&connection).watch(reader.lag_watch());
    assert!(!idle(), "a stream is open");
    drop(watched);
    assert!(idle());
    connection.written.fetch_add(1, Ordering::Relaxed);
    assert!(!idle(), "bytes left since the last look");
    assert!(
        connection.is_idle(Protocol::Http2),
        "pings are no use of it"
    );
    connection.holds_a_stalled_reader();
    assert!(idle(), "and none since this one");
}

#[tokio::test]
async fn c17_a_client_that_keeps_its_side_open_holds_up_a_stop_less_than_others() {
    let ((kept, _client), (hurried, _other)) = (pair().await, pair().await);
    let (going_on, stopping) = (CancellationToken::new(), CancellationToken::new());
    stopping.cancel();
    tokio::select! {
        biased;
        () = hurried.linger(&stopping) => {}
        () = kept.linger(&going_on) => panic!("the stop hurries nothing"),
    }
}

#[tokio::test]
async fn a_peer_that_acknowledges_nothing_is_given_up_by_the_system() {
    let (connection, _client) = pair().await;
    let bound = rustix::net::sockopt::tcp_user_timeout(&connection.stream).unwrap();
    assert_eq!(u128::from(bound), DEAF.as_millis());
}

#[tokio::test]
async fn small_answers_are_not_held_back_and_a_cut_ends_both_directions() {
    let (connection, client) = pair().await;
    assert!(connection.stream.nodelay().unwrap());
    connection.cut();
    let mut buffer = [0_u8; 1];
    let ended = timeout(LINGER, async {
        client.readable().await.unwrap();
        client.try_read(&mut buffer).unwrap()
    });
    assert_eq!(ended.await.unwrap(), 0);
}
