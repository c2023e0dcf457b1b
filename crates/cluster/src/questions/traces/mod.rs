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

use async_stream::try_stream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use ketcd_history::timeline::Story;
use ketcd_kube::{Address, Body, FieldSet};
use ketcd_store::{KeyRange, Want};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;
use crate::related::MAX_CHANGES_AT_ONCE;
use choice::NodeTraces;
use lives::Lives;

pub use ids::{SpanId, TraceId};
pub use model::{
    Link, LinkReason, MAX_START_SPANS, MAX_TRACE_SPANS, MAX_TRACE_STARTS, MissingSpans, Moment, Span, SpanFacts, SpanKind, Trace, Traced,
    Traces,
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
/// What assembling traces reads of the last version of an object, beyond its [`TracedLife`](lives::TracedLife): how it came to be deleted, and the volumes of claims.
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
    /// [`Cluster::since`]: in one part or, of a large cluster, in parts of some namespaces each, so that they are never held at once. `trace_parent` is the
    /// annotation whose value is a trace parent.
    pub fn traces<'c>(&'c self, asked: Option<&'c AskedKeys>, trace_parent: Option<&'c str>) -> BoxStream<'c, Result<Traces>> {
        self.traces_in_parts(asked, trace_parent, MAX_CHANGES_AT_ONCE)
    }

    /// The same in parts of at most so many changes, or of one namespace. A running etcd is read once, for one part.
    pub fn traces_in_parts<'c>(
        &'c self,
        asked: Option<&'c AskedKeys>,
        trace_parent: Option<&'c str>,
        most_changes: usize,
    ) -> BoxStream<'c, Result<Traces>> {
        try_stream! {
            let (uid, after) = (self.uid().await?, self.counted_after());
            let is_asked = |key: &[u8]| asked.is_none_or(|asked| asked.contains(key));
            let namespaces = self.traced_namespaces(asked);
            let keys = Keys::many(self.traced_ranges(namespaces.as_ref()).await?);
            let mut lives = Lives::with(trace_parent);
            let story = Story::keeping(FieldSet::of(STORY_FIELDS));
            let has_all_pods = namespaces.is_none();
            match self.story_plan(&keys, most_changes).await? {
                None => {
                    let story = self.story(story, &keys, false, |change| lives.observe(change)).await?;
                    let mut drafts = assembly::assemble(&story, &lives, has_all_pods);
                    let chosen = choice::choose(&mut drafts, is_asked, after);
                    yield Traces { cluster_uid: uid, ..choice::traces(drafts, &chosen) };
                }
                Some(mut plan) => {
                    plan.join_preemptions(most_changes).await?;
                    let mut parts = plan.begin(story, false, |change| lives.observe(change)).await?;
                    let mut nodes = NodeTraces::default();
                    while parts.next(|change| lives.observe(change)).await? {
                        let mut drafts = assembly::assemble(parts.story(), &lives, has_all_pods);
                        let chosen = choice::choose(&mut drafts, is_asked, after);
                        let made = nodes.take(drafts, &chosen);
                        lives.keep(|key| parts.story().is_settled(key));
                        yield Traces { cluster_uid: uid.clone(), ..made };
                    }
                    yield Traces { cluster_uid: uid, ..nodes.finish() };
                }
            }
        }
        .boxed()
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
