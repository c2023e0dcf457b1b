//! ReplicaSets and ReplicationControllers: pods are made until there are as many as wanted, and the least useful deleted beyond that.
//! Source: `pkg/controller/replicaset/replica_set.go` manageReplicas, `pkg/controller/controller_utils.go` ActivePodsWithRanks (1.37).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::template;
use crate::simulate::answer::Happening;
use crate::simulate::json::{is_condition_true, is_finished, is_terminating, list, number, text};
use crate::simulate::model::Id;
use crate::simulate::world::World;

/// Makes or deletes pods until there are as many as wanted.
pub(super) fn sync(world: &mut World<'_>, id: &Id) {
    let Some(set) = world.model.get(id).filter(|set| !is_terminating(set)) else { return };
    let wanted = usize::try_from(number(&set, "/spec/replicas").unwrap_or(1)).unwrap_or(0);
    let pods = active(world, &set);
    for _ in pods.len()..wanted {
        let name = format!("{}-{}", id.name, world.generated());
        let pod = template::pod(world, &set, &name);
        if !template::create(world, &set, pod) {
            break;
        }
    }
    for gone in least_useful(pods, wanted) {
        if let Some(pod) = world.model.get(&gone) {
            world.record(Happening::Deleted, &gone, &pod);
        }
        world.terminate(&gone, |_| {});
    }
}

/// The pods of a controller that have not ended and are not being deleted.
pub(super) fn active(world: &mut World<'_>, owner: &Value) -> Vec<(Id, Arc<Value>)> {
    let owned = world.model.owned_by(text(owner, "/metadata/uid"));
    let read = owned.into_iter().filter_map(|id| world.model.get(&id).map(|pod| (id, pod)));
    read.filter(|(_, pod)| !is_finished(pod) && !is_terminating(pod)).collect()
}

/// Those beyond `wanted`, the least useful first: without a node, pending, not ready, of low deletion cost, many on one node, young.
fn least_useful(mut pods: Vec<(Id, Arc<Value>)>, wanted: usize) -> Vec<Id> {
    let mut on_node: BTreeMap<String, usize> = BTreeMap::new();
    pods.iter().for_each(|(_, pod)| *on_node.entry(text(pod, "/spec/nodeName").to_owned()).or_default() += 1);
    pods.sort_by_cached_key(|(id, pod)| {
        let node = text(pod, "/spec/nodeName");
        let phase = match text(pod, "/status/phase") {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        let cost: i64 = text(pod, "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost").parse().unwrap_or(0);
        let restarts: i64 = list(pod, "/status/containerStatuses").iter().filter_map(|status| number(status, "/restartCount")).sum();
        let created = text(pod, "/metadata/creationTimestamp").to_owned();
        let (has_node, is_ready) = (!node.is_empty(), is_condition_true(pod, "Ready"));
        (has_node, phase, is_ready, cost, Reverse(on_node[node]), Reverse(restarts), Reverse(created), id.clone())
    });
    let beyond = pods.len().saturating_sub(wanted);
    pods.into_iter().take(beyond).map(|(id, _)| id).collect()
}
