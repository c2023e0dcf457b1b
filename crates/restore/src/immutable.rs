//! Fields that an API server refuses to change.

use serde_json::Value;

use crate::identity::group;

/// What may not change in objects of a kind.
enum Fixed {
    /// These, by JSON pointers.
    Fields(&'static [&'static str]),
    /// All members of `spec` but these.
    SpecBut(&'static [&'static str]),
}
use Fixed::{Fields, SpecBut};

/// Kinds and what may not change in them. Source: the `Validate…Update` functions of k8s.io/kubernetes `pkg/apis` v1.36.3.
const IMMUTABLE_FIELDS: &[(&str, &str, Fixed)] = &[
    ("", "PersistentVolumeClaim", SpecBut(&["resources", "volumeAttributesClassName"])),
    (
        "",
        "Pod",
        SpecBut(&[
            "containers",
            "initContainers",
            "activeDeadlineSeconds",
            "tolerations",
            "schedulingGates",
            "terminationGracePeriodSeconds",
        ]),
    ),
    ("", "Secret", Fields(&["/type"])),
    ("apps", "DaemonSet", Fields(&["/spec/selector"])),
    ("apps", "Deployment", Fields(&["/spec/selector"])),
    ("apps", "ReplicaSet", Fields(&["/spec/selector"])),
    (
        "apps",
        "StatefulSet",
        SpecBut(&[
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
            "minReadySeconds",
        ]),
    ),
    ("apps", "ControllerRevision", Fields(&["/data"])),
    (
        "batch",
        "Job",
        Fields(&[
            "/spec/selector",
            "/spec/template",
            "/spec/completionMode",
            "/spec/podFailurePolicy",
            "/spec/successPolicy",
            "/spec/backoffLimitPerIndex",
            "/spec/managedBy",
        ]),
    ),
    ("discovery.k8s.io", "EndpointSlice", Fields(&["/addressType"])),
    ("networking.k8s.io", "IngressClass", Fields(&["/spec/controller"])),
    ("node.k8s.io", "RuntimeClass", Fields(&["/handler"])),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", Fields(&["/roleRef"])),
    ("rbac.authorization.k8s.io", "RoleBinding", Fields(&["/roleRef"])),
    ("resource.k8s.io", "ResourceClaim", SpecBut(&[])),
    ("resource.k8s.io", "ResourceClaimTemplate", SpecBut(&[])),
    ("scheduling.k8s.io", "PriorityClass", Fields(&["/value", "/preemptionPolicy"])),
    ("storage.k8s.io", "CSIDriver", Fields(&["/spec/attachRequired", "/spec/volumeLifecycleModes"])),
    ("storage.k8s.io", "StorageClass", Fields(&["/provisioner", "/parameters", "/reclaimPolicy", "/volumeBindingMode"])),
    ("storage.k8s.io", "VolumeAttributesClass", Fields(&["/driverName", "/parameters"])),
    ("apiextensions.k8s.io", "CustomResourceDefinition", Fields(&["/spec/group", "/spec/scope", "/spec/names/plural", "/spec/names/kind"])),
];

