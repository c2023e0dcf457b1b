//! A pod made from a controller's template. Source: `pkg/controller/controller_utils.go` GetPodFromTemplate, RealPodControl (1.37).

use serde_json::{Value, json};

use super::pod_claims;
use crate::admission::admit;
use crate::answer::{Happening, SimulatedEvent, SimulatedPod};
use crate::json::{member, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

pub(super) fn pod(world: &mut SimulatedCluster<'_>, owner: &Value, name: &str) -> Value {
    let template = &owner["spec"]["template"];
    let mut metadata = json!({
        "name": name, "namespace": owner["metadata"]["namespace"], "uid": format!("simulated-{}", world.generated()),
        "creationTimestamp": world.timestamp(),
        "ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}],
    });
    for field in ["labels", "annotations"] {
        if template["metadata"][field].is_object() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": {"phase": "Pending"}})
}

/// Creates a pod of an owner as the API server admits it; returns whether it did. Where it does not, the owner tries again once pods are gone.
pub(super) fn create(world: &mut SimulatedCluster<'_>, owner: &Value, mut pod: Value) -> bool {
    let id = Id::of(owner);
    let Err(why) = admit(world, &mut pod) else {
        world.messages.remove(&id);
        pod_claims::make(world, &mut pod);
        world.create_pod(pod);
        return true;
    };
    let name = text(&pod, "/metadata/name").to_owned();
    let message = format!("Error creating: pods \"{name}\" is forbidden: {why}");
    world.refused_owners.insert(id.clone());
    if world.says_new(&id, &why) {
        let pod = SimulatedPod { owner: Some(id.name), ..world.named(&Id::of(&pod), &pod) };
        let event = SimulatedEvent { message: Some(message), ..SimulatedEvent::of(Happening::Refused, world.now - world.began, pod) };
        world.events.push(event);
    }
    false
}

pub(crate) fn set_replicas(world: &mut SimulatedCluster<'_>, owner: &Value, replicas: i64) {
    let mut owner = owner.clone();
    member(&mut owner, "spec").insert("replicas".to_owned(), json!(replicas));
    world.write(owner);
}
