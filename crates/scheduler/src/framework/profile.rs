//! A profile: the plugins a scheduler runs for a pod, in order and with their weights, and their configuration.

use std::fmt;

use crate::cluster::PodInfo;
use crate::{Arguments, Gates, Release, Rules};

use super::plugin::Plugin;
use super::unverifiable::Unverifiable;

/// A plugin in a profile's list of filters.
#[derive(Clone, Copy)]
pub struct FilterEntry {
    /// The name the release gives it.
    pub name: &'static str,
    /// The plugin.
    pub plugin: &'static dyn Plugin,
}

/// A plugin in a profile's list of scores.
#[derive(Clone, Copy)]
pub struct ScoreEntry {
    /// The name the release gives it.
    pub name: &'static str,
    /// The plugin.
    pub plugin: &'static dyn Plugin,
    /// The factor of its normalised score.
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

/// How many filters run on a node, and how many of their reasons are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterMode {
    /// Every predicate runs, in no order; all reasons count (1.9, and `alwaysCheckAllPredicates`).
    All,
    /// Filters stop at the first that rejects; all its reasons count.
    FirstRefusal,
    /// Filters stop at the first that rejects, and each reports one reason (1.17).
    FirstReason,
}

/// A profile: the scheduler's release, its plugins and their arguments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The `spec.schedulerName` of its pods.
    pub scheduler_name: String,
    /// Its release.
    pub release: Release,
    /// Its feature gates.
    pub gates: Gates,
    /// The switches of its release.
    pub rules: Rules,
    /// Filters, in order.
    pub filters: Vec<FilterEntry>,
    /// Names of the filters in the order in which their PreFilter runs, if that differs from `filters`; the others follow.
    pub prefilter_order: Vec<&'static str>,
    /// Plugins whose PreFilter runs though their Filter does not (a configuration may say so).
    pub prefilters_only: Vec<FilterEntry>,
    /// Filters that a configuration runs without their PreFilter, where the result is known.
    pub without_prefilter: Vec<&'static str>,
    /// The same of scores and their PreScore.
    pub without_prescore: Vec<&'static str>,
    /// Scores, in order.
    pub scores: Vec<ScoreEntry>,
    /// Plugins that may keep a pod out of the queue (PreEnqueue).
    pub pre_enqueues: Vec<&'static str>,
    /// The extension points at which GangScheduling takes part.
    pub gang: GangPoints,
    /// Whether a group's placements are generated from its topology constraint; otherwise there is one placement of all nodes.
    pub generates_placements: bool,
    /// Scores of placements, in order, with their weights.
    pub placement_scores: Vec<(&'static str, i64)>,
    /// Whether anything may score: a plugin, in-tree or not, or an extender.
    pub scoring: bool,
    /// How many filters run on a node.
    pub filter_mode: FilterMode,
    /// Arguments.
    pub arguments: Arguments,
    /// `percentageOfNodesToScore`; `None`: upstream's default for the release.
    pub percentage_of_nodes_to_score: Option<i64>,
    /// PostFilter plugins, in order.
    pub post_filters: Vec<&'static str>,
    /// Whether preemption is part of it.
    pub preempts: bool,
    /// Parts of a configuration that cannot be verified, such as plugins and extenders that are not in-tree.
    pub unverifiable: Vec<Unverifiable>,
}

/// The extension points of GangScheduling besides PreEnqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GangPoints {
    /// Whether pods that found nodes wait for each other (Permit).
    pub permit: bool,
    /// Whether it decides if a group can still fit (PlacementFeasible, since 1.37): it is enabled at any point at all.
    pub feasible: bool,
}

impl Profile {
    /// Whether the pod's own scheduling gates keep it out of activeQ.
    pub fn waits_at_gates(&self, pod: &PodInfo) -> bool {
        let runs = self.gates.on("PodSchedulingReadiness") && self.pre_enqueues.contains(&"SchedulingGates");
        runs && !pod.spec.scheduling_gates.is_empty()
    }

    /// Whether pods of a group are scheduled together, by the release and its gates.
    pub fn schedules_gangs(&self) -> bool {
        self.rules.group_cycles || self.gates.on(self.rules.gang_gate())
    }

    /// The names of the verdicts of each node: the filters, in order, then the plugins whose PreFilter alone the configuration runs.
    pub fn rows(&self) -> impl Iterator<Item = &FilterEntry> {
        self.filters.iter().chain(&self.prefilters_only)
    }

    /// The plugins in the order of their PreFilters.
    pub(crate) fn prefilters(&self) -> Vec<&'static str> {
        let of_filters = || self.filters.iter().map(|entry| entry.name).collect();
        if self.prefilter_order.is_empty() { of_filters() } else { self.prefilter_order.clone() }
    }
}
