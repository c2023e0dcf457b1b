//! Finds the spec and the managers in an object's protobuf, so that only those need to be decoded that are equal or are not.

/// What precedes the envelope (apimachinery v0.37, `pkg/runtime/serializer/protobuf/protobuf.go`).
const MAGIC: &[u8] = b"k8s\0";

/// The number of the object in its envelope, and of the spec in the object (k8s.io/api v0.37, `generated.proto`).
const OBJECT: u64 = 2;
const SPEC: u64 = 2;

/// Returns the bytes of an object's spec; `None` where the value is not protobuf, or has not exactly one.
pub(super) fn spec(value: &[u8]) -> Option<&[u8]> {
    only(only(value.strip_prefix(MAGIC)?, OBJECT)?, SPEC)
}

/// The number of the metadata in the object, and of the managers in the metadata (apimachinery v0.37, `generated.proto`).
const METADATA: u64 = 1;
const MANAGED_FIELDS: u64 = 17;

/// Returns the bytes of each entry of an object's `managedFields`; `None` where the value is not protobuf.
pub(super) fn managers(value: &[u8]) -> Option<Vec<&[u8]>> {
    all(only(only(value.strip_prefix(MAGIC)?, OBJECT)?, METADATA)?, MANAGED_FIELDS)
}

/// The payload of the one field of a number that has a length.
fn only(message: &[u8], number: u64) -> Option<&[u8]> {
    match &all(message, number)?[..] {
        [payload] => Some(payload),
        _ => None,
    }
}

/// The payloads of all fields of a number that have a length.
fn all(mut message: &[u8], number: u64) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !message.is_empty() {
        // Readers differ in what they make of a number that no field has.
        let tag = varint(&mut message).filter(|&tag| tag <= u64::from(u32::MAX))?;
        match tag & 7 {
            0 => drop(varint(&mut message)?),
            1 => message = message.get(8..)?,
            5 => message = message.get(4..)?,
            2 => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                let payload = message.get(..length)?;
                message = &message[length..];
                if tag >> 3 == number {
                    found.push(payload);
                }
            }
            _ => return None,
        }
    }
    Some(found)
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
    use ketcd_testing::random::Random;

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

    /// Whatever a value holds, equal bytes of its spec are an equal spec.
    #[test]
    fn what_is_found_is_all_that_decoding_shows() {
        const DEPLOYMENT: &[u8] = ketcd_testing::seeds::STORED_DEPLOYMENT;
        let head = [MAGIC, b"\x0a\x15\x0a\x07apps/v1\x12\x0aDeployment\x12"].concat();
        let length = |length: usize| [length as u8 | 0x80, (length >> 7) as u8];
        let stored = |object: &[u8]| [&head[..], &length(object.len()), object].concat();
        let decoder = ketcd_kube::Decoder::for_stored_values();
        let decoded = |value: &[u8]| decoder.decode(b"/registry/deployments/a/b", value, 0).object().cloned();
        let (mut random, mut compared) = (Random(1), 0);
        for _ in 0..2000 {
            let mut object = DEPLOYMENT.to_vec();
            for _ in 0..random.below(3) {
                let at = random.below(object.len());
                object[at] = random.below(256) as u8;
            }
            let whole = stored(&object);
            let (Some(found), Some(shown)) = (spec(&whole), decoded(&whole)) else { continue };
            let alone = [&b"\x12"[..], &length(found.len()), found].concat();
            assert_eq!(decoded(&stored(&alone)).expect("its spec decodes").get("spec"), shown.get("spec"), "{}", object.escape_ascii());
            compared += 1;
        }
        assert!(compared > 500, "{compared}");
    }

    #[test]
    fn managers_are_found() {
        // The metadata has the name "m" and two managers.
        let metadata = b"\x0a\x01m\x8a\x01\x01a\x8a\x01\x01b";
        let object = [&b"\x0a\x0b"[..], metadata].concat();
        let envelope = [&b"k8s\0\x12\x0d"[..], &object].concat();
        assert_eq!(managers(&envelope), Some(vec![&b"a"[..], b"b"]));
        assert_eq!(managers(b"{}"), None);
    }
}
