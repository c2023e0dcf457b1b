//! etcd's apply, on keys alone: which changes an entry made, at which revision.
//!
//! Source: etcd v3.6, `server/etcdserver/apply` and `server/etcdserver/txn`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use bytes::Bytes;

use super::auth::Author;
use super::entry::RaftEntry;
use super::request::{Target, WalRequest};
use super::server_state::{AlarmCheck, ServerState, Undecided};
use crate::EventKind;
use crate::proto::etcdserverpb::compare::CompareResult;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{Compare, DeleteRangeRequest, PutRequest, RangeRequest, TxnRequest};
use crate::versions::Location;

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
    /// The files that places point into, by the images' numbers they have in the index; empty where another process writes the file.
    images: &'a dyn Fn(u16) -> &'a Bytes,
    /// The last revision.
    pub revision: i64,
    keys: BTreeMap<Vec<u8>, (Location, KeyState)>,
    /// The keys of each lease.
    attached: HashMap<i64, BTreeSet<Vec<u8>>>,
    around: ServerState,
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

/// Why a request changed nothing, or may not have.
enum NotApplied {
    Refused,
    Undecided(Undecided),
}

impl From<Undecided> for NotApplied {
    fn from(undecided: Undecided) -> Self {
        Self::Undecided(undecided)
    }
}

/// Refuses a request unless `allowed`.
fn require(allowed: bool) -> Result<(), NotApplied> {
    if allowed { Ok(()) } else { Err(NotApplied::Refused) }
}

impl<'a> Store<'a> {
    /// An empty store, as a new cluster has it.
    pub(crate) fn empty(images: &'a dyn Fn(u16) -> &'a Bytes) -> Self {
        Self::at(images, 1, ServerState::default(), std::iter::empty())
    }

    /// A store at `revision` with these keys.
    pub(crate) fn at(
        images: &'a dyn Fn(u16) -> &'a Bytes,
        revision: i64,
        around: ServerState,
        keys: impl Iterator<Item = (Location, KeyState)>,
    ) -> Self {
        let mut store = Self { images, revision, keys: BTreeMap::new(), attached: HashMap::new(), around, changes: Vec::new() };
        for (key, version) in keys {
            let Some(bytes) = store.bytes(key).map(<[u8]>::to_vec) else { continue };
            if version.lease != 0 {
                store.attached.entry(version.lease).or_default().insert(bytes.clone());
            }
            store.keys.insert(bytes, (key, version));
        }
        store
    }

    /// Applies the request of an entry that lies in image `image`; returns what it changed.
    ///
    /// # Errors
    ///
    /// Whether etcd refused it cannot be told.
    pub(crate) fn apply(&mut self, image: u16, entry: &RaftEntry, request: &WalRequest) -> Result<Vec<LogChange>, Undecided> {
        let file = File { bytes: (self.images)(image), image };
        let main = self.revision + 1;
        let applied = self.request(file, entry, request, main);
        let changes = std::mem::take(&mut self.changes);
        if let Err(NotApplied::Undecided(undecided)) = applied {
            return Err(undecided);
        }
        if !changes.is_empty() {
            self.revision = main;
        }
        Ok(changes)
    }

    fn request(&mut self, file: File<'_>, entry: &RaftEntry, request: &WalRequest, main: i64) -> Result<(), NotApplied> {
        let author =
            || if self.around.auth.as_ref().is_some_and(|auth| !auth.is_enabled) { Author::default() } else { Author::of_entry(entry) };
        match request {
            WalRequest::Alarm(alarm) => self.around.alarm(alarm),
            WalRequest::Auth(auth) => {
                let by = author();
                self.around.authenticate(auth, &by)?;
            }
            WalRequest::Membership(_) | WalRequest::Nothing => {}
            WalRequest::Put(put) => {
                let by = author();
                require(!self.around.alarms_refuse(AlarmCheck::PutOrGrant)?)?;
                require(!self.around.auth_refuses(|auth| Some(auth.permits_put(&by, put, self.attached(put.lease))))?)?;
                self.check_put(put)?;
                self.put(file, put, main);
            }
            WalRequest::Delete(delete) => {
                let by = author();
                require(!self.around.alarms_refuse(AlarmCheck::Other)?)?;
                require(!self.around.auth_refuses(|auth| Some(auth.permits_delete(&by, delete)))?)?;
                self.delete(delete, main);
            }
            WalRequest::Txn(txn) => {
                let by = author();
                require(!self.around.alarms_refuse(AlarmCheck::Txn(txn))?)?;
                require(!self.around.auth_refuses(|auth| auth.permits_txn(&by, txn, &|lease| self.attached(lease)))?)?;
                self.txn(file, txn, main)?;
            }
            WalRequest::Compaction(revision) => {
                require(!self.around.alarms_refuse(AlarmCheck::Other)?)?;
                self.around.compact(*revision, self.revision);
            }
            WalRequest::LeaseGrant(lease) => {
                require(!self.around.alarms_refuse(AlarmCheck::PutOrGrant)?)?;
                self.around.grant(lease);
            }
            WalRequest::LeaseRevoke(lease) => {
                let by = author();
                require(!self.around.alarms_refuse(AlarmCheck::Other)?)?;
                require(!self.around.auth_refuses(|auth| auth.permits_revoke(&by, self.attached(*lease)))?)?;
                self.around.leases.remove(lease);
                let keys = self.attached.remove(lease).unwrap_or_default();
                keys.iter().for_each(|key| self.remove(key, main));
            }
        }
        Ok(())
    }

