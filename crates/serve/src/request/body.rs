//! The body of a request, which is bounded in bytes and in time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;

use crate::wire::{Result, Status};

/// How much more than it may have is read of a body: a client that still writes when its connection is closed may miss the answer (RFC 9112, 9.6).
const MAX_REFUSED_BYTES: usize = 1 << 20;

/// Reads a body of at most so many bytes, which has `patience` to arrive.
///
/// # Errors
/// It is longer, comes too slowly, or breaks off.
pub(crate) async fn read_body(body: Body, most: usize, patience: Duration) -> Result<Bytes> {
    let read = tokio::time::timeout(patience, read(body, most)).await;
    read.unwrap_or_else(|_| Err(Status::bad_request("the body did not come in time")))
}

async fn read(mut body: Body, most: usize) -> Result<Bytes> {
    let (mut read, mut bytes) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::bad_request(format!("the body cannot be read: {error}")))?;
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
