//! A claim whose class waits for a pod to be placed, used by a pod that no scheduler placed: nobody will ever choose a node for it.
//!
//! Kubernetes 1.36: pkg/controller/volume/persistentvolume/pv_controller.go, `syncUnboundClaim`, by k8s.io/component-helpers storage/volume/pv_helpers.go,
//! `IsDelayBindingMode` and `IsDelayBindingProvisioning`: such a claim is provisioned once it has the annotation `volume.kubernetes.io/selected-node`;
//! kube-scheduler's VolumeBinding (pkg/scheduler/framework/plugins/volumebinding) writes it, or binds a volume, before it binds a pod.

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{class_of, is_over, named, place, text, time, uses_claim};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const CLAIMS_KIND: &Kind = &Kind { path: "persistentvolumeclaims", namespaced: true, fields: None };
const STORAGE_CLASSES_KIND: &Kind = &Kind { path: "storageclasses", namespaced: false, fields: None };
const SELECTED_NODE_ANNOTATION: &str = "volume.kubernetes.io/selected-node";

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let claims = facts.all(CLAIMS_KIND).await?;
    let classes = facts.all(STORAGE_CLASSES_KIND).await?;
    let waits = classes.iter().filter(|class| text(class, "/volumeBindingMode") == "WaitForFirstConsumer");
    let waits: BTreeSet<&str> = waits.map(|class| text(class, "/metadata/name")).collect();
    let is_unplaced = |claim: &&Value| {
        let is_selected = claim["metadata"]["annotations"].get(SELECTED_NODE_ANNOTATION).is_some();
        text(claim, "/status/phase") == "Pending" && waits.contains(class_of(claim).unwrap_or_default()) && !is_selected
    };
    let mut found = Vec::new();
    for claim in claims.iter().filter(is_unplaced).filter(|claim| text(claim, "/spec/volumeName").is_empty()) {
        let pods = facts.pods(text(claim, "/metadata/namespace")).await?;
        let name = text(claim, "/metadata/name");
        let is_bound = |pod: &&Value| !text(pod, "/spec/nodeName").is_empty() && text(pod, "/status/phase") == "Pending";
        let users: Vec<&Value> = pods.iter().filter(|pod| !is_over(pod) && uses_claim(pod, name)).filter(is_bound).collect();
        let Some(first) = users.first() else { continue };
        let about = [class_of(claim).unwrap_or_default().to_owned(), place(first), text(first, "/spec/nodeName").to_owned()];
        let since = time(first, "/metadata/creationTimestamp");
        let trouble = Trouble { since, about: about.to_vec(), ..Trouble::new(TroubleKind::ClaimUnplaced) };
        if trouble.is_due(facts.now) {
            let found_one = RuleFinding::new(Subject::of(claim), trouble).explaining(users.iter().map(|pod| named(pod)));
            found.push(RuleFinding { pods: users.len(), ..found_one.instead_of(&[TroubleKind::ClaimPending]) });
        }
    }
    Ok(found)
}
