//! A segment of raft's log (`src/raft/uv_segment.c`): batches of entries, each with the checksums of its header and of its data.

use std::ops::Range;

use super::checksum::crc32;
use crate::load::little_endian::{u32_at, u64_at};

const SEGMENT_FORMAT: u64 = 1;

/// What precedes the header of a batch: its checksums.
const BATCH_CHECKSUM_BYTES: usize = 8;

/// What an entry has in the header of its batch.
const ENTRY_HEADER_BYTES: usize = 16;

/// dqlite refuses more entries in one batch.
const MAX_BATCH_ENTRIES: u64 = (8 << 20) / 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentEntryKind {
    Command,
    /// Nothing.
    Barrier,
    /// Another set of nodes.
    Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentEntry {
    pub kind: SegmentEntryKind,
    /// Where its payload lies.
    pub payload: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentEnd {
    /// With its last batch, or with the zeros that were reserved for the next.
    Whole,
    /// With bytes, from here on, that are not a whole batch.
    Unfinished(usize),
    /// With such bytes, though there is a batch behind them.
    Damaged(usize),
}

pub(super) struct DqliteSegment {
    pub entries: Vec<SegmentEntry>,
    pub end: SegmentEnd,
}

/// Whether bytes begin as a segment does, with the header of a batch.
pub(super) fn begins_so(bytes: &[u8]) -> bool {
    u64_at(bytes, 0) == Some(SEGMENT_FORMAT) && header(bytes, 8).is_some()
}

impl DqliteSegment {
    /// Reads a segment, as far as its checksums hold.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut segment = Self { entries: Vec::new(), end: SegmentEnd::Whole };
        if u64_at(bytes, 0) != Some(SEGMENT_FORMAT) {
            segment.end = if bytes.iter().all(|&byte| byte == 0) { SegmentEnd::Whole } else { SegmentEnd::Damaged(0) };
            return segment;
        }
        let mut at = 8;
        while let Some((entries, next)) = batch(bytes, at) {
            segment.entries.extend(entries);
            at = next;
        }
        segment.end = match bytes[at..].iter().all(|&byte| byte == 0) {
            true => SegmentEnd::Whole,
            false if has_batch(bytes, at + 8) => SegmentEnd::Damaged(at),
            false => SegmentEnd::Unfinished(at),
        };
        segment
    }
}

/// The header of the batch at a place, from the number of its entries on, if its checksum holds.
fn header(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let start = at.checked_add(BATCH_CHECKSUM_BYTES)?;
    let count = u64_at(bytes, start).filter(|count| (1..=MAX_BATCH_ENTRIES).contains(count))?;
    let length = 8 + ENTRY_HEADER_BYTES * usize::try_from(count).ok()?;
    let header = bytes.get(start..start.checked_add(length)?)?;
    (u32_at(bytes, at)? == crc32(header, 0)).then_some(header)
}

/// The entries of the batch at a place, and where the next one begins.
fn batch(bytes: &[u8], at: usize) -> Option<(Vec<SegmentEntry>, usize)> {
    let header = header(bytes, at)?;
    let start = at + BATCH_CHECKSUM_BYTES + header.len();
    let (mut entries, mut end) = (Vec::with_capacity(header.len() / ENTRY_HEADER_BYTES), start);
    for entry in header[8..].chunks_exact(ENTRY_HEADER_BYTES) {
        let kind = match entry[8] {
            1 => SegmentEntryKind::Command,
            2 => SegmentEntryKind::Barrier,
            3 => SegmentEntryKind::Change,
            _ => return None,
        };
        // dqlite writes whole words.
        let size = usize::try_from(u32_at(entry, 12)?).ok().filter(|size| size % 8 == 0)?;
        entries.push(SegmentEntry { kind, payload: end..end.checked_add(size)? });
        end += size;
        if end > bytes.len() {
            return None;
        }
    }
    (u32_at(bytes, at + 4)? == crc32(&bytes[start..end], 0)).then_some((entries, end))
}

/// Whether the header of a batch lies behind a place. After a limit of bytes that look like one and are none, the answer is no.
fn has_batch(bytes: &[u8], from: usize) -> bool {
    /// The bytes whose checksums are computed for it.
    const MAX_CHECKED_BYTES: u64 = 16 << 20;
    let mut left = MAX_CHECKED_BYTES;
    for at in (from..bytes.len()).step_by(8) {
        let Some(count) = u64_at(bytes, at + BATCH_CHECKSUM_BYTES) else { return false };
        let looks_like_one = (1..=MAX_BATCH_ENTRIES).contains(&count) && bytes.get(at + 24).is_some_and(|kind| (1..=3).contains(kind));
        if !looks_like_one {
            continue;
        }
        let Some(rest) = left.checked_sub(8 + count * ENTRY_HEADER_BYTES as u64) else { return false };
        left = rest;
        if header(bytes, at).is_some() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(batches: &[&[&[u8]]]) -> Vec<u8> {
        let mut bytes = SEGMENT_FORMAT.to_le_bytes().to_vec();
        for batch in batches {
            let mut header = (batch.len() as u64).to_le_bytes().to_vec();
            for entry in *batch {
                header.extend([7u64.to_le_bytes(), [1, 0, 0, 0, u8::try_from(entry.len()).unwrap(), 0, 0, 0]].concat());
            }
            let data = batch.concat();
            bytes.extend(crc32(&header, 0).to_le_bytes());
            bytes.extend(crc32(&data, 0).to_le_bytes());
            bytes.extend([header, data].concat());
        }
        bytes
    }

    fn payloads(bytes: &[u8]) -> (Vec<&[u8]>, SegmentEnd) {
        let DqliteSegment { entries, end } = DqliteSegment::read(bytes);
        (entries.into_iter().map(|entry| &bytes[entry.payload]).collect(), end)
    }

    #[test]
    fn entries_are_read_to_the_zeros_behind_them() {
        let (one, two, three) = (&[1u8; 8][..], &[2u8; 16][..], &[][..]);
        let mut bytes = segment(&[&[one, two], &[three]]);
        assert!(begins_so(&bytes));
        assert_eq!(payloads(&bytes), (vec![one, two, three], SegmentEnd::Whole));
        bytes.extend([0; 64]);
        assert_eq!(payloads(&bytes), (vec![one, two, three], SegmentEnd::Whole));
        assert_eq!(payloads(&[0; 64]), (vec![], SegmentEnd::Whole));
        assert_eq!(payloads(b""), (vec![], SegmentEnd::Whole));
        assert_eq!(payloads(&[2, 0, 0, 0, 0, 0, 0, 0]), (vec![], SegmentEnd::Damaged(0)));
    }

    /// A byte that changes anywhere, and an end anywhere: what was before it is read, what was behind it is not taken for something else.
    #[test]
    fn damage_and_unfinished_batches_are_told_apart() {
        let (one, two) = (&[1u8; 8][..], &[2u8; 8][..]);
        let whole = segment(&[&[one], &[two]]);
        let second = segment(&[&[one]]).len();
        for place in 8..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            let wanted = if place < second { (vec![], SegmentEnd::Damaged(8)) } else { (vec![one], SegmentEnd::Unfinished(second)) };
            assert_eq!(payloads(&bytes), wanted, "{place}");
            let wanted = match place {
                8 => (vec![], SegmentEnd::Whole),
                place if place < second => (vec![], SegmentEnd::Unfinished(8)),
                place if place == second => (vec![one], SegmentEnd::Whole),
                _ => (vec![one], SegmentEnd::Unfinished(second)),
            };
            assert_eq!(payloads(&whole[..place]), wanted, "{place}");
        }
    }

    /// Counts and sizes that go on for ever, with checksums that hold; and many headers that nearly do.
    #[test]
    fn counts_and_sizes_are_not_believed() {
        let mut bytes = segment(&[&[&[1; 8]]]);
        bytes[8 + 8 + 8 + 12..8 + 8 + 8 + 16].copy_from_slice(&0xffff_fff8u32.to_le_bytes());
        let sum = crc32(&bytes[16..40], 0);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(payloads(&bytes), (vec![], SegmentEnd::Unfinished(8)));
        bytes[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(payloads(&bytes), (vec![], SegmentEnd::Unfinished(8)));
        let near = [SEGMENT_FORMAT.to_le_bytes().to_vec(), [199_937u64.to_le_bytes(), [1; 8]].concat().repeat(1 << 18)].concat();
        assert_eq!(payloads(&near), (vec![], SegmentEnd::Unfinished(8)));
    }
}
