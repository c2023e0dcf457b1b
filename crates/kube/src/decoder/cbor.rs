//! CBOR as the API server stores it (feature gate `CBORServingAndStorage`), to canonical JSON text.
//!
//! The rules are those of apimachinery's `runtime/serializer/cbor` of Kubernetes 1.36: byte strings are strings, integers must fit int64,
//! bignums, NaN and infinities are refused.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::fault::{Fault, Result};
use super::go_text;
use super::go_time;
use super::raw_json::MAX_DEPTH;
use super::sorted::OpenMembers;

/// The tag every stored CBOR value begins with: 55799, "self-described CBOR".
pub(super) const CBOR_MAGIC: [u8; 3] = [0xd9, 0xd9, 0xf7];

/// Appends the one CBOR item that `bytes` are. Offsets of faults are counted from its beginning.
pub(super) fn append(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut parser = CborParser { bytes, pos: 0, members: OpenMembers::default() };
    parser.item(out, 0, None)?;
    if parser.pos < bytes.len() { Err(Fault::new("bytes after the CBOR item", parser.pos)) } else { Ok(()) }
}

struct CborParser<'a> {
    bytes: &'a [u8],
    pos: usize,
    members: OpenMembers,
}

/// The head of an item: its major type, the other five bits of that byte, and its argument; `None` for an indefinite length.
struct Head {
    major: u8,
    info: u8,
    argument: Option<u64>,
}

impl CborParser<'_> {
    fn take(&mut self, length: u64) -> Result<&[u8]> {
        let start = self.pos;
        if length > (self.bytes.len() - start) as u64 {
            return Err(Fault::new("CBOR cut short", start));
        }
        self.pos += length as usize;
        Ok(&self.bytes[start..self.pos])
    }

    fn head(&mut self) -> Result<Head> {
        let at = self.pos;
        let first = self.take(1)?[0];
        let info = first & 31;
        let argument = match info {
            0..24 => Some(u64::from(info)),
            24..28 => Some(self.take(1 << (info - 24))?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))),
            31 => None,
            _ => return Err(Fault::new("reserved CBOR length", at)),
        };
        Ok(Head { major: first >> 5, info, argument })
    }

    /// One item; `tag` is the one before it.
    fn item(&mut self, out: &mut Vec<u8>, depth: usize, tag: Option<u64>) -> Result<()> {
        let at = self.pos;
        if depth > MAX_DEPTH {
            return Err(Fault::new("CBOR nested too deep", at));
        }
        let head = self.head()?;
        match (head.major, head.argument) {
            (0, Some(value)) => self.integer(i64::try_from(value).ok(), at, tag, out),
            (1, Some(value)) => self.integer(i64::try_from(value).ok().map(|value| -1 - value), at, tag, out),
            (2 | 3, length) => {
                let text = self.string(head.major, length, at)?;
                append_bytes(&text, head.major, tag, out);
                Ok(())
            }
            (4, length) => self.array(length, out, depth + 1),
            (5, length) => self.map(length, out, depth + 1),
            (6, Some(2 | 3)) => Err(Fault::new("CBOR bignum", at)),
            (6, Some(tag)) => self.item(out, depth + 1, Some(tag)),
            (7, Some(value)) => self.simple(head.info, value, at, tag, out),
            _ => Err(Fault::new("CBOR item that is not allowed here", at)),
        }
    }

    fn integer(&self, value: Option<i64>, at: usize, tag: Option<u64>, out: &mut Vec<u8>) -> Result<()> {
        match value {
            Some(value) if tag == Some(1) => append_time(value, 0, out),
            Some(value) => go_text::append_int(out, value),
            None => return Err(Fault::new("CBOR integer beyond 64 bits", at)),
        }
        Ok(())
    }

    fn simple(&self, info: u8, value: u64, at: usize, tag: Option<u64>, out: &mut Vec<u8>) -> Result<()> {
        let float = match (info, value) {
            (20..=23, _) => {
                out.extend_from_slice([&b"false"[..], b"true", b"null", b"null"][usize::from(info - 20)]);
                return Ok(());
            }
            (25, bits) => half(bits as u16),
            (26, bits) => f64::from(f32::from_bits(bits as u32)),
            (27, bits) => f64::from_bits(bits),
            _ => return Err(Fault::new("unknown CBOR simple value", at)),
        };
        if !float.is_finite() {
            return Err(Fault::new("CBOR number that JSON cannot represent", at));
        }
        if tag == Some(1) {
            append_time(float.floor() as i64, ((float - float.floor()) * 1e9) as u32, out);
        } else {
            go_text::append_float(out, float);
        }
        Ok(())
    }

    fn string(&mut self, major: u8, length: Option<u64>, at: usize) -> Result<Vec<u8>> {
        let Some(length) = length else {
            let mut text = Vec::new();
            while !self.at_break()? {
                let chunk_at = self.pos;
                match self.head()? {
                    Head { major: inner, argument: Some(length), .. } if inner == major => text.extend_from_slice(self.take(length)?),
                    _ => return Err(Fault::new("CBOR string with chunks of another type", chunk_at)),
                }
            }
            return Ok(text);
        };
        let text = self.take(length)?.to_vec();
        if major == 3 && std::str::from_utf8(&text).is_err() {
            return Err(Fault::new("CBOR text that is not UTF-8", at));
        }
        Ok(text)
    }

    /// Whether the byte at hand ends an item of indefinite length; if so it is taken.
    fn at_break(&mut self) -> Result<bool> {
        match self.bytes.get(self.pos) {
            Some(0xff) => {
                self.pos += 1;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Err(Fault::new("CBOR cut short", self.pos)),
        }
    }

    /// Whether another of `left` items follows.
    fn more(&mut self, left: &mut Option<u64>) -> Result<bool> {
        match left {
            Some(0) => Ok(false),
            Some(count) => {
                *count -= 1;
                Ok(true)
            }
            None => Ok(!self.at_break()?),
        }
    }

    fn array(&mut self, mut left: Option<u64>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        out.push(b'[');
        let mut index = 0;
        while self.more(&mut left)? {
            if index > 0 {
                out.push(b',');
            }
            self.item(out, depth, None).map_err(|fault| fault.within(&format!("[{index}]")))?;
            index += 1;
        }
        out.push(b']');
        Ok(())
    }

    fn map(&mut self, mut left: Option<u64>, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        let object = self.members.begin(out);
        while self.more(&mut left)? {
            let at = self.pos;
            let head = self.head()?;
            if head.major != 2 && head.major != 3 {
                return Err(Fault::new("CBOR map with a key that is not a string", at));
            }
            let key = self.string(head.major, head.argument, at)?;
            self.members.key(&object, &key, out);
            self.item(out, depth, None).map_err(|fault| fault.within(&go_text::utf8(&key)))?;
            self.members.end_member(out);
        }
        self.members.end(object, out);
        Ok(())
    }
}

