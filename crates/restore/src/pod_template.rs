//! Where the kinds that run pods hold the specification of their pods.

use serde_json::Value;

use crate::identity::group;

/// Groups and kinds with a pod in them, and where it lies. Workloads of before 1.16 are in `extensions` too.
const POD_TEMPLATE_PLACES: &[(&[&str], &str, &str)] = &[
    (&[""], "Pod", ""),
    (&[""], "PodTemplate", "/template"),
    (&[""], "ReplicationController", "/spec/template"),
    (&["apps", "extensions"], "DaemonSet", "/spec/template"),
    (&["apps", "extensions"], "Deployment", "/spec/template"),
    (&["apps", "extensions"], "ReplicaSet", "/spec/template"),
    (&["apps"], "StatefulSet", "/spec/template"),
    (&["apps.openshift.io"], "DeploymentConfig", "/spec/template"),
    (&["batch"], "Job", "/spec/template"),
    (&["batch"], "CronJob", "/spec/jobTemplate/spec/template"),
];

/// The JSON pointer to the pod (its metadata and spec) in an object of this kind: empty for a Pod itself.
pub fn pointer(object: &Value) -> Option<&'static str> {
    let (kind, group) = (object["kind"].as_str()?, group(object));
    POD_TEMPLATE_PLACES.iter().find(|(groups, own, _)| *own == kind && groups.contains(&group)).map(|(_, _, pointer)| *pointer)
}

/// The pod in an object: the Pod itself, or a workload's template.
pub fn of(object: &Value) -> Option<&Value> {
    object.pointer(pointer(object)?)
}

/// Containers of a pod's specification, of every sort.
pub(crate) fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| spec[list].as_array().into_iter().flatten())
}
