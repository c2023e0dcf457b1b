//! How far a recording has come, for Prometheus.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::position::Shared;
use crate::cli::outcome::{Error, Result};

/// How long a connection may last: a scrape ends sooner.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 16;

/// A server of metrics, until it is dropped.
pub(crate) struct Metrics {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Metrics {
    /// Begins to serve.
    pub(crate) async fn start(address: SocketAddr, shared: Arc<Shared>) -> Result<Self> {
        let failed = |error: std::io::Error| Error::new(format!("cannot listen on {address} for --metrics: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let answer = move || {
            let text = text(&shared);
            std::future::ready(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
        };
        let task = tokio::spawn(accept(listener, Router::new().route("/metrics", get(answer))));
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, routes: Router) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let routes = routes.clone();
                tokio::spawn(async move {
                    // What goes wrong with a connection concerns its client alone.
                    let _ = tokio::time::timeout(CONNECTION_TIMEOUT, serve(stream, routes)).await;
                    drop(place);
                });
            }
            // Too many open files, mostly: others may close theirs.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn serve(stream: TcpStream, routes: Router) {
    // What is written in two pieces goes out at once; without it, it is slower.
    let _ = stream.set_nodelay(true);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(CONNECTION_TIMEOUT);
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}

/// The metrics in Prometheus' text format.
fn text(shared: &Shared) -> String {
    let recorded = shared.recorded();
    let load = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed).to_string();
    let metrics = [
        ("revision", "gauge", "The last revision that is recorded.", recorded.revision.to_string()),
        (
            "etcd_revision",
            "gauge",
            "etcd's newest revision, asked for every ten seconds.",
            shared.newest.load(Ordering::Relaxed).to_string(),
        ),
        ("changes_total", "counter", "Changes recorded since the start.", recorded.changes.to_string()),
        ("missing_revisions_total", "counter", "Revisions that were compacted before they could be recorded.", load(&shared.missing)),
        ("bytes", "gauge", "Bytes of the recording.", recorded.bytes.to_string()),
        ("files", "gauge", "Files of the recording.", recorded.files.to_string()),
        ("last_flush_timestamp_seconds", "gauge", "When something was last recorded.", load(&shared.flushed)),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in metrics {
        let _ = writeln!(text, "# HELP ketcd_record_{name} {help}\n# TYPE ketcd_record_{name} {kind}\nketcd_record_{name} {value}");
    }
    text
}
