//! Entries that may have changed something, as far as that can be known without the store they were applied to.

use std::collections::{HashMap, HashSet};

use super::request::{Request, Target, operations};
use crate::proto::etcdserverpb::TxnRequest;
use crate::proto::etcdserverpb::compare::CompareResult;
use crate::proto::etcdserverpb::request_op::Request as Operation;

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

/// Picks the candidates among a run's requests; `None` stands for one that cannot be read.
pub(super) fn candidates<'a>(requests: impl Iterator<Item = Option<&'a Request>>) -> Vec<Candidate<'a>> {
    let mut leases = Leases::default();
    let mut found = Vec::new();
    for (entry, request) in requests.enumerate() {
        let mut add = |key, guard, touches_unknown_keys| found.push(Candidate { entry, key, guard, touches_unknown_keys });
        match request {
            Some(Request::Put(put)) => {
                leases.attach(&put.key, put.lease);
                add(Some(&put.key), Guard::Other, false);
            }
            Some(Request::Delete(delete)) => {
                let single = delete.range_end.is_empty();
                add(single.then_some(&delete.key), Guard::Other, !single);
            }
            Some(Request::Txn(txn)) if operations(&txn.success).chain(operations(&txn.failure)).next().is_some() => match simple(txn) {
                Some(Operation::RequestPut(put)) => {
                    leases.attach(&put.key, put.lease);
                    add(Some(&put.key), guard(txn, &put.key), false);
                }
                Some(Operation::RequestDeleteRange(delete)) => {
                    leases.attach(&delete.key, 0);
                    add(Some(&delete.key), guard(txn, &delete.key), false);
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
pub(super) fn simple(txn: &TxnRequest) -> Option<&Operation> {
    let mut success = operations(&txn.success);
    let (only, None, None) = (success.next()?, success.next(), operations(&txn.failure).next()) else { return None };
    match only {
        Operation::RequestPut(put) => !put.ignore_value && !put.ignore_lease,
        Operation::RequestDeleteRange(delete) => delete.range_end.is_empty(),
        Operation::RequestRange(_) | Operation::RequestTxn(_) => false,
    }
    .then_some(only)
}

fn guard(txn: &TxnRequest, key: &[u8]) -> Guard {
    const EQUAL: i32 = CompareResult::Equal as i32;
    match &txn.compare[..] {
        [compare] if compare.result == EQUAL && compare.range_end.is_empty() && compare.key == key => match Target::of(compare) {
            Target::Mod(revision) => Guard::Mod(revision),
            // Another way to say that the key does not exist.
            Target::Version(0) | Target::Create(0) => Guard::Mod(0),
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
