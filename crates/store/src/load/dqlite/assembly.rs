//! The pages of a node's snapshots and log, in the order in which they were written: those of the newest state, and older ones.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use bytes::Bytes;

use super::super::budget::{Budget, Reservation, with_room};
use super::super::image::Image;
use super::super::kine::{self, WrittenPages};
use super::super::mapped::map;
use super::command;
use super::segment::SegmentEntryKind;
use super::snapshot::{self, Database, DqliteSnapshot};

/// A snapshot that was read.
pub(super) struct Base {
    /// The last entry in it.
    pub index: u64,
    /// All of its bytes.
    pub bytes: Bytes,
    pub database: Database,
}

impl Base {
    /// The database in a snapshot, and what is wrong with that.
    ///
    /// # Errors
    ///
    /// A fragment: there is none.
    pub(super) fn of(index: u64, image: Image) -> Result<(Self, Option<String>), String> {
        let snapshot = DqliteSnapshot::read(&image.bytes);
        let problem = image.cut.or_else(|| snapshot.problem.clone());
        Ok((Self { index, bytes: image.bytes, database: snapshot.into_database()? }, problem))
    }

    /// The database, without its log.
    pub(super) fn file(&self) -> Bytes {
        self.bytes.slice(self.database.file.clone())
    }

    fn log(&self) -> Bytes {
        self.bytes.slice(self.database.log.clone())
    }
}

/// Gathers pages.
pub(super) struct Assembly {
    spool: BufWriter<File>,
    room: Reservation,
    length: usize,
    database: Option<String>,
    page_size: Option<usize>,
    committed: WrittenPages,
    others: Vec<WrittenPages>,
    /// The pages that the database has after the newest transaction.
    count: Option<u32>,
    /// The last entry that counts.
    last: u64,
    /// The last entry that does not count, where the next one goes on from it.
    last_other: Option<u64>,
    /// Snapshots older than the base, the oldest last.
    older: Vec<Base>,
    base_index: u64,
    /// Whether an entry is missing, so that no later one counts.
    is_broken: bool,
    /// How many nodes the cluster has, as the newest entry says.
    nodes: Option<u64>,
    /// What is wrong, each a sentence.
    damage: Vec<String>,
    /// Another database that the log changes.
    passed_over: Option<String>,
}

/// What was gathered.
pub(super) struct Assembled {
    /// The bytes of all pages.
    pub bytes: Bytes,
    pub page_size: Option<usize>,
    pub committed: WrittenPages,
    pub others: Vec<WrittenPages>,
    pub count: Option<u32>,
    /// How many nodes the cluster has, where the log says so.
    pub nodes: Option<u64>,
    /// What is wrong, each a sentence.
    pub damage: Vec<String>,
    /// Another database that the log changes, and that was not read.
    pub passed_over: Option<String>,
}

impl Assembly {
    /// Begins with the newest snapshot, where there is one, and older ones, the oldest last.
    ///
    /// # Errors
    ///
    /// There is no room for the pages.
    pub(super) fn new(base: Option<&Base>, older: Vec<Base>, budget: &Budget) -> io::Result<Self> {
        let mut assembly = Self {
            spool: BufWriter::new(tempfile::tempfile()?),
            room: budget.unpacked(),
            length: 0,
            database: base.map(|base| base.database.name.clone()),
            page_size: None,
            committed: WrittenPages::new(),
            others: Vec::new(),
            count: None,
            last: base.map_or(0, |base| base.index),
            last_other: None,
            older,
            base_index: base.map_or(0, |base| base.index),
            is_broken: false,
            nodes: None,
            damage: Vec::new(),
            passed_over: None,
        };
        if let Some(base) = base {
            assembly.page_size = kine::page_size_of(&base.file(), &base.log());
            let log = kine::Committed::of(&base.log(), assembly.page_size);
            if !log.is_whole {
                let sentence = format!("the log of SQLite in its snapshot holds only to its frame {}", log.pages.len());
                assembly.damage.push(sentence);
            }
            assembly.committed = assembly.add_log(&base.log(), log.pages)?;
            assembly.count = log.count;
        }
        Ok(assembly)
    }

