//! A claim that no volume is bound to because the one that it names, or every one that would suit it, is of another claim, or is not there, or because the
//! one that it names does not suit it.
//!
//! Kubernetes 1.36: pkg/controller/volume/persistentvolume/pv_controller.go, `syncUnboundClaim`: a claim that names a volume waits until that volume has
//! no `claimRef` or one to this claim (`IsVolumeBoundToClaim`: namespace, name and, where it has one, uid); the Event is `FailedBinding`. One that nobody has
//! is bound if it is large enough and of the claim's class, volume mode and access modes (`checkVolumeSatisfyClaim`); if not, the Event is `VolumeMismatch`.
//! k8s.io/component-helpers 1.36, storage/volume/pv_helpers.go, `FindMatchingVolume`: which volumes suit a claim that names none. Where the class waits for a
//! consumer (`IsDelayBindingMode`), nothing is bound before a pod needs it. A claim without a class gets the default one, or has the class "".

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_kube::{LabelSelector, Quantity};

use super::facts::{Facts, Kind};
use super::object::{class_of, items, named, text, time, uses_claim};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const CLAIMS_KIND: &Kind = &Kind { path: "persistentvolumeclaims", namespaced: true, fields: None };
const VOLUMES_KIND: &Kind = &Kind { path: "persistentvolumes", namespaced: false, fields: None };
const STORAGE_CLASSES_KIND: &Kind = &Kind { path: "storageclasses", namespaced: false, fields: None };

/// The provisioner of classes that make no volumes.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let claims = facts.all(CLAIMS_KIND).await?;
    let mut pending = claims.iter().filter(|claim| text(claim, "/status/phase") == "Pending").peekable();
    if pending.peek().is_none() {
        return Ok(Vec::new());
    }
    let (volumes, classes) = (facts.all(VOLUMES_KIND).await?, facts.all(STORAGE_CLASSES_KIND).await?);
    let may_be_part = facts.may_be_part();
    let knows_classes = !classes.is_empty() || !may_be_part && !facts.cluster.has_missed();
    let mut found = Vec::new();
    for claim in pending {
        let wanted = text(claim, "/spec/volumeName");
        let about = if wanted.is_empty() {
            released(claim, &volumes, &classes, knows_classes)
        } else {
            match volumes.iter().find(|volume| text(volume, "/metadata/name") == wanted) {
                Some(volume) => taken(claim, volume),
                None if volumes.is_empty() || may_be_part => None,
                None => Some(vec![wanted.to_owned(), "missing".to_owned(), String::new()]),
            }
        };
        let Some(about) = about else { continue };
        let is_patient = wanted.is_empty() && waits_for_consumer(claim, &classes);
        let since = time(claim, "/metadata/creationTimestamp");
        let trouble = Trouble { since, about, ..Trouble::new(TroubleKind::VolumeTaken) };
        if trouble.is_due(facts.now) {
            let pods = facts.pods(text(claim, "/metadata/namespace")).await?;
            let waits = |pod: &&Value| text(pod, "/status/phase") == "Pending" && uses_claim(pod, text(claim, "/metadata/name"));
            let waiting: Vec<_> = pods.iter().filter(waits).map(named).collect();
            if is_patient && waiting.is_empty() {
                continue;
            }
            let found_one = RuleFinding { pods: waiting.len(), ..RuleFinding::new(Subject::of(claim), trouble) };
            found.push(found_one.explaining(waiting).instead_of(&[TroubleKind::ClaimPending]));
        }
    }
    Ok(found)
}

/// Why the volume that a claim names is not bound to it: its name, how it is, and the claim that has it, or what of it does not suit.
fn taken(claim: &Value, volume: &Value) -> Option<Vec<String>> {
    let Some(holder) = volume["spec"].get("claimRef").filter(|holder| holder.is_object()) else { return unsuited(claim, volume) };
    let (namespace, name, uid) = (text(holder, "/namespace"), text(holder, "/name"), text(holder, "/uid"));
    let is_named = namespace == text(claim, "/metadata/namespace") && name == text(claim, "/metadata/name");
    if is_named && (uid.is_empty() || uid == text(claim, "/metadata/uid")) {
        return None;
    }
    let state = if is_named { "earlier" } else { "other" };
    Some(vec![text(volume, "/metadata/name").to_owned(), state.to_owned(), format!("{namespace}/{name}")])
}

