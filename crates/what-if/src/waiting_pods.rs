//! The queue as it was at the moment looked at: which pods wait, when each was tried last, and how often so far.
//!
//! Attempts that end with the same message as the one before leave no trace in etcd. They follow from the changes of pods and nodes since a pod was
//! refused first: the queue is played over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ketcd_cluster::replay::{Feed, SeenChange};
use ketcd_cluster::{Cluster, Result};
use ketcd_scheduler::cluster::{ClusterState, ObjectKey, PodInfo, PodKey, WatchedKind};
use ketcd_scheduler::queue::{ClusterEvent, SchedulingQueue};
use ketcd_scheduler::{AttemptOutcome, Judgement, PlayedGroup, Scheduler, WholePod};
use ketcd_store::Revision;

use super::gangs;
use super::scheduling;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// Where more pods wait, they are taken to have waited for long.
const MOST_PLAYED: usize = 200;
/// The same where the first of them was refused more revisions ago.
const MOST_REVISIONS: i64 = 50_000;
/// As long ago as no backoff lasts, in milliseconds.
const LONG_AGO: i64 = 10_000;
/// A pod that was not tried for this long is tried without an event (`podMaxInUnschedulablePodsDuration`), in milliseconds.
const LONGEST_WAIT: i64 = 5 * 60 * 1_000;

/// A pod that waits and fits nowhere.
struct Refused {
    pod: Arc<PodInfo>,
    judgement: Judgement,
}

/// Puts the pods that wait into the queue.
pub(super) async fn fill<'c>(cluster: &'c Cluster, feed: &mut Feed<'c>, world: &mut SimulatedCluster<'c>, at: Revision) -> Result<()> {
    let refused = tried_now(world);
    let tried = if refused.len() <= MOST_PLAYED && !cluster.is_long().await? {
        played(cluster, feed, &world.scheduler, &refused, at).await?
    } else {
        BTreeMap::new()
    };
    put_aside(world, refused, tried);
    Ok(())
}

/// Puts the pods that wait into the queue as if they had waited for long.
pub(super) fn fill_at_once(world: &mut SimulatedCluster<'_>) {
    let refused = tried_now(world);
    put_aside(world, refused, BTreeMap::new());
}

/// Tries the pods that wait on the state as it is; those that fit are added to the queue, the others returned.
fn tried_now(world: &mut SimulatedCluster<'_>) -> Vec<Refused> {
    let mut waiting: Vec<Arc<PodInfo>> = world.model.state.pods().filter(|pod| waits(world, pod)).cloned().collect();
    waiting.sort_by_key(|pod| (pod.mod_revision, pod.key()));
    let (mut refused, mut together) = (Vec::new(), BTreeMap::new());
    for pod in waiting {
        let judgement = match together.remove(&pod.key()) {
            Some(judgement) => judgement,
            None => judged(world, &pod, &mut together),
        };
        let is_kept = judgement.group.is_some() && judgement.message.is_some();
        if is_kept || judgement.whole_pod.is_some() || !judgement.nodes.iter().any(|node| node.fits()) {
            refused.push(Refused { pod, judgement });
        } else {
            let created = pod.created.map_or(world.began, |seconds| seconds * 1_000);
            world.queue.add(&pod, created);
        }
    }
    refused
}

/// Puts pods that were refused into the queue, in the order in which they were tried last.
fn put_aside(world: &mut SimulatedCluster<'_>, mut refused: Vec<Refused>, mut tried: BTreeMap<PodKey, Tried>) {
    refused.sort_by_key(|one| (tried.get(&one.pod.key()).copied(), one.pod.mod_revision));
    for Refused { pod, judgement } in refused {
        let before = world.began - LONG_AGO;
        let known = tried.remove(&pod.key()).filter(|tried| world.began - tried.time <= LONGEST_WAIT);
        let last = known.map_or((before, 1), |tried| (tried.time, tried.refusals));
        world.queue.add_refused(&pod, last, &judgement);
    }
}

/// What the scheduler makes of a pod now; those that it tries with the pod are added to `together`.
fn judged(world: &mut SimulatedCluster<'_>, pod: &Arc<PodInfo>, together: &mut BTreeMap<PodKey, Judgement>) -> Judgement {
    let alone = scheduling::evaluate(world, pod);
    if pod.gang().is_none() || matches!(alone.whole_pod, Some(WholePod::Gated { .. })) {
        return alone;
    }
    match gangs::cycle(world, pod, &mut Choices::default()) {
        None => alone,
        Some(PlayedGroup { held_back: Some(reason), .. }) => {
            Judgement { whole_pod: Some(WholePod::Gated { plugin: "GangScheduling", reason }), ..alone }
        }
        Some(group) => {
            together.extend(group.members.into_iter().map(|member| (member.pod.key(), member.judgement)));
            together.remove(&pod.key()).unwrap_or(alone)
        }
    }
}

