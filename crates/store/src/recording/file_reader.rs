//! Reads the blocks of a recording's files that a question needs, and collects what is damaged, which is reported at the end.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::coverage::uncovered;
use super::directory::Directory;
use super::facts::FileKind;
use super::file::{RecordingFile, unreadable};
use super::files::{FilePart, RecordingFiles};
use super::index::Block;
use super::look::RecordedFile;
use super::recent_blocks::RecentBlocks;
use super::segment::hex;
use crate::{Arrival, Event, KeyRange, Revision};

enum BlockOrLoss {
    Block(Block),
    /// These revisions, both included, are lost.
    Lost(i64, i64),
}

/// What a block brings.
pub(super) enum Read {
    Event(Event),
    /// Changes of these revisions, both included, are damaged.
    Lost(i64, i64),
}

pub(super) struct FileReader {
    name: String,
    path: PathBuf,
    /// What was found to be damaged while it was read.
    found: Mutex<Vec<String>>,
    /// What one key was looked up in lately.
    recent: RecentBlocks,
}

impl FileReader {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), path: name.into(), found: Mutex::default(), recent: RecentBlocks::default() }
    }

    /// What was found to be damaged so far, one message per item.
    pub(super) fn found(&self) -> Vec<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Holds a complete file against the SHA-256 that the manifest has of it.
    pub(super) fn check(&self, file: &RecordedFile) {
        let facts = &file.facts;
        if file.open.is_some() || facts.removed || facts.sha256.is_empty() {
            return;
        }
        let mut hash = Sha256::new();
        let opened = RecordingFiles::at(&self.path).and_then(|files| files.open(&facts.name));
        match opened.and_then(|part| io::copy(&mut part.reader(), &mut hash)) {
            Ok(_) if hex(hash.finalize().as_slice()) == facts.sha256 => {}
            Ok(_) => self.report(&facts.name, "is not what was recorded: the SHA-256 that the manifest has of it does not match"),
            // A recorder that is running may have removed it since.
            Err(_) if file.held.is_some() => {}
            Err(error) => self.report(&facts.name, &format!("cannot be read: {error}")),
        }
    }

    fn report(&self, file: &str, problem: &str) {
        let sentence = format!("{}: {file} {problem}", self.name);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if !found.contains(&sentence) {
            found.push(sentence);
        }
    }

    /// Opens a file; `None`, and said at the end, where it cannot be read.
    fn open(&self, recorded: &RecordedFile) -> Option<Arc<RecordingFile>> {
        if let Some(open) = &recorded.open {
            return Some(Arc::clone(open));
        }
        let path = self.path.join(&recorded.facts.name);
        let again = || RecordingFiles::at(&self.path).and_then(|files| files.open(&recorded.facts.name));
        let opened = recorded.held.as_ref().map_or_else(again, FilePart::try_clone);
        let read = match opened {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound && self.is_kept_no_more(&recorded.facts.name) => {
                Err("was removed while it was read, since the recorder keeps less (--keep)".to_owned())
            }
            opened => opened.map_err(unreadable).and_then(|file| RecordingFile::open(&path, file, &recorded.facts)),
        };
        match read {
            Ok(file) => {
                file.problems.iter().for_each(|problem| self.report(&recorded.facts.name, problem));
                Some(Arc::new(file))
            }
            Err(problem) => {
                self.report(&recorded.facts.name, &problem);
                None
            }
        }
    }

    /// Whether a file was removed as the recorder does it: the manifest does not list it any more.
    fn is_kept_no_more(&self, name: &str) -> bool {
        self.path.is_dir() && Directory::read(&self.path).is_ok_and(|now| now.files.iter().all(|facts| facts.name != name))
    }

    /// The changes of keys of a range in a file, block by block, and the runs of revisions that are lost.
    pub(super) fn blocks<'a>(
        &'a self,
        recorded: &'a RecordedFile,
        keys: &'a KeyRange,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = Vec<Read>> + use<'a> {
        let file = self.open(recorded);
        let lost = lost(recorded, file.as_deref());
        let mut parts: Vec<BlockOrLoss> = lost.into_iter().map(|(first, last)| BlockOrLoss::Lost(first, last)).collect();
        if let Some(file) = &file {
            let blocks = file.blocks_with(keys).unwrap_or_else(|| {
                self.report(&recorded.facts.name, "has a damaged index; all of it is read in its place");
                file.blocks()
            });
            parts.extend(blocks.into_iter().map(BlockOrLoss::Block));
        }
        parts.retain(|part| match part {
            BlockOrLoss::Lost(first, last) => *first <= to && from <= *last,
            // A state's blocks are all of one revision.
            BlockOrLoss::Block(block) => block.after == block.upto || (block.after < to && from <= block.upto),
        });
        parts.sort_by_key(|part| match part {
            BlockOrLoss::Lost(first, _) => *first,
            BlockOrLoss::Block(block) => block.after + 1,
        });
        parts.into_iter().map(move |part| match (part, &file) {
            (BlockOrLoss::Block(block), Some(file)) => self.block(recorded, file, &block, keys),
            (BlockOrLoss::Lost(first, last), _) => vec![Read::Lost(first, last)],
            (BlockOrLoss::Block(_), None) => Vec::new(),
        })
    }

    /// When the revisions of a file from one to another arrived, as far as that was noted. What is damaged is reported where changes are read.
    pub(super) fn arrivals(&self, recorded: &RecordedFile, from: Revision, to: Revision) -> Vec<Arrival> {
        let Some(file) = self.open(recorded) else { return Vec::new() };
        let blocks = file.blocks().into_iter().filter(|block| block.after < to.0 && from.0 <= block.upto);
        blocks.flat_map(|block| file.arrivals(&block)).filter_map(|arrival| arrival.within(from, to)).collect()
    }

    /// The changes of keys of a range in a block.
    fn block(&self, recorded: &RecordedFile, file: &RecordingFile, block: &Block, keys: &KeyRange) -> Vec<Read> {
        let unpack = || file.changes(block).unwrap_or((Vec::new(), Some(block.after)));
        let is_asked = |event: &Event| keys.contains(&event.key_value.key);
        let (mut read, lost): (Vec<Read>, _) = if is_one_key(keys) {
            let changes = self.recent.get(&recorded.facts.name, block, unpack);
            (changes.0.iter().filter(|event| is_asked(event)).cloned().map(Read::Event).collect(), changes.1)
        } else {
            let (events, lost) = unpack();
            (events.into_iter().filter(is_asked).map(Read::Event).collect(), lost)
        };
        if let Some(after) = lost {
            let (name, first, last) = (&recorded.facts.name, after + 1, block.upto);
            match recorded.facts.kind {
                FileKind::State => self.report(name, "is damaged: keys that did not change later are missing from what is shown"),
                FileKind::Changes if last < first => {}
                FileKind::Changes => {
                    self.report(
                        name,
                        &format!(
                            "is damaged: revisions {first} to {last} are lost; what is shown from {first} on may be older than it looks"
                        ),
                    );
                    read.push(Read::Lost(first, last));
                }
            }
        }
        read
    }
}

/// Whether a range is of exactly one key.
fn is_one_key(keys: &KeyRange) -> bool {
    keys.end.as_deref().and_then(|end| end.split_last()).is_some_and(|(last, key)| *last == 0 && key == keys.start)
}

/// What the manifest says that a file has and it has not any more.
fn lost(recorded: &RecordedFile, file: Option<&RecordingFile>) -> Vec<(i64, i64)> {
    let has: Vec<(i64, i64)> = file.map_or_else(Vec::new, |file| file.facts.covered.clone());
    if has == recorded.facts.covered {
        return Vec::new();
    }
    let mut lost = Vec::new();
    for &(after, upto) in &recorded.facts.covered {
        lost.extend(uncovered(&has, after + 1, upto));
    }
    lost
}
