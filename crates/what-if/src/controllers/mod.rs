//! What controllers do, one file a kind. Each looks at its objects when something changed that concerns them, and takes its next step.

mod daemon_rollout;
mod daemon_set;
pub(super) mod deployment;
pub(super) mod disruption;
mod job;
pub(super) mod node_lifecycle;
pub(super) mod pod_claims;
mod pod_group;
mod ranking;
mod replica_set;
mod stateful_set;
mod template;
mod volume_binder;

pub(super) use template::set_replicas;

use super::model::Id;
use super::seed::Choices;
use super::simulated_cluster::SimulatedCluster;

pub(super) const KNOWN_KINDS: [&str; 6] = ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// Lets every controller look that has to; returns whether there was one.
///
/// Which controller is first where several have to is chance; without a seed it is the order of their names. Their workers make pods side by side: with
/// a seed each makes one pod at a time.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, choices: &mut Choices) -> bool {
    let gone = std::mem::take(&mut world.gone);
    gone.iter().for_each(|pod| pod_claims::release(world, pod));
    let deleted = std::mem::take(&mut world.deleted);
    deleted.iter().for_each(|pod| job::note_failure(world, pod));
    let written = std::mem::take(&mut world.nodes_written);
    written.iter().for_each(|(before, after)| daemon_set::node_written(world, before.as_deref(), after));
    let budgets = std::mem::take(&mut world.budgets);
    world.uncounted.extend(budgets.iter().cloned());
    let at = choices.one_of(world.dirty.len());
    let Some(id) = world.dirty.iter().nth(at).cloned() else { return !budgets.is_empty() || !gone.is_empty() };
    world.dirty.remove(&id);
    match &*id.kind {
        "DaemonSet" => daemon_set::sync(world, &id, choices),
        "Deployment" => deployment::sync(world, &id),
        "Job" => job::sync(world, &id, choices),
        "ReplicaSet" | "ReplicationController" => {
            replica_set::sync(world, &id, choices);
            roll_on(world, &id);
        }
        "PersistentVolumeClaim" => volume_binder::sync(world, &id),
        "StatefulSet" => stateful_set::sync(world, &id, choices),
        _ => {}
    }
    true
}

/// A Deployment that was changed continues with its rollout when a ReplicaSet of it has changed.
fn roll_on(world: &mut SimulatedCluster<'_>, set: &Id) {
    let Some(set) = world.model.get(set) else { return };
    let Some(owner) = super::json::controller(&set) else { return };
    let id = Id::new("Deployment", super::json::text(&set, "/metadata/namespace"), super::json::text(owner, "/name"));
    if world.changed.contains(&id) {
        world.dirty.insert(id);
    }
}
