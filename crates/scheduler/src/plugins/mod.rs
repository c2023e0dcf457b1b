//! One file per upstream plugin; `PLUGINS` lists them all.

mod balanced_allocation;
mod default_binder;
mod default_preemption;
mod deferred_pod_scheduling;
pub mod dynamic_resources;
mod gang_scheduling;
pub mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
pub mod node_ports;
mod node_prefer_avoid_pods;
mod node_resources;
pub mod node_resources_fit;
mod node_unschedulable;
pub mod node_volume_limits;
pub mod non_csi_limits;
mod pending;
mod placements;
pub mod pod_topology_spread;
mod priority_sort;
mod scheduling_gates;
mod selector_spread;
pub mod taint_toleration;
mod unparsed_terms;
pub mod volume_binding;
pub mod volume_restrictions;
pub mod volume_zone;
mod workload_selector;

pub use dynamic_resources::{post_filter as dynamic_resources_post_filter, pre_enqueue as dynamic_resources_pre_enqueue};
pub use gang_scheduling::{permit as gang_permit, pre_enqueue as gang_pre_enqueue};
pub use inter_pod_affinity::{HOSTNAME, by_hostname, others_term_matches, own_term_matches};
pub use node_affinity::{named_nodes, term_matches};
pub use node_declared_features::needed as needed_features;
pub use node_resources::{offered_and_taken, on_shape, part};
pub use placements::{placement_fill, placement_pods};
pub use taint_toleration::tolerates;

use super::{Plugin, legacy};

/// The rules of the framework, 1.17 to the newest.
pub static PLUGINS: &[&dyn Plugin] = &[
    &node_unschedulable::NodeUnschedulable,
    &node_name::NodeName,
    &taint_toleration::TaintToleration,
    &node_affinity::NodeAffinity,
    &node_ports::NodePorts,
    &node_resources_fit::NodeResourcesFit,
    &node_resources_fit::LeastAllocated,
    &node_resources_fit::MostAllocated,
    &node_resources_fit::RequestedToCapacityRatio,
    &balanced_allocation::BalancedAllocation,
    &pod_topology_spread::PodTopologySpread,
    &inter_pod_affinity::InterPodAffinity,
    &image_locality::ImageLocality,
    &node_prefer_avoid_pods::NodePreferAvoidPods,
    &selector_spread::SelectorSpread,
    &selector_spread::DefaultPodTopologySpread,
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

/// Every rule known: the framework's plugins, then classic predicates and priorities.
pub fn all() -> impl Iterator<Item = &'static dyn Plugin> {
    PLUGINS.iter().copied().chain(legacy::all())
}

/// Returns the plugin of that name; one that has no rule here yet judges nothing, and says so.
pub fn named(name: &'static str) -> &'static dyn Plugin {
    find(name).unwrap_or(&pending::Pending)
}

/// Returns the plugin, predicate or priority of that name, upper or lower case.
pub fn find(name: &str) -> Option<&'static dyn Plugin> {
    all().find(|plugin| plugin.name().eq_ignore_ascii_case(name))
}

/// Returns the rule whose page tells of that name: two plugins of 1.17 to 1.22 were but a predicate and a priority of before.
pub fn page(name: &str) -> Option<&'static dyn Plugin> {
    find(name).or_else(|| match name.to_ascii_lowercase().as_str() {
        "serviceaffinity" => find("CheckServiceAffinity"),
        "noderesourcelimits" => find("ResourceLimitsPriority"),
        _ => None,
    })
}
