//! What differs between releases in preemption. Upstream: `core/generic_scheduler.go` (up to 1.18), `plugins/defaultpreemption/default_preemption.go`
//! (since 1.19), `framework/preemption/preemption.go` (since 1.23).

use super::rules::Rules;

/// How the disruptions that budgets allow are counted down (filterPodsWithPDBViolation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetCount {
    /// Not at all: each pod is held against the budgets as they stand.
    Unchanged,
    /// Of the budgets of a pod those before the first that allows no more.
    UntilUsedUp,
    /// All budgets of a pod.
    All,
    /// Of the budgets of a pod those up to the first that it violates.
    UntilViolated,
}

impl BudgetCount {
    /// Whether the budgets of one pod count by their order, which is that of a Go map.
    pub(crate) fn follows_order(self) -> bool {
        matches!(self, Self::UntilUsedUp | Self::UntilViolated)
    }
}

impl Rules {
    /// How budgets are counted down (`framework/preemption/util.go` since 1.37).
    pub(crate) fn budget_count(&self) -> BudgetCount {
        match self.release.0 {
            ..=17 => BudgetCount::Unchanged,
            18 => BudgetCount::UntilUsedUp,
            19..=36 => BudgetCount::All,
            _ => BudgetCount::UntilViolated,
        }
    }

    /// Whether a pod that its budget knows as disrupted does not count again (filterPodsWithPDBViolation, since 1.19).
    pub(crate) fn disrupted_pods_are_free(&self) -> bool {
        self.release.0 >= 19
    }

    /// Whether the start of pods counts for their importance and for the node that is picked (`util/utils.go` GetPodStartTime,
    /// GetEarliestPodStartTime, since 1.15).
    pub(crate) fn victims_by_start(&self) -> bool {
        self.release.0 >= 15
    }

    /// Whether a node without lower pods is no candidate (selectVictimsOnNode, since 1.21).
    pub(crate) fn candidates_need_victims(&self) -> bool {
        self.release.0 >= 21
    }

    /// Whether not all candidates are kept (calculateNumCandidates, since 1.20).
    pub(crate) fn keeps_some_candidates(&self) -> bool {
        self.release.0 >= 20
    }

    /// Whether pods that go together are evicted together for a single pod, too (`default_preemption.go` SelectVictimsOnNode, since 1.37 with the
    /// gate GenericWorkload).
    pub(crate) fn pods_evict_groups(&self) -> bool {
        self.group_cycles && self.release.0 >= 37
    }

    /// Whether pods that go together count from the earliest start among them (`framework/preemption/util.go`, since 1.37); in 1.36 from that of the
    /// pod met first (`types.go`).
    pub(crate) fn groups_start_with_earliest_pod(&self) -> bool {
        self.release.0 >= 37
    }

    /// Whether pods of groups that go together count where their nodes are gone, too (`framework/preemption/util.go`, since 1.37).
    pub(crate) fn groups_have_pods_of_lost_nodes(&self) -> bool {
        self.release.0 >= 37
    }

    /// Whether a pod has the priority of the group at the top of its own (`framework/preemption/util.go` GetPodPriority, since 1.37).
    pub(crate) fn pods_have_priority_of_group(&self) -> bool {
        self.release.0 >= 37
    }

    /// Whether budgets are held against every pod of those that go together (filterVictimsWithPDBViolation, since 1.37); in 1.36 against none after
    /// the first that violates one.
    pub(crate) fn every_pod_of_group_counts(&self) -> bool {
        self.release.0 >= 37
    }

    /// Whether an earlier preemption is not waited for on a nominated node that cannot be mended (PodEligibleToPreemptOthers, since 1.19).
    pub(crate) fn unresolvable_nodes_are_not_awaited(&self) -> bool {
        self.release.0 >= 19
    }

    /// Whether, with the gate PodDisruptionConditions, only terminating pods that preemption evicted are waited for (podTerminatingByPreemption,
    /// since 1.27).
    pub(crate) fn awaits_preempted_pods(&self) -> bool {
        self.release.0 >= 27
    }

    /// Whether the sentences of PostFilter plugins come in the order of a Go map (`framework/runtime/framework.go` RunPostFilterPlugins, 1.26).
    pub(crate) fn post_filters_in_random_order(&self) -> bool {
        self.release.0 == 26
    }

    /// Whether the message names the node that preemption picks (`default_preemption.go` PostFilter, since 1.37).
    pub(crate) fn names_picked_node(&self) -> bool {
        self.release.0 >= 37
    }
}
