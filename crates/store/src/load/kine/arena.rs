//! Bytes that lie in no file in one piece, gathered in a file without a name, so that a large database is never on the heap.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use bytes::Bytes;

use super::super::mapped::map;
use crate::versions::Location;

/// Which bytes a place is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    File,
    Log,
    Arena,
}

/// Where bytes lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) whose: Whose,
    /// From where on.
    pub(super) start: u64,
    pub(super) length: u32,
}

/// The numbers that the index has for the database file, the log and the arena.
#[derive(Clone, Copy)]
pub(super) struct Images {
    pub(super) file: u16,
    pub(super) log: u16,
    /// The arena's.
    pub(super) arena: u16,
}

impl Images {
    /// The same place for the index.
    pub(super) fn locate(&self, span: Span) -> Location {
        let image = match span.whose {
            Whose::File => self.file,
            Whose::Log => self.log,
            Whose::Arena => self.arena,
        };
        Location { image, start: span.start, length: span.length }
    }
}

/// Gathers bytes.
pub(super) struct Arena {
    file: BufWriter<File>,
    length: u64,
}

impl Arena {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), length: 0 })
    }

    /// Adds bytes; returns where they will lie.
    pub(super) fn add(&mut self, bytes: &[u8]) -> io::Result<Span> {
        self.file.write_all(bytes)?;
        let start = self.length;
        self.length += bytes.len() as u64;
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        Ok(Span { whose: Whose::Arena, start, length })
    }

    pub(super) fn finish(self) -> io::Result<Bytes> {
        map("values of a kine database", &self.file.into_inner()?)
    }
}

/// Why values cannot be gathered.
pub(super) fn no_room(cause: std::io::Error) -> String {
    format!("its values cannot be gathered in {}: {cause}; set TMPDIR to a directory with more space", std::env::temp_dir().display())
}
