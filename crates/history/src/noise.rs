//! Recognises changes that come with every write and that no reader needs.

use super::diff::{FieldChange, FieldPath};

const EVERY_WRITE: &[&str] = &["resourceVersion", "managedFields", "generation", "selfLink"];
/// Fields that only say that somebody is still there, or has looked.
const HEARTBEAT_FIELDS: &[&str] =
    &["lastHeartbeatTime", "renewTime", "lastProbeTime", "lastUpdateTime", "observedGeneration", "lastObservedTime"];

/// Whether the change at `path` says nothing by itself: bookkeeping and heartbeats.
fn is_noise(path: &FieldPath) -> bool {
    let field = path.field();
    path.starts_with(&["metadata", "managedFields"])
        || path.starts_with(&["metadata"]) && EVERY_WRITE.contains(&field)
        || HEARTBEAT_FIELDS.contains(&field)
        || path.starts_with(&["status"]) && REPEATED_FIELDS.contains(&field)
        || path.0.len() == 3 && path.starts_with(&["metadata", "annotations"]) && NOISE_ANNOTATIONS.contains(&field)
}

/// Fields that repeat what another field of the same object says.
const REPEATED_FIELDS: &[&str] = &["containerID", "podIPs", "hostIPs", "started"];

/// Annotations that repeat what the object says elsewhere, or when somebody looked.
const NOISE_ANNOTATIONS: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    "control-plane.alpha.kubernetes.io/leader",
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// Whether a change of a whole condition is only a heartbeat: all but its probe times is equal.
fn is_heartbeat(change: &FieldChange<'_>) -> bool {
    let (Some(before), Some(after)) = (change.field.before(), change.field.after()) else { return false };
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return false };
    before.len() == after.len()
        && before.iter().all(|(name, value)| HEARTBEAT_FIELDS.contains(&name.as_str()) || after.get(name) == Some(value))
}

/// Splits changes into those to show and the number folded away.
pub fn fold(changes: Vec<FieldChange<'_>>) -> (Vec<FieldChange<'_>>, usize) {
    let all = changes.len();
    let shown: Vec<_> = changes.into_iter().filter(|change| !is_noise(&change.path) && !is_heartbeat(change)).collect();
    let folded = all - shown.len();
    (shown, folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Detail, fields};
    use serde_json::json;

    #[test]
    fn heartbeats_and_bookkeeping_are_folded() {
        let node = |version: &str, beat: &str, ready: &str| {
            json!({"metadata": {"resourceVersion": version, "managedFields": [{"manager": "kubelet", "time": beat}]},
                   "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": beat}]}})
        };
        let (before, after) = (node("1", "a", "True"), node("2", "b", "True"));
        let (shown, folded) = fold(fields(&before, &after, Detail::Story));
        assert_eq!((shown.len(), folded), (0, 3));
        let after = node("2", "b", "False");
        let (shown, folded) = fold(fields(&before, &after, Detail::Story));
        assert_eq!((shown.len(), folded), (1, 2));
    }
}
