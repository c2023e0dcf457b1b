//! Claims that do not wait for a pod: they are bound to the smallest volume that suits, or provided by their class's driver.
//! Source: `pkg/controller/volume/persistentvolume/pv_controller.go`, `index.go` findBestMatchForClaim (1.37).

use std::sync::Arc;

use serde_json::Value;

use crate::amounts::amount;
use crate::json::{list, text};
use crate::model::Id;
use crate::simulated_cluster::SimulatedCluster;
use crate::volumes;

/// The class of volumes that no driver provides.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Binds a claim that has no volume yet, unless it waits for its first pod.
pub(super) fn sync(world: &mut SimulatedCluster<'_>, id: &Id) {
    let Some(claim) = world.model.get(id).filter(|claim| text(claim, "/spec/volumeName").is_empty()) else { return };
    let class = world.model.get(&Id::new("StorageClass", "", text(&claim, "/spec/storageClassName")));
    if class.as_ref().is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer") {
        return;
    }
    if let Some(volume) = smallest(world, &claim) {
        return volumes::bind_to(world, &claim, &volume, None);
    }
    if class.is_some_and(|class| text(&class, "/provisioner") != NO_PROVISIONER) {
        volumes::provide(world, &claim, None);
    }
}

/// The smallest volume that suits a claim; one that was made for it comes first.
fn smallest(world: &mut SimulatedCluster<'_>, claim: &Value) -> Option<String> {
    let ids = world.model.ids("PersistentVolume");
    let all: Vec<Arc<Value>> = ids.iter().filter_map(|id| world.model.get(id)).collect();
    let is_meant = |volume: &Value| {
        let meant = &volume["spec"]["claimRef"];
        meant["name"] == claim["metadata"]["name"] && meant["namespace"] == claim["metadata"]["namespace"]
    };
    let suiting = all.iter().filter(|volume| is_meant(volume) || volume["spec"]["claimRef"].is_null() && suits(volume, claim));
    let best = suiting.min_by_key(|volume| (!is_meant(volume), amount(&volume["spec"]["capacity"]["storage"])));
    best.map(|volume| text(volume, "/metadata/name").to_owned())
}

fn suits(volume: &Value, claim: &Value) -> bool {
    let mode = |object: &Value| object["spec"]["volumeMode"].as_str().unwrap_or("Filesystem").to_owned();
    let modes = list(volume, "/spec/accessModes");
    let wanted = claim.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    text(volume, "/spec/storageClassName") == text(claim, "/spec/storageClassName")
        && mode(volume) == mode(claim)
        && list(claim, "/spec/accessModes").iter().all(|wanted| modes.contains(wanted))
        && amount(&volume["spec"]["capacity"]["storage"]) >= amount(&claim["spec"]["resources"]["requests"]["storage"])
        && wanted.into_iter().flatten().all(|(key, value)| volume["metadata"]["labels"][key] == *value)
        && list(claim, "/spec/selector/matchExpressions").is_empty()
        && volume["metadata"]["deletionTimestamp"].is_null()
}
