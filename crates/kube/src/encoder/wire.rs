//! Writes the protobuf wire format.

pub(super) const WIRE_VARINT: u8 = 0;
pub(super) const WIRE_FIXED64: u8 = 1;
pub(super) const WIRE_LEN: u8 = 2;

/// Writes an unsigned number.
pub(super) fn varint(value: u64, out: &mut Vec<u8>) {
    prost::encoding::encode_varint(value, out);
}

pub(super) fn tag(number: u32, wire_type: u8, out: &mut Vec<u8>) {
    varint(u64::from(number << 3 | u32::from(wire_type)), out);
}

pub(super) fn length_delimited(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    tag(number, WIRE_LEN, out);
    varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Writes a message, whose length is put before it once it is known.
pub(super) fn nested<E>(number: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
    tag(number, WIRE_LEN, out);
    // Most messages are shorter than 128 bytes, whose length takes one byte.
    let start = out.len();
    out.push(0);
    write(out)?;
    let length = out.len() - start - 1;
    if let Ok(short @ 0..128) = u8::try_from(length) {
        out[start] = short;
    } else {
        let mut text = Vec::with_capacity(10);
        varint(length as u64, &mut text);
        out.splice(start..=start, text);
    }
    Ok(())
}
