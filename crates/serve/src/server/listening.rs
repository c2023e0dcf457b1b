//! The socket and its connections: TLS, and the routes behind it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::newcomers::{Client, Newcomers, Step};
use super::tls::{Certificate, CertificateFiles};
use crate::access::{Access, Address};
use crate::data::Limits;

/// The largest head of a request, URL and headers, in bytes.
const MAX_REQUEST_HEAD_BYTES: usize = 64 << 10;

/// A socket, with what clients must show and trust.
pub(super) struct Door {
    pub listener: TcpListener,
    pub address: Address,
    pub certificate: Certificate,
    pub access: Access,
    /// What clients must show.
    pub token: String,
}

impl Door {
    /// Listens.
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on, or the certificate not be used.
    pub(super) async fn open(listen: SocketAddr, certificate: Option<&CertificateFiles>) -> Result<Self, String> {
        let listener = TcpListener::bind(listen).await.map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let bound = listener.local_addr().map_err(|error| format!("cannot listen on {listen}: {error}"))?;
        let address = Address::new(bound);
        let certificate = match certificate {
            Some(files) => Certificate::read(files)?,
            None => Certificate::for_run(address.subjects()).map_err(|error| format!("cannot make a certificate: {error}"))?,
        };
        let address = address.with_names(&certificate.names);
        let (access, token) = Access::new(address.clone())?;
        Ok(Self { listener, address, certificate, access, token })
    }
}

/// What connections are served with.
#[derive(Clone)]
pub(super) struct Serving {
    /// None where the page alone is served.
    tls: Option<TlsAcceptor>,
    routes: Router,
    /// Connections that have not shown the token yet.
    pub newcomers: Arc<Newcomers>,
    limits: Limits,
}

impl Serving {
    /// Serves these routes.
    pub(super) fn new(routes: Router, limits: Limits, tls: Option<TlsAcceptor>) -> Self {
        Self { tls, routes, newcomers: Newcomers::new(&limits), limits }
    }

    /// Accepts connections. They end with it.
    pub(super) async fn accept(self, listener: TcpListener) {
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
    pub(super) async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, client: &Arc<Client>) {
        client.reach(Step::Handshake);
        match &self.tls {
            Some(tls) => {
                let Ok(stream) = tls.accept(stream).await else { return };
                self.answer(stream, client).await;
            }
            None => self.answer(stream, client).await,
        }
    }

    /// Answers the requests of a connection.
    async fn answer(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, client: &Arc<Client>) {
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
pub(super) async fn next(listener: &TcpListener) -> std::io::Result<(TcpStream, SocketAddr)> {
    let (stream, from) = listener.accept().await?;
    // An answer is written in pieces, and the last of them is not to wait until the client has acknowledged those before.
    stream.set_nodelay(true)?;
    Ok((stream, from))
}
