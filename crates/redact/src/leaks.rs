//! Original values in bytes that may leave.
//!
//! What is encoded is decoded and looked through again, so that an original is found at every alignment of base64 and in whatever is around it.

use std::io::Read;
use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use percent_encoding::percent_decode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::Class;
use crate::encodings::{MIN_RUN_CHARS, MIN_TEXT_BYTES};
use crate::mask::Mask;

/// An original value that was found. It does not say the value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Leak {
    /// Its class.
    pub class: Class,
    /// How it was written, from the outside in; empty where as it is.
    pub encodings: Vec<Encoding>,
    /// Where it begins, in bytes; where the outermost encoding begins, if there is one.
    pub offset: usize,
}

/// A way to write bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Encoding {
    /// Base64, by either alphabet.
    Base64,
    /// Gzip or zlib.
    Gzip,
    /// Hexadecimal digits.
    Hex,
    /// Escapes of JSON.
    Json,
    /// Percent signs of URLs.
    Url,
}

/// How deep encodings in encodings are looked into: a Helm release is three deep.
const MAX_DEPTH: usize = 6;
/// How much of a compressed stream is looked through.
const MAX_UNPACKED_BYTES: u64 = 256 << 20;

/// Base64 whose last bits may be anything: a run that is cut at any place.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true).with_decode_padding_mode(DecodePaddingMode::Indifferent);
const DECODER: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// Returns the originals that are in some bytes, in order of their offsets, each once.
pub(crate) fn find(mask: &Mask, bytes: &[u8]) -> Vec<Leak> {
    let mut search = Search { mask, leaks: Vec::new(), encodings: Vec::new(), offset: None };
    search.bytes(bytes);
    let mut leaks = search.leaks;
    leaks.sort_by(|one, other| (one.offset, one).cmp(&(other.offset, other)));
    leaks.dedup();
    leaks
}

struct Search<'m> {
    mask: &'m Mask,
    leaks: Vec<Leak>,
    encodings: Vec<Encoding>,
    /// Where the outermost encoding begins.
    offset: Option<usize>,
}

impl Search<'_> {
    fn leak(&mut self, class: Class, at: usize) {
        self.leaks.push(Leak { class, encodings: self.encodings.clone(), offset: self.offset.unwrap_or(at) });
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.plain(bytes);
        if self.encodings.len() >= MAX_DEPTH {
            return;
        }
        if bytes.contains(&b'\\')
            && let Some(unescaped) = unescaped(bytes)
        {
            self.inside(Encoding::Json, 0, &unescaped);
        }
        if bytes.contains(&b'%') {
            let decoded: Vec<u8> = percent_decode(bytes).collect();
            if decoded.len() < bytes.len() {
                self.inside(Encoding::Url, 0, &decoded);
            }
        }
        self.compressed(bytes);
        for run in runs(bytes, |byte| byte.is_ascii_hexdigit()) {
            let digits = &bytes[run.clone()];
            for start in 0..2 {
                let decoded: Vec<u8> = digits[start..].chunks_exact(2).filter_map(hex_byte).collect();
                self.inside_text(Encoding::Hex, run.start + start, &decoded);
            }
        }
        for run in runs(bytes, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')) {
            let letters: Vec<u8> = bytes[run.clone()]
                .iter()
                .map(|byte| {
                    if *byte == b'-' {
                        b'+'
                    } else if *byte == b'_' {
                        b'/'
                    } else {
                        *byte
                    }
                })
                .collect();
            for start in 0..4.min(letters.len()) {
                let letters = &letters[start..];
                // One letter more holds no whole byte.
                let letters = if letters.len() % 4 == 1 { &letters[..letters.len() - 1] } else { letters };
                if let Ok(decoded) = DECODER.decode(letters) {
                    self.inside_text(Encoding::Base64, run.start + start, &decoded);
                }
            }
        }
    }

    /// Looks through what was decoded.
    fn inside(&mut self, encoding: Encoding, at: usize, decoded: &[u8]) {
        let outer = self.offset;
        self.offset = outer.or(Some(at));
        self.encodings.push(encoding);
        self.bytes(decoded);
        self.encodings.pop();
        self.offset = outer;
    }

    /// Looks through what may have been encoded: nearly every word is base64 of some bytes, which are looked into where they are text or compressed.
    fn inside_text(&mut self, encoding: Encoding, at: usize, decoded: &[u8]) {
        let is_text = decoded.split(|byte| !byte.is_ascii_graphic() && *byte != b' ').any(|stretch| stretch.len() >= MIN_TEXT_BYTES);
        if is_text || is_compressed(decoded) || self.mask.values.find(decoded).next().is_some() {
            self.inside(encoding, at, decoded);
        }
    }

    /// What stands in the bytes as it is.
    fn plain(&mut self, bytes: &[u8]) {
        let mask = self.mask;
        for (range, class) in mask.values.find(bytes) {
            self.leak(class, range.start);
        }
        for range in mask.own_words.find(bytes) {
            self.leak(Class::OwnWords, range.start);
        }
        let text = String::from_utf8_lossy(bytes);
        for (at, class) in mask.names_in(&text).into_iter().chain(mask.addresses_in(&text)) {
            self.leak(class, at);
        }
    }

    fn compressed(&mut self, bytes: &[u8]) {
        for at in memchr_magic(bytes) {
            let mut unpacked = Vec::new();
            // What is damaged is looked through as far as it goes.
            let _ = MultiGzDecoder::new(&bytes[at..]).take(MAX_UNPACKED_BYTES).read_to_end(&mut unpacked);
            if !unpacked.is_empty() {
                self.inside(Encoding::Gzip, at, &unpacked);
            }
        }
        if is_zlib(bytes) {
            let mut unpacked = Vec::new();
            let _ = ZlibDecoder::new(bytes).take(MAX_UNPACKED_BYTES).read_to_end(&mut unpacked);
            if !unpacked.is_empty() {
                self.inside(Encoding::Gzip, 0, &unpacked);
            }
        }
    }
}

