//! Reads one file of a recording: a complete one by its index, block by block; one that is being written, or whose index is damaged, by a walk over
//! its chunks.

use std::path::Path;

use bytes::Bytes;

use super::change::{self, RecordedChanges};
use super::chunk::{Chunk, ChunkHeader, ChunkKind, Scan};
use super::facts::{FileFacts, Head, MissingRevisions, unknown_format};
use super::files::FilePart;
use super::index::{Block, Index, IndexBuilder, ReadAt};
use super::segment::BLOCK_BYTES;
use super::{block, disk};
use crate::{Arrival, Event, EventKind, KeyRange};

/// The last bytes of a complete file: where its index lies.
pub(super) const FILE_TRAILER: Trailer = Trailer;

pub(super) struct Trailer;

impl Trailer {
    const INDEX_MAGIC: &[u8; 8] = b"\x89ktcidx\n";
    const TRAILER_BYTES: usize = 24;

    pub(super) fn bytes(&self, start: u64, length: u32) -> Vec<u8> {
        let mut bytes = Self::INDEX_MAGIC.to_vec();
        bytes.extend_from_slice(&start.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Where the index begins, and its length.
    fn read(from: &dyn ReadAt, file: u64) -> Option<(u64, usize)> {
        let bytes = from.read_at(file.checked_sub(Self::TRAILER_BYTES as u64)?, Self::TRAILER_BYTES)?;
        let (said, crc) = bytes.split_at(Self::TRAILER_BYTES - 4);
        let number = |range| <[u8; 8]>::try_from(&said[range]).map(u64::from_le_bytes).ok();
        let length = u32::from_le_bytes(said[16..].try_into().ok()?);
        let is_one = said.starts_with(Self::INDEX_MAGIC) && crc == crc32c::crc32c(said).to_le_bytes();
        is_one.then_some((number(8..16)?, length as usize))
    }
}

pub(super) struct RecordingFile {
    from: Box<dyn ReadAt + Send + Sync>,
    /// The index, or one made by a walk over the file.
    index: ValueBytes,
    pub facts: FileFacts,
    pub head: Option<Head>,
    /// What it continues from.
    pub after: i64,
    /// The end of what can be read of it.
    pub end: usize,
    /// What is wrong with it, each a fragment.
    pub problems: Vec<String>,
}

/// The most bytes of a file that is being written which are read at once; larger ones are mapped.
const MOST_READ: u64 = 512 << 20;

enum ValueBytes {
    InFile { start: u64, length: usize },
    Made { bytes: Bytes },
}

impl RecordingFile {
    /// Reads a complete file, of which `facts` are known.
    ///
    /// # Errors
    ///
    /// A fragment, where nothing of it can be read.
    pub(super) fn open(path: &Path, from: FilePart, facts: &FileFacts) -> Result<Self, String> {
        let length = from.length;
        let trailer = Trailer::read(&from, length).filter(|_| length == facts.bytes);
        let is_index = |&(start, length): &(u64, usize)| {
            Index::open(&from, start, length).and_then(|index| index.blocks()).is_some_and(|blocks| holds(&blocks, facts, start))
        };
        if let Some((start, length)) = trailer.filter(is_index) {
            let (index, facts, after) = (ValueBytes::InFile { start, length }, facts.clone(), facts.covered.first().map_or(0, |run| run.0));
            return Ok(Self { from: Box::new(from), index, facts, head: None, after, end: 0, problems: Vec::new() });
        }
        let mut scanned = Self::scan_mapped(path, &from)?;
        scanned.problems.push(match length < facts.bytes {
            true => format!("is cut short: {length} of {} bytes are there", facts.bytes),
            false => "its index is damaged".to_owned(),
        });
        scanned.facts = FileFacts { name: facts.name.clone(), ..scanned.facts };
        Ok(scanned)
    }

    /// Opens a file of which nothing is known.
    ///
    /// # Errors
    ///
    /// A fragment, where nothing of it can be read.
    pub(super) fn open_unknown(path: &Path, from: FilePart) -> Result<Self, String> {
        let mut found = Self::scan_mapped(path, &from)?;
        if Trailer::read(&from, from.length).is_none() {
            found.problems.push("has no index, so it was cut short or damaged".to_owned());
        }
        Ok(found)
    }

    /// Opens a file that is being written, or was when its writer ended.
    ///
    /// # Errors
    ///
    /// A fragment, where nothing of it can be read.
    pub(super) fn open_unfinished(path: &Path) -> Result<Self, String> {
        let file = disk::open(path).map_err(unreadable)?;
        // Its writer may cut it off again, so it is read and not mapped, unless it is too large for that.
        match file.metadata().map_err(unreadable)?.len() {
            ..=MOST_READ => Self::scan(path, disk::read(path, MOST_READ).map_err(unreadable)?.into()),
            _ => Self::scan_mapped(path, &FilePart::of(file).map_err(unreadable)?),
        }
    }

    fn scan_mapped(path: &Path, from: &FilePart) -> Result<Self, String> {
        let bytes = from.map(&path.to_string_lossy()).map_err(unreadable)?;
        Self::scan(path, bytes)
    }

    /// Reads a file by a walk over its chunks.
    ///
    /// # Errors
    ///
    /// It is not a file of a recording; the error is a fragment.
    pub(super) fn scan(path: &Path, bytes: Bytes) -> Result<Self, String> {
        let scan = Scan::of(&bytes);
        let first = scan.chunks.first().ok_or("holds nothing that can be read")?;
        let head = scan.chunks.iter().find(|chunk| chunk.header.kind == ChunkKind::Head);
        let head: Option<Head> = head.and_then(|chunk| serde_json::from_slice(&bytes[chunk.payload.clone()]).ok());
        if let Some(problem) = head.as_ref().and_then(|head| unknown_format(head.format)) {
            return Err(problem);
        }
        let Some(kind) = head.as_ref().map(|head| head.kind) else { return Err("has lost its beginning".to_owned()) };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut facts = FileFacts { name, bytes: bytes.len() as u64, begun: first.header.time, ..FileFacts::new(kind) };
        let mut file =
            ChunkWalk { bytes: &bytes, problems: Vec::new(), index: IndexBuilder::default(), facts: &mut facts, open: Vec::new() };
        scan.damaged.iter().for_each(|place| file.problems.push(format!("is damaged from byte {} to {}", place.start, place.end)));
        scan.chunks.iter().for_each(|chunk| file.take(chunk));
        file.end_block();
        let (problems, index) = (file.problems, Bytes::from(file.index.bytes()));
        // The recorder that continues it writes its index anew.
        let end = scan.chunks.iter().rev().find(|chunk| chunk.header.kind != ChunkKind::Index).map_or(0, |chunk| chunk.payload.end);
        let after = first.header.after;
        Ok(Self { from: Box::new(bytes), index: ValueBytes::Made { bytes: index }, facts, head, after, end, problems })
    }

    fn index(&self) -> Option<Index<'_>> {
        match &self.index {
            ValueBytes::InFile { start, length } => Index::open(&*self.from, *start, *length),
            ValueBytes::Made { bytes } => Index::open(bytes, 0, bytes.len()),
        }
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        self.index().and_then(|index| index.blocks()).unwrap_or_default()
    }

    /// The blocks that hold changes of keys of a range; `None` where the index is damaged.
    pub(super) fn blocks_with(&self, keys: &KeyRange) -> Option<Vec<Block>> {
        let index = self.index()?;
        let blocks = index.blocks()?;
        Some(index.blocks_with(keys)?.into_iter().map(|number| blocks[number as usize]).collect())
    }

    /// The changes of a block and, where some are damaged, the revision after which they are missing; `None` where nothing of it can be read.
    pub(super) fn changes(&self, block: &Block) -> Option<(Vec<Event>, Option<i64>)> {
        let bytes = self.from.read_at(block.start, usize::try_from(block.length).ok()?)?;
        let scan = Scan::of(&bytes);
        let Unpacked { events, upto, is_whole, .. } = unpack(&bytes, &scan.chunks, block.after);
        let is_whole = is_whole && upto == block.upto && scan.damaged.is_empty() && scan.torn.is_none();
        Some((events, (!is_whole).then_some(upto)))
    }

    /// When the revisions of a block arrived, as far as that was noted and can be read.
    pub(super) fn arrivals(&self, block: &Block) -> Vec<Arrival> {
        let bytes = usize::try_from(block.length).ok().and_then(|length| self.from.read_at(block.start, length));
        bytes.map(|bytes| unpack(&bytes, &Scan::of(&bytes).chunks, block.after).arrivals).unwrap_or_default()
    }
}

/// What came out of the chunks of a block.
struct Unpacked {
    events: Vec<Event>,
    /// When revisions arrived.
    arrivals: Vec<Arrival>,
    /// Up to which revision they are all there.
    upto: i64,
    is_whole: bool,
    /// Where the last chunk ends that was unpacked.
    end: usize,
}

/// Unpacks the chunks of a block as far as they follow each other. A block ends where its bytes are `BLOCK_BYTES` or more, so a longer one is no
/// recorder's.
fn unpack(bytes: &Bytes, chunks: &[Chunk], after: i64) -> Unpacked {
    let mut expected = after;
    let mut raw = 0;
    let follows = |chunk: &&Chunk| {
        let ChunkHeader { kind, after, upto, raw: length, .. } = chunk.header;
        let is_next = matches!(kind, ChunkKind::Changes { .. }) && after == expected && raw < BLOCK_BYTES;
        expected = upto;
        raw += length as usize;
        is_next
    };
    let following: Vec<&Chunk> = chunks.iter().take_while(follows).collect();
    let payloads: Vec<(&[u8], usize)> = following.iter().map(|chunk| (&bytes[chunk.payload.clone()], chunk.header.raw as usize)).collect();
    let mut unpacked = Unpacked { events: Vec::new(), arrivals: Vec::new(), upto: after, is_whole: false, end: 0 };
    let mut count = 0;
    for (raw, chunk) in block::decompress(&payloads).into_iter().zip(&following) {
        let Some(of_chunk) = change::read_all(raw).filter(|of_chunk| are_of(of_chunk, &chunk.header)) else { break };
        unpacked.events.extend(of_chunk.events);
        unpacked.arrivals.extend(of_chunk.arrivals);
        (unpacked.upto, unpacked.end) = (chunk.header.upto, chunk.payload.end);
        count += 1;
    }
    Unpacked { is_whole: count == chunks.len(), ..unpacked }
}

/// Whether an index says of its blocks what the manifest says of the file.
fn holds(blocks: &[Block], facts: &FileFacts, length: u64) -> bool {
    let mut runs = FileFacts::new(facts.kind);
    blocks.iter().for_each(|block| runs.cover(block.after, block.upto));
    runs.covered == facts.covered && blocks.iter().all(|block| block.start.saturating_add(block.length) <= length)
}

pub(super) fn unreadable(cause: std::io::Error) -> String {
    format!("cannot be read: {cause}")
}

/// Whether changes and arrivals are those that a chunk says it has: of its revisions, each once and in order. What a state has is older than it.
fn are_of(recorded: &RecordedChanges, header: &ChunkHeader) -> bool {
    let RecordedChanges { events, arrivals } = recorded;
    let place = |event: &Event| (event.revision.0, event.sub_revision);
    let has_arrived = |arrival: &Arrival| header.after < arrival.from.0 && arrival.to.0 <= header.upto;
    if !arrivals.iter().all(has_arrived) || !arrivals.is_sorted_by(|one, next| one.to < next.from) {
        return false;
    }
    match header.after == header.upto {
        true => events.iter().all(|event| event.revision.0 <= header.upto && event.kind == EventKind::Put),
        false => {
            let is_inside = |event: &Event| (header.after + 1..=header.upto).contains(&event.revision.0);
            events.iter().all(is_inside) && events.is_sorted_by(|one, next| place(one) < place(next))
        }
    }
}

struct ChunkWalk<'a> {
    bytes: &'a Bytes,
    problems: Vec<String>,
    index: IndexBuilder,
    facts: &'a mut FileFacts,
    /// The chunks of the block that is not complete yet.
    open: Vec<Chunk>,
}

