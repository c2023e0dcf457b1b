//! GangScheduling: pods of a group enter the queue together and are bound together. Off by default.

use std::collections::BTreeMap;

use crate::cluster::{GroupPolicy, PodInfo};
use crate::pod_groups::{GroupId, Hierarchy};
use crate::{Cycle, Plugin};

/// Upstream: `plugins/gangscheduling/gangscheduling.go`.
pub(super) struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        "GangScheduling"
    }

    fn doc(&self) -> &'static str {
        "Pods of a group enter the queue together, are tried together and bound together.

Checks
  PreEnqueue: the pod's group exists and, if it is a gang, has minCount pods that have not ended. With the gate CompositePodGroup the whole tree
  that the group belongs to is there and has its pods: a composite group wants minGroupCount of its groups to be so, and one where it is no
  gang; a group of pods that is no gang wants one pod.
  Permit: minCount of them have found a node, this one included. In a group's cycle (1.36) the answer tells whether the group fits.
  PlacementFeasible (1.37): after each pod of the cycle, whether minCount are reached or can be still; a group that is no gang wants one. Of a
  composite group the same with minGroupCount, after each of its groups.
Reads
  pod spec.schedulingGroup (1.35: spec.workloadRef); PodGroup (1.35: Workload), CompositePodGroup; the group's pods
History
  1.35– off by default (gates GangScheduling and GenericWorkload; since 1.37 GenericWorkload alone). In 1.35 each pod is tried by itself and
  waits up to five minutes for the others. Since 1.36 the group has one cycle: its pods are tried one after the other, each on its node before
  the next, on one placement after the other (TopologyPlacementGenerator, PodGroupPodsCount); what does not fit as a group is not bound. 1.36
  preempts pod by pod or, with the gate WorkloadAwarePreemption, for the group; 1.37 for the group, where it also wants its pods to have the
  group's priority and one preemption policy. 1.37 with the gate CompositePodGroup: a tree of groups has one cycle; the groups of a composite
  group are tried one after the other, the older first, each beside the pods of those before that fit, and none is bound where the topmost
  does not fit. Whose group, or one above it, is disrupted as a whole goes with all of it, at the topmost group's priority.
Differs from upstream
  Which pods were in a cycle and in which order they were tried is not in etcd. It is inferred: all pods of the group without a node, by
  priority, those refused before first, then by age and name. Where one of several equal nodes was drawn for an earlier pod, the node it
  is known to have got is taken, else the first by name, and a caveat says so."
    }

    /// `PreEnqueue`.
    fn pre_enqueue(&self, cycle: &Cycle) -> Option<String> {
        let group = group(cycle)?;
        let hierarchy = Hierarchy::new(cycle.state, cycle.profile);
        if hierarchy.is_on() {
            return with_hierarchies(cycle, hierarchy);
        }
        match group {
            GangPolicy::Missing(reason) => Some(reason),
            GangPolicy::Known(policy) => {
                let least = policy.gang.as_ref()?.min_count;
                let short = others(cycle).count() + 1 < least;
                short.then(|| TOO_FEW.to_owned())
            }
        }
    }

    /// `Permit`, inferred from the pods that are bound.
    fn permit(&self, cycle: &Cycle) -> Option<&'static str> {
        let GangPolicy::Known(policy) = group(cycle)? else { return None };
        let least = policy.gang.as_ref()?.min_count;
        let placed = others(cycle).filter(|pod| pod.node_name.is_some()).count() + 1;
        (placed < least).then_some(cycle.profile.rules.waits_for_gang())
    }
}

/// The pod's group: its policy, or why it is not known.
enum GangPolicy<'a> {
    Missing(String),
    Known(&'a GroupPolicy),
}

fn group<'a>(cycle: &'a Cycle<'_>) -> Option<GangPolicy<'a>> {
    let rules = &cycle.profile.rules;
    if !cycle.profile.gates.on(rules.gang_gate()) {
        return None;
    }
    let (pod, listers) = (cycle.pod, cycle.state.listers());
    if rules.pods_name_pod_groups() {
        let name = pod.spec.pod_group.as_ref()?;
        return Some(match listers.pod_groups.get(&pod.namespace, name) {
            Some(group) => GangPolicy::Known(&group.spec.scheduling_policy),
            None => GangPolicy::Missing(format!("waiting for pods's pod group \"{name}\" to appear in scheduling queue")),
        });
    }
    let [name, of, _] = pod.spec.workload.as_ref()?;
    let Some(workload) = listers.workloads.get(&pod.namespace, name) else {
        return Some(GangPolicy::Missing(format!("waiting for pods's workload \"{name}\" to appear in scheduling queue")));
    };
    Some(match workload.spec.pod_groups.iter().find(|group| *group.name == **of) {
        Some(group) => GangPolicy::Known(&group.policy),
        None => GangPolicy::Missing(format!("pod group \"{of}\" doesn't exist for a workload \"{name}\"")),
    })
}

/// The other pods of the pod's group that have not ended.
fn others<'a>(cycle: &'a Cycle<'_>) -> impl Iterator<Item = &'a PodInfo> {
    let pod = cycle.pod;
    let by_group = cycle.profile.rules.pods_name_pod_groups();
    let same = move |other: &&PodInfo| {
        let group = if by_group { other.spec.pod_group == pod.spec.pod_group } else { other.spec.workload == pod.spec.workload };
        group && other.namespace == pod.namespace && other.name != pod.name && !other.finished
    };
    cycle.state.pods().map(std::convert::AsRef::as_ref).filter(same)
}

const TOO_FEW: &str = "waiting for minCount pods from a gang to appear in scheduling queue";

/// `preEnqueueWithHierarchies`: the whole tree that the pod's group belongs to must have its pods.
fn with_hierarchies(cycle: &Cycle<'_>, hierarchy: Hierarchy<'_>) -> Option<String> {
    let pod = cycle.pod;
    let root = match hierarchy.root(&GroupId::of_pods(&pod.namespace, pod.spec.pod_group.as_deref()?)) {
        Ok(root) => root,
        Err(why) => return Some(format!("failed to build hierarchy snapshot: {why}")),
    };
    let mut counts: BTreeMap<&str, usize> = pod.spec.pod_group.as_deref().map(|own| (own, 1)).into_iter().collect();
    let others = cycle.state.pods().filter(|other| other.namespace == pod.namespace && other.name != pod.name && !other.finished);
    others.filter_map(|other| other.spec.pod_group.as_deref()).for_each(|group| *counts.entry(group).or_default() += 1);
    let missing = || match root.composite {
        true => format!("waiting for composite pod group \"{}\" tree to meet quorum", root.name),
        false => TOO_FEW.to_owned(),
    };
    (!is_ready(&root, hierarchy, &counts)).then(missing)
}

/// `isCPGTreeReady`, `isPGReady`: whether a group has as many pods, or groups that are ready, as it needs. `counts`: pods by group.
fn is_ready(id: &GroupId, hierarchy: Hierarchy<'_>, counts: &BTreeMap<&str, usize>) -> bool {
    let Some(group) = hierarchy.get(id) else { return false };
    let least = group.spec.scheduling_policy.gang.as_ref().map_or(1, |gang| gang.min_count);
    let has = match id.composite {
        true => hierarchy.children(id).iter().filter(|child| is_ready(child, hierarchy, counts)).count(),
        false => counts.get(&*id.name).copied().unwrap_or(0),
    };
    has >= least
}
