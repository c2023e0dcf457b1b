//! Which pods are tried in a group's cycle, and in which order, inferred from what etcd shows.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo};
use crate::framework::{Cycle, GroupCaveat, ListedNodes, Profile, WholePod};
use crate::pod_groups::{GroupId, Hierarchy, placed};
use crate::volumes::claim_refs;

use super::{Group, KnownMembers};

/// Returns the group that is tried with a pod: its own, or the root of the tree that this belongs to; `None` where the pod has no group.
pub(super) fn group<'a>(pod: &Arc<PodInfo>, state: &ClusterState, profile: &'a Profile, known: &'a KnownMembers) -> Option<Group<'a>> {
    let own = GroupId::of_pods(&pod.namespace, pod.spec.pod_group.as_deref()?);
    let hierarchy = Hierarchy::new(state, profile);
    let root = if hierarchy.get(&own).is_some() { hierarchy.root(&own) } else { Ok(own.clone()) };
    let listed = (profile.rules.assumed_pods_are_not_listed()).then(|| Arc::new(listed(state)));
    let builder = Builder { pod, state, profile, known, hierarchy, listed };
    Some(match root {
        Ok(root) => builder.build(root),
        Err(why) => Group { aside: Some(why), ..builder.build(own) },
    })
}

struct Builder<'a, 's> {
    pod: &'s Arc<PodInfo>,
    state: &'s ClusterState,
    profile: &'a Profile,
    known: &'a KnownMembers,
    hierarchy: Hierarchy<'s>,
    listed: Option<Arc<ListedNodes>>,
}

impl<'a> Builder<'a, '_> {
    fn build(&self, id: GroupId) -> Group<'a> {
        let children: Vec<Group> = self.hierarchy.children(&id).into_iter().map(|child| self.build(child)).collect();
        let scheduled = match id.composite {
            true => children.iter().map(|child| child.scheduled).sum(),
            false => placed(self.state, &id).filter(|other| !self.is_own(other)).count(),
        };
        let (queue, gated) = if id.composite { Default::default() } else { self.queue(&id) };
        let found = self.hierarchy.get(&id);
        let (exists, spec) = (found.is_some(), found.map(|group| group.spec.clone()).unwrap_or_default());
        let (profile, known, listed) = (self.profile, self.known, self.listed.clone());
        Group { profile, id, spec, exists, aside: None, children, queue, gated, scheduled, listed, known }
    }

    fn is_own(&self, other: &PodInfo) -> bool {
        other.namespace == self.pod.namespace && other.name == self.pod.name
    }

    /// Infers the queue: pods of the group that exist without a node, are not gated and not being deleted (`podGroupInfoForPod` of 1.36 takes them
    /// all out of activeQ, `backend/queue` of 1.37 keeps them together). Returns the gated pods as well.
    fn queue(&self, id: &GroupId) -> (Vec<Arc<PodInfo>>, Vec<(Arc<str>, &'static str)>) {
        let of = |other: &PodInfo| other.namespace == id.namespace && other.spec.pod_group.as_ref() == Some(&id.name);
        let others = self.state.pods().filter(|other| of(other) && !self.is_own(other));
        let (mut queue, mut gated): (Vec<_>, Vec<_>) = (of(self.pod).then(|| self.pod.clone()).into_iter().collect(), Vec::new());
        for other in others.filter(|other| other.node_name.is_none() && !other.finished && !other.terminating) {
            match Cycle::new(other, self.state, self.profile).gated() {
                Some(WholePod::Gated { plugin, .. }) => gated.push((other.name.clone(), plugin)),
                _ => queue.push(other.clone()),
            }
        }
        queue.sort_by_key(|pod| rank(pod, self.known));
        (queue, gated)
    }
}

/// Higher priority first; then as is known; then pods that were attempted before, then the older. Upstream compares the time of the first attempt
/// (1.36), or the number of attempts and the time of entering the queue (1.37).
fn rank(pod: &PodInfo, known: &KnownMembers) -> (Reverse<i32>, u8, i64, i64, Arc<str>) {
    let refused = pod.scheduled.as_ref().filter(|condition| !condition.status && &*condition.reason != "SchedulingGated");
    let tried = refused.and_then(|condition| condition.since).unwrap_or(i64::MAX);
    (Reverse(pod.spec.priority), known.place(&pod.key()), tried, pod.created.unwrap_or(0), pod.name.clone())
}

