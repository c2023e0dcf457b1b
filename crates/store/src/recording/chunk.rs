//! What a file of a recording is made of: chunks, each with a header that says how long it is, which revisions it is of, and its checksums.
//!
//! A chunk is written at once, and what was flushed is whole chunks. Where one is damaged, the next is found by its header.

use std::ops::Range;

pub(super) const HEADER_BYTES: usize = 48;
pub(super) const CHUNK_MAGIC: &[u8; 4] = b"\x89ktc";

/// The most bytes that come out of one chunk; etcd takes 1.5 MiB in a request by default.
pub(super) const MOST_RAW: usize = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkKind {
    /// The first chunk of a file: what it is, as JSON.
    Head,
    /// Changes, compressed together with the chunks before it, up to the one that begins the block.
    Changes { begins_block: bool },
    /// Why revisions are missing, as JSON.
    Gap,
    /// Where each key is, in a file that is complete. The last chunk.
    Index,
}

impl ChunkKind {
    fn code(self) -> u8 {
        match self {
            Self::Head => 1,
            Self::Changes { begins_block: true } => 2,
            Self::Changes { begins_block: false } => 3,
            Self::Gap => 4,
            Self::Index => 5,
        }
    }

    fn of(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Head,
            2 | 3 => Self::Changes { begins_block: code == 2 },
            4 => Self::Gap,
            5 => Self::Index,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    pub kind: ChunkKind,
    /// The bytes that follow.
    pub length: u32,
    /// How many bytes they are before compression.
    pub raw: u32,
    /// The chunk has all changes after this revision,
    pub after: i64,
    /// up to this one.
    pub upto: i64,
    /// When it was written, in milliseconds of the recording's own time (`recorder`).
    pub time: i64,
    /// CRC-32C of the bytes that follow.
    pub crc: u32,
}

impl ChunkHeader {
    pub(super) fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(CHUNK_MAGIC);
        bytes[4] = self.kind.code();
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.raw.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.after.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.upto.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.time.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..44]);
        bytes[44..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if it is none, or damaged.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.get(..HEADER_BYTES)?.try_into().ok()?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let i64_at = |at: usize| i64::from(u32_at(at)) | i64::from(u32_at(at + 4)) << 32;
        if &bytes[..4] != CHUNK_MAGIC || u32_at(44) != crc32c::crc32c(&bytes[..44]) || bytes[5..8] != [0; 3] {
            return None;
        }
        let header = Self {
            kind: ChunkKind::of(bytes[4])?,
            length: u32_at(8),
            raw: u32_at(12),
            after: i64_at(16),
            upto: i64_at(24),
            time: i64_at(32),
            crc: u32_at(40),
        };
        let is_possible = (0..=header.upto).contains(&header.after) && header.upto < IMPOSSIBLE_REVISION && header.raw as usize <= MOST_RAW;
        is_possible.then_some(header)
    }

    /// Whether `payload` is what the header is of.
    pub(super) fn is_of(&self, payload: &[u8]) -> bool {
        payload.len() == self.length as usize && crc32c::crc32c(payload) == self.crc
    }
}

/// A chunk: its header, and where its bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub header: ChunkHeader,
    pub payload: Range<usize>,
}

impl Chunk {
    /// Where the chunk begins.
    pub(super) fn start(&self) -> usize {
        self.payload.start - HEADER_BYTES
    }
}

/// No cluster comes near this revision: it and those above are damage, or lies.
pub(super) const IMPOSSIBLE_REVISION: i64 = i64::MAX / 2;

/// What a walk over a file's chunks finds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The chunks whose checksums hold.
    pub chunks: Vec<Chunk>,
    /// Where bytes are damaged: between chunks, or a chunk.
    pub damaged: Vec<Range<usize>>,
    /// Where a chunk begins that the file ends in: it was being written when the writer was cut off, or is still being written.
    pub torn: Option<usize>,
}

impl Scan {
    /// Walks over a file.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut scan = Self::default();
        let (mut at, mut in_vain) = (0, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            // Headers made to lie over one another would have the same bytes summed again and again.
            if in_vain > 4 * bytes.len() {
                scan.damaged.push(at..bytes.len());
                break;
            }
            if rest.len() < HEADER_BYTES {
                scan.torn = Some(at);
                break;
            }
            let end = ChunkHeader::read(rest).map(|header| (header, at + HEADER_BYTES + header.length as usize));
            match end {
                Some((header, end)) if end <= bytes.len() && header.is_of(&bytes[at + HEADER_BYTES..end]) => {
                    scan.chunks.push(Chunk { header, payload: at + HEADER_BYTES..end });
                    at = end;
                }
                Some((_, end)) if end > bytes.len() && next_header(bytes, at + 1).is_none() => {
                    scan.torn = Some(at);
                    break;
                }
                end => {
                    in_vain += end.map_or(0, |(_, end)| end.min(bytes.len()) - at);
                    let next = next_header(bytes, at + 1).unwrap_or(bytes.len());
                    scan.damaged.push(at..next);
                    at = next;
                }
            }
        }
        scan
    }
}

/// Where the next header begins.
fn next_header(bytes: &[u8], from: usize) -> Option<usize> {
    let last = bytes.len().checked_sub(HEADER_BYTES)?;
    (from..=last).find(|&at| bytes[at] == CHUNK_MAGIC[0] && ChunkHeader::read(&bytes[at..]).is_some())
}

pub(super) fn written(header: ChunkHeader, payload: &[u8]) -> Vec<u8> {
    let header = ChunkHeader { length: payload.len() as u32, crc: crc32c::crc32c(payload), ..header };
    [&header.bytes()[..], payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let header = |after, upto| ChunkHeader { kind: ChunkKind::Gap, length: 0, raw: 0, after, upto, time: 1, crc: 0 };
        [written(header(1, 2), b"one"), written(header(2, 2), b""), written(header(2, 9), b"three")].concat()
    }

    #[test]
    fn a_file_cut_anywhere_has_its_whole_chunks_and_no_damage() {
        let file = file();
        let whole = Scan::of(&file);
        assert_eq!((whole.chunks.len(), whole.torn, whole.damaged.len()), (3, None, 0));
        for end in 0..file.len() {
            let scan = Scan::of(&file[..end]);
            let expected = whole.chunks.iter().filter(|chunk| chunk.payload.end <= end).count();
            assert_eq!(scan.chunks, whole.chunks[..expected], "cut at {end}");
            assert!(scan.damaged.is_empty(), "cut at {end}");
            let readable = scan.chunks.last().map_or(0, |chunk| chunk.payload.end);
            assert_eq!(scan.torn.is_some(), readable < end, "cut at {end}");
        }
    }

    #[test]
    fn a_changed_byte_costs_one_chunk_and_is_seen() {
        let file = file();
        let whole = Scan::of(&file);
        for at in 0..file.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= flip;
                let scan = Scan::of(&damaged);
                let expected: Vec<Chunk> =
                    whole.chunks.iter().filter(|chunk| !(chunk.start()..chunk.payload.end).contains(&at)).cloned().collect();
                assert_eq!(scan.chunks, expected, "byte {at}");
                assert_eq!((scan.damaged.len(), scan.torn), (1, None), "byte {at}");
            }
        }
    }
}
