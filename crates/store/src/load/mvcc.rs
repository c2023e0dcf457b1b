//! etcd's own encoding in the `key` bucket: revision keys, and `mvccpb.KeyValue` read in place.
//!
//! The message is read by hand because a derived one would copy each value; here both stay places in the file.
//! Source: etcd v3.6, `server/storage/mvcc/revision.go` and `api/mvccpb/kv.proto`.

use std::ops::Range;

/// Whether an entry wrote its key or removed it.
pub(super) const TOMBSTONE: u8 = b't';

/// No store gets this far; what claims to is damaged.
const LAST: i64 = i64::MAX / 2;

/// No transaction makes as many changes.
const LAST_SUB: i64 = u32::MAX as i64;

/// A key of the `key` bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RevisionKey {
    /// The transaction's revision.
    pub main: i64,
    /// The change's place in it.
    pub sub: i64,
    /// Whether the change removed the key.
    pub tombstone: bool,
}

impl RevisionKey {
    /// Reads 17 bytes (a put) or 18 (a tombstone).
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let tombstone = match bytes {
            [_, _, _, _, _, _, _, _, b'_', rest @ ..] if rest.len() == 8 => false,
            [_, _, _, _, _, _, _, _, b'_', rest @ .., TOMBSTONE] if rest.len() == 8 => true,
            _ => return None,
        };
        let main = i64::from_be_bytes(bytes[..8].try_into().ok()?);
        let sub = i64::from_be_bytes(bytes[9..17].try_into().ok()?);
        ((0..LAST).contains(&main) && (0..LAST_SUB).contains(&sub)).then_some(Self { main, sub, tombstone })
    }
}

/// A `mvccpb.KeyValue`, its key and value as places in the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyValuePlaces {
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub create_revision: i64,
    pub mod_revision: i64,
    pub version: i64,
    pub lease: i64,
}

impl KeyValuePlaces {
    /// Reads a message; `None` if it is none, or not as etcd writes it: fields ascending, each once, none unknown.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut found = Self::default();
        let mut fields = Fields::new(bytes);
        let mut last = 0;
        while let Some(field) = fields.next()? {
            if field.0 <= last {
                return None;
            }
            last = field.0;
            match field {
                (1, Field::Bytes(place)) => found.key = place,
                (2, Field::Varint(n)) => found.create_revision = n.cast_signed(),
                (3, Field::Varint(n)) => found.mod_revision = n.cast_signed(),
                (4, Field::Varint(n)) => found.version = n.cast_signed(),
                (5, Field::Bytes(place)) => found.value = place,
                (6, Field::Varint(n)) => found.lease = n.cast_signed(),
                _ => return None,
            }
        }
        Some(found)
    }
}

/// A field of a protobuf message, its bytes as a place in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Varint(u64),
    Fixed,
    Bytes(Range<usize>),
}

/// The fields of a protobuf message, one after the other.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a message that is all of `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self::within(bytes, 0..bytes.len())
    }

    /// The fields of a message that lies at `place` in `bytes`; the places found are places in `bytes` too.
    pub(super) fn within(bytes: &'a [u8], place: Range<usize>) -> Self {
        Self { bytes, at: place.start, end: place.end.min(bytes.len()) }
    }

    /// The next field: `Some(None)` at the end, `None` where the bytes are no message.
    #[allow(clippy::option_option)]
    pub(super) fn next(&mut self) -> Option<Option<(u64, Field)>> {
        if self.at >= self.end {
            return Some(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => self.skip(8)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let start = self.at;
                self.skip(length)?;
                Field::Bytes(start..self.at)
            }
            5 => self.skip(4)?,
            _ => return None,
        };
        (tag >> 3 != 0).then_some(Some((tag >> 3, field)))
    }

    fn skip(&mut self, length: usize) -> Option<Field> {
        self.at = self.at.checked_add(length).filter(|&end| end <= self.end)?;
        Some(Field::Fixed)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, &byte) in self.bytes.get(self.at..self.end)?.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at += index + 1;
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_read_in_place() {
        let bytes = b"\x0a\x02/a\x10\x05\x18\x07\x20\x02\x2a\x03xyz\x30\x09";
        let read = KeyValuePlaces::read(bytes).unwrap();
        assert_eq!((&bytes[read.key], &bytes[read.value]), (&b"/a"[..], &b"xyz"[..]));
        assert_eq!((read.create_revision, read.mod_revision, read.version, read.lease), (5, 7, 2, 9));
        for damaged in [&bytes[..bytes.len() - 1], &[&bytes[..], b"\x38\x01"].concat(), &[&bytes[..], b"\x30\x01"].concat()] {
            assert_eq!(KeyValuePlaces::read(damaged), None);
        }
    }

    #[test]
    fn revision_keys_are_17_or_18_bytes() {
        let put = [0, 0, 0, 0, 0, 0, 0x12, 0x67, b'_', 0, 0, 0, 0, 0, 0, 0, 3];
        assert_eq!(RevisionKey::read(&put), Some(RevisionKey { main: 4711, sub: 3, tombstone: false }));
        let gone = [&put[..], b"t"].concat();
        assert_eq!(RevisionKey::read(&gone), Some(RevisionKey { main: 4711, sub: 3, tombstone: true }));
        assert_eq!(RevisionKey::read(&put[..16]), None);
        assert_eq!(RevisionKey::read(&[&put[..], b"x"].concat()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Some(read) = KeyValuePlaces::read(&bytes) {
                prop_assert!(read.key.end <= bytes.len() && read.value.end <= bytes.len());
            }
        }
    }
}
