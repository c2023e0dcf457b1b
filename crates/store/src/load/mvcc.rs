//! etcd's own encoding in the `key` bucket: revision keys, and `mvccpb.KeyValue` read in place.
//!
//! `KeyValue` is read by hand: a database has one for each change, reading it in place is a quarter faster than with prost, and a message
//! that is not as etcd writes it (fields ascending, each once) is damage, which prost would accept.
//! Source: etcd v3.6, `server/storage/mvcc/revision.go` and `api/mvccpb/kv.proto`.

use std::ops::Range;

/// The byte that marks the revision key of a deletion.
const TOMBSTONE_MARK: u8 = b't';

/// No store gets this far; what claims to is damaged.
const MAX_REVISION: i64 = i64::MAX / 2;

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
            [_, _, _, _, _, _, _, _, b'_', rest @ .., TOMBSTONE_MARK] if rest.len() == 8 => true,
            _ => return None,
        };
        let main = i64::from_be_bytes(bytes[..8].try_into().ok()?);
        let sub = i64::from_be_bytes(bytes[9..17].try_into().ok()?);
        ((0..MAX_REVISION).contains(&main) && (0..LAST_SUB).contains(&sub)).then_some(Self { main, sub, tombstone })
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
        let (found, length) = Self::read_first(bytes);
        (length == bytes.len()).then_some(found)
    }

    /// Reads the longest message that `bytes` begin with, and returns its length: what follows a message in a page continues with none of its
    /// fields, but with zeros or a revision key.
    pub(super) fn read_first(bytes: &[u8]) -> (Self, usize) {
        let mut found = Self::default();
        let mut fields = Fields { bytes, at: 0 };
        let (mut last, mut length) = (0, 0);
        while let Some(Some((number, field))) = fields.next() {
            if number <= last {
                break;
            }
            match (number, field) {
                (1, WireField::Bytes(place)) => found.key = place,
                (2, WireField::Varint(n)) => found.create_revision = n.cast_signed(),
                (3, WireField::Varint(n)) => found.mod_revision = n.cast_signed(),
                (4, WireField::Varint(n)) => found.version = n.cast_signed(),
                (5, WireField::Bytes(place)) => found.value = place,
                (6, WireField::Varint(n)) => found.lease = n.cast_signed(),
                _ => break,
            }
            (last, length) = (number, fields.at);
        }
        (found, length)
    }
}

/// A field of a protobuf message, its bytes as a place in the message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WireField {
    Varint(u64),
    Bytes(Range<usize>),
}

/// The fields of a protobuf message, one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    /// Returns the next field: `Some(None)` at the end, `None` where the bytes are not a message.
    #[allow(clippy::option_option)]
    fn next(&mut self) -> Option<Option<(u64, WireField)>> {
        if self.at == self.bytes.len() {
            return Some(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => WireField::Varint(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let start = self.at;
                self.at = start.checked_add(length).filter(|&end| end <= self.bytes.len())?;
                WireField::Bytes(start..self.at)
            }
            // A KeyValue has no fields of fixed size.
            _ => return None,
        };
        Some(Some((tag >> 3, field)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, &byte) in self.bytes[self.at..].iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at += index + 1;
                // The tenth byte holds the 64th bit alone.
                return (index < 9 || byte == 1).then_some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::mvccpb::KeyValue;
    use proptest::prelude::*;
    use prost::Message;

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
                let message = KeyValue::decode(&bytes[..]).unwrap();
                prop_assert_eq!((&message.key[..], &message.value[..]), (&bytes[read.key], &bytes[read.value]));
                prop_assert_eq!((message.create_revision, message.mod_revision), (read.create_revision, read.mod_revision));
                prop_assert_eq!((message.version, message.lease), (read.version, read.lease));
            }
        }

        #[test]
        fn what_etcd_writes_is_read(key in proptest::collection::vec(any::<u8>(), 0..300), numbers: [i64; 4], value in proptest::collection::vec(any::<u8>(), 0..300)) {
            let [create_revision, mod_revision, version, lease] = numbers;
            let message = KeyValue { key: key.clone().into(), create_revision, mod_revision, version, value: value.clone().into(), lease };
            let bytes = message.encode_to_vec();
            let read = KeyValuePlaces::read(&bytes).unwrap();
            prop_assert_eq!((&bytes[read.key], &bytes[read.value]), (&key[..], &value[..]));
            prop_assert_eq!([read.create_revision, read.mod_revision, read.version, read.lease], numbers);
        }
    }
}
