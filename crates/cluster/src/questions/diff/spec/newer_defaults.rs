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
    is_default: IsDefault,
}

/// Whether a value of a field is the default, in its object.
type IsDefault = fn(&Value, &Value) -> bool;

impl PartialEq for NewerDefault {
    fn eq(&self, other: &Self) -> bool {
        (self.group, self.kind, self.field) == (other.group, other.kind, other.field)
    }
}

const fn row(group: &'static str, kind: &'static str, field: &'static str, since: u16, is_default: IsDefault) -> NewerDefault {
    NewerDefault { group, kind, field, since: Some(since), is_default }
}

/// Every default of a stored field that began after 1.19, by kind and field: what differs between kubernetes v1.19.16 and v1.37.2 in
/// `pkg/apis/{admissionregistration,apps,autoscaling,batch,core,discovery,flowcontrol,networking,policy,storage}/v1/defaults.go`.
///
/// The release is that in which an API server stores it first. Where a gate held the field back, that is the first release with the gate on by default:
///
/// | field | source |
/// |---|---|
/// | `allocateLoadBalancerNodePorts` | `core/v1/defaults.go`, gate `ServiceLBNodePortControl`: off in v1.21.14, on in v1.22.17 |
/// | `externalTrafficPolicy` of a ClusterIP with external IPs | `core/v1/defaults.go`: not in v1.28.15, in v1.29.0; `pkg/api/v1/service/util.go` v1.37.2 |
/// | `internalTrafficPolicy` | `core/v1/defaults.go`, gate `ServiceInternalTrafficPolicy`: off in v1.21.14, on in v1.22.17 |
/// | `ipFamilies`, `ipFamilyPolicy` | `pkg/registry/core/service/storage/rest.go` v1.21.14, `alloc.go` v1.37.2, gate `IPv6DualStack`: off in v1.20.15, on in v1.21.14 |
/// | `maxSurge` | `apps/v1/defaults.go`, gate `DaemonSetUpdateSurge` (`pkg/registry/apps/daemonset/strategy.go`): off in v1.21.14, on in v1.22.17 |
/// | `persistentVolumeClaimRetentionPolicy` | `apps/v1/defaults.go`, gate `StatefulSetAutoDeletePVC`: off in v1.26.15, on in v1.27.16 |
/// | `maxUnavailable` of a StatefulSet | `apps/v1/defaults.go`, gate `MaxUnavailableStatefulSet`: on since 1.37 (v1.37.2) |
/// | `completionMode`, `suspend` | `batch/v1/defaults.go`, gates `IndexedJob`, `SuspendJob`: off in v1.21.14, on in v1.22.17 |
/// | `manualSelector` | `batch/v1/defaults.go`: not in v1.28.15, in v1.29.0 |
/// | `podReplacementPolicy` | `batch/v1/defaults.go`, gate `JobPodReplacementPolicy`: on since 1.29 (v1.36.3) |
/// | `lendablePercent` | `flowcontrol/v1beta3/defaults.go`: not in v1.25.0, in v1.26.15 |
/// | `parameters.scope` | `networking/v1/defaults.go`, gate `IngressClassNamespacedParams` (`pkg/registry/networking/ingressclass/strategy.go`): off in v1.21.14, on in v1.22.17 |
/// | `fsGroupPolicy` | `storage/v1/defaults.go`, gate `CSIVolumeFSGroupPolicy`: on in v1.20.15 |
/// | `preventPodSchedulingIfMissing` | `storage/v1/defaults.go`, gate `VolumeLimitScaling`: on since 1.37 (v1.37.2) |
/// | `requiresRepublish`, `storageCapacity` | `storage/v1/defaults.go`, gates `CSIServiceAccountToken`, `CSIStorageCapacity`: off in v1.20.15, on in v1.21.14 |
/// | `seLinuxMount` | `storage/v1/defaults.go`, gate `SELinuxMountReadWriteOncePod`: off in v1.27.16, on in v1.28.15 |
///
/// Gates are in `pkg/features/kube_features.go`. What is not here: labels of namespaces and fields of status, which are not compared.
const ALL: &[NewerDefault] = &[
    row("", "Service", "spec.allocateLoadBalancerNodePorts", 22, |_, value| value == &json!(true)),
    row("", "Service", "spec.externalTrafficPolicy", 29, |service, value| value == "Cluster" && service["spec"]["type"] == "ClusterIP"),
    row("", "Service", "spec.internalTrafficPolicy", 22, |_, value| value == "Cluster"),
    row("", "Service", "spec.ipFamilies", 21, |service, value| {
        value.as_array().is_some_and(|families| families.len() == 1 || is_of_both_families(service))
    }),
    row("", "Service", "spec.ipFamilyPolicy", 21, |service, value| {
        value == if is_of_both_families(service) { "RequireDualStack" } else { "SingleStack" }
    }),
    row("apps", "DaemonSet", "spec.updateStrategy.rollingUpdate.maxSurge", 22, |_, value| value == &json!(0)),
    row("apps", "StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", 27, |_, value| {
        value == &json!({"whenDeleted": "Retain", "whenScaled": "Retain"})
    }),
    row("apps", "StatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable", 37, |_, value| value == &json!(1)),
    row("batch", "Job", "spec.completionMode", 22, |_, value| value == "NonIndexed"),
    row("batch", "Job", "spec.manualSelector", 29, |_, value| value == &json!(false)),
    row("batch", "Job", "spec.podReplacementPolicy", 29, |job, value| {
        value == if job["spec"]["podFailurePolicy"].is_object() { "Failed" } else { "TerminatingOrFailed" }
    }),
    row("batch", "Job", "spec.suspend", 22, |_, value| value == &json!(false)),
    row("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "spec.limited.lendablePercent", 26, |_, value| value == &json!(0)),
    row("networking.k8s.io", "IngressClass", "spec.parameters.scope", 22, |_, value| value == "Cluster"),
    row("storage.k8s.io", "CSIDriver", "spec.fsGroupPolicy", 20, |_, value| value == "ReadWriteOnceWithFSType"),
    row("storage.k8s.io", "CSIDriver", "spec.preventPodSchedulingIfMissing", 37, |_, value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.requiresRepublish", 21, |_, value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.seLinuxMount", 28, |_, value| value == &json!(false)),
    row("storage.k8s.io", "CSIDriver", "spec.storageCapacity", 21, |_, value| value == &json!(false)),
];

/// Whether a Service has both families unless it says otherwise: it is headless and selects nothing, so its endpoints may be of either.
fn is_of_both_families(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None" && service["spec"]["selector"].as_object().is_none_or(Map::is_empty)
}

/// Removes from each of two objects the defaults that the other one lacks, and returns them.
pub(super) fn remove(before: &mut Value, after: &mut Value) -> Vec<&'static NewerDefault> {
    let (group, kind) = (group(after).to_owned(), text(&after["kind"]).to_owned());
    let of_kind = ALL.iter().filter(|row| row.group == group && row.kind == kind);
    of_kind.filter(|row| remove_one(row, before, after) || remove_one(row, after, before)).collect()
}

