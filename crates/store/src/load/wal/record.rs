//! The records of one log file: framed, padded, and chained by a rolling CRC-32C.

use std::ops::Range;

use bytes::Bytes;
use prost::Message;

use crate::proto::walpb::Record;

// The types of records (etcd v3.6, server/storage/wal/wal.go).
pub(super) const METADATA_RECORD: i64 = 1;
pub(super) const ENTRY_RECORD: i64 = 2;
pub(super) const STATE_RECORD: i64 = 3;
pub(super) const CRC_RECORD: i64 = 4;
pub(super) const SNAPSHOT_RECORD: i64 = 5;

/// A torn write leaves a sector of zeros behind.
const SECTOR_BYTES: usize = 512;

/// What comes next in a file.
pub(super) enum Next {
    /// A record whose checksum holds; its data are a slice of the file.
    Record(Record),
    /// The end of what was written: zeros follow, which etcd keeps ready for more.
    End,
    /// The end of the file, right after a record.
    EndOfFile,
    /// The file ends within a record, at this byte.
    Cut { at: usize },
    /// A record that was being written when the process died, or is now; nothing follows.
    Torn,
    /// A record that is damaged, at this byte. What follows can be read where `goes_on`.
    Damaged { at: usize, goes_on: bool },
}

/// Reads a file's records.
pub(super) struct Records<'a> {
    file: &'a Bytes,
    at: usize,
    /// The CRC over all data so far; carried from file to file.
    pub crc: u32,
    is_last_file: bool,
    /// Whether a running etcd writes at the end of the file.
    is_written: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(file: &'a Bytes, crc: u32, is_last_file: bool) -> Self {
        Self { file, at: 0, crc, is_last_file, is_written: false }
    }

    /// The records of the last file of a log that a running etcd writes: its last record may be there in part.
    pub(super) fn of_written(file: &'a Bytes, crc: u32) -> Self {
        Self { is_written: true, ..Self::new(file, crc, true) }
    }

    pub(super) fn next(&mut self) -> Next {
        let at = self.at;
        let Some(frame) = self.file.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) else {
            let rest = self.file.get(at..).unwrap_or_default();
            return if rest.iter().any(|&byte| byte != 0) { Next::Cut { at } } else { Next::EndOfFile };
        };
        if frame == 0 {
            return self.resume(at).unwrap_or(Next::End);
        }
        let Some((place, next)) = frame_at(self.file, at) else {
            let ends = match (self.is_written, self.is_last_file) {
                (true, _) => Next::Torn,
                (false, true) => Next::Cut { at },
                (false, false) => Next::Damaged { at, goes_on: false },
            };
            return self.resume(at).unwrap_or(ends);
        };
        self.at = next;
        match self.check(place.clone()) {
            Some(record) => Next::Record(record),
            None if self.is_last_file && has_empty_sector(self.file, place) => self.resume(at).unwrap_or(Next::Torn),
            // Where the next record does not follow, the length may be what is damaged.
            None if self.follows(next) => Next::Damaged { at, goes_on: true },
            None => self.resume(at).unwrap_or(if self.is_written { Next::Torn } else { Next::Damaged { at, goes_on: true } }),
        }
    }

    /// Whether a record at `at` goes on from the CRC reached.
    fn follows(&self, at: usize) -> bool {
        let record = frame_at(self.file, at).and_then(|(place, _)| read(self.file, place));
        record.is_some_and(|record| goes_on_from(self.crc, &record))
    }

    /// Reads a record and holds its CRC against ours, which goes on from the record's in any case.
    fn check(&mut self, place: Range<usize>) -> Option<Record> {
        let record = read(self.file, place)?;
        let before = std::mem::replace(&mut self.crc, record.crc);
        // The record at the beginning of a file repeats the CRC that the file before it ended with.
        let fits = if record.r#type == CRC_RECORD { before == record.crc || before == 0 } else { goes_on_from(before, &record) };
        fits.then_some(record)
    }

    /// Looks for records after a place where there should be none: if two follow each other, and the second one's CRC goes on from the
    /// first one's, what lies before them was damaged. Reading continues with the second, as nothing vouches for the first.
    fn resume(&mut self, at: usize) -> Option<Next> {
        const ZERO_SECTOR: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];
        // Frames and their padding fill multiples of 8 bytes.
        let mut from = (at / 8 + 1) * 8;
        while from + 8 <= self.file.len() {
            let sector = &self.file[from..self.file.len().min(from + SECTOR_BYTES)];
            if from.is_multiple_of(SECTOR_BYTES) && *sector == ZERO_SECTOR[..sector.len()] {
                from += SECTOR_BYTES;
                continue;
            }
            if let Some((second, crc)) = self.pair_at(from) {
                (self.at, self.crc) = (second, crc);
                return Some(Next::Damaged { at, goes_on: true });
            }
            from += 8;
        }
        None
    }

    /// Where the second of two records begins that follow each other from `at` on, and the first one's CRC.
    fn pair_at(&self, at: usize) -> Option<(usize, u32)> {
        let (place, second) = frame_at(self.file, at)?;
        let first = read(self.file, place)?;
        let (place, _) = frame_at(self.file, second)?;
        let record = read(self.file, place)?;
        let is_known = |record: &Record| (METADATA_RECORD..=SNAPSHOT_RECORD).contains(&record.r#type);
        (is_known(&first) && is_known(&record) && goes_on_from(first.crc, &record)).then_some((second, first.crc))
    }
}

/// Whether the CRC of `record`, which is not a CRC record, goes on from `crc`.
fn goes_on_from(crc: u32, record: &Record) -> bool {
    record.r#type != CRC_RECORD && crc32c::crc32c_append(crc, &record.data) == record.crc
}

/// The record framed at `at`, if it lies in the file, and where the next one is.
fn frame_at(file: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    let frame = u64::from_le_bytes(file.get(at..at.checked_add(8)?)?.try_into().ok()?);
    // The low 56 bits are the length; where bit 63 is set, bits 56 to 58 count the padding.
    let length = frame & ((1 << 56) - 1);
    let padding = if frame >> 63 == 1 { frame >> 56 & 7 } else { 0 };
    let start = at + 8;
    let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length)).filter(|&end| end <= file.len())?;
    (frame != 0).then_some((start..end, end + padding as usize))
}

fn read(file: &Bytes, place: Range<usize>) -> Option<Record> {
    Record::decode(file.slice(place)).ok()
}

fn has_empty_sector(file: &[u8], place: Range<usize>) -> bool {
    let mut at = place.start;
    while at < place.end {
        let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(place.end);
        if file[at..end].iter().all(|&byte| byte == 0) {
            return true;
        }
        at = end;
    }
    false
}
