//! What refuses a pod on a node, and for each such thing the changes one of which any way out must contain.

mod node;
mod pods;
mod volumes;

use std::collections::HashSet;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};
use crate::{Candidate, Cycle, Plugin, Verdict, WholePod};

use super::fix::Fix;

/// One thing that refuses. Whatever else is changed, the pod fits only if one of these changes is made.
#[derive(Clone)]
pub(super) struct Need {
    /// The filter.
    pub plugin: &'static str,
    /// The changes.
    pub options: Vec<Fix>,
    /// What refuses, where no change meets it.
    pub why: String,
    /// Which changes made for other needs may meet it too.
    touch: Touch,
}

/// What a filter looks at beside what its need names.
#[derive(Clone, Copy, Default)]
struct Touch {
    /// The node's labels.
    labels: bool,
    /// Pods, wherever they are.
    pods: bool,
    /// Which nodes the pod may go to.
    admits: bool,
}

impl Need {
    fn one_of(options: Vec<Fix>) -> Self {
        Self { plugin: "", options, why: String::new(), touch: Touch::default() }
    }

    /// One that no change known here meets.
    fn hopeless(why: impl Into<String>) -> Self {
        Self { why: why.into(), ..Self::one_of(Vec::new()) }
    }
}

/// The needs of a pod that a node refuses: of every filter that refuses, none where none does.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &NodeInfo, verdicts: &[Verdict]) -> Vec<Need> {
    let nominated = cycle.nominated_pods();
    let added = nominated.get(&node.name).map(Vec::as_slice).unwrap_or_default();
    let mut with = node.clone();
    added.iter().for_each(|pod| with.add_pod(pod.clone(), cycle.state.rules()));
    let candidate = Candidate { node: &with, added, removed: &[], returned: &[] };
    let mut all = Vec::new();
    for (entry, verdict) in cycle.profile.filters.iter().zip(verdicts) {
        let found = match verdict {
            Verdict::Pass | Verdict::Skip => continue,
            Verdict::Reject(refusal) => {
                let found = of_filter(cycle, &candidate, entry.plugin);
                if found.is_empty() { vec![Need::hopeless(refusal.reasons.join(", "))] } else { found }
            }
            Verdict::Unknown { missing } => vec![Need::hopeless(format!("unknown: {missing}"))],
            Verdict::Error(error) => {
                let found = volumes::of_claims(cycle);
                if found.is_empty() { vec![Need::hopeless(error.clone())] } else { found }
            }
        };
        let touch = touch(entry.plugin.name());
        all.extend(found.into_iter().map(|need| Need { plugin: entry.name, touch, ..need }));
    }
    let others: Vec<Fix> = all.iter().flat_map(|need| need.options.iter().cloned()).collect();
    all.iter_mut().for_each(|need| need.add(&others));
    all
}

/// What a filter looks at beside what its needs name. Whatever it looks at may be what a change made for another filter changes.
fn touch(rule: &str) -> Touch {
    match rule {
        "PodTopologySpread" | "EvenPodsSpread" => Touch { labels: true, pods: true, admits: true },
        "InterPodAffinity" | "MatchInterPodAffinity" => Touch { labels: true, pods: true, admits: false },
        "NodeAffinity" | "MatchNodeSelector" | "GeneralPredicates" | "VolumeBinding" | "CheckVolumeBinding" | "DynamicResources" => {
            Touch { labels: true, ..Touch::default() }
        }
        _ => Touch::default(),
    }
}

impl Need {
    /// Adds what changes made for other needs may do for this one.
    fn add(&mut self, others: &[Fix]) {
        let touch = self.touch;
        let known: HashSet<String> = self.options.iter().map(Fix::id).collect();
        let touches = |fix: &&Fix| match fix {
            Fix::Label(..) => touch.labels,
            Fix::Delete(_) => touch.pods,
            Fix::Release(..) => true,
            Fix::Uncordon | Fix::Tolerate(_) | Fix::RemoveTaint(_) | Fix::DropNodeSelector(_) | Fix::DropNodeAffinity => touch.admits,
            _ => false,
        };
        let mut more: Vec<(String, Fix)> = others.iter().filter(touches).map(|fix| (fix.id(), fix.clone())).collect();
        more.sort_by(|a, b| a.0.cmp(&b.0));
        more.dedup_by(|a, b| a.0 == b.0);
        self.options.extend(more.into_iter().filter(|(id, _)| !known.contains(id)).map(|(_, fix)| fix));
    }
}

