//! An object without what no scheduler looks at: what a copy of a cluster needs so that decisions about pods come out the same.

use std::sync::LazyLock;

use ketcd_kube::FieldSet;
use serde_json::Value;

use super::{NodeFields, PodFields, WatchedKind};

static POD_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::read_by::<PodFields<'static>>().with("apiVersion"));
static NODE_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::read_by::<NodeFields<'static>>().with("apiVersion"));
/// What selects pods, and is known by its uid. How many pods it has is kept too, so that nobody takes it for one that has none.
static OWNER_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of([
        "apiVersion",
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.generation",
        "spec.selector",
        "spec.replicas",
        "status",
    ])
});
static NAMESPACE_FIELDS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of(["apiVersion", "kind", "metadata.name", "metadata.uid", "metadata.labels"]));

/// Other kinds keep all but who wrote what.
static OTHER_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::all_but(["metadata.managedFields"]));

/// The group whose annotations schedulers read (`volume.kubernetes.io/selected-node`, `scheduler.alpha.kubernetes.io/preferAvoidPods`, …).
const READ_ANNOTATION_GROUP: &str = "kubernetes.io";
/// kubectl's own, with the whole manifest.
const KUBECTL_ANNOTATION_GROUP: &str = "kubectl.kubernetes.io";
/// What 1.9 wrote, without a group.
const NOMINATED_ANNOTATION: &str = "NominatedNodeName";

impl WatchedKind {
    /// What an object of this kind needs to be decoded with: [`WatchedKind::reduce`] leaves nothing else of it.
    pub fn reduced_fields(self) -> &'static FieldSet {
        match self {
            Self::Pod => &POD_FIELDS,
            Self::Node => &NODE_FIELDS,
            Self::Namespace => &NAMESPACE_FIELDS,
            Self::Service | Self::ReplicationController | Self::ReplicaSet | Self::StatefulSet => &OWNER_FIELDS,
            _ => &OTHER_FIELDS,
        }
    }

    /// Takes out of an object of this kind what no release's scheduler looks at.
    pub fn reduce(self, object: &mut Value) {
        self.reduced_fields().keep(object);
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| is_read(name));
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
}

/// Whether a scheduler may read the annotation of this name.
fn is_read(name: &str) -> bool {
    let Some((group, _)) = name.split_once('/') else { return name == NOMINATED_ANNOTATION };
    group != KUBECTL_ANNOTATION_GROUP
        && group.strip_suffix(READ_ANNOTATION_GROUP).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_keeps_what_counts_on_its_node() {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "1", "labels": {"app": "web"}, "managedFields": [{"manager": "x"}],
                "annotations": {
                    "note": "x", "example.com/token": "s3cret", "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "kubernetes.io/config.mirror": "y",
                },
            },
            "spec": {
                "nodeName": "n1",
                "containers": [{"name": "c", "image": "i", "args": ["--password=x"], "env": [{"name": "A", "value": "b"}],
                                "resources": {"requests": {"cpu": "1"}}}],
            },
            "status": {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "10.0.0.2"},
        });
        WatchedKind::Pod.reduce(&mut pod);
        let text = pod.to_string();
        for gone in ["s3cret", "password", "\"env\"", "managedFields", "podIP", "last-applied", "note"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        for kept in ["\"v1\"", "web-0", "\"app\"", "config.mirror", "\"cpu\"", "\"n1\"", "Running"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }

    #[test]
    fn what_selects_pods_keeps_its_selector() {
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "s", "uid": "2", "annotations": {"a": "b"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": {"spec": {}}}, "status": {"replicas": 2},
        });
        WatchedKind::ReplicaSet.reduce(&mut set);
        let kept = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "w", "namespace": "s", "uid": "2"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}}, "status": {"replicas": 2},
        });
        assert_eq!(set, kept);
    }

    #[test]
    fn annotations_of_kubernetes_alone_are_kept() {
        for (name, kept) in [
            ("volume.kubernetes.io/selected-node", true),
            ("kubernetes.io/config.mirror", true),
            ("NominatedNodeName", true),
            ("kubectl.kubernetes.io/last-applied-configuration", false),
            ("notkubernetes.io/x", false),
            ("example.com/kubernetes.io", false),
        ] {
            assert_eq!(is_read(name), kept, "{name}");
        }
    }
}
