//! ReplicaSets and ReplicationControllers: pods are made until there are as many as wanted, and the least useful deleted beyond that.
//! Source: `pkg/controller/replicaset/replica_set.go` manageReplicas, getIndirectlyRelatedPods (1.37).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::ranking::{Chosen, Rules, first_to_go};
use super::template;
use crate::answer::{Happening, Unmodelled};
use crate::json::{controller, is_terminating, number, text};
use crate::model::{Id, PodState};
use crate::seed::Choices;
use crate::simulated_cluster::SimulatedCluster;

/// Makes or deletes pods until there are as many as wanted.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id, choices: &mut Choices) {
    let Some(set) = world.model.get(id).filter(|set| !is_terminating(set)) else { return };
    let wanted = usize::try_from(number(&set, "/spec/replicas").unwrap_or(1)).unwrap_or(0);
    let there = world.model.active_count(text(&set, "/metadata/uid"));
    for made in there + 1..=wanted {
        if !world.grant_pod(id) {
            break;
        }
        let name = format!("{}-{}", id.name, world.generated());
        let pod = template::pod(world, &set, &name);
        if !template::create(world, &set, pod) {
            break;
        }
        if choices.is_seeded() && made < wanted {
            world.dirty.insert(id.clone());
            break;
        }
    }
    let beyond = there.saturating_sub(wanted);
    if beyond == 0 {
        return;
    }
    let pods = active(world, &set);
    let on_nodes = on_nodes(world, &set);
    let now = world.now;
    let chosen = first_to_go(choices.shuffled(pods), beyond, Rules::ReplicaSet { on_nodes: &on_nodes }, now);
    delete_chosen(world, id, chosen);
}

pub(super) fn delete_chosen(world: &mut SimulatedCluster<'_>, owner: &Id, chosen: Chosen) {
    if chosen.is_chance {
        world.caveats.insert(Unmodelled::DeletedByChance { workload: format!("{}/{}/{}", owner.kind, owner.namespace, owner.name) });
    }
    chosen.pods.into_iter().for_each(|pod| delete(world, &pod));
}

/// Deletes a pod, as its controller does.
pub(super) fn delete(world: &mut SimulatedCluster<'_>, id: &Id) {
    let Some(pod) = world.model.get(id).filter(|pod| !is_terminating(pod)) else { return };
    world.record(Happening::Deleted, id, &pod);
    world.terminate(id, |_| {});
}

/// The names of the pods of a controller that have not ended and are not being deleted.
pub(super) fn active_ids(world: &mut SimulatedCluster<'_>, owner: &Value) -> Vec<Id> {
    let mut owned = world.model.owned_by(text(owner, "/metadata/uid"));
    owned.retain(|id| world.model.pod_state(id).is_some_and(PodState::is_active));
    owned
}

/// The pods of a controller that have not ended and are not being deleted.
pub(super) fn active(world: &mut SimulatedCluster<'_>, owner: &Value) -> Vec<(Id, Arc<Value>)> {
    let ids = active_ids(world, owner);
    ids.into_iter().filter_map(|id| world.model.get(&id).map(|pod| (id, pod))).collect()
}

/// How many active pods each node has of all ReplicaSets of the same Deployment.
fn on_nodes(world: &mut SimulatedCluster<'_>, set: &Value) -> BTreeMap<String, usize> {
    let mut sets = vec![Arc::new(set.clone())];
    if let Some(above) = controller(set) {
        let uid = text(above, "/uid");
        let ids = world.model.ids_in(text(set, "/kind"), text(set, "/metadata/namespace"));
        sets = ids.iter().filter_map(|id| world.model.get(id)).collect();
        sets.retain(|set| controller(set).is_some_and(|owner| text(owner, "/uid") == uid));
    }
    let mut on_nodes = BTreeMap::new();
    for set in sets {
        for (_, pod) in active(world, &set) {
            *on_nodes.entry(text(&pod, "/spec/nodeName").to_owned()).or_default() += 1;
        }
    }
    on_nodes
}
