//! LZW as Go's `compress/lzw` writes it, least significant bits first, with literals of 8 bits. It is not that of compress(1).

use std::io::{self, Read};

use bytes::Bytes;

const CLEAR: u16 = 256;
const END: u16 = 257;
const WIDEST: u32 = 12;

/// Undoes it.
pub(super) struct Lzw {
    packed: Bytes,
    at: usize,
    bits: u32,
    held: u32,
    width: u32,
    /// The last code that has a meaning.
    high: u16,
    last: Option<u16>,
    prefix: Vec<u16>,
    suffix: Vec<u8>,
    /// What a code stands for, turned around: it is handed out from the end.
    out: Vec<u8>,
    has_ended: bool,
}

impl Lzw {
    pub(super) fn new(packed: Bytes) -> Self {
        let codes = 1 << WIDEST;
        let (prefix, suffix) = (vec![0; codes], vec![0; codes]);
        Self { packed, at: 0, bits: 0, held: 0, width: 9, high: END, last: None, prefix, suffix, out: Vec::new(), has_ended: false }
    }

    fn code(&mut self) -> io::Result<u16> {
        while self.held < self.width {
            let byte = *self.packed.get(self.at).ok_or(io::ErrorKind::UnexpectedEof)?;
            self.bits |= u32::from(byte) << self.held;
            self.held += 8;
            self.at += 1;
        }
        let code = self.bits & ((1 << self.width) - 1);
        self.bits >>= self.width;
        self.held -= self.width;
        u16::try_from(code).map_err(io::Error::other)
    }

    /// Reads the next code.
    fn step(&mut self) -> io::Result<()> {
        let code = self.code()?;
        match code {
            CLEAR => {
                (self.width, self.high, self.last) = (9, END, None);
                return Ok(());
            }
            END => {
                self.has_ended = true;
                return Ok(());
            }
            _ if code > self.high => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a code stands for nothing"));
            }
            _ => {}
        }
        let mut rest = code;
        // The code that is about to get its meaning: what the last one stands for, and its first byte again.
        if code == self.high
            && code > END
            && let Some(last) = self.last
        {
            self.out.push(self.first_of(last));
            rest = last;
        }
        while rest >= CLEAR {
            self.out.push(self.suffix[usize::from(rest)]);
            rest = self.prefix[usize::from(rest)];
        }
        let first = rest.to_le_bytes()[0];
        self.out.push(first);
        if let Some(last) = self.last {
            self.suffix[usize::from(self.high)] = first;
            self.prefix[usize::from(self.high)] = last;
        }
        self.last = Some(code);
        self.high += 1;
        if self.high >= 1 << self.width {
            if self.width == WIDEST {
                self.last = None;
                self.high -= 1;
            } else {
                self.width += 1;
            }
        }
        Ok(())
    }

    fn first_of(&self, mut code: u16) -> u8 {
        while code >= CLEAR {
            code = self.prefix[usize::from(code)];
        }
        code.to_le_bytes()[0]
    }
}

impl Read for Lzw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while length < into.len() {
            match self.out.pop() {
                Some(byte) => {
                    into[length] = byte;
                    length += 1;
                }
                None if self.has_ended => break,
                None => match self.step() {
                    // What came before is handed out first.
                    Err(problem) if length == 0 => return Err(problem),
                    Err(_) => break,
                    Ok(()) => {}
                },
            }
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes by hand; what Go itself writes is in `crates/store/tests/files/gardener.rs`.
    #[test]
    fn codes_are_undone() {
        // Literals with 9 bits each: the clear code first, the end code last.
        let codes = [256u32, 104, 101, 108, 108, 111, 32, 258, 260, 262, 264, 261, 257];
        let (mut bits, mut held, mut bytes) = (0u64, 0, Vec::new());
        for code in codes {
            bits |= u64::from(code) << held;
            held += 9;
            while held >= 8 {
                bytes.push(bits.to_le_bytes()[0]);
                bits >>= 8;
                held -= 8;
            }
        }
        bytes.push(bits.to_le_bytes()[0]);
        let mut text = String::new();
        Lzw::new(bytes.clone().into()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello hello hello");
        assert!(Lzw::new(bytes[..bytes.len() - 2].to_vec().into()).read_to_end(&mut Vec::new()).is_err());
        assert!(Lzw::new(Bytes::from_static(&[0xff; 8])).read_to_end(&mut Vec::new()).is_err());
    }
}
