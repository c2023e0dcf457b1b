//! A claim or a volume whose deletion waits because it is in use: which pods, which claim.
//!
//! Kubernetes 1.36: pkg/controller/volume/pvcprotection/pvc_protection_controller.go, `podUsesPVCForDeletion` (`podUsesPVC` before): pods that are bound to
//! a node and name the claim hold it, those that have ended too; pkg/controller/volume/pvprotection/pv_protection_controller.go, `isBeingUsed`: a volume is
//! held while it is bound. Others wait for that, too: whoever detaches the volume (kubernetes-csi/external-attacher), and whoever removes its storage
//! (k8s.io/component-helpers 1.36, storage/volume/pv_helpers.go, `PVDeletionProtectionFinalizer`, `PVDeletionInTreeProtectionFinalizer`).

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{items, place, text, uses_claim};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const CLAIMS_KIND: &Kind = &Kind { path: "persistentvolumeclaims", namespaced: true, fields: None };
const VOLUMES_KIND: &Kind = &Kind { path: "persistentvolumes", namespaced: false, fields: None };

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let mut found = Vec::new();
    for claim in facts.all(CLAIMS_KIND).await?.iter().filter(|claim| is_held(claim, "kubernetes.io/pvc-protection", |_| false)) {
        let pods = facts.pods(text(claim, "/metadata/namespace")).await?;
        let holds = |pod: &&Value| !text(pod, "/spec/nodeName").is_empty() && uses_claim(pod, text(claim, "/metadata/name"));
        let holders: Vec<String> = pods.iter().filter(holds).map(|pod| format!("pod/{}", place(pod))).collect();
        found.extend(in_use(claim, holders));
    }
    for volume in facts.all(VOLUMES_KIND).await?.iter().filter(|volume| is_held(volume, "kubernetes.io/pv-protection", is_of_storage)) {
        let holder = volume["spec"]["claimRef"].as_object().filter(|_| text(volume, "/status/phase") == "Bound");
        let name = |of: &str| holder.and_then(|holder| holder.get(of)).and_then(Value::as_str).unwrap_or_default();
        let holders = holder.map(|_| format!("pvc/{}/{}", name("namespace"), name("name")));
        found.extend(in_use(volume, holders.into_iter().collect()));
    }
    Ok(found)
}

/// Whether a deletion waits for this finalizer, and no other but such as wait for it themselves.
fn is_held(object: &Value, finalizer: &str, waits: fn(&str) -> bool) -> bool {
    let is_ending = !object["metadata"]["deletionTimestamp"].is_null();
    let finalizers = || items(object, "/metadata/finalizers").filter_map(Value::as_str);
    is_ending && finalizers().any(|held| held == finalizer) && finalizers().all(|held| held == finalizer || waits(held))
}

/// Whether a finalizer of a volume is removed once the volume is no longer bound.
fn is_of_storage(finalizer: &str) -> bool {
    let is_of_removal = matches!(finalizer, "kubernetes.io/pv-controller" | "external-provisioner.volume.kubernetes.io/finalizer");
    is_of_removal || finalizer.starts_with("external-attacher/")
}

fn in_use(object: &Value, holders: Vec<String>) -> Option<RuleFinding> {
    if holders.is_empty() {
        return None;
    }
    let trouble = Trouble { about: holders, ..Trouble::new(TroubleKind::ClaimInUse) };
    let found = RuleFinding::new(Subject::of(object), trouble).instead_of(&[TroubleKind::FinalizersStuck]);
    Some(RuleFinding { only_replaces: true, ..found })
}
