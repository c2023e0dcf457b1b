//! A model of a database that is read while it is written: a writer goes on at each step of the reader, by some pieces of a page or by whole
//! transactions, and uses pages again as soon as bbolt may.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use prost::Message;

use super::bolt::testing::{branch_page, leaf_page, meta_page};
use super::bolt::{Bolt, Live, beside};
use super::db_file;
use super::mapped::map_with_room;
use crate::proto::mvccpb;
use crate::versions::{Versions, VersionsBuilder};
use crate::{Error, EventKind, KeyRange, Revision};

const PAGE_BYTES: u64 = 4096;
const KEY_COUNT: u64 = 6;

/// The file may grow by so much.
const GROWTH_BYTES: usize = 1 << 24;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A leaf of the bucket `key`, and the pages that it lies in.
struct Leaf {
    page: u64,
    count: u64,
    pairs: Pairs,
}

/// The keys and values that were written, by revision.
type WrittenPairs = Rc<RefCell<BTreeMap<i64, (Vec<u8>, Vec<u8>)>>>;

/// A writer of a database.
struct Writer {
    file: File,
    random: u64,
    /// The most pieces that are written at a step.
    pace: u64,
    /// How many transactions it still begins.
    left: u64,
    transaction: u64,
    high_water: u64,
    free: BTreeSet<u64>,
    /// Pages of the tree of the last transaction that the one under way replaced: free to the next.
    pending: Vec<u64>,
    leaves: Vec<Leaf>,
    /// The pages above the leaves.
    above: Vec<u64>,
    revision: i64,
    /// The create revision and version of each key that is alive.
    alive: BTreeMap<u64, (i64, i64)>,
    /// The compaction that was scheduled, and the one that was finished.
    compacted: [i64; 2],
    /// What is still to be written of the transaction under way.
    pieces: VecDeque<(u64, Vec<u8>)>,
    written: WrittenPairs,
}

impl Writer {
    /// A database that went through some transactions.
    fn new(path: &Path, seed: u64, pace: u64, transactions: u64) -> Self {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
        let mut writer = Self {
            file,
            random: seed | 1,
            pace,
            left: transactions,
            transaction: 1,
            high_water: 2,
            free: BTreeSet::new(),
            pending: Vec::new(),
            leaves: vec![Leaf { page: 0, count: 0, pairs: Vec::new() }],
            above: Vec::new(),
            revision: 1,
            alive: BTreeMap::new(),
            compacted: [0; 2],
            pieces: VecDeque::new(),
            written: WrittenPairs::default(),
        };
        while writer.left > 0 || !writer.pieces.is_empty() {
            writer.piece();
        }
        writer
    }

