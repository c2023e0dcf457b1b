//! Key ranges and key-values as etcd's messages have them.

use bytes::Bytes;
use etcd_client::GetOptions;
use etcd_client::proto::PbKeyValue;

use crate::{KeyRange, KeyValue, Revision};

/// The first key and the options that ask for a range.
pub(super) fn options_of(keys: &KeyRange, revision: Option<Revision>, options: GetOptions) -> (Vec<u8>, GetOptions) {
    let options = range_of(keys, &keys.start, options);
    (nonempty(&keys.start), options.with_revision(revision.map_or(0, |revision| revision.0)))
}

/// etcd takes a single key without a range end, and `\0` as "no upper end".
pub(super) fn range_of(keys: &KeyRange, start: &[u8], options: GetOptions) -> GetOptions {
    match range_end(keys, start) {
        Some(end) => options.with_range(end),
        None => options,
    }
}

/// The `range_end` of etcd's requests; none for one key alone.
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

/// How many bytes of keys and values these are.
pub(super) fn bytes(values: &[PbKeyValue]) -> usize {
    values.iter().map(|kv| kv.key.len() + kv.value.len()).sum()
}

/// A key-value of a message.
pub(super) fn key_value(kv: PbKeyValue) -> KeyValue {
    KeyValue {
        key: Bytes::from(kv.key),
        value: Bytes::from(kv.value),
        create_revision: Revision(kv.create_revision),
        mod_revision: Revision(kv.mod_revision),
        version: kv.version,
        replaced: Revision(0),
        lease: kv.lease,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
