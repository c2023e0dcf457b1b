//! What controllers left behind: pods, jobs and custom resources that have ended, ReplicaSets of earlier rollouts, superseded Helm releases,
//! objects whose owner is gone.

use std::collections::BTreeMap;

use ketcd_history::usage::{Remains, remains, superseded_release};
use ketcd_kube::{Decoder, Excerpt, FieldSet, ShownValue};
use ketcd_store::KeyValue;

use super::usage_data::Left;
use crate::cluster::Cluster;
use crate::error::Result;

/// What says why an object is left behind, and by whom.
const LEFTOVER_FIELDS: &[&str] = &[
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

/// What says of which Helm release an object is. The data are not read.
const RELEASE_FIELDS: &[&str] = &["kind", "metadata.labels", "metadata.namespace", "type"];
/// What the names of Helm 3's objects begin with, and what Helm 2's have as a label.
const HELM_RELEASE_PREFIX: &[u8] = b"/sh.helm.release.v1.";
const TILLER_LABEL: &[u8] = b"TILLER";
/// What encrypted values begin with: nothing can be found in them before they are opened.
const SEALED_PREFIX: &[u8] = b"k8s:enc:";

/// How custom resources say that they have ended: JSON and CBOR both spell names out.
const END_MEMBERS: [&[u8]; 2] = [b"completionTime", b"finishedAt"];
/// What they begin with (RFC 8259; RFC 8949, 3.4.6).
const CUSTOM_RESOURCE_PREFIXES: [&[u8]; 2] = [b"{", &[0xd9, 0xd9, 0xf7]];

/// A kind, the kind of its owner, a Helm release and a reason.
type Class = (String, String, String, Remains);

/// Reads what says that an object was left behind.
pub(super) struct LeftoverReader {
    prefix: String,
    decoder: Decoder,
    pods: Option<Excerpt>,
    fields: FieldSet,
    release_fields: FieldSet,
}

/// Sums by class.
#[derive(Default)]
pub(super) struct LeftBehind {
    found: BTreeMap<Class, (u64, u64)>,
}

impl LeftBehind {
    /// Notes an object that was left behind.
    pub(super) fn add(&mut self, class: Class, bytes: u64) {
        let sum = self.found.entry(class).or_default();
        sum.0 += 1;
        sum.1 += bytes;
    }

    /// The most bytes first.
    pub(super) fn finish(self, owners: Vec<Left>) -> Vec<Left> {
        let left = self.found.into_iter();
        let left = left.map(|((kind, owner, release, reason), (objects, bytes))| Left { kind, owner, release, reason, objects, bytes });
        let mut left: Vec<Left> = left.chain(owners).collect();
        left.sort_by_key(|left| std::cmp::Reverse(left.bytes));
        left
    }
}

impl LeftoverReader {
    pub(super) async fn new(cluster: &Cluster) -> Result<Self> {
        Ok(Self {
            prefix: cluster.prefix().await?.to_owned(),
            decoder: cluster.decoder.clone(),
            pods: cluster.decoder.excerpt("v1", "Pod", &FieldSet::of(["metadata.namespace"]), &["status.phase"]),
            fields: FieldSet::of(LEFTOVER_FIELDS.iter().copied()),
            release_fields: FieldSet::of(RELEASE_FIELDS.iter().copied()),
        })
    }

    /// Returns what an object is that was left behind; `None` where it was not.
    pub(super) fn look(&self, entry: &KeyValue) -> Option<Class> {
        let decode = |fields: &FieldSet| self.decoder.only(fields).decode(&entry.key, &entry.value, entry.mod_revision.0);
        if self.may_be_release(entry) {
            let decoded = decode(&self.release_fields);
            let object = decoded.object()?;
            let name = superseded_release(object)?;
            let release = format!("{}/{name}", object["metadata"]["namespace"].as_str().unwrap_or_default());
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            return Some((kind, String::new(), release, Remains::SupersededRelease));
        }
        if !self.may_be_left(entry) {
            return None;
        }
        let decoded = decode(&self.fields);
        let object = decoded.object()?;
        let reason = remains(object)?;
        let owner = object["metadata"]["ownerReferences"][0]["kind"].as_str().unwrap_or_default().to_owned();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        Some((kind, owner, String::new(), reason))
    }

    /// Whether Helm may have stored a release in it.
    fn may_be_release(&self, entry: &KeyValue) -> bool {
        let Some(path) = entry.key.strip_prefix(self.prefix.as_bytes()) else { return false };
        let holds = |text: &[u8], part: &[u8]| memchr::memmem::find(text, part).is_some();
        (path.starts_with(b"/secrets/") || path.starts_with(b"/configmaps/"))
            && (holds(path, HELM_RELEASE_PREFIX) || entry.value.starts_with(SEALED_PREFIX) || holds(&entry.value, TILLER_LABEL))
    }

    /// Whether it has to be decoded: of pods the phase is read where it is stored, custom resources spell out that they have ended.
    fn may_be_left(&self, entry: &KeyValue) -> bool {
        let Some(path) = entry.key.strip_prefix(self.prefix.as_bytes()) else { return false };
        if path.starts_with(b"/pods/") {
            let (mut is_over, mut copied) = (false, Vec::new());
            let read = self.pods.as_ref().is_some_and(|pods| {
                pods.append(&entry.key, &entry.value, &mut copied, |shown| {
                    is_over |= matches!(shown.value, ShownValue::Text("Succeeded" | "Failed"));
                })
            });
            return is_over || !read;
        }
        if path.starts_with(b"/jobs/") || path.starts_with(b"/replicasets/") {
            return true;
        }
        let is_custom = CUSTOM_RESOURCE_PREFIXES.iter().any(|begin| entry.value.starts_with(begin));
        is_custom && END_MEMBERS.iter().any(|name| memchr::memmem::find(&entry.value, name).is_some())
    }
}
