//! SQLite's write-ahead log: whole pages, each with a checksum that goes on from the one before it.
//!
//! What SQLite itself reads of it is the run of frames from its beginning to the last commit whose checksums hold. Behind it lie frames of
//! earlier generations that were not written over yet: pages as they were once, of which whole transactions count.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;

use super::index::LogIndex;
use super::numbers::{PageNumber, checksummed, page_size, u32_at};

const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER: usize = 24;

/// The lowest bit says in which order the words are that checksums are made of.
const LOG_MAGIC: u32 = 0x377f_0682;

/// A log, its frames in runs.
pub(in super::super) struct SqliteLog {
    /// The whole file.
    pub(in super::super) bytes: Bytes,
    /// The size of pages, where its header holds.
    pub(in super::super) page_size: Option<usize>,
    /// The committed frames first, then runs of others.
    pub(in super::super) runs: Vec<FrameRun>,
    /// How many pages the database has after the last commit.
    pub(in super::super) pages: Option<PageNumber>,
    /// Where the committed frames end.
    pub(in super::super) end: usize,
    /// What is wrong with it, each a sentence.
    pub(in super::super) problems: Vec<String>,
    /// What may be missing from its end, a sentence.
    pub(in super::super) unfinished: Option<String>,
    /// Which of the committed frames may have been on their way into the database while that was copied.
    pub(in super::super) on_their_way: Range<usize>,
}

/// Frames that follow each other, up to a commit.
#[derive(Default)]
pub(in super::super) struct FrameRun {
    /// The page of each frame, and where it begins.
    pub(in super::super) frames: Vec<(PageNumber, usize)>,
    /// The frames of each page, ascending.
    by_page: HashMap<PageNumber, Vec<usize>>,
}

impl FrameRun {
    fn push(&mut self, page: PageNumber, start: usize) {
        self.by_page.entry(page).or_default().push(self.frames.len());
        self.frames.push((page, start));
    }

    /// Where the last copy of a page begins.
    pub(in super::super) fn newest(&self, page: PageNumber) -> Option<usize> {
        self.by_page.get(&page).and_then(|frames| frames.last()).map(|&frame| self.frames[frame].1)
    }

    /// Where the last copy of a page up to `frame` begins.
    pub(in super::super) fn at(&self, page: PageNumber, frame: usize) -> Option<usize> {
        let frames = self.by_page.get(&page)?;
        let upto = frames.partition_point(|&of_page| of_page <= frame);
        frames[..upto].last().map(|&frame| self.frames[frame].1)
    }

    pub(in super::super) fn holds(&self, page: PageNumber) -> bool {
        self.by_page.contains_key(&page)
    }

    /// Whether one of these frames is a copy of a page.
    pub(in super::super) fn holds_within(&self, page: PageNumber, frames: &Range<usize>) -> bool {
        self.by_page.get(&page).is_some_and(|of_page| of_page.iter().any(|frame| frames.contains(frame)))
    }

    pub(in super::super) fn pages(&self) -> impl Iterator<Item = PageNumber> + '_ {
        self.by_page.keys().copied()
    }
}

/// A frame whose checksum goes on from the frame before it.
struct LogFrame {
    page: PageNumber,
    /// Pages of the database after the transaction that it ends; 0 where it ends none.
    commit: PageNumber,
    start: usize,
}

impl SqliteLog {
    /// No log.
    pub(in super::super) fn none() -> Self {
        Self {
            bytes: Bytes::new(),
            page_size: None,
            runs: vec![FrameRun::default()],
            pages: None,
            end: 0,
            problems: Vec::new(),
            unfinished: None,
            on_their_way: 0..0,
        }
    }

    /// The frames that may have been written back between two looks at the index of the log: all, unless both are of this log.
    pub(in super::super) fn written_back_between(&self, before: Option<LogIndex>, after: Option<LogIndex>) -> Range<usize> {
        let is_of_it = |index: &LogIndex| self.bytes.get(16..24) == Some(&index.salts[..]);
        match before.filter(is_of_it).zip(after.filter(is_of_it)) {
            Some((before, after)) => before.written_back as usize..after.attempted as usize,
            None => 0..self.committed_frames(),
        }
    }

    /// A log of pages that lie elsewhere: first those that were committed, then runs of others.
    pub(in super::super) fn of_pages(bytes: Bytes, runs: Vec<Vec<(PageNumber, usize)>>, pages: Option<PageNumber>) -> Self {
        let run = |written: Vec<(PageNumber, usize)>| {
            let mut run = FrameRun::default();
            written.into_iter().for_each(|(page, start)| run.push(page, start));
            run
        };
        let end = bytes.len();
        Self { bytes, runs: runs.into_iter().map(run).collect(), pages, end, ..Self::none() }
    }

