//! Protobuf, which clients made with client-go ask for: objects, and lists whose items are encoded one by one.
//!
//! Source: apimachinery v0.36 `pkg/runtime/serializer/protobuf/protobuf.go`.

use ketcd_kube::{ENVELOPE_TAIL, Encoder, Release, envelope_head};
use serde_json::Value;

use super::status::{Result, Status};

/// Returns an object in protobuf.
///
/// # Errors
/// Its kind has no protobuf, or it does not fit its type.
pub(crate) fn document(object: &Value, release: Release) -> Result<Vec<u8>> {
    match ketcd_kube::encode(object, release) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(Status::not_acceptable(format!("objects of kind {} of {} have no protobuf", object["kind"], object["apiVersion"]))),
        Err(error) => Err(unfit(object, &error)),
    }
}

fn unfit(object: &Value, error: &ketcd_kube::EncodeError) -> Box<Status> {
    Status::not_acceptable(format!("{} {}: {error}; ask for JSON", object["kind"].as_str().unwrap_or("object"), object["metadata"]["name"]))
}

/// Encodes a list.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    encoder: Encoder,
    api_version: String,
    kind: String,
}

impl ListEncoder {
    /// The encoder of a list of this kind.
    ///
    /// # Errors
    /// The kind has no protobuf.
    pub(crate) fn new(api_version: String, kind: String, release: Release) -> Result<Self> {
        match Encoder::of(&api_version, &kind, release) {
            Some(encoder) => Ok(Self { encoder, api_version, kind }),
            None => Err(Status::not_acceptable(format!("lists of kind {kind} of {api_version} have no protobuf"))),
        }
    }

    /// Appends an item.
    ///
    /// # Errors
    /// It does not fit its type.
    pub(crate) fn item(&self, item: &Value, out: &mut Vec<u8>) -> Result<()> {
        self.encoder.append_member("items", item, out).map_err(|error| unfit(item, &error))
    }

    /// Returns the list's metadata.
    ///
    /// # Errors
    /// It does not fit its type.
    pub(crate) fn metadata(&self, metadata: &Value) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.encoder.append_member("metadata", metadata, &mut out).map_err(|error| Status::internal(*error))?;
        Ok(out)
    }

    /// Returns what stands before items of this length, and what behind them. The metadata, encoded, comes first: the order of members is free.
    pub(crate) fn envelope(&self, metadata: &[u8], length: u64) -> (Vec<u8>, &'static [u8]) {
        let mut head = Vec::new();
        envelope_head(&self.api_version, &self.kind, metadata.len() as u64 + length, &mut head);
        head.extend(metadata);
        (head, ENVELOPE_TAIL)
    }
}
