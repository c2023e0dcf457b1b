//! What the decisions about other pods mean for one attempt: which pods it counted on nodes, and which it may have counted.

use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, ObjectKey, PodInfo, WatchedKind};
use crate::profile::scheduler::Scheduler;

use super::guess::{Guess, QueueExits};
use super::ledger::{Decision, End, Ledger};
use super::members::{Member, is_same_group, members};
use super::order::{AttemptPlace, Order, Subject};

/// If their writes are at most this many revisions apart, two decisions may have been made in either order where nothing else decides. Bindings overtake
/// each other because they are written side by side, each some milliseconds after its decision.
pub(crate) const MAX_SWAP_REVISIONS: i64 = 16;

/// A pod that was decided about near an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Neighbour {
    /// The pod, on its node.
    pub pod: Arc<PodInfo>,
    /// The revision since which it waited.
    pub queued: i64,
    /// The first revision that shows the decision.
    pub written: i64,
    /// The revision from which on the attempt counts it, if nothing says more: that one or, if another process may have decided, the binding.
    pub shown: i64,
    /// The revision that ended the assumption; far away while it is open.
    pub ended: i64,
    /// Whether another process may have decided about it.
    pub foreign: bool,
    order: Order,
    /// Whether that was most likely before the attempt; `None` where only the writes say so.
    likely: Option<bool>,
    /// How far from doubt that is: how many revisions lie between its first write and the attempt's.
    distance: i64,
}

/// The neighbours of an attempt, and what their decisions say about when it was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    /// The attempt had seen its state before this revision was written.
    pub limit: i64,
    /// Whether that is the attempt's own first write, or its outcome.
    pub wrote: bool,
    /// The scheduler had not begun the attempt before this revision was written.
    pub turn: i64,
    others: Vec<Neighbour>,
    /// Pods of the pod's group that may have been tried in the same cycle, in an order that etcd does not tell.
    pub(super) members: Vec<Member>,
}

impl Ledger {
    pub(crate) fn neighbours(&self, subject: &Subject, scheduler: &Scheduler) -> Neighbours {
        let others: Vec<&Decision> = self.since(subject.queued).filter(|other| other.pod.uid != subject.pod.uid).collect();
        let (own, foreign): (Vec<&Decision>, Vec<&Decision>) =
            others.into_iter().partition(|other| is_same_scheduler(&other.pod, subject.pod, scheduler) == Some(true));
        let (place, taken) = (AttemptPlace::of(subject, &own, self), QueueExits::of(subject, &own));
        let (mut limit, mut found) = (place.before, Vec::new());
        for other in &own {
            match place.order(other) {
                Order::After => limit = limit.min(other.written),
                order => {
                    let (order, guess) = match other.forgotten_since().filter(|since| *since < subject.written) {
                        Some(_) => (Order::Either, Some(Guess { before: false, margin: 0 })),
                        None => (order, taken.guess(subject, other).filter(|_| order == Order::Either)),
                    };
                    if guess.is_some_and(|guess| !guess.before) && other.forgotten_since().is_none() {
                        limit = limit.min(other.written);
                    }
                    found.extend(neighbour(other, (order, guess), subject).filter(|_| !is_same_group(&other.pod, subject.pod)));
                }
            }
        }
        let unknown = foreign.into_iter().filter(|other| is_same_scheduler(&other.pod, subject.pod, scheduler).is_none());
        found.extend(unknown.filter_map(|other| foreign_neighbour(other, subject)));
        let turn = self.last_step(subject, limit).unwrap_or(subject.queued).max(place.after);
        let seen = found.iter().filter(|other| other.is_counted(i64::MIN)).map(|other| other.queued);
        let members = members(subject, &own, scheduler);
        Neighbours { limit, wrote: limit == subject.written, turn: seen.fold(turn, i64::max), others: found, members }
    }
}

/// A decision that put its pod on a node.
pub(super) fn neighbour(other: &Decision, (order, guess): (Order, Option<Guess>), subject: &Subject) -> Option<Neighbour> {
    let refused_at_once = other.is_refusal() || matches!(other.end, Some((revision, End::Gone)) if revision == other.written);
    let node = other.node.clone().filter(|_| !refused_at_once)?;
    let pod = Arc::new(PodInfo { node_name: Some(node), ..(*other.pod).clone() });
    let distance = guess.map_or(i64::MAX, |guess| guess.margin).min((other.written - subject.written).abs());
    let likely = guess.map(|guess| guess.before);
    let (written, ended) = (other.written, other.ended());
    Some(Neighbour { pod, queued: other.queued, written, shown: written, ended, foreign: false, order, likely, distance })
}

