//! Lists in protobuf, before whose items stands their length. A short list is held until that is known; a longer one is encoded twice: once to learn
//! its length, then to be sent.

use std::future::ready;
use std::io;

use axum::body::{Body, Bytes};
use futures_util::{Stream, StreamExt, stream};

use crate::wire::{ListEncoder, Result, Turns};

/// What is written of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// What stands before its last chunk.
    Items,
}

/// Returns the body of a list. `chunks` encodes it; the last chunk of the whole list is its metadata.
///
/// # Errors
/// That of the chunks.
pub(super) async fn body<S>(encoder: &ListEncoder, turns: &Turns, chunks: impl Fn(Part) -> S) -> Result<Body>
where
    S: Stream<Item = Result<Bytes>> + Send + 'static,
{
    let mut held = Some(turns.hold());
    let (mut length, mut last) = (0, Bytes::new());
    let mut first = Box::pin(chunks(Part::Whole));
    while let Some(chunk) = first.next().await {
        let earlier = std::mem::replace(&mut last, chunk?);
        length += earlier.len() as u64;
        held = held.and_then(|held| held.and(earlier));
    }
    drop(first);
    let items = match held {
        Some(held) => held.into_stream().map(Ok).boxed(),
        None => of_length(length, chunks(Part::Items)).boxed(),
    };
    let (head, tail) = encoder.envelope(&last, length);
    Ok(Body::from_stream(stream::once(ready(Ok(head.into()))).chain(items).chain(stream::once(ready(Ok(tail.into()))))))
}

/// The chunks of a list whose length was said already; an error where they are not so long.
fn of_length(length: u64, chunks: impl Stream<Item = Result<Bytes>> + Send + 'static) -> impl Stream<Item = io::Result<Bytes>> + Send {
    async_stream::stream! {
        let mut left = Some(length);
        let mut chunks = Box::pin(chunks);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|status| io::Error::other(status.to_json().to_string()));
            left = left.and_then(|left| left.checked_sub(chunk.as_ref().map_or(0, |chunk| chunk.len() as u64)));
            if left.is_none() {
                break;
            }
            yield chunk;
        }
        if left != Some(0) {
            yield Err(io::Error::other("the list changed its length between two reads"));
        }
    }
}
