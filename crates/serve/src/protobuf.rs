//! Protobuf, which clients made with client-go ask for: objects, lists and the frames of a watch.
//!
//! Sources: apimachinery v0.36 `pkg/runtime/serializer/protobuf/protobuf.go` for envelopes and `pkg/util/framer/framer.go` for frames.

use std::future::ready;
use std::io;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use ketcd_kube::{ENVELOPE_TAIL, Encoder, Release, append_watch_event, envelope_head};
use serde_json::Value;

use super::limits::Limits;
use super::list::Part;
use super::status::{Result, Status};

/// Its media type.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Its media type where it is a watch.
pub(super) const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Returns an object in protobuf.
///
/// # Errors
/// Its kind has no protobuf, or it does not fit its type.
pub(super) fn document(object: &Value, release: Release) -> Result<Vec<u8>> {
    match ketcd_kube::encode(object, release) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Status::not_acceptable(format!("objects of kind {} of {} have no protobuf", object["kind"], object["apiVersion"]))),
        Err(error) => Err(unfit(object, &error)),
    }
}

fn unfit(object: &Value, error: &ketcd_kube::EncodeError) -> Box<Status> {
    Status::not_acceptable(format!("{} {}: {error}; ask for JSON", object["kind"].as_str().unwrap_or("object"), object["metadata"]["name"]))
}

/// Returns the response of an object.
pub(super) fn respond(object: &Value, release: Release) -> Result<Response> {
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], Body::from(document(object, release)?)).into_response())
}

/// Appends a frame of a watch.
///
/// # Errors
/// As [`document`].
pub(super) fn frame(kind: &str, object: &Value, release: Release, out: &mut Vec<u8>) -> Result<()> {
    let object = document(object, release)?;
    let start = out.len();
    out.extend([0; 4]);
    append_watch_event(kind, &object, out);
    let length = u32::try_from(out.len() - start - 4).map_err(|_| Status::internal("an object of more than 4 GiB"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Writes a list. Its length stands before it.
#[derive(Debug)]
pub(super) struct ListEncoder {
    encoder: Encoder,
    api_version: String,
    kind: String,
}

impl ListEncoder {
    /// The encoder of a list of this kind.
    ///
    /// # Errors
    /// The kind has no protobuf.
    pub(super) fn new(api_version: String, kind: String, release: Release) -> Result<Self> {
        match Encoder::of(&api_version, &kind, release) {
            Some(encoder) => Ok(Self { encoder, api_version, kind }),
            None => Err(Status::not_acceptable(format!("lists of kind {kind} of {api_version} have no protobuf"))),
        }
    }

    /// Appends an item.
    ///
    /// # Errors
    /// It does not fit its type.
    pub(super) fn item(&self, item: &Value, out: &mut Vec<u8>) -> Result<()> {
        self.encoder.append_member("items", item, out).map_err(|error| unfit(item, &error))
    }

    /// Returns the list's metadata.
    ///
    /// # Errors
    /// It does not fit its type.
    pub(super) fn metadata(&self, metadata: &Value) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encoder.append_member("metadata", metadata, &mut out).map_err(|error| Status::internal(*error))?;
        Ok(out)
    }

    /// Returns the response of a list. `chunks` encodes it; the last chunk of the whole list is its metadata. A short list is held until its length is
    /// known. A longer one is encoded twice: once to learn its length, then to be sent.
    ///
    /// # Errors
    /// That of the chunks.
    pub(super) async fn respond<S>(&self, limits: &Limits, chunks: impl Fn(Part) -> S) -> Result<Response>
    where
        S: Stream<Item = Result<Bytes>> + Send + 'static,
    {
        let mut held = Some(limits.hold());
        let (mut length, mut last) = (0, Bytes::new());
        let mut first = Box::pin(chunks(Part::Whole));
        while let Some(chunk) = first.next().await {
            let earlier = std::mem::replace(&mut last, chunk?);
            length += earlier.len() as u64;
            held = held.and_then(|held| held.and(earlier));
        }
        drop(first);
        let mut head = Vec::new();
        envelope_head(&self.api_version, &self.kind, last.len() as u64 + length, &mut head);
        head.extend(last);
        let items = match held {
            Some(held) => held.into_stream().map(Ok).boxed(),
            None => of_length(length, chunks(Part::Items)).boxed(),
        };
        let body = stream::once(ready(Ok(head.into()))).chain(items).chain(stream::once(ready(Ok(ENVELOPE_TAIL.into()))));
        Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], Body::from_stream(body)).into_response())
    }
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
            yield Err(io::Error::other("the list is not as long as it was when it was read first"));
        }
    }
}