    /// Reads a log; where its header is damaged, its frames are pages of `size` bytes.
    pub(in super::super) fn read(bytes: Bytes, size: usize) -> Self {
        if bytes.is_empty() {
            return Self::none();
        }
        let header = LogHeader::read(&bytes);
        let mut log = Self { bytes: bytes.clone(), page_size: header.as_ref().map(|header| header.page_size), ..Self::none() };
        // A log that was never written to its end begins with zeros; one that was reset has nothing else.
        if header.is_none() && bytes.iter().take(LOG_HEADER_BYTES).any(|&byte| byte != 0) {
            log.problems.push("the header of state.db-wal is damaged, so SQLite itself would not read it".to_owned());
        }
        let size = log.page_size.unwrap_or(size);
        let orders = header.as_ref().map_or(vec![false, true], |header| vec![header.is_big_endian]);
        let segments = orders.iter().map(|&order| segments(&bytes, size, order, header.as_ref())).max_by_key(Vec::len).unwrap_or_default();
        let mut later = 0;
        for FrameSegment { from_the_start, is_of_header, frames } in segments {
            let commits = frames.iter().filter(|frame| frame.commit > 0).count();
            if from_the_start {
                let committed = frames.iter().rposition(|frame| frame.commit > 0).map_or(&[][..], |last| &frames[..=last]);
                committed.iter().for_each(|frame| log.runs[0].push(frame.page, frame.start));
                log.pages = committed.last().map(|frame| frame.commit);
                log.end = committed.last().map_or(LOG_HEADER_BYTES, |frame| frame.start + size);
            } else if commits > 1 {
                // Its first transaction may have begun in frames that are lost.
                let first = frames.iter().position(|frame| frame.commit > 0).map_or(0, |first| first + 1);
                let last = frames.iter().rposition(|frame| frame.commit > 0).unwrap_or_default();
                let mut run = FrameRun::default();
                frames[first..=last].iter().for_each(|frame| run.push(frame.page, frame.start));
                later += if is_of_header { run.frames.len() } else { 0 };
                log.runs.push(run);
            }
        }
        if later > 0 {
            log.problems.push(format!(
                "state.db-wal cannot be verified from byte {} on, though {later} frames behind it can; SQLite itself would not read these",
                log.end.max(LOG_HEADER_BYTES)
            ));
        } else {
            log.unfinished = header.and_then(|header| log.unfinished_behind(header.salts));
        }
        log
    }

    /// What follows the committed frames, if that is of the same generation: nothing shows whether its end was never written, or is lost.
    fn unfinished_behind(&self, salts: (u32, u32)) -> Option<String> {
        let end = self.end.max(LOG_HEADER_BYTES);
        let rest = &self.bytes[end.min(self.bytes.len())..];
        // Behind the end lie the frames of earlier generations, which have other salts.
        let is_older = rest.len() >= 16 && (u32_at(rest, 8), u32_at(rest, 12)) != (Some(salts.0), Some(salts.1));
        if is_older || (rest.is_empty() && end > LOG_HEADER_BYTES) {
            return None;
        }
        Some(if rest.is_empty() {
            "state.db-wal holds no transaction: its first one was never finished, or the file was cut short".to_owned()
        } else {
            format!(
                "state.db-wal has {} bytes behind its last whole transaction: one that was never finished, or the file was cut short or damaged \
                 there; like SQLite itself, ketcd leaves them out",
                rest.len()
            )
        })
    }

    /// What an index of the log proves to be missing from it, a sentence.
    pub(in super::super) fn missing_by(&self, index: LogIndex) -> Option<String> {
        let is_of_it = self.bytes.is_empty() || self.bytes.get(16..24) == Some(&index.salts[..]);
        let there = self.committed_frames();
        (is_of_it && there < index.frames as usize && index.written_back < index.frames).then(|| {
            format!(
                "state.db-wal is cut short or damaged: state.db-shm says that {} frames were committed to it, and {there} of them are there",
                index.frames
            )
        })
    }

    fn committed_frames(&self) -> usize {
        self.runs.first().map_or(0, |run| run.frames.len())
    }
}

struct LogHeader {
    page_size: usize,
    is_big_endian: bool,
    salts: (u32, u32),
    checksum: (u32, u32),
}

impl LogHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let word = |number: usize| u32_at(bytes, 4 * number);
        let magic = word(0).filter(|magic| magic & !1 == LOG_MAGIC)?;
        let is_big_endian = magic & 1 == 1;
        let checksum = (word(6)?, word(7)?);
        (checksummed(&bytes[..24], is_big_endian, (0, 0)) == checksum).then_some(())?;
        Some(Self { page_size: page_size(word(2)?)?, is_big_endian, salts: (word(4)?, word(5)?), checksum })
    }
}

/// Frames that follow each other, each verified by the one before it, all of one generation.
struct FrameSegment {
    from_the_start: bool,
    is_of_header: bool,
    frames: Vec<LogFrame>,
}

fn segments(bytes: &[u8], size: usize, is_big_endian: bool, header: Option<&LogHeader>) -> Vec<FrameSegment> {
    let mut segments: Vec<FrameSegment> = Vec::new();
    let mut before = header.map(|header| (header.salts, header.checksum));
    let mut is_going_on = false;
    for (number, start) in (LOG_HEADER_BYTES..bytes.len()).step_by(FRAME_HEADER + size).enumerate() {
        let Some(frame) = bytes.get(start..start + FRAME_HEADER + size) else { break };
        let word = |number: usize| u32_at(frame, 4 * number).unwrap_or_default();
        let (salts, checksum) = ((word(2), word(3)), (word(4), word(5)));
        let holds = before.is_some_and(|(of_salts, of_checksum)| {
            let sum = checksummed(&frame[..8], is_big_endian, of_checksum);
            of_salts == salts && word(0) > 0 && checksummed(&frame[FRAME_HEADER..], is_big_endian, sum) == checksum
        });
        if holds {
            if !is_going_on {
                let is_of_header = header.is_some_and(|header| header.salts == salts);
                segments.push(FrameSegment { from_the_start: number == 0 && is_of_header, is_of_header, frames: Vec::new() });
            }
            let frame = || LogFrame { page: word(0), commit: word(1), start: start + FRAME_HEADER };
            segments.last_mut().into_iter().for_each(|segment| segment.frames.push(frame()));
        }
        is_going_on = holds;
        before = Some((salts, checksum));
    }
    segments
}

pub(in super::super) fn is_log(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x37, 0x7f, 0x06, 0x82]) || bytes.starts_with(&[0x37, 0x7f, 0x06, 0x83])
}
