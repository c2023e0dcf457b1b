//! JSON text made canonical: compact, members sorted, strings escaped as Go does, numbers as they are spelt. A custom resource's numbers are written anew.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::canonical::{is_canonical, is_well_formed};
use super::fault::{Fault, Result};
use super::go_text;
use super::sorted::OpenMembers;

/// Values within values, below what `serde_json` reads.
pub(super) const MAX_DEPTH: usize = 120;

pub(super) struct CanonicalText<'t> {
    pub text: Cow<'t, [u8]>,
    /// The offset of the first number that no float64 holds.
    pub out_of_range: Option<usize>,
}

impl<'t> CanonicalText<'t> {
    /// The one JSON value that `text` is. Offsets of faults are counted from `text`'s beginning.
    pub(super) fn of(text: &'t [u8]) -> Result<Self> {
        // Go's encoder ends what it writes with a newline.
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        if is_canonical(line) {
            return Ok(Self { text: Cow::Borrowed(line), out_of_range: None });
        }
        let mut out = Vec::with_capacity(text.len() + 64);
        let out_of_range = parse(text, &mut out)?;
        Ok(Self { text: Cow::Owned(out), out_of_range })
    }
}

/// Fails where [`append`] does.
pub(super) fn check(text: &[u8]) -> Result<()> {
    if is_well_formed(text) { Ok(()) } else { append(text, &mut Vec::new()) }
}

/// Appends the one JSON value that `text` is. Offsets of faults are counted from `text`'s beginning.
pub(super) fn append(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if is_canonical(text) {
        out.extend_from_slice(text);
        return Ok(());
    }
    parse(text, out).map(|_| ())
}

/// Writes the numbers in a value as Go does, which reads them as int64 or else as float64.
pub(super) fn rewrite_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let mut text = Vec::new();
            if let Ok(integer) = number.as_str().parse() {
                go_text::append_int(&mut text, integer);
            } else if let Ok(float) = number.as_str().parse() {
                go_text::append_float(&mut text, float);
            }
            if text != number.as_str().as_bytes()
                && let Ok(written) = serde_json::from_slice::<Number>(&text)
            {
                *number = written;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite_numbers),
        Value::Object(members) => members.values_mut().for_each(rewrite_numbers),
        _ => {}
    }
}

/// A float64 holds every number of this many digits that has no exponent.
const SAFE_DIGITS: usize = 300;

/// Appends the value and returns where the first number is that no float64 holds.
pub(super) fn parse(text: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
    let mut parser = JsonParser { text, pos: 0, members: OpenMembers::default(), out_of_range: None };
    parser.value(out, 0)?;
    parser.space();
    if parser.pos < text.len() { Err(parser.fault("text after the JSON value")) } else { Ok(parser.out_of_range) }
}

struct JsonParser<'a> {
    text: &'a [u8],
    pos: usize,
    members: OpenMembers,
    /// The offset of the first number that no float64 holds.
    out_of_range: Option<usize>,
}

impl<'a> JsonParser<'a> {
    fn fault(&self, what: &str) -> Box<Fault> {
        if self.pos >= self.text.len() { Fault::new("JSON cut short", self.pos) } else { Fault::new(what, self.pos) }
    }

    #[inline]
    fn peek(&self) -> u8 {
        self.text.get(self.pos).copied().unwrap_or(0)
    }

