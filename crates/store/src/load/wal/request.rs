//! What a raft entry requests: `etcdserverpb.InternalRaftRequest` or a change of the members, its bytes slices of the log file.

use bytes::Bytes;
use prost::Message;

use super::administration::{AuthRequest, MembershipRequest};
use super::entry::RaftEntry;
use crate::KeyRange;
use crate::proto::etcdserverpb::compare::CompareTarget;
use crate::proto::etcdserverpb::request_op::Request as Operation;
use crate::proto::etcdserverpb::{
    self as pb, AlarmRequest, Compare, DeleteRangeRequest, LeaseGrantRequest, PutRequest, RequestOp, TxnRequest,
};
use crate::proto::raftpb::EntryType;

#[derive(Debug, PartialEq)]
pub(crate) enum WalRequest {
    Put(PutRequest),
    Delete(DeleteRangeRequest),
    Txn(TxnRequest),
    LeaseGrant(LeaseGrantRequest),
    LeaseRevoke(i64),
    /// Up to this revision.
    Compaction(i64),
    Alarm(AlarmRequest),
    Auth(AuthRequest),
    Membership(MembershipRequest),
    /// Reads, lease checkpoints, requests of the version 2 API, entries without data: they make no revision.
    Nothing,
}

impl WalRequest {
    /// Reads an entry's request; `None` if its data are not a request, or one that compares what ketcd does not know.
    pub(crate) fn of_entry(entry: &RaftEntry) -> Option<Self> {
        match EntryType::try_from(entry.kind) {
            Ok(EntryType::EntryNormal) => Self::read(&entry.data),
            // One that cannot be read makes no revision either.
            Ok(EntryType::EntryConfChange) => Some(MembershipRequest::of_conf_change(&entry.data).map_or(Self::Nothing, Self::Membership)),
            // etcd proposes no ConfChangeV2.
            Ok(EntryType::EntryConfChangeV2) | Err(_) => Some(Self::Nothing),
        }
    }

    /// Reads the data of a normal entry.
    pub(super) fn read(data: &Bytes) -> Option<Self> {
        let Ok(request) = pb::InternalRaftRequest::decode(data.clone()) else { return is_of_old_api(data).then_some(Self::Nothing) };
        // etcd applies the first that is set, in this order (server/etcdserver/apply/uber_applier.go).
        if let Some(membership) = MembershipRequest::of(&request) {
            return Some(Self::Membership(membership));
        }
        let auth = AuthRequest::of(&request);
        let pb::InternalRaftRequest { put, delete_range, txn, compaction, lease_grant, lease_revoke, alarm, .. } = request;
        let request = put
            .map(Self::Put)
            .or(delete_range.map(Self::Delete))
            .or(txn.map(Self::Txn))
            .or(compaction.map(|compaction| Self::Compaction(compaction.revision)))
            .or(lease_grant.map(Self::LeaseGrant))
            .or(lease_revoke.map(|revoke| Self::LeaseRevoke(revoke.id)))
            .or(alarm.map(Self::Alarm))
            .or(auth.map(Self::Auth))
            .unwrap_or(Self::Nothing);
        match &request {
            Self::Txn(txn) if !is_known(txn) => None,
            _ => Some(request),
        }
    }
}

impl WalRequest {
    /// The keys whose values decide what the request does, or stay as they are.
    pub(crate) fn values_read(&self) -> Vec<KeyRange> {
        match self {
            Self::Put(put) => kept_value(put).into_iter().collect(),
            Self::Txn(txn) => values_read(txn),
            _ => Vec::new(),
        }
    }
}

fn values_read(txn: &TxnRequest) -> Vec<KeyRange> {
    let compared = txn.compare.iter().filter(|compare| compare.target() == CompareTarget::Value);
    let mut ranges: Vec<KeyRange> = compared.map(|compare| range(&compare.key, &compare.range_end)).collect();
    for operation in operations(&txn.success).chain(operations(&txn.failure)) {
        match operation {
            Operation::RequestPut(put) => ranges.extend(kept_value(put)),
            Operation::RequestTxn(inner) => ranges.extend(values_read(inner)),
            _ => {}
        }
    }
    ranges
}

