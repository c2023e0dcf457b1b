//! Protobuf, which clients made with client-go ask for: objects, lists and the frames of a watch.
//!
//! Sources: apimachinery v0.36 `pkg/runtime/serializer/protobuf/protobuf.go` for envelopes and `pkg/util/framer/framer.go` for frames.

use std::io::{self, Read, Seek, Write};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use ketcd_kube::{ENVELOPE_TAIL, Encoder, Release, append_watch_event, envelope_head};
use serde_json::Value;
use tempfile::SpooledTempFile;

use super::status::{Result, Status};

/// Its media type.
pub(super) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Its media type where it is a watch.
pub(super) const WATCH_MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// A list longer than this waits in a file without a name.
const IN_MEMORY: usize = 32 << 20;

/// The bytes that are read at once of a list.
const CHUNK: usize = 1 << 16;

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

/// Writes a list. Its length stands before it, so it is sent when all of it is there.
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

    /// Returns the response of a list, whose last chunk is its metadata.
    ///
    /// # Errors
    /// That of the chunks; the list does not fit in temporary space.
    pub(super) async fn respond(&self, chunks: impl Stream<Item = Result<Bytes>>) -> Result<Response> {
        let mut items = SpooledTempFile::new(IN_MEMORY);
        let (mut length, mut last) = (0, Bytes::new());
        let mut chunks = std::pin::pin!(chunks);
        while let Some(chunk) = chunks.next().await {
            let earlier = std::mem::replace(&mut last, chunk?);
            length += earlier.len();
            items.write_all(&earlier).map_err(|error| no_room(&error))?;
        }
        items.rewind().map_err(|error| no_room(&error))?;
        let mut head = Vec::new();
        envelope_head(&self.api_version, &self.kind, (last.len() + length) as u64, &mut head);
        head.extend(last);
        let body = async_stream::stream! {
            yield Ok(Bytes::from(head));
            let mut left = length;
            while left > 0 {
                let mut chunk = vec![0; CHUNK.min(left)];
                let read = items.read_exact(&mut chunk);
                if let Err(error) = read {
                    return yield Err(error);
                }
                left -= chunk.len();
                yield Ok(chunk.into());
            }
            yield Ok::<_, io::Error>(ENVELOPE_TAIL.into());
        };
        Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], Body::from_stream(body)).into_response())
    }
}

fn no_room(error: &io::Error) -> Box<Status> {
    Status::internal(format!("the list cannot be kept until all of it is there: {error}"))
}
