//! The frames of a watch: events in JSON, one a line, or in protobuf, each behind its length.
//!
//! Source: apimachinery v0.36 `pkg/util/framer/framer.go`.

use ketcd_kube::{Release, append_watch_event};
use serde_json::Value;

use super::document::append_json;
use super::encoding::Encoding;
use super::protobuf;
use super::status::{Result, Status};

/// Marks the response of a watch, with its encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchResponse(pub Encoding);

/// How frames are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A line of JSON.
    Json,
    /// Protobuf, with the fields of a release.
    Protobuf(Release),
}

impl Framing {
    /// Appends the frame of an event.
    ///
    /// # Errors
    /// The object has no protobuf, or does not fit its type.
    pub(crate) fn append(self, kind: &str, object: &Value, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Json => append_line(kind, out, |out| {
                append_json(out, object);
                Ok(())
            }),
            Self::Protobuf(release) => append_message(kind, &protobuf::document(object, release)?, out),
        }
    }
}

/// Appends an event in JSON, whose object `append` writes.
///
/// # Errors
/// Those of `append`; nothing is appended.
pub(crate) fn append_line(kind: &str, out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = out.len();
    out.extend(format!("{{\"type\":\"{kind}\",\"object\":").bytes());
    append(out).inspect_err(|_| out.truncate(start))?;
    out.extend(b"}\n");
    Ok(())
}

fn append_message(kind: &str, object: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.extend([0; 4]);
    append_watch_event(kind, object, out);
    let length = u32::try_from(out.len() - start - 4).map_err(|_| Status::internal("an object of more than 4 GiB"))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
