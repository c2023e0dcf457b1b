//! Defaults that API servers began to write in some release. An object that lacks the field means the same: an older API server behaves so, and a
//! newer one takes the default for what it reads without the field.

use serde_json::{Map, Value, json};

use super::owners::{group, text};

/// A default of some kind's field.
#[derive(Debug)]
pub struct NewerDefault {
    group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The field.
    pub field: &'static str,
    /// The release whose API servers write it first; `None` where that is not known.
    pub since: Option<u16>,
    is_default: fn(&Value) -> bool,
}

impl PartialEq for NewerDefault {
    fn eq(&self, other: &Self) -> bool {
        (self.group, self.kind, self.field) == (other.group, other.kind, other.field)
    }
}

const fn row(
    group: &'static str,
    kind: &'static str,
    field: &'static str,
    since: Option<u16>,
    is_default: fn(&Value) -> bool,
) -> NewerDefault {
    NewerDefault { group, kind, field, since, is_default }
}

/// Every default that began after 1.19, by kind and field.
///
/// Sources: kubernetes v1.36.3 `pkg/apis/{apps,batch,core,networking,storage}/v1/defaults.go`, with the release in which the feature gate of each was on first
/// (`pkg/features/kube_features.go`); the families of a Service from `pkg/registry/core/service/storage/alloc.go`. Those of 1.37 were seen in what an API
/// server of 1.37.2 stored.
const ALL: &[NewerDefault] = &[
    row("", "Service", "spec.allocateLoadBalancerNodePorts", Some(22), |value| value == &json!(true)),
    row("", "Service", "spec.internalTrafficPolicy", Some(22), |value| value == "Cluster"),
    row("", "Service", "spec.ipFamilies", Some(21), |value| value.as_array().is_some_and(|families| families.len() == 1)),
    row("", "Service", "spec.ipFamilyPolicy", Some(21), |value| value == "SingleStack"),
    row("apps", "DaemonSet", "spec.updateStrategy.rollingUpdate.maxSurge", Some(22), |value| value == &json!(0)),
    row("apps", "StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", Some(27), |value| {
        value == &json!({"whenDeleted": "Retain", "whenScaled": "Retain"})
    }),
    row("apps", "StatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable", Some(37), |value| value == &json!(1)),
    row("batch", "Job", "spec.completionMode", Some(22), |value| value == "NonIndexed"),
    row("batch", "Job", "spec.manualSelector", None, |value| value == &json!(false)),
    row("batch", "Job", "spec.podReplacementPolicy", Some(29), |value| value == "TerminatingOrFailed"),
    row("batch", "Job", "spec.suspend", Some(22), |value| value == &json!(false)),
    row("networking.k8s.io", "IngressClass", "spec.parameters.scope", Some(22), |value| value == "Cluster"),
    row("storage.k8s.io", "CSIDriver", "spec.fsGroupPolicy", Some(20), |value| value == "ReadWriteOnceWithFSType"),
    row("storage.k8s.io", "CSIDriver", "spec.preventPodSchedulingIfMissing", Some(37), |value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.requiresRepublish", Some(21), |value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.seLinuxMount", Some(27), |value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.storageCapacity", Some(21), |value| value == &json!(false)),
];

/// Removes from each of two objects the defaults that the other one lacks, and returns them.
pub(super) fn remove(before: &mut Value, after: &mut Value) -> Vec<&'static NewerDefault> {
    let (group, kind) = (group(after).to_owned(), text(&after["kind"]).to_owned());
    let of_kind = ALL.iter().filter(|row| row.group == group && row.kind == kind);
    of_kind.filter(|row| remove_one(row, before, after) || remove_one(row, after, before)).collect()
}

fn remove_one(row: &NewerDefault, of: &mut Value, other: &Value) -> bool {
    let pointer = format!("/{}", row.field.replace('.', "/"));
    let is_alone = other.pointer(&pointer).is_none() && of.pointer(&pointer).is_some_and(row.is_default);
    is_alone && take(of, &pointer, other)
}

/// Removes a member, and the objects around it that are empty then and that the other object lacks.
fn take(of: &mut Value, pointer: &str, other: &Value) -> bool {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return false };
    let Some(members) = of.pointer_mut(parent).and_then(Value::as_object_mut) else { return false };
    members.remove(name);
    if members.is_empty() && !parent.is_empty() && other.pointer(parent).is_none_or(|other| other.as_object().is_none_or(Map::is_empty)) {
        take(of, parent, other);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_that_one_side_lacks_is_no_difference_and_another_value_is_one() {
        let set = |spec: Value| json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec});
        let policy = |deleted: &str| json!({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": deleted, "whenScaled": "Retain"}});
        let replicas = |more: Value| {
            let mut spec = more;
            spec["replicas"] = json!(3);
            set(spec)
        };
        let (mut old, mut new) = (replicas(json!({})), replicas(policy("Retain")));
        assert_eq!(remove(&mut old, &mut new).len(), 1);
        assert_eq!(old, new);
        let (mut old, mut new) = (set(policy("Delete")), set(json!({})));
        assert!(remove(&mut old, &mut new).is_empty());
        let rolling = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}});
        let (mut old, mut new) = (set(rolling), set(json!({"updateStrategy": {"type": "RollingUpdate"}})));
        assert_eq!(remove(&mut old, &mut new).len(), 1);
        assert_eq!(old, new);
    }

    #[test]
    fn rows_are_in_order() {
        assert!(ALL.is_sorted_by_key(|row| (row.group, row.kind, row.field)));
    }
}
