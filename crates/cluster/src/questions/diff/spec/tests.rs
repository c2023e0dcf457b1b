//! Made-up states compared: what must be no difference, and what must be one.

use serde_json::{Value, json};

use ketcd_history::ChangeKind;
use ketcd_kube::Release;
use ketcd_testing::random::Random;

use super::difference::{SpecChange, SpecDiff};
use super::left_out::{EVENTS_REASON, OTHER_KEYS_REASON};
use super::state_objects::StateObjects;
use crate::selection::Selection;

/// How many made-up states each property is held against.
const STATES: u64 = 60;

fn state(objects: &[Value]) -> StateObjects {
    StateObjects {
        objects: objects.iter().map(|object| object.clone().into()).collect(),
        release: Some(Release(36)),
        definitions: Vec::new(),
        left_out: [(&EVENTS_REASON, 0), (&OTHER_KEYS_REASON, 0)],
        not_decoded: Default::default(),
    }
}

fn compare(before: &[Value], after: &[Value]) -> SpecDiff {
    super::compare([state(before), state(after)], [None, None], &Selection::default())
}

/// The differences as a person would list them.
fn told(found: &SpecDiff) -> Vec<String> {
    let tell = |difference: &super::SpecDifference| {
        let id = &difference.id;
        let numbers = difference.names.each_ref().map(Vec::len);
        let number = if difference.counts { format!(" {} → {}", numbers[0], numbers[1]) } else { String::new() };
        let fields = difference.fields.iter().map(|field| field.path.to_string()).collect::<Vec<_>>().join(" ");
        let kind = difference.kind.as_str();
        format!("{kind} {} {}/{}{number} {fields}", id.kind, id.namespace, id.naming).trim_end().to_owned()
    };
    found.differences.iter().map(tell).collect()
}

/// Five characters as the API server generates them.
fn suffix(random: &mut Random) -> String {
    let letters: Vec<char> = "bcdfghjklmnpqrstvwxz2456789".chars().collect();
    (0..5).map(|_| letters[random.below(letters.len())]).collect()
}

/// A Deployment with its ReplicaSet and pods, as controllers, scheduler and admission leave them.
fn deployment(name: &str, image: &str, replicas: usize, random: &mut Random) -> Vec<Value> {
    let hash = format!("{:x}", random.next() % 0xffff_ffff);
    let spec = |volumes: Value, mounts: Value| json!({"containers": [{"name": "main", "image": image, "volumeMounts": mounts}], "volumes": volumes});
    let uid = |random: &mut Random| format!("{:016x}", random.next());
    let meta = |name: String, owner: Option<(&str, &str)>, random: &mut Random| {
        let mut meta = json!({"name": name, "namespace": "shop", "uid": uid(random), "resourceVersion": random.below(9999).to_string(),
            "creationTimestamp": format!("2026-11-20T22:{:02}:00Z", random.below(60)), "managedFields": [{"manager": uid(random)}]});
        if let Some((kind, name)) = owner {
            meta["ownerReferences"] =
                json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid(random), "controller": true}]);
            meta["labels"] = json!({"app": "a", "pod-template-hash": hash});
        }
        meta
    };
    let labels = json!({"app": "a", "pod-template-hash": hash});
    let set = format!("{name}-{hash}");
    let mut objects = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name.to_owned(), None, random),
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": {"metadata": {"labels": {"app": "a"}}, "spec": spec(json!([]), json!([]))}},
            "status": {"observedGeneration": random.below(9)}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(set.clone(), Some(("Deployment", name)), random),
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec(json!([]), json!([]))}},
            "status": {"readyReplicas": random.below(9)}}),
    ];
    for _ in 0..replicas {
        let token = format!("kube-api-access-{}", suffix(random));
        let mut metadata = meta(format!("{set}-{}", suffix(random)), Some(("ReplicaSet", &set)), random);
        metadata["generateName"] = json!(format!("{set}-"));
        let mounts = json!([{"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]);
        let mut spec = spec(json!([{"name": token, "projected": {"sources": []}}]), mounts);
        spec["nodeName"] = json!(format!("n{}", random.below(9)));
        spec["priority"] = json!(0);
        objects.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"podIP": uid(random)}}));
    }
    objects
}

