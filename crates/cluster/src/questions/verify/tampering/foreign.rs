//! Keys of no API server.
//!
//! Others may share an etcd, so that keys of another program are not a sign by themselves: each group is counted once. Only a few keys that were written once,
//! late, by no program that is known, in no form of an object, are named, with little weight. Exempt are the empty key, under which
//! `etcdutl snapshot restore --bump-revision` leaves a record (etcd v3.7, `etcdutl/snapshot/v3_snapshot.go`), and the keys of other clusters that share the
//! etcd under a prefix of their own.

use std::collections::BTreeMap;

use bytes::Bytes;

use ketcd_kube::RegistryKey;
use ketcd_store::{EventKind, Revision};

use super::super::finding::Weight;
use super::change::Change;
use super::evidence::{Evidence, Found};
use super::programs::{group_of, program_of};
use super::rule::{Rule, TamperingFacts};
use super::stored::Encoding;

/// More keys under one beginning are a program's.
const MAX_STRAYS: usize = 3;

/// Into how many parts the history is cut; a key is late that was created in the last one.
const HISTORY_PARTS: i64 = 4;

/// Keys that begin alike.
#[derive(Default)]
struct KeyGroup {
    /// The first of them, with the revision that wrote each.
    keys: BTreeMap<Bytes, Revision>,
    /// The revision that created the first.
    since: Revision,
    /// Whether one was written twice, or holds what API servers store.
    is_used: bool,
}

/// Looks at keys outside the API server's.
pub(super) struct Foreign {
    prefix: String,
    groups: BTreeMap<String, KeyGroup>,
}

impl Foreign {
    /// Looks at keys that do not lie below `prefix`, or not as objects do.
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), groups: BTreeMap::new() }
    }
}

impl Rule for Foreign {
    fn see(&mut self, change: &Change<'_>, _: &TamperingFacts<'_>, _: &mut Found) {
        let key = change.key();
        if !matches!(change.place, RegistryKey::Foreign) || key.is_empty() || program_of(key).is_some() {
            return;
        }
        let group = self.groups.entry(group_of(&self.prefix, key)).or_default();
        let Some(stored) = change.stored.filter(|_| change.kind == EventKind::Put) else {
            group.is_used = true;
            return;
        };
        let is_object = matches!(stored.encoding, Encoding::Protobuf | Encoding::Cbor | Encoding::Sealed { .. });
        if group.keys.is_empty() {
            group.since = change.version.create_revision;
        }
        group.is_used |= is_object || change.version.version != 1 || group.keys.len() > MAX_STRAYS;
        if !group.is_used {
            group.is_used = group.keys.insert(key.clone(), change.revision()).is_some();
        }
    }

    fn finish(&mut self, facts: &TamperingFacts<'_>, found: &mut Found) {
        for (start, group) in std::mem::take(&mut self.groups) {
            let is_late = group.since.0 > facts.newest.0 - facts.newest.0 / HISTORY_PARTS;
            if group.is_used || !is_late || group.keys.len() > MAX_STRAYS {
                continue;
            }
            for (key, revision) in &group.keys {
                let says = "a key that is not an API server's, written once and by no program that is known";
                let fact = format!("{} keys begin with {start}, the first since revision {}", group.keys.len(), group.since);
                found.add(Evidence::new(*revision, key, Weight::Low, says).because(fact).of_copies());
            }
        }
    }
}
