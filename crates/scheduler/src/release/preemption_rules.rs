//! What differs between releases in preemption. Upstream: `core/generic_scheduler.go` (up to 1.18), `plugins/defaultpreemption/default_preemption.go`
//! (since 1.19), `framework/preemption/preemption.go` (since 1.23).

use super::rules::Rules;

/// How the disruptions that budgets allow are decremented (filterPodsWithPDBViolation).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetCount {
    /// Not at all: each pod is compared with the budgets as they stand.
    Unchanged,
    /// A pod's budgets before the first that allows no more disruptions.
    UntilUsedUp,
    All,
    /// A pod's budgets up to the first that it violates.
    UntilViolated,
}

impl BudgetCount {
    /// Whether the result depends on the order of one pod's budgets, which is that of a Go map.
    pub(crate) fn follows_order(self) -> bool {
        matches!(self, Self::UntilUsedUp | Self::UntilViolated)
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// How budgets are decremented (`framework/preemption/util.go` since 1.37).
    budget_count: BudgetCount = match minor {
        ..=17 => BudgetCount::Unchanged,
        18 => BudgetCount::UntilUsedUp,
        19..=36 => BudgetCount::All,
        _ => BudgetCount::UntilViolated,
    };
    /// Whether a pod in its budget's `disruptedPods` does not count again (filterPodsWithPDBViolation, since 1.19).
    disrupted_pods_are_free: bool = minor >= 19;
    /// Whether start times count for the importance of pods and for the node that is picked (`util/utils.go` GetPodStartTime,
    /// GetEarliestPodStartTime, since 1.15).
    victims_by_start: bool = minor >= 15;
    /// Whether only nodes with pods of lower priority are candidates (selectVictimsOnNode, since 1.21).
    candidates_need_victims: bool = minor >= 21;
    /// Whether not all candidates are kept (calculateNumCandidates, since 1.20).
    keeps_some_candidates: bool = minor >= 20;
    /// Whether groups of pods are evicted as one for a single pod, too (`default_preemption.go` SelectVictimsOnNode, since 1.37 with the gate
    /// GenericWorkload).
    pods_evict_groups: bool = self.group_cycles && minor >= 37;
    /// Whether a group of pods counts from its earliest start time (`framework/preemption/util.go`, since 1.37); in 1.36 from that of its first pod
    /// (`types.go`).
    groups_start_with_earliest_pod: bool = minor >= 37;
    /// Whether pods of groups evicted as one count even if their nodes do not exist (`framework/preemption/util.go`, since 1.37).
    groups_have_pods_of_lost_nodes: bool = minor >= 37;
    /// Whether a pod has the priority of its root group (`framework/preemption/util.go` GetPodPriority, since 1.37).
    pods_have_priority_of_group: bool = minor >= 37;
    /// Whether budgets are compared with every pod of a group evicted as one (filterVictimsWithPDBViolation, since 1.37); in 1.36 with none after the
    /// first that violates one.
    every_pod_of_group_counts: bool = minor >= 37;
    /// Whether an earlier preemption is not awaited on a nominated node that is UnschedulableAndUnresolvable (PodEligibleToPreemptOthers, since
    /// 1.19).
    unresolvable_nodes_are_not_awaited: bool = minor >= 19;
    /// Whether, with the gate PodDisruptionConditions, only terminating pods that were preempted are awaited (podTerminatingByPreemption, since
    /// 1.27).
    awaits_preempted_pods: bool = minor >= 27;
    /// Whether the messages of PostFilter plugins come in the order of a Go map (`framework/runtime/framework.go` RunPostFilterPlugins, 1.26).
    post_filters_in_random_order: bool = minor == 26;
    /// Whether the message names the node that preemption picks (`default_preemption.go` PostFilter, since 1.37).
    names_picked_node: bool = minor >= 37;
}