    /// A number below `end` (xorshift64).
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % end
    }

    /// Goes on while the reader is between two of its steps: now and then for long.
    fn step(&mut self) {
        let pieces = match self.below(40) {
            0 => 400,
            _ => self.below(self.pace + 1),
        };
        (0..pieces).for_each(|_| self.piece());
    }

    /// Writes a piece of the transaction under way, or begins the next.
    fn piece(&mut self) {
        match self.pieces.pop_front() {
            Some((start, bytes)) => self.file.write_all_at(&bytes, start).unwrap(),
            None if self.left > 0 => {
                self.left -= 1;
                self.begin();
            }
            None => {}
        }
    }

    /// Begins a transaction: some changes, now and then a compaction in two, and leaves that are written again as they are, as happens when
    /// their neighbours are merged with them and apart.
    fn begin(&mut self) {
        self.transaction += 1;
        self.free.extend(std::mem::take(&mut self.pending));
        let mut dirty = BTreeSet::new();
        for _ in 0..=self.below(3) {
            self.change();
            dirty.insert(self.leaves.len() - 1);
        }
        let [scheduled, finished] = self.compacted;
        if scheduled > finished {
            dirty.extend(self.compact(scheduled));
            self.compacted[1] = scheduled;
        } else if self.below(6) == 0 && self.revision > finished + 10 {
            self.compacted[0] = self.revision - 4;
        }
        for _ in 0..self.below(3) {
            dirty.insert(self.below(self.leaves.len() as u64) as usize);
        }
        let mut pages = self.spill(&dirty);
        self.above(&mut pages);
        let needed = self.high_water * PAGE_BYTES;
        if self.file.metadata().unwrap().len() < needed {
            self.file.set_len(needed).unwrap();
        }
        // As bbolt: pages ascending, each from its beginning on.
        pages.sort_unstable();
        let meta = meta_page(self.transaction % 2, PAGE_BYTES as usize, self.above[0], self.high_water, self.transaction);
        pages.push((self.transaction % 2, meta));
        for (page, bytes) in pages {
            let mut start = page * PAGE_BYTES;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let length = rest.len().min(64 + self.below(3000) as usize);
                self.pieces.push_back((start, rest[..length].to_vec()));
                (start, rest) = (start + length as u64, &rest[length..]);
            }
        }
    }

    /// Puts or deletes a key.
    fn change(&mut self) {
        self.revision += 1;
        let (main, number) = (self.revision, self.below(KEY_COUNT));
        let key = format!("/registry/{number}").into_bytes();
        let mut entry = revision_key(main);
        let is_deletion = self.below(5) == 0 && self.alive.remove(&number).is_some();
        let message = if is_deletion {
            entry.push(b't');
            self.written.borrow_mut().insert(main, (key.clone(), Vec::new()));
            mvccpb::KeyValue { key: key.into(), ..Default::default() }
        } else {
            let (create_revision, version) = self.alive.get(&number).map_or((main, 1), |(create, version)| (*create, version + 1));
            self.alive.insert(number, (create_revision, version));
            let length = [3, 90, 700, 5000, 9000][self.below(5) as usize];
            // Each word says whose it is.
            let value = main.to_be_bytes().repeat(length);
            let value = value[..length].to_vec();
            self.written.borrow_mut().insert(main, (key.clone(), value.clone()));
            mvccpb::KeyValue { key: key.into(), create_revision, mod_revision: main, version, value: value.into(), lease: 0 }
        };
        self.leaves.last_mut().unwrap().pairs.push((entry, message.encode_to_vec()));
    }

    /// Removes what a compaction removes; returns the leaves that it changes.
    fn compact(&mut self, upto: i64) -> BTreeSet<usize> {
        let main = |pair: &(Vec<u8>, Vec<u8>)| i64::from_be_bytes(pair.0[..8].try_into().unwrap());
        let written = self.written.borrow();
        let mut newest: BTreeMap<&[u8], i64> = BTreeMap::new();
        newest.extend(written.range(..=upto).map(|(main, (key, _))| (&key[..], *main)));
        let stays = |pair: &(Vec<u8>, Vec<u8>)| {
            let main = main(pair);
            main > upto || (pair.0.len() == 17 && newest[&written[&main].0[..]] == main)
        };
        let mut dirty = BTreeSet::new();
        for (index, leaf) in self.leaves.iter_mut().enumerate() {
            let before = leaf.pairs.len();
            leaf.pairs.retain(stays);
            if leaf.pairs.len() < before {
                dirty.insert(index);
            }
        }
        dirty
    }

    /// Gives the changed leaves new pages, a large one in two; returns these pages.
    fn spill(&mut self, dirty: &BTreeSet<usize>) -> Vec<(u64, Vec<u8>)> {
        let mut pages = Vec::new();
        let before = std::mem::take(&mut self.leaves);
        for (index, leaf) in before.into_iter().enumerate() {
            if !dirty.contains(&index) {
                self.leaves.push(leaf);
                continue;
            }
            self.pending.extend(leaf.page..leaf.page + leaf.count);
            let split = if leaf.pairs.len() > 4 { 2 } else { leaf.pairs.len() };
            for pairs in [&leaf.pairs[..split], &leaf.pairs[split..]].into_iter().filter(|pairs| !pairs.is_empty()) {
                let count = (leaf_page(0, pairs, 0, 0).len() as u64).div_ceil(PAGE_BYTES);
                let page = self.allocate(count);
                pages.push((page, whole(leaf_page(page, pairs, count as u32 - 1, 0))));
                self.leaves.push(Leaf { page, count, pairs: pairs.to_vec() });
            }
        }
        pages
    }

    /// Writes the branch above the leaves, and the bucket of buckets.
    fn above(&mut self, pages: &mut Vec<(u64, Vec<u8>)>) {
        let before = std::mem::take(&mut self.above);
        self.pending.extend(before);
        let children: Vec<(Vec<u8>, u64)> = self.leaves.iter().map(|leaf| (leaf.pairs[0].0.clone(), leaf.page)).collect();
        let [root, branch] = [self.allocate(1), self.allocate(1)];
        let header = |root: u64| [root.to_le_bytes(), [0; 8]].concat();
        let [scheduled, finished] = self.compacted.map(revision_key);
        let of_meta: Pairs = if self.compacted == [0; 2] {
            Vec::new()
        } else if self.compacted[1] == 0 {
            vec![(b"scheduledCompactRev".to_vec(), scheduled)]
        } else {
            vec![(b"finishedCompactRev".to_vec(), finished), (b"scheduledCompactRev".to_vec(), scheduled)]
        };
        let buckets = [(b"key".to_vec(), header(branch)), (b"meta".to_vec(), [header(0), leaf_page(0, &of_meta, 0, 0)].concat())];
        pages.push((root, whole(leaf_page(root, &buckets, 0, 1))));
        pages.push((branch, whole(branch_page(branch, &children))));
        self.above = vec![root, branch];
    }

    /// Takes free pages that lie side by side, the first or the last that are enough; else new ones.
    fn allocate(&mut self, count: u64) -> u64 {
        let is_free = |page: &u64| (*page..page + count).all(|page| self.free.contains(&page));
        let (first, last) = (self.free.iter().copied().find(is_free), self.free.iter().copied().rfind(is_free));
        let found = if self.below(4) == 0 { last } else { first };
        let page = found.unwrap_or(self.high_water);
        self.free.retain(|free| !(page..page + count).contains(free));
        self.high_water = self.high_water.max(page + count);
        page
    }
}