    fn attached(&self, lease: i64) -> impl Iterator<Item = &[u8]> {
        self.attached.get(&lease).into_iter().flatten().map(|key| &key[..])
    }

    fn bytes(&self, place: Location) -> Option<&'a [u8]> {
        (self.images)(place.image).get(place.start as usize..place.start as usize + place.length as usize)
    }

    /// Whether etcd accepts the put: what it leaves to the old version must exist, and so must its lease.
    fn check_put(&self, put: &PutRequest) -> Result<(), NotApplied> {
        require(!(put.ignore_value || put.ignore_lease) || self.keys.contains_key(&put.key[..]))?;
        require(self.around.has_lease(put.lease)?)
    }

    /// Whether etcd answers the read of a transaction: its revision must have come, and not be compacted.
    fn check_range(&self, range: &RangeRequest) -> Result<(), NotApplied> {
        require(range.revision == 0 || (self.around.compacted..=self.revision).contains(&range.revision))
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
        if let Some(attached) = old.filter(|old| old.lease != lease).and_then(|old| self.attached.get_mut(&old.lease)) {
            attached.remove(bytes);
        }
        if lease != 0 {
            self.attached.entry(lease).or_default().insert(bytes.to_vec());
        }
        let key = file.location(&put.key);
        self.keys.insert(bytes.to_vec(), (key, version));
        self.change(EventKind::Put, main, key, version);
    }

    fn delete(&mut self, delete: &DeleteRangeRequest, main: i64) {
        for key in self.matching(&delete.key, &delete.range_end) {
            self.remove(&key, main);
        }
    }

    fn remove(&mut self, key: &[u8], main: i64) {
        let Some((place, version)) = self.keys.remove(key) else { return };
        if let Some(attached) = self.attached.get_mut(&version.lease) {
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

    fn txn(&mut self, file: File<'_>, txn: &TxnRequest, main: i64) -> Result<(), NotApplied> {
        // Every compare, also of a transaction within, sees the state before the first operation.
        let mut chosen = Vec::new();
        self.choose(txn, &mut chosen)?;
        for operation in &chosen {
            match operation {
                Operation::RequestPut(put) => self.check_put(put)?,
                Operation::RequestRange(range) => self.check_range(range)?,
                Operation::RequestDeleteRange(_) | Operation::RequestTxn(_) => {}
            }
        }
        for operation in chosen {
            match operation {
                Operation::RequestPut(put) => self.put(file, put, main),
                Operation::RequestDeleteRange(delete) => self.delete(delete, main),
                Operation::RequestTxn(_) | Operation::RequestRange(_) => {}
            }
        }
        Ok(())
    }

    fn choose<'t>(&self, txn: &'t TxnRequest, chosen: &mut Vec<&'t Operation>) -> Result<(), Undecided> {
        let branch = if all(txn.compare.iter().map(|compare| self.holds(compare)))? { &txn.success } else { &txn.failure };
        for operation in branch.iter().filter_map(|operation| operation.request.as_ref()) {
            match operation {
                Operation::RequestTxn(inner) => self.choose(inner, chosen)?,
                other => chosen.push(other),
            }
        }
        Ok(())
    }

    fn holds(&self, compare: &Compare) -> Result<bool, Undecided> {
        let keys = self.matching(&compare.key, &compare.range_end);
        if keys.is_empty() {
            // A key that is not there counts as all zeros, but has no value to compare.
            return Ok(!matches!(Target::of(compare), Target::Value(_)) && self.fits(compare, &KeyState::default())?);
        }
        all(keys.iter().map(|key| self.fits(compare, &self.keys[key].1)))
    }

    fn fits(&self, compare: &Compare, version: &KeyState) -> Result<bool, Undecided> {
        const TAKEN_AWAY: Undecided = Undecided("it compares a value that the running etcd has since overwritten");
        let ordering = match Target::of(compare) {
            Target::Version(wanted) => version.version.cmp(&wanted),
            Target::Create(wanted) => version.create_revision.cmp(&wanted),
            Target::Mod(wanted) => version.mod_revision.cmp(&wanted),
            Target::Lease(wanted) => version.lease.cmp(&wanted),
            Target::Value(wanted) => self.bytes(version.value).ok_or(TAKEN_AWAY)?.cmp(wanted),
        };
        Ok(match CompareResult::try_from(compare.result) {
            Ok(CompareResult::Equal) => ordering.is_eq(),
            Ok(CompareResult::Greater) => ordering.is_gt(),
            Ok(CompareResult::Less) => ordering.is_lt(),
            Ok(CompareResult::NotEqual) => ordering.is_ne(),
            // etcd lets a compare that it does not know hold.
            Err(_) => true,
        })
    }
}

/// Whether all hold; where one does not, it does not matter whether another can be decided.
fn all(mut compares: impl Iterator<Item = Result<bool, Undecided>>) -> Result<bool, Undecided> {
    let mut undecided = None;
    let fails = compares.any(|holds| holds.map_err(|cause| undecided = Some(cause)) == Ok(false));
    undecided.filter(|_| !fails).map_or(Ok(!fails), Err)
}
