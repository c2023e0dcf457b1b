//! Text that stands in another text in another form: in base64, packed or not, as hexadecimal digits, percent-encoded, with JSON's escapes.

use std::io::Read;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A shorter run of base64's letters or of hexadecimal digits is not looked into: neither to rewrite it, nor to search it.
pub(crate) const MIN_RUN_CHARS: usize = 8;
/// How many printable bytes in a row are text within other bytes.
pub(crate) const MIN_TEXT_BYTES: usize = 5;
/// How much of a packed text is unpacked: what is behind it goes with the rest.
const MAX_UNPACKED_BYTES: u64 = 64 << 20;

/// A stretch of a text that holds another text.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Where it stands.
    pub range: Range<usize>,
    /// What it holds.
    pub text: String,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Base64(&'static GeneralPurpose),
    Hex,
    Percent,
    /// Part of a JSON string.
    Json,
    /// Packed, or among bytes that are not text: it cannot be written again.
    Other,
}

impl Encoded {
    /// Writes another text in the same form; `None` where that cannot be done.
    pub(crate) fn written(&self, text: &str) -> Option<String> {
        match self.form {
            Form::Base64(engine) => Some(engine.encode(text)),
            Form::Hex => Some(text.bytes().map(|byte| format!("{byte:02x}")).collect()),
            Form::Percent => Some(utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()),
            Form::Json => {
                let quoted = serde_json::Value::from(text).to_string();
                Some(quoted[1..quoted.len() - 1].to_owned())
            }
            Form::Other => None,
        }
    }
}

/// The texts in a text, in no order. A run of hexadecimal digits is one of base64's letters too.
pub(crate) fn found(text: &str) -> Vec<Encoded> {
    let base64 = base64_runs(text).into_iter().filter_map(|range| of_base64(text, range));
    let hex = runs(text, MIN_RUN_CHARS, |byte| byte.is_ascii_hexdigit()).into_iter().filter_map(|range| of_hex(text, range));
    base64.chain(hex).chain(percent_encoded(text)).chain(json_escaped(text)).collect()
}

fn of_base64(text: &str, range: Range<usize>) -> Option<Encoded> {
    let engines = [(&STANDARD, &STANDARD_NO_PAD), (&URL_SAFE, &URL_SAFE_NO_PAD)];
    let run = &text[range.clone()];
    engines.into_iter().find_map(|(padded, bare)| {
        let engine = if run.ends_with('=') || run.len().is_multiple_of(4) { padded } else { bare };
        let (text, is_text) = text_of(engine.decode(run).ok()?)?;
        Some(Encoded { range: range.clone(), text, form: if is_text { Form::Base64(engine) } else { Form::Other } })
    })
}

fn of_hex(text: &str, range: Range<usize>) -> Option<Encoded> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or_default() as u8;
    let bytes = text[range.clone()].as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) * 16 + digit(pair[1])).collect();
    let (text, is_text) = text_of(bytes)?;
    // One digit more belongs to no byte.
    let is_whole = range.len().is_multiple_of(2);
    Some(Encoded { range, text, form: if is_text && is_whole { Form::Hex } else { Form::Other } })
}

/// Stretches between what separates the parts of an address, with a percent sign in them.
fn percent_encoded(text: &str) -> Vec<Encoded> {
    if !text.contains('%') {
        return Vec::new();
    }
    let runs = runs(text, 3, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'%' | b'-' | b'.' | b'_' | b'~' | b'+'));
    let encoded = |range: Range<usize>| {
        let run = &text[range.clone()];
        let decoded = percent_decode_str(run).decode_utf8().ok()?;
        (decoded.len() < run.len()).then(|| Encoded { range, text: decoded.into_owned(), form: Form::Percent })
    };
    runs.into_iter().filter_map(encoded).collect()
}

