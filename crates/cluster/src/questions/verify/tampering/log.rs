//! Calls in a member's log that API servers do not make.
//!
//! What an API server asks of etcd is a short list (etcd v3.7, `tests/robustness/coverage/coverage_test.go`, `key_pattern_test.go`): a transaction that
//! compares one key's mod revision and puts or deletes that key, else reads it (apiserver v0.37, `pkg/storage/etcd3/store.go`; etcd v3.7,
//! `client/v3/kubernetes/client.go`), and one that compares the version of `compact_rev_key` (apiserver v0.37, `pkg/storage/etcd3/compact.go`). Leases,
//! compactions, alarms, users and members are etcd's own business. All else is named. Exempt are:
//!
//! - keys that a lease takes with it, several at once and without a transaction (etcd v3.7, `server/lease/lessor.go`);
//! - deletions without a compare by API servers up to 1.14 (kubernetes v1.14, `pkg/storage/etcd3/store.go`, `unconditionalDelete`);
//! - keys outside the API server's prefix: k3s, RKE2, `etcdctl check perf` and others put as they like;
//! - a log that is mostly made of such calls, and those that it begins with: the store was copied key by key, or filled by a program;
//! - with little weight, recipes that people are told to follow: `etcdctl del` of `masterleases` after a restore (kubernetes#86812, kops#8337), of Events, of
//!   what cannot be read, and of what waits for its deletion.

use std::collections::HashMap;

use bytes::Bytes;

use ketcd_kube::{COMPACT_REV_KEY, RegistryKey, Release};
use ketcd_store::{
    Call, CalledCompare, CalledOperation, CalledTxn, CompareRelation, CompareTarget, EventKind, KeyRange, MemberLog, Revision,
};

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::rule::{Rule, TamperingFacts};

/// The last release whose API servers delete without a compare.
const UNCONDITIONAL_UNTIL: u16 = 14;

/// A log is a copy's with this number of calls of others, if API servers' are not more.
const MIN_FOREIGN: usize = 20;

/// The revision of the first write into an empty etcd.
const FIRST_WRITE: Revision = Revision(2);

/// More keys of one call are not named.
const MAX_KEYS: usize = 100;

/// A call that no API server makes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OddCall {
    /// What it is, in words.
    says: &'static str,
    index: u64,
    /// The key, where it is one.
    key: Option<Bytes>,
    /// How many of its keys were named.
    named: usize,
}

/// Looks at what the calls of a log did.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the revision that each made.
    made: HashMap<Revision, OddCall>,
    /// Those whose revision is not known.
    undated: Vec<OddCall>,
    /// Whether most calls are not an API server's.
    pub is_copy: bool,
}

impl Calls {
    /// Reads the calls of a member's log whose API servers are of a release and keep their keys below `prefix`.
    pub(super) fn of(log: &dyn MemberLog, prefix: &str, release: Release) -> Self {
        let committed = log.calls().filter(|call| call.is_committed);
        Self::of_calls(committed.map(|call| (call.index, call.revision, call.call)), prefix, release)
    }

    /// The same of calls with their indexes and the revisions that they made.
    pub(super) fn of_calls(all: impl Iterator<Item = (u64, Option<Revision>, Call)>, prefix: &str, release: Release) -> Self {
        let (mut calls, mut lawful) = (Self::default(), 0);
        let mut head = Head::Empty;
        for (index, revision, call) in all {
            let Some((says, key)) = odd(&call, release) else {
                lawful += usize::from(matches!(call, Call::Txn(_)));
                head.end(&mut calls, revision);
                continue;
            };
            if key.as_ref().is_some_and(|key| !is_below(key, prefix)) {
                continue;
            }
            head.go_on(revision);
            let odd = OddCall { says, index, key, named: 0 };
            match revision {
                Some(revision) => drop(calls.made.insert(revision, odd)),
                // Only a put changes something wherever it is not refused.
                None if matches!(call, Call::Put(_)) => calls.undated.push(odd),
                None => {}
            }
        }
        let foreign = calls.made.len() + calls.undated.len();
        if foreign >= MIN_FOREIGN && foreign >= lawful {
            return Self { is_copy: true, ..Self::default() };
        }
        calls
    }
}

