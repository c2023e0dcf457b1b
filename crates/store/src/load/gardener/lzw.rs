//! LZW as Go's `compress/lzw` writes it, least significant bits first, with literals of 8 bits. It is not that of compress(1).

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use weezl::decode::Decoder;
use weezl::{BitOrder, LzwError, LzwStatus};

pub(super) struct Lzw {
    packed: Bytes,
    decoder: Decoder,
    end: Option<LzwEnd>,
}

/// Why nothing more comes.
#[derive(Clone, Copy)]
enum LzwEnd {
    Marked,
    CutShort,
    InvalidCode,
}

impl Lzw {
    pub(super) fn new(packed: Bytes) -> Self {
        Self { packed, decoder: Decoder::new(BitOrder::Lsb, 8), end: None }
    }
}

impl Read for Lzw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty() && self.end.is_none() {
            let step = self.decoder.decode_bytes(&self.packed, into);
            self.packed.advance(step.consumed_in);
            self.end = match step.status {
                Ok(LzwStatus::Ok) => None,
                Ok(LzwStatus::Done) => Some(LzwEnd::Marked),
                Ok(LzwStatus::NoProgress) => Some(LzwEnd::CutShort),
                Err(LzwError::InvalidCode) => Some(LzwEnd::InvalidCode),
            };
            if step.consumed_out > 0 {
                return Ok(step.consumed_out);
            }
        }
        match self.end {
            Some(LzwEnd::CutShort) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(LzwEnd::InvalidCode) => Err(io::Error::new(io::ErrorKind::InvalidData, "a code stands for nothing")),
            Some(LzwEnd::Marked) | None => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of 9 bits each, and what Go itself writes is in `crates/store/tests/files/gardener.rs`.
    fn packed(codes: &[u32]) -> Bytes {
        let (mut bits, mut held, mut bytes) = (0u64, 0, Vec::new());
        for &code in codes {
            bits |= u64::from(code) << held;
            held += 9;
            while held >= 8 {
                bytes.push(bits.to_le_bytes()[0]);
                bits >>= 8;
                held -= 8;
            }
        }
        bytes.push(bits.to_le_bytes()[0]);
        bytes.into()
    }

    /// What comes out, and the words for its end.
    fn unpacked(packed: Bytes) -> (String, Option<String>) {
        let mut text = Vec::new();
        let end = Lzw::new(packed).read_to_end(&mut text).err().map(|problem| problem.to_string());
        (String::from_utf8(text).unwrap(), end)
    }

    #[test]
    fn what_can_be_read_comes_before_the_damage() {
        // The clear code first, the end code last.
        let codes = [256, 104, 101, 108, 108, 111, 32, 258, 260, 262, 264, 261, 257];
        let whole = packed(&codes);
        assert_eq!(unpacked(whole.clone()), ("hello hello hello".to_owned(), None));
        assert_eq!(unpacked(whole.slice(..8)), ("hello ".to_owned(), Some("unexpected end of file".to_owned())));
        assert_eq!(unpacked(whole.slice(..whole.len() - 2)).1.as_deref(), Some("unexpected end of file"));
        let invalid = packed(&[&codes[..7], &[400, 257]].concat());
        assert_eq!(unpacked(invalid), ("hello ".to_owned(), Some("a code stands for nothing".to_owned())));
        assert!(unpacked(Bytes::from_static(&[0xff; 8])).1.is_some());
    }
}
