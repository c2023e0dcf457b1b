//! Claims that controllers make for one pod: of its generic ephemeral volumes, and of its templates of devices; and what becomes of claims when
//! their pod is gone.
//! Source: `pkg/controller/volume/ephemeral/controller.go`, `pkg/controller/resourceclaim/controller.go` (1.37).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::{list, member, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;

/// Makes the claims of a pod that is about to be created, and names those of devices in its status.
pub(crate) fn make(world: &mut SimulatedCluster<'_>, pod: &mut Value) {
    let (namespace, name) = (text(pod, "/metadata/namespace").to_owned(), text(pod, "/metadata/name").to_owned());
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": true,
        "blockOwnerDeletion": true}]);
    for volume in list(pod, "/spec/volumes") {
        let template = &volume["ephemeral"]["volumeClaimTemplate"];
        let claim = format!("{name}-{}", text(volume, "/name"));
        if template.is_object() && !world.model.has(&Id::new("PersistentVolumeClaim", &namespace, &claim)) {
            let metadata = json!({"name": claim, "namespace": namespace, "uid": format!("simulated-{}", world.generated()),
                "labels": template["metadata"]["labels"], "ownerReferences": owner});
            world.write(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"],
                "status": {"phase": "Pending"}}));
        }
    }
    let mut statuses = Vec::new();
    for entry in list(pod, "/spec/resourceClaims") {
        let template = Id::new("ResourceClaimTemplate", &namespace, text(entry, "/resourceClaimTemplateName"));
        let Some(template) = world.model.get(&template) else { continue };
        let own = text(entry, "/name");
        let claim = format!("{name}-{own}-{}", world.generated());
        let metadata = json!({"name": claim, "namespace": namespace, "uid": format!("simulated-{claim}"), "ownerReferences": owner,
            "labels": template["spec"]["metadata"]["labels"], "annotations": {"resource.kubernetes.io/pod-claim-name": own}});
        world.write(json!({"apiVersion": template["apiVersion"], "kind": "ResourceClaim", "metadata": metadata,
            "spec": template["spec"]["spec"], "status": {}}));
        statuses.push(json!({"name": own, "resourceClaimName": claim}));
    }
    if !statuses.is_empty() {
        member(pod, "status").insert("resourceClaimStatuses".to_owned(), json!(statuses));
    }
}

/// Deletes the claims that were made for a pod that is gone, and takes it off those that it used; one that nobody uses loses its devices.
pub(super) fn release(world: &mut SimulatedCluster<'_>, pod: &Arc<Value>) {
    let (namespace, uid) = (text(pod, "/metadata/namespace").to_owned(), text(pod, "/metadata/uid").to_owned());
    let has_ephemeral = list(pod, "/spec/volumes").iter().any(|volume| volume["ephemeral"].is_object());
    let kinds = [("PersistentVolumeClaim", has_ephemeral), ("ResourceClaim", !list(pod, "/spec/resourceClaims").is_empty())];
    for (kind, _) in kinds.into_iter().filter(|(_, is_used)| *is_used) {
        for id in world.model.ids_in(kind, &namespace) {
            let Some(claim) = world.model.get(&id) else { continue };
            if list(&claim, "/metadata/ownerReferences").iter().any(|owner| text(owner, "/uid") == uid) {
                world.delete(&id);
            } else if list(&claim, "/status/reservedFor").iter().any(|user| text(user, "/uid") == uid) {
                world.write(without_user(&claim, &uid));
            }
        }
    }
}

/// A claim of devices that a pod does not use any more.
fn without_user(claim: &Value, uid: &str) -> Value {
    let mut claim = claim.clone();
    let users: Vec<Value> = list(&claim, "/status/reservedFor").iter().filter(|user| text(user, "/uid") != uid).cloned().collect();
    let status = member(&mut claim, "status");
    if users.is_empty() {
        status.remove("reservedFor");
        status.remove("allocation");
    } else {
        status.insert("reservedFor".to_owned(), json!(users));
    }
    claim
}