impl ChunkWalk<'_> {
    fn take(&mut self, chunk: &Chunk) {
        let header = chunk.header;
        self.facts.ended = header.time;
        match header.kind {
            ChunkKind::Changes { begins_block } => {
                let follows = self.open.last().is_some_and(|last| last.payload.end == chunk.start() && last.header.upto == header.after);
                if begins_block || !follows {
                    self.end_block();
                }
                // Without its beginning a block cannot be decompressed.
                if begins_block || follows {
                    self.open.push(chunk.clone());
                } else {
                    self.problems.push(format!(
                        "has lost what the changes of revisions {} to {} are packed with",
                        header.after + 1,
                        header.upto
                    ));
                }
            }
            ChunkKind::Gap => {
                self.end_block();
                let said: Option<MissingRevisions> = serde_json::from_slice(&self.bytes[chunk.payload.clone()]).ok();
                self.facts.missing.extend(said.filter(|said| said.from - 1 == header.after && said.to == header.upto));
            }
            ChunkKind::Head | ChunkKind::Index => self.end_block(),
        }
    }

    fn end_block(&mut self) {
        let chunks = std::mem::take(&mut self.open);
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { return };
        if self.facts.reached().is_some_and(|reached| first.header.after < reached) {
            self.problems.push(format!(
                "has changes of revisions {} to {} twice or out of order",
                first.header.after + 1,
                last.header.upto
            ));
            return;
        }
        let Unpacked { events, upto, is_whole, end, .. } = unpack(self.bytes, &chunks, first.header.after);
        if !is_whole {
            self.problems.push(format!("holds changes after revision {upto}, up to {}, that cannot be unpacked", last.header.upto));
        }
        events.iter().for_each(|event| self.index.add(&event.key_value.key));
        if end == 0 {
            return;
        }
        let start = first.start() as u64;
        self.index.blocks.push(Block { start, length: end as u64 - start, after: first.header.after, upto });
        self.facts.changes += events.len() as u64;
        self.facts.cover(first.header.after, upto);
    }
}
