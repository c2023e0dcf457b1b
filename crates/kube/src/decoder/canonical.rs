//! Recognises JSON that is already canonical, as nearly all that Go stores is, in one pass and without allocating.

use super::go_text::{self, BLOCK_BYTES};

/// Objects and arrays within one another, as far as this looks.
const MAX_DEPTH: usize = 32;

/// Whether `text` is one JSON value, compact, its members sorted, its strings escaped as Go does, its numbers integers of few digits: what
/// [`super::raw_json::append`] would write without change. Some canonical text is not recognised; no other text is.
pub(super) fn is_canonical(text: &[u8]) -> bool {
    Scanner { text, pos: 0, levels: [Level::Array; MAX_DEPTH], depth: 0, is_ordered: true }.value().is_some()
}

/// Whether `text` is one JSON value that is canonical but for the order of its members, and of members of one name. Some such text is not recognised.
pub(super) fn is_well_formed(text: &[u8]) -> bool {
    Scanner { text, pos: 0, levels: [Level::Array; MAX_DEPTH], depth: 0, is_ordered: false }.value().is_some()
}

/// An object or array that is not at its end.
#[derive(Clone, Copy)]
enum Level {
    Array,
    /// Where the key of the member at hand lies, without quotes.
    Object {
        start: u32,
        end: u32,
    },
}

struct Scanner<'a> {
    text: &'a [u8],
    pos: usize,
    levels: [Level; MAX_DEPTH],
    depth: usize,
    /// Whether members must be in their order.
    is_ordered: bool,
}

impl Scanner<'_> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.pos).copied()
    }

    #[inline]
    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.pos += 1;
        Some(byte)
    }

    /// The whole text; `None` where it is not canonical, or not recognised.
    fn value(&mut self) -> Option<()> {
        loop {
            match self.take()? {
                b'{' if self.peek()? == b'}' => self.pos += 1,
                b'[' if self.peek()? == b']' => self.pos += 1,
                b'{' => {
                    self.open(Level::Object { start: 0, end: 0 })?;
                    self.key()?;
                    continue;
                }
                b'[' => {
                    self.open(Level::Array)?;
                    continue;
                }
                b'"' => drop(self.string(b"\"\\nrt")?),
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                b'0' => self.number_ends()?,
                b'1'..=b'9' => self.digits()?,
                b'-' if matches!(self.take()?, b'1'..=b'9') => self.digits()?,
                _ => return None,
            }
            if self.close()? {
                return Some(());
            }
        }
    }

    /// What follows a value: a comma (and a key), or the end of objects and arrays. True at the end of the text.
    #[inline]
    fn close(&mut self) -> Option<bool> {
        while self.depth > 0 {
            match (self.take()?, self.levels[self.depth - 1]) {
                (b',', Level::Array) => return Some(false),
                (b',', Level::Object { .. }) => return self.key().map(|()| false),
                (b']', Level::Array) | (b'}', Level::Object { .. }) => self.depth -= 1,
                _ => return None,
            }
        }
        (self.pos == self.text.len()).then_some(true)
    }

    fn open(&mut self, level: Level) -> Option<()> {
        *self.levels.get_mut(self.depth)? = level;
        self.depth += 1;
        Some(())
    }

    /// A key, greater than the one before it if they are ordered, and its colon.
    #[inline]
    fn key(&mut self) -> Option<()> {
        let quote = self.take()?;
        // Keys with other escapes are ordered otherwise than their text.
        let (start, end) = self.string(b"\"\\")?;
        if quote != b'"' || self.take()? != b':' {
            return None;
        }
        let level = &mut self.levels[self.depth - 1];
        if self.is_ordered
            && let Level::Object { start: before @ 1.., end: before_end } = *level
            && !is_less(&self.text[before as usize..before_end as usize], &self.text[start..end])
        {
            return None;
        }
        *level = Level::Object { start: start as u32, end: end as u32 };
        Some(())
    }

    /// A string whose opening quote is behind. Of escapes only a backslash before one of `escaped` is known.
    #[inline]
    fn string(&mut self, escaped: &[u8]) -> Option<(usize, usize)> {
        let start = self.pos;
        loop {
            while let Some(block) = self.text[self.pos..].first_chunk() {
                let plain = go_text::first_special(block);
                self.pos += plain;
                if plain < BLOCK_BYTES {
                    break;
                }
            }
            let byte = self.take()?;
            if byte == b'"' {
                return Some((start, self.pos - 1));
            } else if byte == b'\\' {
                if !escaped.contains(&self.take()?) {
                    return None;
                }
            } else if !go_text::is_plain_byte(byte) {
                return None;
            }
        }
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        self.text[self.pos..].starts_with(rest).then(|| self.pos += rest.len())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.pos;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        if self.pos - start < 17 { self.number_ends() } else { None }
    }

    fn number_ends(&self) -> Option<()> {
        (!matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'e' | b'E'))).then_some(())
    }
}