/// The caveat that the queue is inferred, where several pods are in it.
pub(super) fn inferred(group: &Group) -> Option<GroupCaveat> {
    let unlike = |a: &PodInfo, b: &PodInfo| !Arc::ptr_eq(&a.spec, &b.spec) || a.labels != b.labels;
    let equals = |pair: &[Arc<PodInfo>]| pair[0].spec.priority == pair[1].spec.priority && unlike(&pair[0], &pair[1]);
    let order = group.leaves().iter().any(|leaf| leaf.queue.windows(2).any(equals));
    let pods = group.pods().count();
    let composite = group.id.composite.then(|| group.id.name.clone());
    (pods > 1).then_some(GroupCaveat::TriedTogether { pods, composite, order })
}

/// The caveat that the cycle does not begin while one of the pods is gated (`backend/queue/scheduling_queue.go` runPreEnqueuePlugins, 1.37).
pub(super) fn held_back(group: &Group) -> Option<GroupCaveat> {
    let gated: Vec<_> = group.leaves().into_iter().flat_map(|leaf| &leaf.gated).filter(|_| group.newer()).cloned().collect();
    (!gated.is_empty()).then_some(GroupCaveat::HeldBack(gated))
}

/// Returns why the cycle does not begin: the group does not exist (1.37), or its pods differ where they must not. Upstream reports the first error of
/// an unordered list, so all of them are returned.
/// Sources: `frameworkForPodGroup` (1.36), `validatePodGroup` (1.37) of `schedule_one_podgroup.go`.
pub(super) fn mismatches(group: &Group, state: &ClusterState) -> Vec<String> {
    if group.newer() && !group.exists {
        return vec![format!("pod group object not found for pod group {}", group.id)];
    }
    let leaves = group.leaves();
    let queued: Vec<&Group> = leaves.iter().copied().filter(|leaf| !leaf.queue.is_empty()).collect();
    let mut found = Vec::new();
    for (at, leaf) in queued.iter().enumerate() {
        // Any of the groups may come first, and the others are compared with its first pod.
        let problem = |other: &Group| other.queue.iter().find_map(|pod| mismatch(group, &leaf.queue[0], pod));
        let others = || queued.iter().enumerate().filter(|(other, _)| *other != at).filter_map(|(_, other)| problem(other));
        match problem(leaf) {
            Some(error) => found.push(error),
            None => found.extend(others()),
        }
    }
    let Some(first) = queued.first().map(|leaf| &leaf.queue[0]).filter(|_| found.is_empty() && group.newer()) else { return found };
    let of_bound = leaves.iter().map(|leaf| {
        let mut bound: Vec<&Arc<PodInfo>> = placed(state, &leaf.id).collect();
        bound.sort_by_key(|pod| &pod.name);
        bound.into_iter().filter_map(|pod| mismatch(group, first, pod)).collect::<Vec<_>>()
    });
    of_bound.into_iter().find(|problems| !problems.is_empty()).unwrap_or_default()
}

/// Returns how a pod differs from the first pod of its group, or from the group.
fn mismatch(group: &Group, first: &PodInfo, pod: &PodInfo) -> Option<String> {
    let (own, of) = (&pod.spec.scheduler_name, &first.spec.scheduler_name);
    if own != of {
        let text = "all pods in a single pod group should have the same .spec.schedulerName set, got:";
        return Some(format!("{text} \"{own}\" and \"{of}\""));
    }
    if !group.newer() {
        return None;
    }
    let (own, priority) = (pod.spec.priority, group.spec.priority.unwrap_or(0));
    if own != priority {
        let text = "all pods in a single pod group should have the same priority as the pod group's priority, got";
        return Some(format!("{text} {own} and {priority}"));
    }
    let of_group = group.profile.gates.on("PodGroupPreemptionPolicy");
    let wanted = if of_group { group.spec.preemption_policy.as_deref() == Some("Never") } else { first.spec.never_preempts };
    let policy = |never: bool| if never { "Never" } else { "PreemptLowerPriority" };
    (pod.spec.never_preempts != wanted).then(|| {
        let of = if of_group { " as the pod group's preemption policy" } else { "" };
        let (own, wanted) = (policy(pod.spec.never_preempts), policy(wanted));
        format!("all pods in a single pod group should have the same preemption policy{of}, got {own} and {wanted}")
    })
}

/// Returns nodes with pods that have affinity terms, and claims in use, as the cycle begins.
fn listed(state: &ClusterState) -> ListedNodes {
    let mut listed = ListedNodes::default();
    for (node, pod) in state.nodes().flat_map(|node| node.pods.iter().map(move |pod| (node.id, pod))) {
        listed.claims.extend(claim_refs(pod, false).map(|claim| (pod.namespace.clone(), claim.name)));
        listed.any.extend(pod.spec.has_pod_affinity().then_some(node));
        listed.required_anti_affinity.extend((!pod.spec.pod_anti_affinity.required.is_empty()).then_some(node));
    }
    listed
}
