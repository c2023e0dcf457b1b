//! SQLite's index of its log (`-shm`): how many frames were committed to the log, as the last process that wrote it knew.
//!
//! Source of the format: sqlite.org, `walformat.html`, section 2, as of SQLite 3.51.

use super::numbers::checksummed;

/// The bytes that are looked at: the header, and up to which frame the log was written back, and is being.
pub(in super::super) const INDEX_HEADER: usize = 132;

const INDEX_VERSION: u32 = 3_007_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct LogIndex {
    pub(in super::super) frames: u32,
    /// How many of them were written back into the database.
    pub(in super::super) written_back: u32,
    /// How many of them were, or may just be being: SQLite notes it before it writes the first.
    pub(in super::super) attempted: u32,
    /// The salts of the log that it is of, as they are in that log's header.
    pub(in super::super) salts: [u8; 8],
}

impl LogIndex {
    /// Reads an index; `None` where its checksum does not match, as when it was never written. It has the byte order of the machine that wrote it.
    pub(in super::super) fn read(bytes: &[u8]) -> Option<Self> {
        const CHECKED_BYTES: usize = 40;
        [false, true].into_iter().find_map(|is_big_endian| {
            let word = |at: usize| {
                let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
                Some(if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
            };
            let holds = checksummed(bytes.get(..CHECKED_BYTES)?, is_big_endian, (0, 0)) == (word(CHECKED_BYTES)?, word(CHECKED_BYTES + 4)?);
            let is_written = word(0)? == INDEX_VERSION && *bytes.get(12)? == 1;
            let index = || {
                let frames = word(16)?;
                let (written_back, attempted) = (word(96)?, word(128).unwrap_or(frames));
                Some(Self { frames, written_back, attempted, salts: bytes.get(32..40)?.try_into().ok()? })
            };
            if holds && is_written { index() } else { None }
        })
    }
}