/// A string. Tags 21 to 23 on a byte string say how to write it as text.
fn append_bytes(bytes: &[u8], major: u8, tag: Option<u64>, out: &mut Vec<u8>) {
    match tag {
        Some(21) if major == 2 => go_text::append_string(out, URL_SAFE_NO_PAD.encode(bytes).as_bytes()),
        Some(22) if major == 2 => go_text::append_string(out, STANDARD.encode(bytes).as_bytes()),
        Some(23) if major == 2 => {
            go_text::append_string(out, bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().as_bytes())
        }
        _ => go_text::append_string(out, bytes),
    }
}

/// A time since 1970 as RFC 3339, with as many digits as it needs.
fn append_time(seconds: i64, nanos: u32, out: &mut Vec<u8>) {
    let mut text = go_time::time(seconds).as_str().to_owned();
    if nanos > 0 {
        text.insert_str(text.len() - 1, format!(".{nanos:09}").trim_end_matches('0'));
    }
    go_text::append_string(out, text.as_bytes());
}

/// A float of 16 bits.
fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {

    fn json(bytes: &[u8]) -> std::result::Result<String, String> {
        let mut out = Vec::new();
        super::append(bytes, &mut out).map_err(|fault| fault.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn items_become_json() {
        for (bytes, text) in [
            (&b"\xd9\xd9\xf7\xa2\x41b\x01\x41a\x20"[..], r#"{"a":-1,"b":1}"#),
            (b"\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", "9223372036854775807"),
            (b"\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", "-9223372036854775808"),
            (b"\xf9\x3c\x00", "1"),
            (b"\xf9\x80\x00", "-0"),
            (b"\xfa\x3d\xcc\xcc\xcd", "0.10000000149011612"),
            (b"\xfb\x44\x4b\x1a\xe4\xd6\xe2\xef\x50", "1e+21"),
            (b"\xf9\x00\x01", "5.960464477539063e-8"),
            (b"\xd6\x43\x01\x02\x03", r#""AQID""#),
            (b"\x9f\xf4\xf5\xf6\x5f\x41a\x41<\xff\xff", r#"[false,true,null,"a\u003c"]"#),
            (b"\xbf\x61k\x80\xff", r#"{"k":[]}"#),
            (b"\xc1\x1a\x51\x4b\x67\xb0", r#""2013-03-21T20:04:00Z""#),
            (b"\xc1\xfb\x41\xd4\x52\xd9\xec\x20\x00\x00", r#""2013-03-21T20:04:00.5Z""#),
        ] {
            assert_eq!(json(bytes).as_deref(), Ok(text), "{bytes:x?}");
        }
    }

    #[test]
    fn what_the_api_server_refuses_is_refused() {
        for (bytes, fault) in [
            (&b""[..], "CBOR cut short at offset 0"),
            (b"\x1b\x80\x00\x00\x00\x00\x00\x00\x00", "CBOR integer beyond 64 bits at offset 0"),
            (b"\xc2\x41\x01", "CBOR bignum at offset 0"),
            (b"\xf9\x7c\x00", "CBOR number that JSON cannot represent at offset 0"),
            (b"\xa1\x01\x01", "CBOR map with a key that is not a string at offset 1"),
            (b"\xa1\x61a\x82\x01\xff", "CBOR item that is not allowed here at offset 5, field a[1]"),
            (b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "CBOR cut short at offset 9"),
            (b"\x61\xff", "CBOR text that is not UTF-8 at offset 0"),
            (b"\xf4\xf4", "bytes after the CBOR item at offset 1"),
        ] {
            assert_eq!(json(bytes).unwrap_err(), fault, "{bytes:x?}");
        }
        assert!(json(&[0x81; 10_000]).unwrap_err().starts_with("CBOR nested too deep"));
    }
}
