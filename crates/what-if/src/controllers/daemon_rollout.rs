//! DaemonSets whose template was changed: their pods are made anew, node by node, by their strategy.
//! Source: `pkg/controller/daemon/update.go` rollingUpdate (1.37). Upstream takes the nodes in random order; here it is that of their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::replica_set::delete;
use crate::json::{is_condition_true, is_finished, is_terminating, scaled, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

/// The label that says of which template a pod is.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

/// The pods of a DaemonSet on a node.
#[derive(Default)]
struct OnNode {
    old: Option<(Id, bool)>,
    new: Option<(Id, bool)>,
}

/// Deletes old pods as far as the strategy lets it; returns the nodes that get a new pod next to an old one.
pub(super) fn step(world: &mut SimulatedCluster<'_>, set: &Value, by_node: &BTreeMap<String, Vec<Id>>) -> Vec<String> {
    let Some(revision) = world.revisions.get(&Id::of(set)).cloned() else { return Vec::new() };
    if text(set, "/spec/updateStrategy/type") == "OnDelete" {
        return Vec::new();
    }
    let mut nodes: BTreeMap<String, OnNode> = BTreeMap::new();
    for (node, pods) in by_node {
        let on_node = nodes.entry(node.clone()).or_default();
        for id in pods {
            let Some(pod) = world.model.get(id).filter(|pod| !is_terminating(pod) && !is_finished(pod)) else { continue };
            let is_new = pod["metadata"]["labels"][REVISION_LABEL] == *revision;
            let place = if is_new { &mut on_node.new } else { &mut on_node.old };
            *place = Some((id.clone(), is_ready(&pod)));
        }
    }
    let whole = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    let of = |field: &str, default: i64| {
        let value = set["spec"]["updateStrategy"]["rollingUpdate"].get(field).cloned().unwrap_or_else(|| json!(default));
        usize::try_from(scaled(&value, whole, true).unwrap_or(default)).unwrap_or(0)
    };
    match of("maxSurge", 0) {
        0 => {
            replace(world, &nodes, of("maxUnavailable", 1).max(1));
            Vec::new()
        }
        surge => grow(world, &nodes, surge),
    }
}

fn is_ready(pod: &Arc<Value>) -> bool {
    is_condition_true(pod, "Ready")
}

/// Old pods that are not ready go, and this many others that no more than `most` nodes are without a pod that is ready.
fn replace(world: &mut SimulatedCluster<'_>, nodes: &BTreeMap<String, OnNode>, most: usize) {
    let mut unavailable = nodes.values().filter(|node| match (&node.old, &node.new) {
        (Some((_, is_ready)), None) | (None, Some((_, is_ready))) => !is_ready,
        _ => true,
    });
    let left = most.saturating_sub(unavailable.by_ref().count());
    let old = || nodes.values().filter(|node| node.new.is_none()).filter_map(|node| node.old.as_ref());
    let broken = old().filter(|(_, is_ready)| !is_ready);
    let chosen: Vec<&Id> = broken.chain(old().filter(|(_, is_ready)| *is_ready).take(left)).map(|(id, _)| id).collect();
    chosen.into_iter().for_each(|id| delete(world, id));
}

/// Old pods go once the new one next to them is ready; no more than `most` nodes have both.
fn grow(world: &mut SimulatedCluster<'_>, nodes: &BTreeMap<String, OnNode>, most: usize) -> Vec<String> {
    let mut growing = nodes.values().filter(|node| node.new.as_ref().is_some_and(|(_, is_ready)| !is_ready)).count();
    let mut wanted = Vec::new();
    for (name, node) in nodes {
        match (&node.old, &node.new) {
            (Some((old, _)), Some((_, true))) => delete(world, old),
            (Some((_, is_ready)), None) if !is_ready || growing < most => {
                growing += usize::from(*is_ready);
                wanted.push(name.clone());
            }
            _ => {}
        }
    }
    wanted
}