/// What a log begins with: the calls of a program that copied a store into an empty etcd, or an API server's.
enum Head {
    Empty,
    Copied,
    Ended,
}

impl Head {
    /// Takes in a call that no API server makes.
    fn go_on(&mut self, revision: Option<Revision>) {
        if matches!(self, Self::Empty) {
            *self = if revision == Some(FIRST_WRITE) { Self::Copied } else { Self::Ended };
        }
    }

    /// Takes in a call of an API server: what came before were the copy's, if they were many.
    fn end(&mut self, calls: &mut Calls, revision: Option<Revision>) {
        // Reads and compactions end nothing.
        if revision.is_none() || matches!(self, Self::Ended) {
            return;
        }
        if matches!(self, Self::Copied) && calls.made.len() >= MIN_FOREIGN {
            *calls = Calls { is_copy: true, ..Calls::default() };
        }
        *self = Self::Ended;
    }
}

impl Rule for Calls {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, found: &mut Found) {
        let Some(odd) = self.made.get_mut(&change.revision()).filter(|odd| odd.named < MAX_KEYS) else { return };
        if matches!(change.place, RegistryKey::Foreign) {
            return;
        }
        odd.named += 1;
        let recipe = recipe(change);
        let weight = if recipe.is_some() { Weight::Low } else { Weight::High };
        let fact = format!("entry {} of the log, revision {}", odd.index, change.revision());
        let evidence = Evidence::new(change.revision(), change.key(), weight, odd.says).because(fact).of_copies();
        found.add(recipe.into_iter().fold(evidence, Evidence::because));
    }

    fn finish(&mut self, _: &TamperingFacts<'_>, found: &mut Found) {
        let unseen = self.made.drain().filter(|(_, odd)| odd.named == 0).map(|(revision, odd)| (Some(revision), odd));
        for (revision, odd) in unseen.chain(self.undated.drain(..).map(|odd| (None, odd))) {
            let fact = format!("entry {} of the log", odd.index);
            if let Some(key) = &odd.key {
                let evidence = Evidence { revision, ..Evidence::undated(key, Weight::Medium, odd.says) };
                found.add(evidence.because(fact).of_copies());
            }
        }
    }
}

