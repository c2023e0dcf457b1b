//! One attempt to schedule a pod: the exact evaluator on the state as it is, then what upstream's `scheduleOne` makes of it.
//! Source: `pkg/scheduler/schedule_one.go` (1.37).

use std::sync::Arc;

use ketcd_scheduler::cluster::{PodInfo, PodKey};
use ketcd_scheduler::{Cycle, Judgement, PreemptionCandidate, candidates};

use super::choice::Choices;
use super::equals::best;
use super::gangs;
use super::model::Id;
use super::sampling::{self, Found};
use super::scheduling::{bind, evaluate_for_sample, note_refusal, preempt, taken};
use super::world::World;

/// Tries a pod.
pub(super) fn attempt(world: &mut World<'_>, key: &PodKey, choices: &mut Choices) {
    let id = Id::pod(&key.0, &key.1);
    let Some(pod) = world.model.pod(&id).cloned() else {
        world.queue.remove(key);
        return;
    };
    if gangs::attempt(world, &pod, choices) {
        return;
    }
    world.attempts += 1;
    let (judgement, sampled) = judged(world, &pod, choices);
    let fitting = sampled.as_ref().map_or_else(|| best(&judgement), best_of);
    if fitting.is_empty() {
        return refused(world, &id, &pod, &judgement, choices);
    }
    let chosen = fitting[choices.one_of(fitting.len())].clone();
    let tied: Vec<String> = fitting.iter().filter(|node| **node != chosen).map(ToString::to_string).collect();
    let taken = taken(world, &pod, &judgement, &chosen);
    if gangs::hold(world, &pod, &judgement, &chosen, taken.clone()) {
        return;
    }
    if let Some(event) = bind(world, &id, &chosen, &taken) {
        event.tied_with = tied;
        event.sampled = sampled.map(|found| (found.nodes.len(), judgement.sample.fit));
    }
    gangs::release(world, &pod);
}

/// The judgement of the attempt, and the nodes that it sees, where it stops before it has seen all that fit.
fn judged(world: &mut World<'_>, pod: &Arc<PodInfo>, choices: &mut Choices) -> (Judgement, Option<Found>) {
    let judgement = evaluate_for_sample(world, pod);
    let Some(found) = sampling::found(world, &judgement, choices) else { return (judgement, None) };
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    match sampling::score(&cycle, found) {
        Some(found) => (judgement, Some(found)),
        None => (cycle.evaluate(), None),
    }
}

/// The best of the nodes that an attempt found.
fn best_of(found: &Found) -> Vec<Arc<str>> {
    match &found.scores {
        Some(scores) => scores.best().cloned().collect(),
        None => found.nodes.iter().map(|node| Arc::from(&**node)).collect(),
    }
}

fn refused(world: &mut World<'_>, id: &Id, pod: &Arc<PodInfo>, judgement: &Judgement, choices: &mut Choices) {
    let place = if judgement.preemption_helps { placement(world, pod, judgement, choices) } else { None };
    let message = judgement.message.clone().unwrap_or_default();
    note_refusal(world, pod, judgement, &message, place.as_ref().map(|place| &place.node));
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
