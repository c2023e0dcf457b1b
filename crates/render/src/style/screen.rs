//! Between what renderers write and a terminal or a pipe: styles become sequences or go, and data drives nothing.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{MARK_CHAR, Mark};
use crate::visible::{is_unsafe, write_escaped, write_json_escaped};

/// A writer that shows styles or drops them: [`Plain`], [`Ansi`], [`Screen`], or one that hands all it gets to one of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` shows no styles",
    note = "wrap it: `ketcd_render::style::Plain` drops them, `ketcd_render::style::Ansi` makes them a terminal's sequences"
)]
pub trait StyledWrite: Write {}

/// What is written, which decides how unsafe characters are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Lines for people, with the marks of styles. Unsafe characters are shown by their numbers.
    Text,
    /// JSON. Unsafe characters, which can only lie in strings, become JSON's own escapes.
    Json,
    /// What the user asked for byte by byte: unchanged into a pipe or a file, on a terminal as text.
    Raw,
}

/// A writer for now text, now JSON, now bytes, which passes on what it gets as [`Content`] and the place it goes to require.
#[derive(Debug)]
pub struct Screen<W> {
    inner: W,
    content: Content,
    is_terminal: bool,
    colors: bool,
    /// The beginning of a character that was not written whole.
    pending: Vec<u8>,
    /// Whether the last character began a mark.
    marked: bool,
}

impl<W: Write> Screen<W> {
    /// Writes to a terminal or something else, text first, and shows styles if it `colors`.
    pub fn new(inner: W, is_terminal: bool, colors: bool) -> Self {
        Self { inner, content: Content::Text, is_terminal, colors, pending: Vec::new(), marked: false }
    }

    /// The writer that gets all this.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Changes what is written from now on.
    pub fn set_content(&mut self, content: Content) {
        self.content = content;
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = first_unplain(rest.as_bytes()) {
            let plain = if self.marked { 0 } else { at };
            self.inner.write_all(&rest.as_bytes()[..plain])?;
            rest = &rest[plain..];
            let Some(c) = rest.chars().next() else { break };
            self.write_char(c)?;
            rest = &rest[c.len_utf8()..];
        }
        self.inner.write_all(rest.as_bytes())
    }

    fn write_char(&mut self, c: char) -> io::Result<()> {
        let is_text = self.content == Content::Text;
        if is_text && std::mem::replace(&mut self.marked, c == MARK_CHAR && is_text) {
            self.marked = false;
            if let Some(mark) = Mark::of(c) {
                return if self.colors { write!(self.inner, "{mark}") } else { Ok(()) };
            }
            self.write_unsafe(MARK_CHAR)?;
        }
        match c {
            MARK_CHAR if is_text => Ok(()),
            '\n' | '\t' => write!(self.inner, "{c}"),
            c if is_unsafe(c) => self.write_unsafe(c),
            c => write!(self.inner, "{c}"),
        }
    }

    fn write_unsafe(&mut self, c: char) -> io::Result<()> {
        let mut escaped = String::new();
        // Writing to a string cannot fail.
        let _ = if self.content == Content::Json { write_json_escaped(c, &mut escaped) } else { write_escaped(c, &mut escaped) };
        self.inner.write_all(escaped.as_bytes())
    }

    /// Writes what is text, keeps the beginning of a character for the next time, and shows other bytes by their numbers.
    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return self.write_text(text);
        }
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.write_text(chunk.valid())?;
            let is_cut = chunks.peek().is_none() && std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if is_cut {
                self.pending = chunk.invalid().to_vec();
                break;
            }
            for byte in chunk.invalid() {
                let mut shown = String::new();
                let _ = write!(shown, "\\x{byte:02x}");
                self.inner.write_all(shown.as_bytes())?;
            }
        }
        Ok(())
    }
}

/// Bytes that never need a look: printable ASCII and, as they are the renderer's own, line ends and tabs.
fn is_plain(byte: u8) -> bool {
    (byte.wrapping_sub(b' ') <= b'~' - b' ') | (byte == b'\n') | (byte == b'\t')
}

