//! Objects without `kind` and `apiVersion`, as Go writes the items of a list: the path that they lie at names their resource.
//!
//! Support bundles of troubleshoot.sh hold `cluster-resources/pods/NAMESPACE.json` and `cluster-resources/nodes.json` (replicatedhq/troubleshoot
//! `pkg/constants/constants.go`), Insights of OpenShift `nodes.json`; `kubectl get` with a template does the same. The versions are those that objects
//! are stored in.

use serde_json::Value;

/// Resources, as paths may call them, with the version and kind of their objects.
const KNOWN_RESOURCES: &[(&[&str], &str, &str)] = &[
    (&["clusterrolebinding", "clusterrolebindings"], "rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    (&["clusterrole", "clusterroles"], "rbac.authorization.k8s.io/v1", "ClusterRole"),
    (&["configmap", "configmaps"], "v1", "ConfigMap"),
    (&["cronjob", "cronjobs"], "batch/v1", "CronJob"),
    (&["crds", "customresourcedefinition", "customresourcedefinitions"], "apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    (&["daemonset", "daemonsets"], "apps/v1", "DaemonSet"),
    (&["deployment", "deployments"], "apps/v1", "Deployment"),
    (&["endpoints"], "v1", "Endpoints"),
    (&["endpointslice", "endpointslices"], "discovery.k8s.io/v1", "EndpointSlice"),
    (&["event", "events"], "v1", "Event"),
    (&["horizontalpodautoscalers", "hpas"], "autoscaling/v2", "HorizontalPodAutoscaler"),
    (&["ingress", "ingresses"], "networking.k8s.io/v1", "Ingress"),
    (&["job", "jobs"], "batch/v1", "Job"),
    (&["lease", "leases"], "coordination.k8s.io/v1", "Lease"),
    (&["limitrange", "limitranges"], "v1", "LimitRange"),
    (&["namespace", "namespaces"], "v1", "Namespace"),
    (&["networkpolicies", "networkpolicy"], "networking.k8s.io/v1", "NetworkPolicy"),
    (&["node", "nodes"], "v1", "Node"),
    (&["persistentvolumeclaim", "persistentvolumeclaims", "pvcs"], "v1", "PersistentVolumeClaim"),
    (&["persistentvolume", "persistentvolumes", "pvs"], "v1", "PersistentVolume"),
    (&["pdbs", "poddisruptionbudget", "poddisruptionbudgets"], "policy/v1", "PodDisruptionBudget"),
    (&["pod", "pods"], "v1", "Pod"),
    (&["priorityclass", "priorityclasses"], "scheduling.k8s.io/v1", "PriorityClass"),
    (&["replicaset", "replicasets"], "apps/v1", "ReplicaSet"),
    (&["resourcequota", "resourcequotas"], "v1", "ResourceQuota"),
    (&["rolebinding", "rolebindings"], "rbac.authorization.k8s.io/v1", "RoleBinding"),
    (&["role", "roles"], "rbac.authorization.k8s.io/v1", "Role"),
    (&["serviceaccount", "serviceaccounts"], "v1", "ServiceAccount"),
    (&["service", "services"], "v1", "Service"),
    (&["statefulset", "statefulsets"], "apps/v1", "StatefulSet"),
    (&["storageclass", "storageclasses"], "storage.k8s.io/v1", "StorageClass"),
    (&["volumeattachment", "volumeattachments"], "storage.k8s.io/v1", "VolumeAttachment"),
];

/// The version and kind of the objects in a file, where its path names a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load) struct PathKind {
    api_version: &'static str,
    pub(super) kind: &'static str,
}

impl PathKind {
    /// What a path names: by the folder that a file lies in, whose files are called after namespaces or objects; else by the file's own name.
    pub(in crate::load) fn of(path: &str) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']).flat_map(|part| part.rsplit("::"));
        let name = parts.next()?;
        let stem = name.split('.').next().unwrap_or_default();
        parts.next().and_then(named).or_else(|| named(stem))
    }

    /// Gives an object its kind and version where it has neither and may be one; returns whether it does.
    pub(super) fn complete(self, object: &mut Value) -> bool {
        let Some(members) = object.as_object_mut() else { return false };
        let is_object = members.get("metadata").and_then(|metadata| metadata["name"].as_str()).is_some();
        if !is_object || members.contains_key("kind") || members.contains_key("apiVersion") {
            return false;
        }
        members.insert("apiVersion".to_owned(), self.api_version.into());
        members.insert("kind".to_owned(), self.kind.into());
        true
    }
}

fn named(word: &str) -> Option<PathKind> {
    let word: String = word.chars().filter(|letter| !matches!(letter, '-' | '_')).map(|letter| letter.to_ascii_lowercase()).collect();
    let found = KNOWN_RESOURCES.iter().find(|(names, ..)| names.contains(&&*word))?;
    Some(PathKind { api_version: found.1, kind: found.2 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_kinds() {
        for (path, wanted) in [
            ("bundle/cluster-resources/pods/shop.json", Some("Pod")),
            ("cluster-resources/pods/nodes.json", Some("Pod")),
            ("bundle.tar.gz::cluster-resources/nodes.json", Some("Node")),
            ("nodes.json", Some("Node")),
            ("cluster-resources/resource-quota/shop.json", Some("ResourceQuota")),
            ("cluster-resources/pvcs/shop.json", Some("PersistentVolumeClaim")),
            ("namespaces.json.gz", Some("Namespace")),
            ("cluster-resources/resources.json", None),
            ("pods/logs/shop/x.json", None),
            ("-", None),
        ] {
            assert_eq!(PathKind::of(path).map(|found| found.kind), wanted, "{path}");
        }
    }

    #[test]
    fn only_what_lacks_both_is_completed() {
        let pod = PathKind::of("pods.json").unwrap();
        let completed = |mut object: Value| pod.complete(&mut object).then_some(object);
        assert_eq!(
            completed(json!({"metadata": {"name": "a"}})),
            Some(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}))
        );
        for object in [json!({"metadata": {}}), json!({"kind": "Node", "metadata": {"name": "a"}}), json!([]), json!({"name": "a"})] {
            assert_eq!(completed(object), None);
        }
    }
}
