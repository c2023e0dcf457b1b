//! Original values in bytes that may leave.
//!
//! What is encoded is decoded and looked through again, so that an original is found at every alignment of base64 and in whatever is around it.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
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
use crate::words::joins_parts;

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

/// Tokens, which are stretches without spaces, quotes and brackets, in which nothing was found: objects share most of theirs.
#[derive(Debug, Default)]
pub struct SearchedTokens {
    hasher: RandomState,
    /// Hashes of what they hold and how deep it lay, under a random key.
    clean: HashSet<u64>,
}

/// In bytes that only look like base64 or hexadecimal digits, as a uid does, a shorter name stands by accident: one in a thousand pods has it.
const MIN_NAME_BYTES_IN_NOISE: usize = 6;
/// A text of this length, with nothing else in it, stands there by no accident.
const MIN_WHOLE_TEXT_BYTES: usize = 12;
/// Tokens are known up to this many; then all are forgotten.
const MAX_SEARCHED_TOKENS: usize = 1 << 20;
/// A shorter token holds nothing that is looked for.
const MIN_TOKEN_BYTES: usize = 3;

impl SearchedTokens {
    fn hash(&self, token: &[u8], depth: usize, min_name_bytes: usize) -> u64 {
        self.hasher.hash_one((token, depth, min_name_bytes))
    }

    fn add(&mut self, hash: u64) {
        if self.clean.len() >= MAX_SEARCHED_TOKENS {
            self.clean.clear();
        }
        self.clean.insert(hash);
    }
}

/// Returns the originals that are in some bytes, in order of their offsets, each once.
pub(crate) fn find(mask: &Mask, searched: &mut SearchedTokens, bytes: &[u8]) -> Vec<Leak> {
    let mut search = Search { mask, searched, leaks: Vec::new(), encodings: Vec::new(), min_name_bytes: 0, offset: None };
    search.bytes(bytes);
    let mut leaks = search.leaks;
    leaks.sort_by(|one, other| (one.offset, one).cmp(&(other.offset, other)));
    leaks.dedup();
    leaks
}

struct Search<'m> {
    mask: &'m Mask,
    searched: &'m mut SearchedTokens,
    leaks: Vec<Leak>,
    encodings: Vec<Encoding>,
    /// Shorter names and words of the caller's are not looked for.
    min_name_bytes: usize,
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
    }

    /// What stands in the bytes of one token: what names and addresses are made of, and what base64 and hexadecimal digits are, does not go beyond it.
    fn token(&mut self, bytes: &[u8], token: Range<usize>) {
        let (start, token) = (token.start, &bytes[token]);
        if token.len() < MIN_TOKEN_BYTES {
            return;
        }
        let hash = self.searched.hash(token, self.encodings.len(), self.min_name_bytes);
        if self.searched.clean.contains(&hash) {
            return;
        }
        let found_before = self.leaks.len();
        let text = String::from_utf8_lossy(token);
        for (range, class) in self.mask.names_in(&text) {
            if range.len() >= self.min_name_bytes {
                self.leak(class, start + range.start);
            }
        }
        for (at, class) in self.mask.addresses_in(&text) {
            self.leak(class, start + at);
        }
        if self.encodings.len() < MAX_DEPTH {
            self.encoded(token, start);
        }
        if self.leaks.len() == found_before {
            self.searched.add(hash);
        }
    }

    /// What a token holds as hexadecimal digits and in base64, from each place on.
    fn encoded(&mut self, token: &[u8], token_start: usize) {
        for run in runs(token, |byte| byte.is_ascii_hexdigit()) {
            let digits = &token[run.clone()];
            for start in 0..2 {
                let decoded: Vec<u8> = digits[start..].chunks_exact(2).filter_map(hex_byte).collect();
                self.inside_text(Encoding::Hex, token_start + run.start + start, &decoded);
            }
        }
        for run in runs(token, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')) {
            let standard = |byte: &u8| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            };
            let letters: Vec<u8> = token[run.clone()].iter().map(standard).collect();
            for start in 0..4.min(letters.len()) {
                let letters = &letters[start..];
                // One letter more holds no whole byte.
                let letters = if letters.len() % 4 == 1 { &letters[..letters.len() - 1] } else { letters };
                if let Ok(decoded) = DECODER.decode(letters) {
                    self.inside_text(Encoding::Base64, token_start + run.start + start, &decoded);
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
            let min_name_bytes = if is_whole_text(decoded) { self.min_name_bytes } else { MIN_NAME_BYTES_IN_NOISE };
            let outer = std::mem::replace(&mut self.min_name_bytes, min_name_bytes);
            self.inside(encoding, at, decoded);
            self.min_name_bytes = outer;
        }
    }

    /// What stands in the bytes as it is.
    fn plain(&mut self, bytes: &[u8]) {
        let (mask, min_bytes) = (self.mask, self.min_name_bytes);
        for (range, class) in mask.values.find(bytes) {
            self.leak(class, range.start);
        }
        for range in mask.own_words.find(bytes).filter(|range| range.len() >= min_bytes) {
            self.leak(Class::OwnWords, range.start);
        }
        for token in tokens(bytes) {
            self.token(bytes, token);
        }
    }

    fn compressed(&mut self, bytes: &[u8]) {
        // What can be unpacked is no accident.
        let outer = std::mem::take(&mut self.min_name_bytes);
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
        self.min_name_bytes = outer;
    }
}

/// Where gzip may begin (RFC 1952, 2.3.1).
fn memchr_magic(bytes: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(bytes, &[0x1f, 0x8b, 8]).collect()
}

/// Stretches of what names, addresses and letters of base64 are made of: no other character is in one of them. Bytes that are not ASCII are letters.
fn tokens(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let is_in = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphanumeric() || joins_parts(char::from(*byte));
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + bytes[from..].iter().position(is_in)?;
        let end = bytes[start..].iter().position(|byte| !is_in(byte)).map_or(bytes.len(), |length| start + length);
        from = end;
        Some(start..end)
    })
}

/// Whether bytes begin as zlib's do (RFC 1950, 2.2).
fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0)
}

/// Whether bytes are text and nothing else, and more of it than stands anywhere by accident.
fn is_whole_text(bytes: &[u8]) -> bool {
    let is_printable = |c: char| !c.is_control() || c.is_ascii_whitespace();
    bytes.len() >= MIN_WHOLE_TEXT_BYTES && std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_printable))
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
    fn tokens_end_where_no_name_goes_on() {
        let text = r#"{"a":"::ffff:10.0.0.1","b":["+x/y=","Zürich-0"]} "#.as_bytes();
        let found: Vec<&str> = tokens(text).map(|token| std::str::from_utf8(&text[token]).unwrap()).collect();
        assert_eq!(found, ["a", ":", "::ffff:10.0.0.1", "b", ":", "+x/y", "Zürich-0"]);
        assert_eq!(tokens(b"").count(), 0);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped(br#"a\"b\u0041\\n"#).unwrap(), br#"a"bA\n"#);
        assert_eq!(unescaped(b"plain"), None);
        assert_eq!(unescaped(b"\\x\\u00zz"), None);
    }
}
