//! One attempt to schedule a pod: the exact evaluator on the state as it is, then what upstream's `scheduleOne` makes of it.
//! Source: `pkg/scheduler/schedule_one.go` (1.37).

use std::sync::Arc;

use ketcd_scheduler::cluster::{PodInfo, PodKey};
use ketcd_scheduler::{Cycle, Judgement, PreemptionCandidate, candidates};

use super::answer::Unmodelled;
use super::controllers::disruption;
use super::gangs;
use super::model::Id;
use super::sampling::{self, Found};
use super::scheduling::{best, bind, evaluate_for_sample, note_refusal, preempt, taken};
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

pub(super) fn attempt(world: &mut SimulatedCluster<'_>, key: &PodKey, choices: &mut Choices) {
    let id = Id::pod(&key.0, &key.1);
    let Some(pod) = world.model.pod(&id).cloned() else {
        world.queue.remove(key);
        return;
    };
    // What budgets allow is read where room is made, at the cost of pods of lower priority.
    if pod.gang().is_some() || pod.spec.priority > world.lowest_priority {
        disruption::count(world);
    }
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
    let missing = judgement.nodes.iter().find(|node| node.name == chosen).and_then(|node| node.unknown());
    if let Some(missing) = missing {
        let (pod, missing) = (format!("{}/{}", id.namespace, id.name), missing.to_owned());
        world.caveats.insert(Unmodelled::UnknownFit { pod, missing });
    }
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
fn judged(world: &mut SimulatedCluster<'_>, pod: &Arc<PodInfo>, choices: &mut Choices) -> (Judgement, Option<Found>) {
    let judgement = evaluate_for_sample(world, pod);
    let Some(found) = sampling::found(world, &judgement, choices) else { return (judgement, None) };
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    match sampling::score(&cycle, found) {
        Some(found) => (judgement, Some(found)),
        None => (cycle.evaluate(), None),
    }
}

fn best_of(found: &Found) -> Vec<Arc<str>> {
    match &found.scores {
        Some(scores) => scores.best().cloned().collect(),
        None => found.nodes.iter().map(|node| Arc::from(&**node)).collect(),
    }
}

fn refused(world: &mut SimulatedCluster<'_>, id: &Id, pod: &Arc<PodInfo>, judgement: &Judgement, choices: &mut Choices) {
    let place = if judgement.preemption_helps { placement(world, pod, judgement, choices) } else { None };
    let Some((place, tied)) = place else {
        return note_refusal(world, pod, judgement, judgement.message.as_deref().unwrap_or_default(), None);
    };
    note_refusal(world, pod, judgement, &message_of(judgement, &place), Some(&place.node));
    let name = || format!("{}/{}", id.namespace, id.name);
    if !tied.is_empty() {
        let nodes = [&[place.node.to_string()], &tied[..]].concat();
        world.caveats.insert(Unmodelled::PreemptionNode { pod: name(), nodes });
    }
    if place.tied || place.drawn {
        world.caveats.insert(Unmodelled::Victims { pod: name(), node: place.node.to_string() });
    }
    for victim in place.victims {
        preempt(world, id, &Id::pod(&victim.pod.namespace, &victim.pod.name), &tied);
    }
}

/// The node that preemption picks, and those that it could have picked as well.
fn placement(
    world: &SimulatedCluster<'_>,
    pod: &Arc<PodInfo>,
    judgement: &Judgement,
    choices: &mut Choices,
) -> Option<(PreemptionCandidate, Vec<String>)> {
    let cycle = Cycle::new(pod, &world.model.state, world.scheduler.profile_for(pod).0);
    let mut picked: Vec<PreemptionCandidate> = candidates(&cycle, judgement).into_iter().filter(|place| place.picked).collect();
    if picked.is_empty() {
        return None;
    }
    let one = picked.remove(choices.one_of(picked.len()));
    Some((one, picked.into_iter().map(|place| place.node.to_string()).collect()))
}

/// What the scheduler says where it makes room on a node: since 1.37 its message names the node.
fn message_of(judgement: &Judgement, place: &PreemptionCandidate) -> String {
    let named = format!("on node {}, preempting {} victims", place.node, place.victims.len());
    let all = || judgement.message.iter().chain(&judgement.equal_messages);
    all().find(|message| message.contains(&named)).or(judgement.message.as_ref()).cloned().unwrap_or_default()
}
