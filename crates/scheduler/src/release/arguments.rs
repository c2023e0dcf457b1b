//! The arguments that a profile's configuration gives each plugin; the defaults are upstream's.

use std::sync::Arc;

use crate::cluster::{NodeAffinityTerms, SpreadConstraint};

/// How NodeResourcesFit (before 1.22 separate plugins) scores a node's utilization.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum ScoringStrategy {
    /// The lower the utilization, the better.
    LeastAllocated,
    /// The higher the utilization, the better.
    MostAllocated,
    /// By a shape: utilization in percent against a score from 0 to 10.
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

/// The constraints of pods that have none of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum PodTopologySpreadDefaults {
    /// Upstream's own: hosts with a skew of 3, zones with a skew of 5, scoring only.
    System,
    /// The list given, empty by default.
    List(Vec<SpreadConstraint>),
}

/// Arguments of all plugins of one profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arguments {
    /// NodeResourcesFit: extended resources that are not checked.
    pub ignored_resources: Vec<Arc<str>>,
    /// NodeResourcesFit: domains whose extended resources are not checked.
    pub ignored_resource_groups: Vec<Arc<str>>,
    /// NodeResourcesFit: how it scores.
    pub strategy: ScoringStrategy,
    /// NodeResourcesFit: resources it scores, with weights.
    pub strategy_resources: Vec<(Arc<str>, i64)>,
    /// NodeResourcesLeastAllocated (up to 1.22): resources it scores, with weights.
    pub least_allocated: Vec<(Arc<str>, i64)>,
    /// NodeResourcesMostAllocated (up to 1.22): resources it scores, with weights.
    pub most_allocated: Vec<(Arc<str>, i64)>,
    /// RequestedToCapacityRatio (up to 1.22): its shape, and the resources it scores, with weights.
    pub capacity_ratio: (Vec<(i64, i64)>, Vec<(Arc<str>, i64)>),
    /// NodeResourcesBalancedAllocation: resources it balances.
    pub balanced_resources: Vec<Arc<str>>,
    /// InterPodAffinity: the weight of a required affinity term of an existing pod in scores.
    pub hard_pod_affinity_weight: i64,
    /// InterPodAffinity: whether preferred terms of existing pods are ignored where the pod has none.
    pub ignore_preferred_terms_of_existing_pods: bool,
    /// NodeAffinity: `addedAffinity` of every pod.
    pub added_affinity: Option<NodeAffinityTerms>,
    /// PodTopologySpread: constraints for pods without.
    pub spread_defaults: PodTopologySpreadDefaults,
    /// DefaultPreemption (since 1.20): how many candidates it keeps at least, in percent of the nodes it tries and as a number.
    pub min_candidates: (usize, usize),
    /// VolumeBinding: its score's shape.
    pub volume_shape: Vec<(i64, i64)>,
}

impl Arguments {
    /// The defaults of a release. `system_spread`: whether system defaults spread pods without constraints (gate DefaultPodTopologySpread);
    /// `empty_first`: whether VolumeBinding prefers free storage (gate StorageCapacityScoring) to used volumes.
    pub fn new(system_spread: bool, empty_first: bool) -> Self {
        let usual = vec![("cpu".into(), 1), ("memory".into(), 1)];
        Self {
            ignored_resources: Vec::new(),
            ignored_resource_groups: Vec::new(),
            strategy: ScoringStrategy::LeastAllocated,
            strategy_resources: usual.clone(),
            least_allocated: usual.clone(),
            most_allocated: usual.clone(),
            capacity_ratio: (Vec::new(), usual),
            balanced_resources: vec!["cpu".into(), "memory".into()],
            hard_pod_affinity_weight: 1,
            ignore_preferred_terms_of_existing_pods: false,
            added_affinity: None,
            spread_defaults: if system_spread { PodTopologySpreadDefaults::System } else { PodTopologySpreadDefaults::List(Vec::new()) },
            min_candidates: (10, 100),
            volume_shape: if empty_first { vec![(0, 10), (100, 0)] } else { vec![(0, 0), (100, 10)] },
        }
    }
}
