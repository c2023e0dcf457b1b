//! A scheduler's profile: its release, the plugins it runs in order and with their weights, and their arguments.

use crate::framework::{FilterEntry, FilterMode, GangPoints, Profile, ScoreEntry};
use crate::release::{
    Arguments, DEFAULT_FILTERS, DEFAULT_SCORES, Gates, PREFILTER_ORDER, Rules, added_scores, applied_release, row, takes_part,
};
use crate::{Release, legacy, registry};

pub(crate) mod scheduler;

/// The plugins that score placements for pod groups, in the order of the default profile (1.36, 1.37).
pub(crate) const PLACEMENT_SCORES: &[&str] = &["NodeResourcesFit", "PodGroupPodsCount"];

/// The plugins whose PreEnqueue may reject, where their gates are on.
pub(crate) const PRE_ENQUEUES: &[&str] = &["SchedulingGates", "DynamicResources", "GangScheduling"];

impl Profile {
    /// The profile `default-scheduler` of a release without any configuration, under `gates`. Releases newer than the newest known get its rules.
    pub fn new(release: Release, gates: Gates) -> Self {
        let release = applied_release(release);
        let rules = Rules::new(release, &gates);
        let enabled = |name: &str| takes_part(name, release, &gates);
        let filters = row(DEFAULT_FILTERS, release)
            .iter()
            .filter(|name| enabled(name))
            .map(|name| FilterEntry { name, plugin: registry::named(legacy::predicate_behind(name, release).unwrap_or(name)) })
            .collect();
        let scores = row(DEFAULT_SCORES, release)
            .iter()
            .filter(|(name, _)| enabled(name))
            .chain(added_scores(release, &gates))
            .map(|(name, weight)| ScoreEntry { name, plugin: registry::named(name), weight: *weight })
            .collect();
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            release,
            filters,
            prefilter_order: row(PREFILTER_ORDER, release).to_vec(),
            prefilters_only: Vec::new(),
            without_prefilter: Vec::new(),
            without_prescore: Vec::new(),
            scores,
            pre_enqueues: PRE_ENQUEUES.to_vec(),
            gang: GangPoints { permit: true, feasible: true },
            generates_placements: gates.on("TopologyAwareWorkloadScheduling"),
            placement_scores: PLACEMENT_SCORES.iter().map(|name| (*name, 1)).collect(),
            scoring: true,
            filter_mode: match () {
                () if rules.all_predicates_run() || rules.all_filters_run => FilterMode::All,
                () if rules.one_reason_a_node() => FilterMode::FirstReason,
                () => FilterMode::FirstRefusal,
            },
            arguments: Arguments::new(rules.spread_system_defaults, gates.on("StorageCapacityScoring")),
            percentage_of_nodes_to_score: None,
            post_filters: rules.dra.then_some("DynamicResources").into_iter().chain(["DefaultPreemption"]).collect(),
            preempts: rules.preempts_without_gate() || gates.on("PodPriority"),
            unverifiable: Vec::new(),
            gates,
            rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_add_and_remove_plugins() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.filters.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert!(!names(33, "").contains(&"DynamicResources"));
        assert!(names(33, "DynamicResourceAllocation=true").contains(&"DynamicResources"));
        assert!(names(34, "").contains(&"DynamicResources"));
        assert!(!names(36, "NodeDeclaredFeatures=false").contains(&"NodeDeclaredFeatures"));
    }

    /// The default predicates of each release, as the gates modify them.
    #[test]
    fn default_predicates_differ_by_release() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.filters.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        let conditions = ["CheckNodeCondition", "CheckNodeMemoryPressure", "CheckNodePIDPressure", "CheckNodeDiskPressure"];
        assert_eq!(names(9, "").len(), 12);
        assert_eq!(names(10, "").first(), Some(&"CheckNodeCondition"));
        assert!(!names(10, "").contains(&"CheckNodePIDPressure"));
        assert!(conditions.iter().all(|name| names(11, "").contains(name)));
        assert!(!names(11, "").contains(&"MaxCSIVolumeCountPred"));
        for release in 12..=16 {
            assert!(conditions.iter().all(|name| !names(release, "").contains(name)), "1.{release}");
            assert_eq!(names(release, "").len(), 11, "1.{release}");
            assert!(conditions.iter().all(|name| names(release, "TaintNodesByCondition=false").contains(name)), "1.{release}");
        }
        assert!(names(16, "EvenPodsSpread=true").ends_with(&["EvenPodsSpread", "MatchInterPodAffinity"]));
        assert_eq!(names(17, "").len(), 14);
        assert!(names(17, "EvenPodsSpread=true").contains(&"PodTopologySpread"));
    }

    #[test]
    fn images_score_from_1_12_on_and_limits_behind_their_gate() {
        let names = |release: u16, gates: &str| {
            let release = Release(release);
            let profile = Profile::new(release, Gates::new(release).parse(gates).unwrap());
            profile.scores.iter().map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(names(11, "").len(), 7);
        assert_eq!(names(12, "").len(), 8);
        assert_eq!(names(17, "").len(), 8);
        assert!(!names(12, "ResourceLimitsPriorityFunction=true").contains(&"ResourceLimitsPriority"));
        assert!(names(13, "ResourceLimitsPriorityFunction=true").contains(&"ResourceLimitsPriority"));
    }
}
