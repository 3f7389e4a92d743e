//! Accepts connections, with limits on their number and their headers.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::{debug, warn};

/// How long a client may take to send the headers of a request.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// The most bytes of the headers.
const HEADER_BYTES: usize = 16 << 10;
/// The most headers.
const HEADERS: usize = 100;

/// The connections of a server.
pub(crate) struct Connections {
    listeners: Vec<TcpListener>,
    router: Router,
    room: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Connections {
    /// Serves routes on listeners, on at most this many connections at once.
    pub(crate) fn new(listeners: Vec<TcpListener>, router: Router, most: usize) -> Connections {
        Connections { listeners, router, room: Arc::new(Semaphore::new(most)), open: GracefulShutdown::new() }
    }

    /// Accepts connections until `end` is ready.
    pub(crate) async fn accept_until(&self, end: impl Future<Output = ()>) {
        tokio::pin!(end);
        loop {
            // Connections beyond the limit wait in the system's queue.
            let room = tokio::select! {
                () = &mut end => return,
                room = Arc::clone(&self.room).acquire_owned() => room,
            };
            let accepted = tokio::select! {
                () = &mut end => return,
                accepted = self.accept() => accepted,
            };
            match accepted {
                Ok(stream) => {
                    let connection = self.serve(stream);
                    tokio::spawn(async move {
                        connection.await;
                        drop(room);
                    });
                }
                Err(error) => self.not_accepted(error).await,
            }
        }
    }

    /// Accepts a connection of any listener.
    async fn accept(&self) -> io::Result<TcpStream> {
        poll_fn(|task| {
            let mut polled = self.listeners.iter().map(|listener| listener.poll_accept(task));
            let ready = polled.find(Poll::is_ready);
            ready.unwrap_or(Poll::Pending).map_ok(|(stream, _)| stream)
        })
        .await
    }

    /// Closes connections as soon as their requests are answered.
    pub(crate) async fn close(self) {
        self.open.shutdown().await;
    }

    fn serve(&self, stream: TcpStream) -> impl Future<Output = ()> + Send + 'static {
        // Tokens are small and must not wait for more.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .max_buf_size(HEADER_BYTES)
            .max_headers(HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        let connection = self.open.watch(connection);
        async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection ended");
            }
        }
    }

    async fn not_accepted(&self, error: io::Error) {
        warn!(%error, "cannot accept a connection");
        // Out of file descriptors, most likely: it helps to wait.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