/// Whether an object, or what API servers keep for themselves, may lie at a key.
fn is_below(key: &[u8], prefix: &str) -> bool {
    key == COMPACT_REV_KEY || key.strip_prefix(prefix.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// The recipe that people follow with such a change, if there is one.
fn recipe(change: &Change<'_>) -> Option<String> {
    if change.kind != EventKind::Delete {
        return None;
    }
    let before = change.before.map(|before| &before.stored);
    let is_event = change.own_kind().is_some_and(|kind| kind.kind == "Event");
    let what = match change.place {
        RegistryKey::Special(name) if name.starts_with("masterleases/") || name.starts_with("peerserverleases/") => {
            "of API servers that are gone, after a restore"
        }
        _ if is_event => "of Events, to make room",
        _ if before.is_some_and(|before| before.object.as_ref().is_some_and(|object| object.is_marked)) => "of what waits for its deletion",
        _ if before.is_some_and(|before| before.object.is_none()) => "of what cannot be read",
        _ => return None,
    };
    Some(format!("a known recipe: etcdctl del {what}"))
}

/// Why a call is not one of an API server, and the key that it names, where that is one.
fn odd(call: &Call, release: Release) -> Option<(&'static str, Option<Bytes>)> {
    match call {
        Call::Put(put) => {
            Some(("etcd was asked for a put by itself; API servers put in a transaction that compares", Some(put.key.clone())))
        }
        Call::Delete(keys) => {
            Some(("etcd was asked for a deletion by itself; API servers delete in a transaction that compares", only(keys)))
        }
        Call::Txn(txn) if !writes(txn) || is_lawful(txn, release) => None,
        Call::Txn(txn) if txn.compares.is_empty() => Some(("etcd was asked for a transaction that compares nothing", written(txn))),
        Call::Txn(txn) => Some(("etcd was asked for a transaction of another form than API servers'", written(txn))),
        _ => None,
    }
}

/// The one key of a range.
fn only(keys: &KeyRange) -> Option<Bytes> {
    (*keys == KeyRange::key(keys.start.clone())).then(|| Bytes::from(keys.start.clone()))
}

fn writes(txn: &CalledTxn) -> bool {
    txn.success.iter().chain(&txn.failure).any(|operation| !matches!(operation, CalledOperation::Range(_)))
}

/// The one key that a transaction writes.
fn written(txn: &CalledTxn) -> Option<Bytes> {
    let mut keys = txn.success.iter().chain(&txn.failure).filter_map(|operation| match operation {
        CalledOperation::Put(put) => Some(Some(put.key.clone())),
        CalledOperation::Delete(keys) => Some(only(keys)),
        CalledOperation::Txn(_) => Some(None),
        CalledOperation::Range(_) => None,
    });
    let first = keys.next()??;
    keys.all(|key| key.as_ref() == Some(&first)).then_some(first)
}

/// Whether an API server makes such a transaction.
fn is_lawful(txn: &CalledTxn, release: Release) -> bool {
    let reads = |key: &Bytes, operations: &[CalledOperation]| {
        operations.iter().all(|operation| matches!(operation, CalledOperation::Range(keys) if only(keys).as_ref() == Some(key)))
    };
    match (&txn.compares[..], &txn.success[..]) {
        ([compare], [operation]) => {
            let Some(key) = only(&compare.keys).filter(|_| compare.relation == CompareRelation::Equal) else { return false };
            reads(&key, &txn.failure) && is_guarded(compare, operation, &key)
        }
        ([], [CalledOperation::Range(read), CalledOperation::Delete(deleted)]) => {
            release.0 <= UNCONDITIONAL_UNTIL && only(read).is_some() && read == deleted && txn.failure.is_empty()
        }
        _ => false,
    }
}

/// Whether an operation is of the key that the compare guards, in an API server's way.
fn is_guarded(compare: &CalledCompare, operation: &CalledOperation, key: &Bytes) -> bool {
    match (&compare.target, operation) {
        (CompareTarget::ModRevision(_), CalledOperation::Put(put)) => put.key == key && !put.keeps_value && !put.keeps_lease,
        (CompareTarget::ModRevision(_), CalledOperation::Delete(keys)) => only(keys).as_ref() == Some(key),
        (CompareTarget::Version(_), CalledOperation::Put(put)) => put.key == key && &key[..] == COMPACT_REV_KEY,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ketcd_store::CalledPut;

    use super::*;

    fn key() -> Bytes {
        Bytes::from_static(b"/registry/pods/a/b")
    }

    fn put(key: &Bytes) -> CalledOperation {
        let put = CalledPut { key: key.clone(), value: Bytes::from_static(b"v"), lease: 7, keeps_value: false, keeps_lease: false };
        CalledOperation::Put(put)
    }

    fn range(key: &Bytes) -> KeyRange {
        KeyRange::key(key.to_vec())
    }

    fn compare(key: &Bytes, target: CompareTarget) -> CalledCompare {
        CalledCompare { keys: range(key), target, relation: CompareRelation::Equal }
    }

    fn txn(compares: Vec<CalledCompare>, success: Vec<CalledOperation>, failure: Vec<CalledOperation>) -> Call {
        Call::Txn(CalledTxn { compares, success, failure })
    }

    fn is_odd(call: &Call) -> bool {
        odd(call, Release::NEWEST).is_some()
    }

    #[test]
    fn what_api_servers_ask_for_is_lawful() {
        let guarded = || vec![compare(&key(), CompareTarget::ModRevision(7))];
        let (read, delete) = (|| vec![CalledOperation::Range(range(&key()))], || vec![CalledOperation::Delete(range(&key()))]);
        assert!(!is_odd(&txn(guarded(), vec![put(&key())], read())), "an update");
        assert!(!is_odd(&txn(vec![compare(&key(), CompareTarget::ModRevision(0))], vec![put(&key())], Vec::new())), "a creation");
        assert!(!is_odd(&txn(guarded(), delete(), read())), "a deletion");
        assert!(!is_odd(&txn(Vec::new(), read(), Vec::new())), "a read");
        let compaction = Bytes::from_static(COMPACT_REV_KEY);
        let version = vec![compare(&compaction, CompareTarget::Version(3))];
        assert!(!is_odd(&txn(version, vec![put(&compaction)], vec![CalledOperation::Range(range(&compaction))])), "a compaction");
        for call in [Call::LeaseGrant(1), Call::LeaseRevoke(1), Call::Compaction(Revision(3)), Call::Alarm, Call::Auth, Call::Membership] {
            assert!(!is_odd(&call), "{call:?}");
        }
    }

    #[test]
    fn all_else_is_named() {
        let guarded = || vec![compare(&key(), CompareTarget::ModRevision(7))];
        let other = Bytes::from_static(b"/registry/pods/a/c");
        let CalledOperation::Put(bare) = put(&key()) else { unreachable!() };
        let odd_ones = [
            Call::Put(bare),
            Call::Delete(range(&key())),
            txn(Vec::new(), vec![put(&key())], Vec::new()),
            txn(guarded(), vec![put(&key()), put(&other)], Vec::new()),
            txn(guarded(), vec![put(&other)], Vec::new()),
            txn(vec![compare(&key(), CompareTarget::Version(1))], vec![put(&key())], Vec::new()),
            txn(guarded(), Vec::new(), vec![put(&key())]),
            txn(vec![CalledCompare { relation: CompareRelation::Greater, ..guarded().remove(0) }], vec![put(&key())], Vec::new()),
        ];
        for call in odd_ones {
            assert!(is_odd(&call), "{call:?}");
        }
    }

    #[test]
    fn old_api_servers_deleted_without_a_compare() {
        let call = txn(Vec::new(), vec![CalledOperation::Range(range(&key())), CalledOperation::Delete(range(&key()))], Vec::new());
        assert_eq!(odd(&call, Release(14)), None);
        assert!(odd(&call, Release(15)).is_some());
    }

    #[test]
    fn a_log_of_a_copy_and_keys_of_others_are_let_be() {
        let bare = |key: &'static str| {
            let CalledOperation::Put(put) = put(&Bytes::from_static(key.as_bytes())) else { unreachable!() };
            Call::Put(put)
        };
        let lawful = || txn(vec![compare(&key(), CompareTarget::ModRevision(7))], vec![put(&key())], Vec::new());
        let calls = |calls: Vec<Call>| {
            let placed = calls.into_iter().zip(2..).map(|(call, place)| (place as u64, Some(Revision(place)), call));
            Calls::of_calls(placed, "/registry", Release::NEWEST)
        };
        assert!(calls(vec![bare("/registry/pods/a/b"); 30]).is_copy);
        let head = [vec![bare("/registry/pods/a/b"); 30], vec![lawful(); 99], vec![bare("/registry/pods/a/b")]].concat();
        let head = calls(head);
        assert_eq!(
            (head.is_copy, head.made.keys().copied().collect::<Vec<_>>()),
            (true, vec![Revision(131)]),
            "what came behind the copy counts"
        );
        let few = calls(vec![lawful(), bare("/registry/pods/a/b"), bare("k3s/etcd/learnerProgress"), lawful()]);
        assert_eq!((few.is_copy, few.made.keys().copied().collect::<Vec<_>>()), (false, vec![Revision(3)]));
    }
}
