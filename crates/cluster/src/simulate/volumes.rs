//! What binding a pod does to its claims: those that waited for it are bound to a volume, or provided by their driver on its node.
//! Source: `pkg/controller/volume/persistentvolume/pv_controller.go`, `volumebinding/binder.go` (1.37).

use serde_json::{Value, json};

use super::answer::Unmodelled;
use super::json::{list, member, text};
use super::model::Id;
use super::world::World;

/// The node that a claim was chosen for.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Binds the claims of a pod that gets a node.
pub(super) fn bind(world: &mut World<'_>, pod: &Id, node: &str) {
    let Some(object) = world.model.get(pod) else { return };
    let named = |volume: &Value| match text(volume, "/persistentVolumeClaim/claimName") {
        "" if volume["ephemeral"].is_object() => Some(format!("{}-{}", pod.name, text(volume, "/name"))),
        "" => None,
        claim => Some(claim.to_owned()),
    };
    let claims: Vec<String> = list(&object, "/spec/volumes").iter().filter_map(named).collect();
    for claim in claims {
        let id = Id::new("PersistentVolumeClaim", &pod.namespace, &claim);
        if let Some(found) = world.model.get(&id).filter(|claim| text(claim, "/spec/volumeName").is_empty()) {
            provide(world, (*found).clone(), node);
        }
    }
}

/// A claim gets a volume on a node.
fn provide(world: &mut World<'_>, mut claim: Value, node: &str) {
    let (namespace, name) = (text(&claim, "/metadata/namespace").to_owned(), text(&claim, "/metadata/name").to_owned());
    world.caveats.insert(Unmodelled::Provisioned { claim: format!("{namespace}/{name}") });
    let volume = format!("pvc-{}", world.generated());
    let labels = world.model.state.node(node).and_then(|node| node.labels.get("topology.kubernetes.io/zone").map(str::to_owned));
    let place = match labels {
        Some(zone) => json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}),
        None => json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}),
    };
    let spec = json!({
        "accessModes": claim["spec"]["accessModes"], "capacity": claim["spec"]["resources"]["requests"],
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": claim["metadata"]["uid"]},
        "storageClassName": claim["spec"]["storageClassName"], "volumeMode": claim["spec"]["volumeMode"],
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [place]}]}},
        "csi": {"driver": "simulated", "volumeHandle": volume},
    });
    world.write(
        json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": spec, "status": {"phase": "Bound"}}),
    );
    let metadata = member(&mut claim, "metadata");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations["pv.kubernetes.io/bind-completed"] = json!("yes");
    annotations[SELECTED_NODE] = json!(node);
    member(&mut claim, "spec").insert("volumeName".to_owned(), json!(volume));
    member(&mut claim, "status").insert("phase".to_owned(), json!("Bound"));
    world.write(claim);
}
