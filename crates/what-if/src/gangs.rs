//! Pods of groups: tried together and bound together, or not at all. In 1.35 each is tried by itself and waits on its node until enough others have
//! found theirs.
//! Sources: `schedule_one_podgroup.go` (1.36, 1.37); `plugins/gangscheduling/gangscheduling.go`, `backend/workloadmanager/podgroupinfo.go` (1.35).

use std::sync::Arc;

use ketcd_scheduler::cluster::{PodInfo, PodKey};
use ketcd_scheduler::{Cycle, GroupCaveat, Judgement, PlayedGroup, Reservation, WholePod, play_group};
use serde_json::{Value, json};

use super::answer::{GroupDoubt, Unmodelled};
use super::in_memory_state::{Due, Held};
use super::json::{list, member};
use super::model::Id;
use super::scheduling::{self, say};
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// How long a pod waits for the others of its gang (`DefaultSchedulingTimeoutDuration`, 1.35), in milliseconds.
const LONGEST_WAIT: i64 = 5 * 60 * 1_000;

/// The plugin that keeps the pods of a gang together.
const GANG_PLUGIN: &str = "GangScheduling";

/// Plays the cycle of a pod's group; `None` where it is tried by itself.
pub(super) fn cycle(world: &mut SimulatedCluster<'_>, pod: &Arc<PodInfo>, choices: &mut Choices) -> Option<PlayedGroup> {
    let SimulatedCluster { model, scheduler, .. } = world;
    play_group(pod, &mut model.state, scheduler.profile_for(pod).0, &mut |count| choices.one_of(count))
}

/// The plugin that keeps a pod out of the queue, and why.
fn gated(world: &SimulatedCluster<'_>, pod: &Arc<PodInfo>) -> Option<(&'static str, String)> {
    match Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0).gated()? {
        WholePod::Gated { plugin, reason } => Some((plugin, reason)),
        _ => None,
    }
}

/// Tries the group of a pod; returns whether there is nothing else to do for the pod.
pub(super) fn attempt(world: &mut SimulatedCluster<'_>, pod: &Arc<PodInfo>, choices: &mut Choices) -> bool {
    let Some(name) = pod.gang() else { return false };
    if !world.scheduler.profile_for(pod).0.schedules_gangs() {
        world.caveats.insert(Unmodelled::PodGroup { group: format!("{}/{name}", pod.namespace), doubt: GroupDoubt::GateOff });
        return false;
    }
    if let Some((plugin, reason)) = gated(world, pod) {
        keep_out(world, pod, plugin, &reason);
        return true;
    }
    let Some(group) = cycle(world, pod, choices) else { return false };
    world.attempts += group.members.len();
    note(world, pod, &group);
    match &group.held_back {
        Some(reason) => keep_out(world, pod, GANG_PLUGIN, reason),
        None => submit(world, group),
    }
    true
}

/// Records that a pod does not come into activeQ.
fn keep_out(world: &mut SimulatedCluster<'_>, pod: &PodInfo, plugin: &'static str, reason: &str) {
    let (id, now) = (id(pod), world.now);
    world.queue.keep_out(pod, now, plugin);
    say(world, &id, reason);
}

/// Does what a group's cycle decided.
fn submit(world: &mut SimulatedCluster<'_>, group: PlayedGroup) {
    let first = group.members.first().map(|member| id(&member.pod));
    let mut refused = Vec::new();
    for one in group.members {
        match one.node {
            Some(node) => place(world, &one.pod, &node, &one.tied),
            None => {
                let message = one.judgement.message.clone().unwrap_or_default();
                scheduling::note_refusal(world, &one.pod, &one.judgement, &message, one.nominated.as_ref());
                refused.push(one.pod.key());
            }
        }
    }
    if group.fits {
        refused.iter().for_each(|pod| world.queue.activate(pod));
    }
    for victim in group.victims {
        first.iter().for_each(|first| scheduling::preempt(world, first, &id(&victim), &[]));
    }
}

/// Binds a pod to a node, with the volumes and devices that it takes there once the pods before it have theirs.
fn place(world: &mut SimulatedCluster<'_>, pod: &Arc<PodInfo>, node: &Arc<str>, tied: &[Arc<str>]) {
    let takes = |object: &Value| !list(object, "/spec/volumes").is_empty() || !list(object, "/spec/resourceClaims").is_empty();
    let taken = match world.model.get(&id(pod)).is_some_and(|object| takes(&object)) {
        true => {
            let judgement = scheduling::evaluate(world, pod);
            scheduling::taken(world, pod, &judgement, node)
        }
        false => Reservation::default(),
    };
    scheduling::bind(world, &id(pod), node, &taken).into_iter().for_each(|event| {
        event.tied_with = tied.iter().map(ToString::to_string).collect();
    });
}

