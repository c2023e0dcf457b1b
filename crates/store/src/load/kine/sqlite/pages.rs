//! The pages of a database as they were at some moment: those of the file, and over them those of the log.

use bytes::Bytes;

use super::log::{FrameRun, SqliteLog};
use super::numbers::PageNumber;

/// A database file and its log.
pub(in super::super) struct Pages {
    pub(in super::super) file: Bytes,
    pub(in super::super) log: SqliteLog,
    pub(in super::super) size: usize,
}

/// Which pages of the log lie over those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LogMoment {
    /// All that were committed: the state that SQLite shows.
    Newest,
    /// None.
    File,
    /// Those of a run of frames up to this one; of those that it has not, none.
    Frame {
        /// The run, by its place in [`Log::runs`].
        run: usize,
        frame: usize,
    },
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Place {
    pub(in super::super) in_log: bool,
    /// Where in it.
    pub(in super::super) start: usize,
}

#[derive(Clone, Copy)]
pub(in super::super) struct SqlitePage<'p> {
    pub(in super::super) number: PageNumber,
    pub(in super::super) bytes: &'p [u8],
    /// Where they are.
    pub(in super::super) place: Place,
}

impl Pages {
    /// A page; `None` where the files end before it.
    pub(in super::super) fn page(&self, number: PageNumber, moment: LogMoment) -> Option<SqlitePage<'_>> {
        let committed = &self.log.runs[0];
        let start = match moment {
            LogMoment::Newest => committed.newest(number),
            LogMoment::File => None,
            LogMoment::Frame { run, frame } => self.log.runs[run].at(number, frame),
        };
        match start {
            Some(start) => self.at(number, Place { in_log: true, start }),
            None => {
                let start = usize::try_from(number.checked_sub(1)?).ok()?.checked_mul(self.size)?;
                self.at(number, Place { in_log: false, start })
            }
        }
    }

    pub(in super::super) fn at(&self, number: PageNumber, place: Place) -> Option<SqlitePage<'_>> {
        let bytes = if place.in_log { &self.log.bytes } else { &self.file };
        Some(SqlitePage { number, bytes: bytes.get(place.start..place.start.checked_add(self.size)?)?, place })
    }

    /// The pages that the newest state has, each once: those of the file, and those that only the log has.
    pub(in super::super) fn numbers(&self) -> impl Iterator<Item = PageNumber> + '_ {
        let in_file = PageNumber::try_from(self.file.len() / self.size).unwrap_or(PageNumber::MAX);
        (1..=in_file).chain(self.committed().pages().filter(move |&number| number > in_file))
    }

    pub(in super::super) fn committed(&self) -> &FrameRun {
        &self.log.runs[0]
    }
}
