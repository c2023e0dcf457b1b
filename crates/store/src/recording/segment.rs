//! Writes one file of a recording: changes in chunks, each on the disk when [`SegmentWriter::commit`] returns; at the end the index, and the name of a
//! complete file. A write that fails leaves the file, and what is known of it, as they were.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::block::Compressor;
use super::chunk::{self, ChunkHeader, ChunkKind, HEADER_BYTES, MOST_RAW};
use super::facts::{FORMAT_VERSION, FileFacts, FileKind, Head, MissingRevisions, RecordingScope};
use super::file::{FILE_TRAILER, RecordingFile};
use super::index::{Block, IndexBuilder};
use super::intake::Cut;
use super::{change, disk};

/// A block ends where it has so many bytes before compression: larger ones compress better, smaller ones are quicker to read one key of.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

/// The first version of the format that notes when changes arrived.
const WITH_ARRIVALS: u32 = 2;

/// A file that is being written.
pub(super) struct SegmentWriter {
    file: File,
    path: PathBuf,
    hash: Sha256,
    index: IndexBuilder,
    block: Option<OpenBlock>,
    pub facts: FileFacts,
    /// The last revision of which there is a chunk.
    upto: i64,
    /// The version of the format that it was begun in.
    format: u32,
    /// Whether what a failed write left could not be cut off: nothing may be written behind it.
    is_torn: bool,
    /// Whether each write is on the disk before the next.
    waits: bool,
}

/// What is known of a file at one moment, to go back to.
struct SegmentState {
    hash: Sha256,
    block: Option<(u64, i64)>,
    facts: FileFacts,
    upto: i64,
    blocks: usize,
}

struct OpenBlock {
    compressor: Compressor,
    raw: usize,
    start: u64,
    after: i64,
}

