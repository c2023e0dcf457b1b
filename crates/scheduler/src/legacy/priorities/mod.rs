//! The priorities of 1.9 to 1.17. Those that a framework plugin took over have its rule under their old name.

mod equal;
mod node_label;
mod pages;
mod requested_to_capacity_ratio;
mod resource_limits;
mod service_anti_affinity;

use super::Renamed;
use crate::Plugin;

pub(crate) use node_label::NodeLabel;
pub(crate) use requested_to_capacity_ratio::{CapacityRatio, RequestedToCapacityRatioPriority};
pub(crate) use service_anti_affinity::ServiceAntiAffinity;

pub(super) static OWN_PRIORITIES: &[&dyn Plugin] = &[
    &equal::Equal,
    &resource_limits::ResourceLimits,
    &RequestedToCapacityRatioPriority { arguments: None },
    &NodeLabel { labels: Vec::new() },
    &ServiceAntiAffinity { labels: Vec::new() },
];

macro_rules! renamed {
    ($($name:literal $page:ident is $successor:literal;)*) => {
        &[$(&Renamed { name: $name, doc: pages::$page, successor: $successor }),*]
    };
}

/// Priorities whose rule is that of the framework plugin that took their place.
pub(super) static RENAMED_PRIORITIES: &[&dyn Plugin] = renamed! {
    "SelectorSpreadPriority" SELECTOR_SPREAD is "SelectorSpread";
    "ServiceSpreadingPriority" SERVICE_SPREADING is "SelectorSpread";
    "InterPodAffinityPriority" INTER_POD_AFFINITY is "InterPodAffinity";
    "LeastRequestedPriority" LEAST_REQUESTED is "NodeResourcesLeastAllocated";
    "MostRequestedPriority" MOST_REQUESTED is "NodeResourcesMostAllocated";
    "BalancedResourceAllocation" BALANCED_RESOURCE_ALLOCATION is "NodeResourcesBalancedAllocation";
    "NodePreferAvoidPodsPriority" NODE_PREFER_AVOID_PODS is "NodePreferAvoidPods";
    "NodeAffinityPriority" NODE_AFFINITY is "NodeAffinity";
    "TaintTolerationPriority" TAINT_TOLERATION is "TaintToleration";
    "ImageLocalityPriority" IMAGE_LOCALITY is "ImageLocality";
    "EvenPodsSpreadPriority" EVEN_PODS_SPREAD is "PodTopologySpread";
};
