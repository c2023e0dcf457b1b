//! Objects: what a stored value turned out to be.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use json_patch::jsonptr::{Pointer, PointerBuf};
use serde_json::Value;

use super::field_set::FieldSet;

/// The text shown instead of a masked value.
pub const VALUE_MASK: &str = "***";

/// A stored value after decoding. Decoding never fails: what cannot be understood is [`Body::Opaque`] with its reason.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub struct Decoded {
    /// The object, or why it could not be decoded.
    pub body: Body,
    /// Protobuf fields newer than our tables, kept so that nothing is dropped silently.
    pub unknown_fields: Vec<UnknownField>,
}

/// Either an object, or the reason why the bytes are not one.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The JSON the API server would return for the stored version, `metadata.resourceVersion` included, values of Secrets masked.
    Object(Object),
    /// Bytes that could not be decoded.
    Opaque(Opaque),
}

/// An object as it may be shown: values of Secrets are masked, unless the decoder shows them.
///
/// The masked values are gone. A hash of each, under a random key, lets two versions of an object be
/// compared. An object dereferences to its JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    value: Value,
    /// Where values were masked, and their hashes.
    masked: Vec<(PointerBuf, u64)>,
}

impl Object {
    /// An object in which the values at these places were masked.
    pub(super) fn masked(value: Value, masked: Vec<(PointerBuf, u64)>) -> Self {
        Self { value, masked }
    }

    /// The JSON alone.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The places where both objects are masked and their values differed.
    pub fn masked_changes<'a>(&'a self, after: &'a Self) -> impl Iterator<Item = &'a Pointer> {
        let differs = |(place, hash): &&(PointerBuf, u64)| after.masked.iter().any(|(other, now)| other == place && now != hash);
        self.masked.iter().filter(differs).map(|(place, _)| place.as_ref())
    }

    /// Where values were masked.
    pub fn masked_places(&self) -> impl Iterator<Item = &Pointer> {
        self.masked.iter().map(|(place, _)| place.as_ref())
    }

    /// The JSON with each mask made unlike the masks of other values: for comparing, not for showing.
    pub fn comparable(&self) -> Cow<'_, Value> {
        if self.masked.is_empty() {
            return Cow::Borrowed(&self.value);
        }
        let mut value = self.value.clone();
        for (place, hash) in &self.masked {
            if let Ok(masked) = place.resolve_mut(&mut value) {
                *masked = Value::String(format!("{}{hash:x}", VALUE_MASK));
            }
        }
        Cow::Owned(value)
    }

    /// Leaves out what is not wanted.
    pub(super) fn keep(&mut self, wanted: &FieldSet) {
        wanted.keep(&mut self.value);
    }

    /// Leaves out `metadata.managedFields`.
    pub fn remove_managed_fields(&mut self) {
        if let Some(metadata) = self.value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl From<Value> for Object {
    /// An object without masked values.
    fn from(value: Value) -> Self {
        Self { value, masked: Vec::new() }
    }
}

impl PartialEq<Value> for Object {
    fn eq(&self, other: &Value) -> bool {
        self.value == *other
    }
}

/// Bytes that could not be turned into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// One lowercase fragment: what is wrong, at which offset and field path where that is known.
    pub reason: String,
    /// Whether this is to be expected (sealed by encryption, not a Kubernetes object) rather than damage.
    pub expected: bool,
    /// Length of the stored value in bytes.
    pub length: usize,
}

/// A field that our tables do not have, or that the requested release does not have: in protobuf by its number, in JSON by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// JSON path of the message that holds it, for example `spec.containers[0]`; for a member of JSON its own.
    pub path: String,
    /// The field's number; 0 for a member of JSON.
    pub number: u32,
    /// The protobuf wire type, 0 to 5.
    pub wire_type: u8,
    /// The field's payload as it lies on the wire; for a member of JSON its text. Empty where it is masked.
    pub bytes: Vec<u8>,
    /// Whether the object is a Secret, so that its payload is not shown.
    pub masked: bool,
}

impl Decoded {
    /// The object, if there is one.
    pub fn object(&self) -> Option<&Value> {
        match &self.body {
            Body::Object(object) => Some(object),
            Body::Opaque(_) => None,
        }
    }
}

impl UnknownField {
    /// Drops the payload.
    pub(super) fn mask(&mut self) {
        self.bytes = Vec::new();
        self.masked = true;
    }
}

impl fmt::Display for UnknownField {
    /// `spec.containers[0]: field 99, 4 bytes: 0a021234`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_BYTES_SHOWN: usize = 32;
        if self.masked {
            let number = if self.number == 0 { "unknown member".to_owned() } else { format!("field {}", self.number) };
            return write!(f, "{}: {number}, {}", self.path, VALUE_MASK);
        }
        if self.number == 0 {
            return write!(f, "{}: unknown member, {}", self.path, String::from_utf8_lossy(&self.bytes));
        }
        let path = if self.path.is_empty() { "the object" } else { &self.path };
        write!(f, "{path}: field {}, wire type {}, {} bytes: ", self.number, self.wire_type, self.bytes.len())?;
        for byte in self.bytes.iter().take(MAX_BYTES_SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        if self.bytes.len() > MAX_BYTES_SHOWN { f.write_str("…") } else { Ok(()) }
    }
}

/// Returns the condition of this type in an object's `status.conditions`.
pub fn condition<'a>(object: &'a Value, condition_type: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == condition_type)
}
