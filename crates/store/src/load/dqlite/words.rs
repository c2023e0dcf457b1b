//! Texts as dqlite writes them (`src/lib/serialize.h`).

/// The text at `at`, which ends with a zero and is padded with zeros to a multiple of 8 bytes, and the place behind it.
pub(super) fn text_at(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().take(LONGEST_TEXT).position(|&byte| byte == 0)?;
    let end = (length + 1).next_multiple_of(8);
    rest.get(length..end)?.iter().all(|&byte| byte == 0).then_some((&rest[..length], at + end))
}

/// The longest name of a database, in bytes, that is read.
const LONGEST_TEXT: usize = 4096;
