//! Numbers of SQLite's files: of pages, in headers, and checksums.

/// Pages are numbered from 1.
pub(in super::super) type PageNumber = u32;

/// The first bytes of a database.
pub(in super::super) const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// The page size of every SQLite since 3.12 that is not told otherwise; kine does not.
pub(in super::super) const DEFAULT_PAGE: usize = 4096;

/// The page size that the header of a database or of a log gives; `None` if it is not one.
pub(in super::super) fn page_size(given: u32) -> Option<usize> {
    // 65,536 does not fit the header's two bytes and is written as 1.
    let size = if given == 1 { 65536 } else { given as usize };
    (size.is_power_of_two() && (512..=65536).contains(&size)).then_some(size)
}

/// The number of two bytes at `at`.
pub(in super::super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The number of four bytes at `at`.
pub(in super::super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The checksum of words, going on from another one.
pub(super) fn checksummed(bytes: &[u8], is_big_endian: bool, from: (u32, u32)) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().unwrap_or_default();
        if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    bytes.chunks_exact(8).fold(from, |(one, other), words| {
        let one = one.wrapping_add(word(&words[..4])).wrapping_add(other);
        (one, other.wrapping_add(word(&words[4..])).wrapping_add(one))
    })
}
