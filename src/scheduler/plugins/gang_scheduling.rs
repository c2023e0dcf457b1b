//! GangScheduling: pods of a group enter the queue together and are bound together. Off by default.

use crate::cluster::{GroupPolicy, PodInfo};
use crate::scheduler::{Cycle, Plugin};

/// Upstream: `plugins/gangscheduling/gangscheduling.go`.
pub struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        "GangScheduling"
    }

    fn doc(&self) -> &'static str {
        "Pods of a group enter the queue together and wait for each other before they are bound.

Checks
  PreEnqueue: the pod's group exists and, if it is a gang, has minCount pods that have not ended.
  Permit: minCount of them have found a node, this one included.
Reads
  pod spec.schedulingGroup (1.35: spec.workloadRef); PodGroup (1.35: Workload); the group's pods
History
  1.35– off by default (gates GangScheduling and GenericWorkload); 1.36 tries the pods of a group one after the other in one cycle
Differs from upstream
  It neither filters nor scores single nodes. Which pods of the group are given nodes in the same moment is not in etcd: a pod that fits
  while fewer than minCount are bound is said to wait, with upstream's sentence; whether the others fit with it is not simulated,
  nor are placements by topology and the group's own preemption (1.36)."
    }
}

/// The pod's group: its policy, or why it is not known.
enum Group<'a> {
    Missing(String),
    Known(&'a GroupPolicy),
}

fn group<'a>(cycle: &'a Cycle<'_>) -> Option<Group<'a>> {
    if !cycle.profile.gates.on("GangScheduling") {
        return None;
    }
    let (pod, listers) = (cycle.pod, cycle.state.listers());
    if cycle.profile.release.0 >= 36 {
        let name = pod.spec.pod_group.as_ref()?;
        return Some(match listers.pod_groups.get(&pod.namespace, name) {
            Some(group) => Group::Known(&group.spec.scheduling_policy),
            None => Group::Missing(format!("waiting for pods's pod group \"{name}\" to appear in scheduling queue")),
        });
    }
    let [name, of, _] = pod.spec.workload.as_ref()?;
    let Some(workload) = listers.workloads.get(&pod.namespace, name) else {
        return Some(Group::Missing(format!("waiting for pods's workload \"{name}\" to appear in scheduling queue")));
    };
    Some(match workload.spec.pod_groups.iter().find(|group| *group.name == **of) {
        Some(group) => Group::Known(&group.policy),
        None => Group::Missing(format!("pod group \"{of}\" doesn't exist for a workload \"{name}\"")),
    })
}

/// The other pods of the pod's group that have not ended.
fn others<'a>(cycle: &'a Cycle<'_>) -> impl Iterator<Item = &'a PodInfo> {
    let pod = cycle.pod;
    let newer = cycle.profile.release.0 >= 36;
    let same = move |other: &&PodInfo| {
        let group = if newer { other.spec.pod_group == pod.spec.pod_group } else { other.spec.workload == pod.spec.workload };
        group && other.namespace == pod.namespace && other.name != pod.name && !other.finished
    };
    cycle.state.pods().map(std::convert::AsRef::as_ref).filter(same)
}

/// `PreEnqueue`: why the pod is not even tried, if it is not.
pub fn pre_enqueue(cycle: &Cycle<'_>) -> Option<String> {
    match group(cycle)? {
        Group::Missing(reason) => Some(reason),
        Group::Known(policy) => {
            let least = policy.gang.as_ref()?.min_count;
            let short = others(cycle).count() + 1 < least;
            short.then(|| "waiting for minCount pods from a gang to appear in scheduling queue".to_owned())
        }
    }
}

/// `Permit`: what the pod waits for once it has found a node, as far as pods that are bound tell.
pub fn permit(cycle: &Cycle<'_>) -> Option<&'static str> {
    let Group::Known(policy) = group(cycle)? else { return None };
    let least = policy.gang.as_ref()?.min_count;
    let placed = others(cycle).filter(|pod| pod.node_name.is_some()).count() + 1;
    (placed < least).then_some(match cycle.profile.release.0 {
        ..=35 => "waiting for minCount pods from a gang to be waiting on permit",
        _ => "waiting for minCount pods from a gang to be scheduled",
    })
}
