//! The loss of each node, zone or other group of nodes, one after the other: which pods find no place, which budgets break.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::answer::{Happening, Loss};
use super::choice::Choices;
use super::controllers::{disruption, node_lifecycle};
use super::json::{number, text};
use super::settle::settle_for_long;
use super::world::World;
use crate::error::{Error, Result};

/// The node label of zones.
const ZONE: &str = "topology.kubernetes.io/zone";

/// Lets each group of nodes fail, the worst loss first. `by`: `node`, `zone`, or a label; `progress`: called with how many are done, and how many
/// there are. Each evaluation of a pod uses all cores in large clusters.
///
/// # Errors
/// No node has that label.
pub(super) fn losses(world: &mut World<'_>, by: &str, choices: &mut Choices, progress: fn(usize, usize)) -> Result<Vec<Loss>> {
    let groups = groups(world, by)?;
    let all = groups.len();
    let mut found = Vec::with_capacity(all);
    for (name, nodes) in groups {
        progress(found.len(), all);
        found.push(loss(world, name, nodes, choices));
    }
    found.sort_by_key(|loss| (Reverse(loss.waiting.len()), Reverse(loss.budgets.len()), loss.name.clone()));
    Ok(found)
}

/// The groups, each with its nodes.
fn groups(world: &World<'_>, by: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let label = match by {
        "node" => return Ok(world.nodes().into_iter().map(|node| (node.clone(), vec![node])).collect()),
        "zone" => ZONE,
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
fn loss(world: &mut World<'_>, name: String, nodes: Vec<String>, choices: &mut Choices) -> Loss {
    let mark = world.mark();
    let broken_before = broken(world);
    let first = world.events.len();
    node_lifecycle::fail(world, &nodes);
    let namespaces = std::mem::take(&mut world.budgets);
    namespaces.iter().for_each(|namespace| disruption::sync(world, namespace));
    let mut budgets = broken(world);
    budgets.retain(|budget| !broken_before.contains(budget));
    settle_for_long(world, choices);
    let evicted = world.events[first..].iter().filter(|event| event.what == Happening::Evicted).count();
    let waiting = world.waiting().into_iter().filter(|(pod, _)| pod.is_new).collect();
    world.back(mark);
    Loss { name, nodes, evicted, waiting, budgets }
}

/// The budgets that have fewer healthy pods than they need, as NAMESPACE/NAME.
fn broken(world: &mut World<'_>) -> Vec<String> {
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