/// Stretches without quotes and spaces with escapes of characters in them. Shorter escapes separate words, as what they stand for does.
fn json_escaped(text: &str) -> Vec<Encoded> {
    if !text.contains("\\u") {
        return Vec::new();
    }
    let runs = runs(text, 6, |byte| byte.is_ascii_graphic() && byte != b'"');
    let encoded = |range: Range<usize>| {
        let run = &text[range.clone()];
        let decoded: String = serde_json::from_str(&format!("\"{run}\"")).ok()?;
        run.contains("\\u").then_some(Encoded { range, text: decoded, form: Form::Json })
    };
    runs.into_iter().filter_map(encoded).collect()
}

/// The text in bytes, and whether they are nothing but it; `None` where none is in them.
fn text_of(bytes: Vec<u8>) -> Option<(String, bool)> {
    if let Some(unpacked) = unpacked(&bytes) {
        return Some((String::from_utf8_lossy(&unpacked).into_owned(), false));
    }
    let is_printable = |text: &str| text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace());
    match String::from_utf8(bytes) {
        Ok(text) if is_printable(&text) => Some((text, true)),
        Ok(text) => holds_text(text.as_bytes()).then_some((text, false)),
        Err(error) => holds_text(error.as_bytes()).then(|| (String::from_utf8_lossy(error.as_bytes()).into_owned(), false)),
    }
}

fn holds_text(bytes: &[u8]) -> bool {
    bytes.split(|byte| !byte.is_ascii_graphic() && *byte != b' ').any(|stretch| stretch.len() >= MIN_TEXT_BYTES)
}

/// What gzip (RFC 1952, 2.3.1) or zlib (RFC 1950, 2.2) packed; `None` where neither did. What is damaged is unpacked as far as it goes.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut unpacked = Vec::new();
    let _ = match bytes {
        [0x1f, 0x8b, 8, ..] => MultiGzDecoder::new(bytes).take(MAX_UNPACKED_BYTES).read_to_end(&mut unpacked),
        [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0 => {
            ZlibDecoder::new(bytes).take(MAX_UNPACKED_BYTES).read_to_end(&mut unpacked)
        }
        _ => return None,
    };
    (!unpacked.is_empty()).then_some(unpacked)
}

/// Runs of base64's letters, with their padding.
fn base64_runs(text: &str) -> Vec<Range<usize>> {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut all = runs(text, MIN_RUN_CHARS, letters);
    for range in &mut all {
        range.end += text.as_bytes()[range.end..].iter().take(2).take_while(|byte| **byte == b'=').count();
    }
    all
}

/// Runs of at least so many bytes of a kind.
fn runs(text: &str, least: usize, is_of: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let (bytes, mut all, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && is_of(bytes[at]) {
            at += 1;
        }
        if at - start >= least {
            all.push(start..at);
        }
        at = at.max(start + 1);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const SECRET: &str = "a text: of some words";

    fn packed() -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(SECRET.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_is_encoded_is_found_and_written_again() {
        let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
        let json: String = SECRET.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        assert!(
            found(&format!("{{\"x\":\"{json}\"}}"))
                .iter()
                .any(|found| found.text == SECRET && found.written("a\"b").as_deref() == Some("a\\\"b"))
        );
        for encoded in [STANDARD.encode(SECRET), STANDARD_NO_PAD.encode(SECRET), hex, percent] {
            let text = format!("x=\"{encoded}\" y");
            let found: Vec<Encoded> = found(&text).into_iter().filter(|found| found.text == SECRET).collect();
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(text[found[0].range.clone()], encoded);
            assert_eq!(found[0].written(SECRET).as_deref(), Some(&*encoded));
        }
    }

    #[test]
    fn what_cannot_be_written_again_is_found() {
        let among_bytes = [&[0, 1, 255][..], SECRET.as_bytes(), &[7]].concat();
        for bytes in [packed(), among_bytes] {
            let text = format!("<{}>", STANDARD.encode(bytes));
            let found = found(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].text.contains(SECRET) && found[0].written("x").is_none());
        }
        assert!(found("sha256:9f86d08 100% of it").is_empty());
    }
}
