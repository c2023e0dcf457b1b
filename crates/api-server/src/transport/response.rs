//! The body of an answer, read as it comes.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use super::failure::Failure;
use super::read_only::ReadOnly;
use crate::limits::Limits;

/// An answer whose body is still to come.
pub(crate) struct Response {
    pub(super) body: Incoming,
    /// Held while the body is read: it says that the connection is in use.
    pub(super) _connection: ReadOnly,
    pub(super) server: String,
    pub(super) limits: Limits,
}

impl Response {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(frame) = self.body.frame().await {
            let frame =
                frame.map_err(|error| Failure::Unreachable(format!("the connection to the API server {} broke: {error}", self.server)))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// The whole body.
    pub(crate) async fn whole(mut self) -> Result<Bytes, Failure> {
        let Limits { document, quiet, least, .. } = self.limits;
        let (mut whole, mut before, mut until) = (BytesMut::new(), 0, Instant::now() + quiet);
        loop {
            match timeout_at(until, self.next()).await {
                Ok(next) => match next? {
                    None => break,
                    Some(data) if whole.len() + data.len() > document => {
                        let (server, most) = (&self.server, document >> 20);
                        return Err(Failure::Untrue(format!("an answer of the API server {server} is larger than {most} MiB")));
                    }
                    Some(data) => whole.extend_from_slice(&data),
                },
                Err(_elapsed) => {}
            }
            if Instant::now() >= until {
                if whole.len() - before < least {
                    return Err(Failure::silent(&self.server, quiet));
                }
                (before, until) = (whole.len(), Instant::now() + quiet);
            }
        }
        Ok(whole.freeze())
    }
}
