//! Pods of one group that are tried in one cycle. 1.36 sorts them by the time they came into the active queue (`podGroupInfoForPod`,
//! `schedule_one_podgroup.go`); pods that waited for their gang come in together, in the order of a map, and etcd does not tell it.

use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, ObjectKey, PodInfo, WatchedKind};
use crate::groups::KnownMembers;
use crate::profile::scheduler::Scheduler;

use super::ledger::Decision;
use super::neighbours::{Neighbours, neighbour};
use super::order::{Order, Subject};

/// A pod of the attempt's group that may have been tried in the same cycle.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The pod, on its node.
    pub pod: Arc<PodInfo>,
    /// The first revision that shows the decision about it.
    pub written: i64,
    /// When it was tried, where that is taken as known.
    order: Option<Order>,
}

/// Whether the cycle of the group evaluates the two together.
pub(super) fn is_same_group(one: &PodInfo, other: &PodInfo) -> bool {
    one.spec.pod_group.is_some() && one.spec.pod_group == other.spec.pod_group && one.namespace == other.namespace
}

/// The pods of a pod's group whose order in the cycle is open, among the decisions of its scheduler.
pub(super) fn members(subject: &Subject, own: &[&Decision], scheduler: &Scheduler) -> Vec<Member> {
    if !scheduler.profile_for(subject.pod).0.rules.tries_members_in_any_order() {
        return Vec::new();
    }
    let alike = own.iter().filter(|other| is_same_group(&other.pod, subject.pod) && other.pod.spec.priority == subject.pod.spec.priority);
    let together = alike.filter(|other| other.queued < subject.written && other.written > subject.queued);
    let placed = together.filter_map(|other| neighbour(other, (Order::Either, None), subject));
    placed.map(|placed| Member { pod: placed.pod, written: placed.written, order: None }).collect()
}

impl Neighbours {
    /// The pods of the group whose order is open.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The same with each of these pods on one side of the attempt: `before` says by their numbers which are tried before it. The attempt had seen its
    /// state before the first write for one that came after it.
    pub(crate) fn with_members(&self, before: impl Fn(usize) -> bool) -> Self {
        let mut ordered = self.clone();
        for (at, member) in ordered.members.iter_mut().enumerate() {
            member.order = Some(if before(at) { Order::Before } else { Order::After });
            if member.order == Some(Order::After) && member.written < ordered.limit {
                (ordered.limit, ordered.wrote) = (member.written, false);
            }
        }
        ordered
    }

    /// What is taken as known of the pods of the group.
    pub(crate) fn known_members(&self) -> KnownMembers {
        let mut known = KnownMembers::default();
        for member in self.members.iter().filter(|member| member.order.is_some()) {
            let key = member.pod.key();
            known.nodes.extend(member.pod.node_name.clone().map(|node| (key.clone(), node)));
            let side = if member.order == Some(Order::Before) { &mut known.before } else { &mut known.after };
            side.insert(key);
        }
        known
    }

    /// Makes the pods of the group whose order is taken as known wait for the cycle, which tries them in that order. Returns those that etcd shows on
    /// nodes, or nominated.
    pub(super) fn wait_for_turn(&self, state: &mut ClusterState) -> Vec<(ObjectKey, CachedObject)> {
        let mut changed = Vec::new();
        for member in self.members.iter().filter(|member| member.order.is_some()) {
            let current = state.pod(&member.pod.namespace, &member.pod.name).filter(|pod| pod.uid == member.pod.uid);
            let shown = current.filter(|pod| (pod.is_on_node() || pod.nominated_node_name.is_some()) && !pod.finished && !pod.terminating);
            let Some(current) = shown else { continue };
            let pod = Arc::new(PodInfo { node_name: None, nominated_node_name: None, ..(**current).clone() });
            let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
            state.set(&key, Some(CachedObject::Pod(pod.clone())));
            changed.push((key, CachedObject::Pod(pod)));
        }
        changed
    }
}
