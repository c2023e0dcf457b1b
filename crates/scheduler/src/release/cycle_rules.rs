//! What differs between releases in the cycle itself: the wording of errors, when it stops evaluating nodes, what it checks before any plugin runs.

use super::rules::Rules;

/// After how many feasible nodes a scheduler stops evaluating (`percentageOfNodesToScore`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// It evaluates all nodes.
    All,
    /// After the configured share, half of them by default.
    Half,
    /// After the configured share, by default one that shrinks as the cluster grows.
    Adaptive,
    /// The same; where nothing scores, after the first.
    AdaptiveOrFirst,
}

/// In which order a scheduler that starts lists the pods that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    ByKey,
    /// By their keys, or in any order if lists are streamed.
    ByKeyUnlessStreamed,
    InAnyOrder,
}

impl Rules {
    /// The error of a plugin's Score, as RunScorePlugins words it (`framework/v1alpha1/framework.go`, `framework/runtime/framework.go`).
    pub(crate) fn score_error(&self, plugin: &str, pod: &str, error: &str) -> String {
        match self.release.0 {
            ..=19 => format!("error while running score plugin for pod {pod:?}: {error}"),
            _ => format!("running Score plugins: plugin {plugin:?} failed with: {error}"),
        }
    }

    /// An error of a filter, as RunFilterPlugins words it (`framework/v1alpha1/framework.go`, `framework/runtime/framework.go`).
    pub(crate) fn filter_error(&self, plugin: &str, pod: &str, error: &str) -> String {
        match self.release.0 {
            ..=16 => error.to_owned(),
            17 => format!("error while running \"{plugin}\" filter plugin for pod \"{pod}\": {error}"),
            18..=20 => format!("running \"{plugin}\" filter plugin for pod \"{pod}\": {error}"),
            _ => format!("running \"{plugin}\" filter plugin: {error}"),
        }
    }

    /// An error of a plugin's PreFilter, as RunPreFilterPlugins words it (the same files).
    pub(crate) fn prefilter_error(&self, plugin: &str, pod: &str, error: &str) -> String {
        match self.release.0 {
            ..=17 => error.to_owned(),
            _ if self.prefilter_error_lost => format!("running PreFilter plugin \"{plugin}\": %!w(<nil>)"),
            18 => format!("error while running \"{plugin}\" prefilter plugin for pod \"{pod}\": {error}"),
            19 => format!("prefilter plugin \"{plugin}\" failed for pod \"{pod}\": {error}"),
            _ => format!("running PreFilter plugin \"{plugin}\": {error}"),
        }
    }
}

rules_of! {
    Rules, self, minor = self.release.0;

    /// Whether a pod whose backoff has not ended is tried where no other waits (`backend/queue/active_queue.go`, gate SchedulerPopFromBackoffQ, on by
    /// default since 1.33).
    tries_pods_in_backoff: bool = minor >= 33;
    /// The prefix of errors of a plugin that reads a PreFilter's state (`getPreFilterState` of `nodeports`, `podtopologyspread`): shorter since 1.20.
    reading_state: &'static str = if minor >= 20 { "reading" } else { "error reading" };
    /// The prefix of errors of a score that reads a PreScore's state (`getPreScoreState` of `tainttoleration`, `interpodaffinity`).
    reading_scores: &'static str = if minor >= 20 { "failed to read" } else { "Error reading" };
    /// The same of `selectorspread/selector_spread.go`.
    reading_selectors: &'static str = if minor >= 20 { "reading" } else { "Error reading" };
    /// Whether ReadWriteOncePod is checked node by node, with the state that PreFilter wrote (`volumerestrictions/volume_restrictions.go`, since
    /// 1.27).
    read_write_once_pod_by_node: bool = minor >= 27;
    /// Whether equal errors of several nodes are reported once (`core/generic_scheduler.go` since 1.17).
    equal_errors_are_one: bool = minor >= 17;
    /// When it stops evaluating (`core/generic_scheduler.go` numFeasibleNodesToFind since 1.12, by size since 1.14; `schedule_one.go` since 1.30).
    sampling: Sampling = match minor {
        ..=11 => Sampling::All,
        12..=13 => Sampling::Half,
        14..=29 => Sampling::Adaptive,
        _ => Sampling::AdaptiveOrFirst,
    };
    /// Whether a pod may get the next best node of the previous pod (`framework/runtime/batch.go`, since 1.35).
    batches: bool = minor >= 35;
    /// Whether preemption is tried where the PreFilters of several plugins leave no node in common (`framework/runtime/framework.go`, up to 1.29).
    preempts_without_common_node: bool = minor <= 29;
    /// Whether claims are checked before any plugin runs (`core/generic_scheduler.go` podPassesBasicChecks, 1.10–1.19).
    basic_checks: bool = (10..=19).contains(&minor);
    /// Whether an error that ends an attempt early does not hide the filters' verdicts: predicates run all the same (up to 1.17).
    errors_leave_verdicts: bool = minor <= 17;
    /// Whether every predicate runs, even after one rejects (`core/generic_scheduler.go` podFitsOnNode, 1.9).
    all_predicates_run: bool = minor <= 9;
    /// Whether it preempts without the gate PodPriority (`scheduler.go` preempt, since 1.11).
    preempts_without_gate: bool = minor >= 11;
    /// Whether a node's rejection has one reason, of several extended resources one in a map's order (`predicates.go`, 1.17).
    one_reason_a_node: bool = minor == 17;
    /// Whether copies of a node share the count of a claim's users (`framework/types.go` NodeInfo.Clone, 1.22–1.24).
    copies_share_claim_counts: bool = (22..=24).contains(&minor);
    /// Whether assumed pods of a group's cycle are not listed in its snapshot by affinity terms and claims (`backend/cache/snapshot.go` AssumePod,
    /// 1.36).
    assumed_pods_are_not_listed: bool = minor <= 36;
    /// Whether the pods of a group that came into the active queue together are tried in any order (`podGroupInfoForPod`, 1.36).
    tries_members_in_any_order: bool = self.group_cycles && minor <= 36;
    /// In which order a scheduler that starts lists the pods that wait: API servers list by key since 1.27 (`cacher/watch_cache.go`), and informers
    /// have lists streamed since 1.35 (WatchListClient, client-go `features/known_features.go`).
    listing: Listing = match minor {
        ..=26 => Listing::InAnyOrder,
        27..=34 => Listing::ByKey,
        _ => Listing::ByKeyUnlessStreamed,
    };
    /// Whether groups are scheduled as in 1.37 (`schedule_one_podgroup.go`): PodGroupPostFilter, one priority for all pods of a group.
    pod_group_post_filter: bool = minor >= 37;
}
