//! A VolumeAttachment that holds a volume on one node while a pod on another one waits for it, or that is of a node that is gone.
//!
//! Kubernetes 1.36: pkg/controller/volume/attachdetach/reconciler/reconciler.go and pkg/volume/util/util.go, `IsMultiAttachAllowed`: a volume whose
//! access modes are known, and neither ReadWriteMany nor ReadOnlyMany, is attached to one node at a time. The Event is `FailedAttachVolume`.
//! From a node with the taint `node.kubernetes.io/out-of-service` it is detached at once (`hasOutOfServiceTaint`; by default since 1.26).

use std::collections::BTreeSet;

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::found::Found;
use super::object::{is_over, items, named, place, text, time, uses_claim};
use crate::error::Result;

const ATTACHMENTS: &Kind = &Kind { path: "volumeattachments", namespaced: false, fields: None };
const VOLUMES: &Kind = &Kind {
    path: "persistentvolumes",
    namespaced: false,
    fields: Some(&["kind", "metadata.name", "spec.accessModes", "spec.claimRef", "status.phase"]),
};

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<Found>> {
    let (attachments, volumes) = (facts.all(ATTACHMENTS).await?, facts.all(VOLUMES).await?);
    if attachments.is_empty() || volumes.is_empty() {
        return Ok(Vec::new());
    }
    let nodes = facts.nodes().await?;
    let waiting = facts.troubled(TroubleKind::NotStarting);
    let namespaces: BTreeSet<String> =
        waiting.iter().flat_map(|finding| &finding.subjects).map(|subject| subject.namespace.clone()).collect();
    let mut found = Vec::new();
    for attachment in attachments.iter() {
        let volume = text(attachment, "/spec/source/persistentVolumeName");
        let Some(volume) = volumes.iter().find(|other| text(other, "/metadata/name") == volume) else { continue };
        let node = text(attachment, "/spec/nodeName");
        let claim = (text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
        let pods = if namespaces.contains(claim.0) { facts.pods(claim.0).await? } else { Default::default() };
        let of_claim = || pods.iter().filter(|pod| !is_over(pod) && uses_claim(pod, claim.1));
        let is_waiting = |pod: &&Value| {
            let is_named = |subject: &Subject| subject.namespace == claim.0 && subject.name == text(pod, "/metadata/name");
            text(pod, "/spec/nodeName") != node && waiting.iter().flat_map(|finding| &finding.subjects).any(is_named)
        };
        let waits: Vec<&Value> = of_claim().filter(is_waiting).collect();
        let is_held = attachment["status"]["attached"] == true && is_for_one_node(volume) && !waits.is_empty();
        let is_node_gone = !facts.may_be_part() && !nodes.is_empty() && !nodes.contains(node);
        if !is_held && !is_node_gone {
            continue;
        }
        let user = of_claim().find(|pod| text(pod, "/spec/nodeName") == node).map(place).unwrap_or_default();
        let state = if !nodes.is_empty() && !nodes.contains(node) {
            "missing"
        } else if user.is_empty() {
            "unused"
        } else {
            "used"
        };
        let waiting_one = waits.first().map(|pod| place(pod)).unwrap_or_default();
        let driver = text(attachment, "/spec/attacher");
        let about = [text(volume, "/metadata/name"), node, state, &user, &waiting_one, driver].map(str::to_owned).to_vec();
        let since = waits.iter().filter_map(|pod| time(pod, "/metadata/creationTimestamp")).min();
        let trouble = Trouble { since, about, ..Trouble::new(TroubleKind::VolumeHeld) };
        found.push(Found { pods: waits.len(), ..Found::new(Subject::of(attachment), trouble).explaining(waits.into_iter().map(named)) });
    }
    Ok(found)
}

/// Whether a volume may be attached to one node only, as far as its access modes say.
fn is_for_one_node(volume: &Value) -> bool {
    let mut modes = items(volume, "/spec/accessModes").peekable();
    modes.peek().is_some() && modes.all(|mode| mode != "ReadWriteMany" && mode != "ReadOnlyMany")
}
