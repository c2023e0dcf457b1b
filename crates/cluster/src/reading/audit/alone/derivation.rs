//! What a request made of an object, where the log holds what was sent and not what was answered.
//!
//! Source: kubernetes `pkg/registry/core/pod/storage/storage.go` (`assignPod`), `pkg/api/v1/pod/util.go` (`UpdatePodCondition`).

use jiff::Timestamp;
use json_patch::jsonptr::{Assign, Pointer};
use serde_json::{Value, json};

use ketcd_audit::patched;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// A whole object, which is new.
    New,
    /// A whole object in the place of another one.
    Whole,
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
        Sending::Whole if subresource == "status" => with(before?, "/status", sent["status"].clone()),
        Sending::Whole => replaced(&before?, sent),
        Sending::Patch => patched(&before?, &sent, is_custom),
        Sending::Binding => bound(before?, &sent, time),
    }
}

/// The object with another value of a field; `None` where a list is in the way, as in no object of Kubernetes.
pub(super) fn with(mut object: Value, field: &'static str, value: impl Into<Value>) -> Option<Value> {
    object.assign(Pointer::from_static(field), value.into()).ok()?;
    Some(object)
}

/// An update of the object itself changes neither its status nor what the API server keeps in its metadata.
fn replaced(before: &Value, mut sent: Value) -> Option<Value> {
    const KEPT_METADATA: [&str; 6] = [
        "/status",
        "/metadata/uid",
        "/metadata/creationTimestamp",
        "/metadata/managedFields",
        "/metadata/deletionTimestamp",
        "/metadata/deletionGracePeriodSeconds",
    ];
    for field in KEPT_METADATA {
        if let Some(kept) = before.pointer(field).filter(|_| field == "/status" || sent.pointer(field).is_none()) {
            sent = with(sent, field, kept.clone())?;
        }
    }
    Some(sent)
}

fn bound(pod: Value, binding: &Value, time: Timestamp) -> Option<Value> {
    let mut pod = with(pod, "/spec/nodeName", binding["target"]["name"].clone())?;
    if let Some(added) = binding["metadata"]["annotations"].as_object().filter(|added| !added.is_empty()) {
        let mut annotations = pod["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.extend(added.clone());
        pod = with(pod, "/metadata/annotations", Value::Object(annotations))?;
    }
    let time = Timestamp::from_second(time.as_second()).map_or_else(|_| time.to_string(), |time| time.to_string());
    let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": time});
    let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    match conditions.iter_mut().find(|known| known["type"] == "PodScheduled") {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    with(pod, "/status/conditions", conditions)
}

/// An object with other replicas, which its `scale` set.
pub(super) fn scaled(object: Value, replicas: i64) -> Option<Value> {
    if object["spec"]["replicas"] == replicas {
        return Some(object);
    }
    let generation = object["metadata"]["generation"].as_i64();
    let object = with(object, "/spec/replicas", replicas)?;
    match generation {
        Some(generation) => with(object, "/metadata/generation", generation.saturating_add(1)),
        None => Some(object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A forged log may hold bodies of any shape. Each gives an object or none, and none panics.
    #[test]
    fn bodies_of_any_shape_are_taken_or_left_out() {
        let parts = [json!(null), json!("x"), json!(["x"]), json!({}), json!({"nodeName": ["x"], "conditions": "x", "annotations": 7})];
        let mut shapes: Vec<Value> = parts.to_vec();
        for field in ["spec", "metadata", "status", "target"] {
            shapes.extend(
                parts
                    .iter()
                    .map(|part| json!({ field: part, "metadata": {"uid": "u", "generation": i64::MAX, "annotations": {"a": "b"}} })),
            );
            shapes.extend(parts.iter().map(|part| json!({ field: part })));
        }
        let mut made_some = 0;
        for before in &shapes {
            for sent in &shapes {
                for sending in [Sending::New, Sending::Whole, Sending::Patch, Sending::Binding] {
                    for subresource in ["", "status"] {
                        let made = made(sending, Some(before.clone()), sent.clone(), subresource, Timestamp::UNIX_EPOCH, false);
                        made_some += usize::from(made.and_then(|object| with(object, "/metadata/resourceVersion", "7")).is_some());
                    }
                }
            }
            let _ = scaled(before.clone(), 3);
        }
        assert!(made_some > 1_000, "{made_some}");
    }
}