/// Lets a pod wait on its node for the others of its gang, if it has to; returns whether it does.
pub(super) fn hold(
    world: &mut SimulatedCluster<'_>,
    pod: &Arc<PodInfo>,
    judgement: &Judgement,
    node: &Arc<str>,
    taken: Reservation,
) -> bool {
    let (Some(why), Some(gang)) = (judgement.permit, pod.gang()) else { return false };
    let gang = format!("{}/{gang}", pod.namespace);
    if world.timed_out.get(&gang) == Some(&world.changes) {
        // Nothing changed since the gang waited in vain: it would wait in vain again.
        keep_out(world, pod, GANG_PLUGIN, why);
        return true;
    }
    let (id, now) = (id(pod), world.now);
    let until = world.held.values().find(|held| held.gang == gang).map_or(now + LONGEST_WAIT, |held| held.until);
    world.held.insert(id.clone(), Held { gang, node: node.clone(), taken, until });
    world.later(until - now, Due::PermitEnds(id.clone()));
    world.queue.remove(&pod.key());
    let Some(object) = world.model.get(&id) else { return true };
    let mut assumed = (*object).clone();
    member(&mut assumed, "spec").insert("nodeName".to_owned(), json!(**node));
    world.model.assume(&id, &assumed);
    let is_other = |(namespace, name): &&PodKey| {
        *namespace == pod.namespace && world.model.state.pod(namespace, name).is_some_and(|other| other.gang() == pod.gang())
    };
    let others: Vec<PodKey> = world.queue.pods().filter(is_other).cloned().collect();
    others.iter().for_each(|other| world.queue.activate(other));
    true
}

/// Binds the pods that waited for the last one of their gang.
pub(super) fn release(world: &mut SimulatedCluster<'_>, pod: &PodInfo) {
    let Some(gang) = pod.gang().filter(|_| !world.held.is_empty()) else { return };
    let gang = format!("{}/{gang}", pod.namespace);
    let waited: Vec<Id> = world.held.iter().filter(|(_, held)| held.gang == gang).map(|(id, _)| id.clone()).collect();
    for id in waited {
        let Some(held) = world.held.remove(&id) else { continue };
        scheduling::bind(world, &id, &held.node, &held.taken);
    }
}

/// A pod has waited long enough for its gang.
pub(super) fn give_up(world: &mut SimulatedCluster<'_>, id: &Id) {
    let Some(held) = world.held.remove(id) else { return };
    let Some(assumed) = world.model.pod(id).cloned() else { return };
    let message = "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.";
    world.refuse(id, message, None);
    let (now, changes) = (world.now, world.changes);
    world.timed_out.insert(held.gang, changes);
    world.queue.keep_out(&assumed, now, GANG_PLUGIN);
    say(world, id, message);
    world.off_node(&assumed);
}

/// Notes what a group's cycle depends on besides the state.
fn note(world: &mut SimulatedCluster<'_>, pod: &PodInfo, group: &PlayedGroup) {
    let doubt = |caveat: &GroupCaveat| match caveat {
        GroupCaveat::TriedTogether { order: true, .. } => Some(GroupDoubt::Order),
        GroupCaveat::PlacementTied { .. } | GroupCaveat::PlacementReported { .. } => Some(GroupDoubt::Placement),
        GroupCaveat::PreemptionNotTried { .. } => Some(GroupDoubt::Preemption),
        GroupCaveat::VictimsDrawn => Some(GroupDoubt::Victims),
        _ => None,
    };
    let of = format!("{}/{}", pod.namespace, group.name);
    let sampled = group.members.iter().any(|one| one.judgement.sample.unseen() > 0).then_some(GroupDoubt::Sampled);
    for doubt in group.caveats.iter().filter_map(doubt).chain(sampled) {
        world.caveats.insert(Unmodelled::PodGroup { group: of.clone(), doubt });
    }
}

fn id(pod: &PodInfo) -> Id {
    Id::pod(&pod.namespace, &pod.name)
}
