//! Lets a cluster come to rest: controllers, the scheduler, and what is due, until nothing is left to do.

use super::answer::Unmodelled;
use super::attempt::attempt;
use super::controllers::{self, disruption, node_lifecycle};
use super::gangs;
use super::in_memory_state::Due;
use super::json::text;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// After so many steps a cluster is taken never to come to rest.
const MOST_STEPS: usize = 2_000_000;

/// How often pods are tried again without an event.
const MOST_ROUNDS: usize = 100;

/// Lets the cluster come to rest.
pub(super) fn settle(world: &mut SimulatedCluster<'_>, choices: &mut Choices) {
    for _ in 0..MOST_STEPS {
        if !step(world, choices) {
            return disruption::count(world);
        }
    }
    disruption::count(world);
    world.caveats.insert(Unmodelled::Endless { steps: MOST_STEPS });
}

/// Lets pods that wait be tried again without an event, as the scheduler does after five minutes, as long as that changes something. Where it changes
/// nothing, the cluster stays as it came to rest: at most the words in which a pod is refused would be others.
pub(super) fn settle_for_long(world: &mut SimulatedCluster<'_>, choices: &mut Choices) {
    settle(world, choices);
    for _ in 0..MOST_ROUNDS {
        let Some(time) = world.queue.next_flush() else { return };
        let (mark, changes) = (world.mark(), world.changes);
        world.now = world.now.max(time);
        let now = world.now;
        world.queue.flush(now);
        settle(world, choices);
        if world.changes == changes {
            return world.back(mark);
        }
    }
}

/// Does the next thing: a controller's work, an attempt of the scheduler, one thing that is due by now, or what comes next on the clock. Returns whether
/// there was anything.
///
/// Things that are due at the same time happen one after the other, and the controllers and the scheduler see each: so it is with pods that end, which
/// no two do at the same instant.
///
/// Controllers work before the scheduler does, and it before what is due, where chance does not decide. They are processes of their own: with a seed
/// any of them may be first each time.
fn step(world: &mut SimulatedCluster<'_>, choices: &mut Choices) -> bool {
    if choices.is_scheduler_first() && before_controllers(world, choices) || controllers::sync(world, choices) {
        return true;
    }
    let now = world.now;
    if let Some(pod) = world.queue.next(now) {
        attempt(world, &pod, choices);
        return true;
    }
    if let Some(due) = world.take_due() {
        happen(world, &due, choices);
        return true;
    }
    let next = [world.next_due(), world.queue.next_backoff()].into_iter().flatten().min();
    let Some(time) = next else { return false };
    world.now = world.now.max(time);
    true
}

/// Tries a pod, or lets happen what is due by now; returns whether there was anything.
fn before_controllers(world: &mut SimulatedCluster<'_>, choices: &mut Choices) -> bool {
    let now = world.now;
    let due = if choices.one_of(2) == 0 { world.take_due() } else { None };
    if let Some(due) = due {
        happen(world, &due, choices);
        return true;
    }
    let Some(pod) = world.queue.next(now) else { return false };
    attempt(world, &pod, choices);
    true
}

fn happen(world: &mut SimulatedCluster<'_>, due: &Due, choices: &mut Choices) {
    match due {
        Due::Ended(id, uid) => {
            let is_same = world.model.get(id).is_some_and(|pod| text(&pod, "/metadata/uid") == uid);
            if is_same {
                world.gone(id);
            }
        }
        Due::Started(id, uid) => world.start(id, uid),
        Due::Again(id) => drop(world.dirty.insert(id.clone())),
        Due::NoLongerTolerated(id, uid) => node_lifecycle::leave(world, id, uid),
        Due::PermitEnds(id) => gangs::give_up(world, id),
        Due::Unreachable(node) => node_lifecycle::unreachable(world, node, choices),
    }
}
