//! Volumes, claims, classes and what CSI drivers say.

use serde_json::Value;

use super::fields::{at, count, flag, joined, list, name, quantity, scalar, text, text_or};
use super::{Cells, DefaultClass, Printer, TableView};

pub(super) fn printer(group: &str, kind: &str) -> Option<Printer> {
    let (columns, cells): (&str, Cells) = match (group, kind) {
        ("", "PersistentVolume") => {
            ("NAME|CAPACITY|ACCESS MODES|RECLAIM POLICY|STATUS|CLAIM|STORAGECLASS|VOLUMEATTRIBUTESCLASS|REASON|AGE|+VOLUMEMODE", volume)
        }
        ("", "PersistentVolumeClaim") => {
            ("NAME|STATUS|VOLUME|CAPACITY|ACCESS MODES|STORAGECLASS|VOLUMEATTRIBUTESCLASS|AGE|+VOLUMEMODE", claim)
        }
        ("storage.k8s.io", "StorageClass") => ("NAME|PROVISIONER|RECLAIMPOLICY|VOLUMEBINDINGMODE|ALLOWVOLUMEEXPANSION|AGE", storage_class),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            ("NAME|DRIVERNAME|AGE", |object, view| vec![name(object), text(object, "driverName").to_owned(), view.age(object)])
        }
        ("storage.k8s.io", "VolumeAttachment") => ("NAME|ATTACHER|PV|NODE|ATTACHED|AGE", volume_attachment),
        ("storage.k8s.io", "CSINode") => {
            ("NAME|DRIVERS|AGE", |object, view| vec![name(object), count(object, "spec.drivers"), view.age(object)])
        }
        ("storage.k8s.io", "CSIDriver") => {
            ("NAME|ATTACHREQUIRED|PODINFOONMOUNT|STORAGECAPACITY|TOKENREQUESTS|REQUIRESREPUBLISH|MODES|AGE", csi_driver)
        }
        _ => return None,
    };
    Some(Printer { columns, cells })
}

fn volume(object: &Value, view: TableView) -> Vec<String> {
    let claim = at(object, "spec.claimRef");
    vec![
        name(object),
        quantity(at(object, "spec.capacity.storage")),
        access_modes(object, "spec.accessModes"),
        text_or(object, "spec.persistentVolumeReclaimPolicy", "Retain"),
        phase(object),
        claim.map_or(String::new(), |claim| format!("{}/{}", text(claim, "namespace"), text(claim, "name"))),
        class(object),
        at(object, "spec.volumeAttributesClassName").map_or("<unset>".to_owned(), scalar),
        text(object, "status.reason").to_owned(),
        view.age(object),
        text_or(object, "spec.volumeMode", "Filesystem"),
    ]
}

fn claim(object: &Value, view: TableView) -> Vec<String> {
    let is_bound = !text(object, "spec.volumeName").is_empty();
    let if_bound = |text: String| if is_bound { text } else { String::new() };
    vec![
        name(object),
        phase(object),
        text(object, "spec.volumeName").to_owned(),
        if_bound(quantity(at(object, "status.capacity.storage"))),
        if_bound(access_modes(object, "status.accessModes")),
        class(object),
        at(object, "spec.volumeAttributesClassName").map_or("<unset>".to_owned(), scalar),
        view.age(object),
        text_or(object, "spec.volumeMode", "Filesystem"),
    ]
}

fn phase(object: &Value) -> String {
    match at(object, "metadata.deletionTimestamp") {
        Some(_) => "Terminating".to_owned(),
        None => text_or(object, "status.phase", "Pending"),
    }
}

/// The beta annotation goes before the field.
fn class(object: &Value) -> String {
    let annotated = object["metadata"]["annotations"].get("volume.beta.kubernetes.io/storage-class");
    annotated.or_else(|| at(object, "spec.storageClassName")).map_or(String::new(), scalar)
}

fn access_modes(object: &Value, path: &str) -> String {
    let modes = [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let has = |mode: &str| list(object, path).iter().any(|own| own == mode);
    modes.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn storage_class(object: &Value, view: TableView) -> Vec<String> {
    vec![
        if DefaultClass::is_marked_alone(object, view.release) { name(object) + DefaultClass::MARK } else { name(object) },
        text(object, "provisioner").to_owned(),
        text_or(object, "reclaimPolicy", "Delete"),
        text_or(object, "volumeBindingMode", "Immediate"),
        flag(object, "allowVolumeExpansion").to_string(),
        view.age(object),
    ]
}

fn volume_attachment(object: &Value, view: TableView) -> Vec<String> {
    let field = |path: &str| text(object, path).to_owned();
    let attached = flag(object, "status.attached").to_string();
    vec![
        name(object),
        field("spec.attacher"),
        field("spec.source.persistentVolumeName"),
        field("spec.nodeName"),
        attached,
        view.age(object),
    ]
}

fn csi_driver(object: &Value, view: TableView) -> Vec<String> {
    let audiences =
        |requests: &Value| requests.as_array().into_iter().flatten().map(|request| text(request, "audience")).collect::<Vec<_>>().join(",");
    let modes = joined(object, "spec.volumeLifecycleModes");
    vec![
        name(object),
        at(object, "spec.attachRequired").and_then(Value::as_bool).unwrap_or(true).to_string(),
        flag(object, "spec.podInfoOnMount").to_string(),
        flag(object, "spec.storageCapacity").to_string(),
        at(object, "spec.tokenRequests").map_or("<unset>".to_owned(), audiences),
        flag(object, "spec.requiresRepublish").to_string(),
        if modes.is_empty() { "Persistent".to_owned() } else { modes },
        view.age(object),
    ]
}
