//! Entries that may have changed something, as far as that can be known without the store they were applied to.

use std::collections::HashSet;

use super::auth::{Auth, Author};
use super::entry::RaftEntry;
use super::request::{Target, WalRequest, operations};
use super::server_state::{AlarmCheck, ServerState, Undecided, is_granted};
use crate::proto::etcdserverpb::compare::CompareResult;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{PutRequest, TxnRequest};

/// An entry that may have made a revision.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    /// Its place in the run.
    pub entry: usize,
    /// What it writes.
    pub write: Write<'a>,
    /// On which condition.
    pub guard: Guard,
    /// Whether nothing but its condition can have kept it from changing something: no missing lease, alarm or permission.
    pub is_accepted: bool,
}

/// What a candidate changes, if it changes anything.
#[derive(Clone, Debug)]
pub(super) enum Write<'a> {
    /// Puts one key, with this lease.
    Put(&'a [u8], i64),
    /// Deletes one key.
    Delete(&'a [u8]),
    /// Deletes keys from one to another, as etcd writes ranges.
    DeleteRange(&'a [u8], &'a [u8]),
    /// Deletes the keys of a lease, among them some that the log does not name where it may be older than the log.
    Revoke { lease: i64, may_be_older: bool },
    /// Puts or deletes keys within these ranges.
    Some(Vec<(&'a [u8], &'a [u8])>),
    /// Anything: it cannot be read.
    Anything,
}

impl<'a> Write<'a> {
    /// The one key it writes or deletes.
    pub(super) fn key(&self) -> Option<&'a [u8]> {
        match self {
            Self::Put(key, _) | Self::Delete(key) => Some(key),
            _ => None,
        }
    }
}

/// The condition of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The key's newest revision must be this one; 0: it must not exist.
    Mod(i64),
    /// None.
    Always,
    /// One that we do not follow.
    Other,
}

/// Picks the candidates among a run's entries and their requests, of which `None` stands for one that cannot be read. `after` is what is
/// known of the time after the last of them, apart from keys.
pub(super) fn candidates<'a>(entries: &[(&RaftEntry, Option<&'a WalRequest>)], after: &ServerState) -> Vec<Candidate<'a>> {
    let mut leases = Leases::of(entries, after);
    let known = KnownAt::of(entries, after);
    let mut found = Vec::new();
    for (entry, (raw, request)) in entries.iter().enumerate() {
        let Some(request) = request else {
            found.push(Candidate { entry, write: Write::Anything, guard: Guard::Other, is_accepted: false });
            continue;
        };
        match known.accepts(entry, raw, request, &leases) {
            Accepts::No => continue,
            accepts => {
                let is_accepted = accepts == Accepts::Yes;
                if let Some((write, guard)) = write(request, &mut leases, is_accepted) {
                    found.push(Candidate { entry, write, guard, is_accepted });
                }
            }
        }
    }
    found
}

/// What a request writes and on which condition; `None` where it changes no key.
fn write<'a>(request: &'a WalRequest, leases: &mut Leases, is_accepted: bool) -> Option<(Write<'a>, Guard)> {
    match request {
        WalRequest::Put(put) => Some((leases.put(put), if is_plain(put) { Guard::Always } else { Guard::Other })),
        WalRequest::Delete(delete) if delete.range_end.is_empty() => Some((Write::Delete(&delete.key), Guard::Always)),
        WalRequest::Delete(delete) => Some((Write::DeleteRange(&delete.key, &delete.range_end), Guard::Other)),
        WalRequest::Txn(txn) => match simple(txn) {
            Some(Operation::RequestPut(put)) => Some((leases.put(put), guard(txn, &put.key))),
            Some(Operation::RequestDeleteRange(delete)) => Some((Write::Delete(&delete.key), guard(txn, &delete.key))),
            _ => {
                let mut ranges = Vec::new();
                written(txn, &mut ranges, leases);
                (!ranges.is_empty()).then_some((Write::Some(ranges), Guard::Other))
            }
        },
        WalRequest::LeaseGrant(lease) => {
            leases.grant(lease.id, is_accepted && is_granted(lease));
            None
        }
        WalRequest::LeaseRevoke(lease) => leases
            .revoke(*lease, is_accepted)
            .then_some((Write::Revoke { lease: *lease, may_be_older: !leases.granted.contains(lease) }, Guard::Other)),
        WalRequest::Alarm(_) | WalRequest::Auth(_) | WalRequest::Membership(_) | WalRequest::Compaction(_) | WalRequest::Nothing => None,
    }
}

