//! Bytes that are written while they are read. If another process writes them, a value is used only if a copy of it proves to be what was indexed;
//! if we unpack them ourselves, a reader waits for them.

use std::ops::Range;

use bytes::Bytes;

use crate::Result;

/// A file that is written.
pub(crate) trait Volatile: std::fmt::Debug + Send + Sync {
    /// The value of an entry, wherever it is by now.
    ///
    /// # Errors
    ///
    /// It is not in the file any more, or cannot be had: [`crate::Error::Format`] says the former.
    fn value(&self, entry: &IndexedPut<'_>) -> Result<Bytes>;
}

/// A put of etcd's bucket `key`, as it was indexed.
pub(crate) struct IndexedPut<'a> {
    pub main: i64,
    pub sub: i64,
    pub key: &'a [u8],
    pub create_revision: i64,
    pub version: i64,
    /// Where its value was.
    pub place: Range<usize>,
    /// The CRC-32C of the value, where the file was being written when it was indexed.
    pub crc: u32,
}

impl IndexedPut<'_> {
    pub(crate) fn revision_key(&self) -> Vec<u8> {
        [&self.main.to_be_bytes()[..], b"_", &self.sub.to_be_bytes()].concat()
    }

    /// What stands right before the value: the key in the bucket, and the message up to the value's length, as etcd writes it.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = self.revision_key();
        prost::encoding::bytes::encode(1, &self.key.to_vec(), &mut head);
        for (tag, number) in [(2, self.create_revision), (3, self.main), (4, self.version)] {
            prost::encoding::int64::encode(tag, &number, &mut head);
        }
        prost::encoding::encode_key(5, prost::encoding::WireType::LengthDelimited, &mut head);
        prost::encoding::encode_varint(self.place.len() as u64, &mut head);
        head
    }
}
