//! Another service behind the same door: with TLS, to clients that show the token, on an address that is the server's own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use tokio::task::JoinHandle;

use super::listening::{Door, Serving};
use super::newcomers::Client;
use super::places::Places;
use super::tls::CertificateFiles;
use crate::access::Access;
use crate::data::Limits;
use crate::request::read_body;
use crate::wire::{Encoding, Result, respond_failure};

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
        let guard = Arc::new(Guard { access, places: Places::new(&limits), request_bytes: options.request_bytes, patience: limits.body });
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
    /// How long a request may take to arrive.
    patience: Duration,
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
    let body = read_body(body, if entered.is_ok() { guard.request_bytes } else { 0 }, guard.patience).await;
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
