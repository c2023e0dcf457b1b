//! Steps of claims, volumes and their attachments, and of claims to devices.

use serde_json::Value;

use super::{CreatedAs, DeviceName, Step, StepDetail, StepKind, generic, turned, why};

/// Where the scheduler writes the node for a volume yet to be made (k8s.io/component-helpers storage/volume/helpers.go).
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Where the controller writes who is to make the volume; the second up to 1.22.
const PROVISIONER_ANNOTATIONS: [&str; 2] = ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];
/// Where a volume says who made it.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Returns the steps between two neighbouring versions of an object of `kind`.
pub(super) fn steps(kind: &str, before: Option<&Value>, after: &Value) -> Vec<Step> {
    let mut steps = Vec::new();
    if before.is_none() {
        steps.push(generic::created_as(after, description(kind, after)));
    }
    match kind {
        "PersistentVolumeClaim" => claim(before, after, &mut steps),
        "PersistentVolume" => bound(before, after, "claimRef", claimed, &mut steps),
        "VolumeAttachment" => attachment(before, after, &mut steps),
        _ => devices(before, after, &mut steps),
    }
    if let Some(before) = before {
        steps.extend(generic::spec_changed(before, after, BOOKKEEPING_FIELDS));
        generic::ending(before, after, &mut steps);
    }
    steps
}

/// Fields whose changes other steps show, or that only controllers use.
const BOOKKEEPING_FIELDS: &[&str] = &[
    "spec.volumeName",
    "spec.claimRef",
    "metadata.annotations[volume.",
    "metadata.annotations[pv.kubernetes.io/",
    "spec.resources.requests.storage",
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn description(kind: &str, object: &Value) -> CreatedAs {
    let spec = &object["spec"];
    let owned = |value: &Value| value.as_str().map(str::to_owned);
    match kind {
        "PersistentVolumeClaim" => {
            let class = owned(&spec["storageClassName"]).filter(|class| !class.is_empty());
            CreatedAs::Claim { size: owned(&spec["resources"]["requests"]["storage"]), class }
        }
        "PersistentVolume" => {
            let provisioner = owned(&object["metadata"]["annotations"][PROVISIONED_BY]);
            CreatedAs::Volume { size: owned(&spec["capacity"]["storage"]), provisioner }
        }
        "VolumeAttachment" => CreatedAs::Attachment {
            volume: text(&spec["source"]["persistentVolumeName"]).to_owned(),
            node: text(&spec["nodeName"]).to_owned(),
        },
        _ => CreatedAs::Plain,
    }
}

fn claim(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let annotation = |object: &Value, name: &str| object["metadata"]["annotations"][name].as_str().map(str::to_owned);
    let fresh = |name: &str| annotation(after, name).filter(|now| before.and_then(|before| annotation(before, name)).as_ref() != Some(now));
    if let Some(node) = fresh(SELECTED_NODE) {
        steps.push(Step::new(StepKind::NodeSelected, StepDetail::Target(node)));
    } else if before.and_then(|before| annotation(before, SELECTED_NODE)).is_some() && annotation(after, SELECTED_NODE).is_none() {
        steps.push(Step::new(StepKind::NodeUnselected, StepDetail::None));
    }
    if let Some(provisioner) = PROVISIONER_ANNOTATIONS.iter().find_map(|name| fresh(name)) {
        steps.push(Step::new(StepKind::Provisioning, StepDetail::Provisioner(provisioner)));
    }
    let volume = |claim: &Value| claim["spec"]["volumeName"].as_str().map(|name| StepDetail::Volume(name.to_owned()));
    bound(before, after, "volumeName", volume, steps);
    let Some(before) = before else { return };
    let wanted = |claim: &Value| text(&claim["spec"]["resources"]["requests"]["storage"]).to_owned();
    if wanted(before) != wanted(after) {
        let detail = StepDetail::Replaced { before: Some(wanted(before)), after: wanted(after) };
        steps.push(Step::new(StepKind::ResizeRequested, detail));
    }
    for (condition, phase) in [("Resizing", StepKind::Resizing), ("FileSystemResizePending", StepKind::FileSystemResizePending)] {
        if let Some((_, "True", now)) = turned(Some(before), after, condition) {
            steps.push(Step::new(phase, why(now)));
        }
    }
    let capacity = |claim: &Value| text(&claim["status"]["capacity"]["storage"]).to_owned();
    if !capacity(before).is_empty() && capacity(before) != capacity(after) {
        let detail = StepDetail::Replaced { before: Some(capacity(before)), after: capacity(after) };
        steps.push(Step::new(StepKind::Resized, detail));
    }
}

fn claimed(volume: &Value) -> Option<StepDetail> {
    let claim = &volume["spec"]["claimRef"];
    Some(StepDetail::Claim { namespace: claim["namespace"].as_str()?.to_owned(), name: claim["name"].as_str()?.to_owned() })
}

fn bound(before: Option<&Value>, after: &Value, field: &str, target: impl Fn(&Value) -> Option<StepDetail>, steps: &mut Vec<Step>) {
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
        "Lost" => steps.push(Step::new(StepKind::Lost, StepDetail::None)),
        "Released" => {
            let policy = text(&after["spec"]["persistentVolumeReclaimPolicy"]);
            steps.push(Step::new(StepKind::Released, StepDetail::Released(Some(policy.to_owned()))));
        }
        "Failed" => steps.push(Step::new(StepKind::Failed, StepDetail::Message(text(&after["status"]["message"]).to_owned()))),
        "Available" => steps.push(Step::new(StepKind::Available, StepDetail::None)),
        "Pending" if !old.is_empty() => steps.push(Step::new(StepKind::Phase, StepDetail::Replaced { before: Some(old), after: new })),
        _ => {}
    }
}

