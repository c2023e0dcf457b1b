//! A version of an object as it was read: JSON text or stored bytes. Every type of the state is made from it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use ketcd_kube::{Body, as_decoded};

use crate::api::Resource;
use crate::api::resource::V1;

use super::device::v1_conversion;
use super::object_reader::ObjectReader;

/// A version of an object as it was read.
#[derive(Clone, Copy)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum RawObject<'a> {
    /// JSON as the API server returns it.
    Json(&'a [u8]),
    /// A value of etcd.
    Stored {
        /// What reads it.
        reader: &'a ObjectReader,
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        value: &'a [u8],
        /// The revision that wrote it.
        mod_revision: i64,
    },
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
    /// Returns whether the object can contain `text`, without parsing it. Encrypted objects always can.
    pub(crate) fn may_hold(&self, text: &[u8]) -> bool {
        let (Self::Json(bytes) | Self::Stored { value: bytes, .. }) = self;
        bytes.starts_with(b"k8s:enc:") || bytes.windows(text.len()).any(|window| window == text)
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

    /// Reads a DRA object in the shape of v1, whatever version it is stored in.
    pub(super) fn in_shape_of_v1<T: DeserializeOwned>(self) -> Result<T, String> {
        self.first_or_again(|object| {
            v1_conversion::to_v1(object);
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), V1::NAME.into());
            }
        })
    }

    /// Reads the object as `T`; where that fails, from JSON in which null is replaced by zero values, as the API server does.
    fn first_or_again<T: Deserialize<'a>>(self, mend: impl FnOnce(&mut Value)) -> Result<T, String> {
        let (error, object) = match self {
            // Through a value: reading text as each type would compile every type once more, which is half a minute for what few sources have.
            Self::Json(text) => match serde_json::from_slice(text).and_then(|object: Value| T::deserialize(object)) {
                Ok(object) => return Ok(object),
                Err(error) => (error.to_string(), serde_json::from_slice(text).ok()),
            },
            Self::Stored { reader, key, value, mod_revision } => match reader.decoder.decode_as(key, value, mod_revision) {
                Ok((object, _)) => return Ok(object),
                Err(opaque) => match reader.decoder.decode(key, value, mod_revision).body {
                    Body::Object(object) => (opaque.reason, Some(object.into_value())),
                    Body::Opaque(_) => (opaque.reason, None),
                },
            },
        };
        let mut object: Value = object.ok_or(error)?;
        as_decoded(&mut object);
        mend(&mut object);
        T::deserialize(object).map_err(|error| error.to_string())
    }
}

/// Refuses a stored object of another kind; one without a kind counts as of the wanted one.
pub(super) fn is_of_kind(wanted: &str, kind: &str) -> Result<(), String> {
    if kind.is_empty() || kind == wanted { Ok(()) } else { Err(format!("it is a {kind}")) }
}
