//! SQLite's file format, read-only: b-trees of pages, and the write-ahead log that lies beside the file.
//!
//! Nothing in the files is believed: every offset is checked, every page is reached at most once, and what does not hold together is
//! reported while the rest is read. Source of the format: sqlite.org, `fileformat2.html`, as of SQLite 3.51.

mod cell;
mod index;
mod log;
mod pages;
mod record;
mod tree;

pub(super) use cell::{Cell, Payload, table_cells};
pub(super) use index::{INDEX_HEADER, LogIndex};
pub(super) use log::Log;
pub(super) use pages::{Moment, Page, PageNumber, Pages, Place};
pub(super) use record::{Field, record};
pub(super) use tree::{Damage, Reached, Trees};

/// The first bytes of a database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// The page size of every SQLite since 3.12 that is not told otherwise; kine does not.
pub(super) const DEFAULT_PAGE: usize = 4096;

/// The page size that the header of a database or of a log gives; `None` where it is none.
pub(super) fn page_size(given: u32) -> Option<usize> {
    // 65,536 does not fit the header's two bytes and is written as 1.
    let size = if given == 1 { 65536 } else { given as usize };
    (size.is_power_of_two() && (512..=65536).contains(&size)).then_some(size)
}

/// The number of two bytes at `at`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The number of four bytes at `at`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