fn attachment(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let attached = |object: &Value| object["status"]["attached"] == true;
    let node = || StepDetail::Target(text(&after["spec"]["nodeName"]).to_owned());
    match (before.is_some_and(attached), attached(after)) {
        (false, true) => steps.push(Step::new(StepKind::Attached, node())),
        (true, false) => steps.push(Step::new(StepKind::Detached, node())),
        _ => {}
    }
    for (field, phase) in [("attachError", StepKind::AttachFailed), ("detachError", StepKind::DetachFailed)] {
        let message = |object: &Value| text(&object["status"][field]["message"]).to_owned();
        let now = message(after);
        if !now.is_empty() && before.map(message).unwrap_or_default() != now {
            steps.push(Step::new(phase, StepDetail::Message(now)));
        }
    }
}

/// A ResourceClaim: the devices the scheduler chose, and the pods that may use them.
fn devices(before: Option<&Value>, after: &Value, steps: &mut Vec<Step>) {
    let allocated = |object: &Value| -> Option<Vec<DeviceName>> {
        let results = object["status"]["allocation"].as_object()?.get("devices")?["results"].as_array()?;
        let part = |result: &Value, field: &str| text(&result[field]).to_owned();
        let name = |result| DeviceName { driver: part(result, "driver"), pool: part(result, "pool"), device: part(result, "device") };
        Some(results.iter().map(name).collect())
    };
    match (before.and_then(allocated), allocated(after)) {
        (None, Some(devices)) => steps.push(Step::new(StepKind::Allocated, StepDetail::Devices(devices))),
        (Some(_), None) => steps.push(Step::new(StepKind::Deallocated, StepDetail::None)),
        _ => {}
    }
    let users = |object: &Value| -> Vec<StepDetail> {
        let list = object["status"]["reservedFor"].as_array().into_iter().flatten();
        let consumer =
            |user: &Value| StepDetail::Consumer { resource: text(&user["resource"]).to_owned(), name: text(&user["name"]).to_owned() };
        list.map(consumer).collect()
    };
    let (old, new) = (before.map(users).unwrap_or_default(), users(after));
    for user in new.iter().filter(|user| !old.contains(user)) {
        steps.push(Step::new(StepKind::ReservedFor, user.clone()));
    }
    for user in old.iter().filter(|user| !new.contains(user)) {
        steps.push(Step::new(StepKind::Unreserved, user.clone()));
    }
}
