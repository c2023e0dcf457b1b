//! A database whose newest state is that of a file and of pages that were written after it, as dqlite's log has them.

use bytes::Bytes;

use super::sqlite::{self, PageNumber, Pages, SqliteLog};

/// Pages in the order in which they were written: the number of each, and where it begins in the bytes of all.
pub(in super::super) type WrittenPages = Vec<(PageNumber, usize)>;

/// A file, and pages that were written after it and before it.
pub(in super::super) struct Replica {
    /// The file; empty if there is none.
    pub file: Bytes,
    /// The bytes of all pages.
    pub bytes: Bytes,
    /// Bytes of a page, where that is known.
    pub page_size: Option<usize>,
    /// What was committed after the file.
    pub committed: WrittenPages,
    /// What was written at other times, each from one moment on.
    pub others: Vec<WrittenPages>,
    /// How many pages the database has in the end, where that is known.
    pub count: Option<PageNumber>,
}

impl Replica {
    pub(super) fn pages(self) -> Pages {
        let runs = std::iter::once(self.committed).chain(self.others).collect();
        let log = SqliteLog::of_pages(self.bytes, runs, self.count);
        Pages { file: self.file, log, size: self.page_size.unwrap_or(sqlite::DEFAULT_PAGE) }
    }
}

/// What a log of SQLite commits.
pub(in super::super) struct Committed {
    /// The pages, by where they begin in the log.
    pub pages: WrittenPages,
    /// How many pages the database has after them.
    pub count: Option<PageNumber>,
    /// Whether the log ends with them.
    pub is_whole: bool,
}

impl Committed {
    /// Reads a log, which may be empty.
    pub(in super::super) fn of(log: &Bytes, page_size: Option<usize>) -> Self {
        let size = page_size.unwrap_or(sqlite::DEFAULT_PAGE);
        let mut log = SqliteLog::read(log.clone(), size);
        let is_whole = log.problems.is_empty() && log.unfinished.is_none() && log.page_size.is_none_or(|of_log| of_log == size);
        let first = log.runs.swap_remove(0);
        Self { pages: first.frames, count: log.pages, is_whole }
    }
}

/// The bytes of a page, by the header of a database or of its log.
pub(in super::super) fn page_size_of(file: &Bytes, log: &Bytes) -> Option<usize> {
    let of_file = sqlite::u16_at(file, 16).and_then(|size| sqlite::page_size(size.into()));
    of_file.or_else(|| sqlite::page_size(sqlite::u32_at(log, 8)?))
}

pub(in super::super) fn is_page_size(size: usize) -> bool {
    // 1 stands for another size in headers alone.
    size != 1 && u32::try_from(size).is_ok_and(|size| sqlite::page_size(size).is_some())
}
