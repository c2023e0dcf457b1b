//! Objects without what differs from cluster to cluster though nobody asked for it: what servers, controllers, admission and networks write.

use serde_json::{Value, json};

use ketcd_restore::{Switches, pod_template, strip};

use super::naming::{Namings, is_suffix};
use super::owners::{controller, group, text};

/// What stands for the namespace, where two are compared.
const THIS_NAMESPACE: &str = "(this namespace)";
const CERTIFICATE_MARK: &str = "(a certificate)";
/// What stands for a generated part.
const GENERATED_MARK: &str = "*";

/// Labels with hashes and uids, or with what the name says already (kubernetes pkg/apis/apps/types.go, pkg/apis/batch/types.go, pkg/apis/core/types.go).
const WRITTEN_LABELS: &[&str] = &[
    "pod-template-hash",
    "controller-revision-hash",
    "pod-template-generation",
    "apps.kubernetes.io/pod-index",
    "statefulset.kubernetes.io/pod-name",
    "kubernetes.io/metadata.name",
];
/// Labels of a Job's pods (kubernetes pkg/apis/batch/types.go).
const JOB_POD_LABELS: &[&str] = &[
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "batch.kubernetes.io/job-completion-index",
];
/// Labels that a pod gets from its node when it is bound (kubernetes 1.35, plugin/pkg/admission/podtopologylabels).
const NODE_LABELS_OF_PODS: &[&str] = &["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
/// Annotations, or what they begin with, in which kubelets, controllers and networks keep state.
const WRITTEN_ANNOTATIONS: &[&str] = &[
    "kubectl.kubernetes.io/restartedAt",
    "kubernetes.io/config.seen",
    "kubernetes.io/config.hash",
    "kubernetes.io/config.mirror",
    "batch.kubernetes.io/job-completion-index",
    "csi.volume.kubernetes.io/nodeid",
    "cni.projectcalico.org/",
    "projectcalico.org/",
    "flannel.alpha.coreos.com/",
    "k8s.ovn.org/",
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
];
/// Taints that the node lifecycle controller sets by a node's conditions (kubernetes staging/src/k8s.io/api/core/v1/well_known_taints.go).
const CONDITION_TAINTS: &[&str] = &[
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
];

/// How one state names things.
pub(super) struct Names<'n> {
    /// The generated names of the state.
    pub namings: &'n Namings,
    /// The namespace that stands for the other one, where two are compared.
    pub namespace: Option<&'n str>,
}

/// Returns an object as it is compared: without identity, status and what was written for it.
pub(super) fn normal_form(mut object: Value, names: &Names<'_>) -> Value {
    let namespace = text(&object["metadata"]["namespace"]).to_owned();
    let owner = controller(&object).map(|owner| text(&owner["kind"]).to_owned());
    let switches = switches(&object);
    strip(&mut object, &switches, true);
    strip_metadata(&mut object, owner.as_deref());
    match (group(&object), text(&object["kind"])) {
        ("", "Pod") => strip_pod(&mut object),
        ("", "Node") => strip_node(&mut object),
        ("apps" | "extensions", "ReplicaSet") => strip_replica_set(&mut object, owner.as_deref()),
        ("admissionregistration.k8s.io" | "apiextensions.k8s.io" | "apiregistration.k8s.io", _) => strip_certificates(&mut object),
        _ => {}
    }
    if let Some(template) = pod_template::pointer(&object).filter(|pointer| !pointer.is_empty())
        && let Some(metadata) = object.pointer_mut(&format!("{template}/metadata"))
    {
        remove_marks(metadata, "annotations", is_written_annotation);
    }
    rewrite(&mut object, &namespace, names);
    object
}

/// Which rules of manifests do not hold here: what somebody chose is compared.
fn switches(object: &Value) -> Switches {
    let mut switches = Switches::default();
    let mut keep = |name: &str| _ = switches.keep(name);
    keep("finalizers");
    keep("ephemeral-containers");
    let names = |field: &str| chose(object, field);
    if names("nodePort") {
        keep("node-port");
    }
    if names("clusterIP") {
        keep("cluster-ip");
    }
    if object["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] != "yes" {
        keep("volume-name");
        keep("claim-ref");
    }
    switches
}

