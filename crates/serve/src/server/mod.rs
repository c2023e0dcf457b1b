//! The server: its socket, its connections, its token and its kubeconfig.

mod backpressure;
mod kubeconfig;
mod newcomers;
mod places;
mod router;
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
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tower_http::catch_panic::CatchPanicLayer;

use ketcd_cluster::Cluster;

pub use self::kubeconfig::is_own as is_own_kubeconfig;
pub use self::tls::CertificateFiles;

use self::kubeconfig::Kubeconfig;
use self::newcomers::{Client, Newcomers, Step};
use self::places::Places;
use self::router::Front;
use self::tls::Certificate;
use crate::access::{Access, Address};
use crate::data::{App, Replay, Served};

/// How long a client may take for the head of a request, and to answer a ping.
const PATIENCE: Duration = Duration::from_secs(10);

/// The largest head of a request, URL and headers, in bytes.
const HEAD: usize = 64 << 10;

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
        let front = Front { access, places: Places::new(options.files), app: Arc::new(App::new(data, replay.clone())) };
        let routes = Router::new().fallback(router::handle).with_state(Arc::new(front)).layer(CatchPanicLayer::new());
        let task = tokio::spawn(accept(listener, certificate.acceptor, routes, Newcomers::new(options.files)));
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

/// Accepts connections. They end with it.
async fn accept(listener: TcpListener, tls: TlsAcceptor, routes: Router, newcomers: Arc<Newcomers>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match next(&listener).await {
            Ok((stream, from)) => {
                let client = Arc::new(newcomers.arrive(from.ip()));
                connections.spawn(connection(stream, tls.clone(), routes.clone(), client));
            }
            // Too many open files, mostly.
            Err(_) => {
                newcomers.close_one();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// Accepts a connection.
async fn next(listener: &TcpListener) -> std::io::Result<(TcpStream, SocketAddr)> {
    let (stream, from) = listener.accept().await?;
    // An answer is written in pieces, and the last of them is not to wait until the client has acknowledged those before.
    stream.set_nodelay(true)?;
    Ok((stream, from))
}

/// Serves one connection until it ends or must make room. What goes wrong with it concerns its client alone, who sees it end.
async fn connection(stream: TcpStream, tls: TlsAcceptor, routes: Router, client: Arc<Client>) {
    tokio::select! {
        () = serve(stream, tls, routes, &client) => {}
        () = client.closed() => {}
    }
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, routes: Router, client: &Arc<Client>) {
    if stream.readable().await.is_err() {
        return;
    }
    client.reach(Step::Handshake);
    let Ok(stream) = tls.accept(stream).await else { return };
    client.reach(Step::Asking);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD);
    // Clients that vanished are noticed.
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PATIENCE).max_header_list_size(HEAD as u32);
    let routes = routes.layer(Extension(Arc::clone(client)));
    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(routes)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_goes_out_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, from) = next(&listener).await.unwrap();
        assert_eq!(from, client.local_addr().unwrap());
        assert!(stream.nodelay().unwrap());
    }
}