fn kept_value(put: &PutRequest) -> Option<KeyRange> {
    put.ignore_value.then(|| KeyRange::key(put.key.to_vec()))
}

/// The keys from `key` to `end`: an empty end means `key` alone, a zero byte means no end.
pub(super) fn range(key: &[u8], end: &[u8]) -> KeyRange {
    match end {
        [] => KeyRange::key(key),
        [0] => KeyRange { start: key.to_vec(), end: None },
        _ => KeyRange { start: key.to_vec(), end: Some(end.to_vec()) },
    }
}

/// Whether the data are a request of the old API: up to etcd 3.5 members publish themselves by these, which touch no key.
fn is_of_old_api(data: &Bytes) -> bool {
    let is_method = |method: &str| matches!(method, "PUT" | "POST" | "DELETE" | "QGET" | "SYNC");
    pb::Request::decode(data.clone()).is_ok_and(|request| is_method(&request.method))
}

/// Whether the data are a write of a key of the old API (etcd v3.5.21, `server/etcdserver/server.go`, `StoreKeysPrefix`); what members publish of
/// themselves lies elsewhere.
pub(super) fn writes_old_keys(data: &Bytes) -> bool {
    const OLD_KEYS_PREFIX: &str = "/1/";
    let is_write = |method: &str| matches!(method, "PUT" | "POST" | "DELETE");
    is_of_old_api(data)
        && pb::Request::decode(data.clone()).is_ok_and(|request| is_write(&request.method) && request.path.starts_with(OLD_KEYS_PREFIX))
}

/// Whether all compares of a transaction, and of those within it, are of known targets.
fn is_known(txn: &TxnRequest) -> bool {
    txn.compare.iter().all(|compare| CompareTarget::try_from(compare.target).is_ok())
        && operations(&txn.success).chain(operations(&txn.failure)).all(|operation| match operation {
            Operation::RequestTxn(inner) => is_known(inner),
            _ => true,
        })
}

/// The operations that can change keys, or hold others that do: not the reads.
pub(super) fn operations(branch: &[RequestOp]) -> impl Iterator<Item = &Operation> {
    branch.iter().filter_map(|operation| operation.request.as_ref()).filter(|operation| !matches!(operation, Operation::RequestRange(_)))
}

/// What a compare holds a key's version against.
#[derive(Debug, PartialEq)]
pub(super) enum Target<'c> {
    Version(i64),
    Create(i64),
    Mod(i64),
    Value(&'c [u8]),
    Lease(i64),
}

impl<'c> Target<'c> {
    /// Reads the target of `compare`; one that is missing is zero, as in etcd.
    pub(super) fn of(compare: &'c Compare) -> Self {
        use pb::compare::TargetUnion as Union;
        match (compare.target(), &compare.target_union) {
            (CompareTarget::Version, Some(Union::Version(version))) => Self::Version(*version),
            (CompareTarget::Version, _) => Self::Version(0),
            (CompareTarget::Create, Some(Union::CreateRevision(revision))) => Self::Create(*revision),
            (CompareTarget::Create, _) => Self::Create(0),
            (CompareTarget::Mod, Some(Union::ModRevision(revision))) => Self::Mod(*revision),
            (CompareTarget::Mod, _) => Self::Mod(0),
            (CompareTarget::Value, Some(Union::Value(value))) => Self::Value(value),
            (CompareTarget::Value, _) => Self::Value(&[]),
            (CompareTarget::Lease, Some(Union::Lease(lease))) => Self::Lease(*lease),
            (CompareTarget::Lease, _) => Self::Lease(0),
        }
    }
}
