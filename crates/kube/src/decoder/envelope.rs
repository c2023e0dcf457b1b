//! Recognises by its first bytes what a stored value is wrapped in, unless it is encrypted.

use super::fault::{Fault, Result};
use super::wire::{self, Reader, Span, WireField};
use super::{cbor, go_text};

/// What a value begins with where it is a protobuf object.
pub(super) const PROTOBUF_MAGIC: &[u8] = b"k8s\0";

/// A value's wrapping.
#[derive(Debug, PartialEq)]
pub(super) enum Envelope {
    /// `runtime.Unknown` around a protobuf object; the span is the object's.
    Protobuf { api_version: String, kind: String, object: Span },
    /// A JSON object.
    Json,
    /// A CBOR item.
    Cbor,
    /// Anything else: no object.
    Foreign,
}

impl Envelope {
    /// Looks at a value. A fault is a protobuf envelope that is broken.
    pub(super) fn of(value: &[u8]) -> Result<Self> {
        if value.starts_with(PROTOBUF_MAGIC) {
            return protobuf(value);
        }
        if value.starts_with(&cbor::CBOR_MAGIC) {
            return Ok(Self::Cbor);
        }
        Ok(if value.trim_ascii_start().first() == Some(&b'{') { Self::Json } else { Self::Foreign })
    }
}

/// Reads `runtime.Unknown`: 1 type meta (1 apiVersion, 2 kind), 2 raw, 3 content encoding, 4 content type.
fn protobuf(value: &[u8]) -> Result<Envelope> {
    let whole = Span { start: PROTOBUF_MAGIC.len(), end: value.len() };
    let (mut api_version, mut kind) = (String::new(), String::new());
    let mut object = Span { start: value.len(), end: value.len() };
    let mut reader = Reader::new(value, whole);
    while let Some(WireField { at, number, wire_type, payload, .. }) = reader.field()? {
        match (number, wire_type) {
            (1, wire::WIRE_LEN) => {
                let mut inner = Reader::new(value, payload);
                while let Some(WireField { number, wire_type, payload: text, .. }) = inner.field()? {
                    let text = || go_text::utf8(&value[text.start..text.end]).into_owned();
                    match (number, wire_type) {
                        (1, wire::WIRE_LEN) => api_version = text(),
                        (2, wire::WIRE_LEN) => kind = text(),
                        _ => {}
                    }
                }
            }
            (2, wire::WIRE_LEN) => object = payload,
            (3, wire::WIRE_LEN) if payload.start < payload.end => return Err(Fault::new("an envelope with a content encoding", at)),
            (3, wire::WIRE_LEN) => {}
            (1..=3, _) => return Err(Fault::new(format!("an envelope whose field {number} has wire type {wire_type}"), at)),
            _ => {}
        }
    }
    Ok(Envelope::Protobuf { api_version, kind, object })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_recognised_by_their_first_bytes() {
        let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x0a\x00\x1a\x00\x22\x00";
        let protobuf = Envelope::Protobuf { api_version: "v1".to_owned(), kind: "Pod".to_owned(), object: Span { start: 17, end: 19 } };
        assert_eq!(Envelope::of(pod), Ok(protobuf));
        assert_eq!(Envelope::of(b"\n {}"), Ok(Envelope::Json));
        assert_eq!(Envelope::of(b"\xd9\xd9\xf7\xa0"), Ok(Envelope::Cbor));
        assert_eq!(Envelope::of(b"1787"), Ok(Envelope::Foreign));
        assert_eq!(Envelope::of(b""), Ok(Envelope::Foreign));
    }

    #[test]
    fn broken_envelopes_say_where() {
        assert_eq!(Envelope::of(b"k8s\0\x0a\x09\x0a").unwrap_err().to_string(), "length 9 beyond the end at offset 5");
        assert!(Envelope::of(b"k8s\0\x1a\x04gzip").unwrap_err().to_string().starts_with("an envelope with a content encoding"));
    }
}
