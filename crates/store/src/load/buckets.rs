//! The small buckets of etcd's database: the store, its members, their alarms, leases, users and roles.

use std::collections::BTreeSet;

use super::bolt::{Bolt, Bucket, BucketPair, Walk};
use super::wal::Auth;
use prost::Message;

use super::mvcc::RevisionKey;
use crate::proto::authpb::{Role, User};
use crate::proto::etcdserverpb::AlarmMember;
use crate::proto::leasepb::Lease;
use crate::{Alarm, Member, Revision};

/// What the bucket `meta` says.
#[derive(Default)]
pub(super) struct MetaBucket {
    /// What cannot be right in it, one sentence each.
    pub problems: Vec<String>,
    /// The raft index of the last entry applied.
    pub consistent_index: u64,
    scheduled_compaction: Option<i64>,
    finished_compaction: Option<i64>,
    /// How many members vote, where it holds that.
    pub voters: Option<usize>,
    /// Whether each commit wrote down the last entry applied: since 3.6, whose databases say their version. Before, a commit could hold leases,
    /// users and roles of later entries that changed no key (etcd v3.4.23, `mvcc/kvstore_txn.go`).
    pub has_exact_index: bool,
}

impl MetaBucket {
    pub(super) fn read(bolt: &Bolt, walk: &mut Walk<'_>, bucket: &Bucket) -> Self {
        let mut meta = Self::default();
        walk.bucket(bucket, &mut |pair| {
            let value = &bolt.image[pair.value];
            let revision = || RevisionKey::read(value).filter(|key| key.sub == 0 && !key.tombstone).map(|key| key.main);
            let is_read = match &bolt.image[pair.key.clone()] {
                b"consistent_index" => {
                    let index = value.try_into().ok().map(u64::from_be_bytes);
                    meta.consistent_index = index.unwrap_or_default();
                    index.is_some()
                }
                b"scheduledCompactRev" => {
                    meta.scheduled_compaction = revision();
                    meta.scheduled_compaction.is_some()
                }
                b"finishedCompactRev" => {
                    meta.finished_compaction = revision();
                    meta.finished_compaction.is_some()
                }
                b"confState" => {
                    meta.voters = voters(value);
                    true
                }
                b"storageVersion" => {
                    meta.has_exact_index = true;
                    true
                }
                _ => true,
            };
            if !is_read {
                meta.problems.push(format!("bucket meta: {} cannot be read", bolt.image[pair.key].escape_ascii()));
            }
        });
        if meta.finished_compaction > meta.scheduled_compaction {
            meta.problems.push("bucket meta: a compaction was finished that was never scheduled".to_owned());
        }
        meta
    }

    /// The revision of the last compaction. One that was under way may have removed entries already, so it counts as done.
    pub(super) fn compacted(&self) -> Option<Revision> {
        self.scheduled_compaction.max(self.finished_compaction).filter(|&main| main > 0).map(Revision)
    }

    /// Whether the compaction has removed all that it removes.
    pub(super) fn is_compaction_finished(&self) -> bool {
        self.scheduled_compaction == self.finished_compaction
    }
}

/// Counts the voters of raft's configuration: JSON. While it changes there are two sets, and none is counted.
fn voters(json: &[u8]) -> Option<usize> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let outgoing = value.get("voters_outgoing").and_then(|voters| voters.as_array()).map_or(0, Vec::len);
    value.get("voters")?.as_array().map(Vec::len).filter(|_| outgoing == 0)
}

/// Reads a member of the bucket `members`: JSON.
pub(super) fn member(json: &[u8]) -> Option<Member> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    let id = value.get("id")?.as_u64()?;
    let urls = |field: &str| -> Vec<String> {
        let urls = value.get(field).and_then(|urls| urls.as_array()).into_iter().flatten();
        urls.filter_map(|url| url.as_str().map(str::to_owned)).collect()
    };
    let name = value.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    Some(Member { endpoint: urls("clientURLs").join(","), id: format!("{id:x}"), name, peer_urls: urls("peerURLs"), ..Member::default() })
}

/// Reads a key of the bucket `alarm`: the member, and which alarm it raised.
pub(super) fn alarm(bytes: &[u8]) -> Option<(u64, i32)> {
    let AlarmMember { member_id, alarm } = AlarmMember::decode(bytes).ok()?;
    Alarm::new(member_id, alarm).map(|_| (member_id, alarm))
}

/// Reads a value of the bucket `lease`: the lease's id.
pub(super) fn lease(bytes: &[u8]) -> Option<i64> {
    Lease::decode(bytes).ok().map(|lease| lease.id).filter(|&id| id != 0)
}

/// Reads a pair of the bucket `auth`, `authUsers` or `authRoles` into `auth`; `None` where it cannot be read.
pub(super) fn auth(bolt: &Bolt, bucket: &[u8], pair: BucketPair, auth: &mut Auth) -> Option<()> {
    let (key, value) = (&bolt.image[pair.key], bolt.image.slice(pair.value));
    match (bucket, key) {
        (b"auth", b"authEnabled") => auth.is_enabled = value[..] == [1],
        (b"auth", b"authRevision") => auth.revision = u64::from_be_bytes(value[..].try_into().ok()?),
        (b"authUsers", name) => {
            let roles: BTreeSet<String> = User::decode(value).ok()?.roles.into_iter().collect();
            auth.users.insert(String::from_utf8(name.to_vec()).ok()?, roles);
        }
        (b"authRoles", name) => {
            let permissions = Role::decode(value).ok()?.key_permission;
            auth.roles.insert(String::from_utf8(name.to_vec()).ok()?, permissions);
        }
        _ => {}
    }
    Some(())
}