/// Whether the put says all of the version that it makes.
fn is_plain(put: &PutRequest) -> bool {
    !put.ignore_value && !put.ignore_lease
}

/// The ranges that any branch of a transaction writes.
fn written<'a>(txn: &'a TxnRequest, ranges: &mut Vec<(&'a [u8], &'a [u8])>, leases: &mut Leases) {
    for operation in operations(&txn.success).chain(operations(&txn.failure)) {
        match operation {
            Operation::RequestPut(put) => {
                leases.put(put);
                ranges.push((&put.key, &[]));
            }
            Operation::RequestDeleteRange(delete) => ranges.push((&delete.key, &delete.range_end)),
            Operation::RequestTxn(inner) => written(inner, ranges, leases),
            Operation::RequestRange(_) => {}
        }
    }
}

/// The only operation of a transaction that does nothing where its condition fails: the form of Kubernetes' own.
pub(super) fn simple(txn: &TxnRequest) -> Option<&Operation> {
    let mut success = operations(&txn.success);
    let (only, None, None) = (success.next()?, success.next(), operations(&txn.failure).next()) else { return None };
    match only {
        Operation::RequestPut(put) => is_plain(put),
        Operation::RequestDeleteRange(delete) => delete.range_end.is_empty(),
        Operation::RequestRange(_) | Operation::RequestTxn(_) => false,
    }
    .then_some(only)
}

fn guard(txn: &TxnRequest, key: &[u8]) -> Guard {
    const EQUAL_RESULT: i32 = CompareResult::Equal as i32;
    // A read at a revision of its own may be refused, and the transaction with it.
    if txn
        .success
        .iter()
        .chain(&txn.failure)
        .any(|operation| matches!(&operation.request, Some(Operation::RequestRange(range)) if range.revision != 0))
    {
        return Guard::Other;
    }
    match &txn.compare[..] {
        [] => Guard::Always,
        [compare] if compare.result == EQUAL_RESULT && compare.range_end.is_empty() && compare.key == key => match Target::of(compare) {
            Target::Mod(revision) => Guard::Mod(revision),
            // Another way to say that the key does not exist.
            Target::Version(0) | Target::Create(0) => Guard::Mod(0),
            _ => Guard::Other,
        },
        _ => Guard::Other,
    }
}

/// Whether etcd accepts a request, whatever its condition says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Yes,
    No,
    Perhaps,
}

impl From<Result<bool, Undecided>> for Accepts {
    fn from(refuses: Result<bool, Undecided>) -> Self {
        match refuses {
            Ok(true) => Self::No,
            Ok(false) => Self::Yes,
            Err(_) => Self::Perhaps,
        }
    }
}

/// From which entry on alarms, users and roles were as they are after the last.
struct KnownAt<'s> {
    after: &'s ServerState,
    alarms: usize,
    auth: usize,
}

impl<'s> KnownAt<'s> {
    fn of(entries: &[(&RaftEntry, Option<&WalRequest>)], after: &'s ServerState) -> Self {
        let from = |changes: &dyn Fn(&WalRequest) -> bool| {
            entries.iter().rposition(|(_, request)| request.is_none_or(changes)).map_or(0, |last| last + 1)
        };
        let alarms = from(&|request| matches!(request, WalRequest::Alarm(_)));
        let auth = from(&|request| matches!(request, WalRequest::Auth(auth) if auth.needs_admin()));
        Self { after, alarms, auth }
    }

    fn accepts(&self, place: usize, entry: &RaftEntry, request: &WalRequest, leases: &Leases) -> Accepts {
        let answers = [self.alarms_accept(place, request), self.auth_accepts(place, entry, request), leases.accept(request)];
        match answers {
            answers if answers.contains(&Accepts::No) => Accepts::No,
            answers if answers.contains(&Accepts::Perhaps) => Accepts::Perhaps,
            _ => Accepts::Yes,
        }
    }

    fn alarms_accept(&self, place: usize, request: &WalRequest) -> Accepts {
        let asked = match request {
            WalRequest::Put(_) | WalRequest::LeaseGrant(_) => AlarmCheck::PutOrGrant,
            WalRequest::Txn(txn) => AlarmCheck::Txn(txn),
            WalRequest::Delete(_) | WalRequest::LeaseRevoke(_) => AlarmCheck::Other,
            _ => return Accepts::Yes,
        };
        if place < self.alarms { Accepts::Perhaps } else { self.after.alarms_refuse(asked).into() }
    }

