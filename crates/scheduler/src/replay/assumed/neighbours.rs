//! What the decisions about other pods mean for one attempt: which pods it counted on nodes, and which it may have counted.

use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, ObjectKey, PodInfo, WatchedKind};
use crate::profile::scheduler::Scheduler;

use super::ledger::{Decision, End, Ledger};
use super::order::{Order, Place, Subject};

/// If their writes are at most this many revisions apart, two decisions may have been made in either order where nothing else decides. Bindings overtake
/// each other because they are written side by side, each some milliseconds after its decision.
pub(crate) const NEAR: i64 = 16;

/// A pod that was decided about near an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Neighbour {
    /// The pod, on its node.
    pub pod: Arc<PodInfo>,
    /// The first revision that shows the decision.
    written: i64,
    /// The revision that ended the assumption; far away while it is open.
    ended: i64,
    /// Whether it was decided before the attempt for certain.
    before: bool,
    /// How far apart the writes are, where it may have been decided before the attempt as well as after it.
    near: Option<i64>,
}

/// The neighbours of an attempt, and what their decisions say about when it was made.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    /// The attempt had seen its state before this revision was written.
    pub limit: i64,
    /// Whether that is the attempt's own first write, or its outcome.
    pub wrote: bool,
    /// The scheduler had not begun the attempt before this revision was written.
    pub turn: i64,
    others: Vec<Neighbour>,
}

impl Ledger {
    /// The neighbours of an attempt.
    pub(crate) fn neighbours(&self, subject: &Subject, scheduler: &Scheduler) -> Neighbours {
        let others: Vec<&Decision> = self.since(subject.queued).filter(|other| other.pod.uid != subject.pod.uid).collect();
        let (own, foreign): (Vec<&Decision>, Vec<&Decision>) =
            others.into_iter().partition(|other| is_same_scheduler(&other.pod, subject.pod, scheduler) == Some(true));
        let place = Place::of(subject, &own);
        let turn = self.last_step(subject, place.before).unwrap_or(subject.queued).max(place.after);
        let near = |other: &Decision| Some((other.written - subject.written).abs()).filter(|distance| *distance <= NEAR);
        let mut found = Vec::new();
        for other in &own {
            let order = place.order(other);
            if order == Order::After {
                continue;
            }
            let (before, near) = (order == Order::Before, near(other).filter(|_| order == Order::Either));
            found.extend(neighbour(other, before, near).filter(|_| !is_same_group(&other.pod, subject.pod)));
        }
        let unknown = foreign.into_iter().filter(|other| is_same_scheduler(&other.pod, subject.pod, scheduler).is_none());
        found.extend(unknown.filter_map(|other| neighbour(other, false, near(other))));
        Neighbours { limit: place.before, wrote: place.before == subject.written, turn, others: found }
    }
}

/// A decision that put its pod on a node.
fn neighbour(other: &Decision, before: bool, near: Option<i64>) -> Option<Neighbour> {
    let refused_at_once = other.is_refusal() || matches!(other.end, Some((revision, End::Gone)) if revision == other.written);
    let node = other.node.clone().filter(|_| !refused_at_once)?;
    let pod = Arc::new(PodInfo { node_name: Some(node), ..(*other.pod).clone() });
    Some(Neighbour { pod, written: other.written, ended: other.ended(), before, near })
}

/// Whether two pods are scheduled by one process; `None` where that is not known, because the configuration was not given.
fn is_same_scheduler(one: &PodInfo, other: &PodInfo, scheduler: &Scheduler) -> Option<bool> {
    let (one, other) = (&*one.spec.scheduler_name, &*other.spec.scheduler_name);
    let has = |name: &str| scheduler.profiles.iter().any(|profile| profile.scheduler_name == *name);
    match (one == other || has(one) && has(other), has(one) || has(other)) {
        (true, _) => Some(true),
        (false, true) if scheduler.configured => Some(false),
        (false, _) => None,
    }
}

/// Whether the cycle of the group evaluates the two together.
fn is_same_group(one: &PodInfo, other: &PodInfo) -> bool {
    one.spec.pod_group.is_some() && one.spec.pod_group == other.spec.pod_group && one.namespace == other.namespace
}

impl Neighbours {
    /// Those whose place is open, by their numbers, the nearest first.
    pub(crate) fn open(&self) -> Vec<usize> {
        let mut open: Vec<(i64, usize)> = self.others.iter().enumerate().filter_map(|(at, other)| Some((other.near?, at))).collect();
        open.sort_unstable();
        open.into_iter().map(|(_, at)| at).collect()
    }

    /// The first revision that shows the decision about a pod.
    pub(crate) fn written(&self, pod: &PodInfo) -> i64 {
        self.others.iter().find(|other| other.pod.uid == pod.uid).map_or(0, |other| other.written)
    }

    /// A neighbour by its number.
    pub(crate) fn get(&self, at: usize) -> &Neighbour {
        &self.others[at]
    }

    /// Makes `state`, which is as of `revision`, the scheduler's cache: with the pods that were assumed. For those numbered in `turned` it is the
    /// other way round. Returns the pods that are not as etcd shows them.
    pub(crate) fn assume(&self, state: &mut ClusterState, revision: i64, turned: &[usize]) -> Vec<(ObjectKey, CachedObject)> {
        let mut changed = Vec::new();
        for (at, neighbour) in self.others.iter().enumerate() {
            let Some(current) = state.pod(&neighbour.pod.namespace, &neighbour.pod.name).filter(|pod| pod.uid == neighbour.pod.uid) else {
                continue;
            };
            let counted = neighbour.is_counted(revision) != turned.contains(&at);
            let there = current.is_on_node();
            if counted == there || neighbour.ended <= revision && !there || current.finished || current.terminating && !there {
                continue;
            }
            let node_name = if counted { neighbour.pod.node_name.clone() } else { None };
            let pod = Arc::new(PodInfo { node_name, nominated_node_name: None, ..(**current).clone() });
            let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
            state.set(&key, Some(CachedObject::Pod(pod.clone())));
            changed.push((key, CachedObject::Pod(pod)));
        }
        changed
    }
}

impl Neighbour {
    /// The first revision that shows the decision.
    pub(crate) fn written(&self) -> i64 {
        self.written
    }

    /// Whether the attempt counts it, as far as is known: the attempt came after it, or the write that shows it was there.
    pub(crate) fn is_counted(&self, revision: i64) -> bool {
        self.before || self.written <= revision
    }
}
