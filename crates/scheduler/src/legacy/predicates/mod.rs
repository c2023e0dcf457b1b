//! The predicates of 1.9 to 1.17, one file per rule or family of rules.

mod general;
mod inter_pod_affinity;
mod node_condition;
mod node_label_presence;
mod node_state;
mod pages;
mod policy_predicates;
mod service_affinity;
mod volume_binding;

pub(crate) use policy_predicates::PolicyPredicate;

use super::renamed::prefilter;
use super::{Predicate, Renamed};
use crate::Plugin;

/// Predicates that only a Policy enables, with its argument.
pub(super) static POLICY_PREDICATES: &[&dyn Plugin] = &[
    &PolicyPredicate::label_presence("CheckNodeLabelPresence", Vec::new()),
    &PolicyPredicate::service_affinity("CheckServiceAffinity", Vec::new()),
];

/// A predicate with a rule of its own whose place a framework plugin took.
macro_rules! superseded {
    ($name:literal $page:ident $prepare:path, before $successor:literal) => {
        &Predicate { name: $name, doc: pages::$page, successor: $successor, prepare: |cycle| $prepare(cycle) }
    };
}

/// Predicates with rules of their own.
pub(super) static OWN_PREDICATES: &[&dyn Plugin] = &[
    &node_condition::CheckNodeCondition,
    &node_condition::MEMORY_PRESSURE,
    &node_condition::DISK_PRESSURE,
    &node_condition::PID_PRESSURE,
    superseded!("CheckNodeUnschedulable" CHECK_NODE_UNSCHEDULABLE node_state::check_node_unschedulable, before "NodeUnschedulable"),
    &general::GeneralPredicates,
    superseded!("HostName" HOST_NAME general::host_name, before "NodeName"),
    superseded!("PodFitsHostPorts" POD_FITS_HOST_PORTS general::host_ports, before "NodePorts"),
    superseded!("PodFitsPorts" POD_FITS_PORTS general::host_ports, before "NodePorts"),
    superseded!("MatchNodeSelector" MATCH_NODE_SELECTOR general::node_selector, before "NodeAffinity"),
    superseded!("PodFitsResources" POD_FITS_RESOURCES general::pod_fits_resources, before "NodeResourcesFit"),
    superseded!("PodToleratesNodeTaints" POD_TOLERATES_NODE_TAINTS node_state::pod_tolerates_node_taints, before "TaintToleration"),
    &node_state::PodToleratesNodeNoExecuteTaints,
    superseded!("CheckVolumeBinding" CHECK_VOLUME_BINDING volume_binding::check_volume_binding, before "VolumeBinding"),
    superseded!("MatchInterPodAffinity" MATCH_INTER_POD_AFFINITY inter_pod_affinity::match_inter_pod_affinity, before "InterPodAffinity"),
];

macro_rules! renamed {
    ($($name:literal $page:ident is $successor:literal;)*) => {
        &[$(&Renamed { name: $name, doc: pages::$page, successor: $successor }),*]
    };
}

/// Predicates whose rule is that of the framework plugin that took their place.
pub(super) static RENAMED_PREDICATES: &[&dyn Plugin] = renamed! {
    "NoDiskConflict" NO_DISK_CONFLICT is "VolumeRestrictions";
    "MaxEBSVolumeCount" MAX_EBS_VOLUME_COUNT is "EBSLimits";
    "MaxGCEPDVolumeCount" MAX_GCE_PD_VOLUME_COUNT is "GCEPDLimits";
    "MaxAzureDiskVolumeCount" MAX_AZURE_DISK_VOLUME_COUNT is "AzureDiskLimits";
    "MaxCinderVolumeCount" MAX_CINDER_VOLUME_COUNT is "CinderLimits";
    "MaxCSIVolumeCountPred" MAX_CSI_VOLUME_COUNT is "NodeVolumeLimits";
    "NoVolumeZoneConflict" NO_VOLUME_ZONE_CONFLICT is "VolumeZone";
    "EvenPodsSpread" EVEN_PODS_SPREAD is "PodTopologySpread";
};
