//! What an object needs that is not in it: what a pod reads and mounts, its account and class, a claim's volume and class.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::identity::{ObjectId, group};
use crate::pod_template;

/// A sort of objects that others refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Related {
    /// What pods need to be admitted and to start: ConfigMaps, Secrets, ServiceAccounts, resource claims, PriorityClasses, RuntimeClasses,
    /// the Service of a StatefulSet; for an Ingress its class and certificates.
    Config,
    /// Claims, volumes and their classes.
    Storage,
}

/// Returns the references of one sort in an object, in the order of kinds and names.
pub fn references(object: &Value, related: Related) -> BTreeSet<ObjectId> {
    let mut found = References { namespace: object["metadata"]["namespace"].as_str(), ids: BTreeSet::new() };
    if let Some(pod) = pod_template::of(object) {
        match related {
            Related::Config => config_of_pod(&pod["spec"], &mut found),
            Related::Storage => storage_of_pod(&pod["spec"], &mut found),
        }
    }
    match related {
        Related::Config => config_of_others(object, &mut found),
        Related::Storage => storage_of_others(object, &mut found),
    }
    found.ids
}

/// Collects references of one object.
struct References<'a> {
    namespace: Option<&'a str>,
    ids: BTreeSet<ObjectId>,
}

impl References<'_> {
    /// Adds an object of the same namespace.
    fn in_namespace(&mut self, group: &str, kind: &str, name: &Value) {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            self.ids.insert(ObjectId::new(group, kind, self.namespace, name));
        }
    }

    /// Adds a cluster-scoped object.
    fn of_cluster(&mut self, group: &str, kind: &str, name: &Value) {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            self.ids.insert(ObjectId::new(group, kind, None, name));
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn config_of_pod(spec: &Value, found: &mut References<'_>) {
    let account = spec["serviceAccountName"].as_str().filter(|name| !name.is_empty()).unwrap_or("default");
    found.in_namespace("", "ServiceAccount", &account.into());
    found.of_cluster("scheduling.k8s.io", "PriorityClass", &spec["priorityClassName"]);
    found.of_cluster("node.k8s.io", "RuntimeClass", &spec["runtimeClassName"]);
    items(&spec["imagePullSecrets"]).for_each(|secret| found.in_namespace("", "Secret", &secret["name"]));
    for claim in items(&spec["resourceClaims"]) {
        found.in_namespace("resource.k8s.io", "ResourceClaim", &claim["resourceClaimName"]);
        found.in_namespace("resource.k8s.io", "ResourceClaimTemplate", &claim["resourceClaimTemplateName"]);
    }
    for volume in items(&spec["volumes"]) {
        found.in_namespace("", "ConfigMap", &volume["configMap"]["name"]);
        found.in_namespace("", "Secret", &volume["secret"]["secretName"]);
        for source in items(&volume["projected"]["sources"]) {
            found.in_namespace("", "ConfigMap", &source["configMap"]["name"]);
            found.in_namespace("", "Secret", &source["secret"]["name"]);
        }
        for (plugin, field) in SECRETS_OF_VOLUMES {
            found.in_namespace("", "Secret", &volume[*plugin][*field]["name"]);
        }
        found.in_namespace("", "Secret", &volume["azureFile"]["secretName"]);
    }
    for container in pod_template::containers(spec) {
        for source in items(&container["envFrom"]) {
            found.in_namespace("", "ConfigMap", &source["configMapRef"]["name"]);
            found.in_namespace("", "Secret", &source["secretRef"]["name"]);
        }
        for variable in items(&container["env"]) {
            found.in_namespace("", "ConfigMap", &variable["valueFrom"]["configMapKeyRef"]["name"]);
            found.in_namespace("", "Secret", &variable["valueFrom"]["secretKeyRef"]["name"]);
        }
    }
}

/// Volume plugins that name a Secret of the pod's namespace, and the field (`pkg/api/pod/util.go`, `visitPodSecretNames`).
const SECRETS_OF_VOLUMES: &[(&str, &str)] = &[
    ("cephfs", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("storageos", "secretRef"),
];

fn storage_of_pod(spec: &Value, found: &mut References<'_>) {
    for volume in items(&spec["volumes"]) {
        found.in_namespace("", "PersistentVolumeClaim", &volume["persistentVolumeClaim"]["claimName"]);
        found.of_cluster("storage.k8s.io", "StorageClass", &volume["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"]);
    }
}

fn config_of_others(object: &Value, found: &mut References<'_>) {
    match (group(object), object["kind"].as_str().unwrap_or_default()) {
        ("apps", "StatefulSet") => found.in_namespace("", "Service", &object["spec"]["serviceName"]),
        ("", "ServiceAccount") => {
            items(&object["imagePullSecrets"])
                .chain(items(&object["secrets"]))
                .for_each(|secret| found.in_namespace("", "Secret", &secret["name"]));
        }
        ("networking.k8s.io" | "extensions", "Ingress") => {
            found.of_cluster("networking.k8s.io", "IngressClass", &object["spec"]["ingressClassName"]);
            items(&object["spec"]["tls"]).for_each(|tls| found.in_namespace("", "Secret", &tls["secretName"]));
        }
        ("resource.k8s.io", "ResourceClaim" | "ResourceClaimTemplate") => device_classes(object, found),
        _ => {}
    }
}

/// The DeviceClasses that a claim or its template requests.
fn device_classes(object: &Value, found: &mut References<'_>) {
    let spec = if object["kind"] == "ResourceClaim" { &object["spec"] } else { &object["spec"]["spec"] };
    for request in items(&spec["devices"]["requests"]) {
        found.of_cluster("resource.k8s.io", "DeviceClass", &request["deviceClassName"]);
        found.of_cluster("resource.k8s.io", "DeviceClass", &request["exactly"]["deviceClassName"]);
        items(&request["firstAvailable"]).for_each(|one| found.of_cluster("resource.k8s.io", "DeviceClass", &one["deviceClassName"]));
    }
}

fn storage_of_others(object: &Value, found: &mut References<'_>) {
    let spec = &object["spec"];
    match (group(object), object["kind"].as_str().unwrap_or_default()) {
        ("apps", "StatefulSet") => claims_of_stateful_set(object, found),
        ("", "PersistentVolumeClaim") => {
            found.of_cluster("", "PersistentVolume", &spec["volumeName"]);
            class_of(spec, found);
        }
        ("", "PersistentVolume") => {
            class_of(spec, found);
            for (plugin, fields) in [("csi", &["nodePublishSecretRef", "nodeStageSecretRef", "controllerPublishSecretRef"][..])] {
                for field in fields {
                    let reference = &spec[plugin][*field];
                    if let (Some(namespace), Some(name)) = (reference["namespace"].as_str(), reference["name"].as_str()) {
                        found.ids.insert(ObjectId::new("", "Secret", Some(namespace), name));
                    }
                }
            }
        }
        _ => {}
    }
}

fn class_of(spec: &Value, found: &mut References<'_>) {
    found.of_cluster("storage.k8s.io", "StorageClass", &spec["storageClassName"]);
    found.of_cluster("storage.k8s.io", "VolumeAttributesClass", &spec["volumeAttributesClassName"]);
}

/// The claims of a StatefulSet's pods, `TEMPLATE-SET-ORDINAL`, from its first ordinal on, as many as it has replicas or had.
fn claims_of_stateful_set(object: &Value, found: &mut References<'_>) {
    /// No real StatefulSet is larger.
    const MAX_REPLICAS: u64 = 10_000;
    let number = |value: &Value| value.as_u64();
    let spec = &object["spec"];
    let replicas = number(&spec["replicas"]).unwrap_or(1).max(number(&object["status"]["replicas"]).unwrap_or(0)).min(MAX_REPLICAS);
    let first = number(&spec["ordinals"]["start"]).unwrap_or(0);
    let set = object["metadata"]["name"].as_str().unwrap_or_default();
    for template in items(&spec["volumeClaimTemplates"]) {
        let name = template["metadata"]["name"].as_str().unwrap_or_default();
        (first..first.saturating_add(replicas)).for_each(|ordinal| {
            found.in_namespace("", "PersistentVolumeClaim", &format!("{name}-{set}-{ordinal}").into());
        });
        class_of(&template["spec"], found);
    }
}

/// The ServiceAccounts that an object is or runs pods as, by namespace and name: it needs their permissions.
pub fn accounts(object: &Value) -> BTreeSet<(String, String)> {
    let accounts = references(object, Related::Config).into_iter().filter(|id| id.is("", "ServiceAccount"));
    let own = Some(ObjectId::of(object)).filter(|id| id.is("", "ServiceAccount"));
    accounts.chain(own).map(|id| (id.namespace.unwrap_or_default(), id.name)).collect()
}

/// Whether a RoleBinding or ClusterRoleBinding gives rights to one of these ServiceAccounts by its name, or through its namespace's group. The group
/// of all ServiceAccounts does not count: it is not about these.
pub fn binds(binding: &Value, accounts: &BTreeSet<(String, String)>) -> bool {
    let is_one = |subject: &Value| {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["kind"].as_str().unwrap_or_default() {
            "ServiceAccount" => {
                let namespace = subject["namespace"].as_str().or(binding["metadata"]["namespace"].as_str()).unwrap_or_default();
                accounts.contains(&(namespace.to_owned(), name.to_owned()))
            }
            "User" => {
                let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
                account.is_some_and(|(namespace, name)| accounts.contains(&(namespace.to_owned(), name.to_owned())))
            }
            "Group" => name.strip_prefix("system:serviceaccounts:").is_some_and(|of| accounts.iter().any(|(namespace, _)| namespace == of)),
            _ => false,
        }
    };
    items(&binding["subjects"]).any(is_one)
}

/// The Role or ClusterRole that a binding refers to.
pub fn role(binding: &Value) -> Option<ObjectId> {
    const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
    let (kind, name) = (binding["roleRef"]["kind"].as_str()?, binding["roleRef"]["name"].as_str()?);
    let namespace = binding["metadata"]["namespace"].as_str().filter(|_| kind == "Role");
    ["Role", "ClusterRole"].contains(&kind).then(|| ObjectId::new(RBAC_GROUP, kind, namespace, name))
}
