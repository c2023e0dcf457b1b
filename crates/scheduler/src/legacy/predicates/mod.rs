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

pub(crate) use policy_predicates::ArguedPredicate;

use super::reason::Reason;
use super::{Predicate, Renamed};
use crate::plugins::evidence::{node, pods, resources, volumes};
use crate::{Candidate, Plugin, Verdict};

/// A predicate prepared for one pod: says of each node what is wrong with it, or a verdict of another kind.
pub(super) type Prepared<'a> = Box<dyn Fn(&Candidate) -> Result<Vec<Reason>, Verdict> + Sync + 'a>;

macro_rules! predicates {
    ($($name:literal $page:ident $prepare:path, $compared:expr;)*) => {
        &[$(&Predicate { name: $name, doc: pages::$page, compared: $compared, prepare: |cycle| $prepare(cycle) }),*]
    };
}

/// Predicates that only a Policy enables, with its argument.
pub(super) static ARGUED: &[&dyn Plugin] = &[
    &ArguedPredicate::label_presence("CheckNodeLabelPresence", Vec::new()),
    &ArguedPredicate::service_affinity("CheckServiceAffinity", Vec::new()),
];

/// Predicates with rules of their own.
pub(super) static PREDICATES: &[&dyn Plugin] = predicates! {
    "CheckNodeCondition" CHECK_NODE_CONDITION node_condition::check_node_condition, |cycle, on, _| node::conditions(cycle, on);
    "CheckNodeMemoryPressure" CHECK_NODE_MEMORY_PRESSURE node_condition::check_memory_pressure, |_, on, verdict| node::pressure(on, "MemoryPressure", verdict.passes());
    "CheckNodeDiskPressure" CHECK_NODE_DISK_PRESSURE node_condition::check_disk_pressure, |_, on, verdict| node::pressure(on, "DiskPressure", verdict.passes());
    "CheckNodePIDPressure" CHECK_NODE_PID_PRESSURE node_condition::check_pid_pressure, |_, on, verdict| node::pressure(on, "PIDPressure", verdict.passes());
    "CheckNodeUnschedulable" CHECK_NODE_UNSCHEDULABLE node_state::check_node_unschedulable, |_, on, verdict| node::cordon(on, verdict.passes());
    "GeneralPredicates" GENERAL_PREDICATES general::general, |cycle, on, _| [resources::room(cycle, on), node::name(cycle, on), node::ports(cycle, on), node::affinity(cycle, on)].concat();
    "HostName" HOST_NAME general::host_name, |cycle, on, _| node::name(cycle, on);
    "PodFitsHostPorts" POD_FITS_HOST_PORTS general::host_ports, |cycle, on, _| node::ports(cycle, on);
    "PodFitsPorts" POD_FITS_PORTS general::host_ports, |cycle, on, _| node::ports(cycle, on);
    "MatchNodeSelector" MATCH_NODE_SELECTOR general::node_selector, |cycle, on, _| node::affinity(cycle, on);
    "PodFitsResources" POD_FITS_RESOURCES general::pod_fits_resources, |cycle, on, _| resources::room(cycle, on);
    "PodToleratesNodeTaints" POD_TOLERATES_NODE_TAINTS node_state::pod_tolerates_node_taints, |cycle, on, _| node::taints(cycle, on, &["NoSchedule", "NoExecute"]);
    "PodToleratesNodeNoExecuteTaints" POD_TOLERATES_NODE_NO_EXECUTE_TAINTS node_state::pod_tolerates_no_execute_taints, |cycle, on, _| node::taints(cycle, on, &["NoExecute"]);
    "CheckVolumeBinding" CHECK_VOLUME_BINDING volume_binding::check_volume_binding, |cycle, on, _| volumes::binding(cycle, on);
    "MatchInterPodAffinity" MATCH_INTER_POD_AFFINITY inter_pod_affinity::match_inter_pod_affinity, |cycle, on, _| pods::affinity(cycle, on);
};

macro_rules! renamed {
    ($($name:literal $page:ident is $rule:literal;)*) => {
        &[$(&Renamed { name: $name, doc: pages::$page, rule: $rule }),*]
    };
}

/// Predicates whose rule is that of the framework plugin that took their place.
pub(super) static RENAMED: &[&dyn Plugin] = renamed! {
    "NoDiskConflict" NO_DISK_CONFLICT is "VolumeRestrictions";
    "MaxEBSVolumeCount" MAX_EBS_VOLUME_COUNT is "EBSLimits";
    "MaxGCEPDVolumeCount" MAX_GCE_PD_VOLUME_COUNT is "GCEPDLimits";
    "MaxAzureDiskVolumeCount" MAX_AZURE_DISK_VOLUME_COUNT is "AzureDiskLimits";
    "MaxCinderVolumeCount" MAX_CINDER_VOLUME_COUNT is "CinderLimits";
    "MaxCSIVolumeCountPred" MAX_CSI_VOLUME_COUNT is "NodeVolumeLimits";
    "NoVolumeZoneConflict" NO_VOLUME_ZONE_CONFLICT is "VolumeZone";
    "EvenPodsSpread" EVEN_PODS_SPREAD is "PodTopologySpread";
};
