//! How Go writes JSON: its escapes and its numbers.

use std::borrow::Cow;
use std::io::Write;

use serde_json::Value;

/// Writes a string in quotes as `encoding/json` does: `<`, `>`, `&`, U+2028 and U+2029 escaped, each byte that is no UTF-8 as `\ufffd`.
pub(super) fn append_string(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        append_escaped(out, text);
    }
    out.push(b'"');
}

/// Whether text is ASCII that needs no escape.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk() {
        // Blocks may overlap.
        return first_special(last) == BLOCK_BYTES && text.as_chunks().0.iter().all(|block| first_special(block) == BLOCK_BYTES);
    }
    let mut block = [b' '; BLOCK_BYTES];
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        block[..8].copy_from_slice(first);
        block[8..].copy_from_slice(last);
    } else if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        block[..4].copy_from_slice(first);
        block[4..8].copy_from_slice(last);
    } else {
        return text.iter().all(|&byte| is_plain_byte(byte));
    }
    first_special(&block) == BLOCK_BYTES
}

/// As many bytes are looked at at once.
pub(super) const BLOCK_BYTES: usize = 16;

/// The first of a block's bytes that is no ASCII or needs an escape; [`BLOCK_BYTES`] if there is none.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn first_special(block: &[u8; BLOCK_BYTES]) -> usize {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    // SAFETY: SSE2 is in every x86-64.
    unsafe {
        let word = u128::from_le_bytes(*block);
        let bytes = _mm_set_epi64x((word >> 64) as i64, word as i64);
        let equals = |bytes, byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        // As signed numbers, control characters and bytes above 0x7f are those below a space. `<` and `>` differ in one bit.
        let low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(b' ' as i8));
        let angle = equals(_mm_or_si128(bytes, _mm_set1_epi8(2)), b'>');
        let quotes = _mm_or_si128(equals(bytes, b'"'), equals(bytes, b'\\'));
        let special = _mm_or_si128(_mm_or_si128(low, angle), _mm_or_si128(quotes, equals(bytes, b'&')));
        (_mm_movemask_epi8(special) | 1 << BLOCK_BYTES).trailing_zeros() as usize
    }
}

/// The first of a block's bytes that is no ASCII or needs an escape; [`BLOCK_BYTES`] if there is none.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn first_special(block: &[u8; BLOCK_BYTES]) -> usize {
    block.iter().position(|&byte| !is_plain_byte(byte)).unwrap_or(BLOCK_BYTES)
}

/// Whether a byte is ASCII that needs no escape.
#[inline]
pub(super) fn is_plain_byte(byte: u8) -> bool {
    (0x20..0x80).contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
}

fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(&byte) = rest.first() {
            let plain = rest.iter().position(|&b| b < 0x80 && !is_plain_byte(b) || b == 0xe2).unwrap_or(rest.len());
            out.extend_from_slice(&rest[..plain]);
            rest = &rest[plain..];
            if plain > 0 {
                continue;
            }
            let taken = match byte {
                b'"' | b'\\' => append(out, &[b'\\', byte], 1),
                b'\n' => append(out, b"\\n", 1),
                b'\r' => append(out, b"\\r", 1),
                b'\t' => append(out, b"\\t", 1),
                8 => append(out, b"\\b", 1),
                12 => append(out, b"\\f", 1),
                0xe2 if rest.starts_with("\u{2028}".as_bytes()) => append(out, b"\\u2028", 3),
                0xe2 if rest.starts_with("\u{2029}".as_bytes()) => append(out, b"\\u2029", 3),
                0xe2 => append(out, &rest[..3], 3),
                _ => {
                    const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
                    append(out, &[b'\\', b'u', b'0', b'0', HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]], 1)
                }
            };
            rest = &rest[taken..];
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
}