/// A decision that another process may have made: that one's assumptions are unknown to the attempt's scheduler until the binding is written.
fn foreign_neighbour(other: &Decision, subject: &Subject) -> Option<Neighbour> {
    let order = if other.ended() <= subject.queued { Order::Before } else { Order::Either };
    let found = neighbour(other, (order, None), subject)?;
    let is_assumed = found.written < subject.written && subject.written < found.ended;
    let distance = if is_assumed { 0 } else { found.distance.min(found.ended.saturating_sub(subject.written).saturating_abs()) };
    Some(Neighbour { shown: found.ended, foreign: true, distance, ..found })
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

impl Neighbours {
    /// Those whose place is open, by their numbers, the nearest first.
    pub(crate) fn open(&self) -> Vec<usize> {
        self.either(|distance| distance <= MAX_SWAP_REVISIONS)
    }

    /// Those whose place nothing decides but how far away they were written, by their numbers, the nearest first.
    pub(crate) fn far(&self) -> Vec<usize> {
        self.either(|distance| distance > MAX_SWAP_REVISIONS)
    }

    fn either(&self, is_meant: impl Fn(i64) -> bool) -> Vec<usize> {
        let either = self.others.iter().enumerate().filter(|(_, other)| other.order == Order::Either && is_meant(other.distance));
        let mut found: Vec<(i64, usize)> = either.map(|(at, other)| (other.distance, at)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, at)| at).collect()
    }

    /// The first revision that shows the decision that put a pod on its node.
    pub(crate) fn written(&self, pod: &PodInfo) -> i64 {
        let decided = |other: &&Neighbour| other.pod.uid == pod.uid && other.pod.node_name == pod.node_name;
        self.others.iter().find(decided).map_or(0, |other| other.written)
    }

    pub(crate) fn number_of(&self, pod: &PodInfo) -> Option<usize> {
        self.others.iter().position(|other| other.pod.uid == pod.uid)
    }

    /// A neighbour by its number.
    pub(crate) fn get(&self, at: usize) -> &Neighbour {
        &self.others[at]
    }

    /// The same with a neighbour on one side of the attempt.
    pub(crate) fn with(&self, at: usize, order: Order) -> Self {
        let mut settled = self.clone();
        settled.settle(at, order);
        settled
    }

    /// Puts a neighbour on one side of the attempt. If it was decided about after the attempt, the attempt had seen its state before the first write
    /// that shows it.
    pub(crate) fn settle(&mut self, at: usize, order: Order) {
        let other = &mut self.others[at];
        other.order = order;
        if order == Order::Before {
            self.turn = self.turn.max(other.queued);
        }
        if order == Order::After && other.shown < self.limit {
            (self.limit, self.wrote) = (other.shown, false);
        }
    }

    /// Makes `state`, which is as of `revision`, the scheduler's cache: with the pods that were assumed. Returns the pods that are not as etcd shows
    /// them.
    pub(crate) fn assume(&self, state: &mut ClusterState, revision: i64) -> Vec<(ObjectKey, CachedObject)> {
        let mut changed = self.wait_for_turn(state);
        for neighbour in &self.others {
            let Some(current) = state.pod(&neighbour.pod.namespace, &neighbour.pod.name).filter(|pod| pod.uid == neighbour.pod.uid) else {
                continue;
            };
            // A pod that was forgotten and decided about again is a neighbour twice.
            let there = current.is_on_node() && current.node_name == neighbour.pod.node_name;
            let counted = neighbour.is_counted(revision);
            // The scheduler takes no notice of nominations by another process.
            let is_unnoticed = neighbour.foreign && !counted && current.nominated_node_name.is_some();
            if counted == there && !is_unnoticed
                || neighbour.ended <= revision && !there
                || current.finished
                || current.terminating && !there
            {
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
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// Whether the attempt counts it, as far as is known: the attempt came after it, most likely did, or the write that shows it was there.
    pub(crate) fn is_counted(&self, revision: i64) -> bool {
        match self.order {
            Order::Before => true,
            Order::After => false,
            Order::Either => self.likely.unwrap_or(self.shown <= revision),
        }
    }
}
