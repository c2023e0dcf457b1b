//! A stream that drops the terminal's style sequences and leaves every other byte alone, so that data come out as they went in.

use std::io::{self, Write};

/// Passes on all that is written but `ESC [ … m` and its like, unless it is told to keep them.
pub struct Unstyled<W> {
    inner: W,
    keep: bool,
    state: State,
}

/// Where in a sequence the stream stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    Escape,
    Sequence,
}

impl<W: Write> Unstyled<W> {
    /// A stream that drops styles, or with `keep` passes everything.
    pub fn new(inner: W, keep: bool) -> Self {
        Self { inner, keep, state: State::Text }
    }

    /// Writes one byte after an escape character; true once the sequence is over.
    fn step(&mut self, byte: u8) -> io::Result<()> {
        self.state = match (self.state, byte) {
            (State::Escape, b'[') => State::Sequence,
            (State::Escape, _) => {
                self.inner.write_all(&[0x1b, byte])?;
                State::Text
            }
            (_, 0x40..=0x7e) => State::Text,
            _ => State::Sequence,
        };
        Ok(())
    }
}

impl<W: Write> Write for Unstyled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.keep {
            return self.inner.write(bytes);
        }
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            if self.state != State::Text {
                self.step(byte)?;
                rest = &rest[1..];
                continue;
            }
            let text = rest.iter().position(|&byte| byte == 0x1b).unwrap_or(rest.len());
            self.inner.write_all(&rest[..text])?;
            rest = &rest[text..];
            if !rest.is_empty() {
                self.state = State::Escape;
                rest = &rest[1..];
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(keep: bool, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = Unstyled::new(Vec::new(), keep);
        pieces.iter().for_each(|piece| stream.write_all(piece).unwrap());
        stream.inner
    }

    #[test]
    fn styles_go_and_data_stay() {
        assert_eq!(written(false, &[b"\x1b[1;31mred\x1b[0m \x7f\x01\xff"]), b"red \x7f\x01\xff");
        assert_eq!(written(false, &[b"a\x1b", b"[3", b"2", b"mb"]), b"ab");
        assert_eq!(written(false, &[b"\x1bc"]), b"\x1bc");
        assert_eq!(written(true, &[b"\x1b[1mbold"]), b"\x1b[1mbold");
    }
}