/// A key of the bucket `key`.
fn revision_key(main: i64) -> Vec<u8> {
    [&main.to_be_bytes()[..], b"_", &[0; 8]].concat()
}

/// A page with the zeros that fill it.
fn whole(mut page: Vec<u8>) -> Vec<u8> {
    page.resize(page.len().next_multiple_of(PAGE_BYTES as usize), 0);
    page
}

/// Reads every change that the index has, some of which may have been taken away since; returns how many were there.
fn check(versions: &Versions, written: &WrittenPairs) -> usize {
    let mut changes = versions.changes(versions.key_ids(&KeyRange::all()), Revision(1), Revision(i64::MAX));
    let mut there = 0;
    while let Some((revision, event)) = versions.next(&mut changes) {
        match event {
            Ok(event) => {
                let written = written.borrow();
                let (key, value) = &written[&revision.0];
                assert_eq!((&event.key_value.key[..], &event.key_value.value[..]), (&key[..], &value[..]), "{event:?}");
                assert_eq!(event.kind == EventKind::Delete, value.is_empty());
                there += 1;
            }
            Err(Error::Format { problem, .. }) => assert!(problem.contains("away since it was opened"), "{problem}"),
            Err(error) => panic!("{error}"),
        }
    }
    there
}

/// Reads a database that is being written, by a writer that follows from these numbers.
fn read_beside_writer(seed: u64, pace: u64, before: u64) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut writer = Writer::new(&path, seed, pace, before);
    writer.left = 60;
    let (written, known) = (Rc::clone(&writer.written), writer.revision);
    let file = File::open(&path).unwrap();
    let map = map_with_room("db", &file, GROWTH_BYTES).unwrap();
    beside(
        move || writer.step(),
        || {
            let mut bolt = Bolt::of_live(Arc::new(Live::new("db", file, map))).unwrap().unwrap();
            let mut builder = VersionsBuilder::default();
            let (layer, facts) = db_file::read(&mut bolt, &mut builder).unwrap();
            assert_eq!((facts.damage, facts.left_out), (vec![], vec![]));
            assert!(facts.span.unwrap().newest.0 >= known);
            let versions = builder.finish().unwrap();
            assert_eq!(versions.missing(layer), Vec::<String>::new());
            for _ in 0..4 {
                assert!(check(&versions, &written) > 0);
            }
        },
    );
}

/// The writer stops right behind the version of a put, whose value comes next.
#[test]
fn a_put_whose_value_is_still_to_be_written_is_not_read() {
    read_beside_writer(2_600_905_226_065_603_166, 39, 19);
}

proptest! {
    #[test]
    fn no_value_is_read_that_was_never_written(seed: u64, pace in 1..60_u64, before in 2..30_u64) {
        read_beside_writer(seed, pace, before);
    }
}