/// Whether a key is less than another by the bytes they stand for. False where an escape decides.
#[inline]
fn is_less(a: &[u8], b: &[u8]) -> bool {
    match a.iter().zip(b).find(|(a, b)| a != b) {
        // After a common backslash the order of `"` and `\` is their own.
        Some((a, b)) => a < b && *a != b'\\' && *b != b'\\',
        None => a.len() < b.len(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decoder::raw_json::{parse, rewrite_numbers};

    /// Whether the parser writes the text as it is, and its numbers are spelt as Go does.
    fn is_kept(text: &[u8]) -> bool {
        let mut out = Vec::new();
        let is_same = parse(text, &mut out) == Ok(None) && out == text;
        let value = serde_json::from_slice::<serde_json::Value>(text);
        let mut rewritten = value.as_ref().ok().cloned();
        rewritten.iter_mut().for_each(rewrite_numbers);
        is_same && value.ok() == rewritten
    }

    #[test]
    fn canonical_text_is_recognised() {
        for text in [
            r#"{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{}},"k:{\"name\":\"b\"}":{}}}}"#,
            r#"[1,-20,0,true,false,null,"",[],{},[[]],{"":0}]"#,
            r#""a\\b\"c""#,
            r#"{"a":"one\ntwo\r\n\tthree"}"#,
            "17",
        ] {
            assert!(is_canonical(text.as_bytes()), "{text}");
            assert!(is_kept(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn other_text_is_not() {
        for text in [
            "",
            " 1",
            "1 ",
            "{\"b\":1,\"a\":2}",
            "{\"a\":1,\"a\":2}",
            "{ }",
            "[1,]",
            "[,1]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "[1}",
            "{\"a\":1]",
            "[1",
            "{\"a\":1",
            "\"a",
            "\"<\"",
            "\"é\"",
            "\"\\/\"",
            "\"\\u0041\"",
            "\"\n\"",
            "1.0",
            "1e3",
            "-0",
            "01",
            "-",
            "00",
            "tru",
            "nullx",
            "12345678901234567890",
            r#"{"a\\":1,"a\"":2}"#,
            r#"{"a\"":1,"a\n":2}"#,
            "{1:2}",
            "[1]]",
            "1]",
        ] {
            assert!(!is_canonical(text.as_bytes()), "{text}");
        }
        assert!(!is_canonical("[".repeat(100_000).as_bytes()));
    }

    proptest! {
        /// What is recognised as canonical is what the parser writes.
        #[test]
        fn no_other_text_is_recognised(text in r#"[\[{]{0,2}("(a|b|\\"|\\\\|<|é|\\n|.{0,12})"|[:,\[\]{}]|:|,|-?[0-9]{1,3}|true|null){0,9}[}\]]{0,2}"#) {
            if is_canonical(text.as_bytes()) {
                prop_assert!(is_kept(text.as_bytes()));
            }
        }
    }
}
