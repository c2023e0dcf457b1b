//! The loss of each node, zone or other group of nodes, one after the other: which pods find no place, which budgets break.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Mutex;

use ketcd_cluster::{Error, Result, cores};

use super::answer::{Happening, Loss};
use super::control_loop::settle_for_long;
use super::controllers::{disruption, node_lifecycle};
use super::follow::Follow;
use super::json::{number, text};
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

const ZONE_LABEL: &str = "topology.kubernetes.io/zone";

/// Lets each group of nodes fail, the worst loss first. `by`: `node`, `zone`, or a label; `threads`: how many work at once, each on a cluster of its own.
///
/// A loss depends on no other one, nor on what was drawn in it, so that the threads change nothing.
///
/// # Errors
/// No node has that label.
pub(super) fn losses(
    world: &mut SimulatedCluster<'_>,
    by: &str,
    threads: usize,
    choices: &Choices,
    follow: &dyn Follow,
) -> Result<Vec<Loss>> {
    let groups: Vec<(String, Vec<String>)> = groups(world, by)?.into_iter().collect();
    let (all, begun) = (groups.len(), Mutex::new(0));
    let part = if ["node", "zone"].contains(&by) { by } else { "group" };
    let play = |world: &mut SimulatedCluster<'_>, (name, nodes): &(String, Vec<String>)| {
        if let Ok(mut begun) = begun.lock() {
            *begun += 1;
            follow.begins(part, *begun, all);
        }
        loss(world, name.clone(), nodes.clone(), &mut choices.clone())
    };
    let threads = threads.clamp(1, all);
    let mut found = if threads == 1 {
        groups.iter().map(|group| play(world, group)).collect()
    } else {
        let mut worlds: Vec<SimulatedCluster<'_>> = (0..threads).map(|_| world.for_a_thread()).collect();
        let found = cores::in_order_by(&mut worlds, &groups, play);
        worlds.into_iter().for_each(|other| world.model.unreadable.extend(other.model.unreadable));
        found
    };
    found.sort_by_key(|loss| (Reverse(loss.waiting.len()), Reverse(loss.budgets.len()), loss.name.clone()));
    Ok(found)
}

/// The groups, each with its nodes.
fn groups(world: &SimulatedCluster<'_>, by: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let label = match by {
        "node" => return Ok(world.nodes().into_iter().map(|node| (node.clone(), vec![node])).collect()),
        "zone" => ZONE_LABEL,
        label => label,
    };
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in world.nodes() {
        if let Some(value) = world.model.state.node(&name).and_then(|node| node.labels.get(label)) {
            groups.entry(value.to_owned()).or_default().push(name);
        }
    }
    if groups.is_empty() {
        return Err(
            Error::invalid(format!("no node has the label {label}")).hint("write --each node, --each zone, or a label of the nodes")
        );
    }
    Ok(groups)
}

/// What the loss of some nodes does; the cluster is as before afterwards.
fn loss(world: &mut SimulatedCluster<'_>, name: String, nodes: Vec<String>, choices: &mut Choices) -> Loss {
    let mark = world.mark();
    let broken_before = broken(world);
    let first = world.events.len();
    node_lifecycle::fail(world, &nodes);
    let namespaces = std::mem::take(&mut world.budgets);
    world.uncounted.extend(namespaces);
    disruption::count(world);
    let mut budgets = broken(world);
    budgets.retain(|budget| !broken_before.contains(budget));
    settle_for_long(world, choices);
    let evicted = world.events[first..].iter().filter(|event| event.what == Happening::Evicted).count();
    let waiting = world.waiting().into_iter().filter(|(pod, _)| pod.is_new).collect();
    world.back(mark);
    Loss { name, nodes, evicted, waiting, budgets }
}

/// The budgets that have fewer healthy pods than they need, as NAMESPACE/NAME.
fn broken(world: &mut SimulatedCluster<'_>) -> Vec<String> {
    let ids = world.model.ids("PodDisruptionBudget");
    let budgets: Vec<_> = ids.iter().filter_map(|id| world.model.get(id)).collect();
    let count = |budget: &serde_json::Value, field: &str| number(budget, &format!("/status/{field}")).unwrap_or(0);
    let is_broken = |budget: &&std::sync::Arc<serde_json::Value>| count(budget, "currentHealthy") < count(budget, "desiredHealthy");
    budgets
        .iter()
        .filter(is_broken)
        .map(|budget| format!("{}/{}", text(budget, "/metadata/namespace"), text(budget, "/metadata/name")))
        .collect()
}