fn waits(world: &SimulatedCluster<'_>, pod: &PodInfo) -> bool {
    let (profile, is_own) = world.scheduler.profile_for(pod);
    pod.node_name.is_none() && !pod.finished && !pod.terminating && is_own && !profile.waits_at_gates(pod)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tried {
    /// When, in milliseconds since 1970.
    time: i64,
    /// Its place among all attempts.
    order: u64,
    /// How often the pod was refused by then.
    refusals: u32,
}

/// Plays the queue over what changed since the pods were refused first.
async fn played<'c>(
    cluster: &'c Cluster,
    feed: &mut Feed<'c>,
    scheduler: &Scheduler,
    refused: &[Refused],
    at: Revision,
) -> Result<BTreeMap<PodKey, Tried>> {
    let oldest = cluster.source.span().await?.oldest;
    let mut first: BTreeMap<PodKey, Revision> = BTreeMap::new();
    for Refused { pod, .. } in refused {
        let key = ObjectKey { kind: WatchedKind::Pod, namespace: pod.namespace.clone(), name: pod.name.clone() };
        let attempts = feed.attempts(&key, scheduler, oldest, at).await?;
        let refusal = attempts.iter().find(|(_, attempt, _)| attempt.outcome == AttemptOutcome::Unschedulable);
        first.extend(refusal.map(|(_, _, shown)| (pod.key(), *shown)));
    }
    let Some(begun) = first.values().min().copied().filter(|begun| at.0 - begun.0 <= MOST_REVISIONS) else { return Ok(BTreeMap::new()) };
    let clock = cluster.clock().await?;
    let mut state = feed.state(begun.before().max(oldest), scheduler).await?;
    let mut playing =
        Playing { scheduler, refused, first: &first, queue: SchedulingQueue::new(scheduler), tried: BTreeMap::new(), order: 0 };
    let mut now = 0;
    feed.see(&mut state, (begun, at), &mut |state, revision, seen| {
        now = clock.date(revision).map_or(now, |dated| dated.time.as_millisecond().max(now));
        playing.take(state, revision, seen, now);
    })
    .await?;
    Ok(playing.tried)
}

/// The queue on its way.
struct Playing<'p> {
    scheduler: &'p Scheduler,
    refused: &'p [Refused],
    /// The revisions that show that the pods were refused first.
    first: &'p BTreeMap<PodKey, Revision>,
    queue: SchedulingQueue,
    tried: BTreeMap<PodKey, Tried>,
    order: u64,
}

impl Playing<'_> {
    /// Takes in a change, and tries the pods that it may help, in vain.
    fn take(&mut self, state: &ClusterState, revision: Revision, seen: &SeenChange, now: i64) {
        if let SeenChange::Pod(_, Some(pod)) = seen
            && self.first.get(&pod.key()) == Some(&revision)
        {
            self.refuse(&pod.key(), now);
        }
        let event = match seen {
            SeenChange::Pod(before, after) => of_pod(before.as_ref(), after.as_ref()),
            SeenChange::Node(None, Some(after)) => Some(ClusterEvent::NodeAdded(after)),
            SeenChange::Node(Some(before), Some(after)) if before != after => Some(ClusterEvent::NodeUpdated(before, after)),
            SeenChange::Node(Some(before), None) => Some(ClusterEvent::NodeDeleted(before)),
            SeenChange::Node(..) => None,
        };
        let Some(event) = event else { return };
        self.catch_up(now);
        self.queue.moved(&event, state, self.scheduler, now);
        while let Some(key) = self.queue.next(now) {
            self.refuse(&key, now);
        }
    }

    /// Tries, in vain, the pods whose backoff or longest wait ends before a time.
    fn catch_up(&mut self, now: i64) {
        while let Some(time) = [self.queue.next_backoff(), self.queue.next_flush()].into_iter().flatten().min().filter(|time| *time < now) {
            self.queue.flush(time);
            let Some(key) = self.queue.next(time) else { return };
            self.refuse(&key, time);
        }
    }

    fn refuse(&mut self, key: &PodKey, now: i64) {
        let Some(Refused { pod, judgement }) = self.refused.iter().find(|one| one.pod.key() == *key) else { return };
        self.order += 1;
        let refusals = self.tried.get(key).map_or(0, |tried| tried.refusals) + 1;
        self.tried.insert(key.clone(), Tried { time: now, order: self.order, refusals });
        self.queue.add_refused(pod, (now, refusals), judgement);
    }
}

/// What a change of a pod is to the queue: pods without a node are none of its events.
fn of_pod<'e>(before: Option<&'e Arc<PodInfo>>, after: Option<&'e Arc<PodInfo>>) -> Option<ClusterEvent<'e>> {
    let on_node = |pod: &&'e Arc<PodInfo>| pod.node_name.is_some() && !pod.finished;
    match (before.filter(on_node), after.filter(on_node)) {
        (None, Some(after)) => Some(ClusterEvent::PodAdded(after)),
        (Some(before), Some(after)) => Some(ClusterEvent::PodUpdated(before, after)),
        (Some(before), None) => Some(ClusterEvent::PodDeleted(before)),
        (None, None) => None,
    }
}
