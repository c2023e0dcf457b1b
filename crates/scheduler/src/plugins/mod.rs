//! One file per upstream plugin; `FRAMEWORK_PLUGINS` lists them all.

mod balanced_allocation;
mod default_binder;
mod default_preemption;
mod deferred_pod_scheduling;
pub(crate) mod dynamic_resources;
mod gang_scheduling;
pub(crate) mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
pub(crate) mod node_ports;
mod node_prefer_avoid_pods;
mod node_resources;
pub(crate) mod node_resources_fit;
mod node_unschedulable;
pub(crate) mod node_volume_limits;
pub(crate) mod non_csi_limits;
pub(crate) mod pending;
mod placements;
pub(crate) mod pod_topology_spread;
mod priority_sort;
mod scheduling_gates;
mod selector_spread;
pub(crate) mod taint_toleration;
mod unparsed_terms;
pub(crate) mod volume_binding;
mod volume_limits;
pub(crate) mod volume_restrictions;
pub(crate) mod volume_zone;
mod workload_selector;

pub(crate) use inter_pod_affinity::{others_term_matches, own_term_matches};
pub(crate) use node_affinity::{named_nodes, required_matches};
pub(crate) use node_resources::offered_and_taken;
pub(crate) use node_unschedulable::CORDON_TAINT;
pub(crate) use placements::{placement_fill, placement_pods};
pub(crate) use taint_toleration::{tolerates, untolerated};

use super::Plugin;

/// The rules of the framework, 1.17 to the newest.
pub(crate) static FRAMEWORK_PLUGINS: &[&dyn Plugin] = &[
    &node_unschedulable::NodeUnschedulable,
    &node_name::NodeName,
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinityPlugin,
    &node_ports::NodePorts,
    &node_resources_fit::NodeResourcesFit,
    &node_resources_fit::LEAST_ALLOCATED,
    &node_resources_fit::MOST_ALLOCATED,
    &node_resources_fit::RequestedToCapacityRatio,
    &balanced_allocation::BalancedAllocation,
    &pod_topology_spread::PodTopologySpread,
    &inter_pod_affinity::InterPodAffinity,
    &image_locality::ImageLocality,
    &node_prefer_avoid_pods::NodePreferAvoidPods,
    &selector_spread::SelectorSpread { name: "SelectorSpread" },
    &selector_spread::SelectorSpread { name: "DefaultPodTopologySpread" },
    &node_declared_features::NodeDeclaredFeatures,
    &deferred_pod_scheduling::DeferredPodScheduling,
    &priority_sort::PrioritySort,
    &scheduling_gates::SchedulingGates,
    &gang_scheduling::GangScheduling,
    &placements::TopologyPlacementGenerator,
    &placements::PodGroupPodsCount,
    &volume_restrictions::VolumeRestrictions,
    &non_csi_limits::EBS_LIMITS,
    &non_csi_limits::GCE_PD_LIMITS,
    &non_csi_limits::AZURE_DISK_LIMITS,
    &non_csi_limits::CINDER_LIMITS,
    &node_volume_limits::NodeVolumeLimits,
    &volume_binding::VolumeBinding,
    &volume_zone::VolumeZone,
    &dynamic_resources::DynamicResources,
    &default_preemption::DefaultPreemption,
    &default_binder::DefaultBinder,
];

/// Returns the rule of that name, which the table above has.
pub(crate) fn rule(name: &str) -> &'static dyn Plugin {
    FRAMEWORK_PLUGINS.iter().copied().find(|plugin| plugin.name() == name).unwrap_or(&pending::Pending)
}
