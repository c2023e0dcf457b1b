//! The records of one log file: framed, padded, and chained by a rolling CRC-32C.

use std::ops::Range;

use crate::store::load::mvcc::{Field, Fields};

pub const METADATA: u64 = 1;
pub const ENTRY: u64 = 2;
pub const STATE: u64 = 3;
pub const CRC: u64 = 4;

/// A torn write leaves a sector of zeros behind.
const SECTOR: usize = 512;

/// A record, its data as a place in the file.
pub struct Record {
    pub kind: u64,
    pub data: Range<usize>,
}

/// What comes next in a file.
pub enum Next {
    Record(Record),
    /// The end of what was written.
    End,
    /// A record that was being written when the process died; nothing follows.
    Torn,
    /// A record that is damaged, at this byte. What follows can be read where `goes_on`.
    Damaged {
        at: usize,
        goes_on: bool,
    },
}

/// Reads a file's records.
pub struct Records<'a> {
    file: &'a [u8],
    at: usize,
    /// The CRC over all data so far; carried from file to file.
    pub crc: u32,
    is_last_file: bool,
}

impl<'a> Records<'a> {
    pub fn new(file: &'a [u8], crc: u32, is_last_file: bool) -> Self {
        Self { file, at: 0, crc, is_last_file }
    }

    pub fn next(&mut self) -> Next {
        let at = self.at;
        let Some(frame) = self.file.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes) else {
            return Next::End;
        };
        if frame == 0 {
            return Next::End;
        }
        // The low 56 bits are the length; where bit 63 is set, bits 56 to 58 count the padding.
        let length = frame & ((1 << 56) - 1);
        let padding = if frame >> 63 == 1 { frame >> 56 & 7 } else { 0 };
        let start = at + 8;
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length)).filter(|&end| end <= self.file.len());
        let Some(end) = end else { return if self.is_last_file { Next::Torn } else { Next::Damaged { at, goes_on: false } } };
        self.at = end + padding as usize;
        match self.check(start..end) {
            Some(record) => Next::Record(record),
            None if self.is_last_file && has_empty_sector(self.file, start..end) => Next::Torn,
            None => Next::Damaged { at, goes_on: true },
        }
    }

    /// Reads `walpb.Record {1 type, 2 crc, 3 data}` and holds its CRC against ours, which goes on from the record's in any case.
    fn check(&mut self, place: Range<usize>) -> Option<Record> {
        let (mut kind, mut crc, mut data) = (0, 0, place.end..place.end);
        let mut fields = Fields::within(self.file, place);
        while let Some(field) = fields.next()? {
            match field {
                (1, Field::Varint(number)) => kind = number,
                (2, Field::Varint(number)) => crc = u32::try_from(number).ok()?,
                (3, Field::Bytes(bytes)) => data = bytes,
                _ => {}
            }
        }
        let expected = if kind == CRC { self.crc } else { crc32c::crc32c_append(self.crc, &self.file[data.clone()]) };
        let fits = expected == crc || (kind == CRC && self.crc == 0);
        self.crc = crc;
        fits.then_some(Record { kind, data })
    }
}

fn has_empty_sector(file: &[u8], place: Range<usize>) -> bool {
    let mut at = place.start;
    while at < place.end {
        let end = ((at / SECTOR + 1) * SECTOR).min(place.end);
        if file[at..end].iter().all(|&byte| byte == 0) {
            return true;
        }
        at = end;
    }
    false
}
