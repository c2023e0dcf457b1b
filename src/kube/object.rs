//! Objects: what a stored value turned out to be.

use std::fmt;

use serde_json::Value;

/// A stored value after decoding. Decoding never fails: what cannot be understood is [`Body::Opaque`] with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The object, or why there is none.
    pub body: Body,
    /// Protobuf fields newer than our tables, kept so that nothing is dropped silently.
    pub unknown_fields: Vec<UnknownField>,
}

/// Either an object or the reason why the bytes are none.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The JSON the API server would return for the stored version, `metadata.resourceVersion` included.
    Object(Value),
    /// Bytes that are no object to us.
    Opaque(Opaque),
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

/// A field that our tables do not have, or that the release asked for does not: in protobuf by its number, in JSON by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// JSON path of the message that holds it, for example `spec.containers[0]`; for a member of JSON its own.
    pub path: String,
    /// The field's number; 0 for a member of JSON.
    pub number: u32,
    /// The protobuf wire type, 0 to 5.
    pub wire_type: u8,
    /// The field's payload as it lies on the wire; for a member of JSON its text.
    pub bytes: Vec<u8>,
}

impl Decoded {
    /// The object, if there is one.
    pub fn object(&self) -> Option<&Value> {
        match &self.body {
            Body::Object(value) => Some(value),
            Body::Opaque(_) => None,
        }
    }
}

impl fmt::Display for UnknownField {
    /// `spec.containers[0]: field 99, 4 bytes: 0a021234`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 32;
        if self.number == 0 {
            return write!(f, "{}: unknown member, {}", self.path, String::from_utf8_lossy(&self.bytes));
        }
        let path = if self.path.is_empty() { "the object" } else { &self.path };
        write!(f, "{path}: field {}, wire type {}, {} bytes: ", self.number, self.wire_type, self.bytes.len())?;
        for byte in self.bytes.iter().take(SHOWN) {
            write!(f, "{byte:02x}")?;
        }
        if self.bytes.len() > SHOWN { f.write_str("…") } else { Ok(()) }
    }
}
