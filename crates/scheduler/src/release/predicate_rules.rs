//! What differs between releases in predicates and priorities (1.9–1.17), except those for volumes and for affinity between pods. Upstream:
//! `algorithm/predicates/{predicates,error}.go`, `algorithm/priorities`, `core/generic_scheduler.go`.

use crate::Release;

use super::rules::Rules;

/// Whether a predicate is behind each Filter plugin (`framework/plugins/default_registry.go`, 1.17).
pub(crate) fn runs_predicates_as_plugins(release: Release) -> bool {
    release.0 == 17
}

impl Rules {
    /// Whether predicates give their reasons by short names (`error.go`, 1.9); since 1.10 as sentences.
    pub(crate) fn reasons_are_short(&self) -> bool {
        self.release.0 == 9
    }

    /// Whether preemption is held not to help where affinity to pods or a node's pressure refuses (nodesWherePreemptionMightHelp, since 1.12).
    pub(crate) fn affinity_and_pressure_are_unresolvable(&self) -> bool {
        self.release.0 >= 12
    }

    /// Whether a pod that tolerates the taint `node.kubernetes.io/unschedulable` fits a cordoned node (CheckNodeUnschedulablePredicate, since 1.12).
    pub(crate) fn cordons_can_be_tolerated(&self) -> bool {
        self.release.0 >= 12
    }

    /// Whether the condition OutOfDisk keeps pods off a node (CheckNodeConditionPredicate, up to 1.13).
    pub(crate) fn knows_out_of_disk(&self) -> bool {
        self.release.0 <= 13
    }

    /// Whether a pod with huge pages is not of the class BestEffort (`helper/qos/qos.go`, 1.9).
    pub(crate) fn huge_pages_count_for_qos(&self) -> bool {
        self.release.0 == 9
    }

    /// Whether what init containers ask for counts for the class of a pod (`helper/qos/qos.go`, since 1.16).
    pub(crate) fn init_containers_count_for_qos(&self) -> bool {
        self.release.0 >= 16
    }

    /// Whether `alpha.kubernetes.io/nvidia-gpu` is a resource of its own, checked between memory and ephemeral storage (PodFitsResources, up to 1.10).
    pub(crate) fn knows_nvidia_gpu(&self) -> bool {
        self.release.0 <= 10
    }

    /// Whether RequestedToCapacityRatioPriority is the mean of cpu and memory (`requested_to_capacity_ratio.go`, up to 1.15); since 1.16 the mean by
    /// weight of the resources that score above 0.
    pub(crate) fn capacity_ratio_is_plain_mean(&self) -> bool {
        self.release.0 <= 15
    }

    /// Whether ServiceAntiAffinityPriority hands its scores to nodes in random order (`selector_spreading.go`, 1.9).
    pub(crate) fn service_scores_are_random(&self) -> bool {
        self.release.0 == 9
    }

    /// Whether ServiceAntiAffinityPriority counts pods on every node (the same file, 1.9); since 1.10 those on the nodes that fit.
    pub(crate) fn service_scores_count_all_nodes(&self) -> bool {
        self.release.0 == 9
    }

    /// Whether ServiceAntiAffinityPriority counts terminating pods (the same file, up to 1.10).
    pub(crate) fn service_scores_count_terminating(&self) -> bool {
        self.release.0 <= 10
    }
}
