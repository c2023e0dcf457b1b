//! Entries that may have changed something, as far as that can be told without the store they met.

use std::collections::{HashMap, HashSet};

use super::request::{Operation, Request, Target, Txn};

/// An entry that may have made a revision.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    /// Its place in the run.
    pub entry: usize,
    /// The one key it writes or deletes; `None` where it is not that simple.
    pub key: Option<&'a [u8]>,
    /// On which condition.
    pub guard: Guard,
    /// Whether it may change keys that it does not name: an expired lease.
    pub touches_unknown_keys: bool,
}

/// The condition of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The key's newest revision must be this one; 0: it must not exist.
    Mod(i64),
    /// None, or one that we do not follow.
    Other,
}

/// Picks the candidates among a run's requests, each with the file it lies in.
pub(super) fn candidates<'a>(requests: &[(&'a [u8], Option<Request>)]) -> Vec<Candidate<'a>> {
    let mut leases = Leases::default();
    let mut found = Vec::new();
    for (entry, (file, request)) in requests.iter().enumerate() {
        let mut add = |key, guard, touches_unknown_keys| found.push(Candidate { entry, key, guard, touches_unknown_keys });
        match request {
            Some(Request::Put(put)) => {
                leases.attach(&file[put.key.clone()], put.lease);
                add(Some(&file[put.key.clone()]), Guard::Other, false);
            }
            Some(Request::Delete(delete)) => {
                let single = delete.range_end.is_empty();
                add(single.then(|| &file[delete.key.clone()]), Guard::Other, !single);
            }
            Some(Request::Txn(txn)) if !txn.success.is_empty() || !txn.failure.is_empty() => match simple(txn) {
                Some(Operation::Put(put)) => {
                    leases.attach(&file[put.key.clone()], put.lease);
                    add(Some(&file[put.key.clone()]), guard(file, txn, &file[put.key.clone()]), false);
                }
                Some(Operation::Delete(delete)) => {
                    let key = &file[delete.key.clone()];
                    leases.attach(key, 0);
                    add(Some(key), guard(file, txn, key), false);
                }
                _ => add(None, Guard::Other, true),
            },
            Some(Request::LeaseGrant(lease)) => leases.grant(*lease),
            Some(Request::LeaseRevoke(lease)) if leases.may_hold_keys(*lease) => add(None, Guard::Other, true),
            // A request that cannot be read may be anything.
            None => add(None, Guard::Other, true),
            _ => {}
        }
    }
    found
}

/// The only operation of a transaction that does nothing where its condition fails: the form of Kubernetes' own.
pub(super) fn simple(txn: &Txn) -> Option<&Operation> {
    match (&txn.success[..], &txn.failure[..]) {
        ([operation @ Operation::Put(put)], []) if !put.ignore_value && !put.ignore_lease => Some(operation),
        ([operation @ Operation::Delete(delete)], []) if delete.range_end.is_empty() => Some(operation),
        _ => None,
    }
}

fn guard(file: &[u8], txn: &Txn, key: &[u8]) -> Guard {
    match &txn.compares[..] {
        [compare] if compare.result == 0 && compare.range_end.is_empty() && &file[compare.key.clone()] == key => match compare.target {
            Target::Mod(revision) => Guard::Mod(revision),
            // Another way to say that the key does not exist.
            Target::KeyState(0) | Target::Create(0) => Guard::Mod(0),
            _ => Guard::Other,
        },
        _ => Guard::Other,
    }
}

/// Which leases may have keys when they expire.
#[derive(Default)]
struct Leases<'a> {
    granted: HashSet<i64>,
    lease_of: HashMap<&'a [u8], i64>,
    keys: HashMap<i64, u32>,
}

impl<'a> Leases<'a> {
    fn grant(&mut self, lease: i64) {
        self.granted.insert(lease);
    }

    fn attach(&mut self, key: &'a [u8], lease: i64) {
        if let Some(count) = self.lease_of.insert(key, lease).and_then(|old| self.keys.get_mut(&old)) {
            *count -= 1;
        }
        *self.keys.entry(lease).or_default() += 1;
    }

    /// A lease granted before the log began may hold keys that the log does not name.
    fn may_hold_keys(&self, lease: i64) -> bool {
        !self.granted.contains(&lease) || self.keys.get(&lease).is_some_and(|&keys| keys > 0)
    }
}
