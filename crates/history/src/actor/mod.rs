//! Who made a change: recorded in managedFields where the write left a trace there, else inferred from what changed; [`ActorFrom`] says which.

mod ending;
mod identity;
mod inference;
mod read_fields;
mod writers;

use serde_json::Value;

use super::change::{Change, ChangeKind, ObjectVersion};
use super::clock::Clock;
pub(super) use identity::CONTROLLER_MANAGER;
use identity::DEFAULT_SCHEDULER;
pub use identity::{Actor, ActorFrom};
pub(super) use read_fields::{LOOKED_AT, LOOKED_AT_OF_DELETED, LOOKED_AT_WITH_FIELD_SETS, reads_containers, reads_field_sets};
pub(super) use writers::stamp;
use writers::{named_by_itself, recorded, vanished};

/// Returns who made `change`, by what the change itself records or implies; `None` if it shows nothing.
pub fn actor(change: &Change) -> Option<Actor> {
    find(change, |_| true)
}

/// The same, but ignores actors whose lease had expired or was released by then.
pub(super) fn actor_by(change: &Change, clock: &Clock) -> Option<Actor> {
    find(change, |actor| {
        let leases = clock.leases();
        let is_heartbeat = change.object().is_some_and(|object| object["kind"] == "Node");
        match (&*actor.name, &actor.on) {
            // A node's heartbeat is itself a sign of life.
            ("kubelet", Some(node)) => is_heartbeat || !leases.lacks_kubelet(node, change.revision, clock),
            (CONTROLLER_MANAGER | DEFAULT_SCHEDULER, _) => !leases.lacks_leader(&actor.name, change.revision, clock),
            _ => true,
        }
    })
}

/// What is recorded, else the first conclusion that is possible.
fn find(change: &Change, is_possible: impl Fn(&Actor) -> bool) -> Option<Actor> {
    let object = change.object()?;
    let on_node = |found: Actor| if found.name == "kubelet" && found.on.is_none() { found.on(kubelet_of(object)) } else { found };
    let recorded = match (change.kind, &change.before) {
        (ChangeKind::Deleted, _) => None,
        (ChangeKind::Added, _) => named_by_itself(object).or_else(|| recorded(None, object)),
        (ChangeKind::Modified, ObjectVersion::Object(before)) => named_by_itself(object).or_else(|| recorded(Some(before), object)),
        (ChangeKind::Modified, _) => named_by_itself(object),
    };
    if let Some(recorded) = recorded {
        return Some(on_node(recorded));
    }
    let inferred = match (change.kind, &change.before) {
        (ChangeKind::Deleted, _) => inference::deletion(object, change.earlier.as_deref()),
        (ChangeKind::Added, _) => [inference::creation(object), None],
        (ChangeKind::Modified, ObjectVersion::Object(before)) => {
            [inference::update(before, object), vanished(before, object).or_else(|| ending::forced(before, object))]
        }
        (ChangeKind::Modified, _) => [None, None],
    };
    inferred.into_iter().flatten().map(on_node).find(is_possible)
}

fn kubelet_of(object: &Value) -> Option<&str> {
    match object["kind"].as_str()? {
        "Pod" => object["spec"]["nodeName"].as_str(),
        "Node" | "CSINode" => object["metadata"]["name"].as_str(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
