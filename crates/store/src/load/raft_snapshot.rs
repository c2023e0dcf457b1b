//! A raft snapshot (`.snap`): the cluster's members at some entry. It holds no keys.
//!
//! Source: etcd v3.6, `server/etcdserver/api/snap/snapshotter.go` (the file) and `api/v2store` (its data, JSON).

use bytes::Bytes;
use prost::Message;
use serde_json::Value;

use super::db_file::DatabaseFacts;
use crate::proto::{raftpb, snappb};
use crate::versions::{Layer, VersionsBuilder};
use crate::{Member, Revision, RevisionSpan};

pub(super) fn is_one(file: &Bytes) -> bool {
    outer(file).is_some()
}

/// Whether a file may be one by its beginning: a checksum, and then the data.
pub(super) fn begins_so(beginning: &[u8]) -> bool {
    let Some((&[0x08], rest)) = beginning.split_at_checked(1) else { return false };
    let end = rest.iter().take(5).position(|byte| byte & 0x80 == 0);
    end.is_some_and(|end| rest.get(end + 1) == Some(&0x12))
}

fn outer(file: &Bytes) -> Option<snappb::Snapshot> {
    let outer = snappb::Snapshot::decode(file.clone()).ok().filter(|outer| !outer.data.is_empty())?;
    (crc32c::crc32c(&outer.data) == outer.crc).then_some(outer)
}

/// Reads the file; `None` if it is not one. Its checksum says whether it is one.
pub(super) fn read(file: &Bytes, builder: &mut VersionsBuilder) -> Option<DatabaseFacts> {
    let outer = outer(file)?;
    let inner = raftpb::Snapshot::decode(outer.data).ok()?;
    let metadata = inner.metadata.unwrap_or_default();
    let store: Value = serde_json::from_slice(&inner.data).unwrap_or_default();
    let mut members = Vec::new();
    read_members(store.get("Root").unwrap_or(&Value::Null), &mut members);
    let span = RevisionSpan { oldest: Revision(1), newest: Revision(1), compacted: None };
    let layer = builder.layer(Layer { span: Some(span), ..Layer::default() })?;
    let bytes = file.len() as u64;
    let left_out = vec![format!(
        "is a raft snapshot of entry {}: it names {} members and holds no keys, which are in member/snap/db and the log",
        metadata.index,
        members.len()
    )];
    let voters = metadata.conf_state.map(|state| state.voters.len());
    Some(DatabaseFacts {
        file_bytes: bytes,
        in_use_bytes: bytes,
        members,
        voters,
        span: Some(span),
        layer: Some(layer),
        left_out,
        ..DatabaseFacts::default()
    })
}

/// Finds the nodes `/0/members/<id>/attributes` of the store.
fn read_members(node: &Value, members: &mut Vec<Member>) {
    let path = node.get("Path").and_then(Value::as_str).unwrap_or_default();
    if let Some(id) = path.strip_prefix("/0/members/").and_then(|rest| rest.strip_suffix("/attributes")) {
        let attributes: Value =
            node.get("Value").and_then(Value::as_str).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let urls = attributes.get("clientURLs").and_then(Value::as_array).into_iter().flatten();
        let endpoint = urls.filter_map(Value::as_str).collect::<Vec<_>>().join(",");
        members.push(Member { endpoint, id: id.to_owned(), ..Member::default() });
    }
    let children = node.get("Children").and_then(Value::as_object);
    children.into_iter().flatten().for_each(|(_, child)| read_members(child, members));
}
