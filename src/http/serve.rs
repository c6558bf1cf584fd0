//! The accept loop: sockets in, the router behind each, an orderly end.
//!
//! Imports `tasks`. Knows no route. Written by hand because the answer must still be sent to a
//! client that has ended its sending side, and because a connection that stalls must be cut from
//! outside.

use std::{convert::Infallible, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::{Router, body::Body, http::Request};
use hyper::{
    body::Incoming,
    rt::Executor,
    server::conn::{http1, http2},
    service::{HttpService, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use super::{
    HttpState,
    connection::{Connection, FAREWELL, Peer, Protocol, Wire},
    request::MAX_HEADER,
};
use crate::{tasks::Tasks, telemetry::Telemetry};

/// How long a header may take to arrive.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long a connection may hold its slot without a request, whatever the protocol.
const IDLE: Duration = Duration::from_secs(75);
/// Between two looks at a connection from outside.
const LOOK: Duration = Duration::from_secs(2);
/// Pause after the system refused a socket, mostly because descriptors ran out.
const BREATH: Duration = Duration::from_millis(100);
/// Most header fields of one request.
const MAX_FIELDS: usize = 100;
/// Most streams of one HTTP/2 connection at once.
const MAX_STREAMS: u32 = 256;
/// Between two pings of a silent HTTP/2 connection, and how long an answer may take.
const PING: Duration = Duration::from_secs(20);

/// A daemon that serves. Dropping it stops nothing; [`Serving::stop`] does.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    connections: Tasks,
    changes: Tasks,
    ending: CancellationToken,
    cut: CancellationToken,
}

impl Serving {
    /// Starts serving on a bound socket.
    ///
    /// # Errors
    /// When the socket is not one that listens.
    pub fn start(listener: TcpListener, state: &HttpState) -> io::Result<Self> {
        let (router, telemetry) = (super::router(state), state.telemetry.clone());
        let slots = state.server.max_connections;
        let serving = Self::of(listener, router, telemetry, state.ending.clone(), slots)?;
        Ok(Self {
            changes: state.changes.clone(),
            ..serving
        })
    }

    fn of(
        listener: TcpListener,
        router: Router,
        telemetry: Telemetry,
        ending: CancellationToken,
        slots: usize,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let host = Host::new(router, telemetry);
        let (connections, cut) = (host.tasks.clone(), host.cut.clone());
        let slots = Arc::new(Semaphore::new(slots));
        drop(connections.spawn(accept(listener, Arc::new(host), slots)));
        Ok(Self {
            address,
            connections,
            changes: Tasks::new(),
            ending,
            cut,
        })
    }

    /// The address that it serves on; the port is the chosen one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends streams with `stream/end`, takes no more connections, lets what is being answered
    /// finish for `grace`, then cuts what is left. Calls must be at rest before, or their callers
    /// get no answer.
    pub async fn stop(self, grace: Duration) {
        self.ending.cancel();
        if timeout(grace, self.connections.stop()).await.is_err() {
            tracing::warn!("connections were cut that did not end in time");
            self.cut.cancel();
            self.connections.stop().await;
        }
        self.changes.stop().await;
    }
}

/// What every connection needs.
struct Host {
    router: Router,
    http1: http1::Builder,
    http2: http2::Builder<Owned>,
    tasks: Tasks,
    telemetry: Telemetry,
    cut: CancellationToken,
}

/// Spawns the streams of HTTP/2 connections into the connections' own group.
#[derive(Debug, Clone)]
struct Owned(Tasks);

impl<F> Executor<F> for Owned
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.0.spawn(future));
    }
}

impl Host {
    fn new(router: Router, telemetry: Telemetry) -> Self {
        let tasks = Tasks::new();
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .half_close(true)
            .header_read_timeout(HEADER_TIME)
            .max_headers(MAX_FIELDS)
            // Twice the bound that the gate enforces, so that most are refused with a document.
            .max_buf_size(2 * MAX_HEADER);
        let mut http2 = http2::Builder::new(Owned(tasks.clone()));
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(u32::try_from(2 * MAX_HEADER).unwrap_or(u32::MAX));
        Self {
            router,
            http1,
            http2,
            tasks,
            telemetry,
            cut: CancellationToken::new(),
        }
    }
}