fn remove_one(row: &NewerDefault, of: &mut Value, other: &Value) -> bool {
    let pointer = format!("/{}", row.field.replace('.', "/"));
    let is_alone = other.pointer(&pointer).is_none() && of.pointer(&pointer).is_some_and(|value| (row.is_default)(of, value));
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
    fn a_default_may_depend_on_the_rest_of_its_object() {
        let removed = |kind: (&str, &str), spec: Value, more: Value| {
            let object = |spec: &Value| json!({"apiVersion": kind.0, "kind": kind.1, "spec": spec});
            let mut newer = spec.clone();
            newer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            remove(&mut object(&spec), &mut object(&newer)).len()
        };
        let job = |spec: Value, policy: &str| removed(("batch/v1", "Job"), spec, json!({"podReplacementPolicy": policy}));
        assert_eq!(job(json!({}), "TerminatingOrFailed") + job(json!({"podFailurePolicy": {"rules": []}}), "Failed"), 2);
        assert_eq!(job(json!({}), "Failed"), 0);
        let service = |spec: Value, families: &[&str], policy: &str| {
            removed(("v1", "Service"), spec, json!({"ipFamilies": families, "ipFamilyPolicy": policy}))
        };
        let headless = json!({"clusterIP": "None"});
        assert_eq!(service(headless.clone(), &["IPv4", "IPv6"], "RequireDualStack"), 2);
        assert_eq!(service(headless, &["IPv4"], "SingleStack"), 1);
        assert_eq!(service(json!({"clusterIP": "None", "selector": {"a": "b"}}), &["IPv4"], "SingleStack"), 2);
        let external = |kind: &str| removed(("v1", "Service"), json!({"type": kind}), json!({"externalTrafficPolicy": "Cluster"}));
        assert_eq!((external("ClusterIP"), external("NodePort")), (1, 0));
    }

    #[test]
    fn rows_are_in_order() {
        assert!(ALL.is_sorted_by_key(|row| (row.group, row.kind, row.field)));
    }
}