/// A state of some workloads and other objects. The same `shape` gives the same state in all that counts, whatever `noise` is.
fn cluster(shape: u64, noise: u64) -> Vec<Value> {
    let (mut shape, mut noise) = (Random(shape), Random(noise));
    let mut objects = Vec::new();
    for name in ["web", "api", "cart"] {
        if shape.below(4) > 0 {
            let (image, replicas) = (format!("image:{}", shape.below(3)), shape.below(4));
            objects.extend(deployment(name, &image, replicas, &mut noise));
        }
    }
    for name in ["settings", "flags", "limits"] {
        if shape.below(3) > 0 {
            let data = json!({"a": shape.below(3).to_string(), "b": "same"});
            objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop", "uid": noise.next().to_string()}, "data": data}));
        }
    }
    let address = format!("10.0.0.{}", noise.below(250));
    objects.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": shape.below(2).to_string()}},
        "spec": {"selector": {"app": "a"}, "clusterIP": address, "clusterIPs": [address]}}));
    objects
        .push(json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n1", "namespace": "kube-node-lease"},
        "spec": {"renewTime": noise.next().to_string()}}));
    // Listings come in the order of the keys.
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

#[test]
fn a_state_does_not_differ_from_itself() {
    for seed in 0..STATES {
        let objects = cluster(seed, 1);
        let found = compare(&objects, &objects);
        assert!(found.differences.is_empty(), "{seed}: {:?}", told(&found));
    }
}

#[test]
fn identity_times_status_and_generated_names_are_no_differences() {
    for seed in 0..STATES {
        let found = compare(&cluster(seed, 1), &cluster(seed, seed + 2));
        assert!(found.differences.is_empty(), "{seed}: {:?}", told(&found));
    }
}

#[test]
fn the_second_against_the_first_mirrors_the_first_against_the_second() {
    for seed in 0..STATES {
        let (one, other) = (cluster(seed, 1), cluster(seed + 1000, 2));
        let mut mirrored = compare(&other, &one);
        for difference in &mut mirrored.differences {
            difference.names.reverse();
            difference.kind = match difference.kind {
                ChangeKind::Added => ChangeKind::Deleted,
                ChangeKind::Deleted => ChangeKind::Added,
                ChangeKind::Modified => ChangeKind::Modified,
            };
            for field in &mut difference.fields {
                field.change = match field.change.clone() {
                    SpecChange::Added(value) => SpecChange::Removed(value),
                    SpecChange::Removed(value) => SpecChange::Added(value),
                    SpecChange::Changed(before, after) => SpecChange::Changed(after, before),
                    SpecChange::Reordered => SpecChange::Reordered,
                };
            }
        }
        let found = compare(&one, &other);
        let text = |found: &SpecDiff| {
            let mut lines: Vec<String> = Vec::new();
            for difference in &found.differences {
                let mut fields: Vec<String> = difference.fields.iter().map(|field| format!("{} {:?}", field.path, field.change)).collect();
                fields.sort();
                lines.push(format!("{:?} {:?} {:?} {} {fields:?}", difference.id, difference.kind, difference.names, difference.counts));
            }
            lines
        };
        assert_eq!(text(&found), text(&mirrored), "{seed}");
    }
}

#[test]
fn what_follows_from_an_owner_is_told_once() {
    let (mut one, mut other) = (Random(1), Random(2));
    let (before, after) = (deployment("web", "image:1", 2, &mut one), deployment("web", "image:2", 3, &mut other));
    let found = compare(&before, &after);
    assert_eq!(told(&found), ["MODIFIED Deployment shop/web spec.replicas spec.template.spec.containers[main].image"]);
    assert_eq!(told(&compare(&before, &[])), ["DELETED Deployment shop/web"]);
}

#[test]
fn pods_that_differ_from_their_template_are_told_with_their_owner() {
    let (mut one, mut other) = (Random(1), Random(2));
    let (before, mut after) = (deployment("web", "image:1", 2, &mut one), deployment("web", "image:1", 2, &mut other));
    for pod in after.iter_mut().filter(|object| object["kind"] == "Pod") {
        pod["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "proxy", "image": "proxy:1"}));
    }
    assert_eq!(told(&compare(&before, &after)), ["MODIFIED Pod shop/those of deployment/web spec.containers[proxy]"]);
    after.pop();
    let found = told(&compare(&before, &after));
    assert_eq!(found, ["MODIFIED Pod shop/those of deployment/web 2 → 1 spec.containers[proxy]"]);
}

#[test]
fn an_autoscaled_number_is_no_difference() {
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}, "maxReplicas": 9}});
    let (mut one, mut other) = (Random(1), Random(2));
    let (mut before, mut after) = (deployment("web", "image:1", 2, &mut one), deployment("web", "image:1", 3, &mut other));
    assert_eq!(told(&compare(&before, &after)), ["MODIFIED Deployment shop/web spec.replicas"]);
    before.push(scaler.clone());
    after.push(scaler);
    assert!(compare(&before, &after).differences.is_empty());
}