/// Accepts until the group is asked to stop. More connections than there are slots wait in the
/// listener's backlog.
async fn accept(listener: TcpListener, host: Arc<Host>, slots: Arc<Semaphore>) {
    let stopping = host.tasks.stopping();
    loop {
        // Both are cancellation-safe: a dropped wait takes no slot and loses no socket.
        let accepted = async {
            let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
            Some((slot, listener.accept().await))
        };
        let (slot, socket) = tokio::select! {
            () = stopping.cancelled() => return,
            Some(accepted) = accepted => accepted,
            else => return,
        };
        match socket {
            Ok((stream, _)) => drop(
                host.tasks
                    .spawn(connection(Arc::clone(&host), stream, slot)),
            ),
            Err(error) => {
                tracing::warn!(%error, "the system refused a connection");
                sleep(BREATH).await;
            }
        }
    }
}

async fn connection(host: Arc<Host>, stream: TcpStream, slot: OwnedSemaphorePermit) {
    let Ok(connection) = Connection::new(stream) else {
        return;
    };
    let open = host.telemetry.connection_opened();
    let served = async {
        drive(&host, &connection).await;
        connection.linger(&host.tasks.stopping()).await;
    };
    tokio::select! {
        // Cancellation-safe: a cut connection is meant to lose what it was doing.
        () = served => {}
        () = host.cut.cancelled() => {}
    }
    connection.cut();
    drop((open, slot));
}

/// Serves the requests of one connection until it ends.
async fn drive(host: &Host, connection: &Arc<Connection>) {
    let stopping = host.tasks.stopping();
    // Both are cancellation-safe: nothing is taken out of the socket.
    let spoken = tokio::select! {
        () = stopping.cancelled() => return,
        spoken = timeout(HEADER_TIME, connection.speaks()) => spoken,
    };
    let Ok(Ok(protocol)) = spoken else { return };
    let (router, own) = (host.router.clone(), Arc::clone(connection));
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer::of(&own));
        let answer = router.clone().call(request);
        let answering = own.answering();
        async move {
            let answer = answer.await.unwrap_or_else(|never| match never {});
            Ok::<_, Infallible>(answer.map(|body| answering.hold(body)))
        }
    });
    let io = TokioIo::new(Wire(Arc::clone(connection)));
    match protocol {
        Protocol::Http1 => {
            let served = host.http1.serve_connection(io, service);
            tend(host, connection, protocol, served).await;
        }
        // On the heap: it is the larger one and the rarer one.
        Protocol::Http2 => {
            let served = host.http2.serve_connection(io, service);
            Box::pin(tend(host, connection, protocol, served)).await;
        }
    }
}

/// A connection that can be asked to end in order.
trait Served: Future<Output = hyper::Result<()>> {
    /// Lets what is being answered finish, and then ends.
    fn wind_up(self: Pin<&mut Self>);
}

type Io = TokioIo<Wire>;

impl<S> Served for http1::Connection<Io, S>
where
    S: HttpService<Incoming, ResBody = Body, Error = Infallible>,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S> Served for http2::Connection<Io, S, Owned>
where
    S: HttpService<Incoming, ResBody = Body, Error = Infallible>,
    S::Future: Send + 'static,
{
    fn wind_up(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Drives a connection, winds it up when the daemon stops, and ends it when it idles, then soon,
/// or when one of its readers stalls.
async fn tend(host: &Host, connection: &Connection, protocol: Protocol, served: impl Served) {
    let mut served = std::pin::pin!(served);
    let stopping = host.tasks.stopping();
    let mut is_winding_up = false;
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut idle = Duration::ZERO;
    loop {
        // All are cancellation-safe: the connection is polled by reference.
        tokio::select! {
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    let error = &error as &dyn std::error::Error;
                    tracing::debug!(error, "connection ended early");
                }
                return;
            }
            () = stopping.cancelled(), if !is_winding_up => {
                is_winding_up = true;
                look = interval(FAREWELL);
                look.reset();
                served.as_mut().wind_up();
            }
            _ = look.tick() => {
                idle = if connection.is_idle(protocol) { idle + LOOK } else { Duration::ZERO };
                let stalled = connection.holds_a_stalled_reader();
                if stalled {
                    host.telemetry.reader_lagged();
                }
                let is_over = is_winding_up && !idle.is_zero();
                if idle >= IDLE || stalled || is_over {
                    return connection.cut();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
