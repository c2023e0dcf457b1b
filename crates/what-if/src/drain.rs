//! A drain: which pods leave a node and which stay. Source: `kubectl/pkg/drain/filters.go`, `drain.go` (1.37), with `--ignore-daemonsets`,
//! `--delete-emptydir-data` and `--force`.
//!
//! Pods are evicted one after the other, each once the cluster has come to rest. One that a budget holds back is named. kubectl tries it again every
//! five seconds: whether it could leave once the others have left is said, and a drain that continues as long as kubectl's does it.

use super::answer::{Happening, SimulatedEvent, Unmodelled};
use super::control_loop::settle;
use super::controllers::{KNOWN_KINDS, node_lifecycle};
use super::eviction::{self, Blocked};
use super::json::{controller, text};
use super::model::Id;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

/// What becomes of pods that a budget holds back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldBack {
    /// They stay, and are named.
    Stay,
    /// They are tried again until nothing changes any more.
    TryAgain,
}

/// Cordons a node and evicts its pods.
pub(super) fn drain(world: &mut SimulatedCluster<'_>, node: &str, held_back: HeldBack, choices: &mut Choices) {
    node_lifecycle::cordon(world, node, true);
    settle(world, choices);
    // kubectl evicts them side by side: which is first is chance.
    let mut left: Vec<Id> = choices.shuffled(node_lifecycle::on_node(world, node));
    left.retain(|id| leaves(world, id));
    loop {
        let before = left.len();
        let blocked = evict_all(world, node, left, choices);
        if held_back == HeldBack::TryAgain && !blocked.is_empty() && blocked.len() < before {
            left = blocked.into_iter().map(|(id, _)| id).collect();
            continue;
        }
        let could_leave = blocked.iter().filter(|(id, _)| eviction::may_leave(world, id)).count();
        if could_leave > 0 {
            world.caveats.insert(Unmodelled::DrainGoesOn { node: node.to_owned(), pods: could_leave });
        }
        return blocked.into_iter().for_each(|(id, why)| hold(world, &id, why));
    }
}

/// Evicts pods that are on a node, one after the other; returns those that a budget holds back.
fn evict_all(world: &mut SimulatedCluster<'_>, node: &str, pods: Vec<Id>, choices: &mut Choices) -> Vec<(Id, Blocked)> {
    let mut blocked = Vec::new();
    for id in pods {
        if world.model.pod(&id).and_then(|pod| pod.node_name.as_deref()) != Some(node) {
            continue;
        }
        match eviction::evict(world, &id) {
            Ok(()) => settle(world, choices),
            Err(why) => blocked.push((id, why)),
        }
    }
    blocked
}

/// Records that a pod cannot be evicted.
fn hold(world: &mut SimulatedCluster<'_>, id: &Id, why: Blocked) {
    let Some(pod) = world.model.get(id) else { return };
    let event: &mut SimulatedEvent = world.record(Happening::Blocked, id, &pod);
    event.message = Some(why.message);
    event.budget = why.budget;
}

/// Whether a drain evicts a pod: not one of a DaemonSet, and no mirror of a static one. A pod that nothing makes again is named.
fn leaves(world: &mut SimulatedCluster<'_>, id: &Id) -> bool {
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
    if !KNOWN_KINDS.contains(&kind) {
        let name = format!("{}/{}", id.namespace, text(owner, "/name"));
        world.caveats.insert(Unmodelled::Controller { kind: kind.to_owned(), name });
    }
    true
}
