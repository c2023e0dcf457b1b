//! etcd's apply, on keys alone: which changes an entry made, at which revision.
//!
//! Source: etcd v3.6, `server/etcdserver/apply` and `server/etcdserver/txn`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use bytes::Bytes;

use super::request::{Request, Target, operations};
use crate::EventKind;
use crate::proto::etcdserverpb::alarm_request::AlarmAction;
use crate::proto::etcdserverpb::compare::CompareResult;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{AlarmRequest, AlarmType, Compare, DeleteRangeRequest, PutRequest, TxnRequest};
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
    /// Members and the alarms that they raised.
    alarms: HashSet<(u64, i32)>,
    changes: Vec<LogChange>,
}

/// The file that a request's bytes are slices of, and its image's number.
#[derive(Clone, Copy)]
struct File<'a> {
    bytes: &'a [u8],
    image: u16,
}

impl File<'_> {
    fn location(&self, part: &[u8]) -> Location {
        Location::of(self.image, self.bytes, part)
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
        let no_space = self.alarms.iter().any(|alarm| alarm.1 == AlarmType::Nospace as i32);
        let corrupt = self.alarms.iter().any(|alarm| alarm.1 == AlarmType::Corrupt as i32);
        let applied = match request {
            Request::Alarm(alarm) => self.alarm(alarm),
            Request::Auth(_) | Request::Membership(_) | Request::Nothing => Ok(()),
            _ if corrupt => Err(Refused),
            Request::Put(_) | Request::LeaseGrant(_) if no_space => Err(Refused),
            Request::Put(put) => self.check(put).map(|()| self.put(file, put, main)),
            Request::Delete(delete) => self.delete(delete, main),
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

    fn alarm(&mut self, alarm: &AlarmRequest) -> Result<(), Refused> {
        match AlarmAction::try_from(alarm.action) {
            Ok(AlarmAction::Activate) => drop(self.alarms.insert((alarm.member_id, alarm.alarm))),
            Ok(AlarmAction::Deactivate) => drop(self.alarms.remove(&(alarm.member_id, alarm.alarm))),
            Ok(AlarmAction::Get) | Err(_) => {}
        }
        Ok(())
    }

    /// Whether etcd accepts the put: what it leaves to the old version must exist, and so must its lease.
    fn check(&self, put: &PutRequest) -> Result<(), Refused> {
        let is_there = || self.keys.contains_key(&put.key[..]);
        let leased = put.lease == 0 || self.leases_may_be_older || self.leases.contains_key(&put.lease);
        if ((put.ignore_value || put.ignore_lease) && !is_there()) || !leased { Err(Refused) } else { Ok(()) }
    }

    fn put(&mut self, file: File<'_>, put: &PutRequest, main: i64) {
        let bytes = &put.key[..];
        let old = self.keys.get(bytes).map(|(_, version)| *version);
        let lease = old.filter(|_| put.ignore_lease).map_or(put.lease, |old| old.lease);
        let version = KeyState {
            create_revision: old.map_or(main, |old| old.create_revision),
            mod_revision: main,
            version: old.map_or(1, |old| old.version.saturating_add(1)),
            lease,
            value: old.filter(|_| put.ignore_value).map_or_else(|| file.location(&put.value), |old| old.value),
        };
        if let Some(attached) = old.filter(|old| old.lease != lease).and_then(|old| self.leases.get_mut(&old.lease)) {
            attached.remove(bytes);
        }
        if lease != 0 {
            self.leases.entry(lease).or_default().insert(bytes.to_vec());
        }
        let key = file.location(&put.key);
        self.keys.insert(bytes.to_vec(), (key, version));
        self.change(EventKind::Put, main, key, version);
    }

    fn delete(&mut self, delete: &DeleteRangeRequest, main: i64) -> Result<(), Refused> {
        for key in self.matching(&delete.key, &delete.range_end) {
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

    /// The keys from `key` to `end`: an empty end means `key` alone, a zero byte means no end.
    fn matching(&self, key: &[u8], end: &[u8]) -> Vec<Vec<u8>> {
        if end.is_empty() {
            return self.keys.contains_key(key).then(|| key.to_vec()).into_iter().collect();
        }
        if end != [0] && end <= key {
            return Vec::new();
        }
        let upper = if end == [0] { Bound::Unbounded } else { Bound::Excluded(end) };
        self.keys.range::<[u8], _>((Bound::Included(key), upper)).map(|(key, _)| key.clone()).collect()
    }

    fn txn(&mut self, file: File<'_>, txn: &TxnRequest, main: i64, no_space: bool) -> Result<(), Refused> {
        // Every compare, also of a transaction within, sees the state before the first operation.
        let mut chosen = Vec::new();
        self.choose(txn, &mut chosen);
        if no_space && holds_put(txn) {
            return Err(Refused);
        }
        for operation in &chosen {
            if let Operation::RequestPut(put) = operation {
                self.check(put)?;
            }
        }
        for operation in chosen {
            match operation {
                Operation::RequestPut(put) => self.put(file, put, main),
                Operation::RequestDeleteRange(delete) => self.delete(delete, main)?,
                Operation::RequestTxn(_) | Operation::RequestRange(_) => {}
            }
        }
        Ok(())
    }

    fn choose<'t>(&self, txn: &'t TxnRequest, chosen: &mut Vec<&'t Operation>) {
        let holds = txn.compare.iter().all(|compare| self.holds(compare));
        for operation in operations(if holds { &txn.success } else { &txn.failure }) {
            match operation {
                Operation::RequestTxn(inner) => self.choose(inner, chosen),
                other => chosen.push(other),
            }
        }
    }

    fn holds(&self, compare: &Compare) -> bool {
        let keys = self.matching(&compare.key, &compare.range_end);
        if keys.is_empty() {
            // A key that is not there counts as all zeros, but has no value to compare.
            return !matches!(Target::of(compare), Target::Value(_)) && self.fits(compare, &KeyState::default());
        }
        keys.iter().all(|key| self.fits(compare, &self.keys[key].1))
    }

    fn fits(&self, compare: &Compare, version: &KeyState) -> bool {
        let ordering = match Target::of(compare) {
            Target::Version(wanted) => version.version.cmp(&wanted),
            Target::Create(wanted) => version.create_revision.cmp(&wanted),
            Target::Mod(wanted) => version.mod_revision.cmp(&wanted),
            Target::Lease(wanted) => version.lease.cmp(&wanted),
            Target::Value(wanted) => self.bytes(version.value).cmp(wanted),
        };
        match CompareResult::try_from(compare.result) {
            Ok(CompareResult::Equal) => ordering.is_eq(),
            Ok(CompareResult::Greater) => ordering.is_gt(),
            Ok(CompareResult::Less) => ordering.is_lt(),
            Ok(CompareResult::NotEqual) => ordering.is_ne(),
            // etcd lets a compare that it does not know hold.
            Err(_) => true,
        }
    }
}

/// Whether any branch writes: a full database refuses such a transaction whichever branch would run.
fn holds_put(txn: &TxnRequest) -> bool {
    operations(&txn.success).chain(operations(&txn.failure)).any(|operation| match operation {
        Operation::RequestPut(_) => true,
        Operation::RequestDeleteRange(_) | Operation::RequestRange(_) => false,
        Operation::RequestTxn(inner) => holds_put(inner),
    })
}
