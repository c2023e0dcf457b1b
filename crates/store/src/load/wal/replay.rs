//! etcd's apply, on keys alone: which changes an entry made, at which revision.
//!
//! Source: etcd v3.6, `server/etcdserver/apply` and `server/etcdserver/txn`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{Bound, Range};

use bytes::Bytes;

use super::request::{Alarm, Compare, Delete, Operation, Put, Request, Target, Txn};
use crate::EventKind;
use crate::versions::Location;

/// One change that an entry made.
#[derive(Clone, Debug)]
pub(crate) struct LogChange {
    pub main: i64,
    pub sub: i64,
    pub kind: EventKind,
    pub key: Location,
    pub version: KeyState,
}

/// A key's newest version; of a deletion nothing but zeros.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyState {
    pub create_revision: i64,
    pub mod_revision: i64,
    pub version: i64,
    pub lease: i64,
    pub value: Location,
}

/// The store as it was after some entry.
pub(crate) struct Store<'a> {
    /// The files that places point into, and the images' numbers they have in the index.
    images: &'a dyn Fn(u16) -> &'a Bytes,
    /// The last revision.
    pub revision: i64,
    keys: BTreeMap<Vec<u8>, (Location, KeyState)>,
    leases: HashMap<i64, BTreeSet<Vec<u8>>>,
    /// Whether leases granted before the log began may exist.
    leases_may_be_older: bool,
    alarms: HashSet<(u64, u64)>,
    changes: Vec<LogChange>,
}

const NO_SPACE: u64 = 1;
const CORRUPT: u64 = 2;

/// What a compare or an operation in the log needs to find its bytes: the file and its image's number.
#[derive(Clone, Copy)]
struct File<'a> {
    bytes: &'a [u8],
    image: u16,
}

impl File<'_> {
    fn place(&self, range: &Range<usize>) -> Location {
        Location { image: self.image, start: range.start as u64, length: range.len() as u32 }
    }
}

/// etcd refused the request, so nothing changed.
struct Refused;

impl<'a> Store<'a> {
    /// An empty store, as a new cluster has it.
    pub(crate) fn empty(images: &'a dyn Fn(u16) -> &'a Bytes) -> Self {
        Self {
            images,
            revision: 1,
            keys: BTreeMap::new(),
            leases: HashMap::new(),
            leases_may_be_older: false,
            alarms: HashSet::new(),
            changes: Vec::new(),
        }
    }

    /// A store at `revision` with these keys.
    pub(crate) fn at(images: &'a dyn Fn(u16) -> &'a Bytes, revision: i64, keys: impl Iterator<Item = (Location, KeyState)>) -> Self {
        let mut store = Self { revision, leases_may_be_older: true, ..Self::empty(images) };
        for (key, version) in keys {
            let bytes = store.bytes(key).to_vec();
            if version.lease != 0 {
                store.leases.entry(version.lease).or_default().insert(bytes.clone());
            }
            store.keys.insert(bytes, (key, version));
        }
        store
    }

    /// Applies the request of an entry that lies in image `image`; returns what it changed.
    pub(crate) fn apply(&mut self, image: u16, request: &Request) -> Vec<LogChange> {
        let file = File { bytes: (self.images)(image), image };
        let main = self.revision + 1;
        let no_space = self.alarms.iter().any(|alarm| alarm.1 == NO_SPACE);
        let corrupt = self.alarms.iter().any(|alarm| alarm.1 == CORRUPT);
        let applied = match request {
            Request::Alarm(alarm) => self.alarm(alarm),
            Request::Nothing => Ok(()),
            _ if corrupt => Err(Refused),
            Request::Put(_) | Request::LeaseGrant(_) if no_space => Err(Refused),
            Request::Put(put) => self.check(file, put).map(|()| self.put(file, put, main)),
            Request::Delete(delete) => self.delete(file, delete, main),
            Request::Txn(txn) => self.txn(file, txn, main, no_space),
            Request::LeaseGrant(lease) => {
                self.leases.entry(*lease).or_default();
                Ok(())
            }
            Request::LeaseRevoke(lease) => {
                let keys = self.leases.remove(lease).unwrap_or_default();
                keys.iter().for_each(|key| self.remove(key, main));
                Ok(())
            }
        };
        let changes = std::mem::take(&mut self.changes);
        if applied.is_ok() && !changes.is_empty() {
            self.revision = main;
        }
        changes
    }

