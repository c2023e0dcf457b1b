//! The body of an answer, read as it comes.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::connections::Lease;
use super::failure::Failure;

/// The largest document that is taken: a page of objects of etcd's largest size.
const LARGEST: usize = 1 << 30;

/// An answer whose body is still to come.
pub(crate) struct Response {
    pub(super) body: Incoming,
    /// Held while the body is read: it says that the connection is in use.
    pub(super) lease: Lease,
    pub(super) server: String,
}

impl Response {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection broke.
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
    ///
    /// # Errors
    ///
    /// The connection broke, or there is too much of it.
    pub(crate) async fn whole(mut self) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(data) = self.next().await? {
            if whole.len() + data.len() > LARGEST {
                return Err(Failure::Unreachable(format!("an answer of the API server {} is larger than 1 GiB", self.server)));
            }
            whole.extend_from_slice(&data);
        }
        self.lease.finish();
        Ok(whole.freeze())
    }
}
