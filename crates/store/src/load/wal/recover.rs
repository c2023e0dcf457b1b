//! The changes of a log that begins later than the cluster: what can be known of them without the store they were applied to.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::align::{Evidence, Fixed};
use super::candidate::{Candidate, Guard, Write, candidates, simple};
use super::entry::RaftEntry;
use super::replay::{KeyState, LogChange};
use super::request::WalRequest;
use super::server_state::ServerState;
use crate::EventKind;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::versions::{Location, StoredChange};

/// An entry with its request and the file it lies in.
pub(crate) struct Logged<'a> {
    /// The file's number in the index.
    pub image: u16,
    /// The file.
    pub file: &'a [u8],
    /// The entry.
    pub entry: &'a RaftEntry,
    /// The request; `None` where it cannot be read.
    pub request: Option<WalRequest>,
}

pub(crate) struct KnownPut<'a> {
    pub key: &'a [u8],
    /// The put, whose value is read where it is needed.
    pub found: &'a StoredChange,
    pub lease: i64,
    pub main: i64,
    pub create_revision: i64,
    pub version: i64,
}

/// What is known of the time before and after the entries.
pub(crate) struct LogBounds<'a> {
    /// The lowest and the highest revision that the store may have before the first entry.
    pub begin: Option<(i64, i64)>,
    /// The revision after the last.
    pub reached: Option<i64>,
    /// Everything except the keys, after the last.
    pub after: &'a ServerState,
    /// Reads the value of a known put; `None` where another process that writes the database has taken it away since.
    pub value: &'a dyn Fn(&StoredChange) -> Option<Bytes>,
}

/// What a log that begins later says of the time before its end.
#[derive(Default)]
pub(crate) struct Recovered {
    /// The changes whose revision is certain, ascending. A version (and create revision) that is not known is 0.
    pub changes: Vec<LogChange>,
    /// The places of the entries that made them, and their revisions.
    pub made: Vec<(usize, i64)>,
    /// What more than one entry may have written, ascending.
    pub undecided: Vec<UndecidedChange>,
}

/// A revision of which it is known that it put a key, but not which entry did.
#[derive(Clone, Debug)]
pub(crate) struct UndecidedChange {
    pub revision: i64,
    pub key: Location,
    /// The places of the entries that may have done it.
    pub entries: Vec<usize>,
    /// Whether an entry before the log may have done it too.
    pub may_be_older: bool,
}

/// Finds the changes of `log`.
pub(crate) fn changes(log: &[Logged<'_>], known: &[KnownPut<'_>], frame: &LogBounds<'_>) -> Recovered {
    let entries: Vec<(&RaftEntry, Option<&WalRequest>)> = log.iter().map(|logged| (logged.entry, logged.request.as_ref())).collect();
    let candidates = candidates(&entries, frame.after);
    let puts: Vec<Option<&[u8]>> = candidates.iter().map(|candidate| put_value(candidate, log)).collect();
    let fixed = fixed_points(&candidates, &puts, known, frame);
    let evidence = Evidence { candidates: &candidates, fixed, begin: frame.begin, reached: frame.reached };
    let alignment = evidence.align();
    let mut chains = Chains::new(known);
    let (mut found, mut made) = (Vec::new(), Vec::new());
    for ((candidate, value), revision) in candidates.iter().zip(&puts).zip(&alignment.revisions) {
        let (Some(main), Some(key)) = (*revision, candidate.write.key()) else { continue };
        let Logged { image, file, .. } = log[candidate.entry];
        let location = |part: &[u8]| Location::of(image, file, part);
        let (kind, version) = match (&candidate.write, value) {
            (Write::Put(_, lease), Some(value)) => {
                (EventKind::Put, KeyState { mod_revision: main, lease: *lease, value: location(value), ..KeyState::default() })
            }
            (Write::Delete(_), _) => (EventKind::Delete, KeyState::default()),
            _ => continue,
        };
        chains.add(key, main, kind, candidate.guard);
        made.push((candidate.entry, main));
        found.push((key, LogChange { main, sub: 0, kind, key: location(key), version }));
    }
    let versions = chains.versions();
    let complete = |(key, mut change): (&[u8], LogChange)| {
        if let Some((create_revision, version)) = versions.get(&(key, change.main)) {
            (change.version.create_revision, change.version.version) = (*create_revision, *version);
        }
        change
    };
    let changes = found.into_iter().map(complete).collect();
    let undecided = alignment.undecided.into_iter().filter_map(|open| {
        let places = open.candidates;
        let (candidate, key) = places.iter().find_map(|&place| Some((&candidates[place], candidates[place].write.key()?)))?;
        let Logged { image, file, .. } = log[candidate.entry];
        let entries = places.iter().map(|&place| candidates[place].entry).collect();
        Some(UndecidedChange { revision: open.revision, key: Location::of(image, file, key), entries, may_be_older: open.may_be_older })
    });
    Recovered { changes, made, undecided: undecided.collect() }
}