/// Undoes in JSON text as Go writes it the escapes that JSON does not ask for, so that it is what `serde_json` writes.
pub(super) fn undo_go_escapes(text: &mut Vec<u8>) {
    let (mut from, mut to) = (0, 0);
    while let Some(at) = memchr::memchr(b'\\', &text[from..]) {
        if from > to {
            text.copy_within(from..from + at, to);
        }
        (from, to) = (from + at, to + at);
        let (plain, escaped): (&[u8], usize) = match text.get(from + 1..from + 6) {
            Some(b"u003c") => (b"<", 6),
            Some(b"u003e") => (b">", 6),
            Some(b"u0026") => (b"&", 6),
            Some(b"u2028") => ("\u{2028}".as_bytes(), 6),
            Some(b"u2029") => ("\u{2029}".as_bytes(), 6),
            Some(b"ufffd") => ("\u{fffd}".as_bytes(), 6),
            _ => (&[b'\\', text[from + 1]], 2),
        };
        text[to..to + plain.len()].copy_from_slice(plain);
        (from, to) = (from + escaped, to + plain.len());
    }
    if from > to {
        text.copy_within(from.., to);
        text.truncate(text.len() - (from - to));
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8], taken: usize) -> usize {
    out.extend_from_slice(bytes);
    taken
}

/// Text as Go's JSON gives it back: each byte that is no UTF-8 becomes U+FFFD.
pub(super) fn utf8(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut owned = String::with_capacity(text.len() + 8);
            for chunk in text.utf8_chunks() {
                owned.push_str(chunk.valid());
                owned.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Cow::Owned(owned)
        }
    }
}

pub(super) fn append_int(out: &mut Vec<u8>, value: i64) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Writes a finite float as `encoding/json` does: the shortest digits that give it back, an exponent only below 1e-6 and from 1e21.
pub(super) fn append_float(out: &mut Vec<u8>, value: f64) {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        match text.split_once('e') {
            Some((digits, power)) if !power.starts_with('-') => write!(out, "{digits}e+{power}"),
            _ => write!(out, "{text}"),
        }
    } else {
        write!(out, "{value}")
    }
    .expect("writing to memory");
}

/// Writes a value compactly, with Go's escapes.
pub(super) fn append_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::String(text) => append_string(out, text.as_bytes()),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                append_value(out, item);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                append_string(out, name.as_bytes());
                out.push(b':');
                append_value(out, member);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &[u8]) -> String {
        let mut out = Vec::new();
        append_string(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    fn float(value: f64) -> String {
        let mut out = Vec::new();
        append_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn strings_are_escaped_as_go_does() {
        assert_eq!(string(b"plain text of some length"), r#""plain text of some length""#);
        assert_eq!(
            string("a<b>&\"\\/\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}é".as_bytes()),
            "\"a\\u003cb\\u003e\\u0026\\\"\\\\/\\n\\r\\t\\b\\f\\u0000\\u001f\u{7f}é\""
        );
        assert_eq!(string("\u{2028}\u{2029}\u{2027}\u{fffd}".as_bytes()), "\"\\u2028\\u2029\u{2027}\u{fffd}\"");
        assert_eq!(string(b"a\xe2\x82z\xff"), r#""a\ufffd\ufffdz\ufffd""#);
    }

    #[test]
    fn what_go_escapes_more_than_json_asks_for_is_undone() {
        for text in
            ["", "plain", "a<b>&\"\\/\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}é", "\\u003c", "\\\\u003c<", "\u{2028}\u{2029}\u{2027}\u{fffd}\\"]
        {
            let mut out = string(text.as_bytes()).into_bytes();
            undo_go_escapes(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(text).unwrap());
        }
        let mut out = string(b"a\xff<").into_bytes();
        undo_go_escapes(&mut out);
        assert_eq!(out, "\"a\u{fffd}<\"".as_bytes());
    }

    #[test]
    fn every_byte_is_plain_in_a_block_as_it_is_alone() {
        for byte in 0..=255u8 {
            for position in 0..BLOCK_BYTES {
                let mut block = *b"abcdefghijklmnop";
                block[position] = byte;
                let special = if is_plain_byte(byte) { BLOCK_BYTES } else { position };
                assert_eq!(first_special(&block), special, "byte {byte:#x} at {position}");
                assert_eq!(is_plain(&block[..=position]), special == BLOCK_BYTES);
                assert_eq!(is_plain(&block.repeat(3)[..=32 + position]), special == BLOCK_BYTES);
            }
        }
    }

    #[test]
    fn floats_are_written_as_go_does() {
        for (value, text) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (1e-6, "0.000001"),
            (9.9e-7, "9.9e-7"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(float(value), text);
        }
    }
}
