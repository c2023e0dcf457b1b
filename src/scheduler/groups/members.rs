//! Which pods are tried in a group's cycle, and in which order, as far as etcd shows it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey};
use crate::scheduler::{Cycle, Profile};

use super::{Group, Listed, placed};

/// The group of a pod that has a cycle, with its queue. The queue is inferred: pods of the group that exist without a node, are not gated and not
/// being deleted (`podGroupInfoForPod` of 1.36 takes them all out of the queue, `backend/queue` of 1.37 keeps them together).
pub fn group<'a>(
    pod: &Arc<PodInfo>,
    state: &ClusterState,
    profile: &'a Profile,
    known: &'a BTreeMap<PodKey, Arc<str>>,
) -> Option<Group<'a>> {
    let name = pod.spec.pod_group.clone()?;
    let found = state.listers().pod_groups.get(&pod.namespace, &name);
    let (exists, spec) = (found.is_some(), found.map(|group| group.spec.clone()).unwrap_or_default());
    let gated = |other: &PodInfo| Cycle::new(other, state, profile).gated().is_some();
    let own = |other: &PodInfo| other.namespace == pod.namespace && other.name == pod.name;
    let others = state.pods().filter(|other| other.namespace == pod.namespace && other.spec.pod_group.as_ref() == Some(&name));
    let others = others.filter(|other| !own(other) && other.node_name.is_none() && !other.finished && !other.terminating && !gated(other));
    let mut queue: Vec<Arc<PodInfo>> = others.cloned().chain([pod.clone()]).collect();
    queue.sort_by_key(|pod| rank(pod));
    let scheduled = placed(state, &pod.namespace, &name).filter(|other| !own(other)).count();
    let listed = (profile.release.0 <= 36).then(|| Arc::new(Listed::of(state)));
    Some(Group { profile, name, spec, exists, queue, scheduled, listed, known })
}

/// Higher priority first; then what was tried before comes before what was not, then the older. Upstream goes by the time of the first attempt
/// (1.36), or by the number of attempts and the time of entering the queue (1.37).
fn rank(pod: &PodInfo) -> (Reverse<i32>, i64, i64, Arc<str>) {
    let refused = pod.scheduled.as_ref().filter(|condition| !condition.status && &*condition.reason != "SchedulingGated");
    let tried = refused.and_then(|condition| condition.since).unwrap_or(i64::MAX);
    (Reverse(pod.spec.priority), tried, pod.created.unwrap_or(0), pod.name.clone())
}

/// What the order rests on, where it could be another one.
pub fn inferred(queue: &[Arc<PodInfo>]) -> Option<String> {
    let unlike = |a: &PodInfo, b: &PodInfo| !Arc::ptr_eq(&a.spec, &b.spec) || a.labels != b.labels;
    let equals = queue.windows(2).any(|pair| pair[0].spec.priority == pair[1].spec.priority && unlike(&pair[0], &pair[1]));
    (queue.len() > 1).then(|| {
        let order = if equals {
            "; the order of pods of one priority is the scheduler's alone: here those refused before come first, then the older, then by name"
        } else {
            ""
        };
        format!("that the group's {} pods without a node were tried together is inferred from the state{order}", queue.len())
    })
}

/// Why the cycle does not begin: the group is not there (1.37), or its pods differ where they must not. Of several on nodes the first of a list
/// without order is told: they are all returned.
/// Sources: `frameworkForPodGroup` (1.36), `validatePodGroup` (1.37) of `schedule_one_podgroup.go`.
pub fn mismatches(group: &Group, state: &ClusterState) -> Vec<String> {
    let Some(first) = group.queue.first() else { return Vec::new() };
    let same_scheduler = |pod: &PodInfo| {
        let (own, of) = (&pod.spec.scheduler_name, &first.spec.scheduler_name);
        let text = "all pods in a single pod group should have the same .spec.schedulerName set, got:";
        (own != of).then(|| format!("{text} \"{own}\" and \"{of}\""))
    };
    if !group.newer() {
        return group.queue.iter().find_map(|pod| same_scheduler(pod)).into_iter().collect();
    }
    if !group.exists {
        return vec![format!("pod group object not found for pod group podgroup/{}/{}", first.namespace, group.name)];
    }
    let priority = group.spec.priority.unwrap_or(0);
    let of_group = group.profile.gates.on("PodGroupPreemptionPolicy");
    let policy = |never: bool| if never { "Never" } else { "PreemptLowerPriority" };
    let wanted = if of_group { group.spec.preemption_policy.as_deref() == Some("Never") } else { first.spec.never_preempts };
    let check = |pod: &Arc<PodInfo>| {
        if let Some(error) = same_scheduler(pod) {
            return Some(error);
        }
        if pod.spec.priority != priority {
            let own = pod.spec.priority;
            return Some(format!(
                "all pods in a single pod group should have the same priority as the pod group's priority, got {own} and {priority}"
            ));
        }
        let own = pod.spec.never_preempts;
        (own != wanted).then(|| {
            let of = if of_group { " as the pod group's preemption policy" } else { "" };
            format!("all pods in a single pod group should have the same preemption policy{of}, got {} and {}", policy(own), policy(wanted))
        })
    };
    if let Some(error) = group.queue.iter().find_map(check) {
        return vec![error];
    }
    let mut bound: Vec<&Arc<PodInfo>> = placed(state, &first.namespace, &group.name).collect();
    bound.sort_by_key(|pod| &pod.name);
    bound.into_iter().filter_map(check).collect()
}