/// Where gzip may begin (RFC 1952, 2.3.1).
fn memchr_magic(bytes: &[u8]) -> Vec<usize> {
    bytes.windows(3).enumerate().filter(|(_, window)| *window == [0x1f, 0x8b, 8]).map(|(at, _)| at).collect()
}

/// Whether bytes begin as zlib's do (RFC 1950, 2.2).
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0)
}

fn is_compressed(bytes: &[u8]) -> bool {
    is_zlib(bytes) || !memchr_magic(bytes).is_empty()
}

fn runs(bytes: &[u8], is_in: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let (mut all, mut start) = (Vec::new(), None);
    for (at, byte) in bytes.iter().enumerate() {
        match (start, is_in(*byte)) {
            (None, true) => start = Some(at),
            (Some(begun), false) => {
                all.push(begun..at);
                start = None;
            }
            _ => {}
        }
    }
    all.extend(start.map(|begun| begun..bytes.len()));
    all.retain(|run| run.len() >= MIN_RUN_CHARS);
    all
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

/// Bytes without the escapes of JSON strings; `None` where there are none.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut at, mut count) = (Vec::with_capacity(bytes.len()), 0, 0);
    while at < bytes.len() {
        let escape = (bytes[at] == b'\\').then(|| bytes.get(at + 1)).flatten();
        let (byte, length) = match escape {
            Some(b'n') => (b'\n', 2),
            Some(b't') => (b'\t', 2),
            Some(b'r') => (b'\r', 2),
            Some(byte @ (b'"' | b'\\' | b'/')) => (*byte, 2),
            Some(b'u') => match escaped_char(&bytes[at..]) {
                Some(c) => {
                    plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    (at, count) = (at + 6, count + 1);
                    continue;
                }
                None => (bytes[at], 1),
            },
            _ => (bytes[at], 1),
        };
        count += usize::from(length == 2);
        plain.push(byte);
        at += length;
    }
    (count > 0).then_some(plain)
}

/// The character of `\u0041`.
fn escaped_char(bytes: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(bytes.get(2..6)?).ok()?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped(br#"a\"b\u0041\\n"#).unwrap(), br#"a"bA\n"#);
        assert_eq!(unescaped(b"plain"), None);
        assert_eq!(unescaped(b"\\x\\u00zz"), None);
    }
}