/// Members of a volume's `spec` that do not belong to a plugin and may change. Its nodeAffinity may be set, but not changed.
const OF_VOLUME: &[&str] = &[
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

/// Returns the fields, as `spec.selector`, that would change though the API server refuses it.
pub fn changed(live: &Value, after: &Value) -> Vec<String> {
    let (group, kind) = (group(live), live["kind"].as_str().unwrap_or_default());
    let mut found = Vec::new();
    if let Some((.., fixed)) = IMMUTABLE_FIELDS.iter().find(|row| (row.0, row.1) == (group, kind)) {
        match fixed {
            Fields(pointers) => {
                found.extend(pointers.iter().filter(|pointer| differs(live, after, pointer)).map(|pointer| dotted(pointer)))
            }
            SpecBut(free) => found.extend(members_that_differ(live, after, free)),
        }
    }
    match (group, kind) {
        ("", "ConfigMap" | "Secret") if live["immutable"] == true => {
            let fixed = ["/data", "/binaryData", "/immutable"];
            found.extend(fixed.iter().filter(|pointer| differs(live, after, pointer)).map(|pointer| dotted(pointer)));
        }
        ("", "PersistentVolume") => found.extend(volume(live, after)),
        ("", "Pod") => found.extend(containers(live, after)),
        ("", "Service") => found.extend(service(live, after)),
        // A claim that has no volume yet may be given one.
        ("", "PersistentVolumeClaim") if live["spec"]["volumeName"].is_null() => found.retain(|field| field != "spec.volumeName"),
        // An indexed Job may be made larger or smaller.
        ("batch", "Job") if live["spec"]["completionMode"] != "Indexed" && differs(live, after, "/spec/completions") => {
            found.push("spec.completions".to_owned());
        }
        _ => {}
    }
    found
}

/// Whether a field differs; null counts as absent.
fn differs(live: &Value, after: &Value, pointer: &str) -> bool {
    live.pointer(pointer).unwrap_or(&Value::Null) != after.pointer(pointer).unwrap_or(&Value::Null)
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

fn members_that_differ(live: &Value, after: &Value, free: &[&str]) -> Vec<String> {
    let names =
        [live, after].into_iter().flat_map(|object| object["spec"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()));
    let mut names: Vec<&str> = names.filter(|name| !free.contains(name) && live["spec"][*name] != after["spec"][*name]).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| format!("spec.{name}")).collect()
}

fn volume(live: &Value, after: &Value) -> Vec<String> {
    let mut found = members_that_differ(live, after, OF_VOLUME);
    if !live["spec"]["nodeAffinity"].is_null() && differs(live, after, "/spec/nodeAffinity") {
        found.push("spec.nodeAffinity".to_owned());
    }
    found
}

/// In a pod's containers only the image may change; resources change only through the subresource `resize`.
fn containers(live: &Value, after: &Value) -> Vec<String> {
    let without_image = |list: &Value| {
        let mut list = list.clone();
        let containers = list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
        containers.for_each(|container| drop(container.remove("image")));
        list
    };
    let mut found: Vec<String> = ["initContainers", "containers"]
        .into_iter()
        .filter(|list| without_image(&live["spec"][*list]) != without_image(&after["spec"][*list]))
        .map(|list| format!("spec.{list}"))
        .collect();
    if let Some(live) = live["spec"]["tolerations"].as_array()
        && !live.iter().all(|toleration| after["spec"]["tolerations"].as_array().is_some_and(|after| after.contains(toleration)))
    {
        found.push("spec.tolerations".to_owned());
    }
    found
}

/// The address of a Service stays, unless its type is or becomes ExternalName; so does its first IP family.
fn service(live: &Value, after: &Value) -> Vec<String> {
    let is_external = |service: &Value| service["spec"]["type"] == "ExternalName";
    if is_external(live) || is_external(after) {
        return Vec::new();
    }
    let fixed = ["/spec/clusterIP", "/spec/clusterIPs/0", "/spec/ipFamilies/0"];
    let is_set = |pointer: &str| live.pointer(pointer).is_some_and(|value| !value.is_null() && *value != "");
    fixed.iter().filter(|pointer| is_set(pointer) && differs(live, after, pointer)).map(|pointer| dotted(pointer)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(api_version: &str, kind: &str, live: Value, after: Value, wanted: &[&str]) {
        let object = |members: Value| {
            let mut object = json!({"apiVersion": api_version, "kind": kind});
            object.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap());
            object
        };
        assert_eq!(changed(&object(live), &object(after)), wanted);
    }

    #[test]
    fn what_may_not_change_is_named() {
        check(
            "apps/v1",
            "Deployment",
            json!({"spec": {"selector": {"a": 1}, "replicas": 1}}),
            json!({"spec": {"selector": {"a": 2}, "replicas": 2}}),
            &["spec.selector"],
        );
        check(
            "apps/v1",
            "StatefulSet",
            json!({"spec": {"serviceName": "a", "replicas": 1}}),
            json!({"spec": {"serviceName": "b", "replicas": 2}}),
            &["spec.serviceName"],
        );
        check("v1", "ConfigMap", json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}), &[]);
        check("v1", "ConfigMap", json!({"data": {"a": "1"}, "immutable": true}), json!({"data": {"a": "2"}, "immutable": true}), &["data"]);
        check(
            "v1",
            "PersistentVolume",
            json!({"spec": {"hostPath": {"path": "/a"}, "capacity": 1}}),
            json!({"spec": {"hostPath": {"path": "/b"}, "capacity": 2}}),
            &["spec.hostPath"],
        );
        check("v1", "PersistentVolumeClaim", json!({"spec": {}}), json!({"spec": {"volumeName": "pv"}}), &[]);
        check(
            "v1",
            "PersistentVolumeClaim",
            json!({"spec": {"volumeName": "a"}}),
            json!({"spec": {"volumeName": "b"}}),
            &["spec.volumeName"],
        );
    }

    #[test]
    fn of_a_pod_the_image_may_change_and_tolerations_may_come() {
        let pod = |image: &str, cpu: &str, tolerations: Value| json!({"spec": {"containers": [{"name": "a", "image": image, "resources": cpu}], "tolerations": tolerations}});
        check("v1", "Pod", pod("1", "1", json!(["a"])), pod("2", "1", json!(["a", "b"])), &[]);
        check("v1", "Pod", pod("1", "1", json!(["a"])), pod("1", "2", json!(["b"])), &["spec.containers", "spec.tolerations"]);
    }
}