/// Where the first byte stands that needs a look. Whole blocks are looked at without a branch, which the compiler makes wide instructions of.
fn first_unplain(bytes: &[u8]) -> Option<usize> {
    const BLOCK_BYTES: usize = 64;
    let plain_blocks = bytes.chunks(BLOCK_BYTES).take_while(|block| block.iter().fold(true, |plain, &byte| plain & is_plain(byte))).count();
    let start = (plain_blocks * BLOCK_BYTES).min(bytes.len());
    bytes[start..].iter().position(|&byte| !is_plain(byte)).map(|at| start + at)
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.content == Content::Raw && !self.is_terminal {
            return self.inner.write(bytes);
        }
        if self.pending.is_empty() {
            self.write_bytes(bytes)?;
        } else {
            let mut whole = std::mem::take(&mut self.pending);
            whole.extend_from_slice(bytes);
            self.write_bytes(&whole)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> StyledWrite for Screen<W> {}

/// Writes text without its styles. What could drive a terminal is shown by its number.
#[derive(Debug)]
pub struct Plain<W>(Screen<W>);

/// Writes text with its styles as a terminal's sequences. Everything else that could drive a terminal is shown by its number.
#[derive(Debug)]
pub struct Ansi<W>(Screen<W>);

macro_rules! text_writer {
    ($name:ident, $colors:literal) => {
        impl<W: Write> $name<W> {
            /// Writes to `inner`.
            pub fn new(inner: W) -> Self {
                Self(Screen::new(inner, false, $colors))
            }

            /// Returns the writer that got the text.
            pub fn into_inner(self) -> W {
                self.0.inner
            }
        }

        impl<W: Write> Write for $name<W> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                self.0.flush()
            }
        }

        impl<W: Write> StyledWrite for $name<W> {}
    };
}

text_writer!(Plain, false);
text_writer!(Ansi, true);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{STRONG, paint};

    fn written(content: Content, is_terminal: bool, colors: bool, pieces: &[&[u8]]) -> String {
        let mut screen = Screen::new(Vec::new(), is_terminal, colors);
        screen.set_content(content);
        pieces.iter().for_each(|piece| screen.write_all(piece).unwrap());
        String::from_utf8(screen.inner).unwrap()
    }

    #[test]
    fn styles_are_shown_or_go_and_data_never_is_style() {
        let text = format!("{} a\u{1b}[31mb\u{9b}\u{202e} ünï\n", paint(STRONG, "x"));
        assert_eq!(written(Content::Text, true, true, &[text.as_bytes()]), "\u{1b}[1mx\u{1b}[0m a\\x1b[31mb\\x9b\\u202e ünï\n");
        assert_eq!(written(Content::Text, false, false, &[text.as_bytes()]), "x a\\x1b[31mb\\x9b\\u202e ünï\n");
        assert_eq!(written(Content::Text, true, true, &["\u{fdd0}?\u{fdef}".as_bytes()]), "\\ufdd0?\\ufdef");
        let (mut plain, mut colored) = (Plain::new(Vec::new()), Ansi::new(Vec::new()));
        plain.write_all(text.as_bytes()).and_then(|()| colored.write_all(text.as_bytes())).unwrap();
        assert_eq!(String::from_utf8(plain.into_inner()).unwrap(), "x a\\x1b[31mb\\x9b\\u202e ünï\n");
        assert_eq!(String::from_utf8(colored.into_inner()).unwrap(), "\u{1b}[1mx\u{1b}[0m a\\x1b[31mb\\x9b\\u202e ünï\n");
    }

    #[test]
    fn json_stays_json() {
        let json = "{\"a\":\"\u{85}\u{7f}\u{202e}\u{e0041}ünï\u{fdd0}\u{fde0}\"}";
        let shown = written(Content::Json, false, false, &[json.as_bytes()]);
        assert_eq!(shown, "{\"a\":\"\\u0085\\u007f\\u202e\\udb40\\udc41ünï\\ufdd0\\ufde0\"}");
        let same = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(same(&shown), same(json));
    }

    #[test]
    fn what_was_asked_for_byte_by_byte_goes_unchanged_into_a_pipe() {
        let data = "\u{1b}[ 12345 ünï\u{fdd0}\u{fde0}";
        assert_eq!(written(Content::Raw, false, false, &[data.as_bytes()]), data);
        assert_eq!(written(Content::Raw, true, true, &[data.as_bytes()]), "\\x1b[ 12345 ünï\\ufdd0\\ufde0");
    }

    #[test]
    fn characters_may_come_in_pieces() {
        let bytes = format!("a{}ü\u{202e}", paint(STRONG, "x")).into_bytes();
        for cut in 1..bytes.len() {
            assert_eq!(written(Content::Text, true, true, &[&bytes[..cut], &bytes[cut..]]), "a\u{1b}[1mx\u{1b}[0mü\\u202e", "{cut}");
        }
        assert_eq!(written(Content::Text, true, true, &[b"a\xffb"]), "a\\xffb");
    }
}