/// Whether somebody asked for a value of this field, which is allocated otherwise: API servers allocate after they note who asked for what.
fn chose(object: &Value, field: &str) -> bool {
    let metadata = &object["metadata"];
    let applied = text(&metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]);
    let managers = metadata["managedFields"].as_array().into_iter().flatten();
    let managed = format!("f:{field}");
    applied.contains(&format!("\"{field}\":")) || managers.into_iter().any(|manager| has_member(&manager["fieldsV1"], &managed))
}

fn has_member(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(member, value)| member == name || has_member(value, name)),
        _ => false,
    }
}

fn strip_metadata(object: &mut Value, owner: Option<&str>) {
    let is_pod = object["kind"] == "Pod";
    let Some(metadata) = object.get_mut("metadata") else { return };
    if let Some(members) = metadata.as_object_mut() {
        ["name", "namespace", "generateName", "ownerReferences"].iter().for_each(|name| drop(members.remove(*name)));
    }
    let is_of_job = is_pod && owner == Some("Job");
    remove_marks(metadata, "labels", |label| {
        WRITTEN_LABELS.contains(&label) || is_of_job && JOB_POD_LABELS.contains(&label) || is_pod && NODE_LABELS_OF_PODS.contains(&label)
    });
    remove_marks(metadata, "annotations", is_written_annotation);
    // Finalizers of Kubernetes' own controllers come and go with deletions.
    let is_own = |finalizer: &Value| {
        let name = text(finalizer);
        !name.contains('/') || name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"))
    };
    remove_items(metadata, "finalizers", is_own);
}

fn is_written_annotation(name: &str) -> bool {
    WRITTEN_ANNOTATIONS.iter().any(|written| if written.ends_with('/') { name.starts_with(written) } else { name == *written })
}

fn strip_pod(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec") else { return };
    // A DaemonSet's pod names its node there (kubernetes pkg/controller/daemon/util, `ReplaceDaemonSetPodNodeNameNodeAffinity`).
    let terms = spec.pointer_mut("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
    for term in terms.and_then(Value::as_array_mut).into_iter().flatten() {
        let fields = term.get_mut("matchFields").and_then(Value::as_array_mut);
        fields
            .into_iter()
            .flatten()
            .filter(|field| field["key"] == "metadata.name")
            .for_each(|field| field["values"] = json!([GENERATED_MARK]));
    }
    // matchLabelKeys add the hash of the template (kubernetes 1.34, pkg/registry/core/pod/strategy.go).
    for constraint in spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(selector) = constraint.get_mut("labelSelector") {
            remove_items(selector, "matchExpressions", |expression| WRITTEN_LABELS.contains(&text(&expression["key"])));
        }
    }
    // kubectl debug generates the names of its containers.
    for container in spec.get_mut("ephemeralContainers").and_then(Value::as_array_mut).into_iter().flatten() {
        if text(&container["name"]).strip_prefix("debugger-").is_some_and(is_suffix) {
            container["name"] = json!(format!("debugger-{GENERATED_MARK}"));
        }
    }
}

fn strip_node(node: &mut Value) {
    let Some(spec) = node.get_mut("spec") else { return };
    remove_items(spec, "taints", |taint| CONDITION_TAINTS.contains(&text(&taint["key"])));
    for taint in spec.get_mut("taints").and_then(Value::as_array_mut).into_iter().flatten() {
        taint.as_object_mut().and_then(|taint| taint.remove("timeAdded"));
    }
    spec.as_object_mut().and_then(|spec| spec.remove("providerID"));
}

/// Leaves out of a ReplicaSet the hash of its template and, where a Deployment has it, the number that the rollout has come to.
fn strip_replica_set(set: &mut Value, owner: Option<&str>) {
    let Some(spec) = set.get_mut("spec") else { return };
    if owner == Some("Deployment") {
        spec.as_object_mut().and_then(|spec| spec.remove("replicas"));
    }
    let is_hash = |label: &str| label == "pod-template-hash";
    if let Some(selector) = spec.get_mut("selector") {
        remove_marks(selector, "matchLabels", is_hash);
    }
    if let Some(metadata) = spec.pointer_mut("/template/metadata") {
        remove_marks(metadata, "labels", is_hash);
    }
}

/// Puts one word in place of each certificate: each cluster has its own, and that there is one is compared.
fn strip_certificates(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "caBundle" && !text.is_empty() => *text = CERTIFICATE_MARK.to_owned(),
                    _ => strip_certificates(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip_certificates),
        _ => {}
    }
}