impl SegmentWriter {
    /// Begins a file that will have what follows revision `after`, or is the state at it.
    pub(super) fn create(path: &Path, kind: FileKind, scope: &RecordingScope, after: i64, time: i64) -> io::Result<Self> {
        let file = disk::create(path)?;
        let mut segment = Self::of(file, path, FileFacts { begun: time, ..FileFacts::new(kind) }, after, FORMAT_VERSION);
        let head = serde_json::to_vec(&Head { format: FORMAT_VERSION, kind, scope: scope.clone() })?;
        let header = ChunkHeader { kind: ChunkKind::Head, length: 0, raw: 0, after, upto: after, time, crc: 0 };
        if let Err(error) = segment.write(header, &head).and_then(|()| disk::sync(&mut segment.file)) {
            // It holds nothing yet.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(segment)
    }

    fn of(file: File, path: &Path, facts: FileFacts, upto: i64, format: u32) -> Self {
        let (hash, index, block) = (Sha256::new(), IndexBuilder::default(), None);
        Self { file, path: path.to_owned(), hash, index, block, facts, upto, format, is_torn: false, waits: true }
    }

    /// The same, which does not wait for the disk: for a file that is thrown away where anything fails.
    pub(super) fn without_waiting(self) -> Self {
        Self { waits: false, ..self }
    }

    /// Goes on with a file that a recorder left, behind its last whole chunk. `None` where that is damaged before its end.
    pub(super) fn resume(path: &Path) -> io::Result<Option<Self>> {
        let mut file = disk::open_to_append(path)?;
        let bytes = crate::load::map(&path.to_string_lossy(), &file)?;
        let Ok(found) = RecordingFile::scan(path, bytes.clone()) else { return Ok(None) };
        if !found.problems.is_empty() || found.facts.kind != FileKind::Changes {
            return Ok(None);
        }
        let mut hash = Sha256::new();
        hash.update(&bytes[..found.end]);
        let mut index = IndexBuilder::default();
        for block in found.blocks() {
            let Some((events, None)) = found.changes(&block) else { return Ok(None) };
            events.iter().for_each(|event| index.add(&event.key_value.key));
            index.blocks.push(block);
        }
        let facts = FileFacts { bytes: found.end as u64, ..found.facts.clone() };
        let upto = facts.reached().unwrap_or(found.after);
        let Some(format) = found.head.as_ref().map(|head| head.format) else { return Ok(None) };
        drop((found, bytes));
        disk::shorten(&mut file, facts.bytes)?;
        Ok(Some(Self { hash, index, ..Self::of(file, path, facts, upto, format) }))
    }

    /// Writes the changes that follow the last chunk; they are on the disk when this returns.
    ///
    /// # Errors
    ///
    /// They cannot be written, and nothing was.
    pub(super) fn commit(&mut self, cut: &Cut<'_>, time: i64) -> io::Result<()> {
        self.all_or_nothing(|segment| segment.chunk(cut, time))?;
        cut.changes.iter().for_each(|event| self.index.add(&event.key_value.key));
        if self.block.as_ref().is_some_and(|block| block.raw >= BLOCK_BYTES) {
            self.end_block();
        }
        Ok(())
    }

    /// Notes revisions that are missing; what follows goes on behind them.
    ///
    /// # Errors
    ///
    /// It cannot be written, and nothing was.
    pub(super) fn missing(&mut self, missing: &MissingRevisions, time: i64) -> io::Result<()> {
        self.end_block();
        let (after, upto) = (missing.from - 1, missing.to);
        let payload = serde_json::to_vec(missing)?;
        self.all_or_nothing(|segment| {
            segment.write(ChunkHeader { kind: ChunkKind::Gap, length: 0, raw: 0, after, upto, time, crc: 0 }, &payload)?;
            segment.facts.missing.push(missing.clone());
            segment.upto = upto;
            Ok(())
        })
    }

    /// The last revision of which there is a chunk.
    pub(super) fn reached(&self) -> i64 {
        self.upto
    }

    pub(super) fn key_count(&self) -> usize {
        self.index.key_count()
    }

    /// Writes a chunk. A state's are all of its revision.
    fn chunk(&mut self, cut: &Cut<'_>, time: i64) -> io::Result<()> {
        let mut raw = Vec::new();
        cut.changes.iter().for_each(|event| change::write(event.kind, event.sub_revision, &event.key_value, &mut raw));
        // A file that an older recorder began goes on as it was begun.
        let arrivals = cut.arrivals.iter().filter(|_| self.format >= WITH_ARRIVALS);
        arrivals.for_each(|arrival| change::write_arrival(arrival, &mut raw));
        if raw.len() > MOST_RAW {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the changes of a revision are more than a recording takes (256 MiB)"));
        }
        if cut.after != self.upto || cut.upto < cut.after {
            return Err(io::Error::other(format!("changes after revision {} do not follow revision {}", cut.after, self.upto)));
        }
        let begins_block = self.block.is_none();
        let (start, after, upto) = (self.facts.bytes, cut.after, cut.upto);
        let block = match &mut self.block {
            Some(block) => block,
            free => free.insert(OpenBlock { compressor: Compressor::new()?, raw: 0, start, after }),
        };
        let payload = block.compressor.chunk(&raw)?;
        block.raw += raw.len();
        let kind = ChunkKind::Changes { begins_block };
        self.write(ChunkHeader { kind, length: 0, raw: raw.len() as u32, after, upto, time, crc: 0 }, &payload)?;
        self.facts.changes += cut.changes.len() as u64;
        self.facts.cover(after, upto);
        self.upto = upto;
        Ok(())
    }

    /// Writes something and waits until it is on the disk. Where that fails the file is as it was: what the compressor took is in no chunk, so the
    /// block ends before it.
    fn all_or_nothing(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        if self.is_torn {
            return Err(io::Error::other("what an earlier write left could not be cut off"));
        }
        let mark = SegmentState {
            hash: self.hash.clone(),
            block: self.block.as_ref().map(|block| (block.start, block.after)),
            facts: self.facts.clone(),
            upto: self.upto,
            blocks: self.index.blocks.len(),
        };
        let done = write(self).and_then(|()| if self.waits { disk::sync(&mut self.file) } else { Ok(()) });
        let Err(error) = done else { return Ok(()) };
        let SegmentState { hash, block, facts, upto, blocks } = mark;
        (self.hash, self.facts, self.upto, self.block) = (hash, facts, upto, None);
        self.index.blocks.truncate(blocks);
        self.index.blocks.extend(block.map(|(start, after)| Block { start, length: self.facts.bytes - start, after, upto }));
        self.is_torn = disk::shorten(&mut self.file, self.facts.bytes).is_err();
        Err(error)
    }

    fn end_block(&mut self) {
        if let Some(block) = self.block.take() {
            let length = self.facts.bytes - block.start;
            self.index.blocks.push(Block { start: block.start, length, after: block.after, upto: self.upto });
        }
    }

    fn write(&mut self, header: ChunkHeader, payload: &[u8]) -> io::Result<()> {
        let bytes = chunk::written(header, payload);
        self.append(&bytes)?;
        self.facts.ended = header.time;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        disk::append(&mut self.file, bytes)?;
        self.hash.update(bytes);
        self.facts.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the index, gives the file its name and returns what is known of it.
    pub(super) fn seal(mut self, path: &Path, time: i64) -> io::Result<FileFacts> {
        self.end_block();
        let index = self.index.bytes();
        let start = self.facts.bytes + HEADER_BYTES as u64;
        let (after, upto) = (self.upto, self.upto);
        self.write(ChunkHeader { kind: ChunkKind::Index, length: 0, raw: 0, after, upto, time, crc: 0 }, &index)?;
        self.append(&FILE_TRAILER.bytes(start, index.len() as u32))?;
        disk::rename(&mut self.file, &self.path, path)?;
        self.facts.sha256 = hex(self.hash.finalize().as_slice());
        self.facts.name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(self.facts)
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
