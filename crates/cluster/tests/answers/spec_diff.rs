//! Two recorded clusters, two moments and two namespaces, compared by what objects are meant to be.

use std::collections::{BTreeMap, BTreeSet};

use ketcd_cluster::diff::ComparedState;
use ketcd_cluster::diff::spec::{SpecDiff, spec_diff};
use ketcd_cluster::{Cluster, Error, Nothing, Options, Selection};
use ketcd_testing::testdata;
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

/// Every object of a recorded cluster once, as an API server returned it.
fn recorded() -> Vec<Value> {
    let lines = String::from_utf8(testdata::read("captures/k136-story/apidump.jsonl.zst")).unwrap();
    let mut objects: BTreeMap<String, Value> = BTreeMap::new();
    for line in lines.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let object = line["object"].take();
        let group = object["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
        let id = format!("{group} {} {} {}", object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]);
        objects.entry(id).or_insert(object);
    }
    objects.into_values().collect()
}

/// The object of a kind and a name.
fn named<'o>(objects: &'o mut [Value], kind: &str, namespace: &str, name: &str) -> &'o mut Value {
    let is_it = |object: &&mut Value| {
        let metadata = &object["metadata"];
        object["kind"] == kind && metadata["namespace"].as_str().unwrap_or_default() == namespace && metadata["name"] == name
    };
    objects.iter_mut().find(is_it).unwrap()
}

/// Replaces strings that are uids.
fn replace_uids(value: &mut Value, uids: &BTreeSet<String>) {
    match value {
        Value::String(text) if uids.contains(text) => *text = text.chars().rev().collect(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_uids(item, uids)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_uids(member, uids)),
        _ => {}
    }
}

/// What is another's in every other cluster: uids, wherever they stand, and times and revisions of writes.
fn installed_anew(objects: &[Value]) -> Vec<Value> {
    let uids = objects.iter().filter_map(|object| object["metadata"]["uid"].as_str()).map(str::to_owned).collect();
    let mut objects = objects.to_vec();
    for (at, object) in objects.iter_mut().enumerate() {
        replace_uids(object, &uids);
        let metadata = &mut object["metadata"];
        metadata["creationTimestamp"] = format!("2026-12-01T10:{:02}:00Z", at % 60).into();
        metadata["resourceVersion"] = (9000 + at).to_string().into();
        metadata["generation"] = 7.into();
        for manager in metadata["managedFields"].as_array_mut().into_iter().flatten() {
            manager["time"] = "2026-12-01T11:00:00Z".into();
        }
    }
    objects
}

/// Two clusters that were installed from the same files, one of which some people changed then: the list is what they did.
#[tokio::test]
async fn what_people_changed_is_listed_and_nothing_else() {
    let objects = recorded();
    let before = cluster_of(list(&objects), Options::default()).await;
    let mut changed = installed_anew(&objects);
    let same = cluster_of(list(&changed), Options::default()).await;
    assert_eq!(told(&compare(&before, &same).await), [""; 0]);

    named(&mut changed, "Deployment", "web", "wide")["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/wide:9".into();
    named(&mut changed, "ConfigMap", "web", "app-config")["data"]["LOG"] = "trace".into();
    named(&mut changed, "StatefulSet", "web", "db")["spec"]["template"]["spec"]["priorityClassName"] = "high".into();
    named(&mut changed, "Node", "", "node2")["metadata"]["labels"]["disk"] = "ssd".into();
    named(&mut changed, "CronJob", "web", "nightly")["spec"]["schedule"] = "0 4 * * *".into();
    named(&mut changed, "ResourceQuota", "web", "quota")["spec"]["hard"]["pods"] = "77".into();
    changed.retain(|object| object["kind"] != "NetworkPolicy" || object["metadata"]["name"] != "deny");
    changed.push(config("web", "extra", "1"));
    let after = cluster_of(list(&changed), Options::default()).await;
    let found = compare(&before, &after).await;
    assert_eq!(
        told(&found),
        [
            "MODIFIED ConfigMap web/app-config data.LOG",
            "ADDED ConfigMap web/extra",
            "MODIFIED CronJob web/nightly spec.schedule",
            "MODIFIED Deployment web/wide spec.template.spec.containers[main].image",
            "DELETED NetworkPolicy web/deny",
            "MODIFIED Node node2 metadata.labels.disk",
            "MODIFIED ResourceQuota web/quota spec.hard.pods",
            "MODIFIED StatefulSet web/db spec.template.spec.priorityClassName",
        ]
    );
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
