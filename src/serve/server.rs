//! The server: its socket, its connections, its token and its kubeconfig.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tower_http::catch_panic::CatchPanicLayer;

use super::access::Access;
use super::app::App;
use super::data::Data;
use super::kubeconfig::Kubeconfig;
use super::router;
use super::tls::Certificate;

/// So long a client may take for its handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How to serve.
pub(crate) struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where to write the kubeconfig; else a private file that goes away with the server.
    pub kubeconfig: Option<PathBuf>,
}

/// A server that answers until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    kubeconfig: Kubeconfig,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts to serve; the kubeconfig is written when requests are answered. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on, the kubeconfig not be written.
    pub(crate) async fn start(data: Arc<dyn Data>, options: &Options) -> Result<Self, String> {
        let listen = options.listen;
        if !listen.ip().is_loopback() {
            return Err(format!("{listen} can be reached from other machines, which is not supported; listen on 127.0.0.1:0"));
        }
        let listener = TcpListener::bind(listen).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let (access, token) = Access::new(address)?;
        let app = Arc::new(App::new(data, access));
        let routes = Router::new().fallback(router::handle).with_state(app).layer(CatchPanicLayer::new());
        let certificate = Certificate::for_run(address.ip()).map_err(|error| format!("cannot make a certificate: {error}"))?;
        let task = tokio::spawn(accept(listener, certificate.acceptor, routes));
        let kubeconfig = Kubeconfig::write(options.kubeconfig.as_deref(), address, &token, &certificate.pem).map_err(|error| {
            let path = options.kubeconfig.as_deref().unwrap_or(Path::new("a temporary file"));
            format!("cannot write the kubeconfig to {}: {error}", path.display())
        })?;
        Ok(Self { address, kubeconfig, task })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }
}

impl Drop for Server {
    /// Ends the connections that are open, watches among them.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts connections. They end with it.
async fn accept(listener: TcpListener, tls: TlsAcceptor, routes: Router) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, tls.clone(), routes.clone()))),
                // Too many open files, mostly: others may close theirs.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection. What goes wrong with it concerns its client alone, who sees it end.
async fn connection(stream: TcpStream, tls: TlsAcceptor, routes: Router) {
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    builder.http2().timer(TokioTimer::new());
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}
