//! A profile: the plugins a scheduler runs for a pod, in their order and with their weights, and what they are configured with.

use std::fmt;

use crate::cluster::PodInfo;
use crate::{Arguments, Gates, Release, Rules};

use super::plugin::Plugin;
use super::unverifiable::Unverifiable;

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
    /// What a configuration brings that cannot be verified, such as plugins and extenders that are not in-tree.
    pub unverifiable: Vec<Unverifiable>,
}

/// The points of GangScheduling behind PreEnqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gang {
    /// Whether pods that found nodes wait for each other (Permit).
    pub permit: bool,
    /// Whether it says if a group can still fit (PlacementFeasible, since 1.37): it is enabled at any point at all.
    pub feasible: bool,
}

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

    /// The plugins in the order of their PreFilters.
    pub(crate) fn prefilters(&self) -> Vec<&'static str> {
        let of_filters = || self.filters.iter().map(|entry| entry.name).collect();
        if self.prefilter_order.is_empty() { of_filters() } else { self.prefilter_order.clone() }
    }
}