/// The needs of a pod that is refused as a whole.
pub(super) fn of_whole(cycle: &Cycle<'_>, whole: &WholePod) -> Vec<Need> {
    match whole {
        WholePod::Gated { plugin, reason } => vec![Need { plugin, ..Need::hopeless(reason.clone()) }],
        WholePod::Error(why) => {
            let found = volumes::of_claims(cycle);
            let found = if found.is_empty() { vec![Need::hopeless(why.clone())] } else { found };
            found.into_iter().map(|need| Need { plugin: "VolumeBinding", ..need }).collect()
        }
        WholePod::Refused { plugin, refusal } => {
            let found = match *plugin {
                "VolumeRestrictions" => [volumes::of_claims(cycle), volumes::users(cycle)].concat(),
                "VolumeBinding" | "VolumeZone" | "NodeVolumeLimits" => volumes::of_claims(cycle),
                "NodeAffinity" => vec![Need::one_of(vec![Fix::DropNodeAffinity])],
                _ => Vec::new(),
            };
            let found = if found.is_empty() { vec![Need::hopeless(refusal.reasons.join(", "))] } else { found };
            found.into_iter().map(|need| Need { plugin, ..need }).collect()
        }
    }
}

/// The need of a node that PreFilter left out.
pub(super) fn of_absent(cycle: &Cycle<'_>, plugin: &'static str) -> Need {
    let need = match plugin {
        "NodeAffinity" if !is_of_daemon_set(cycle.pod) => Need::one_of(vec![Fix::DropNodeAffinity]),
        "NodeAffinity" => Need::hopeless("the pod is its DaemonSet's for another node"),
        _ => Need::hopeless("its volumes are on other nodes"),
    };
    Need { plugin, ..need }
}

fn of_filter(cycle: &Cycle<'_>, node: &Candidate, plugin: &dyn Plugin) -> Vec<Need> {
    match plugin.name() {
        "NodeUnschedulable" | "CheckNodeUnschedulable" => vec![Need::one_of(vec![Fix::Uncordon])],
        "CheckNodeCondition" => node::conditions(cycle, node),
        "TaintToleration" | "PodToleratesNodeTaints" => node::taints(cycle, node, &["NoSchedule", "NoExecute"]),
        "PodToleratesNodeNoExecuteTaints" => node::taints(cycle, node, &["NoExecute"]),
        "NodeAffinity" | "MatchNodeSelector" => node::affinity(cycle, node),
        "NodePorts" | "PodFitsHostPorts" | "PodFitsPorts" => node::ports(cycle, node),
        "NodeResourcesFit" | "PodFitsResources" => node::resources(cycle, node),
        "GeneralPredicates" => [node::resources(cycle, node), node::ports(cycle, node), node::affinity(cycle, node)].concat(),
        "NodeDeclaredFeatures" => vec![Need::hopeless("its kubelet does not declare a feature the pod needs")],
        "PodTopologySpread" | "EvenPodsSpread" => pods::spread(cycle, node),
        "InterPodAffinity" | "MatchInterPodAffinity" => pods::affinity(cycle, node),
        "VolumeBinding" | "CheckVolumeBinding" => volumes::binding(cycle, node),
        "VolumeZone" | "NoVolumeZoneConflict" => volumes::zones(cycle, node),
        "VolumeRestrictions" | "NoDiskConflict" => volumes::restrictions(cycle, node),
        "DynamicResources" => volumes::devices(cycle, node),
        "NodeVolumeLimits"
        | "MaxCSIVolumeCountPred"
        | "EBSLimits"
        | "MaxEBSVolumeCount"
        | "GCEPDLimits"
        | "MaxGCEPDVolumeCount"
        | "AzureDiskLimits"
        | "MaxAzureDiskVolumeCount"
        | "CinderLimits"
        | "MaxCinderVolumeCount" => volumes::limits(cycle, node),
        _ => node::wanted_labels(plugin.wanted_labels(cycle, node), node),
    }
}

/// The deletion of each of some pods that people may delete.
fn deletions<'a>(pods: impl Iterator<Item = &'a Arc<PodInfo>>) -> Vec<Fix> {
    pods.filter(|pod| !is_protected(pod)).map(|pod| Fix::Delete(pod.clone())).collect()
}

/// Pods that come back by themselves, or that nobody can delete, are no way out.
pub(super) fn is_protected(pod: &PodInfo) -> bool {
    pod.mirror || is_of_daemon_set(pod)
}

fn is_of_daemon_set(pod: &PodInfo) -> bool {
    pod.spec.controller.as_ref().is_some_and(|controller| &*controller.kind == "DaemonSet")
}
