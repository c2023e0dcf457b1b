//! The changes of a log that begins later than the cluster: what can be known of them without the store they were applied to.

use std::collections::HashMap;

use super::align;
use super::candidate::{Candidate, Guard, candidates, simple};
use super::replay::{KeyState, LogChange};
use super::request::Request;
use crate::EventKind;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::versions::Location;

/// A request with the file it lies in.
pub(crate) struct Logged<'a> {
    /// The file's number in the index.
    pub image: u16,
    /// The file.
    pub file: &'a [u8],
    /// The request; `None` where it cannot be read.
    pub request: Option<Request>,
}

/// A put that the database still has.
pub(crate) struct KnownPut<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub main: i64,
    pub create_revision: i64,
    pub version: i64,
}

/// Returns the changes whose revision is certain, ascending. `reached` is the revision after the last of `log`, if known. A version
/// (and create revision) that is not known is 0.
pub(crate) fn changes(log: &[Logged<'_>], known: &[KnownPut<'_>], reached: Option<i64>) -> Vec<LogChange> {
    let candidates = candidates(log.iter().map(|logged| logged.request.as_ref()));
    let operations: Vec<Option<&Operation>> = candidates
        .iter()
        .map(|candidate| match &log[candidate.entry].request {
            Some(Request::Txn(txn)) => simple(txn),
            _ => None,
        })
        .collect();
    let revisions = align::revisions(&candidates, &fixed_points(&candidates, &operations, known), reached);
    let mut chains = Chains::new(known);
    let mut found = Vec::new();
    for ((candidate, operation), revision) in candidates.iter().zip(operations).zip(revisions) {
        let (Some(main), Some(operation), Some(key)) = (revision, operation, candidate.key) else { continue };
        let Logged { image, file, .. } = log[candidate.entry];
        let location = |part: &[u8]| Location::of(image, file, part);
        let (kind, version) = match operation {
            Operation::RequestPut(put) => {
                (EventKind::Put, KeyState { mod_revision: main, lease: put.lease, value: location(&put.value), ..KeyState::default() })
            }
            Operation::RequestDeleteRange(_) => (EventKind::Delete, KeyState::default()),
            Operation::RequestRange(_) | Operation::RequestTxn(_) => continue,
        };
        chains.add(key, main, kind, candidate.guard);
        found.push((key, LogChange { main, sub: 0, kind, key: location(key), version }));
    }
    let versions = chains.versions();
    let complete = |(key, mut change): (&[u8], LogChange)| {
        if let Some((create_revision, version)) = versions.get(&(key, change.main)) {
            (change.version.create_revision, change.version.version) = (*create_revision, *version);
        }
        change
    };
    found.into_iter().map(complete).collect()
}

/// Puts of which the log and the database have exactly one each.
fn fixed_points(candidates: &[Candidate<'_>], operations: &[Option<&Operation>], known: &[KnownPut<'_>]) -> Vec<(usize, i64)> {
    let mut in_database: HashMap<(&[u8], &[u8]), Option<i64>> = HashMap::new();
    for put in known {
        in_database.entry((put.key, put.value)).and_modify(|main| *main = None).or_insert(Some(put.main));
    }
    let mut in_log: HashMap<(&[u8], &[u8]), Option<usize>> = HashMap::new();
    for (index, (candidate, operation)) in candidates.iter().zip(operations).enumerate() {
        if let (Some(key), Some(Operation::RequestPut(put))) = (candidate.key, operation) {
            in_log.entry((key, &put.value)).and_modify(|index| *index = None).or_insert(Some(index));
        }
    }
    let mut fixed: Vec<(usize, i64)> =
        in_log.into_iter().filter_map(|(put, index)| Some((index?, in_database.get(&put).copied().flatten()?))).collect();
    fixed.sort_unstable();
    fixed
}

/// A write's revision, what it did, and the revision it followed, if known.
type Write = (i64, EventKind, Option<i64>);

/// The versions of each key, by what compares say of their order.
struct Chains<'a> {
    /// Ascending.
    of_key: HashMap<&'a [u8], Vec<Write>>,
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
