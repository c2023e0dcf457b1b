//! The scheduling queue: which waiting pod is tried next, and which events let one that was refused try again.
//! Source: `backend/queue/scheduling_queue.go`, `active_queue.go`, `backoff_queue.go` (1.37); up to 1.31 `internal/queue`.

mod event;
mod hints;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, PodKey};
use crate::profile::scheduler::Scheduler;
use crate::{Judgement, Profile, Verdict, WholePod};

pub use event::ClusterEvent;
pub(crate) use hints::may_help;

/// `podInitialBackoffSeconds` by default, in milliseconds.
const INITIAL_BACKOFF: i64 = 1_000;
/// `podMaxBackoffSeconds` by default, in milliseconds.
const MAX_BACKOFF: i64 = 10_000;

/// A pod that was refused longer ago is tried without an event (`podMaxInUnschedulablePodsDuration` by default), in milliseconds.
const LONGEST_WAIT: i64 = 5 * 60 * 1_000;
/// How often such pods are looked for, in milliseconds.
const FLUSH_INTERVAL: i64 = 30 * 1_000;

/// Where a waiting pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueuePlace {
    Active,
    Backoff,
    /// Among the unschedulable pods, until an event may help it.
    Unschedulable,
}

#[derive(Clone, Debug)]
struct Waiting {
    priority: i32,
    /// When it came into the queue, or was last refused, in milliseconds.
    since: i64,
    /// The order of those that came at once.
    order: u64,
    /// How often it was refused.
    refusals: u32,
    /// The plugins that refused it.
    rejected_by: BTreeSet<&'static str>,
    place: QueuePlace,
}

impl Waiting {
    /// `calculateBackoffDuration`: it doubles with each refusal, up to a maximum.
    fn backoff_ends(&self) -> i64 {
        let doubled = (1..self.refusals).fold(INITIAL_BACKOFF, |duration, _| (duration * 2).min(MAX_BACKOFF));
        if self.refusals == 0 { self.since } else { self.since + doubled }
    }
}

/// The pods that wait for a scheduler, on a clock of its user's, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct SchedulingQueue {
    pods: BTreeMap<PodKey, Waiting>,
    orders: u64,
    pops_backoff: bool,
}

impl SchedulingQueue {
    /// The empty queue of a scheduler.
    pub fn new(scheduler: &Scheduler) -> Self {
        Self { pops_backoff: scheduler.profiles.iter().any(|profile| profile.rules.tries_pods_in_backoff()), ..Self::default() }
    }

    /// Adds a pod that was never tried.
    pub fn add(&mut self, pod: &PodInfo, now: i64) {
        self.insert(pod, (now, 0), BTreeSet::new(), QueuePlace::Active);
    }

    /// Adds a pod that was refused so often, last at that time, by the plugins of that judgement.
    pub fn add_refused(&mut self, pod: &PodInfo, (last, refusals): (i64, u32), judgement: &Judgement) {
        self.insert(pod, (last, refusals), rejected_by(judgement), QueuePlace::Unschedulable);
    }

    fn insert(&mut self, pod: &PodInfo, (since, refusals): (i64, u32), rejected_by: BTreeSet<&'static str>, place: QueuePlace) {
        self.orders += 1;
        let waiting = Waiting { priority: pod.spec.priority, since, order: self.orders, refusals, rejected_by, place };
        self.pods.insert(pod.key(), waiting);
    }

    /// Takes out a pod that was bound or deleted; returns how often it had been refused.
    pub fn remove(&mut self, pod: &PodKey) -> Option<u32> {
        self.pods.remove(pod).map(|waiting| waiting.refusals)
    }

    /// Records that the pod popped last was refused (`AddUnschedulableIfNotPresent`).
    pub fn refuse(&mut self, pod: &PodInfo, now: i64, judgement: &Judgement) {
        let refusals = self.pods.get(&pod.key()).map_or(0, |waiting| waiting.refusals) + 1;
        self.insert(pod, (now, refusals), rejected_by(judgement), QueuePlace::Unschedulable);
    }

    /// Records that a plugin keeps a pod out of activeQ (PreEnqueue): it was not tried.
    pub fn keep_out(&mut self, pod: &PodInfo, now: i64, plugin: &'static str) {
        let refusals = self.pods.get(&pod.key()).map_or(0, |waiting| waiting.refusals);
        self.insert(pod, (now, refusals), BTreeSet::from([plugin]), QueuePlace::Unschedulable);
    }

