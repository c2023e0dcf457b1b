//! Another service behind the same door: with TLS, to clients that show the token, on an address that is the server's own.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use http_body_util::BodyExt;
use tokio::task::JoinHandle;

use super::listening::{Door, Serving};
use super::newcomers::Client;
use super::places::Places;
use super::tls::CertificateFiles;
use crate::access::Access;
use crate::data::Limits;
use crate::wire::{Encoding, Result, Status, respond_failure};

/// How much of a refused request is read: a client that still writes when its connection is closed may miss the answer (RFC 9112, 9.6).
const MAX_REFUSED_BYTES: usize = 1 << 20;

/// How to serve it.
pub struct GuardedOptions {
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The user's certificate; else one is made for the run.
    pub certificate: Option<CertificateFiles>,
    /// How many files the process may open, connections among them.
    pub files: usize,
    /// The bytes of the longest request.
    pub request_bytes: usize,
}

/// A service that answers until it is dropped.
pub struct Guarded {
    /// Where clients find it: the host and the port.
    pub authority: String,
    /// What they must show.
    pub token: String,
    /// The certificates that they are to trust, in PEM.
    pub certificate: String,
    task: JoinHandle<()>,
}

impl Guarded {
    /// Starts to serve these routes. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// A sentence: the address cannot be listened on, or the certificate not be used.
    pub async fn start(routes: Router, options: &GuardedOptions) -> Result<Self, String> {
        let Door { listener, address, certificate, access, token } = Door::open(options.listen, options.certificate.as_ref()).await?;
        let limits = Limits::of_files(options.files);
        let guard = Arc::new(Guard { access, places: Places::new(&limits), request_bytes: options.request_bytes });
        let routes = routes.layer(middleware::from_fn_with_state(guard, pass));
        let task = tokio::spawn(Serving::new(routes, limits, Some(certificate.acceptor)).accept(listener));
        let authority = match address.certified_name() {
            Some(name) => format!("{name}:{}", address.told.port()),
            None => address.told.to_string(),
        };
        Ok(Self { authority, token, certificate: certificate.pem, task })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a request must pass.
struct Guard {
    access: Access,
    places: Places,
    request_bytes: usize,
}

/// Passes a request on, if it may be asked, in its turn.
async fn pass(State(guard): State<Arc<Guard>>, Extension(client): Extension<Arc<Client>>, request: Request, next: Next) -> Response {
    let checked = guard.access.check(request.uri(), request.headers());
    let entered: Result<()> = async {
        checked?;
        client.welcome(&guard.places).await
    }
    .await;
    let (parts, body) = request.into_parts();
    let body = read(body, if entered.is_ok() { guard.request_bytes } else { 0 }).await;
    let in_turn: Result<_> = async {
        entered?;
        Ok((body?, guard.places.request(false).await?))
    }
    .await;
    match in_turn {
        Ok((body, _place)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Err(status) => respond_failure(Encoding::Json, &status),
    }
}

/// Reads a request of at most so many bytes.
async fn read(mut body: Body, most: usize) -> Result<Bytes> {
    let (mut read, mut bytes) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(format!("the request ends early: {error}")))?;
        // Nobody has a use for trailers.
        let data = frame.into_data().unwrap_or_default();
        bytes += data.len();
        if bytes <= most {
            read.extend_from_slice(&data);
        } else if bytes > most + MAX_REFUSED_BYTES {
            break;
        }
    }
    if bytes > most { Err(Status::too_large(most)) } else { Ok(read.into()) }
}