    #[inline]
    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.pos += 1;
        }
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        self.space();
        match self.peek() {
            b'{' | b'[' if depth >= MAX_DEPTH => Err(self.fault("JSON nested too deep")),
            b'{' => self.object(out, depth + 1),
            b'[' => self.array(out, depth + 1),
            b'"' => {
                let text = self.string()?;
                match text {
                    SourceText::Plain(text) => {
                        out.push(b'"');
                        out.extend_from_slice(text);
                        out.push(b'"');
                    }
                    SourceText::Decoded(text) => go_text::append_string(out, &text),
                }
                Ok(())
            }
            b't' => self.literal(b"true", out),
            b'f' => self.literal(b"false", out),
            b'n' => self.literal(b"null", out),
            b'-' | b'0'..=b'9' => self.number(out),
            _ => Err(self.fault("no JSON value")),
        }
    }

    fn literal(&mut self, word: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if !self.text[self.pos..].starts_with(word) {
            return Err(self.fault("no JSON value"));
        }
        self.pos += word.len();
        out.extend_from_slice(word);
        Ok(())
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        self.pos += 1;
        let object = self.members.begin(out);
        self.space();
        if self.peek() != b'}' {
            loop {
                self.space();
                if self.peek() != b'"' {
                    return Err(self.fault("expected a member's name"));
                }
                match self.string()? {
                    SourceText::Plain(key) => self.members.key(&object, key, out),
                    SourceText::Decoded(key) => self.members.key(&object, &key, out),
                }
                self.space();
                if self.peek() != b':' {
                    return Err(self.fault("expected a colon"));
                }
                self.pos += 1;
                self.value(out, depth)?;
                self.members.end_member(out);
                self.space();
                match self.peek() {
                    b',' => self.pos += 1,
                    b'}' => break,
                    _ => return Err(self.fault("expected a comma or the object's end")),
                }
            }
        }
        self.pos += 1;
        self.members.end(object, out);
        Ok(())
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        self.pos += 1;
        out.push(b'[');
        self.space();
        if self.peek() != b']' {
            loop {
                self.value(out, depth)?;
                self.space();
                match self.peek() {
                    b',' => out.push(b','),
                    b']' => break,
                    _ => return Err(self.fault("expected a comma or the array's end")),
                }
                self.pos += 1;
            }
        }
        self.pos += 1;
        out.push(b']');
        Ok(())
    }

    /// A string whose opening quote is at hand.
    fn string(&mut self) -> Result<SourceText<'a>> {
        let start = self.pos + 1;
        let mut pos = start;
        while let Some(block) = self.text[pos..].first_chunk() {
            let plain = go_text::first_special(block);
            pos += plain;
            if plain < go_text::BLOCK_BYTES {
                break;
            }
        }
        loop {
            match self.text.get(pos) {
                Some(b'"') => {
                    self.pos = pos + 1;
                    return Ok(SourceText::Plain(&self.text[start..pos]));
                }
                Some(b'\\' | b'<' | b'>' | b'&' | 0..0x20 | 0x80..) | None => return self.decoded(start),
                Some(_) => pos += 1,
            }
        }
    }

    fn decoded(&mut self, start: usize) -> Result<SourceText<'a>> {
        let mut decoded = Vec::new();
        self.pos = start;
        loop {
            match self.text.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(SourceText::Decoded(decoded));
                }
                Some(b'\\') => {
                    let mut utf8 = [0; 4];
                    let character = self.escape()?;
                    decoded.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
                }
                Some(0..0x20) | None => return Err(self.fault("control character in a string")),
                Some(&byte) => {
                    decoded.push(byte);
                    self.pos += 1;
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let kind = self.text.get(self.pos + 1).copied().unwrap_or(0);
        let simple = match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.fault("unknown escape in a string")),
        };
        self.pos += 2;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let unit = |at: usize| {
            let escape = self.text.get(at..at + 6)?;
            let hex = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
            hex.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(hex, 16).ok())?
        };
        let Some(first) = unit(self.pos) else { return Err(self.fault("unknown escape in a string")) };
        if (0xd800..0xdc00).contains(&first)
            && let Some(second) = unit(self.pos + 6).filter(|second| (0xdc00..0xe000).contains(second))
        {
            self.pos += 12;
            return Ok(char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).expect("a pair of surrogates"));
        }
        self.pos += 6;
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn number(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let start = self.pos;
        if self.peek() == b'-' {
            self.pos += 1;
        }
        match self.peek() {
            b'0' => self.pos += 1,
            b'1'..=b'9' => self.digits(),
            _ => return Err(self.fault("no number")),
        }
        if self.peek() == b'.' {
            self.pos += 1;
            if !self.peek().is_ascii_digit() {
                return Err(self.fault("no number"));
            }
            self.digits();
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.pos += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.pos += 1;
            }
            if !self.peek().is_ascii_digit() {
                return Err(self.fault("no number"));
            }
            self.digits();
        }
        let text = &self.text[start..self.pos];
        if text.len() > SAFE_DIGITS || text.contains(&b'e') || text.contains(&b'E') {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
            if self.out_of_range.is_none() && !number.is_some_and(f64::is_finite) {
                self.out_of_range = Some(start);
            }
        }
        out.extend_from_slice(text);
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.pos += 1;
        }
    }
}