    fn auth_accepts(&self, place: usize, entry: &RaftEntry, request: &WalRequest) -> Accepts {
        if place < self.auth {
            return Accepts::Perhaps;
        }
        if self.after.auth.as_ref().is_some_and(|auth| !auth.is_enabled) {
            return Accepts::Yes;
        }
        let by = Author::of_entry(entry);
        // The other keys of its lease are not known here: they may be what refuses it.
        let none = |_: i64| std::iter::empty::<&[u8]>();
        let refuses = |permits: &dyn Fn(&Auth) -> Option<bool>| Accepts::from(self.after.auth_refuses(permits));
        let (refuses, has_lease) = match request {
            WalRequest::Put(put) => (refuses(&|auth| Some(auth.permits_put(&by, put, std::iter::empty()))), put.lease != 0),
            WalRequest::Delete(delete) => (refuses(&|auth| Some(auth.permits_delete(&by, delete))), false),
            WalRequest::Txn(txn) => (refuses(&|auth| auth.permits_txn(&by, txn, &none)), puts_with_lease(txn)),
            WalRequest::LeaseRevoke(_) => (Accepts::Yes, true),
            _ => return Accepts::Yes,
        };
        match refuses {
            Accepts::Yes if has_lease && self.after.auth.as_ref().is_none_or(|auth| !auth.is_admin(&by)) => Accepts::Perhaps,
            refuses => refuses,
        }
    }
}

fn puts_with_lease(txn: &TxnRequest) -> bool {
    operations(&txn.success).chain(operations(&txn.failure)).any(|operation| match operation {
        Operation::RequestPut(put) => put.lease != 0,
        Operation::RequestTxn(inner) => puts_with_lease(inner),
        Operation::RequestDeleteRange(_) | Operation::RequestRange(_) => false,
    })
}

/// Which leases exist, and which may have keys when they expire.
struct Leases {
    /// Those that exist for certain.
    exist: HashSet<i64>,
    /// Those that do not: revoked, or neither made before the log nor granted in it yet.
    gone: HashSet<i64>,
    granted: HashSet<i64>,
    /// Those that the log puts keys to.
    used: HashSet<i64>,
}

impl Leases {
    fn of(entries: &[(&RaftEntry, Option<&WalRequest>)], after: &ServerState) -> Self {
        let granted =
            entries.iter().filter_map(|(_, request)| if let Some(WalRequest::LeaseGrant(lease)) = request { Some(lease.id) } else { None });
        let granted: HashSet<i64> = granted.collect();
        // What exists at the end and was not granted in between existed all the time.
        let exist = after.leases.difference(&granted).copied().collect();
        Self { exist, gone: HashSet::new(), granted: HashSet::new(), used: HashSet::new() }
    }

    fn grant(&mut self, lease: i64, is_accepted: bool) {
        self.gone.remove(&lease);
        self.granted.insert(lease);
        if is_accepted {
            self.exist.insert(lease);
        }
    }

    /// Notes the end of a lease; whether it may have had keys. One granted before the log began may have some that the log does not name.
    fn revoke(&mut self, lease: i64, is_accepted: bool) -> bool {
        self.exist.remove(&lease);
        if is_accepted {
            self.gone.insert(lease);
        }
        !self.granted.contains(&lease) || self.used.contains(&lease)
    }

    fn put<'a>(&mut self, put: &'a PutRequest) -> Write<'a> {
        self.used.insert(put.lease);
        Write::Put(&put.key, put.lease)
    }

    fn accept(&self, request: &WalRequest) -> Accepts {
        let lease = |lease: i64| match lease {
            0 => Accepts::Yes,
            lease if self.exist.contains(&lease) => Accepts::Yes,
            lease if self.gone.contains(&lease) => Accepts::No,
            _ => Accepts::Perhaps,
        };
        match request {
            WalRequest::Put(put) => lease(put.lease),
            WalRequest::Txn(txn) => match simple(txn) {
                Some(Operation::RequestPut(put)) => lease(put.lease),
                _ if puts_with_lease(txn) => Accepts::Perhaps,
                _ => Accepts::Yes,
            },
            _ => Accepts::Yes,
        }
    }
}