/// The value that a candidate puts, if it puts one key and leaves nothing of it to the version before.
fn put_value<'l>(candidate: &Candidate<'_>, log: &'l [Logged<'_>]) -> Option<&'l [u8]> {
    match &log[candidate.entry].request {
        Some(WalRequest::Put(put)) if !put.ignore_value && !put.ignore_lease => Some(&put.value),
        Some(WalRequest::Txn(txn)) => match simple(txn)? {
            Operation::RequestPut(put) => Some(&put.value),
            _ => None,
        },
        _ => None,
    }
}

/// Puts of which the log and the database have exactly one each, and whose condition the database's numbers of the version fulfil.
fn fixed_points(candidates: &[Candidate<'_>], puts: &[Option<&[u8]>], known: &[KnownPut<'_>], frame: &LogBounds<'_>) -> Vec<Fixed> {
    let mut in_log: HashMap<(&[u8], &[u8]), Option<usize>> = HashMap::new();
    for (place, (candidate, value)) in candidates.iter().zip(puts).enumerate() {
        if let (Some(key), Some(value)) = (candidate.write.key(), value) {
            in_log.entry((key, value)).and_modify(|place| *place = None).or_insert(Some(place));
        }
    }
    let lengths: HashSet<(&[u8], usize)> = in_log.keys().map(|(key, value)| (*key, value.len())).collect();
    let mut in_database: HashMap<usize, Option<&KnownPut<'_>>> = HashMap::new();
    // What was taken away may have been the same as another value of the key.
    let mut unread: HashSet<&[u8]> = HashSet::new();
    for put in known.iter().filter(|put| lengths.contains(&(put.key, put.found.value.length as usize))) {
        let Some(value) = (frame.value)(put.found) else {
            unread.insert(put.key);
            continue;
        };
        if let Some(place) = in_log.get(&(put.key, &value[..])).copied().flatten() {
            in_database.entry(place).and_modify(|main| *main = None).or_insert(Some(put));
        }
    }
    let made = |(place, known): (usize, Option<&KnownPut<'_>>)| {
        let known = known.filter(|known| !unread.contains(known.key))?;
        fits(&candidates[place], known).then_some((place, known.main))
    };
    let mut fixed: Vec<Fixed> = in_database.into_iter().filter_map(made).collect();
    fixed.sort_unstable();
    fixed
}

/// Whether the candidate's lease and condition are those of the version.
fn fits(candidate: &Candidate<'_>, known: &KnownPut<'_>) -> bool {
    let KnownPut { main, create_revision, version, lease, .. } = *known;
    let follows = match candidate.guard {
        Guard::Mod(0) => version == 1,
        // Each version takes a revision of its own.
        Guard::Mod(compared) => version > 1 && (create_revision.saturating_add(version - 2)..main).contains(&compared),
        Guard::Always | Guard::Other => true,
    };
    follows && matches!(candidate.write, Write::Put(_, of_candidate) if of_candidate == lease)
}

/// A write's revision, what it did, and the revision it followed, if known.
type Made = (i64, EventKind, Option<i64>);

/// The versions of each key, by what compares say of their order.
struct Chains<'a> {
    /// Ascending.
    of_key: HashMap<&'a [u8], Vec<Made>>,
    versions: HashMap<(&'a [u8], i64), (i64, i64)>,
}

impl<'a> Chains<'a> {
    fn new(known: &[KnownPut<'a>]) -> Self {
        Self {
            of_key: HashMap::new(),
            versions: known.iter().map(|put| ((put.key, put.main), (put.create_revision, put.version))).collect(),
        }
    }

    fn add(&mut self, key: &'a [u8], main: i64, kind: EventKind, guard: Guard) {
        let after = if let Guard::Mod(compared) = guard { Some(compared) } else { None };
        self.of_key.entry(key).or_default().push((main, kind, after));
    }

    /// Create revision and version of each put, forwards from creations and backwards from what the database has.
    fn versions(mut self) -> HashMap<(&'a [u8], i64), (i64, i64)> {
        for (key, writes) in &self.of_key {
            for (main, kind, after) in writes {
                let version = match after {
                    _ if *kind == EventKind::Delete => None,
                    Some(0) => Some((*main, 1)),
                    Some(after) => self.versions.get(&(*key, *after)).map(|(create, version)| (*create, version.saturating_add(1))),
                    None => None,
                };
                if let Some(version) = version {
                    self.versions.entry((*key, *main)).or_insert(version);
                }
            }
            for (main, _, after) in writes.iter().rev() {
                if let (Some((create, version)), Some(after)) = (self.versions.get(&(*key, *main)).copied(), after)
                    && version > 1
                {
                    self.versions.entry((*key, *after)).or_insert((create, version - 1));
                }
            }
        }
        self.versions
    }
}
