//! What controllers left behind: pods, jobs and custom resources that have ended, ReplicaSets of earlier rollouts.

use std::collections::BTreeMap;

use ketcd_history::usage::{Remains, remains};
use ketcd_kube::{Excerpt, FieldSet, ShownValue};
use ketcd_store::KeyValue;

use crate::cli::Result;
use crate::cli::session::Session;
use crate::render::usage::Left;

/// What says why an object is left behind, and by whom.
const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata.ownerReferences",
    "spec.replicas",
    "status.completionTime",
    "status.conditions",
    "status.finishedAt",
    "status.phase",
    "status.replicas",
];

/// How custom resources say that they have ended: JSON and CBOR both spell names out.
const ENDS: [&[u8]; 2] = [b"completionTime", b"finishedAt"];
/// What they begin with (RFC 8259; RFC 8949, 3.4.6).
const BEGINS: [&[u8]; 2] = [b"{", &[0xd9, 0xd9, 0xf7]];

/// Sums by kind, owner's kind and reason.
pub(super) struct LeftBehind {
    prefix: String,
    pods: Option<Excerpt>,
    fields: FieldSet,
    found: BTreeMap<(String, String, Remains), (u64, u64)>,
    copied: Vec<u8>,
}

impl LeftBehind {
    pub(super) async fn new(session: &Session) -> Result<Self> {
        Ok(Self {
            prefix: session.prefix().await?.to_owned(),
            pods: session.decoder.excerpt("v1", "Pod", &FieldSet::of(["metadata.namespace"]), &["status.phase"]),
            fields: FieldSet::of(FIELDS.iter().copied()),
            found: BTreeMap::new(),
            copied: Vec::new(),
        })
    }

    pub(super) fn see(&mut self, session: &Session, entry: &KeyValue) {
        if !self.may_be_left(entry) {
            return;
        }
        let decoded = session.decoder.decode_only(&entry.key, &entry.value, entry.mod_revision.0, &self.fields);
        let Some(object) = decoded.object() else { return };
        let Some(reason) = remains(object) else { return };
        let owner = object["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let sum = self.found.entry((kind, owner, reason)).or_default();
        sum.0 += 1;
        sum.1 += entry.value.len() as u64;
    }

    /// Whether it has to be decoded: of pods the phase is read where it is stored, custom resources spell out that they have ended.
    fn may_be_left(&mut self, entry: &KeyValue) -> bool {
        let Some(path) = entry.key.strip_prefix(self.prefix.as_bytes()) else { return false };
        if path.starts_with(b"/pods/") {
            let mut is_over = false;
            self.copied.clear();
            let read = self.pods.as_ref().is_some_and(|pods| {
                pods.append(&entry.key, &entry.value, &mut self.copied, |shown| {
                    is_over |= matches!(shown.value, ShownValue::Text("Succeeded" | "Failed"));
                })
            });
            return is_over || !read;
        }
        if path.starts_with(b"/jobs/") || path.starts_with(b"/replicasets/") {
            return true;
        }
        let is_custom = BEGINS.iter().any(|begin| entry.value.starts_with(begin));
        is_custom && ENDS.iter().any(|name| entry.value.windows(name.len()).any(|bytes| bytes == *name))
    }

    /// The most bytes first.
    pub(super) fn finish(self) -> Vec<Left> {
        let left = self.found.into_iter().map(|((kind, owner, reason), (objects, bytes))| Left { kind, owner, reason, objects, bytes });
        let mut left: Vec<Left> = left.collect();
        left.sort_by_key(|left| std::cmp::Reverse(left.bytes));
        left
    }
}
