//! A drain: which pods leave a node and which stay. Source: `kubectl/pkg/drain/filters.go`, `drain.go` (1.37), with `--ignore-daemonsets`,
//! `--delete-emptydir-data` and `--force`.
//!
//! Pods are evicted one after the other, each once the cluster has come to rest; those that a budget holds back are tried again, as kubectl does,
//! until nothing changes any more.

use super::answer::{Happening, SimulatedEvent, Unmodelled};
use super::choice::Choices;
use super::controllers::{KNOWN, node_lifecycle};
use super::eviction::{self, Blocked};
use super::json::{controller, text};
use super::model::Id;
use super::settle::settle;
use super::world::World;

/// Cordons a node and evicts its pods.
pub(super) fn drain(world: &mut World<'_>, node: &str, choices: &mut Choices) {
    node_lifecycle::cordon(world, node, true);
    settle(world, choices);
    let mut left: Vec<Id> = node_lifecycle::on_node(world, node);
    left.retain(|id| leaves(world, id));
    loop {
        let mut blocked: Vec<(Id, Blocked)> = Vec::new();
        let before = left.len();
        for id in left {
            if world.model.pod(&id).and_then(|pod| pod.node_name.as_deref()) != Some(node) {
                continue;
            }
            match eviction::evict(world, &id) {
                Ok(()) => settle(world, choices),
                Err(why) => blocked.push((id, why)),
            }
        }
        if blocked.is_empty() || blocked.len() == before {
            return blocked.into_iter().for_each(|(id, why)| hold(world, &id, why));
        }
        left = blocked.into_iter().map(|(id, _)| id).collect();
    }
}

/// Records that a pod cannot be evicted.
fn hold(world: &mut World<'_>, id: &Id, why: Blocked) {
    let Some(pod) = world.model.get(id) else { return };
    let event: &mut SimulatedEvent = world.record(Happening::Blocked, id, &pod);
    event.message = Some(why.message);
    event.budget = why.budget;
}

/// Whether a drain evicts a pod: not one of a DaemonSet, and no mirror of a static one. A pod that nothing makes again is named.
fn leaves(world: &mut World<'_>, id: &Id) -> bool {
    if world.model.pod(id).is_some_and(|pod| pod.is_mirror()) {
        return false;
    }
    let Some(pod) = world.model.get(id) else { return false };
    let Some(owner) = controller(&pod) else {
        world.caveats.insert(Unmodelled::Bare { pod: format!("{}/{}", id.namespace, id.name) });
        return true;
    };
    let kind = text(owner, "/kind");
    if kind == "DaemonSet" && world.model.has(&Id::new("DaemonSet", &id.namespace, text(owner, "/name"))) {
        return false;
    }
    if !KNOWN.contains(&kind) {
        let name = format!("{}/{}", id.namespace, text(owner, "/name"));
        world.caveats.insert(Unmodelled::Controller { kind: kind.to_owned(), name });
    }
    true
}
