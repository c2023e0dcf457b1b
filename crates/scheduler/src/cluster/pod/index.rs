//! Indices over pods for the plugins that count other pods: groups of equal labels, and the affinity terms of pods.
//! A query over 150,000 pods becomes one over a few thousand groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;

use crate::cluster::{AffinityTerm, Labels, NodeId, PodInfo};

/// How many of something each node has; no entry means none.
pub(crate) type NodeCounts = BTreeMap<NodeId, u32>;

/// The bound pods of one namespace that have the same labels and are all terminating, or all not.
#[derive(Clone, Debug)]
pub(crate) struct LabelGroup {
    pub(crate) namespace: Arc<str>,
    pub(crate) labels: Labels,
    /// Whether they are being deleted.
    pub(crate) terminating: bool,
    /// How many of them are on each node.
    pub(crate) nodes: NodeCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::enum_variant_names, reason = "the names of the API's fields")]
pub(crate) enum TermKind {
    RequiredAffinity,
    RequiredAntiAffinity,
    /// Preferred affinity, with its weight.
    PreferredAffinity(i32),
    /// Preferred anti-affinity, with its weight.
    PreferredAntiAffinity(i32),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WeightedTerm {
    pub(crate) kind: TermKind,
    pub(crate) term: Arc<AffinityTerm>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::cluster) struct PodIndex {
    groups: HashMap<Arc<str>, HashMap<(Labels, bool), LabelGroup>>,
    terms: HashMap<WeightedTerm, NodeCounts>,
}

impl PodIndex {
    pub(in crate::cluster) fn add(&mut self, pod: &PodInfo, node: NodeId) {
        let groups = self.groups.entry(pod.namespace.clone()).or_default();
        let group = groups.entry((pod.labels.clone(), pod.terminating)).or_insert_with(|| LabelGroup {
            namespace: pod.namespace.clone(),
            labels: pod.labels.clone(),
            terminating: pod.terminating,
            nodes: NodeCounts::new(),
        });
        *group.nodes.entry(node).or_insert(0) += 1;
        for term in terms(pod) {
            *self.terms.entry(term).or_default().entry(node).or_insert(0) += 1;
        }
    }

    pub(in crate::cluster) fn remove(&mut self, pod: &PodInfo, node: NodeId) {
        if let Some(groups) = self.groups.get_mut(&pod.namespace) {
            let key = (pod.labels.clone(), pod.terminating);
            if let Some(group) = groups.get_mut(&key) {
                decrease(&mut group.nodes, node);
                if group.nodes.is_empty() {
                    groups.remove(&key);
                }
            }
        }
        for term in terms(pod) {
            if let Some(nodes) = self.terms.get_mut(&term) {
                decrease(nodes, node);
                if nodes.is_empty() {
                    self.terms.remove(&term);
                }
            }
        }
    }

    pub(in crate::cluster) fn groups_in(&self, namespace: &str) -> impl Iterator<Item = &LabelGroup> {
        self.groups.get(namespace).into_iter().flat_map(|groups| groups.values())
    }

    pub(in crate::cluster) fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.groups.iter().filter(|(_, groups)| !groups.is_empty()).map(|(namespace, _)| namespace)
    }

    /// The terms that bound pods have, each with the nodes of the pods.
    pub(in crate::cluster) fn terms(&self) -> impl Iterator<Item = (&WeightedTerm, &NodeCounts)> {
        self.terms.iter()
    }
}

/// Whether two versions of a pod have the same index entries.
pub(in crate::cluster) fn same_entries(a: &PodInfo, b: &PodInfo) -> bool {
    a.is_on_node() == b.is_on_node()
        && a.node_name == b.node_name
        && a.terminating == b.terminating
        && a.namespace == b.namespace
        && a.labels == b.labels
        && Arc::ptr_eq(&a.spec, &b.spec)
}

fn decrease(counts: &mut NodeCounts, node: NodeId) {
    if let Some(count) = counts.get_mut(&node) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&node);
        }
    }
}

pub(in crate::cluster) fn terms(pod: &PodInfo) -> impl Iterator<Item = WeightedTerm> {
    let (affinity, anti) = (&pod.spec.pod_affinity, &pod.spec.pod_anti_affinity);
    let required =
        |terms: &[Arc<AffinityTerm>], kind| terms.iter().map(move |term| WeightedTerm { kind, term: term.clone() }).collect::<Vec<_>>();
    let mut all = required(affinity.required_of_running(), TermKind::RequiredAffinity);
    all.extend(required(anti.required_of_running(), TermKind::RequiredAntiAffinity));
    all.extend(
        affinity
            .preferred_of_running()
            .iter()
            .map(|(weight, term)| WeightedTerm { kind: TermKind::PreferredAffinity(*weight), term: term.clone() }),
    );
    all.extend(
        anti.preferred_of_running()
            .iter()
            .map(|(weight, term)| WeightedTerm { kind: TermKind::PreferredAntiAffinity(*weight), term: term.clone() }),
    );
    all.into_iter()
}
