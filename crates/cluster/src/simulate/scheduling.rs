//! One attempt to schedule a pod: the exact evaluator on the state as it is, then what upstream's `scheduleOne` makes of it.
//! Source: `pkg/scheduler/schedule_one.go`, `framework/preemption/preemption.go` (1.37).

use std::sync::Arc;

use ketcd_scheduler::cluster::{PodInfo, PodKey};
use ketcd_scheduler::{Cycle, Judgement, PreemptionCandidate, Reservation, candidates, reservation};
use serde_json::{Value, json};

use super::answer::Happening;
use super::choice::Choices;
use super::equals::best;
use super::json::{member, set_condition};
use super::model::Id;
use super::sampling::{self, Found};
use super::volumes;
use super::world::World;

/// Tries a pod.
pub(super) fn attempt(world: &mut World<'_>, key: &PodKey, choices: &mut Choices) {
    let id = Id::pod(&key.0, &key.1);
    let Some(pod) = world.model.pod(&id).cloned() else {
        world.queue.remove(key);
        return;
    };
    let judgement = evaluate(world, &pod);
    let sampled = seen(world, &pod, &judgement, choices);
    let fitting = sampled.as_ref().map_or_else(|| best(&judgement), best_of);
    if fitting.is_empty() {
        return refused(world, &id, &pod, &judgement, choices);
    }
    let chosen = fitting[choices.one_of(fitting.len())].clone();
    let tied: Vec<String> = fitting.iter().filter(|node| **node != chosen).map(ToString::to_string).collect();
    let taken = taken(world, &pod, &judgement, &chosen);
    volumes::bind(world, &id, &chosen, &taken);
    world.bind(&id, &chosen);
    let Some(bound) = world.model.get(&id) else { return };
    let event = world.record(Happening::Scheduled, &id, &bound);
    event.tied_with = tied;
    event.sampled = sampled.map(|found| (found.nodes.len(), judgement.sample.fit));
}

/// The nodes that the attempt sees, where it stops before it has seen all that fit.
fn seen(world: &mut World<'_>, pod: &Arc<PodInfo>, judgement: &Judgement, choices: &mut Choices) -> Option<Found> {
    let found = sampling::found(world, judgement, choices)?;
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    sampling::score(&cycle, found)
}

/// The best of the nodes that an attempt found.
fn best_of(found: &Found) -> Vec<Arc<str>> {
    match &found.scores {
        Some(scores) => scores.best().cloned().collect(),
        None => found.nodes.iter().map(|node| Arc::from(&**node)).collect(),
    }
}

/// The volumes and devices that a pod takes on a node.
fn taken(world: &World<'_>, pod: &Arc<PodInfo>, judgement: &Judgement, node: &str) -> Reservation {
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    reservation(&cycle, judgement, node)
}

/// Evaluates a pod on the state as it is.
pub(super) fn evaluate(world: &World<'_>, pod: &Arc<PodInfo>) -> Judgement {
    Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0).evaluate()
}

fn refused(world: &mut World<'_>, id: &Id, pod: &Arc<PodInfo>, judgement: &Judgement, choices: &mut Choices) {
    let now = world.now;
    world.queue.refuse(pod, now, judgement);
    let place = if judgement.preemption_helps { placement(world, pod, judgement, choices) } else { None };
    let message = judgement.message.clone().unwrap_or_default();
    world.refuse(id, &message, place.as_ref().map(|place| &place.node));
    let is_said = world.says_new(id, &message);
    if let Some(object) = world.model.get(id).filter(|_| is_said && world.has_made(id)) {
        world.record(Happening::Unschedulable, id, &object).message = Some(message);
    }
    for victim in place.into_iter().flat_map(|place| place.victims) {
        preempt(world, id, &Id::pod(&victim.pod.namespace, &victim.pod.name));
    }
}

/// The node that preemption picks.
fn placement(world: &World<'_>, pod: &Arc<PodInfo>, judgement: &Judgement, choices: &mut Choices) -> Option<PreemptionCandidate> {
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    let mut picked: Vec<PreemptionCandidate> = candidates(&cycle, judgement).into_iter().filter(|place| place.picked).collect();
    if picked.is_empty() {
        return None;
    }
    let one = choices.one_of(picked.len());
    Some(picked.swap_remove(one))
}

/// Deletes a victim (`preemption.go` prepareCandidate).
fn preempt(world: &mut World<'_>, preemptor: &Id, victim: &Id) {
    let Some(object) = world.model.get(victim) else { return };
    world.record(Happening::Preempted, victim, &object).preempted_by = Some(format!("{}/{}", preemptor.namespace, preemptor.name));
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
