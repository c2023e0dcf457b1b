//! The entries of a log, kept for questions about what clients asked of etcd.

use std::fmt;

use super::entry::RaftEntry;
use super::log::RaftLog;
use super::request::{WalRequest, range, writes_old_keys};
use crate::member_log::{
    Call, CalledCompare, CalledOperation, CalledPut, CalledTxn, CompareRelation, CompareTarget, LogState, LoggedCall, MemberLog,
};
use crate::proto::etcdserverpb::compare::{CompareResult, CompareTarget as Target, TargetUnion};
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{Compare, PutRequest, RequestOp, TxnRequest};
use crate::proto::raftpb::EntryType;
use crate::{KeyRange, Revision};

/// A log whose entries are kept as they lie in its files.
pub(crate) struct KeptLog {
    state: LogState,
    /// By ascending index.
    entries: Vec<(u64, RaftEntry)>,
    /// The entries that made revisions, and these; by ascending index.
    revisions: Vec<(u64, i64)>,
    /// The last entry that counts as committed.
    certain: u64,
    /// Where it contradicts the database or itself, each a sentence.
    contradictions: Vec<String>,
}

impl KeptLog {
    /// Keeps a log; `None` for one without entries. `revisions` says which entries made which revision, `applied` which was applied to the
    /// database last, `certain` which is the last that counts.
    pub(crate) fn of(log: RaftLog, mut revisions: Vec<(u64, i64)>, applied: Option<u64>, certain: u64) -> Option<Self> {
        let is_restored = log.is_restored();
        let (first, last) = (log.runs.first()?.first, log.runs.last()?.end() - 1);
        let (term, commit, snapshot, pieces) = (log.term, log.commit, log.snapshot, log.runs.len());
        let entries = log.runs.into_iter().flat_map(|run| (run.first..).zip(run.entries)).collect();
        revisions.sort_unstable();
        let state = LogState { first, last, term, commit, snapshot, applied, pieces, is_restored };
        Some(Self { state, entries, revisions, certain, contradictions: Vec::new() })
    }

    /// Says where it contradicts the database or itself, each a sentence.
    pub(crate) fn contradict(&mut self, sentences: impl IntoIterator<Item = String>) {
        self.contradictions.extend(sentences);
    }

    fn revision(&self, index: u64) -> Option<Revision> {
        let place = self.revisions.binary_search_by_key(&index, |(entry, _)| *entry).ok()?;
        Some(Revision(self.revisions[place].1))
    }
}

impl MemberLog for KeptLog {
    fn state(&self) -> LogState {
        self.state
    }

    fn calls(&self) -> Box<dyn Iterator<Item = LoggedCall> + Send + '_> {
        Box::new(self.entries.iter().map(|(index, entry)| LoggedCall {
            index: *index,
            revision: self.revision(*index),
            is_committed: *index <= self.certain,
            call: WalRequest::of_entry(entry).map_or(Call::Unreadable, called),
        }))
    }

    fn contradictions(&self) -> &[String] {
        &self.contradictions
    }

    fn old_api_writes(&self) -> usize {
        self.entries.iter().filter(|(_, entry)| entry.kind == EntryType::EntryNormal as i32 && writes_old_keys(&entry.data)).count()
    }
}

impl fmt::Debug for KeptLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptLog").field("state", &self.state).finish_non_exhaustive()
    }
}

fn called(request: WalRequest) -> Call {
    match request {
        WalRequest::Put(put) => Call::Put(of_put(put)),
        WalRequest::Delete(delete) => Call::Delete(range(&delete.key, &delete.range_end)),
        WalRequest::Txn(txn) => Call::Txn(of_txn(txn)),
        WalRequest::LeaseGrant(lease) => Call::LeaseGrant(lease.id),
        WalRequest::LeaseRevoke(lease) => Call::LeaseRevoke(lease),
        WalRequest::Compaction(revision) => Call::Compaction(Revision(revision)),
        WalRequest::Alarm(_) => Call::Alarm,
        WalRequest::Auth(_) => Call::Auth,
        WalRequest::Membership(_) => Call::Membership,
        WalRequest::Nothing => Call::Nothing,
    }
}

fn of_put(put: PutRequest) -> CalledPut {
    let PutRequest { key, value, lease, ignore_value: keeps_value, ignore_lease: keeps_lease, .. } = put;
    CalledPut { key, value, lease, keeps_value, keeps_lease }
}

fn of_txn(txn: TxnRequest) -> CalledTxn {
    CalledTxn {
        compares: txn.compare.into_iter().map(of_compare).collect(),
        success: txn.success.into_iter().filter_map(of_operation).collect(),
        failure: txn.failure.into_iter().filter_map(of_operation).collect(),
    }
}

fn of_operation(operation: RequestOp) -> Option<CalledOperation> {
    Some(match operation.request? {
        Operation::RequestRange(read) => CalledOperation::Range(range(&read.key, &read.range_end)),
        Operation::RequestPut(put) => CalledOperation::Put(of_put(put)),
        Operation::RequestDeleteRange(delete) => CalledOperation::Delete(range(&delete.key, &delete.range_end)),
        Operation::RequestTxn(txn) => CalledOperation::Txn(Box::new(of_txn(txn))),
    })
}

/// A target that is missing is zero, as in etcd.
fn of_compare(compare: Compare) -> CalledCompare {
    let keys: KeyRange = range(&compare.key, &compare.range_end);
    let relation = match compare.result() {
        CompareResult::Equal => CompareRelation::Equal,
        CompareResult::Greater => CompareRelation::Greater,
        CompareResult::Less => CompareRelation::Less,
        CompareResult::NotEqual => CompareRelation::NotEqual,
    };
    let target = match (compare.target(), compare.target_union) {
        (Target::Version, Some(TargetUnion::Version(version))) => CompareTarget::Version(version),
        (Target::Version, _) => CompareTarget::Version(0),
        (Target::Create, Some(TargetUnion::CreateRevision(revision))) => CompareTarget::CreateRevision(revision),
        (Target::Create, _) => CompareTarget::CreateRevision(0),
        (Target::Mod, Some(TargetUnion::ModRevision(revision))) => CompareTarget::ModRevision(revision),
        (Target::Mod, _) => CompareTarget::ModRevision(0),
        (Target::Value, Some(TargetUnion::Value(value))) => CompareTarget::Value(value),
        (Target::Value, _) => CompareTarget::Value(bytes::Bytes::new()),
        (Target::Lease, Some(TargetUnion::Lease(lease))) => CompareTarget::Lease(lease),
        (Target::Lease, _) => CompareTarget::Lease(0),
    };
    CalledCompare { keys, target, relation }
}
