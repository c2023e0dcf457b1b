//! Two recorded clusters, two moments and two namespaces, compared by what objects are meant to be.

use ketcd_cluster::diff::ComparedState;
use ketcd_cluster::diff::spec::{SpecDiff, spec_diff};
use ketcd_cluster::{Cluster, Error, Nothing, Options, Selection};
use serde_json::{Value, json};

use crate::fixture::{capture, cluster_of, open, path};

/// The differences as a person would list them.
fn told(found: &SpecDiff) -> Vec<String> {
    let lines = found.differences.iter().map(|difference| {
        let id = &difference.id;
        let place = if id.namespace.is_empty() { String::new() } else { format!("{}/", id.namespace) };
        let [first, second] = difference.names.each_ref().map(Vec::len);
        let number = if difference.counts { format!(" {first} → {second}") } else { String::new() };
        let fields: Vec<String> = difference.fields.iter().map(|field| format!(" {}", field.path)).collect();
        format!("{} {} {place}{}{number}{}", difference.kind.as_str(), id.kind, id.naming, fields.concat())
    });
    lines.collect()
}

async fn compare(before: &Cluster, after: &Cluster) -> SpecDiff {
    let states = [ComparedState::newest(before, "A"), ComparedState::newest(after, "B")];
    spec_diff(&states, &[], &Selection::default()).await.unwrap()
}

/// The same day in two clusters of one release. In the first devices were claimed, which kine's lacks, and a rollout of what an autoscaler scales was under way at the end.
#[tokio::test]
async fn two_clusters_of_one_release_differ_in_what_a_person_would_list() {
    let story = capture("k136-story", Options::default()).await;
    let kine = open(&[path("k136-kine/compacted.db.zst")], Options::default()).await.unwrap();
    let found = compare(&story, &kine).await;
    assert_eq!(
        told(&found),
        [
            "DELETED DeviceClass gpu.example.com",
            "DELETED Pod lab/infer-1",
            "DELETED Pod lab/infer-2",
            "DELETED Pod lab/train-1",
            "DELETED Pod lab/train-3",
            "ADDED Pod lab/ubuntu",
            "DELETED ResourceClaim lab/shared",
            "DELETED ResourceClaimTemplate lab/one",
        ]
    );
    assert!(found.newer_defaults.is_empty() && found.not_decoded.iter().all(Vec::is_empty));
    let left_out = |name: &str| found.left_out.iter().find(|(reason, _)| reason.name == name).map(|(_, counts)| *counts);
    assert_eq!(left_out("events"), Some([600, 581]));
    assert_eq!(left_out("server-objects"), None, "of one release they are compared");
}

#[tokio::test]
async fn a_cluster_does_not_differ_from_itself() {
    for name in ["k120-story", "k136-story", "k137-whatif"] {
        let (one, other) = (capture(name, Options::default()).await, capture(name, Options::default()).await);
        let found = compare(&one, &other).await;
        assert!(found.differences.is_empty(), "{name}: {:?}", told(&found));
    }
}

#[tokio::test]
async fn what_a_release_writes_by_default_is_no_difference() {
    let (old, new) = (capture("k120-story", Options::default()).await, capture("k136-story", Options::default()).await);
    let found = compare(&old, &new).await;
    assert_eq!(found.releases.map(|release| release.map(|release| release.0)), [Some(20), Some(36)]);
    let of = |kind: &str| told(&found).into_iter().filter(|line| line.starts_with(&format!("MODIFIED {kind} "))).collect::<Vec<_>>();
    for kind in ["Service", "StatefulSet", "DaemonSet", "Job", "CronJob", "Namespace", "HorizontalPodAutoscaler", "ServiceAccount"] {
        assert!(of(kind).is_empty(), "{:?}", of(kind));
    }
    let fields: Vec<&str> = found.newer_defaults.iter().map(|(default, _)| default.field).collect();
    assert!(fields.contains(&"spec.internalTrafficPolicy") && fields.contains(&"spec.persistentVolumeClaimRetentionPolicy"), "{fields:?}");
    let mirrored = compare(&new, &old).await;
    assert_eq!(mirrored.differences.len(), found.differences.len());
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}

fn config(namespace: &str, name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")}, "data": {"a": value}})
}

#[tokio::test]
async fn two_namespaces_of_one_cluster_are_compared() {
    let binding = |namespace: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b", "namespace": namespace},
            "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": namespace}]})
    };
    let objects = [
        config("one", "x", "1"),
        config("two", "x", "2"),
        config("one", "y", "1"),
        config("two", "y", "1"),
        config("one", "z", "1"),
        binding("one"),
        binding("two"),
    ];
    let cluster = cluster_of(list(&objects), Options::default()).await;
    let states = ["one", "two"].map(|namespace| ComparedState::of_namespace(&cluster, namespace));
    let found = spec_diff(&states, &[], &Selection::default()).await.unwrap();
    assert_eq!(told(&found), ["MODIFIED ConfigMap x data.a", "DELETED ConfigMap z"]);
    let states = ["one", "nowhere"].map(|namespace| ComparedState::of_namespace(&cluster, namespace));
    let error = spec_diff(&states, &[], &Selection::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Nothing(Nothing::InEither { namespace, .. }) if namespace == "nowhere"), "{error:?}");
}
