//! Deployments whose number or template was changed: their newest ReplicaSet grows, the older ones shrink, by their strategy.
//! Source: `pkg/controller/deployment/{rolling,recreate,sync}.go`, `util/deployment_util.go` (1.37).

use std::sync::Arc;

use serde_json::{Value, json};

use super::replica_set::active_ids;
use super::template::set_replicas;
use crate::json::{controller, is_terminating, member, number, scaled, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

/// Which revision of its Deployment a ReplicaSet is.
const REVISION_POINTER: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";

/// Takes the next step of a rollout or of a change of the number.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id) {
    let Some(deployment) = world.model.get(id).filter(|deployment| !is_terminating(deployment)) else { return };
    if deployment["spec"]["paused"] == true {
        return;
    }
    let mut sets = replica_sets(world, &deployment);
    if world.rollouts.remove(id) || sets.is_empty() {
        return begin(world, &deployment, sets.last());
    }
    let Some(newest) = sets.pop() else { return };
    match text(&deployment, "/spec/strategy/type") {
        "Recreate" => recreate(world, &deployment, &newest, &sets),
        _ => roll(world, &deployment, &newest, &sets),
    }
}

/// The ReplicaSets of a Deployment, the newest last.
pub(crate) fn replica_sets(world: &mut SimulatedCluster<'_>, deployment: &Value) -> Vec<Arc<Value>> {
    let uid = text(deployment, "/metadata/uid");
    let ids = world.model.ids_in("ReplicaSet", text(deployment, "/metadata/namespace"));
    let mut sets: Vec<Arc<Value>> = ids.iter().filter_map(|id| world.model.get(id)).collect();
    sets.retain(|set| controller(set).is_some_and(|owner| text(owner, "/uid") == uid));
    sets.sort_by_key(|set| text(set, REVISION_POINTER).parse::<i64>().unwrap_or(0));
    sets
}

/// Makes the ReplicaSet of a new template.
fn begin(world: &mut SimulatedCluster<'_>, deployment: &Value, last: Option<&Arc<Value>>) {
    let hash = world.generated();
    let revision = last.map_or(0, |set| text(set, REVISION_POINTER).parse::<i64>().unwrap_or(0)).saturating_add(1);
    let (mut template, mut selector) = (deployment["spec"]["template"].clone(), deployment["spec"]["selector"].clone());
    member(&mut template, "metadata");
    member(&mut template["metadata"], "labels").insert("pod-template-hash".to_owned(), json!(hash));
    member(&mut selector, "matchLabels").insert("pod-template-hash".to_owned(), json!(hash));
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", text(deployment, "/metadata/name")), "namespace": deployment["metadata"]["namespace"],
            "uid": format!("simulated-{hash}"), "labels": template["metadata"]["labels"],
            "annotations": {"deployment.kubernetes.io/revision": revision.to_string()},
            "ownerReferences": [{"apiVersion": deployment["apiVersion"], "kind": "Deployment", "name": deployment["metadata"]["name"],
                "uid": deployment["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    });
    world.write(set);
    world.dirty.insert(Id::of(deployment));
}

fn replicas(object: &Value) -> i64 {
    number(object, "/spec/replicas").unwrap_or(1)
}

/// All old pods have to be gone before new ones are made.
fn recreate(world: &mut SimulatedCluster<'_>, deployment: &Value, newest: &Value, old: &[Arc<Value>]) {
    for set in old.iter().filter(|set| replicas(set) > 0) {
        set_replicas(world, set, 0);
    }
    let is_there = |world: &SimulatedCluster<'_>, set: &Value| !world.model.owned_by(text(set, "/metadata/uid")).is_empty();
    if !old.iter().any(|set| is_there(world, set)) && replicas(newest) != replicas(deployment) {
        set_replicas(world, newest, replicas(deployment));
    }
}

/// At most `maxSurge` pods too many, and `maxUnavailable` too few.
fn roll(world: &mut SimulatedCluster<'_>, deployment: &Value, newest: &Value, old: &[Arc<Value>]) {
    let wanted = replicas(deployment);
    let quarter = json!("25%");
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let of = |field: &str, up: bool| scaled(rolling.get(field).unwrap_or(&quarter), wanted, up).unwrap_or(0);
    let (surge, mut unavailable) = (of("maxSurge", true), of("maxUnavailable", false));
    if surge == 0 && unavailable == 0 {
        unavailable = 1;
    }
    let (all, new) = (old.iter().map(|set| replicas(set)).sum::<i64>() + replicas(newest), replicas(newest));
    if new > wanted {
        return set_replicas(world, newest, wanted);
    }
    let room = (wanted + surge - all).min(wanted - new);
    if room > 0 {
        return set_replicas(world, newest, new + room);
    }
    let available_new = available(world, newest);
    let available_all = available_new + old.iter().map(|set| available(world, set)).sum::<i64>();
    let least = wanted - unavailable;
    let mut most = all - least - (new - available_new);
    for set in old.iter().filter(|set| replicas(set) > 0) {
        let unhealthy = replicas(set) - available(world, set);
        let healthy = (available_all - least).max(0).min(available(world, set));
        let down = (unhealthy + healthy).min(most).min(replicas(set));
        if down > 0 {
            most -= down;
            set_replicas(world, set, replicas(set) - down);
        }
    }
}

/// How many pods of a ReplicaSet are ready.
fn available(world: &mut SimulatedCluster<'_>, set: &Value) -> i64 {
    let active = active_ids(world, set);
    let ready = active.iter().filter(|id| world.model.pod_state(id).is_some_and(|pod| pod.is_ready)).count();
    i64::try_from(ready).unwrap_or(i64::MAX)
}
