//! Required terms by hostname, held against a node's own pods where InterPodAffinityHostnameFastPath is on.
//! Source: `plugins/interpodaffinity/filtering.go` (1.37).

use std::sync::Arc;

use crate::cluster::{AffinityTerm, NodeInfo, PodInfo, TermKind};
use crate::{Candidate, Cycle};

use super::{others_term_matches, own_term_matches, own_term_reaches};

/// The key of such terms.
pub(crate) const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// The terms that each node answers for itself, whatever its hostname label says: it must only have one.
pub(super) struct Local<'a> {
    cycle: &'a Cycle<'a>,
    /// The pod's affinity, if all of it is by hostname.
    affinity: &'a [Arc<AffinityTerm>],
    /// How many pods match that affinity, on any node.
    anywhere: i64,
    anti_affinity: Vec<&'a AffinityTerm>,
    /// Whether any pod has anti-affinity by hostname, against whom ever.
    objections: bool,
}

pub(crate) fn by_hostname(term: &AffinityTerm) -> bool {
    &*term.topology_key == HOSTNAME_LABEL
}

impl<'a> Local<'a> {
    /// What is left to the nodes; `None` where the gate is off.
    pub(super) fn new(cycle: &'a Cycle<'a>) -> Option<Self> {
        if !cycle.profile.gates.on("InterPodAffinityHostnameFastPath") {
            return None;
        }
        let spec = &cycle.pod.spec;
        let affinity = &spec.pod_affinity.required;
        let affinity = if affinity.iter().all(|term| by_hostname(term)) { affinity.as_slice() } else { &[] };
        let anti_affinity = spec.pod_anti_affinity.required.iter().map(|term| &**term).filter(|term| by_hostname(term)).collect();
        let mut terms = cycle.state.terms().filter(|(term, _)| term.kind == TermKind::RequiredAntiAffinity && by_hostname(&term.term));
        let objections = terms.any(|(_, nodes)| {
            let nodes = cycle.listed(nodes, |listed| &listed.required_anti_affinity);
            nodes.keys().any(|node| cycle.state.node_by_id(*node).exists)
        });
        let mut local = Self { cycle, affinity, anywhere: 0, anti_affinity, objections };
        local.anywhere = local.count();
        Some(local)
    }

    /// Whether nothing is left to the nodes.
    pub(super) fn is_idle(&self) -> bool {
        self.affinity.is_empty() && self.anti_affinity.is_empty() && !self.objections
    }

    /// Whether the pod's affinity is the nodes' matter.
    pub(super) fn takes_affinity(&self) -> bool {
        !self.affinity.is_empty()
    }

    fn count(&self) -> i64 {
        let reached = |namespace: &&Arc<str>| self.affinity.iter().all(|term| own_term_reaches(term, namespace, self.cycle));
        let state = self.cycle.state;
        let groups = state.populated_namespaces().filter(|_| self.takes_affinity()).filter(reached).flat_map(|name| state.groups_in(name));
        let matching = groups.filter(|group| self.affinity.iter().all(|term| term.matches_labels(&group.labels)));
        matching
            .flat_map(|group| &group.nodes)
            .filter(|(node, _)| state.node_by_id(**node).exists)
            .map(|(_, count)| i64::from(*count))
            .sum()
    }

    fn meets_affinity(&self, pod: &PodInfo) -> bool {
        self.affinity.iter().all(|term| own_term_matches(term, pod, self.cycle))
    }

    /// Whether a pod that matches all terms is on the node, or none anywhere and the pod is the first of its series.
    pub(super) fn affinity_holds(&self, node: &Candidate) -> bool {
        let matching = |pods: &[Arc<PodInfo>]| pods.iter().filter(|pod| self.meets_affinity(pod)).count() as i64;
        let anywhere = || self.anywhere + matching(node.added) - matching(node.removed);
        has_name(node) && (matching(&node.pods) > 0 || anywhere() <= 0 && self.meets_affinity(self.cycle.pod))
    }

    /// Whether no pod on the node is one the pod wants to be apart from.
    pub(super) fn apart_holds(&self, node: &Candidate) -> bool {
        let unwanted = |pod: &Arc<PodInfo>| self.anti_affinity.iter().any(|term| own_term_matches(term, pod, self.cycle));
        self.anti_affinity.is_empty() || !has_name(node) || !node.pods.iter().any(unwanted)
    }

    /// Whether no pod on the node wants to be apart from the pod.
    pub(super) fn no_objection(&self, node: &Candidate) -> bool {
        let terms = || node.pods.iter().flat_map(|pod| pod.spec.pod_anti_affinity.required_of_running());
        !has_name(node) || !terms().any(|term| by_hostname(term) && others_term_matches(term, self.cycle))
    }
}

fn has_name(node: &NodeInfo) -> bool {
    node.labels.get(HOSTNAME_LABEL).is_some()
}
