//! Frames of LZ4, one after another (lz4_Frame_format.md 1.6.4): a program that compresses on several threads writes many.
//!
//! The frames of lz4_flex 0.14 would not do: a file that is cut between blocks ends like a whole one, frames after the first are left to the caller, and an
//! older frame may not be followed by another.

use std::hash::Hasher;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use twox_hash::XxHash32;

const FRAME_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// What the older form begins with (`lz4 -l`): blocks of 8 MiB, without a checksum or an end.
const LEGACY_MAGIC: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];
const LEGACY_BLOCK: usize = 8 << 20;

pub(super) fn begins_so(bytes: &[u8]) -> bool {
    bytes.starts_with(&FRAME_MAGIC) || bytes.starts_with(&LEGACY_MAGIC)
}

/// Frames of something else, which are to be passed over: their lowest number.
const SKIPPABLE_MAGIC: u32 = 0x184d_2a50;

/// As far back as a block that is linked to those before it may look.
const WINDOW_BYTES: usize = 64 << 10;

/// Undoes frames.
pub(super) struct Lz4Reader {
    rest: Bytes,
    frame: Option<Lz4Frame>,
    /// The window, and after it what was not handed out yet.
    out: Vec<u8>,
    given: usize,
}

/// What the header of a frame says, and the checksum of its content.
struct Lz4Frame {
    is_linked: bool,
    has_block_checksums: bool,
    content: Option<XxHash32>,
    block: usize,
    /// Whether it is of the older form.
    is_legacy: bool,
}

impl Lz4Reader {
    /// Frames that lie in these bytes.
    pub(super) fn new(rest: Bytes) -> Self {
        Self { rest, frame: None, out: Vec::new(), given: 0 }
    }

    fn take(&mut self, length: usize) -> io::Result<Bytes> {
        if self.rest.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self.rest.split_to(length))
    }

    fn number(&mut self) -> io::Result<u32> {
        Ok(self.take(4)?.get_u32_le())
    }

    /// Begins the next frame; `false` at the end.
    fn begin(&mut self) -> io::Result<bool> {
        if self.rest.is_empty() {
            return Ok(false);
        }
        let magic = self.number()?;
        if magic & 0xffff_fff0 == SKIPPABLE_MAGIC {
            let length = self.number()?;
            self.take(length as usize)?;
            return Ok(true);
        }
        if magic.to_le_bytes() == LEGACY_MAGIC {
            self.out.clear();
            self.given = 0;
            let (is_linked, has_block_checksums, content) = (false, false, None);
            self.frame = Some(Lz4Frame { is_linked, has_block_checksums, content, block: LEGACY_BLOCK, is_legacy: true });
            return Ok(true);
        }
        if magic.to_le_bytes() != FRAME_MAGIC {
            return Err(damaged("what follows a frame is not another one"));
        }
        let descriptor = self.rest.clone();
        let flags = self.take(2)?;
        let (flags, block) = (flags[0], flags[1] >> 4 & 7);
        if flags >> 6 != 1 || flags & 1 != 0 || block < 4 {
            return Err(damaged("its frame is of another version or needs a dictionary"));
        }
        let length = if flags & 8 != 0 { 8 } else { 0 };
        self.take(length)?;
        let expected = checksum(&descriptor[..2 + length]).to_le_bytes()[1];
        if self.take(1)?[0] != expected {
            return Err(damaged("the checksum of its header does not match"));
        }
        self.out.clear();
        self.given = 0;
        self.frame = Some(Lz4Frame {
            is_linked: flags & 0x20 == 0,
            has_block_checksums: flags & 0x10 != 0,
            content: (flags & 4 != 0).then(|| XxHash32::with_seed(0)),
            block: 1 << (8 + 2 * block),
            is_legacy: false,
        });
        Ok(true)
    }

    /// Undoes the next block of a frame.
    fn block(&mut self, mut frame: Lz4Frame) -> io::Result<()> {
        const PLAIN_BLOCK: u32 = 1 << 31;
        // The older form ends where the file does, or another frame begins.
        if frame.is_legacy && (self.rest.is_empty() || begins_so(&self.rest)) {
            return Ok(());
        }
        let size = self.number()?;
        if size == 0 && !frame.is_legacy {
            let found = frame.content.map(|content| content.finish_32());
            return match found {
                Some(sum) if sum != self.number()? => Err(damaged("the checksum of its content does not match")),
                _ => Ok(()),
            };
        }
        let packed = self.take((size & !PLAIN_BLOCK) as usize)?;
        if frame.has_block_checksums && checksum(&packed) != self.number()? {
            return Err(damaged("the checksum of a block does not match"));
        }
        let kept = if frame.is_linked { self.out.len().min(WINDOW_BYTES) } else { 0 };
        self.out.drain(..self.out.len() - kept);
        if size & PLAIN_BLOCK != 0 && !frame.is_legacy {
            self.out.extend_from_slice(&packed);
        } else {
            self.out.resize(kept + frame.block, 0);
            let (window, into) = self.out.split_at_mut(kept);
            let length =
                lz4_flex::block::decompress_into_with_dict(&packed, into, window).map_err(|_| damaged("a block cannot be decompressed"))?;
            self.out.truncate(kept + length);
        }
        self.given = kept;
        if let Some(content) = &mut frame.content {
            content.write(&self.out[kept..]);
        }
        self.frame = Some(frame);
        Ok(())
    }
}

