//! Why a pod does not start, and why a claim has no volume: no status says it, an Event does.
//!
//! Kubernetes 1.36: pkg/kubelet/events/event.go, the reasons of the kubelet and of the volume controllers (pkg/controller/volume/events/event.go);
//! pkg/kubelet/volumemanager/volume_manager.go, `WaitForAttachAndMount`: the kubelet sums up what it waits for ("Unable to attach or mount volumes") and
//! does not know what failed to be attached; attachdetach_controller's `FailedAttachVolume` does. That a claim's class is not there, as
//! pkg/controller/volume/persistentvolume/pv_controller.go records (`ProvisioningFailed`), is over once the class is there.

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::triage::Finding;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::attach_error;
use super::events::Warning;
use super::facts::{Facts, Kind};
use super::object::text;
use crate::error::Result;

const ATTACH_REASONS: &[&str] = &["FailedAttachVolume"];
const START_REASONS: &[&str] =
    &["FailedAttachVolume", "FailedMapVolume", "FailedMount", "FailedCreatePodSandBox", "FailedPrepareDynamicResources", "NetworkNotReady"];
const CLAIM_REASONS: &[&str] = &["FailedBinding", "ProvisioningFailed"];

/// What the kubelet says of volumes that it waits for.
const VOLUMES_SUMMARY: &str = "Unable to attach or mount volumes";

const STORAGE_CLASSES_KIND: &Kind = &Kind { path: "storageclasses", namespaced: false, fields: Some(&["kind", "metadata.name"]) };
/// How it begins that a class is not there.
const NO_CLASS: &str = "storageclass.storage.k8s.io ";

/// Adds what Events say, or a VolumeAttachment where none says more, to the findings that nothing else explains.
pub(super) async fn add(facts: &mut Facts<'_>, findings: &mut [Finding]) -> Result<()> {
    for finding in findings.iter_mut().filter(|finding| finding.trouble.message.is_none()) {
        if !matches!(finding.trouble.kind, TroubleKind::NotStarting | TroubleKind::ClaimPending) {
            continue;
        }
        for (subject, trouble) in finding.subjects.iter().zip(finding.troubles.iter_mut()) {
            let warning = said(facts, subject).await?;
            let is_vague = warning.as_ref().is_none_or(|warning| warning.message.starts_with(VOLUMES_SUMMARY));
            let attach_error = if is_vague && subject.kind == "Pod" { attach_error::of_pod(facts, subject).await? } else { None };
            if attach_error.is_some() {
                trouble.message = attach_error;
                continue;
            }
            let Some(warning) = warning else { continue };
            if !is_over(facts, trouble, &warning).await? {
                trouble.message = Some(warning.message);
            }
        }
        finding.trouble.message = finding.troubles.iter().find_map(|trouble| trouble.message.clone());
    }
    Ok(())
}

/// The Warning that says most about an object.
async fn said(facts: &mut Facts<'_>, subject: &Subject) -> Result<Option<Warning>> {
    let about = (subject.kind.as_str(), subject.namespace.as_str(), subject.name.as_str());
    let reasons = if subject.kind == "Pod" { START_REASONS } else { CLAIM_REASONS };
    let newest = facts.warning(about, reasons).await?.filter(|warning| is_of(warning, subject));
    let is_sum = newest.as_ref().is_some_and(|warning| warning.message.starts_with(VOLUMES_SUMMARY));
    let attach = if is_sum { facts.warning(about, ATTACH_REASONS).await?.filter(|warning| is_of(warning, subject)) } else { None };
    Ok(attach.or(newest))
}

/// Whether a Warning is not about an earlier object of the same name.
fn is_of(warning: &Warning, subject: &Subject) -> bool {
    warning.subject.uid.is_empty() || subject.uid.is_empty() || warning.subject.uid == subject.uid
}

/// Whether a claim's class was not there and is by now; where a node was chosen for a claim, its class is there.
async fn is_over(facts: &mut Facts<'_>, trouble: &Trouble, warning: &Warning) -> Result<bool> {
    if trouble.kind != TroubleKind::ClaimPending || !warning.message.starts_with(NO_CLASS) {
        return Ok(false);
    }
    let class = trouble.about.first().map(String::as_str).unwrap_or_default();
    // With the node and who makes the volume.
    let is_placed = trouble.about.len() > 2;
    Ok(is_placed || facts.all(STORAGE_CLASSES_KIND).await?.iter().any(|other| text(other, "/metadata/name") == class))
}
