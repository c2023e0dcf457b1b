//! Whether an event may let a pod fit that a plugin refused: what each plugin registers (`EventsToRegister`) and answers when it is asked
//! (`QueueingHintFn`). Sources: `plugins/*/` of 1.37; where a release does not ask (gate SchedulerQueueingHints), the event's kind decides.

use std::sync::Arc;

use crate::Profile;
use crate::cluster::{ClusterState, Node, NodeInfo, PodInfo, WatchedKind, host_ports};
use crate::framework::Cycle;
use crate::plugins::pod_topology_spread::hard_constraints;
use crate::plugins::{CORDON_TAINT, node_resources_fit, others_term_matches, own_term_matches, required_matches, tolerates, untolerated};
use crate::pod_groups::{GroupId, Hierarchy};

use super::{ClusterEvent, Pod, asks_plugins};

/// Whether an event may help a pod that `plugin` refused.
pub(crate) fn may_help(plugin: &str, event: &ClusterEvent<'_>, pod: Pod<'_>, state: &ClusterState, profile: &Profile) -> bool {
    let cycle = Cycle::new(pod, state, profile);
    let asks = asks_plugins(profile);
    match (plugin, event) {
        // A pod that comes or changes concerns only what counts pods over many nodes (`getUnschedulablePodsWithCrossTopologyTerm`).
        ("PodTopologySpread" | "EvenPodsSpread", event) => spread(event, &cycle),
        ("InterPodAffinity" | "MatchInterPodAffinity", event) => inter_pod_affinity(event, &cycle),
        ("GangScheduling", event) => gang(event, &cycle),
        (_, ClusterEvent::PodWaits(_) | ClusterEvent::PodAdded(_) | ClusterEvent::PodUpdated(..)) => false,
        ("NodeUnschedulable" | "TaintToleration" | "NodeAffinity" | "NodeName", event) => {
            of_node(event, asks, |node| suits(plugin, node, &cycle))
        }
        ("NodeResourcesFit", ClusterEvent::PodDeleted(_)) => true,
        ("NodeResourcesFit", ClusterEvent::NodeUpdated(before, after)) => {
            !asks || (before.allocatable != after.allocatable || before.allowed_pods != after.allowed_pods) && fits_empty(after, &cycle)
        }
        ("NodeResourcesFit", ClusterEvent::NodeAdded(node)) => !asks || fits_empty(node, &cycle),
        ("NodePorts", ClusterEvent::PodDeleted(gone)) => !asks || shares_port(gone, pod, profile),
        ("NodePorts", event) => matches!(event, ClusterEvent::NodeAdded(_)) || !asks && matches!(event, ClusterEvent::NodeUpdated(..)),
        (_, ClusterEvent::NodeDeleted(_)) => false,
        // Volumes and devices: every event of what they look at; their nodes and claims are looked at anew.
        (_, ClusterEvent::Other(kind)) => !matches!(kind, WatchedKind::PodDisruptionBudget | WatchedKind::Namespace),
        (_, ClusterEvent::PodDeleted(gone)) => gone.spec.has_volumes || !gone.spec.resource_claims.is_empty(),
        (_, ClusterEvent::NodeAdded(_) | ClusterEvent::NodeUpdated(..)) => true,
    }
}

/// A plugin that looks at one node helps where the node did not suit the pod before and does now.
fn of_node(event: &ClusterEvent<'_>, asks: bool, suits: impl Fn(&Node) -> bool) -> bool {
    match event {
        ClusterEvent::NodeAdded(node) => !asks || suits(node),
        ClusterEvent::NodeUpdated(before, after) => !asks || !suits(before) && suits(after),
        _ => false,
    }
}

fn suits(plugin: &str, node: &Node, cycle: &Cycle<'_>) -> bool {
    let (spec, rules) = (&cycle.pod.spec, &cycle.profile.rules);
    match plugin {
        "NodeUnschedulable" => {
            !node.unschedulable || spec.tolerations.iter().any(|toleration| tolerates(toleration, &CORDON_TAINT, rules.taint_comparisons))
        }
        "TaintToleration" => untolerated(&node.taints, &spec.tolerations, rules.taint_comparisons).is_none(),
        "NodeAffinity" => required_matches(spec, node, rules.match_fields),
        _ => true,
    }
}

/// Whether the pod would fit the node if nothing ran there (`isFit`).
fn fits_empty(node: &Arc<Node>, cycle: &Cycle<'_>) -> bool {
    let profile = cycle.profile;
    let empty = NodeInfo::empty(node.clone());
    let request = profile.rules.requests.incoming(cycle.pod);
    let devices = node_resources_fit::device_resources(cycle);
    node_resources_fit::shortages(&empty, &request, &profile.rules, &profile.arguments, &devices).is_empty()
}

