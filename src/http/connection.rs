//! One accepted socket: its bytes for the HTTP machinery, and what its requests may know of it.
//!
//! The socket is shared, because the end of the client's side must be noticed while the machinery
//! waits for a silent tool and reads nothing. Imports `journal` for what makes a reader lag.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http_body::{Body as _, Frame, SizeHint};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown, sockopt::set_tcp_user_timeout};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::journal::LagWatch;

/// A peer that acknowledges nothing, or takes nothing, for this long is gone (`TCP_USER_TIMEOUT`).
const DEAF: Duration = Duration::from_mins(1);
/// Looks at which a lagging reader may take nothing before its connection is cut.
const PATIENCE: u8 = 5;
/// Bytes of a body that is sent in one go.
const SHORT: u64 = 64 * 1024;
/// How long a closing connection still takes in what the client had under way, so that the
/// answer is read before the reset.
const LINGER: Duration = Duration::from_secs(1);
/// … while the daemon stops: clients that keep connections open must not hold up its end.
pub(super) const FAREWELL: Duration = Duration::from_millis(200);

/// What an HTTP/2 connection with prior knowledge begins with (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1, or whatever else: the machinery says what it thinks of it.
    Http1,
    /// HTTP/2, by its preface.
    Http2,
}

/// A connection, as its requests and its driver share it.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    answering: AtomicUsize,
    /// Bytes that the system took from us.
    written: AtomicU64,
    /// … at the last look.
    seen: AtomicU64,
    readers: Mutex<Vec<Reader>>,
}

#[derive(Debug)]
struct Reader {
    number: u64,
    lag: LagWatch,
    /// Looks in a row at which it lagged and the connection had written nothing.
    stalled: u8,
}

