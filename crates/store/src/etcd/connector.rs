//! One TCP or TLS connection to one member, made for tonic by our own hands, so that what went wrong is known exactly:
//! tonic's own connector reports a refused client certificate as a broken pipe.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::codegen::Service;
use tonic::codegen::http::Uri;

use super::endpoint::Endpoint;
use super::tls;

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
    /// Set where the endpoint speaks TLS.
    pub tls: Option<Arc<ClientConfig>>,
    pub dial_timeout: Duration,
    pub last_failure: Arc<LastFailure>,
}

/// How long a server may take, after the handshake, for its first word. TLS 1.3 ends the client's handshake before the server has
/// looked at our certificate; the alert that refuses it comes as the first word, and is lost if we write first.
const FIRST_WORD: Duration = Duration::from_millis(700);

impl Connector {
    async fn connect(self) -> io::Result<Connection> {
        let made = timeout(self.dial_timeout, self.dial()).await.unwrap_or(Err(Failure::DialTimeout(self.dial_timeout)));
        match made {
            Ok(stream) => Ok(Connection { stream, last_failure: self.last_failure }),
            Err(failure) => {
                let text = format!("{failure:?}");
                self.last_failure.set(failure);
                Err(io::Error::other(text))
            }
        }
    }

    async fn dial(&self) -> Result<Box<dyn Stream>, Failure> {
        let tcp = self.tcp().await?;
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        let name = ServerName::try_from(self.endpoint.host.clone()).map_err(|error| Failure::Resolve(error.to_string()))?;
        let mut stream = match TlsConnector::from(Arc::clone(tls)).connect(name, tcp).await {
            Ok(stream) => stream,
            Err(error) => return Err(self.explain_handshake(tls_failure(&error)).await),
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

    async fn tcp(&self) -> Result<TcpStream, Failure> {
        let addresses: Vec<_> = tokio::net::lookup_host((self.endpoint.host.as_str(), self.endpoint.port))
            .await
            .map_err(|error| Failure::Resolve(error.to_string()))?
            .collect();
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

    /// Asking in plain text shows whether a handshake failed because the server does not speak TLS.
    async fn explain_handshake(&self, failure: Failure) -> Failure {
        let maybe_plain =
            matches!(&failure, Failure::ClosedInHandshake | Failure::Broken(_) | Failure::Tls(rustls::Error::InvalidMessage(_)));
        if maybe_plain && self.speaks_plain_http2().await { Failure::PlainServer } else { failure }
    }

    /// Whether the port answers an HTTP/2 preface in plain text with its settings.
    async fn speaks_plain_http2(&self) -> bool {
        /// The client's preface and an empty SETTINGS frame (RFC 9113, section 3.4).
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let Ok(mut tcp) = self.tcp().await else { return false };
        let mut header = [0; 9];
        tcp.write_all(PREFACE).await.is_ok() && tcp.read_exact(&mut header).await.is_ok() && header[3] == 4
    }

    /// Whether the port answers a TLS client hello in TLS.
    pub(super) async fn speaks_tls(&self) -> bool {
        let (Ok(tcp), Some(config)) = (self.tcp().await, tls::probe_config()) else { return false };
        let Ok(name) = ServerName::try_from(self.endpoint.host.clone()) else { return false };
        match timeout(self.dial_timeout, TlsConnector::from(config).connect(name, tcp)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => matches!(tls_failure(&error), Failure::Tls(tls) if !matches!(tls, rustls::Error::InvalidMessage(_))),
            Err(_) => false,
        }
    }
}

/// rustls hands its errors over inside of I/O errors.
fn tls_failure(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => Failure::Tls(tls.clone()),
        None if closed(error.kind()) => Failure::ClosedInHandshake,
        None => Failure::Broken(error.to_string()),
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
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that remembers why it broke.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    last_failure: Arc<LastFailure>,
}

impl Connection {
    fn remember<T>(&self, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &polled {
            let failure = match tls_failure(error) {
                Failure::Tls(tls) => Failure::Tls(tls),
                _ => Failure::Broken(error.to_string()),
            };
            self.last_failure.set(failure);
        }
        polled
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
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