    /// Lets a refused pod try again at once (`Activate`; `AddAttemptedPodGroupIfNeeded` of 1.37 where the pod's group was scheduled without it).
    pub fn activate(&mut self, pod: &PodKey) {
        if let Some(waiting) = self.pods.get_mut(pod) {
            waiting.place = QueuePlace::Active;
        }
    }

    /// Returns the next pod to try: of activeQ the one of the highest priority that waits longest (`PrioritySort`); where that is empty and the
    /// release does so, the one of backoffQ whose time ends first. It stays in the queue until it is refused or removed.
    pub fn next(&mut self, now: i64) -> Option<PodKey> {
        for waiting in self.pods.values_mut().filter(|waiting| waiting.place == QueuePlace::Backoff && waiting.backoff_ends() <= now) {
            waiting.place = QueuePlace::Active;
        }
        let of = |place: QueuePlace| self.pods.iter().filter(move |(_, waiting)| waiting.place == place);
        let active = of(QueuePlace::Active).min_by_key(|(_, waiting)| (std::cmp::Reverse(waiting.priority), waiting.since, waiting.order));
        let backing_off = || of(QueuePlace::Backoff).min_by_key(|(_, waiting)| (waiting.backoff_ends(), waiting.order));
        let next = active.or_else(|| self.pops_backoff.then(backing_off).flatten());
        next.map(|(key, _)| key.clone())
    }

    /// When the next pod leaves backoffQ.
    pub fn next_backoff(&self) -> Option<i64> {
        self.pods.values().filter(|waiting| waiting.place == QueuePlace::Backoff).map(Waiting::backoff_ends).min()
    }

    /// When the next refused pod is tried without an event. Upstream looks every 30 seconds since it started, which is not known: here every whole half
    /// minute.
    pub fn next_flush(&self) -> Option<i64> {
        let refused = self.pods.values().filter(|waiting| waiting.place == QueuePlace::Unschedulable);
        let since = refused.map(|waiting| waiting.since).min()?;
        Some((since + LONGEST_WAIT).div_euclid(FLUSH_INTERVAL).saturating_add(1).saturating_mul(FLUSH_INTERVAL))
    }

    /// Lets the pods try again that were refused more than five minutes ago (`flushUnschedulablePodsLeftover`).
    pub fn flush(&mut self, now: i64) {
        for waiting in
            self.pods.values_mut().filter(|waiting| waiting.place == QueuePlace::Unschedulable && now - waiting.since > LONGEST_WAIT)
        {
            waiting.place = if waiting.backoff_ends() > now { QueuePlace::Backoff } else { QueuePlace::Active };
        }
    }

    /// Lets the refused pods try again that an event may help (`MoveAllToActiveOrBackoffQueue`); they are looked up in the state after it.
    pub fn moved(&mut self, event: &ClusterEvent<'_>, state: &ClusterState, scheduler: &Scheduler, now: i64) {
        for (key, waiting) in self.pods.iter_mut().filter(|(_, waiting)| waiting.place == QueuePlace::Unschedulable) {
            let Some(pod) = state.pod(&key.0, &key.1) else { continue };
            let profile = scheduler.profile_for(pod).0;
            if waiting.rejected_by.is_empty() || waiting.rejected_by.iter().any(|plugin| may_help(plugin, event, pod, state, profile)) {
                waiting.place = if waiting.backoff_ends() > now { QueuePlace::Backoff } else { QueuePlace::Active };
            }
        }
    }

    /// The pods that wait, in no order.
    pub fn pods(&self) -> impl Iterator<Item = &PodKey> {
        self.pods.keys()
    }
}

/// The plugins that refused a pod: of each node the first, or the one that refused the pod as a whole (`UnschedulablePlugins`). A pod that fits a node
/// is refused for the sake of its group.
fn rejected_by(judgement: &Judgement) -> BTreeSet<&'static str> {
    match &judgement.whole_pod {
        Some(WholePod::Refused { plugin, .. } | WholePod::Gated { plugin, .. }) => return BTreeSet::from([*plugin]),
        Some(WholePod::Error(_)) => return BTreeSet::new(),
        None => {}
    }
    if judgement.nodes.iter().any(crate::NodeJudgement::fits) {
        return BTreeSet::from(["GangScheduling"]);
    }
    let first = |verdicts: &[Verdict]| verdicts.iter().position(|verdict| matches!(verdict, Verdict::Reject(_)));
    judgement.nodes.iter().filter_map(|node| first(&node.verdicts)).map(|at| judgement.filters[at]).collect()
}

/// Whether a profile's release asks plugins if an event helps, beyond its kind.
fn asks_plugins(profile: &Profile) -> bool {
    profile.gates.on("SchedulerQueueingHints")
}

type Pod<'p> = &'p Arc<PodInfo>;