impl Read for Lz4Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() {
            match self.frame.take() {
                Some(frame) => self.block(frame)?,
                None if self.begin()? => {}
                None => return Ok(0),
            }
        }
        let length = into.len().min(self.out.len() - self.given);
        into[..length].copy_from_slice(&self.out[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}

/// The checksum of all parts of a frame (xxhash_spec.md 0.2.0).
fn checksum(bytes: &[u8]) -> u32 {
    XxHash32::oneshot(0, bytes)
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of one plain block, with all checksums.
    fn frame(text: &[u8]) -> Vec<u8> {
        let mut frame = FRAME_MAGIC.to_vec();
        frame.extend([0x74, 0x40, checksum(&[0x74, 0x40]).to_le_bytes()[1]]);
        frame.extend((u32::try_from(text.len()).unwrap() | 1 << 31).to_le_bytes());
        frame.extend(text);
        for sum in [checksum(text), 0, checksum(text)] {
            frame.extend(sum.to_le_bytes());
        }
        frame
    }

    fn undone(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        Lz4Reader::new(bytes.into()).read_to_end(&mut found).map(|_| found)
    }

    #[test]
    fn frames_in_a_row_come_out_whole_and_damage_is_told() {
        let two = [frame(b"hello "), vec![0x51, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9], frame(b"world")].concat();
        assert_eq!(undone(two.clone()).unwrap(), b"hello world");
        for end in (1..two.len()).filter(|&end| end != frame(b"hello ").len() && end != two.len() - frame(b"world").len()) {
            assert!(undone(two[..end].to_vec()).is_err(), "{end}");
        }
        for place in 0..frame(b"hello").len() {
            let mut damaged = frame(b"hello");
            damaged[place] ^= 1;
            assert!(undone(damaged).is_err(), "{place}");
        }
        assert!(undone([frame(b"hello"), b"rubbish".to_vec()].concat()).is_err());
    }

    /// What `printf 'hello hello hello hello\n' | lz4 -l` writes.
    #[test]
    fn the_older_form_is_read() {
        let one = b"\x02\x21\x4c\x18\x0f\x00\x00\x00\x69\x68\x65\x6c\x6c\x6f\x20\x06\x00\x50\x65\x6c\x6c\x6f\x0a".to_vec();
        assert_eq!(undone(one.clone()).unwrap(), b"hello hello hello hello\n");
        assert_eq!(undone([one.clone(), one.clone()].concat()).unwrap().len(), 48);
        for end in 5..one.len() {
            assert!(undone(one[..end].to_vec()).is_err(), "{end}");
        }
    }

    #[test]
    fn a_linked_block_copies_from_the_one_before() {
        let mut bytes = FRAME_MAGIC.to_vec();
        bytes.extend([0x40, 0x40, checksum(&[0x40, 0x40]).to_le_bytes()[1]]);
        bytes.extend((16u32 | 1 << 31).to_le_bytes());
        bytes.extend(b"0123456789abcdef");
        // No literals, a match of 4 bytes 16 back, then the last literals.
        let block = [0x00, 16, 0, 0x50, b'v', b'w', b'x', b'y', b'z'];
        bytes.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
        bytes.extend(block);
        bytes.extend([0; 4]);
        assert_eq!(undone(bytes).unwrap(), b"0123456789abcdef0123vwxyz");
    }
}
