//! The order in which manifests are applied, so that each finds what it needs and no other manifest refuses it.

use serde_json::Value;

use crate::identity::ObjectId;

/// The stage in which an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Stage {
    /// Namespaces, which everything else lies in.
    Namespaces,
    /// Custom kinds.
    Definitions,
    /// Classes that pods, claims and routes name. A pod of a PriorityClass or RuntimeClass that is not there is refused.
    Classes,
    /// ServiceAccounts and RBAC. A pod of a ServiceAccount that is not there is refused.
    Access,
    /// What pods read, and what guards them from their first moment on.
    Config,
    /// Volumes, then the claims on them.
    Storage,
    /// Services before pods, which get their addresses in environment variables.
    Services,
    /// Pods and what runs them: a child before its controller, which then adopts it and makes no other.
    Workloads,
    /// What scales, exposes or measures workloads.
    Around,
    /// Custom resources, and kinds not named here.
    Others,
    /// LimitRanges and ResourceQuotas: pods that were admitted without them would get other requests, or be refused.
    Limits,
    /// Admission webhooks and policies: they would be asked about all that comes after them.
    Admission,
}

/// Kinds by stage, in the order within it.
const STAGE_ORDER: &[(Stage, &str, &str)] = &[
    (Stage::Namespaces, "", "Namespace"),
    (Stage::Definitions, "apiextensions.k8s.io", "CustomResourceDefinition"),
    (Stage::Classes, "scheduling.k8s.io", "PriorityClass"),
    (Stage::Classes, "node.k8s.io", "RuntimeClass"),
    (Stage::Classes, "storage.k8s.io", "CSIDriver"),
    (Stage::Classes, "storage.k8s.io", "StorageClass"),
    (Stage::Classes, "storage.k8s.io", "VolumeAttributesClass"),
    (Stage::Classes, "resource.k8s.io", "DeviceClass"),
    (Stage::Classes, "networking.k8s.io", "IngressClass"),
    (Stage::Access, "", "ServiceAccount"),
    (Stage::Access, "rbac.authorization.k8s.io", "ClusterRole"),
    (Stage::Access, "rbac.authorization.k8s.io", "Role"),
    (Stage::Access, "rbac.authorization.k8s.io", "ClusterRoleBinding"),
    (Stage::Access, "rbac.authorization.k8s.io", "RoleBinding"),
    (Stage::Config, "", "ConfigMap"),
    (Stage::Config, "", "Secret"),
    (Stage::Config, "networking.k8s.io", "NetworkPolicy"),
    (Stage::Config, "policy", "PodDisruptionBudget"),
    (Stage::Config, "resource.k8s.io", "ResourceClaimTemplate"),
    (Stage::Config, "resource.k8s.io", "ResourceClaim"),
    (Stage::Storage, "", "PersistentVolume"),
    (Stage::Storage, "", "PersistentVolumeClaim"),
    (Stage::Services, "", "Service"),
    (Stage::Services, "", "Endpoints"),
    (Stage::Services, "discovery.k8s.io", "EndpointSlice"),
    (Stage::Workloads, "", "PodTemplate"),
    (Stage::Workloads, "apps", "ControllerRevision"),
    (Stage::Workloads, "", "Pod"),
    (Stage::Workloads, "apps", "ReplicaSet"),
    (Stage::Workloads, "", "ReplicationController"),
    (Stage::Workloads, "batch", "Job"),
    (Stage::Workloads, "apps", "Deployment"),
    (Stage::Workloads, "apps", "StatefulSet"),
    (Stage::Workloads, "apps", "DaemonSet"),
    (Stage::Workloads, "batch", "CronJob"),
    (Stage::Around, "autoscaling", "HorizontalPodAutoscaler"),
    (Stage::Around, "networking.k8s.io", "Ingress"),
    (Stage::Around, "apiregistration.k8s.io", "APIService"),
    (Stage::Limits, "", "LimitRange"),
    (Stage::Limits, "", "ResourceQuota"),
    (Stage::Admission, "admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    (Stage::Admission, "admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    (Stage::Admission, "admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    (Stage::Admission, "admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    (Stage::Admission, "admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    (Stage::Admission, "admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
];

/// The stage of a kind, and its place within the stage.
pub fn stage(group: &str, kind: &str) -> (Stage, usize) {
    // Workloads and routes were served in `extensions` once.
    let is = |row: &&(Stage, &str, &str)| row.2 == kind && (row.1 == group || (group == "extensions" && !row.1.is_empty()));
    let found = STAGE_ORDER.iter().find(is);
    found.map_or((Stage::Others, 0), |row| (row.0, STAGE_ORDER.iter().position(|other| other == row).unwrap_or_default()))
}

/// Sorts manifests into the order in which they are to be applied: by stage and kind, then by namespace and name.
pub fn sort(manifests: &mut [Value]) {
    manifests.sort_by_cached_key(|manifest| {
        let id = ObjectId::of(manifest);
        (stage(&id.group, &id.kind), id.group, id.kind, id.namespace, id.name)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(given: &[(&str, &str, &str)], wanted: &[&str]) {
        let object = |&(version, kind, name): &(&str, &str, &str)| json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        let mut manifests: Vec<Value> = given.iter().map(object).collect();
        sort(&mut manifests);
        let names: Vec<&str> = manifests.iter().filter_map(|manifest| manifest["metadata"]["name"].as_str()).collect();
        assert_eq!(names, wanted);
    }

    #[test]
    fn each_finds_what_it_needs() {
        check(
            &[
                ("apps/v1", "Deployment", "deployment"),
                ("example.com/v1", "Widget", "widget"),
                ("v1", "LimitRange", "limits"),
                ("v1", "Pod", "pod"),
                ("v1", "PersistentVolumeClaim", "claim"),
                ("v1", "ConfigMap", "b"),
                ("v1", "ConfigMap", "a"),
                ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "definition"),
                ("v1", "PersistentVolume", "volume"),
                ("v1", "ServiceAccount", "account"),
                ("extensions/v1beta1", "Ingress", "route"),
                ("v1", "Namespace", "namespace"),
            ],
            &["namespace", "definition", "account", "a", "b", "volume", "claim", "pod", "deployment", "route", "widget", "limits"],
        );
    }
}