    /// Adds an entry of the log.
    ///
    /// # Errors
    ///
    /// There is no room for its pages.
    pub(super) fn entry(&mut self, index: u64, kind: SegmentEntryKind, payload: &[u8]) -> io::Result<()> {
        while self.older.last().is_some_and(|older| older.index < index) {
            self.begin_with_older()?;
        }
        let is_new = index > self.base_index;
        if is_new && index <= self.last {
            return Ok(());
        }
        if is_new && index != self.last + 1 && !self.is_broken {
            self.is_broken = true;
            self.damage.push(format!(
                "entries {} to {} of its log are missing, so the state is that before them; of what was written later, rows that are lost otherwise are shown",
                self.last + 1,
                index - 1
            ));
        }
        let counts = is_new && !self.is_broken;
        match kind {
            SegmentEntryKind::Command => self.command(index, payload, counts)?,
            SegmentEntryKind::Change => self.nodes = snapshot::nodes(payload).or(self.nodes),
            SegmentEntryKind::Barrier => {}
        }
        if counts && !self.is_broken {
            self.last = index;
        } else {
            self.last_other = Some(index);
        }
        Ok(())
    }

    fn command(&mut self, index: u64, payload: &[u8], counts: bool) -> io::Result<()> {
        let frames = match command::frames(payload) {
            Ok(Some(frames)) => frames,
            Ok(None) => return Ok(()),
            Err(problem) => {
                self.refuse(index, problem, counts);
                return Ok(());
            }
        };
        let name = String::from_utf8_lossy(frames.database);
        if *self.database.get_or_insert_with(|| name.clone().into_owned()) != name {
            self.passed_over.get_or_insert(name.into_owned());
            return Ok(());
        }
        if frames.pages.is_empty() {
            return Ok(());
        }
        let size = *self.page_size.get_or_insert(frames.page_size);
        if size != frames.page_size || !kine::is_page_size(size) {
            self.refuse(index, "its pages are not of the size of the database's", counts);
            return Ok(());
        }
        let mut written = WrittenPages::with_capacity(frames.pages.len());
        for (page, range) in frames.pages {
            written.push((page, self.add(&payload[range])?));
        }
        if counts {
            self.committed.append(&mut written);
            self.count = (frames.count > 0).then_some(frames.count);
        } else {
            self.other(index).append(&mut written);
        }
        Ok(())
    }

    /// Says that nothing which comes now counts.
    pub(super) fn interrupt(&mut self) {
        self.is_broken = true;
    }

    /// Leaves out an entry, and all that counts after it.
    fn refuse(&mut self, index: u64, problem: &str, counts: bool) {
        self.damage.push(format!("entry {index} of its log cannot be read: {problem}"));
        self.is_broken |= counts;
    }

    /// The run of pages that an entry goes on, or begins.
    fn other(&mut self, index: u64) -> &mut WrittenPages {
        if self.last_other.is_none_or(|last| last + 1 != index) || self.others.is_empty() {
            self.others.push(WrittenPages::new());
        }
        let last = self.others.len() - 1;
        &mut self.others[last]
    }

    /// Begins a run with all pages of the oldest snapshot that is left.
    fn begin_with_older(&mut self) -> io::Result<()> {
        let Some(older) = self.older.pop() else { return Ok(()) };
        let Some(size) = kine::page_size_of(&older.file(), &older.log()) else { return Ok(()) };
        if *self.page_size.get_or_insert(size) != size {
            return Ok(());
        }
        let start = self.add(&older.file())?;
        let mut written: WrittenPages = (1..).zip((start..self.length).step_by(size)).collect();
        let log = kine::Committed::of(&older.log(), Some(size));
        written.append(&mut self.add_log(&older.log(), log.pages)?);
        self.others.push(written);
        self.last_other = Some(older.index);
        Ok(())
    }

    /// Adds a log of SQLite; returns where its pages lie.
    fn add_log(&mut self, log: &[u8], pages: WrittenPages) -> io::Result<WrittenPages> {
        let start = self.add(log)?;
        Ok(pages.into_iter().map(|(page, at)| (page, start + at)).collect())
    }

    /// Adds bytes; returns where they lie.
    fn add(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room.grow(bytes.len() as u64)?;
        self.spool.write_all(bytes)?;
        let start = self.length;
        self.length += bytes.len();
        Ok(start)
    }

    /// All that was added.
    ///
    /// # Errors
    ///
    /// There is no room for it.
    pub(super) fn finish(mut self) -> io::Result<Assembled> {
        while !self.older.is_empty() {
            self.begin_with_older()?;
        }
        let Self { spool, room, page_size, committed, others, count, nodes, damage, passed_over, .. } = self;
        let bytes = with_room(map("pages of dqlite", &spool.into_inner()?)?, room);
        Ok(Assembled { bytes, page_size, committed, others, count, nodes, damage, passed_over })
    }
}
