//! Which nodes could be drained now, one after the other, without anything left pending; and why each other node cannot.
//!
//! The emptiest nodes are tried first, each after those that could be drained. A larger set may exist: finding the largest is a packing problem.

use super::answer::{Happening, Spare};
use super::choice::Choices;
use super::drain::{HeldBack, drain};
use super::world::World;

/// Finds the nodes.
pub(super) fn spare(world: &mut World<'_>, choices: &mut Choices) -> Spare {
    let mut names = world.nodes();
    names.sort_by_cached_key(|name| {
        let node = world.model.state.node(name);
        let share = |resource: &str| node.map_or(0, |node| node.requests_of(resource) * 1_000 / node.offers_of(resource).max(1));
        (share("cpu").max(share("memory")), name.clone())
    });
    let mut found = Spare::default();
    for name in names {
        let mark = world.mark();
        let first = world.events.len();
        drain(world, &name, HeldBack::TryAgain, choices);
        match obstacle(world, first) {
            None => found.nodes.push(name),
            Some(why) => {
                world.back(mark);
                found.others.push((name, why));
            }
        }
    }
    found.others.sort();
    found
}

/// What stands in the way of a drain whose events begin there.
fn obstacle(world: &mut World<'_>, first: usize) -> Option<String> {
    let stops = |what: Happening| matches!(what, Happening::Blocked | Happening::Refused);
    if let Some(event) = world.events[first..].iter().find(|event| stops(event.what)) {
        let budget = event.budget.as_ref().map_or_else(String::new, |budget| format!(" (budget {budget})"));
        let message = event.message.as_deref().unwrap_or_default();
        return Some(format!("pod {}/{}: {message}{budget}", event.pod.namespace, event.pod.name));
    }
    let (pod, message) = world.waiting().into_iter().find(|(pod, _)| pod.is_new)?;
    let owner =
        pod.owner.map_or_else(|| format!("pod {}/{}", pod.namespace, pod.name), |owner| format!("a pod of {}/{owner}", pod.namespace));
    Some(format!("{owner} finds no place: {}", message.unwrap_or_default()))
}
