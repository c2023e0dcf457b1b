//! SQLite's file format, read-only: b-trees of pages, and the write-ahead log next to the file.
//!
//! Nothing in the files is believed: every offset is checked, every page is reached at most once, and what does not hold together is
//! reported while the rest is read. Source of the format: sqlite.org, `fileformat2.html`, as of SQLite 3.51.

mod cell;
mod index;
mod integrity;
mod log;
mod numbers;
mod pages;
mod record;
mod tree;

pub(super) use cell::{Cell, Payload, table_cells};
pub(super) use index::{INDEX_HEADER, LogIndex};
pub(super) use integrity::contradictions;
pub(super) use log::{SqliteLog, is_log};
pub(super) use numbers::{DEFAULT_PAGE, PageNumber, SQLITE_MAGIC, page_size, u16_at, u32_at};
pub(super) use pages::{LogMoment, Pages, Place, SqlitePage};
pub(super) use record::{Field, record};
pub(super) use tree::{Reached, SqliteDamage, Trees};
