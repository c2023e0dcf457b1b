//! What a request made of an object, where the log holds what was sent and not what was answered.
//!
//! Source: kubernetes `pkg/registry/core/pod/storage/storage.go` (`assignPod`), `pkg/api/v1/pod/util.go` (`UpdatePodCondition`).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use ketcd_audit::patched;

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// A whole object, which is new.
    New,
    /// A whole object in the place of another one.
    Whole,
    /// A patch.
    Patch,
    /// The `Binding` of a pod.
    Binding,
}

/// What a request made of the object `before`; `None` where that is not there, or the request cannot have been granted.
pub(super) fn made(
    sending: Sending,
    before: Option<Value>,
    sent: Value,
    subresource: &str,
    time: Timestamp,
    is_custom: bool,
) -> Option<Value> {
    match sending {
        Sending::New => Some(sent),
        Sending::Whole if subresource == "status" => {
            let mut object = before?;
            object["status"] = sent["status"].clone();
            Some(object)
        }
        Sending::Whole => Some(replaced(before?, sent)),
        Sending::Patch => patched(&before?, &sent, is_custom),
        Sending::Binding => Some(bound(before?, &sent, time)),
    }
}

/// An update of the object itself changes neither its status nor what the API server keeps in its metadata.
fn replaced(before: Value, mut sent: Value) -> Value {
    if let Some(status) = before.get("status") {
        sent["status"] = status.clone();
    }
    for field in ["uid", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let (Some(kept), None) = (before["metadata"].get(field), sent["metadata"].get(field)) {
            sent["metadata"][field] = kept.clone();
        }
    }
    sent
}

/// A pod on its node.
fn bound(mut pod: Value, binding: &Value, time: Timestamp) -> Value {
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    if let Some(added) = binding["metadata"]["annotations"].as_object().filter(|added| !added.is_empty()) {
        let mut annotations = pod["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.extend(added.clone());
        pod["metadata"]["annotations"] = Value::Object(annotations);
    }
    let time = Timestamp::from_second(time.as_second()).map_or_else(|_| time.to_string(), |time| time.to_string());
    let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": time});
    if !pod["status"].is_object() {
        pod["status"] = Value::Object(Map::new());
    }
    let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    match conditions.iter_mut().find(|known| known["type"] == "PodScheduled") {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    pod["status"]["conditions"] = Value::Array(conditions);
    pod
}

/// An object with other replicas, which its `scale` set.
pub(super) fn scaled(mut object: Value, replicas: i64) -> Value {
    if object["spec"]["replicas"] != replicas {
        object["spec"]["replicas"] = replicas.into();
        if let Some(generation) = object["metadata"]["generation"].as_i64() {
            object["metadata"]["generation"] = (generation + 1).into();
        }
    }
    object
}
