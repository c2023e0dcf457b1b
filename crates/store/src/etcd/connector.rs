//! One TCP or TLS connection to one member, made for tonic by ourselves, so that the cause of a failure is known exactly:
//! tonic's own connector reports a refused client certificate as a broken pipe.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

use super::config::EtcdConfig;
use super::endpoint::Endpoint;
use super::tls;
use crate::Error;

/// Why a connection was not made, or broke.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The host name has no address.
    Resolve(String),
    /// TCP failed.
    Connect(io::ErrorKind, String),
    /// Neither yes nor no within the dial timeout.
    DialTimeout(Duration),
    /// TLS failed, on our side or by the server's alert.
    Tls(rustls::Error),
    /// The server closed the connection during the TLS handshake or right after it, without a word.
    ClosedInHandshake,
    /// A TLS client hello was answered in plain text.
    PlainServer,
    /// Plain text was spoken to a port that wants TLS.
    TlsServer,
    /// etcd's peer port.
    PeerPort,
    /// A server that speaks HTTP but is not etcd: how it answers.
    OtherServer(String),
    /// The certificates cannot be read just now: the problem, and what to do about it.
    Files(String, Option<String>),
    /// The connection broke later.
    Broken(String),
}

/// The last failure of one member's connection, for the error message of the call that met it.
#[derive(Debug, Default)]
pub(super) struct LastFailure(Mutex<Option<Failure>>);

impl LastFailure {
    /// Takes the failure, leaving none.
    pub(super) fn take(&self) -> Option<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, failure: Failure) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }
}

/// Makes connections to one endpoint.
#[derive(Clone)]
pub(super) struct Connector {
    pub endpoint: Arc<Endpoint>,
    /// Its certificates are read again by every connection: they may have been renewed.
    pub config: Arc<EtcdConfig>,
    pub last_failure: Arc<LastFailure>,
}

/// How long a server may take, after the handshake, for its first word. TLS 1.3 ends the client's handshake before the server has
/// looked at our certificate; the alert that refuses it comes as the first word, and is lost if we write first.
const FIRST_WORD: Duration = Duration::from_millis(700);

impl Connector {
    async fn connect(self) -> io::Result<Connection> {
        let limit = self.config.dial_timeout;
        let made = timeout(limit, self.dial()).await.unwrap_or(Err(Failure::DialTimeout(limit)));
        match made {
            Ok(stream) => Ok(Connection { stream, last_failure: self.last_failure }),
            Err(failure) => {
                let text = format!("{failure:?}");
                self.last_failure.set(failure);
                Err(io::Error::other(text))
            }
        }
    }

    async fn dial(&self) -> Result<Box<dyn ByteStream>, Failure> {
        if !self.endpoint.tls {
            return Ok(Box::new(self.tcp().await?));
        }
        let mut stream = match self.handshake(Some(b"h2")).await {
            Err(failure) => return Err(self.explain_handshake(failure).await),
            Ok(stream) => stream,
        };
        if stream.get_ref().1.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3) {
            match timeout(FIRST_WORD, stream.fill_buf()).await {
                Ok(Ok(word)) if !word.is_empty() => {}
                Ok(Ok(_)) => return Err(Failure::ClosedInHandshake),
                Ok(Err(error)) => return Err(tls_failure(&error)),
                Err(_still_silent) => {}
            }
        }
        Ok(Box::new(stream))
    }

    /// A TLS connection with the certificates as they are now.
    pub(super) async fn handshake(&self, protocol: Option<&'static [u8]>) -> Result<TlsStream<TcpStream>, Failure> {
        let config = Arc::clone(&self.config);
        let read = tokio::task::spawn_blocking(move || tls::client_config(&config)).await;
        let mut tls = read.map_err(|error| Failure::Broken(error.to_string()))?.map_err(|error| match error {
            Error::Remote { problem, hint, .. } => Failure::Files(problem, hint),
            other => Failure::Files(other.to_string(), None),
        })?;
        tls.alpn_protocols = protocol.into_iter().map(<[u8]>::to_vec).collect();
        let name = ServerName::try_from(self.endpoint.host.clone()).map_err(|error| Failure::Resolve(error.to_string()))?;
        TlsConnector::from(Arc::new(tls)).connect(name, self.tcp().await?).await.map_err(|error| tls_failure(&error))
    }

    pub(super) async fn tcp(&self) -> Result<TcpStream, Failure> {
        let addresses = self.addresses().await?;
        let mut last = Failure::Resolve("the name has no address".to_owned());
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Err(error) => last = Failure::Connect(error.kind(), error.to_string()),
            }
        }
        Err(last)
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        let (host, port) = (self.endpoint.host.as_str(), self.endpoint.port);
        if is_localhost(host) {
            return Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]);
        }
        match tokio::net::lookup_host((host, port)).await {
            Ok(addresses) => Ok(addresses.collect()),
            Err(error) => Err(Failure::Resolve(error.to_string())),
        }
    }
}

/// Whether it is `localhost` or a name below it: the addresses of loopback, of which no one is asked (RFC 6761, 6.3). A container made of the binary
/// alone has no `/etc/hosts`, and no name server either.
fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// rustls hands its errors over inside of I/O errors.
pub(super) fn tls_failure(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => Failure::Tls(tls.clone()),
        None if closed(error.kind()) => Failure::ClosedInHandshake,
        None => Failure::Broken(in_words(error)),
    }
}

/// How a connection broke. rustls' own words for a missing end are an address in its manual.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => "the other side closed it".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => "the other side reset it".to_owned(),
        io::ErrorKind::TimedOut => "the other side no longer answers".to_owned(),
        _ => error.to_string(),
    }
}

fn closed(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe
    )
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect().await.map(TokioIo::new) })
    }
}

/// What a connection carries bytes over: TCP or TLS over TCP.
trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// A connection that remembers why it broke.
pub(super) struct Connection {
    stream: Box<dyn ByteStream>,
    last_failure: Arc<LastFailure>,
}

impl Connection {
    fn remember<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &polled {
            let failure = match tls_failure(error) {
                Failure::Tls(tls) => Failure::Tls(tls),
                _ => Failure::Broken(in_words(error)),
            };
            self.last_failure.set(failure);
        }
        polled
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) && buffer.filled().len() == before && buffer.remaining() > 0 {
            self.last_failure.set(Failure::Broken(in_words(&io::ErrorKind::UnexpectedEof.into())));
        }
        self.remember(polled)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.remember(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.remember(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