fn shares_port(gone: &PodInfo, pod: &PodInfo, profile: &Profile) -> bool {
    let sidecars = profile.rules.sidecar_ports;
    let wanted: Vec<_> = host_ports(pod, sidecars).collect();
    host_ports(gone, sidecars).any(|port| wanted.iter().any(|other| other.port == port.port && other.protocol == port.protocol))
}

/// PodTopologySpread: pods of the namespace that a constraint counts, and nodes whose domain, labels or taints change.
fn spread(event: &ClusterEvent<'_>, cycle: &Cycle<'_>) -> bool {
    let constraints = hard_constraints(cycle);
    let counts = |pod: &PodInfo| pod.namespace == cycle.pod.namespace && constraints.iter().any(|one| one.matches(&pod.labels));
    let has_keys = |node: &Node| constraints.iter().all(|one| node.labels.has(one.key()));
    match event {
        ClusterEvent::PodAdded(pod) | ClusterEvent::PodDeleted(pod) => counts(pod),
        ClusterEvent::PodUpdated(before, after) => {
            before.namespace == cycle.pod.namespace
                && constraints.iter().any(|one| one.matches(&before.labels) != one.matches(&after.labels))
        }
        ClusterEvent::NodeAdded(node) | ClusterEvent::NodeDeleted(node) => has_keys(node),
        ClusterEvent::NodeUpdated(before, after) => {
            let moved = || constraints.iter().any(|one| before.labels.get(one.key()) != after.labels.get(one.key()));
            has_keys(before) != has_keys(after) || has_keys(after) && (moved() || before.taints != after.taints)
        }
        ClusterEvent::PodWaits(_) | ClusterEvent::Other(_) => false,
    }
}

/// GangScheduling: pods of the pod's group, and groups.
fn gang(event: &ClusterEvent<'_>, cycle: &Cycle<'_>) -> bool {
    let (pod, hierarchy) = (cycle.pod, Hierarchy::new(cycle.state, cycle.profile));
    let root = |group: &str| hierarchy.root(&GroupId::of_pods(&pod.namespace, group)).ok();
    let same_group = |own: &str, theirs: &str| own == theirs || hierarchy.is_on() && root(own).is_some() && root(own) == root(theirs);
    match event {
        ClusterEvent::PodWaits(other) | ClusterEvent::PodAdded(other) if other.namespace == pod.namespace => {
            let grouped = pod.spec.pod_group.as_ref().zip(other.spec.pod_group.as_ref());
            grouped.is_some_and(|(own, theirs)| same_group(own, theirs))
                || pod.spec.workload.is_some() && pod.spec.workload == other.spec.workload
        }
        ClusterEvent::Other(kind) => matches!(kind, WatchedKind::PodGroup | WatchedKind::CompositePodGroup | WatchedKind::Workload),
        _ => false,
    }
}

/// InterPodAffinity: pods that the pod's terms mean, pods whose terms mean it, and nodes in other domains.
fn inter_pod_affinity(event: &ClusterEvent<'_>, cycle: &Cycle<'_>) -> bool {
    let spec = &cycle.pod.spec;
    let (own, anti) = (&spec.pod_affinity.required, &spec.pod_anti_affinity.required);
    let wanted = |pod: &PodInfo| !own.is_empty() && own.iter().all(|term| own_term_matches(term, pod, cycle));
    let shunned = |pod: &PodInfo| {
        let theirs = pod.spec.pod_anti_affinity.required_of_running();
        anti.iter().any(|term| own_term_matches(term, pod, cycle)) || theirs.iter().any(|term| others_term_matches(term, cycle))
    };
    match event {
        ClusterEvent::PodAdded(pod) => wanted(pod),
        ClusterEvent::PodUpdated(before, after) => !wanted(before) && wanted(after) || shunned(before) && !shunned(after),
        ClusterEvent::PodDeleted(pod) => shunned(pod),
        ClusterEvent::NodeAdded(node) => own.is_empty() || own.iter().chain(anti).any(|term| node.labels.has(&term.topology_key)),
        ClusterEvent::NodeUpdated(before, after) => {
            own.iter().chain(anti).any(|term| before.labels.get(&term.topology_key) != after.labels.get(&term.topology_key))
        }
        ClusterEvent::PodWaits(_) | ClusterEvent::NodeDeleted(_) | ClusterEvent::Other(_) => false,
    }
}
