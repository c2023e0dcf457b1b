//! A version of an object that is still to be read: JSON text, or bytes as they are stored.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::kube::{Body, Decoder};

/// An object's version, not read yet.
#[derive(Clone, Copy)]
pub enum Encoded<'a> {
    /// The JSON the API server would return.
    Json(&'a [u8]),
    /// A stored value.
    Stored {
        /// What reads it.
        decoder: &'a Decoder,
        /// Its key.
        key: &'a [u8],
        /// Its bytes.
        value: &'a [u8],
        /// The revision that wrote it.
        mod_revision: i64,
    },
}

impl<'a> From<&'a [u8]> for Encoded<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Json(text)
    }
}

impl<'a> From<&'a Vec<u8>> for Encoded<'a> {
    fn from(text: &'a Vec<u8>) -> Self {
        Self::Json(text)
    }
}

impl Encoded<'_> {
    /// Whether a text can be in it, told without reading it; what is encrypted can hold anything.
    pub fn may_hold(&self, text: &[u8]) -> bool {
        let bytes = match self {
            Self::Json(text) => text,
            Self::Stored { value, .. } => *value,
        };
        bytes.starts_with(b"k8s:enc:") || bytes.windows(text.len()).any(|window| window == text)
    }

    /// Reads the object as `T`, whatever served version it was stored in: the fields a scheduler reads kept their names.
    ///
    /// # Errors
    /// Why it cannot be read, a fragment.
    pub fn typed<T: DeserializeOwned + k8s_openapi::Resource>(self) -> Result<T, String> {
        let first = match self {
            Self::Json(text) => serde_json::from_slice(text).map_err(|error| error.to_string()),
            Self::Stored { decoder, key, value, mod_revision } => {
                decoder.decode_as(key, value, mod_revision).map_err(|opaque| opaque.reason)
            }
        };
        first.or_else(|error| {
            let mut object = self.value().ok_or(error)?;
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), T::API_VERSION.into());
                fields.insert("kind".to_owned(), T::KIND.into());
            }
            serde_json::from_value(object).map_err(|error| error.to_string())
        })
    }

    fn value(self) -> Option<Value> {
        match self {
            Self::Json(text) => serde_json::from_slice(text).ok(),
            Self::Stored { decoder, key, value, mod_revision } => match decoder.decode(key, value, mod_revision).body {
                Body::Object(object) => Some(object),
                Body::Opaque(_) => None,
            },
        }
    }
}
