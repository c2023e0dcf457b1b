//! A scheduler: its release, the plugins it runs in their order and with their weights, and what they are told.

use std::fmt;

use crate::cluster::PodInfo;

use super::{Arguments, Gates, Plugin, Release, Rules, judged_as, legacy, plugins};

pub(crate) mod arguments;
pub(crate) mod default_plugins;
pub(crate) mod gate_lives;
pub(crate) mod gates;
pub(crate) mod release;
pub(crate) mod rules;
pub(crate) mod scheduler;
pub(crate) mod version;

use default_plugins::{FILTERS, PREFILTERS, SCORES, row, takes_part};

/// A plugin in a profile's list of filters.
#[derive(Clone, Copy)]
pub struct FilterEntry {
    /// The name that release gives it.
    pub name: &'static str,
    /// The rule.
    pub plugin: &'static dyn Plugin,
}

/// A plugin in a profile's list of scores.
#[derive(Clone, Copy)]
pub struct ScoreEntry {
    /// The name that release gives it.
    pub name: &'static str,
    /// The rule.
    pub plugin: &'static dyn Plugin,
    /// What its normalised score is multiplied by.
    pub weight: i64,
}

impl fmt::Debug for FilterEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for ScoreEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.name, self.weight)
    }
}

/// How far a node is looked at, and what is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterMode {
    /// Every predicate runs, in no order; all reasons count (1.9, and `alwaysCheckAllPredicates`).
    All,
    /// It stops at the first that refuses; all reasons of that one count.
    FirstRefusal,
    /// It stops at the first that refuses, and each gives one reason (1.17).
    FirstReason,
}

/// The plugins that score sets of nodes for groups, in the order of the default profile (1.36, 1.37).
pub(crate) const PLACEMENT_SCORES: &[&str] = &["NodeResourcesFit", "PodGroupPodsCount"];

/// A scheduler: its release, its plugins and what they are told.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The `spec.schedulerName` it answers to.
    pub scheduler_name: String,
    /// Its release.
    pub release: Release,
    /// Its feature gates.
    pub gates: Gates,
    /// The switches of its release.
    pub rules: Rules,
    /// Filters, in order.
    pub filters: Vec<FilterEntry>,
    /// Names of the filters in the order their PreFilter runs, where that differs from `filters`; the others follow.
    pub prefilter_order: Vec<&'static str>,
    /// Plugins whose PreFilter runs though they are no filters (a configuration may say so).
    pub prefilters_only: Vec<FilterEntry>,
    /// Filters that a configuration runs without their PreFilter, where it is known what they then do.
    pub without_prefilter: Vec<&'static str>,
    /// The same of scores and their PreScore.
    pub without_prescore: Vec<&'static str>,
    /// Scores, in order.
    pub scores: Vec<ScoreEntry>,
    /// Plugins that may keep a pod out of the queue (PreEnqueue).
    pub pre_enqueues: Vec<&'static str>,
    /// What GangScheduling takes part in.
    pub gang: Gang,
    /// Whether the sets of nodes a group is tried on are made by its topology; otherwise it is tried on all nodes at once.
    pub generates_placements: bool,
    /// Scores of such sets, in order, with their weights.
    pub placement_scores: Vec<(&'static str, i64)>,
    /// Whether there is anything that may score: a plugin, in-tree or not, or an extender.
    pub scoring: bool,
    /// How far filters go.
    pub filter_mode: FilterMode,
    /// Arguments.
    pub arguments: Arguments,
    /// `percentageOfNodesToScore`; `None`: upstream's default for the release.
    pub percentage_of_nodes_to_score: Option<i64>,
    /// PostFilter plugins, in order.
    pub post_filters: Vec<&'static str>,
    /// Whether preemption is part of it.
    pub preempts: bool,
    /// Plugins and extenders it names that are not in-tree, and what else cannot be verified: each a caveat.
    pub unverifiable: Vec<String>,
}

/// The points of GangScheduling behind PreEnqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gang {
    /// Whether pods that found nodes wait for each other (Permit).
    pub permit: bool,
    /// Whether it says if a group can still fit (PlacementFeasible, since 1.37): it is enabled at any point at all.
    pub feasible: bool,
}

/// The plugins whose PreEnqueue may refuse, where their gates are on.
pub(crate) const PRE_ENQUEUES: &[&str] = &["SchedulingGates", "DynamicResources", "GangScheduling"];

impl Profile {
    /// Whether gates of its own keep the pod out of the queue.
    pub fn waits_at_gates(&self, pod: &PodInfo) -> bool {
        let runs = self.gates.on("PodSchedulingReadiness") && self.pre_enqueues.contains(&"SchedulingGates");
        runs && !pod.spec.scheduling_gates.is_empty()
    }

    /// What each node has a verdict of: the filters, in their order, then the plugins of which a configuration runs the PreFilter alone.
    pub fn rows(&self) -> impl Iterator<Item = &FilterEntry> {
        self.filters.iter().chain(&self.prefilters_only)
    }

    /// The profile `default-scheduler` of a release without any configuration, under `gates`. Releases newer than any known are judged by the newest.
    pub fn new(release: Release, gates: Gates) -> Self {
        let release = judged_as(release);
        let rules = Rules::new(release, &gates);
        let enabled = |name: &str| takes_part(name, release, &gates);
        let filters = row(FILTERS, release)
            .iter()
            .filter(|name| enabled(name))
            .map(|name| FilterEntry { name, plugin: legacy::rule_behind(name, release).unwrap_or_else(|| plugins::named(name)) })
            .collect();
        // What gates add (`algorithmprovider/registry.go`, `v1beta2/default_plugins.go`): 1.21 and 1.22 volumes, those since have them in the
        // row; 1.19 (in the row) to 1.23 what spread pods before constraints did.
        let volumes = (21..=22).contains(&release.0) && gates.on("VolumeCapacityPriority");
        let spread = (20..=23).contains(&release.0) && !gates.on("DefaultPodTopologySpread");
        let scores = row(SCORES, release)
            .iter()
            .filter(|(name, _)| enabled(name))
            .chain(volumes.then_some(&("VolumeBinding", 1)))
            .chain(spread.then_some(&("SelectorSpread", 1)))
            .map(|(name, weight)| ScoreEntry { name, plugin: plugins::named(name), weight: *weight })
            .collect();
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            release,
            filters,
            prefilter_order: row(PREFILTERS, release).to_vec(),
            prefilters_only: Vec::new(),
            without_prefilter: Vec::new(),
            without_prescore: Vec::new(),
            scores,
            pre_enqueues: PRE_ENQUEUES.to_vec(),
            gang: Gang { permit: true, feasible: true },
            generates_placements: gates.on("TopologyAwareWorkloadScheduling"),
            placement_scores: PLACEMENT_SCORES.iter().map(|name| (*name, 1)).collect(),
            scoring: true,
            filter_mode: match release.0 {
                ..=9 => FilterMode::All,
                17 => FilterMode::FirstReason,
                _ if rules.all_filters_run => FilterMode::All,
                _ => FilterMode::FirstRefusal,
            },
            arguments: Arguments::new(rules.spread_system_defaults, gates.on("StorageCapacityScoring")),
            percentage_of_nodes_to_score: None,
            post_filters: rules.dra.then_some("DynamicResources").into_iter().chain(["DefaultPreemption"]).collect(),
            preempts: release.0 >= 11 || gates.on("PodPriority"),
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

    /// The default predicates of each release, as the gates leave them.
    #[test]
    fn predicates_came_and_went() {
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
