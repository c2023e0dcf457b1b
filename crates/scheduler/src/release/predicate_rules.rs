//! What differs between releases in predicates and priorities (1.9–1.17), except those for volumes and for affinity between pods. Upstream:
//! `algorithm/predicates/{predicates,error}.go`, `algorithm/priorities`, `core/generic_scheduler.go`.

use crate::Release;

use super::rules::Rules;

/// Whether a predicate is behind each Filter plugin (`framework/plugins/default_registry.go`, 1.17).
pub(crate) fn runs_predicates_as_plugins(release: Release) -> bool {
    release.0 == 17
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether predicates give their reasons by short names (`error.go`, 1.9); since 1.10 as sentences.
    reasons_are_short: bool = minor == 9;
    /// Whether preemption is held not to help where affinity to pods or a node's pressure refuses (nodesWherePreemptionMightHelp, since 1.12).
    affinity_and_pressure_are_unresolvable: bool = minor >= 12;
    /// Whether a pod that tolerates the taint `node.kubernetes.io/unschedulable` fits a cordoned node (CheckNodeUnschedulablePredicate, since 1.12).
    cordons_can_be_tolerated: bool = minor >= 12;
    /// Whether the condition OutOfDisk keeps pods off a node (CheckNodeConditionPredicate, up to 1.13).
    knows_out_of_disk: bool = minor <= 13;
    /// Whether a pod with huge pages is not of the class BestEffort (`helper/qos/qos.go`, 1.9).
    huge_pages_count_for_qos: bool = minor == 9;
    /// Whether what init containers ask for counts for the class of a pod (`helper/qos/qos.go`, since 1.16).
    init_containers_count_for_qos: bool = minor >= 16;
    /// Whether `alpha.kubernetes.io/nvidia-gpu` is a resource of its own, checked between memory and ephemeral storage (PodFitsResources, up to 1.10).
    knows_nvidia_gpu: bool = minor <= 10;
    /// Whether RequestedToCapacityRatioPriority is the mean of cpu and memory (`requested_to_capacity_ratio.go`, up to 1.15); since 1.16 the mean by
    /// weight of the resources that score above 0.
    capacity_ratio_is_plain_mean: bool = minor <= 15;
    /// Whether ServiceAntiAffinityPriority hands its scores to nodes in random order (`selector_spreading.go`, 1.9).
    service_scores_are_random: bool = minor == 9;
    /// Whether ServiceAntiAffinityPriority counts pods on every node (the same file, 1.9); since 1.10 those on the nodes that fit.
    service_scores_count_all_nodes: bool = minor == 9;
    /// Whether ServiceAntiAffinityPriority counts terminating pods (the same file, up to 1.10).
    service_scores_count_terminating: bool = minor <= 10;
}
