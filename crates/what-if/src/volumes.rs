//! What binding a pod does to its claims: those that waited for it are bound to a volume, or provided by their driver on its node; claims of devices
//! get theirs.
//! Source: `pkg/controller/volume/persistentvolume/pv_controller.go`, `volumebinding/binder.go`, `dynamicresources/dynamicresources.go` (1.37).

use ketcd_scheduler::{NodeDevices, Reservation};
use serde_json::{Value, json};

use super::answer::Unmodelled;
use super::json::{list, member, text};
use super::model::Id;
use super::simulated_cluster::SimulatedCluster;

/// The node that a claim was chosen for.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Binds the claims of a pod that gets a node.
pub(super) fn bind(world: &mut SimulatedCluster<'_>, pod: &Id, node: &str, taken: &Reservation) {
    let Some(object) = world.model.get(pod) else { return };
    for (volume, (namespace, name)) in &taken.volumes {
        if let Some(claim) = world.model.get(&Id::new("PersistentVolumeClaim", namespace, name)) {
            bind_to(world, &claim, volume, Some(node));
        }
    }
    let named = |volume: &Value| match text(volume, "/persistentVolumeClaim/claimName") {
        "" if volume["ephemeral"].is_object() => Some(format!("{}-{}", pod.name, text(volume, "/name"))),
        "" => None,
        claim => Some(claim.to_owned()),
    };
    let claims: Vec<String> = list(&object, "/spec/volumes").iter().filter_map(named).collect();
    for claim in claims {
        let id = Id::new("PersistentVolumeClaim", &pod.namespace, &claim);
        if let Some(found) = world.model.get(&id).filter(|claim| text(claim, "/spec/volumeName").is_empty()) {
            provide(world, &found, Some(node));
        }
    }
    allocate(world, &object, node, taken.devices.as_ref());
}

/// Binds a claim to a volume that is there; `node`: the one of the pod that it waited for.
pub(super) fn bind_to(world: &mut SimulatedCluster<'_>, claim: &Value, volume: &str, node: Option<&str>) {
    let Some(found) = world.model.get(&Id::new("PersistentVolume", "", volume)) else { return };
    let mut found = (*found).clone();
    member(&mut found, "spec").insert("claimRef".to_owned(), reference(claim));
    member(&mut found, "status").insert("phase".to_owned(), json!("Bound"));
    world.write(found);
    bound(world, claim.clone(), volume, node);
}

fn reference(claim: &Value) -> Value {
    let metadata = &claim["metadata"];
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": metadata["namespace"], "name": metadata["name"],
        "uid": metadata["uid"]})
}

/// A claim gets a volume of its driver, where a node is given one that only its zone reaches, or that only it reaches where it has no zone.
pub(super) fn provide(world: &mut SimulatedCluster<'_>, claim: &Value, node: Option<&str>) {
    let (namespace, name) = (text(claim, "/metadata/namespace"), text(claim, "/metadata/name"));
    world.caveats.insert(Unmodelled::Provisioned { claim: format!("{namespace}/{name}") });
    let volume = format!("pvc-{}", world.generated());
    let mut spec = json!({
        "accessModes": claim["spec"]["accessModes"], "capacity": claim["spec"]["resources"]["requests"], "claimRef": reference(claim),
        "storageClassName": claim["spec"]["storageClassName"], "volumeMode": claim["spec"]["volumeMode"],
        "csi": {"driver": "simulated", "volumeHandle": volume},
    });
    if let Some(node) = node {
        let zone = world.model.state.node(node).and_then(|node| node.labels.get("topology.kubernetes.io/zone").map(str::to_owned));
        let place = match zone {
            Some(zone) => json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}),
            None => json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}),
        };
        spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}});
    }
    world.write(
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": spec, "status": {"phase": "Bound"}}),
    );
    bound(world, claim.clone(), &volume, node);
}

fn bound(world: &mut SimulatedCluster<'_>, mut claim: Value, volume: &str, node: Option<&str>) {
    let metadata = member(&mut claim, "metadata");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations["pv.kubernetes.io/bind-completed"] = json!("yes");
    if let Some(node) = node {
        annotations[SELECTED_NODE] = json!(node);
    }
    member(&mut claim, "spec").insert("volumeName".to_owned(), json!(volume));
    member(&mut claim, "status").insert("phase".to_owned(), json!("Bound"));
    world.write(claim);
}

/// Writes to the pod's claims of devices what they get on its node, and that the pod uses them.
fn allocate(world: &mut SimulatedCluster<'_>, pod: &Value, node: &str, devices: Option<&NodeDevices>) {
    let namespace = text(pod, "/metadata/namespace");
    let status_of = |own: &str| list(pod, "/status/resourceClaimStatuses").iter().find(|status| text(status, "/name") == own);
    for entry in list(pod, "/spec/resourceClaims") {
        let name = match text(entry, "/resourceClaimName") {
            "" => status_of(text(entry, "/name")).map_or("", |status| text(status, "/resourceClaimName")),
            name => name,
        };
        let Some(claim) = world.model.get(&Id::new("ResourceClaim", namespace, name)) else { continue };
        let mut claim = (*claim).clone();
        let full = format!("{namespace}/{name}");
        let given = devices.and_then(|devices| devices.claims.iter().find(|given| given.claim == full));
        let status = member(&mut claim, "status");
        if let Some(given) = given {
            let result = |(request, driver, pool, device): &(String, String, String, String)| json!({"request": request, "driver": driver, "pool": pool, "device": device});
            let results: Vec<Value> = given.allocation.devices.iter().map(result).collect();
            let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
            status.insert(
                "allocation".to_owned(),
                json!({"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]}}),
            );
        }
        let users = status.entry("reservedFor").or_insert_with(|| json!([]));
        let user = json!({"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]});
        users.as_array_mut().into_iter().for_each(|users| users.push(user.clone()));
        world.write(claim);
    }
}