impl Connection {
    /// Takes over an accepted socket: small answers leave at once, dead peers are noticed.
    ///
    /// # Errors
    /// When the socket is no longer one.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Arc<Self>> {
        stream.set_nodelay(true)?;
        set_tcp_user_timeout(&stream, u32::try_from(DEAF.as_millis()).unwrap_or(u32::MAX))?;
        Ok(Arc::new(Self {
            stream,
            answering: AtomicUsize::new(0),
            written: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            readers: Mutex::default(),
        }))
    }

    /// Which protocol the client begins to speak; takes nothing out of the socket, so that the
    /// machinery's buffers stay as small as they begin. Waits for the first bytes.
    /// Cancellation-safe.
    ///
    /// # Errors
    /// When the socket fails.
    pub(crate) async fn speaks(&self) -> io::Result<Protocol> {
        let look = || {
            let mut start = [0_u8; PREFACE.len()];
            let (_, read) = recv(&self.stream, &mut start, RecvFlags::PEEK)?;
            match start.get(..read) {
                Some(whole) if whole == PREFACE => Ok(Protocol::Http2),
                // Seen before the readiness is cleared, so that more bytes wake this again.
                Some(part) if !part.is_empty() && PREFACE.starts_with(part) => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                Some(_) | None => Ok(Protocol::Http1),
            }
        };
        loop {
            let ready = self.stream.ready(Interest::READABLE).await?;
            match self.stream.try_io(Interest::READABLE, look) {
                // The end of the client's side stays ready for ever: nothing more will come.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready.is_read_closed() {
                        return Ok(Protocol::Http1);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Counts a request as being answered until the guard is dropped.
    pub(crate) fn answering(self: &Arc<Self>) -> Answering {
        self.answering.fetch_add(1, Ordering::AcqRel);
        Answering(Arc::clone(self))
    }

    /// Whether no request is being answered, no stream is open and, since the last look, no byte
    /// of an answer left. Bytes say nothing of HTTP/2, whose pings never rest.
    pub(crate) fn is_idle(&self, protocol: Protocol) -> bool {
        let moves = protocol == Protocol::Http1
            && self.written.load(Ordering::Relaxed) != self.seen.load(Ordering::Relaxed);
        !moves && self.answering.load(Ordering::Acquire) == 0 && self.lock().is_empty()
    }

    /// Whether a stream on this connection has been lagging for some looks while the client took
    /// nothing. A slow reader that still takes bytes comes to its `stream/lagged` by itself; one
    /// that does not must be cut.
    pub(crate) fn holds_a_stalled_reader(&self) -> bool {
        let written = self.written.load(Ordering::Relaxed);
        let moves = self.seen.swap(written, Ordering::Relaxed) != written;
        let mut stalled = false;
        for reader in self.lock().iter_mut() {
            let counts = !moves && reader.lag.lagged();
            reader.stalled = if counts { reader.stalled + 1 } else { 0 };
            stalled |= reader.stalled >= PATIENCE;
        }
        stalled
    }

    /// Takes in and forgets what the client still sends, for a moment, after our side ended; a
    /// shorter one once the daemon is `stopping`. Cancellation-safe.
    pub(crate) async fn linger(&self, stopping: &CancellationToken) {
        // Already shut is as good.
        shutdown(&self.stream, Shutdown::Write).ok();
        let hurried = async {
            stopping.cancelled().await;
            sleep(FAREWELL).await;
        };
        let drained = timeout(LINGER, async {
            // On the heap: an array would lie in every connection's task for its whole life.
            let mut scratch = vec![0_u8; 4096];
            while self.stream.readable().await.is_ok() {
                match self.stream.try_read(&mut scratch) {
                    Ok(0) => return,
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                    Ok(_) | Err(_) => {}
                }
            }
        });
        // Whichever way, the socket closes now.
        tokio::select! {
            _ = drained => {}
            () = hurried => {}
        }
    }

    /// Ends both directions now.
    pub(crate) fn cut(&self) {
        // A socket that is closed already is what is wanted.
        shutdown(&self.stream, Shutdown::Both).ok();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reader>> {
        // Nothing panics while the list is half changed.
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request knows of the connection that it came over.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Arc<Connection>);

impl Peer {
    /// The peer at the other end of a connection.
    pub(crate) fn of(connection: &Arc<Connection>) -> Self {
        Self(Arc::clone(connection))
    }

    /// Waits until the client has ended at least its sending side. Cancellation-safe.
    pub(crate) async fn gone(&self) {
        // `PRIORITY` stands for "urgent data or the end"; waiting for `READABLE` would spin on
        // bytes that nobody reads while a request is being answered.
        while let Ok(ready) = self.0.stream.ready(Interest::PRIORITY).await {
            if ready.is_read_closed() {
                return;
            }
            let not_it = || io::Result::<()>::Err(io::ErrorKind::WouldBlock.into());
            drop(self.0.stream.try_io(Interest::PRIORITY, not_it));
        }
    }

    /// Has the connection watch a stream's lag until the guard is dropped.
    pub(crate) fn watch(&self, lag: LagWatch) -> Watched {
        let mut readers = self.0.lock();
        let number = readers.last().map_or(0, |reader| reader.number + 1);
        readers.push(Reader {
            number,
            lag,
            stalled: 0,
        });
        Watched {
            connection: Arc::clone(&self.0),
            number,
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Answering(Arc<Connection>);

impl Answering {
    /// Counts on until a long body has been taken; a short one is as good as sent.
    pub(crate) fn hold(self, body: Body) -> Body {
        if body.size_hint().exact().is_some_and(|size| size <= SHORT) {
            return body;
        }
        Body::new(Held {
            body,
            _answering: self,
        })
    }
}

/// A body whose request counts as being answered while it is sent.
#[derive(Debug)]
struct Held {
    body: Body,
    _answering: Answering,
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A stream that its connection watches.
#[derive(Debug)]
pub(crate) struct Watched {
    connection: Arc<Connection>,
    number: u64,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.connection
            .lock()
            .retain(|reader| reader.number != self.number);
    }
}

/// The socket as the HTTP machinery reads and writes it.
#[derive(Debug)]
pub(crate) struct Wire(pub(crate) Arc<Connection>);

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.stream.poll_read_ready(cx))?;
            match self.0.stream.try_read_buf(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return Poll::Ready(other.map(drop)),
            }
        }
    }
}

impl Wire {
    fn poll_write_with(
        &self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.stream.poll_write_ready(cx))?;
            match write(&self.0.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(taken) => {
                    self.0.written.fetch_add(taken as u64, Ordering::Relaxed);
                    return Poll::Ready(Ok(taken));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, |stream| stream.try_write_vectored(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(&self.0.stream, Shutdown::Write) {
            Err(error) if error != rustix::io::Errno::NOTCONN => Poll::Ready(Err(error.into())),
            Ok(()) | Err(_) => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests;
