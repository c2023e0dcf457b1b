//! Times as traces: the starts of pods as parts of their rollouts and Jobs, what happened to pods later, and the outages of nodes.
//!
//! There is a trace for each rollout, Job, pod and outage, and never one for a cluster: tracing systems fail at some 40,000 spans. Every time is one
//! that a timeline shows; what has no readable begin or end is left out and counted.

mod assembly;
mod choice;
mod ids;
mod lives;
mod model;
mod node;
mod parents;
mod pod_later;
mod pod_start;
mod spans;
mod trace_parent;

use std::collections::BTreeSet;

use ketcd_history::timeline::Story;
use ketcd_kube::{Address, Body, FieldSet};
use ketcd_store::{KeyRange, Want};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;
use lives::Lives;

pub use ids::{SpanId, TraceId};
pub use model::{
    LeftOut, Link, LinkReason, MAX_START_SPANS, MAX_TRACE_SPANS, MAX_TRACE_STARTS, Moment, Span, SpanFacts, SpanKind, Trace, Traced, Traces,
};

/// Namespaced kinds that traces are of or need.
const NAMESPACED_KINDS: [&str; 9] = [
    "pods",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
];
/// What assembling traces reads of the last version of an object, beyond its [`Life`](lives::Life): how it came to be deleted, and the volumes of claims.
const STORY_FIELDS: [&str; 13] = [
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.ownerReferences",
    "metadata.finalizers",
    "metadata.deletionTimestamp",
    "spec.nodeName",
    "spec.source",
    "spec.volumeName",
    "status.conditions",
    "status.phase",
];
/// Kinds without a namespace that traces are of or need.
const CLUSTER_KINDS: [&str; 4] = ["nodes", "namespaces", "persistentvolumes", "volumeattachments.storage.k8s.io"];

impl Cluster {
    /// Returns the traces that are about the objects asked for, with those that these follow from, as far as anything in them ended since
    /// [`Cluster::since`]. `trace_parent` is the annotation whose value is a trace parent.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn traces(&self, asked: Option<&AskedKeys>, trace_parent: Option<&str>) -> Result<Traces> {
        let namespaces = self.traced_namespaces(asked);
        let keys = Keys::many(self.traced_ranges(namespaces.as_ref()).await?);
        let mut lives = Lives::with(trace_parent);
        let story = Story::keeping(FieldSet::of(STORY_FIELDS));
        let story = self.story(story, &keys, false, |change| lives.observe(change)).await?;
        let drafts = assembly::assemble(&story, &lives, namespaces.is_none());
        let mut traces = choice::choose(drafts, |key| asked.is_none_or(|asked| asked.contains(key)), self.counted_after());
        traces.cluster_uid = self.uid().await?;
        Ok(traces)
    }

    /// The keys that traces need: of these namespaces, or of all.
    async fn traced_ranges(&self, namespaces: Option<&BTreeSet<String>>) -> Result<Vec<KeyRange>> {
        let (kinds, prefix) = (self.kinds().await?, self.prefix().await?);
        let mut ranges = Vec::new();
        let mut add = |word: &str, namespace: Option<&str>| {
            if let Ok(kind) = kinds.find(word) {
                ranges.push(KeyRange::prefix(kind.key_prefix(prefix, namespace)));
            }
        };
        CLUSTER_KINDS.iter().for_each(|word| add(word, None));
        for word in NAMESPACED_KINDS {
            match namespaces {
                None => add(word, None),
                Some(namespaces) => namespaces.iter().for_each(|namespace| add(word, Some(namespace))),
            }
        }
        Ok(ranges)
    }

    /// The namespaces that everything asked for is in; `None` where it is more than some.
    fn traced_namespaces(&self, asked: Option<&AskedKeys>) -> Option<BTreeSet<String>> {
        let asked = asked?;
        if asked.addresses.is_empty() {
            return self.options.namespace.clone().filter(|_| asked.named().is_empty()).map(|namespace| BTreeSet::from([namespace]));
        }
        let namespace = |address: &Address| match address {
            Address::Objects { namespace, .. } => namespace.clone(),
            Address::Key(_) => None,
        };
        asked.addresses.iter().map(namespace).collect()
    }

    /// The uid of kube-system, which is taken for a cluster's id.
    async fn uid(&self) -> Result<Option<String>> {
        let key = KeyRange::key(format!("{}/namespaces/kube-system", self.prefix().await?));
        for entry in self.source.first(key, self.at, Want::Values, 1).await? {
            if let Body::Object(namespace) = self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                return Ok(namespace["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()).map(str::to_owned));
            }
        }
        Ok(None)
    }
}