/// What of a volume that nobody has does not suit the claim that names it, with what the claim has and what the volume.
fn unsuited(claim: &Value, volume: &Value) -> Option<Vec<String>> {
    const REQUEST_POINTER: &str = "/spec/resources/requests/storage";
    const CAPACITY_POINTER: &str = "/spec/capacity/storage";
    let modes = |of: &Value| items(of, "/spec/accessModes").filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    let class = |of: &Value| class_of(of).unwrap_or_default().to_owned();
    let is_small = size(volume, CAPACITY_POINTER).zip(size(claim, REQUEST_POINTER)).is_some_and(|(has, wants)| has < wants);
    let compared = [
        ("storage", text(claim, REQUEST_POINTER).to_owned(), text(volume, CAPACITY_POINTER).to_owned(), !is_small),
        ("storageClassName", class(claim), class(volume), class(claim) == class(volume)),
        ("volumeMode", volume_mode(claim).to_owned(), volume_mode(volume).to_owned(), volume_mode(claim) == volume_mode(volume)),
        ("accessModes", modes(claim), modes(volume), has_modes(claim, volume)),
    ];
    let (what, wants, has, _) = compared.into_iter().find(|(.., suits)| !suits)?;
    Some([text(volume, "/metadata/name"), "unsuited", what, &wants, &has].map(str::to_owned).to_vec())
}

/// A volume that would suit a claim, of a class that makes none, if it were not released by an earlier claim; `None` where another one is free.
fn released(claim: &Value, volumes: &[Value], classes: &[Value], knows_classes: bool) -> Option<Vec<String>> {
    let class = match class_of(claim) {
        Some(class) => class,
        None if !knows_classes || classes.iter().any(is_default) => return None,
        None => "",
    };
    let provisioner = classes.iter().find(|other| text(other, "/metadata/name") == class).map(|class| text(class, "/provisioner"));
    if !class.is_empty() && provisioner != Some(NO_PROVISIONER) {
        return None;
    }
    let is_free = |volume: &&Value| volume["spec"]["claimRef"].is_null() || text(volume, "/status/phase") == "Available";
    let suits: Vec<&Value> = volumes.iter().filter(|volume| suits(claim, volume, class)).collect();
    let volume = suits.iter().find(|volume| text(volume, "/status/phase") == "Released")?;
    if suits.iter().any(is_free) {
        return None;
    }
    let holder = format!("{}/{}", text(volume, "/spec/claimRef/namespace"), text(volume, "/spec/claimRef/name"));
    Some(vec![text(volume, "/metadata/name").to_owned(), "released".to_owned(), holder])
}

fn waits_for_consumer(claim: &Value, classes: &[Value]) -> bool {
    let class = class_of(claim).unwrap_or_default();
    classes.iter().any(|other| text(other, "/metadata/name") == class && text(other, "/volumeBindingMode") == "WaitForFirstConsumer")
}

/// Kubernetes 1.36, pkg/volume/util/storageclass.go: the annotation that makes a class the default one, and its name of before.
fn is_default(class: &Value) -> bool {
    const DEFAULT_CLASS_ANNOTATIONS: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    DEFAULT_CLASS_ANNOTATIONS.iter().any(|annotation| class["metadata"]["annotations"][*annotation] == "true")
}

fn size(of: &Value, pointer: &str) -> Option<Quantity> {
    text(of, pointer).parse().ok()
}

fn volume_mode(of: &Value) -> &str {
    let mode = text(of, "/spec/volumeMode");
    if mode.is_empty() { "Filesystem" } else { mode }
}

/// Whether a volume has every access mode of a claim.
fn has_modes(claim: &Value, volume: &Value) -> bool {
    items(claim, "/spec/accessModes").all(|wanted| items(volume, "/spec/accessModes").any(|mode| mode == wanted))
}

fn suits(claim: &Value, volume: &Value, class: &str) -> bool {
    let is_large = match (size(volume, "/spec/capacity/storage"), size(claim, "/spec/resources/requests/storage")) {
        (Some(has), Some(wants)) => has >= wants,
        _ => false,
    };
    let selector = claim["spec"].get("selector").filter(|selector| selector.is_object()).map(LabelSelector::from_object);
    let is_selected =
        selector.is_none_or(|selector| selector.is_some_and(|selector| selector.matches(&volume["metadata"]["labels"].as_object())));
    let is_kept = volume["metadata"]["deletionTimestamp"].is_null();
    let is_of_class = class_of(volume).unwrap_or_default() == class;
    is_of_class && is_large && is_selected && is_kept && volume_mode(claim) == volume_mode(volume) && has_modes(claim, volume)
}
