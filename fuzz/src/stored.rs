//! Stored values: protobuf, JSON and CBOR, decoded in both ways and compared.

use ketcd_kube::{Body, Decoder, Release};
use ketcd_scheduler::cluster::PodFields;
use serde_json::Value;

/// The JSON of a byte on the wire: the widest message all of whose members are written though absent.
const MOST_PER_BYTE: usize = 600;

const SAMPLE_KEY: &[u8] = b"/registry/x/y";

/// A value that begins as protobuf does.
pub fn protobuf(data: &[u8]) {
    stored(&after(b"k8s\0", data));
}

/// A value that is JSON, or nearly so. What is written of it reads as itself.
pub fn json(data: &[u8]) {
    stored(data);
    let decoder = Decoder::for_stored_values();
    let mut text = Vec::new();
    if !data.starts_with(b"k8s") && decoder.decode_text(SAMPLE_KEY, data, 7, &mut text).is_ok() {
        let mut again = Vec::new();
        decoder.decode_text(SAMPLE_KEY, &text, 7, &mut again).unwrap_or_else(|opaque| panic!("{opaque:?} of {}", text.escape_ascii()));
        assert_eq!(text.escape_ascii().to_string(), again.escape_ascii().to_string(), "written again");
    }
}

/// A value that begins as CBOR does.
pub fn cbor(data: &[u8]) {
    stored(&after(b"\xd9\xd9\xf7", data));
}

fn after(mark: &[u8], data: &[u8]) -> Vec<u8> {
    if data.starts_with(mark) { data.to_vec() } else { [mark, data].concat() }
}

/// Decodes a value as text, as a value and as a type: no panic, output bounded by input, and text and value agree.
pub fn stored(value: &[u8]) {
    for decoder in [Decoder::new(), Decoder::new().with_release(Release(20)), Decoder::for_stored_values()] {
        let mut text = b"kept".to_vec();
        let written = decoder.decode_text(SAMPLE_KEY, value, 7, &mut text);
        let decoded = decoder.decode(SAMPLE_KEY, value, 7);
        let _ = decoder.decode_as::<PodFields>(SAMPLE_KEY, value, 7);
        assert!(text.starts_with(b"kept"));
        assert!(text.len() <= 1000 + value.len() * MOST_PER_BYTE, "{} bytes from {}", text.len(), value.len());
        match (written, decoded.body) {
            (Ok(unknown), Body::Object(object)) => {
                assert_eq!(serde_json::from_slice::<Value>(&text[4..]).unwrap(), object.into_value());
                assert_eq!(unknown, decoded.unknown_fields);
            }
            (Err(written), Body::Opaque(opaque)) => {
                assert_eq!(text.len(), 4);
                assert_eq!(written.expected, opaque.expected);
                assert!(!opaque.reason.is_empty() && opaque.length == value.len());
            }
            (written, decoded) => panic!("as text {written:?}, as value {decoded:?}"),
        }
    }
}
