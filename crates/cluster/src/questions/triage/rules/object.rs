//! Reads what rules need of objects.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::timeline::Subject;

/// The text at a pointer such as `/spec/nodeName`; empty if there is none.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a pointer; 0 if there is none.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// The time at a pointer.
pub(super) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// The items of the list at a pointer.
pub(super) fn items<'v>(object: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// `namespace/name`, or the name of what has no namespace.
pub(super) fn place(object: &Value) -> String {
    let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// A kind, a namespace and a name.
pub(super) fn named(object: &Value) -> (String, String, String) {
    let Subject { kind, namespace, name, .. } = Subject::of(object);
    (kind, namespace, name)
}

/// Whether a pod's containers have ended for good.
pub(super) fn is_over(pod: &Value) -> bool {
    has_ended(text(pod, "/status/phase"))
}

/// Whether a pod of this phase has ended.
pub(super) fn has_ended(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

/// The claims of its namespace that a pod mounts: by name, or made for it (k8s.io/component-helpers 1.36, storage/ephemeral/ephemeral.go,
/// `VolumeClaimName`).
pub(super) fn claims(pod: &Value) -> impl Iterator<Item = Cow<'_, str>> {
    items(pod, "/spec/volumes").filter_map(|volume| match text(volume, "/persistentVolumeClaim/claimName") {
        "" if volume["ephemeral"].is_object() => Some(format!("{}-{}", text(pod, "/metadata/name"), text(volume, "/name")).into()),
        "" => None,
        claim => Some(claim.into()),
    })
}

/// Whether a pod mounts a claim of its namespace.
pub(super) fn uses_claim(pod: &Value, claim: &str) -> bool {
    claims(pod).any(|used| used == claim)
}

/// The class that a claim or a volume names; the annotation of before there was a member counts first (k8s.io/component-helpers 1.36,
/// storage/volume/helpers.go, `GetPersistentVolumeClaimClass` and `GetPersistentVolumeClass`).
pub(super) fn class_of(object: &Value) -> Option<&str> {
    let annotated = object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].as_str();
    annotated.or_else(|| object["spec"]["storageClassName"].as_str())
}

/// Whether an object is owned by the one with this uid.
pub(super) fn is_owned_by(object: &Value, uid: &str) -> bool {
    items(object, "/metadata/ownerReferences").any(|owner| text(owner, "/uid") == uid)
}
