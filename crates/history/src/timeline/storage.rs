//! Steps of claims, volumes and their attachments, and of claims to devices.

use serde_json::Value;

use super::{Step, StepKind, generic, turned, why};

/// Where the scheduler writes the node for a volume yet to be made (k8s.io/component-helpers storage/volume/helpers.go).
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Where the controller writes who is to make the volume; the second up to 1.22.
const PROVISIONER: [&str; 2] = ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
/// Where a volume says who made it.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if before.is_none() {
        let mut created = generic::created(after);
        let told = description(kind, after);
        created.detail = [created.detail, told].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        steps.push(created);
    }
    match kind {
        "PersistentVolumeClaim" => claim(before, after, &mut steps),
        "PersistentVolume" => bound(before, after, "claimRef", claimed, &mut steps),
        "VolumeAttachment" => attachment(before, after, &mut steps),
        _ => devices(before, after, &mut steps),
    }
    if let Some(before) = before {
        steps.extend(generic::spec_changed(before, after, BOOKKEEPING));
        generic::ending(before, after, &mut steps);
    }
    steps
}

/// Fields whose changes other steps tell, or that only say so to controllers.
const BOOKKEEPING: &[&str] = &[
    "spec.volumeName",
    "spec.claimRef",
    "metadata.annotations[volume.",
    "metadata.annotations[pv.kubernetes.io/",
    "spec.resources.requests.storage",
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn description(kind: &str, object: &Value) -> String {
    let spec = &object["spec"];
    let words: Vec<String> = match kind {
        "PersistentVolumeClaim" => {
            let class = spec["storageClassName"].as_str().filter(|class| !class.is_empty()).map(|class| format!("class {class}"));
            [spec["resources"]["requests"]["storage"].as_str().map(str::to_owned), class].into_iter().flatten().collect()
        }
        "PersistentVolume" => {
            let by = object["metadata"]["annotations"][PROVISIONED_BY].as_str().map(|by| format!("provisioned by {by}"));
            [spec["capacity"]["storage"].as_str().map(str::to_owned), by].into_iter().flatten().collect()
        }
        "VolumeAttachment" => vec![format!("{} to {}", text(&spec["source"]["persistentVolumeName"]), text(&spec["nodeName"]))],
        _ => Vec::new(),
    };
    words.join(", ")
}

fn claim(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let annotation = |object: &Value, name: &str| object["metadata"]["annotations"][name].as_str().map(str::to_owned);
    let fresh = |name: &str| annotation(after, name).filter(|now| before.and_then(|before| annotation(before, name)).as_ref() != Some(now));
    if let Some(node) = fresh(SELECTED_NODE) {
        steps.push(Step::new(StepKind::NodeSelected, format!("the volume is to be made for {node}")));
    } else if before.and_then(|before| annotation(before, SELECTED_NODE)).is_some() && annotation(after, SELECTED_NODE).is_none() {
        steps.push(Step::new(StepKind::NodeUnselected, "the pod is to be scheduled anew"));
    }
    if let Some(provisioner) = PROVISIONER.iter().find_map(|name| fresh(name)) {
        steps.push(Step::new(StepKind::Provisioning, format!("asked of {provisioner}")));
    }
    bound(before, after, "volumeName", |object| object["spec"]["volumeName"].as_str().map(|name| format!("to volume {name}")), steps);
    let Some(before) = before else { return };
    let wanted = |claim: &Value| text(&claim["spec"]["resources"]["requests"]["storage"]).to_owned();
    if wanted(before) != wanted(after) {
        steps.push(Step::new(StepKind::ResizeRequested, format!("{} → {}", wanted(before), wanted(after))));
    }
    for (condition, phase) in [("Resizing", StepKind::Resizing), ("FileSystemResizePending", StepKind::FileSystemResizePending)] {
        if let Some((_, "True", now)) = turned(Some(before), after, condition) {
            steps.push(Step::new(phase, why(now)));
        }
    }
    let capacity = |claim: &Value| text(&claim["status"]["capacity"]["storage"]).to_owned();
    if !capacity(before).is_empty() && capacity(before) != capacity(after) {
        steps.push(Step::new(StepKind::Resized, format!("{} → {}", capacity(before), capacity(after))));
    }
}

fn claimed(volume: &Value) -> Option<String> {
    let claim = &volume["spec"]["claimRef"];
    Some(format!("to claim {}/{}", claim["namespace"].as_str()?, claim["name"].as_str()?))
}

fn bound(before: Option<&Value>, after: &Value, field: &str, target: impl Fn(&Value) -> Option<String>, steps: &mut Vec<Step>) {
    let had = before.is_some_and(|before| !before["spec"][field].is_null());
    if let Some(target) = target(after).filter(|_| !had) {
        steps.push(Step::new(StepKind::Reserved, target));
    }
    let phase = |object: &Value| text(&object["status"]["phase"]).to_owned();
    let (old, new) = (before.map(phase).unwrap_or_default(), phase(after));
    if old == new {
        return;
    }
    match new.as_str() {
        "Bound" => steps.push(Step::new(StepKind::Bound, target(after).unwrap_or_default())),
        "Lost" => steps.push(Step::new(StepKind::Lost, "its volume is gone")),
        "Released" => {
            let policy = text(&after["spec"]["persistentVolumeReclaimPolicy"]);
            steps.push(Step::new(StepKind::Released, format!("its claim is gone; reclaim policy {policy}")));
        }
        "Failed" => steps.push(Step::new(StepKind::Failed, text(&after["status"]["message"]))),
        "Available" => steps.push(Step::new(StepKind::Available, "free to be claimed")),
        "Pending" if !old.is_empty() => steps.push(Step::new(StepKind::Phase, format!("{old} → {new}"))),
        _ => {}
    }
}

fn attachment(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let attached = |object: &Value| object["status"]["attached"] == true;
    match (before.is_some_and(attached), attached(after)) {
        (false, true) => steps.push(Step::new(StepKind::Attached, format!("to {}", text(&after["spec"]["nodeName"])))),
        (true, false) => steps.push(Step::new(StepKind::Detached, format!("from {}", text(&after["spec"]["nodeName"])))),
        _ => {}
    }
    for (field, phase) in [("attachError", StepKind::AttachFailed), ("detachError", StepKind::DetachFailed)] {
        let message = |object: &Value| text(&object["status"][field]["message"]).to_owned();
        let now = message(after);
        if !now.is_empty() && before.map(message).unwrap_or_default() != now {
            steps.push(Step::new(phase, now));
        }
    }
}

/// A ResourceClaim: the devices the scheduler chose, and the pods that may use them.
fn devices(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let allocated = |object: &Value| -> Option<String> {
        let results = object["status"]["allocation"].as_object()?.get("devices")?["results"].as_array()?;
        let name = |result: &Value| format!("{}/{}/{}", text(&result["driver"]), text(&result["pool"]), text(&result["device"]));
        Some(results.iter().map(name).collect::<Vec<_>>().join(", "))
    };
    match (before.and_then(allocated), allocated(after)) {
        (None, Some(devices)) => steps.push(Step::new(StepKind::Allocated, devices)),
        (Some(_), None) => steps.push(Step::new(StepKind::Deallocated, "")),
        _ => {}
    }
    let users = |object: &Value| -> Vec<String> {
        let list = object["status"]["reservedFor"].as_array().into_iter().flatten();
        list.map(|user| format!("{} {}", text(&user["resource"]), text(&user["name"]))).collect()
    };
    let (old, new) = (before.map(users).unwrap_or_default(), users(after));
    for user in new.iter().filter(|user| !old.contains(user)) {
        steps.push(Step::new(StepKind::ReservedFor, user.clone()));
    }
    for user in old.iter().filter(|user| !new.contains(user)) {
        steps.push(Step::new(StepKind::Unreserved, user.clone()));
    }
}
