//! What controllers do, one file a kind. Each looks at its objects when something changed that concerns them, and takes its next step.

mod daemon_set;
pub(super) mod deployment;
pub(super) mod disruption;
mod job;
pub(super) mod node_lifecycle;
mod replica_set;
mod stateful_set;
mod template;

pub(super) use template::set_replicas;

use super::model::Id;
use super::world::World;

/// Kinds whose controllers are known here.
pub(super) const KNOWN: [&str; 6] = ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// Lets every controller look that has to; returns whether there was one.
pub(super) fn sync(world: &mut World<'_>) -> bool {
    let budgets = std::mem::take(&mut world.budgets);
    budgets.iter().for_each(|namespace| disruption::sync(world, namespace));
    let Some(id) = world.dirty.pop_first() else { return !budgets.is_empty() };
    match &*id.kind {
        "DaemonSet" => daemon_set::sync(world, &id),
        "Deployment" => deployment::sync(world, &id),
        "Job" => job::sync(world, &id),
        "ReplicaSet" | "ReplicationController" => {
            replica_set::sync(world, &id);
            roll_on(world, &id);
        }
        "StatefulSet" => stateful_set::sync(world, &id),
        _ => {}
    }
    true
}

/// A Deployment that was changed goes on with its rollout when a ReplicaSet of it has changed.
fn roll_on(world: &mut World<'_>, set: &Id) {
    let Some(set) = world.model.get(set) else { return };
    let Some(owner) = super::json::controller(&set) else { return };
    let id = Id::new("Deployment", super::json::text(&set, "/metadata/namespace"), super::json::text(owner, "/name"));
    if world.changed.contains(&id) {
        world.dirty.insert(id);
    }
}
