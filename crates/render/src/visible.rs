//! Makes text from data safe to print in a line: characters that could drive a terminal, forge a line or change its direction are
//! shown by their numbers, as `\x1b` or `\u202e`.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Whether a character must not reach a terminal as it is: controls (C0, DEL, C1), line and paragraph separators, controls of direction
/// (Unicode 16, `Bidi_Control`), the byte order mark, tags that nothing shows, and noncharacters.
pub fn is_unsafe(c: char) -> bool {
    c.is_control() || is_unsafe_in_text(c)
}

/// The same without controls, which JSON and YAML escape by themselves as far as ASCII goes.
fn is_unsafe_in_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Whether text holds a character that JSON and YAML may leave as it is and a terminal must not get.
pub fn needs_escapes(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| matches!(c, '\u{7f}'..='\u{9f}') || is_unsafe_in_text(c)) || text.contains('\u{7f}')
}

/// Returns `text` in one line that drives nothing.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    // Writing to a string cannot fail.
    let _ = Visible(&mut shown).write_str(text);
    Cow::Owned(shown)
}

/// Writes text, unsafe characters by their numbers.
pub struct Visible<W>(pub W);

impl<W: Write> Write for Visible<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_unsafe(*c)) {
            self.0.write_str(&rest[..at])?;
            write_escaped(c, &mut self.0)?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

/// Writes the number of a character: `\n`, `\x1b`, `\u202e`, `\U000e0041`.
pub fn write_escaped(c: char, out: &mut impl Write) -> fmt::Result {
    match (c, u32::from(c)) {
        ('\n', _) => out.write_str("\\n"),
        ('\r', _) => out.write_str("\\r"),
        ('\t', _) => out.write_str("\\t"),
        (_, number @ 0..=0xff) => write!(out, "\\x{number:02x}"),
        (_, number @ 0x100..=0xffff) => write!(out, "\\u{number:04x}"),
        (_, number) => write!(out, "\\U{number:08x}"),
    }
}

/// Writes the number of a character as JSON has it; beyond the first plane as a surrogate pair.
pub fn write_json_escaped(c: char, out: &mut impl Write) -> fmt::Result {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_by_its_number() {
        for (text, wanted) in [
            ("web-0 ünï ✓ 日本", "web-0 ünï ✓ 日本"),
            ("\u{1b}]0;title\u{7}", "\\x1b]0;title\\x07"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{9b}2J\u{7f}", "\\x9b2J\\x7f"),
            ("\u{202e}exe\u{2066}\u{200f}\u{61c}\u{2028}", "\\u202eexe\\u2066\\u200f\\u061c\\u2028"),
            ("\u{e0041}\u{fdd0}\u{feff}\u{1fffe}", "\\U000e0041\\ufdd0\\ufeff\\U0001fffe"),
        ] {
            assert_eq!(visible(text), wanted);
        }
        let mut json = String::new();
        write_json_escaped('\u{e0041}', &mut json).unwrap();
        assert_eq!(json, "\\udb40\\udc41");
    }

    #[test]
    fn what_json_leaves_as_it_is_is_found() {
        assert!(["\u{85}", "a\u{7f}", "\u{202e}"].iter().all(|text| needs_escapes(text)));
        assert!(!["a\nb\tc\u{1b}", "ünï"].iter().any(|text| needs_escapes(text)));
    }
}
