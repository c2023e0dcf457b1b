//! Writes one file of a recording: changes in chunks, each on the disk when `flush` returns; at the end the index, and the name of a complete file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::block::Compressor;
use super::change;
use super::chunk::{self, HEADER, Header, Kind, MOST_RAW};
use super::facts::{FORMAT, FileFacts, FileKind, Head, MissingRevisions, Scope};
use super::file::{RecordingFile, TRAILER};
use super::index::{Block, IndexBuilder};
use crate::{EventKind, KeyValue};

/// A block ends where it has so many bytes before compression: larger ones compress better, smaller ones are quicker to read one key of.
const BLOCK_BYTES: usize = 1 << 20;

/// A file that is being written.
pub(super) struct SegmentWriter {
    file: File,
    path: PathBuf,
    hash: Sha256,
    index: IndexBuilder,
    block: Option<OpenBlock>,
    /// Changes that no chunk has yet.
    pending: Vec<u8>,
    pending_changes: u64,
    pub facts: FileFacts,
    /// The last revision of which there is a chunk.
    upto: i64,
}

struct OpenBlock {
    compressor: Compressor,
    raw: usize,
    start: u64,
    after: i64,
}

impl SegmentWriter {
    /// Begins a file that will have what follows revision `after`, or is the state at it.
    pub(super) fn create(path: &Path, kind: FileKind, scope: &Scope, after: i64, time: i64) -> io::Result<Self> {
        let file = private().create_new(true).open(path)?;
        let mut segment = Self::of(file, path, FileFacts { begun: time, ..FileFacts::new(kind) }, after);
        let head = serde_json::to_vec(&Head { format: FORMAT, kind, scope: scope.clone() })?;
        segment.write(Header { kind: Kind::Head, length: 0, raw: 0, after, upto: after, time, crc: 0 }, &head)?;
        Ok(segment)
    }

    fn of(file: File, path: &Path, facts: FileFacts, upto: i64) -> Self {
        let (index, pending) = (IndexBuilder::default(), Vec::new());
        Self { file, path: path.to_owned(), hash: Sha256::new(), index, block: None, pending, pending_changes: 0, facts, upto }
    }

    /// Goes on with a file that a recorder left, behind its last whole chunk. `None` where that is damaged before its end.
    pub(super) fn resume(path: &Path) -> io::Result<Option<Self>> {
        let bytes = fs::read(path)?;
        let Ok(found) = RecordingFile::scan(path, bytes.clone().into()) else { return Ok(None) };
        if !found.problems.is_empty() {
            return Ok(None);
        }
        let file = private().open(path)?;
        file.set_len(found.end as u64)?;
        let mut segment = Self::of(file, path, found.facts.clone(), found.facts.reached().unwrap_or(found.after));
        segment.hash.update(&bytes[..found.end]);
        segment.facts.bytes = found.end as u64;
        for block in found.blocks() {
            let Some((events, None)) = found.changes(&block) else { return Ok(None) };
            events.iter().for_each(|event| segment.index.add(&event.key_value.key));
            segment.index.blocks.push(block);
        }
        Ok(Some(segment))
    }

    /// Takes a change; it is not on the disk yet.
    pub(super) fn change(&mut self, kind: EventKind, sub: i64, entry: &KeyValue) {
        self.index.add(&entry.key);
        change::write(kind, sub, entry, &mut self.pending);
        self.pending_changes += 1;
    }

    /// How many bytes of changes are not in a chunk yet.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// How many different keys it has.
    pub(super) fn key_count(&self) -> usize {
        self.index.key_count()
    }

    /// Writes the changes taken since the last chunk, which are all up to `upto`.
    pub(super) fn chunk(&mut self, upto: i64, time: i64) -> io::Result<()> {
        if self.pending.len() > MOST_RAW {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a change is larger than a recording takes (256 MiB)"));
        }
        let begins_block = self.block.is_none();
        let (start, after) = (self.facts.bytes, self.upto);
        let block = match &mut self.block {
            Some(block) => block,
            free => free.insert(OpenBlock { compressor: Compressor::new()?, raw: 0, start, after }),
        };
        let payload = block.compressor.chunk(&self.pending)?;
        block.raw += self.pending.len();
        let is_full = block.raw >= BLOCK_BYTES;
        let kind = Kind::Changes { begins_block };
        self.write(Header { kind, length: 0, raw: self.pending.len() as u32, after, upto, time, crc: 0 }, &payload)?;
        self.pending.clear();
        self.pending.shrink_to(BLOCK_BYTES);
        self.facts.changes += std::mem::take(&mut self.pending_changes);
        self.facts.cover(after, upto);
        self.upto = upto;
        if is_full {
            self.end_block();
        }
        Ok(())
    }

    /// Notes revisions that are missing; what follows goes on behind them.
    pub(super) fn missing(&mut self, missing: MissingRevisions, time: i64) -> io::Result<()> {
        self.end_block();
        let (after, upto) = (missing.from - 1, missing.to);
        let payload = serde_json::to_vec(&missing)?;
        self.write(Header { kind: Kind::Gap, length: 0, raw: 0, after, upto, time, crc: 0 }, &payload)?;
        self.facts.missing.push(missing);
        self.upto = upto;
        Ok(())
    }

    /// Waits until all chunks are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn end_block(&mut self) {
        if let Some(block) = self.block.take() {
            let length = self.facts.bytes - block.start;
            self.index.blocks.push(Block { start: block.start, length, after: block.after, upto: self.upto });
        }
    }

    fn write(&mut self, header: Header, payload: &[u8]) -> io::Result<()> {
        let bytes = chunk::written(header, payload);
        self.append(&bytes)?;
        self.facts.ended = header.time;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // What was written of it would be cut off by whoever goes on with the file.
            let _ = self.file.set_len(self.facts.bytes);
            return Err(error);
        }
        self.hash.update(bytes);
        self.facts.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the index, gives the file its name and returns what is known of it.
    pub(super) fn seal(mut self, path: &Path, time: i64) -> io::Result<FileFacts> {
        self.end_block();
        let index = self.index.bytes();
        let start = self.facts.bytes + HEADER as u64;
        let (after, upto) = (self.upto, self.upto);
        self.write(Header { kind: Kind::Index, length: 0, raw: 0, after, upto, time, crc: 0 }, &index)?;
        self.append(&TRAILER.bytes(start, index.len() as u32))?;
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        self.facts.sha256 = hex(self.hash.finalize().as_slice());
        self.facts.name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(self.facts)
    }
}

/// Files are readable by their owner alone: they hold what etcd holds.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
