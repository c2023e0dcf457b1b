//! The connections to one server, used as long as they are open.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::time::timeout;

use super::dial::{Dialed, dial};
use super::failure::Failure;
use super::read_only::{Body, ReadOnly, Sent};
use crate::kubeconfig::{Access, Pem};

#[derive(Default)]
pub(super) struct Connections(Mutex<Vec<ReadOnly>>);

impl Connections {
    /// Sends a request on a connection that is open, or on a new one. The connection is to be held until the answer was read.
    pub(super) async fn send(
        &self,
        access: &Access,
        client: Option<&(Pem, Pem)>,
        request: Request<Body>,
    ) -> Result<(Response<Incoming>, ReadOnly), Failure> {
        let (server, quiet) = (access.server(), access.limits.quiet);
        loop {
            let (connection, is_new) = match self.free() {
                Some(open) => (open, false),
                None => (self.connect(access, client).await?, true),
            };
            let sent = timeout(quiet, connection.send(request.clone())).await.map_err(|_| Failure::silent(&server, quiet))?;
            match sent.map_err(Failure::Settings)? {
                Sent::Answered(response) => return Ok((response, connection)),
                Sent::Lost(error) => return Err(Failure::unreachable(access, in_words(&error))),
                Sent::Unsent if is_new => {
                    return Err(Failure::unreachable(access, "the connection ended before the request was sent".to_owned()));
                }
                // A server may have ended a connection that waited for its next request, which shows when that is made.
                Sent::Unsent => self.all().retain(|known| !known.is(&connection)),
            }
        }
    }

    /// Forgets all connections: the next request makes one with other credentials.
    pub(super) fn forget(&self) {
        self.all().clear();
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<ReadOnly>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self) -> Option<ReadOnly> {
        self.all().iter().find(|known| known.is_free()).cloned()
    }

    async fn connect(&self, access: &Access, client: Option<&(Pem, Pem)>) -> Result<ReadOnly, Failure> {
        let Dialed { stream, is_http2 } = dial(access, client).await?;
        let connection = ReadOnly::open(stream, is_http2).await.map_err(|error| Failure::unreachable(access, in_words(&error)))?;
        let held = connection.clone();
        self.all().push(connection);
        Ok(held)
    }
}

/// hyper's errors with what lies below them.
fn in_words(error: &hyper::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
