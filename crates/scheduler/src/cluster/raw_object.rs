//! A version of an object before it is applied to the state: JSON text, stored bytes, or parsed as its kind.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ketcd_kube::{Body, as_decoded};

use crate::api::Resource;
use crate::api::resource::V1;

use super::device::v1_conversion;
use super::device::versioned::Versioned;
use super::watched_kind::ParsedObject;
use super::{NodeFields, ObjectReader, PodFields, WatchedKind};

/// A version of an object that is not compiled yet.
pub enum RawObject<'a> {
    /// JSON as the API server returns it.
    Json(&'a [u8]),
    /// A value of etcd.
    Stored {
        /// What reads it.
        reader: &'a ObjectReader<'a>,
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        value: &'a [u8],
        /// The revision that wrote it.
        mod_revision: i64,
    },
    /// Already parsed.
    Parsed(Preparsed<'a>),
}

/// Why an object cannot be read, and what is still known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct ParseError {
    /// Why, a fragment.
    pub(crate) why: String,
    /// The node a pod is on, if it can be read.
    pub(crate) node: Option<String>,
    /// Whether it is a pod that is not bound, not nominated, or finished.
    pub(crate) idle: bool,
}

impl From<String> for ParseError {
    fn from(why: String) -> Self {
        Self { why, ..Self::default() }
    }
}

/// An object parsed in advance, which needs no state and can be done on another core; or why it cannot be read.
pub struct Preparsed<'a>(Result<ParsedObject<'a>, ParseError>);

/// The type that objects of a kind are parsed as.
pub(super) trait FromRaw: Sized {
    /// Reads the object, whatever served version it was stored in.
    ///
    /// # Errors
    /// Why it cannot be read, a fragment.
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String>;
}

impl<T: DeserializeOwned + Resource> FromRaw for T {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.typed()
    }
}

impl<'a> From<&'a [u8]> for RawObject<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Json(text)
    }
}

impl<'a> From<&'a Vec<u8>> for RawObject<'a> {
    fn from(text: &'a Vec<u8>) -> Self {
        Self::Json(text)
    }
}

impl<'a> RawObject<'a> {
    /// Returns whether the object can contain `text`, without parsing it. Encrypted and parsed objects always can.
    pub(crate) fn may_hold(&self, text: &[u8]) -> bool {
        let bytes = match self {
            Self::Json(text) => text,
            Self::Stored { value, .. } => *value,
            Self::Parsed(_) => return true,
        };
        bytes.starts_with(b"k8s:enc:") || bytes.windows(text.len()).any(|window| window == text)
    }

    /// Parses it as an object of `kind`, in advance.
    pub fn parsed(self, kind: WatchedKind) -> Self {
        Self::Parsed(Preparsed(self.parse(kind)))
    }

    /// Parses the object, in whatever API version it was stored: the fields a scheduler reads kept their names.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn parse(self, kind: WatchedKind) -> Result<ParsedObject<'a>, ParseError> {
        if let Self::Parsed(Preparsed(parsed)) = self { parsed } else { ParsedObject::parse(self, kind) }
    }

    /// Reads the object as `T`, in whatever API version it was stored.
    ///
    /// # Errors
    /// Why it cannot be read, a fragment.
    pub(crate) fn typed<T: DeserializeOwned>(self) -> Result<T, String> {
        self.first_or_again(|_| ())
    }

    /// Reads the object as `T` as it is stored, in whatever version.
    pub(super) fn fields<T: Deserialize<'a>>(self) -> Result<T, String> {
        self.first_or_again(|_| ())
    }

    /// Reads a DRA object in the shape of v1, and `older`, the fields that only the older version it is stored in has.
    pub(super) fn versioned<T: DeserializeOwned, O>(self, older: impl FnOnce(&Value) -> Option<O>) -> Result<Versioned<T, O>, String> {
        let mut found = None;
        let known = self.converted(|object| {
            found = older(object);
            v1_conversion::to_v1(object);
        })?;
        Ok(Versioned { known, older: found.map(Arc::new) })
    }

    /// Reads the object as `T`, where another version has fields elsewhere: `convert` moves them.
    fn converted<T: DeserializeOwned>(self, convert: impl FnOnce(&mut Value)) -> Result<T, String> {
        self.first_or_again(|object| {
            convert(object);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), V1::NAME.into());
            }
        })
    }

    /// The same object once more, unless it was already parsed.
    fn again(&self) -> Option<Self> {
        match self {
            Self::Json(text) => Some(Self::Json(text)),
            Self::Stored { reader, key, value, mod_revision } => Some(Self::Stored { reader, key, value, mod_revision: *mod_revision }),
            Self::Parsed(_) => None,
        }
    }

    /// Reads the object as `T`; where that fails, from JSON in which null is replaced by zero values, as the API server does.
    fn first_or_again<T: Deserialize<'a>>(self, mend: impl FnOnce(&mut Value)) -> Result<T, String> {
        let (error, object) = match self {
            Self::Json(text) => match serde_json::from_slice(text) {
                Ok(object) => return Ok(object),
                Err(error) => (error.to_string(), serde_json::from_slice(text).ok()),
            },
            Self::Stored { reader, key, value, mod_revision } => match reader.decoder.decode_borrowed(key, value, mod_revision) {
                Ok(object) => return Ok(object),
                Err(opaque) => match reader.decoder.decode(key, value, mod_revision).body {
                    Body::Object(object) => (opaque.reason, Some(object.into_value())),
                    Body::Opaque(_) => (opaque.reason, None),
                },
            },
            Self::Parsed(_) => ("it was read already".to_owned(), None),
        };
        let mut object: Value = object.ok_or(error)?;
        as_decoded(&mut object);
        mend(&mut object);
        T::deserialize(object).map_err(|error| error.to_string())
    }
}

pub(super) fn parse_pod(raw: RawObject<'_>) -> Result<PodFields<'_>, ParseError> {
    let again = raw.again();
    let pod = raw.fields().and_then(|pod: PodFields<'_>| is_of_kind("Pod", &pod.kind).map(|()| pod));
    pod.map_err(|why| unread_pod(why, again))
}

pub(super) fn parse_node(raw: RawObject<'_>) -> Result<NodeFields<'_>, String> {
    let node: NodeFields<'_> = raw.fields()?;
    is_of_kind("Node", &node.kind).map(|()| node)
}

/// What is known of a pod that cannot be read: its node, if that can be.
fn unread_pod(why: String, again: Option<RawObject>) -> ParseError {
    let object: Option<Value> = again.and_then(|again| again.fields().ok());
    let Some(object) = object else { return why.into() };
    let text = |pointer: &str| match object.pointer(pointer) {
        None => Some(""),
        Some(value) => value.as_str(),
    };
    let known = object["spec"].is_object() && object.get("status").is_none_or(Value::is_object);
    let (node, nominated) = (text("/spec/nodeName"), text("/status/nominatedNodeName"));
    let finished = matches!(text("/status/phase"), Some("Succeeded" | "Failed"));
    let waits = known && node == Some("") && nominated == Some("");
    ParseError { why, node: node.filter(|node| !node.is_empty()).map(str::to_owned), idle: waits || finished }
}

fn is_of_kind(wanted: &str, kind: &str) -> Result<(), String> {
    if kind.is_empty() || kind == wanted { Ok(()) } else { Err(format!("it is a {kind}")) }
}
