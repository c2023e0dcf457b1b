//! The commands in the log (`src/command.c`). One kind changes the database: the pages of a transaction.

use std::ops::Range;

use super::words::text_at;
use crate::load::little_endian::{u32_at, u64_at};

const COMMAND_FORMAT: u8 = 1;

/// The pages that a transaction wrote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenFrames<'p> {
    /// The name of the database.
    pub database: &'p [u8],
    /// The pages that the database has after it; 0 if unknown.
    pub count: u32,
    pub page_size: usize,
    /// The number of each page, and where it lies in the payload.
    pub pages: Vec<(u32, Range<usize>)>,
}

/// Reads the payload of a command; `None` where it changes no page.
///
/// # Errors
///
/// A fragment: what is wrong with it.
pub(super) fn frames(payload: &[u8]) -> Result<Option<WrittenFrames<'_>>, &'static str> {
    const OPEN_COMMAND: u8 = 1;
    const FRAMES_COMMAND: u8 = 2;
    const UNDO_COMMAND: u8 = 3;
    const CHECKPOINT_COMMAND: u8 = 4;
    match payload {
        [COMMAND_FORMAT, FRAMES_COMMAND, ..] => read(payload).map(Some),
        // They changed nothing, or only how the pages are kept.
        [COMMAND_FORMAT, OPEN_COMMAND | UNDO_COMMAND | CHECKPOINT_COMMAND, ..] => Ok(None),
        [COMMAND_FORMAT, ..] => Err("it is a command that is not known"),
        _ => Err("it is of another version of dqlite"),
    }
}

fn read(payload: &[u8]) -> Result<WrittenFrames<'_>, &'static str> {
    const CUT_ERROR: &str = "it is shorter than it says";
    const HEADER_BYTES: usize = 8;
    let (database, at) = text_at(payload, HEADER_BYTES).ok_or(CUT_ERROR)?;
    // The transaction's number, which is not needed; the size of the database; whether it is committed; the number of pages and their size.
    let fixed = payload.get(at..at + 24).ok_or(CUT_ERROR)?;
    let (count, is_committed) = (u32_at(fixed, 8).unwrap_or_default(), fixed[12] != 0);
    if !is_committed {
        return Err("it is a part of a transaction, as versions of dqlite wrote that its own newer ones refuse");
    }
    let number = usize::try_from(u32_at(fixed, 16).unwrap_or_default()).map_err(|_| CUT_ERROR)?;
    let page_size = usize::from(u16::from_le_bytes([fixed[20], fixed[21]]));
    let numbers = at + 24;
    let first = number.checked_mul(8).and_then(|length| numbers.checked_add(length)).ok_or(CUT_ERROR)?;
    let end = number.checked_mul(page_size).and_then(|length| first.checked_add(length)).ok_or(CUT_ERROR)?;
    if end > payload.len() {
        return Err(CUT_ERROR);
    }
    let page = |place: usize| {
        let page = u64_at(payload, numbers + 8 * place).filter(|&page| 0 < page && page <= u64::from(u32::MAX / 2))?;
        let start = first + place * page_size;
        Some((u32::try_from(page).ok()?, start..start + page_size))
    };
    let pages = (0..number).map(page).collect::<Option<_>>().ok_or("it writes a page that no database has")?;
    Ok(WrittenFrames { database, count, page_size, pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(is_committed: u8, pages: &[u64]) -> Vec<u8> {
        let mut bytes = vec![1, 2, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"k8s\0\0\0\0\0");
        bytes.extend(5u64.to_le_bytes());
        bytes.extend(9u32.to_le_bytes());
        bytes.extend([is_committed, 0, 0, 0]);
        bytes.extend(u32::try_from(pages.len()).unwrap().to_le_bytes());
        bytes.extend([0, 2, 0, 0]);
        pages.iter().for_each(|page| bytes.extend(page.to_le_bytes()));
        pages.iter().for_each(|&page| bytes.extend([page.to_le_bytes()[0]; 512]));
        bytes
    }

    #[test]
    fn the_pages_of_a_transaction_are_found() {
        let bytes = payload(1, &[3, 1]);
        let found = frames(&bytes).unwrap().unwrap();
        assert_eq!((found.database, found.count, found.page_size), (&b"k8s"[..], 9, 512));
        let pages: Vec<_> = found.pages.iter().map(|(page, range)| (*page, bytes[range.clone()][0], range.len())).collect();
        assert_eq!(pages, [(3, 3, 512), (1, 1, 512)]);
        assert_eq!(frames(&[1, 4, 0, 0]), Ok(None));
        for end in 2..bytes.len() {
            assert!(frames(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn impossible_commands_are_refused() {
        for (bytes, wanted) in [
            (payload(0, &[1]), "part of a transaction"),
            (payload(1, &[0]), "no database has"),
            (payload(1, &[u64::MAX]), "no database has"),
            (vec![1, 9], "not known"),
            (vec![2, 2], "another version"),
            (vec![], "another version"),
        ] {
            let said = frames(&bytes).unwrap_err();
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        let mut endless = payload(1, &[1]);
        endless[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(frames(&endless).is_err());
    }
}
