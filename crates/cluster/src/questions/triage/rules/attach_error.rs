//! Why a volume is not attached to the node of a pod that waits for it, as its VolumeAttachment says.
//!
//! Kubernetes 1.36: k8s.io/api storage/v1, `VolumeAttachmentStatus`: `attachError` is the last error of attaching, and is empty once that succeeded;
//! `detachError` that of detaching. External attachers write both, and there need not be an Event.

use serde_json::Value;

use ketcd_history::timeline::Subject;

use super::facts::{Facts, Kind};
use super::object::{text, uses_claim};
use crate::error::Result;

const ATTACHMENTS_KIND: &Kind = &Kind { path: "volumeattachments", namespaced: false, fields: None };
const VOLUMES_KIND: &Kind =
    &Kind { path: "persistentvolumes", namespaced: false, fields: Some(&["kind", "metadata.name", "spec.claimRef"]) };

/// Returns what the attacher says of a volume that a pod waits for.
pub(super) async fn of_pod(facts: &mut Facts<'_>, subject: &Subject) -> Result<Option<String>> {
    let attachments = facts.all(ATTACHMENTS_KIND).await?;
    let failed = |attachment: &&Value| attachment["status"]["attached"] != true && !attach_error(attachment).is_empty();
    let failed: Vec<&Value> = attachments.iter().filter(failed).collect();
    if failed.is_empty() {
        return Ok(None);
    }
    let (pods, volumes) = (facts.pods(&subject.namespace).await?, facts.all(VOLUMES_KIND).await?);
    let Some(pod) = pods.iter().find(|pod| text(pod, "/metadata/name") == subject.name) else { return Ok(None) };
    let is_awaited = |attachment: &&&Value| {
        let name = text(attachment, "/spec/source/persistentVolumeName");
        let volume = volumes.iter().find(|volume| text(volume, "/metadata/name") == name);
        let is_of_pod = |volume: &Value| {
            text(volume, "/spec/claimRef/namespace") == subject.namespace && uses_claim(pod, text(volume, "/spec/claimRef/name"))
        };
        text(attachment, "/spec/nodeName") == text(pod, "/spec/nodeName") && volume.is_some_and(is_of_pod)
    };
    Ok(failed.iter().find(is_awaited).map(|attachment| attach_error(attachment).to_owned()))
}

fn attach_error(attachment: &Value) -> &str {
    text(attachment, "/status/attachError/message")
}

/// Returns why an attached volume is not detached, where its attacher says so.
pub(super) fn detach_error(attachment: &Value) -> Option<String> {
    let message = text(attachment, "/status/detachError/message");
    (!message.is_empty()).then(|| message.to_owned())
}
