//! The one way to a server: a connection on which only GET requests pass.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::{CONNECTION, HOST, UPGRADE};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ketcd_store::Result;
use tokio::sync::Mutex;

use super::dial::ByteStream;
use crate::problem::settings;

/// How many requests share one HTTP/2 connection. An API server allows 100 or 250 at once, and a watch counts as long as it lasts.
const MAX_SHARED_REQUESTS: usize = 64;
/// A connection that is silent for so long is asked for a sign of life, and given up after another while (client-go's defaults).
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(15);

/// A request has no body: its type has none.
pub(super) type Body = Empty<Bytes>;

/// A connection that has no way to write. Whoever holds a copy uses it: a request, until its answer was read.
#[derive(Clone)]
pub(super) struct ReadOnly {
    protocol: Protocol,
    copies: Arc<()>,
}

#[derive(Clone)]
enum Protocol {
    Http1(Arc<Mutex<http1::SendRequest<Body>>>),
    Http2(http2::SendRequest<Body>),
}

/// What became of a request.
pub(super) enum Sent {
    Answered(Response<Incoming>),
    /// The server had ended the connection: nothing was sent.
    Unsent,
    /// The connection broke.
    Lost(hyper::Error),
}

impl ReadOnly {
    /// Begins to speak HTTP.
    pub(super) async fn open(stream: Box<dyn ByteStream>, is_http2: bool) -> hyper::Result<Self> {
        let stream = TokioIo::new(stream);
        let protocol = if is_http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            builder.timer(TokioTimer::new()).keep_alive_interval(PING_AFTER).keep_alive_timeout(PING_PATIENCE).adaptive_window(true);
            let (sender, connection) = builder.handshake(stream).await?;
            tokio::spawn(connection);
            Protocol::Http2(sender)
        } else {
            let (sender, connection) = http1::handshake(stream).await?;
            tokio::spawn(connection);
            Protocol::Http1(Arc::new(Mutex::new(sender)))
        };
        Ok(Self { protocol, copies: Arc::default() })
    }

    /// Whether another request may use it: those of HTTP/1.1 take turns. Who asks holds the only copy that no request has.
    pub(super) fn is_free(&self) -> bool {
        let most = if matches!(self.protocol, Protocol::Http2(_)) { MAX_SHARED_REQUESTS } else { 1 };
        Arc::strong_count(&self.copies) <= most
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.copies, &other.copies)
    }

    /// Sends a request. One that may do more than read is refused, and nothing is sent.
    pub(super) async fn send(&self, mut request: Request<Body>) -> Result<Sent> {
        // An upgraded connection would carry what nobody looks at: `kubectl exec` is a GET too.
        if request.method() != Method::GET || request.headers().contains_key(UPGRADE) || request.headers().contains_key(CONNECTION) {
            let problem = format!("ketcd only reads: it does not send {} {}", request.method(), request.uri().path());
            return Err(settings(problem, "this is a bug in ketcd: please report it"));
        }
        let sent = match &self.protocol {
            Protocol::Http1(sender) => {
                let mut sender = sender.lock().await;
                // The task of the connection may not have seen yet that the last answer was read to its end.
                if sender.ready().await.is_err() {
                    return Ok(Sent::Unsent);
                }
                *request.uri_mut() = request.uri().path_and_query().cloned().map_or_else(Uri::default, Uri::from);
                sender.try_send_request(request).await
            }
            Protocol::Http2(sender) => {
                let mut sender = sender.clone();
                if sender.ready().await.is_err() {
                    return Ok(Sent::Unsent);
                }
                // HTTP/2 has it among its own fields.
                request.headers_mut().remove(HOST);
                sender.try_send_request(request).await
            }
        };
        Ok(match sent {
            Ok(response) => Sent::Answered(response),
            // A request that comes back was not sent.
            Err(mut error) => match error.take_message() {
                Some(_) => Sent::Unsent,
                None => Sent::Lost(error.into_error()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::*;

    async fn opened(is_http2: bool) -> (ReadOnly, DuplexStream) {
        let (near, far) = duplex(1 << 16);
        (ReadOnly::open(Box::new(near), is_http2).await.unwrap(), far)
    }

    /// Tries what may write, then sends a GET that the server gets.
    async fn tried(connection: &ReadOnly) {
        let request = || Request::builder().uri("http://server/api/v1/pods").header(HOST, "server");
        for method in ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"] {
            let error = connection.send(request().method(method).body(Empty::new()).unwrap()).await.err().unwrap().to_string();
            assert!(error.contains(&format!("does not send {method} /api/v1/pods")), "{error}");
        }
        for (name, value) in [(UPGRADE, "websocket"), (UPGRADE, "SPDY/3.1"), (CONNECTION, "Upgrade")] {
            assert!(connection.send(request().header(name, value).body(Empty::new()).unwrap()).await.is_err(), "{value}");
        }
        let (connection, request) = (connection.clone(), request().body(Empty::new()).unwrap());
        tokio::spawn(async move { connection.send(request).await });
    }

    #[tokio::test]
    async fn only_get_leaves_on_http1() {
        let (connection, mut server) = opened(false).await;
        tried(&connection).await;
        let mut first = [0; 23];
        server.read_exact(&mut first).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&first), "GET /api/v1/pods HTTP/1");
    }

    #[tokio::test]
    async fn only_get_leaves_on_http2() {
        let (connection, mut server) = opened(true).await;
        tried(&connection).await;
        server.read_exact(&mut [0; 24]).await.unwrap();
        // Frames (RFC 9113, section 4.1) to the first that begins a request: its stream is the first, and `:method: GET` a field of HPACK's table.
        loop {
            let mut head = [0; 9];
            server.read_exact(&mut head).await.unwrap();
            let mut payload = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
            server.read_exact(&mut payload).await.unwrap();
            if head[3] == 1 {
                assert_eq!((&head[5..], payload[0]), (&[0, 0, 0, 1][..], 0x82));
                break;
            }
        }
    }

    #[tokio::test]
    async fn requests_share_http2_and_take_turns_on_http1() {
        for (is_http2, most) in [(false, 1), (true, MAX_SHARED_REQUESTS)] {
            let (connection, _server) = opened(is_http2).await;
            let mut requests: Vec<ReadOnly> = (1..most).map(|_| connection.clone()).collect();
            assert!(connection.is_free() && requests.iter().all(|request| request.is(&connection)));
            requests.push(connection.clone());
            assert!(!connection.is_free());
            drop(requests);
            assert!(connection.is_free());
        }
    }
}
