//! What each filter compared on a node: the numbers and names behind its verdict, whether it lets the pod pass or not.

pub(crate) mod devices;
mod node;
mod pods;
mod resources;
mod volumes;

use crate::cluster::NodeInfo;

use super::{Candidate, Cycle, Verdict};
use crate::framework::Fact;

pub(crate) use pods::near_what_it_seeks;
pub(crate) use resources::{amount, is_in_bytes};

/// What the filter at a place of the profile compared on a node. Where pods nominated to the node are what it refuses for, they are
/// thought to be there.
pub fn compared(cycle: &Cycle, node: &NodeInfo, at: usize, verdict: &Verdict) -> Vec<Fact> {
    let nominated = cycle.nominated_pods();
    let Some(added) = nominated.get(&node.name).filter(|_| !verdict.passes()) else {
        return of_filter(cycle, &Candidate::plain(node), at, verdict);
    };
    let plain = of_filter(cycle, &Candidate::plain(node), at, verdict);
    if plain.iter().any(|fact| !fact.holds) {
        return plain;
    }
    let mut with = node.clone();
    added.iter().for_each(|pod| with.add_pod(pod.clone(), cycle.state.rules()));
    let names: Vec<String> = added.iter().map(|pod| pod.full_name()).collect();
    let mut facts = vec![Fact::holding(format!("nominated to it, and counted as if there: {}", names.join(", ")))];
    facts.extend(of_filter(cycle, &Candidate { node: &with, added, removed: &[], returned: &[] }, at, verdict));
    facts
}

fn of_filter(cycle: &Cycle, node: &Candidate, at: usize, verdict: &Verdict) -> Vec<Fact> {
    let Some(plugin) = cycle.profile.rows().nth(at).map(|entry| entry.plugin) else { return Vec::new() };
    match plugin.name() {
        "NodeUnschedulable" | "CheckNodeUnschedulable" => node::cordon(node, verdict.passes()),
        "NodeName" | "HostName" => node::name(cycle, node),
        "TaintToleration" | "PodToleratesNodeTaints" => node::taints(cycle, node, &["NoSchedule", "NoExecute"]),
        "PodToleratesNodeNoExecuteTaints" => node::taints(cycle, node, &["NoExecute"]),
        "NodeAffinity" | "MatchNodeSelector" => node::affinity(cycle, node),
        "NodePorts" | "PodFitsHostPorts" | "PodFitsPorts" => node::ports(cycle, node),
        "NodeDeclaredFeatures" => node::features(cycle, node),
        "CheckNodeCondition" => node::conditions(cycle, node),
        "CheckNodeMemoryPressure" => node::pressure(node, "MemoryPressure", verdict.passes()),
        "CheckNodeDiskPressure" => node::pressure(node, "DiskPressure", verdict.passes()),
        "CheckNodePIDPressure" => node::pressure(node, "PIDPressure", verdict.passes()),
        "NodeResourcesFit" | "PodFitsResources" => resources::room(cycle, node),
        "GeneralPredicates" => {
            [resources::room(cycle, node), node::name(cycle, node), node::ports(cycle, node), node::affinity(cycle, node)].concat()
        }
        "PodTopologySpread" | "EvenPodsSpread" => pods::spread(cycle, node, verdict.passes()),
        "InterPodAffinity" | "MatchInterPodAffinity" => pods::affinity(cycle, node),
        "VolumeRestrictions" | "NoDiskConflict" => volumes::restrictions(cycle, node),
        "NodeVolumeLimits" | "MaxCSIVolumeCountPred" => volumes::csi_limits(cycle, node, verdict),
        "EBSLimits"
        | "MaxEBSVolumeCount"
        | "GCEPDLimits"
        | "MaxGCEPDVolumeCount"
        | "AzureDiskLimits"
        | "MaxAzureDiskVolumeCount"
        | "CinderLimits"
        | "MaxCinderVolumeCount" => volumes::disk_limits(plugin.name(), cycle, node),
        "VolumeBinding" | "CheckVolumeBinding" => volumes::binding(cycle, node),
        "VolumeZone" | "NoVolumeZoneConflict" => volumes::zones(cycle, node),
        "DynamicResources" => devices::claims(cycle, node),
        _ => plugin.compared(cycle, node),
    }
}

/// The first of several names, and how many more there are.
fn some(names: &[String], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let told = names.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{told} and {more} more") } else { told }
}
