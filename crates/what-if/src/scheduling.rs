//! What the scheduler does to pods: it evaluates one on the state as it is, binds it, refuses it, or deletes it for another one.
//! Source: `pkg/scheduler/schedule_one.go`, `framework/preemption/preemption.go` (1.37).

use std::sync::Arc;

use ketcd_scheduler::cluster::PodInfo;
use ketcd_scheduler::{Cycle, Judgement, Reservation, reservation};
use serde_json::{Value, json};

use super::answer::{Happening, SimulatedEvent};
use super::json::{is_terminating, member, set_condition};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;
use super::volumes;

/// The volumes and devices that a pod takes on a node.
pub(super) fn taken(world: &SimulatedCluster<'_>, pod: &Arc<PodInfo>, judgement: &Judgement, node: &str) -> Reservation {
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    reservation(&cycle, judgement, node)
}

pub(super) fn evaluate(world: &SimulatedCluster<'_>, pod: &Arc<PodInfo>) -> Judgement {
    Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0).evaluate()
}

/// Evaluates a pod on the state as it is; nodes are not scored where the scheduler sees only some of those that fit.
pub(super) fn evaluate_for_sample(world: &SimulatedCluster<'_>, pod: &Arc<PodInfo>) -> Judgement {
    Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0).evaluate_for_sample()
}

/// Binds a pod to a node, with what it takes there; returns what is recorded of it.
pub(super) fn bind<'w>(world: &'w mut SimulatedCluster<'_>, id: &Id, node: &str, taken: &Reservation) -> Option<&'w mut SimulatedEvent> {
    volumes::bind(world, id, node, taken);
    world.bind(id, node);
    let bound = world.model.get(id)?;
    Some(world.record(Happening::Scheduled, id, &bound))
}

/// Writes that a pod found no node, and records it if that is news.
pub(super) fn note_refusal(
    world: &mut SimulatedCluster<'_>,
    pod: &PodInfo,
    judgement: &Judgement,
    message: &str,
    nominated: Option<&Arc<str>>,
) {
    let (id, now) = (Id::pod(&pod.namespace, &pod.name), world.now);
    world.queue.refuse(pod, now, judgement);
    world.refuse(&id, message, nominated);
    say(world, &id, message);
}

/// Records that a pod finds no place, if that is news.
pub(super) fn say(world: &mut SimulatedCluster<'_>, id: &Id, message: &str) {
    let is_said = world.says_new(id, message);
    if let Some(object) = world.model.get(id).filter(|_| is_said && world.has_made(id)) {
        world.record(Happening::Unschedulable, id, &object).message = Some(message.to_owned());
    }
}

/// Deletes a victim, unless it is being deleted already (`framework/preemption/executor.go` prepareCandidate, 1.37). `tied`: the nodes on which room could
/// be made as well.
pub(super) fn preempt(world: &mut SimulatedCluster<'_>, preemptor: &Id, victim: &Id, tied: &[String]) {
    let Some(object) = world.model.get(victim).filter(|pod| !is_terminating(pod)) else { return };
    let event = world.record(Happening::Preempted, victim, &object);
    event.preempted_by = Some(format!("{}/{}", preemptor.namespace, preemptor.name));
    event.tied_with = tied.to_vec();
    let name = world.model.pod(preemptor).map(|pod| pod.scheduler_name().to_string()).unwrap_or_default();
    let time = world.timestamp();
    world.terminate(victim, |pod: &mut Value| {
        set_condition(
            pod,
            json!({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
            "message": format!("{name}: preempting to accommodate a higher priority pod"), "lastTransitionTime": time}),
        );
        member(pod, "status");
    });
}

/// The nodes that the scheduler may choose: the one it was nominated to, the only one that fits, or those with the most points.
pub(super) fn best(judgement: &Judgement) -> Vec<Arc<str>> {
    if judgement.whole_pod.is_some() {
        return Vec::new();
    }
    match (&judgement.nominated, &judgement.scores) {
        (Some(node), _) => vec![node.clone()],
        (None, Some(scores)) => scores.best().cloned().collect(),
        (None, None) => judgement.nodes.iter().filter(|node| node.fits()).map(|node| node.name.clone()).collect(),
    }
}
