//! The server: its socket, its connections, its token and its kubeconfig.

mod backpressure;
mod kubeconfig;
mod newcomers;
mod places;
mod router;
#[cfg(test)]
mod tests;
mod tls;
mod websocket;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use ketcd_cluster::Cluster;

pub use self::kubeconfig::is_own as is_own_kubeconfig;
pub use self::tls::CertificateFiles;

use self::kubeconfig::Kubeconfig;
use self::newcomers::{Client, Newcomers, Step};
use self::places::Places;
use self::router::Front;
use self::tls::Certificate;
use crate::access::{Access, Address};
use crate::data::{App, Limits, Replay, Served};

/// The largest head of a request, URL and headers, in bytes.
const MAX_REQUEST_HEAD_BYTES: usize = 64 << 10;

/// How to serve.
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The user's certificate; else one is made for the run.
    pub certificate: Option<CertificateFiles>,
    /// Where to write the kubeconfig; else a private file that goes away with the server.
    pub kubeconfig: Option<PathBuf>,
    /// How many files the process may open, connections among them.
    pub files: usize,
    /// How many times as fast as it did time passes, from the moment asked for on; else it stands still.
    pub speed: Option<f64>,
}

/// A server that answers until it is dropped.
pub struct Server {
    address: SocketAddr,
    kubeconfig: Kubeconfig,
    replay: Option<Arc<Replay>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts to serve; the kubeconfig is written when requests are answered. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on, the certificate not be used, the kubeconfig not be written, the data not be replayed.
    pub async fn start(cluster: Arc<Cluster>, options: &Options) -> Result<Self, String> {
        let data = Arc::new(Served::new(cluster).await.map_err(|error| error.to_string())?);
        let listen = options.listen;
        let listener = TcpListener::bind(listen).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let bound = listener.local_addr().map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = Address::new(bound);
        let certificate = match &options.certificate {
            Some(files) => Certificate::read(files)?,
            None => Certificate::for_run(address.subjects()).map_err(|error| format!("cannot make a certificate: {error}"))?,
        };
        let address = address.with_names(&certificate.names);
        let (access, token) = Access::new(address.clone())?;
        let replay = match options.speed {
            Some(speed) => Some(Arc::new(Replay::begin(Arc::clone(&data), speed).await?)),
            None => None,
        };
        let app = App::new(data, replay.clone(), Limits::of_files(options.files));
        let task = tokio::spawn(Serving::new(app, access, certificate.acceptor).accept(listener));
        let kubeconfig = Kubeconfig::write(options.kubeconfig.as_deref(), &address, &token, &certificate.pem).map_err(|error| {
            let path = options.kubeconfig.as_deref().unwrap_or(Path::new("a temporary file"));
            format!("cannot write the kubeconfig to {}: {error}", path.display())
        })?;
        Ok(Self { address: address.told, kubeconfig, replay, task })
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the kubeconfig is.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }

    /// What is replayed.
    pub fn replay(&self) -> Option<&Replay> {
        self.replay.as_deref()
    }
}

impl Drop for Server {
    /// Ends the connections that are open, watches among them.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What connections are served with.
#[derive(Clone)]
struct Serving {
    tls: TlsAcceptor,
    routes: Router,
    newcomers: Arc<Newcomers>,
    limits: Limits,
}

impl Serving {
    fn new(app: App, access: Access, tls: TlsAcceptor) -> Self {
        let limits = app.limits;
        let front = Front { access, places: Places::new(&limits), app: Arc::new(app) };
        let routes = Router::new().fallback(router::handle).with_state(Arc::new(front));
        Self { tls, routes, newcomers: Newcomers::new(&limits), limits }
    }

    /// Accepts connections. They end with it.
    async fn accept(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            match next(&listener).await {
                Ok((stream, from)) => {
                    let client = Arc::new(self.newcomers.arrive(from.ip()));
                    connections.spawn(self.clone().connection(stream, client));
                }
                // Too many open files, mostly.
                Err(_) => {
                    self.newcomers.close_one();
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
    }

    /// Serves one connection until it ends or must make room. What goes wrong with it concerns its client alone, who sees it end.
    async fn connection(self, stream: TcpStream, client: Arc<Client>) {
        let served = async {
            if stream.readable().await.is_ok() {
                self.serve(stream, &client).await;
            }
        };
        client.while_open(served).await;
    }

    /// Serves a connection whose client has begun to speak.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, client: &Arc<Client>) {
        client.reach(Step::Handshake);
        let Ok(stream) = self.tls.accept(stream).await else { return };
        client.reach(Step::Asking);
        let patience = self.limits.head;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(MAX_REQUEST_HEAD_BYTES);
        // Clients that vanished are noticed.
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(patience).max_header_list_size(MAX_REQUEST_HEAD_BYTES as u32);
        let routes = self.routes.clone().layer(Extension(Arc::clone(client)));
        let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
    }
}

/// Accepts a connection.
async fn next(listener: &TcpListener) -> std::io::Result<(TcpStream, SocketAddr)> {
    let (stream, from) = listener.accept().await?;
    // An answer is written in pieces, and the last of them is not to wait until the client has acknowledged those before.
    stream.set_nodelay(true)?;
    Ok((stream, from))
}