/// A string's text: as it stands in the source if Go would write it so, else decoded.
enum SourceText<'a> {
    Plain(&'a [u8]),
    Decoded(Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> std::result::Result<String, String> {
        let mut out = Vec::new();
        append(text.as_bytes(), &mut out).map_err(|fault| fault.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn members_are_sorted_and_space_goes() {
        let text = r#" { "b" : [ 1 , {"z":1,"a":2} ], "a":"<\/\u00e9\ud83d\ude00\ud800" , "b":0, "":null} "#;
        assert_eq!(canonical(text).unwrap(), "{\"\":null,\"a\":\"\\u003c/é😀\u{fffd}\",\"b\":0}");
        assert_eq!(canonical("{}").unwrap(), "{}");
        assert_eq!(
            canonical(r#"{"k:{\"b\":1}":1,"k:{\"a\":1}":2,"a<":1,"a=":0}"#).unwrap(),
            r#"{"a\u003c":1,"a=":0,"k:{\"a\":1}":2,"k:{\"b\":1}":1}"#
        );
    }

    #[test]
    fn numbers_are_kept_or_written_as_go_does() {
        let text = "[1.0,1e3,-0.0,-0,0.10,9223372036854775807,9223372036854775808,1e21]";
        assert_eq!(canonical(text).unwrap(), text);
        let mut value = serde_json::from_str(text).unwrap();
        rewrite_numbers(&mut value);
        assert_eq!(value.to_string(), "[1,1000,-0,0,0.1,9223372036854775807,9223372036854776000,1e+21]");
    }

    #[test]
    fn a_number_that_no_float_holds_is_found() {
        for (text, at) in
            [("[1, 1e308]", None), ("[1.5, {\"a\":-1e400,\"a\":2e999}]", Some(11)), (&*format!("1{}", "0".repeat(400)), Some(0))]
        {
            assert_eq!(CanonicalText::of(text.as_bytes()).unwrap().out_of_range, at, "{text}");
        }
    }

    #[test]
    fn canonical_text_is_not_copied() {
        let borrowed = |text: &'static str| matches!(CanonicalText::of(text.as_bytes()).unwrap().text, Cow::Borrowed(_));
        assert!(borrowed("{\"a\":[1,\"b\\n\"]}") && borrowed("{\"a\":1}\n"));
        assert!(!borrowed("{\"b\":1,\"a\":2}\n") && !borrowed("{ }"));
    }

    #[test]
    fn what_is_no_json_says_where() {
        for (text, fault) in [
            ("", "JSON cut short at offset 0"),
            ("{\"a\":1", "JSON cut short at offset 6"),
            ("[1 2]", "expected a comma or the array's end at offset 3"),
            ("nul", "no JSON value at offset 0"),
            ("01", "text after the JSON value at offset 1"),
            ("\"a\nb\"", "control character in a string at offset 2"),
        ] {
            assert_eq!(canonical(text).unwrap_err(), fault, "{text}");
        }
        assert!(canonical(&"[".repeat(100_000)).unwrap_err().starts_with("JSON nested too deep"));
    }
}
