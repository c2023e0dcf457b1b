//! Requests to one API server, as one user, repeated where that may help.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::Request;
use hyper::header::{ACCEPT, AUTHORIZATION, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use ketcd_store::{Error, KeyRange};
use tokio::time::{Instant, sleep, timeout};

use super::connections::Connections;
use super::failure::Failure;
use super::pace::{Backoff, Pace};
use super::read_only::Body;
use super::response::Response;
use crate::kubeconfig::{Access, Identity};
use crate::limits::Limits;
use crate::problem::settings;

/// How often a request is made that fails for a while.
const MAX_TRIES: u32 = 6;
/// What is read of the text of a refusal.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Whole objects.
pub(crate) const JSON_ACCEPT: &str = "application/json";
pub(crate) const METADATA_ACCEPT: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

pub(crate) struct Client {
    access: Access,
    connections: Connections,
    pace: Pace,
}

impl Client {
    pub(crate) fn new(access: Access) -> Self {
        Self { access, connections: Connections::default(), pace: Pace::new() }
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Asks once; again where a plugin's credential was refused, as it may have been revoked.
    pub(crate) async fn get(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        match self.get_once(path, accept).await {
            Err(Failure::Refused { code: 401, .. }) if self.access.credentials.forget().await => {
                self.connections.forget();
                self.get_once(path, accept).await
            }
            answer => answer,
        }
    }

    /// Asks for a whole document, several times if need be. `what` names it in errors, `keys` are those that it stands for.
    pub(crate) async fn document(&self, path: &str, accept: &str) -> Result<Bytes, Failure> {
        let (mut backoff, begun) = (Backoff::default(), Instant::now());
        let Limits { patience, longest_wait, .. } = self.access.limits;
        loop {
            let answer = match self.get(path, accept).await {
                Ok(response) => response.whole().await,
                Err(failure) => Err(failure),
            };
            match answer {
                // What took long to fail would take as long again.
                Err(failure @ Failure::Silent(_)) => return Err(failure),
                Err(failure)
                    if failure.is_transient()
                        && !failure.is_future()
                        && backoff.failures() + 1 < MAX_TRIES
                        && begun.elapsed() < patience =>
                {
                    sleep(backoff.after_failure(failure.retry_after().map(|asked| asked.min(longest_wait)))).await;
                }
                answer => return answer,
            }
        }
    }

    /// The error of who asked for `what`, which stands for these keys.
    pub(crate) fn error(&self, failure: Failure, what: &str, keys: &KeyRange) -> Error {
        failure.into_error(&self.access, what, keys)
    }

    async fn get_once(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        self.pace.turn().await;
        let Identity { authorization, client } = self.access.credentials.identity().await.map_err(Failure::Settings)?;
        let request = self.request(path, accept, authorization.as_ref().map(|value| value.as_str())).map_err(Failure::Settings)?;
        let (server, quiet) = (self.access.server(), self.access.limits.quiet);
        let (response, connection) = self.connections.send(&self.access, client.as_ref(), request).await?;
        let (parts, body) = response.into_parts();
        if parts.status == hyper::StatusCode::OK {
            return Ok(Response { body, _connection: connection, server, limits: self.access.limits });
        }
        let retry_after = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let text = timeout(quiet, Limited::new(body, MAX_REFUSAL_BYTES).collect()).await;
        let text = text.ok().and_then(Result::ok).map(|body| body.to_bytes()).unwrap_or_default();
        Err(Failure::refused(parts.status.as_u16(), retry_after, &text))
    }

    fn request(&self, path: &str, accept: &str, authorization: Option<&str>) -> Result<Request<Body>, Error> {
        let unusable = || settings("what the kubeconfig says of the user cannot be sent", "check the user in the kubeconfig");
        let Access { address, impersonation, .. } = &self.access;
        let mut request = Request::get(format!("{address}{path}")).header(HOST, address.authority());
        request = request.header(ACCEPT, accept).header(USER_AGENT, concat!("ketcd/", env!("CARGO_PKG_VERSION")));
        for (name, value) in impersonation {
            request = request.header(name, value);
        }
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::from_str(authorization).map_err(|_| unusable())?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        request.body(Body::new()).map_err(|_| unusable())
    }
}
