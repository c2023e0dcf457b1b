//! The connections to one server: requests share those of HTTP/2, and take turns on those of HTTP/1.1.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::time::timeout;

use super::dial::{Dialed, dial};
use super::failure::Failure;
use crate::kubeconfig::{Access, Pem};

/// How many requests share one HTTP/2 connection. An API server allows 100 or 250 at once, and a watch counts as long as it lasts.
const SHARED: usize = 64;
/// A connection that is silent for so long is asked for a sign of life, and given up after another while (client-go's defaults).
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_PATIENCE: Duration = Duration::from_secs(15);

type Body = Empty<Bytes>;

/// The connections that are open.
#[derive(Default)]
pub(super) struct Connections {
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    shared: Vec<(http2::SendRequest<Body>, Arc<()>)>,
    idle: Vec<http1::SendRequest<Body>>,
}

/// A connection in use by a request.
pub(super) struct Lease {
    open: Arc<Mutex<Open>>,
    own: Option<http1::SendRequest<Body>>,
    _shared: Option<Arc<()>>,
}

impl Lease {
    /// Gives the connection back: the answer was read to its end.
    pub(super) fn finish(mut self) {
        if let Some(own) = self.own.take() {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).idle.push(own);
        }
    }
}

enum Taken {
    Shared(http2::SendRequest<Body>, Arc<()>),
    Own(http1::SendRequest<Body>),
}

impl Connections {
    /// Sends a request on a connection that is open, or on a new one.
    ///
    /// # Errors
    ///
    /// There is no connection, or it broke before an answer came.
    pub(super) async fn send(
        &self,
        access: &Access,
        client: Option<&(Pem, Pem)>,
        request: Request<Body>,
    ) -> Result<(Response<Incoming>, Lease), Failure> {
        // A server may have ended a connection that waited for its next request, which shows when that is made.
        while let Some(taken) = self.take() {
            if let Some(answered) = self.ask(access, taken, request.clone()).await? {
                return Ok(answered);
            }
        }
        let lost = || Failure::unreachable(access, "the connection ended before the request was sent".to_owned());
        self.ask(access, self.connect(access, client).await?, request).await?.ok_or_else(lost)
    }

    /// Sends a request on a connection; `None` where the server has ended that, so that nothing was sent.
    async fn ask(&self, access: &Access, taken: Taken, mut request: Request<Body>) -> Result<Option<(Response<Incoming>, Lease)>, Failure> {
        let quiet = access.limits.quiet;
        let asked = async {
            match taken {
                Taken::Shared(mut sender, load) => {
                    if sender.ready().await.is_err() {
                        return None;
                    }
                    // HTTP/2 has it among its own fields.
                    request.headers_mut().remove(HOST);
                    Some((sender.try_send_request(request).await, None, Some(load)))
                }
                Taken::Own(mut sender) => {
                    // The task of the connection may not have seen yet that the last answer was read to its end.
                    if sender.ready().await.is_err() {
                        return None;
                    }
                    let path = request.uri().path_and_query().cloned();
                    *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
                    Some((sender.try_send_request(request).await, Some(sender), None))
                }
            }
        };
        let asked = timeout(quiet, asked).await.map_err(|_| Failure::silent(&access.server(), quiet))?;
        match asked {
            Some((Ok(response), own, shared)) => Ok(Some((response, Lease { open: Arc::clone(&self.open), own, _shared: shared }))),
            // The request came back: it was not sent.
            Some((Err(mut error), ..)) => match error.take_message() {
                Some(_) => Ok(None),
                None => Err(Failure::unreachable(access, in_words(error.error()))),
            },
            None => Ok(None),
        }
    }

    /// Forgets all connections: the next request makes one with other credentials.
    pub(super) fn forget(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.shared.clear();
        open.idle.clear();
    }

    fn take(&self) -> Option<Taken> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.shared.retain(|(sender, _)| !sender.is_closed());
        open.idle.retain(|sender| !sender.is_closed());
        let free = open.shared.iter().find(|(_, load)| Arc::strong_count(load) <= SHARED);
        match free {
            Some((sender, load)) => Some(Taken::Shared(sender.clone(), Arc::clone(load))),
            None => open.idle.pop().map(Taken::Own),
        }
    }

    async fn connect(&self, access: &Access, client: Option<&(Pem, Pem)>) -> Result<Taken, Failure> {
        let Dialed { stream, is_http2 } = dial(access, client).await?;
        let lost = |error: hyper::Error| Failure::unreachable(access, in_words(&error));
        if !is_http2 {
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
            tokio::spawn(connection);
            return Ok(Taken::Own(sender));
        }
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.timer(TokioTimer::new()).keep_alive_interval(PING_AFTER).keep_alive_timeout(PING_PATIENCE).adaptive_window(true);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(lost)?;
        tokio::spawn(connection);
        let load = Arc::new(());
        self.open.lock().unwrap_or_else(PoisonError::into_inner).shared.push((sender.clone(), Arc::clone(&load)));
        Ok(Taken::Shared(sender, load))
    }
}

/// hyper's errors with what lies below them.
fn in_words(error: &hyper::Error) -> String {
    use std::error::Error;
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