/// The members that refer to an object by a name that may be generated: the member, the name in it, the kind.
const REFERENCE_FIELDS: &[(&str, &str, &str)] = &[
    ("configMap", "name", "ConfigMap"),
    ("configMapKeyRef", "name", "ConfigMap"),
    ("configMapRef", "name", "ConfigMap"),
    ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
    ("secret", "name", "Secret"),
    ("secret", "secretName", "Secret"),
    ("secretKeyRef", "name", "Secret"),
    ("secretRef", "name", "Secret"),
];

/// Puts patterns in place of generated names, and one word in place of the namespace where two are compared.
fn rewrite(value: &mut Value, namespace: &str, names: &Names<'_>) {
    let stands_for = |text: &str| names.namespace == Some(text);
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                for (_, name, kind) in REFERENCE_FIELDS.iter().filter(|(reference, ..)| reference == member) {
                    let pattern = value[*name].as_str().and_then(|name| names.namings.pattern(kind, namespace, name));
                    if let Some(pattern) = pattern.map(str::to_owned) {
                        value[*name] = Value::String(pattern);
                    }
                }
                match value {
                    Value::String(text) if member == "namespace" && stands_for(text) => *text = THIS_NAMESPACE.to_owned(),
                    Value::Array(items) if member == "namespaces" => {
                        let own = items.iter_mut().filter(|item| item.as_str().is_some_and(stands_for));
                        own.for_each(|item| *item = json!(THIS_NAMESPACE));
                    }
                    _ => rewrite(value, namespace, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(item, namespace, names)),
        _ => {}
    }
}

/// Removes labels or annotations, and the map with the last of them.
fn remove_marks(metadata: &mut Value, marks: &str, is_unwanted: impl Fn(&str) -> bool) {
    let Some(members) = metadata.as_object_mut() else { return };
    let Some(map) = members.get_mut(marks).and_then(Value::as_object_mut) else { return };
    map.retain(|name, _| !is_unwanted(name));
    if map.is_empty() {
        members.remove(marks);
    }
}

/// Removes items of a list, and the list with the last of them.
fn remove_items(object: &mut Value, list: &str, is_unwanted: impl Fn(&Value) -> bool) {
    let Some(members) = object.as_object_mut() else { return };
    let Some(items) = members.get_mut(list).and_then(Value::as_array_mut) else { return };
    items.retain(|item| !is_unwanted(item));
    if items.is_empty() {
        members.remove(list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(object: Value, expected: &Value) {
        let namings = Namings::default();
        assert_eq!(normal_form(object, &Names { namings: &namings, namespace: Some("one") }), *expected);
    }

    #[test]
    fn identity_status_and_what_was_written_are_left_out() {
        check(
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u", "labels": {"pool": "a"},
                    "annotations": {"csi.volume.kubernetes.io/nodeid": "{}"}},
                "spec": {"podCIDR": "10.0.0.0/24", "providerID": "aws://i-1", "taints": [
                    {"key": "gpu", "effect": "NoSchedule", "timeAdded": "2026-11-21T00:00:00Z"},
                    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]},
                "status": {"phase": "Running"}}),
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"labels": {"pool": "a"}}, "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}),
        );
    }

    #[test]
    fn an_address_is_compared_where_somebody_chose_it() {
        let service = |managed: Value| {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "one", "managedFields": [{"fieldsV1": managed}]},
                "spec": {"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"], "ports": [{"port": 80, "nodePort": 30080}]}})
        };
        let spec = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": spec});
        check(service(json!({"f:spec": {"f:ports": {}}})), &spec(json!({"ports": [{"port": 80}]})));
        check(
            service(json!({"f:spec": {"f:clusterIP": {}}})),
            &spec(json!({"clusterIP": "10.0.0.10", "clusterIPs": ["10.0.0.10"], "ports": [{"port": 80}]})),
        );
    }

    #[test]
    fn the_namespace_has_one_name_where_two_are_compared() {
        check(
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "a", "namespace": "one"},
                "subjects": [{"kind": "ServiceAccount", "name": "b", "namespace": "one"}, {"kind": "ServiceAccount", "name": "b", "namespace": "two"}]}),
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {},
                "subjects": [{"kind": "ServiceAccount", "name": "b", "namespace": "(this namespace)"}, {"kind": "ServiceAccount", "name": "b", "namespace": "two"}]}),
        );
    }
}
