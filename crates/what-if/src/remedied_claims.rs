//! Volumes and claims as a remedy would have them.

use ketcd_scheduler::{Fix, VolumeRequest};
use serde_json::{Value, json};

use super::json::{member, text};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;
use super::volumes::bind_to;

/// Changes the volumes and claims of a pod that is to fit a node.
pub(super) fn change(world: &mut SimulatedCluster<'_>, node: &str, pod: &Value, fix: &Fix) {
    let namespace = text(pod, "/metadata/namespace");
    match fix {
        Fix::FreeVolume { volume } => free(world, volume),
        Fix::ProvideVolume(VolumeRequest { claim, .. }) => provide(world, namespace, claim, node),
        Fix::BindClaim(VolumeRequest { claim, .. }) => restore(world, namespace, claim, &format!("for-{claim}")),
        Fix::RestoreVolume { claim, volume } => restore(world, namespace, claim, volume),
        Fix::CreateClaim { claim } => {
            world.write(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": **claim, "namespace": namespace},
                "spec": {}, "status": {"phase": "Pending"}}));
            restore(world, namespace, claim, &format!("for-{claim}"));
        }
        _ => {}
    }
}

/// A released volume is available again.
fn free(world: &mut SimulatedCluster<'_>, volume: &str) {
    let Some(volume) = world.model.get(&Id::new("PersistentVolume", "", volume)) else { return };
    let mut volume = (*volume).clone();
    member(&mut volume, "spec").remove("claimRef");
    member(&mut volume, "status").insert("phase".to_owned(), json!("Available"));
    world.write(volume);
}

/// A free volume that a claim can bind to on a node.
fn provide(world: &mut SimulatedCluster<'_>, namespace: &str, claim: &str, node: &str) {
    let Some(found) = world.model.get(&Id::new("PersistentVolumeClaim", namespace, claim)) else { return };
    let asked = &found["spec"];
    let mut spec = json!({"capacity": asked["resources"]["requests"]});
    for field in ["accessModes", "storageClassName", "volumeMode", "volumeAttributesClassName"] {
        spec[field] = asked[field].clone();
    }
    let host = world.model.state.node(node).and_then(|node| node.labels.get("kubernetes.io/hostname").map(str::to_owned));
    if let Some(host) = host {
        let place = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [host]});
        spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}});
    }
    world.write(json!({"apiVersion": "v1", "kind": "PersistentVolume", "spec": spec, "status": {"phase": "Available"},
        "metadata": {"name": format!("for-{claim}-on-{node}"), "labels": asked["selector"]["matchLabels"]}}));
}

/// A claim is bound to a volume of its own that every node can reach.
fn restore(world: &mut SimulatedCluster<'_>, namespace: &str, claim: &str, volume: &str) {
    world.write(
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": {}, "status": {"phase": "Bound"}}),
    );
    if let Some(claim) = world.model.get(&Id::new("PersistentVolumeClaim", namespace, claim)) {
        bind_to(world, &claim, volume, None);
    }
}
