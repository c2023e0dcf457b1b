//! Finds the spec in an object's protobuf, so that equal ones need not be decoded.

/// What precedes the envelope (apimachinery v0.37, `pkg/runtime/serializer/protobuf/protobuf.go`).
const MAGIC: &[u8] = b"k8s\0";

/// The number of the object in its envelope, and of the spec in the object (k8s.io/api v0.37, `generated.proto`).
const OBJECT: u64 = 2;
const SPEC: u64 = 2;

/// Returns the bytes of an object's spec; `None` where the value is not protobuf, or has not exactly one.
pub(super) fn spec(value: &[u8]) -> Option<&[u8]> {
    only(only(value.strip_prefix(MAGIC)?, OBJECT)?, SPEC)
}

/// The payload of the one field of a number that has a length.
fn only(mut message: &[u8], number: u64) -> Option<&[u8]> {
    let mut found = None;
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        match tag & 7 {
            0 => drop(varint(&mut message)?),
            1 => message = message.get(8..)?,
            5 => message = message.get(4..)?,
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let payload = message.get(..length)?;
                message = &message[length..];
                if tag >> 3 == number && found.replace(payload).is_some() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    found
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spec_is_found() {
        // An envelope whose object has metadata "m", the spec "spec" and a number.
        let object = b"\x0a\x01m\x12\x04spec\x18\x96\x01";
        let envelope = [&b"k8s\0\x0a\x01t\x12\x0c"[..], object].concat();
        assert_eq!(spec(&envelope), Some(&b"spec"[..]));
        assert_eq!(spec(&envelope[..envelope.len() - 1]), None, "cut short");
        assert_eq!(spec(b"{}"), None);
        assert_eq!(spec(b"k8s\0\x12\x04\x12\x00\x12\x00"), None, "two specs");
    }
}