    fn bytes(&self, place: Location) -> &'a [u8] {
        &(self.images)(place.image)[place.start as usize..place.start as usize + place.length as usize]
    }

    fn alarm(&mut self, alarm: &Alarm) -> Result<(), Refused> {
        match alarm.action {
            1 => drop(self.alarms.insert((alarm.member, alarm.kind))),
            2 => drop(self.alarms.remove(&(alarm.member, alarm.kind))),
            _ => {}
        }
        Ok(())
    }

    /// Whether etcd takes the put: what it leaves to the old version must exist, and so must its lease.
    fn check(&self, file: File<'_>, put: &Put) -> Result<(), Refused> {
        let is_there = || self.keys.contains_key(&file.bytes[put.key.clone()]);
        let leased = put.lease == 0 || self.leases_may_be_older || self.leases.contains_key(&put.lease);
        if ((put.ignore_value || put.ignore_lease) && !is_there()) || !leased { Err(Refused) } else { Ok(()) }
    }

    fn put(&mut self, file: File<'_>, put: &Put, main: i64) {
        let bytes = &file.bytes[put.key.clone()];
        let old = self.keys.get(bytes).map(|(_, version)| *version);
        let lease = old.filter(|_| put.ignore_lease).map_or(put.lease, |old| old.lease);
        let version = KeyState {
            create_revision: old.map_or(main, |old| old.create_revision),
            mod_revision: main,
            version: old.map_or(1, |old| old.version.saturating_add(1)),
            lease,
            value: old.filter(|_| put.ignore_value).map_or_else(|| file.place(&put.value), |old| old.value),
        };
        if let Some(attached) = old.filter(|old| old.lease != lease).and_then(|old| self.leases.get_mut(&old.lease)) {
            attached.remove(bytes);
        }
        if lease != 0 {
            self.leases.entry(lease).or_default().insert(bytes.to_vec());
        }
        let key = file.place(&put.key);
        self.keys.insert(bytes.to_vec(), (key, version));
        self.change(EventKind::Put, main, key, version);
    }

    fn delete(&mut self, file: File<'_>, delete: &Delete, main: i64) -> Result<(), Refused> {
        for key in self.matching(file, &delete.key, &delete.range_end) {
            self.remove(&key, main);
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u8], main: i64) {
        let Some((place, version)) = self.keys.remove(key) else { return };
        if let Some(attached) = self.leases.get_mut(&version.lease) {
            attached.remove(key);
        }
        self.change(EventKind::Delete, main, place, KeyState::default());
    }

    fn change(&mut self, kind: EventKind, main: i64, key: Location, version: KeyState) {
        self.changes.push(LogChange { main, sub: self.changes.len() as i64, kind, key, version });
    }

    /// The keys from `key` to `range_end`: none means `key` alone, a zero byte means no end.
    fn matching(&self, file: File<'_>, key: &Range<usize>, range_end: &Range<usize>) -> Vec<Vec<u8>> {
        let (key, end) = (&file.bytes[key.clone()], &file.bytes[range_end.clone()]);
        if end.is_empty() {
            return self.keys.contains_key(key).then(|| key.to_vec()).into_iter().collect();
        }
        if end != [0] && end <= key {
            return Vec::new();
        }
        let upper = if end == [0] { Bound::Unbounded } else { Bound::Excluded(end) };
        self.keys.range::<[u8], _>((Bound::Included(key), upper)).map(|(key, _)| key.clone()).collect()
    }

    fn txn(&mut self, file: File<'_>, txn: &Txn, main: i64, no_space: bool) -> Result<(), Refused> {
        // Every compare, also of a transaction within, sees the state before the first operation.
        let mut chosen = Vec::new();
        self.choose(file, txn, &mut chosen);
        if no_space && holds_put(txn) {
            return Err(Refused);
        }
        for operation in &chosen {
            if let Operation::Put(put) = operation {
                self.check(file, put)?;
            }
        }
        for operation in chosen {
            match operation {
                Operation::Put(put) => self.put(file, put, main),
                Operation::Delete(delete) => self.delete(file, delete, main)?,
                Operation::Txn(_) => {}
            }
        }
        Ok(())
    }

    fn choose<'t>(&self, file: File<'_>, txn: &'t Txn, chosen: &mut Vec<&'t Operation>) {
        let holds = txn.compares.iter().all(|compare| self.holds(file, compare));
        for operation in if holds { &txn.success } else { &txn.failure } {
            match operation {
                Operation::Txn(inner) => self.choose(file, inner, chosen),
                other => chosen.push(other),
            }
        }
    }

    fn holds(&self, file: File<'_>, compare: &Compare) -> bool {
        let keys = self.matching(file, &compare.key, &compare.range_end);
        if keys.is_empty() {
            // A key that is not there counts as all zeros, but has no value to compare.
            return !matches!(compare.target, Target::Value(_)) && self.fits(file, compare, &KeyState::default());
        }
        keys.iter().all(|key| self.fits(file, compare, &self.keys[key].1))
    }

    fn fits(&self, file: File<'_>, compare: &Compare, version: &KeyState) -> bool {
        let ordering = match &compare.target {
            Target::KeyState(wanted) => version.version.cmp(wanted),
            Target::Create(wanted) => version.create_revision.cmp(wanted),
            Target::Mod(wanted) => version.mod_revision.cmp(wanted),
            Target::Lease(wanted) => version.lease.cmp(wanted),
            Target::Value(wanted) => self.bytes(version.value).cmp(&file.bytes[wanted.clone()]),
        };
        match compare.result {
            0 => ordering.is_eq(),
            1 => ordering.is_gt(),
            2 => ordering.is_lt(),
            _ => ordering.is_ne(),
        }
    }
}

/// Whether any branch writes: a full database refuses such a transaction whichever branch would run.
fn holds_put(txn: &Txn) -> bool {
    txn.success.iter().chain(&txn.failure).any(|operation| match operation {
        Operation::Put(_) => true,
        Operation::Delete(_) => false,
        Operation::Txn(inner) => holds_put(inner),
    })
}
