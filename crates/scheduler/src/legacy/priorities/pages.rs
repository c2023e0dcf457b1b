//! The pages of the priorities that a framework plugin took over; the plugin's own page says more.

macro_rules! page {
    ($first:literal, $checks:literal, $reads:literal, $history:literal) => {
        concat!($first, "\n\nChecks\n  ", $checks, "\nReads\n  ", $reads, "\nHistory\n  ", $history, "\nDiffers from upstream\n  nowhere")
    };
}

pub(super) const SELECTOR_SPREAD: &str = page!(
    "Spreads the pods of one Service or controller over hosts and zones.",
    "Pods that the same selectors match on the node, against the node that has most; where nodes have zones, these count two thirds.",
    "Services, ReplicationControllers, ReplicaSets, StatefulSets of the pod's namespace; labels of its pods;\n  zone and region labels of nodes",
    "1.9–1.13 a pod counts if any of the selectors matches it, from 1.14 on if all do;\n  1.17–1.18 the plugin DefaultPodTopologySpread, 1.19 SelectorSpread"
);
pub(super) const SERVICE_SPREADING: &str = page!(
    "Meant to spread the pods of one Service; in effect SelectorSpreadPriority.",
    "What SelectorSpreadPriority checks: the selectors come from what is prepared for all priorities, and that holds all four kinds.",
    "what SelectorSpreadPriority reads",
    "1.9–1.17, only in a Policy"
);
pub(super) const INTER_POD_AFFINITY: &str = page!(
    "Prefers nodes near the pods that a pod likes, and that like it.",
    "Weights of preferred terms of the pod and of existing pods, and of existing pods' required affinity, summed over each\n  domain; scaled between the least and the most, both starting at 0.",
    "affinity of the pod and of all pods; labels and namespaces of all pods; node labels",
    "1.9–1.16; from 1.17 on the plugin InterPodAffinity"
);
pub(super) const LEAST_REQUESTED: &str = page!(
    "The emptier a node would be, the more points.",
    "The free share of cpu and of memory with the pod on the node, averaged; containers without requests count 100m and 200Mi.",
    "node status.allocatable; requests of the pod and of the pods on the node",
    "1.9–1.16; 1.16 counts init containers and overhead too; from 1.17 on the plugin NodeResourcesLeastAllocated"
);
pub(super) const MOST_REQUESTED: &str = page!(
    "The fuller a node would be, the more points.",
    "The taken share of cpu and of memory with the pod on the node, averaged; an overfull resource gives 0.",
    "node status.allocatable; requests of the pod and of the pods on the node",
    "1.9–1.16, only in a Policy or with ClusterAutoscalerProvider; from 1.17 on the plugin NodeResourcesMostAllocated"
);
pub(super) const BALANCED_RESOURCE_ALLOCATION: &str = page!(
    "The more evenly cpu and memory would be used, the more points.",
    "One minus the difference of both shares; 0 where one is used up.",
    "node status.allocatable; requests of the pod and of the pods on the node",
    "1.9–1.16; from 1.17 on the plugin NodeResourcesBalancedAllocation"
);
pub(super) const NODE_PREFER_AVOID_PODS: &str = page!(
    "A node may ask, by an annotation, to be spared the pods of a controller.",
    "0 if the annotation scheduler.alpha.kubernetes.io/preferAvoidPods lists the pod's ReplicationController\n  or ReplicaSet, else full; weight 10000.",
    "node annotations; pod ownerReferences",
    "1.9–1.16; from 1.17 on the plugin NodePreferAvoidPods"
);
pub(super) const NODE_AFFINITY: &str = page!(
    "Preferred node affinity gives points.",
    "Weights of the preferred terms that match, scaled so that the highest is full; only matchExpressions count.",
    "pod spec.affinity.nodeAffinity; node labels",
    "1.9–1.16; from 1.17 on the plugin NodeAffinity"
);
pub(super) const TAINT_TOLERATION: &str = page!(
    "Soft taints cost points.",
    "Taints of effect PreferNoSchedule that the pod does not tolerate, the fewer the better.",
    "node spec.taints; pod spec.tolerations",
    "1.9–1.16; from 1.17 on the plugin TaintToleration"
);
pub(super) const IMAGE_LOCALITY: &str = page!(
    "Nodes that already have a pod's images get points, the larger the images the more.",
    "The sizes of the images present; from 1.12 on each times the share of nodes that have it.",
    "node status.images; pod images; from 1.12 on the history of the nodes",
    "1.9–1.11 only in a Policy, ten buckets, up to 1.10 exact names; 1.12–1.16 default; from 1.17 on the plugin ImageLocality"
);
pub(super) const EVEN_PODS_SPREAD: &str = page!(
    "Spread constraints with ScheduleAnyway give points.",
    "Matching pods in the node's domains, turned round against the sum over all nodes.",
    "the pod's topologySpreadConstraints; labels of pods; labels of nodes",
    "1.16 behind the gate EvenPodsSpread (off), pods of every namespace count; from 1.17 on the plugin PodTopologySpread"
);
