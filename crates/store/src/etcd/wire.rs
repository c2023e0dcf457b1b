//! Key ranges and key-values as etcd's messages have them.

use bytes::Bytes;

use super::config::Consistency;
use crate::proto::etcdserverpb::RangeRequest;
use crate::proto::mvccpb;
use crate::{KeyRange, KeyValue, Revision};

/// Asks for a range, all of it, at a revision or the newest.
pub(super) fn range_request(keys: &KeyRange, revision: Option<Revision>) -> RangeRequest {
    RangeRequest {
        key: nonempty(&keys.start).into(),
        range_end: range_end(keys, &keys.start).unwrap_or_default().into(),
        revision: revision.map_or(0, |revision| revision.0),
        ..RangeRequest::default()
    }
}

impl RangeRequest {
    /// The same request to the leader, or to what the member itself holds.
    pub(super) fn with(&self, consistency: Consistency) -> Self {
        Self { serializable: consistency == Consistency::Serializable, ..self.clone() }
    }
}

/// The `range_end` of etcd's requests: none for one key alone, `\0` for "no upper end".
pub(super) fn range_end(keys: &KeyRange, start: &[u8]) -> Option<Vec<u8>> {
    match &keys.end {
        None => Some(vec![0]),
        Some(end) if end.len() == start.len() + 1 && end.starts_with(start) && end.ends_with(&[0]) => None,
        Some(end) => Some(end.clone()),
    }
}

/// etcd has no empty key; the first possible one is `\0`.
pub(super) fn nonempty(start: &[u8]) -> Vec<u8> {
    if start.is_empty() { vec![0] } else { start.to_vec() }
}

pub(super) fn bytes(values: &[mvccpb::KeyValue]) -> usize {
    values.iter().map(|kv| kv.key.len() + kv.value.len()).sum()
}

/// A key-value of an answer. Its value is a slice of the message and keeps it; its key is a copy, because keys are often kept alone.
pub(super) fn key_value(kv: mvccpb::KeyValue) -> KeyValue {
    KeyValue {
        key: Bytes::copy_from_slice(&kv.key),
        value: kv.value,
        create_revision: Revision(kv.create_revision),
        mod_revision: Revision(kv.mod_revision),
        version: kv.version,
        replaced: Revision(0),
        lease: kv.lease,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::etcdserverpb::RangeResponse;

    #[test]
    fn a_value_is_a_slice_of_its_message_and_a_key_is_not() {
        let kv = mvccpb::KeyValue { key: "/registry/pods/a/b".into(), value: "v".repeat(100).into(), ..mvccpb::KeyValue::default() };
        let message = Bytes::from(RangeResponse { kvs: vec![kv], ..RangeResponse::default() }.encode_to_vec());
        let entry = RangeResponse::decode(message.clone()).unwrap().kvs.pop().map(key_value).unwrap();
        let is_part = |bytes: &Bytes| message.as_ptr_range().contains(&bytes.as_ptr());
        assert!(is_part(&entry.value) && !is_part(&entry.key));
    }

    #[test]
    fn one_key_has_no_range_end_and_all_keys_have_none_above() {
        let key = KeyRange::key("/registry/pods/a/b");
        assert_eq!(range_end(&key, &key.start), None);
        let prefix = KeyRange::prefix("/registry/pods/");
        assert_eq!(range_end(&prefix, &prefix.start), Some(b"/registry/pods0".to_vec()));
        assert_eq!(range_end(&prefix, b"/registry/pods/a/b\0"), Some(b"/registry/pods0".to_vec()));
        assert_eq!(range_end(&KeyRange::all(), &[0]), Some(vec![0]));
        assert_eq!(nonempty(&KeyRange::prefix("").start), vec![0]);
    }
}
