//! How Go writes JSON: its escapes, its numbers, its times and durations.

use std::borrow::Cow;
use std::io::Write;

use serde_json::Value;

/// Writes a string in quotes as `encoding/json` does: `<`, `>`, `&`, U+2028 and U+2029 escaped, each byte that is no UTF-8 as `\ufffd`.
pub fn append_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let plain = plain_prefix(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        append_escaped(out, &text[plain..]);
    }
    out.push(b'"');
}

/// How many of the first bytes are ASCII that needs no escape.
fn plain_prefix(text: &[u8]) -> usize {
    let mut chunks = text.chunks_exact(8);
    let mut at = 0;
    for chunk in &mut chunks {
        if !plain_word(u64::from_le_bytes(chunk.try_into().expect("eight bytes"))) {
            break;
        }
        at += 8;
    }
    while at < text.len() && PLAIN[usize::from(text[at])] {
        at += 1;
    }
    at
}

/// Whether each of eight bytes is ASCII that needs no escape.
#[inline]
pub fn plain_word(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // A byte is zero where `(x - 1) & !x` has its high bit; bytes above 0x7f are caught by `word & HIGH` itself.
    let zero = |x: u64| x.wrapping_sub(ONES) & !x;
    let has = |byte: u8| zero(word ^ (ONES * u64::from(byte)));
    let control = word.wrapping_sub(ONES * 0x20);
    // `<` and `>` differ in one bit.
    let angle = zero((word | (ONES * 2)) ^ (ONES * u64::from(b'>')));
    (word | control | has(b'"') | has(b'\\') | has(b'&') | angle) & HIGH == 0
}

const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0x20;
    while byte < 0x80 {
        table[byte] = !matches!(byte as u8, b'"' | b'\\' | b'<' | b'>' | b'&');
        byte += 1;
    }
    table
};

fn append_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(&byte) = rest.first() {
            let plain = rest.iter().position(|&b| b < 0x80 && !PLAIN[usize::from(b)] || b == 0xe2).unwrap_or(rest.len());
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
                    const HEX: &[u8; 16] = b"0123456789abcdef";
                    append(out, &[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]], 1)
                }
            };
            rest = &rest[taken..];
        }
        for _ in chunk.invalid() {
            out.extend_from_slice(b"\\ufffd");
        }
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8], taken: usize) -> usize {
    out.extend_from_slice(bytes);
    taken
}

/// Text as Go's JSON gives it back: each byte that is no UTF-8 becomes U+FFFD.
pub fn utf8(text: &[u8]) -> Cow<'_, str> {
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

/// Writes an integer.
pub fn append_int(out: &mut Vec<u8>, value: i64) {
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
pub fn append_float(out: &mut Vec<u8>, value: f64) {
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
pub fn append_value(out: &mut Vec<u8>, value: &Value) {
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

/// The second Go's zero time stands for: year 1.
const ZERO_TIME: i64 = -62_135_596_800;

/// RFC 3339 in UTC, in whole seconds; `None` for Go's zero time.
pub fn time(seconds: i64) -> Option<String> {
    (seconds != ZERO_TIME).then(|| date_time(seconds) + "Z")
}

/// RFC 3339 in UTC with six digits; `None` for Go's zero time.
pub fn micro_time(seconds: i64, nanos: i64) -> Option<String> {
    let seconds = seconds.wrapping_add(nanos.div_euclid(1_000_000_000));
    let nanos = nanos.rem_euclid(1_000_000_000);
    (seconds != ZERO_TIME || nanos != 0).then(|| format!("{}.{:06}Z", date_time(seconds), nanos / 1000))
}

fn date_time(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let mut text = String::with_capacity(28);
    if (0..10_000).contains(&year) {
        push_two(&mut text, year / 100);
        push_two(&mut text, year % 100);
    } else {
        let sign = if year < 0 { "-" } else { "" };
        text.push_str(&format!("{sign}{:04}", year.abs()));
    }
    for (separator, number) in [('-', month), ('-', day), ('T', second / 3600), (':', second / 60 % 60), (':', second % 60)] {
        text.push(separator);
        push_two(&mut text, number);
    }
    text
}

/// A number below 100 in two digits.
fn push_two(text: &mut String, number: i64) {
    text.push(char::from(b'0' + (number / 10) as u8));
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// Days since 1970 to a date of the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Go's `Duration.String`.
pub fn duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{size}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(size, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(size, 1_000_000)),
        _ => {
            let minutes = size / 60_000_000_000;
            let seconds = decimal(size % 60_000_000_000, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

/// `value / unit` without trailing zeros; `unit` is a power of ten.
fn decimal(value: u64, unit: u64) -> String {
    let fraction = value % unit;
    if fraction == 0 {
        return (value / unit).to_string();
    }
    let digits = unit.ilog10() as usize;
    format!("{}.{}", value / unit, format!("{fraction:0digits$}").trim_end_matches('0'))
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
    fn every_byte_is_plain_in_a_word_as_it_is_alone() {
        for byte in 0..=255u8 {
            for position in 0..8 {
                let mut word = *b"abcdefgh";
                word[position] = byte;
                assert_eq!(plain_word(u64::from_le_bytes(word)), PLAIN[usize::from(byte)], "byte {byte:#x} at {position}");
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

    #[test]
    fn times_and_durations() {
        assert_eq!(time(1_795_210_103).as_deref(), Some("2026-11-20T21:28:23Z"));
        assert_eq!(time(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(time(-1).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(time(951_782_400).as_deref(), Some("2000-02-29T00:00:00Z"));
        assert_eq!(time(ZERO_TIME), None);
        assert_eq!(micro_time(0, 123_456_789).as_deref(), Some("1970-01-01T00:00:00.123456Z"));
        for (nanos, text) in [
            (0, "0s"),
            (12, "12ns"),
            (12_000, "12µs"),
            (1_500, "1.5µs"),
            (-5_000_000, "-5ms"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (5_400_000_000_000, "1h30m0s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(duration(nanos), text);
        }
    }
}
