//! Questions about every node: what its loss does, and which nodes are spare.

use std::sync::Mutex;

use ketcd_cluster::{Cluster, Options};
use ketcd_what_if::{Follow, Loss, Spare, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::{at_revision, capture, cluster_of};

async fn lost(cluster: &Cluster, each: &str, threads: usize) -> Vec<Loss> {
    let question = WhatIfQuestion { each: Some(each.to_owned()), threads, ..WhatIfQuestion::default() };
    what_if(cluster, &question).await.unwrap().losses.unwrap()
}

#[tokio::test]
async fn losses_are_the_same_on_any_number_of_threads() {
    let cluster = capture("k137-whatif", at_revision(3140)).await;
    for each in ["node", "zone"] {
        let alone = lost(&cluster, each, 1).await;
        assert!(alone.len() > 2 && alone.iter().any(|loss| !loss.waiting.is_empty()), "{alone:?}");
        for threads in [2, 7] {
            assert_eq!(lost(&cluster, each, threads).await, alone, "{each}, {threads} threads");
        }
    }
}

#[tokio::test]
async fn losses_in_a_future_do_not_depend_on_each_other() {
    let cluster = capture("k137-whatif", at_revision(3140)).await;
    let future = |threads: usize| WhatIfQuestion { each: Some("node".to_owned()), threads, seeds: 1, ..WhatIfQuestion::default() };
    let alone = what_if(&cluster, &future(1)).await.unwrap().losses;
    assert_eq!(what_if(&cluster, &future(3)).await.unwrap().losses, alone);
}

/// Keeps what is reported to a follower.
#[derive(Debug, Default)]
struct Kept(Mutex<Vec<String>>);

impl Follow for Kept {
    fn begins(&self, part: &str, number: usize, all: usize) {
        self.0.lock().unwrap().push(format!("{part} {number} of {all}"));
    }

    fn decided(&self, node: &str, obstacle: Option<&str>) {
        self.0.lock().unwrap().push(format!("{node}: {}", obstacle.unwrap_or("goes")));
    }
}

/// Sixteen nodes whose pods keep apart and spread: no bound by room ends the search.
#[tokio::test]
async fn each_node_is_reported_once_it_is_decided_and_the_search_is_bounded() {
    let (cluster, kept) = (capture("k137-whatif", at_revision(4_206)).await, Kept::default());
    let question = WhatIfQuestion { spare: true, follow: Some(&kept), ..WhatIfQuestion::default() };
    let spare = what_if(&cluster, &question).await.unwrap().spare.unwrap();
    let kept = kept.0.into_inner().unwrap();
    let nodes = spare.nodes.len() + spare.others.len();
    assert_eq!(nodes, 16);
    for at in 0..nodes {
        assert_eq!(kept[2 * at], format!("node {} of {nodes}", at + 1));
        let (node, why) = kept[2 * at + 1].split_once(": ").unwrap();
        let stays = spare.others.iter().find(|(name, _)| name == node).map(|(_, why)| why.as_str());
        assert!(!spare.is_first_order || stays.unwrap_or("goes") == why, "{node}: {why}, at last {stays:?}");
    }
    assert!(kept[2 * nodes..].iter().all(|step| step.starts_with("step ") && step.ends_with(" of 5000")), "{kept:?}");
    assert!(spare.attempts < 1_000, "{} attempts", spare.attempts);
}

#[tokio::test]
async fn losses_and_futures_are_counted_as_they_begin() {
    let (cluster, kept) = (capture("k137-whatif", at_revision(3_140)).await, Kept::default());
    let question = WhatIfQuestion { each: Some("zone".to_owned()), threads: 1, seeds: 2, follow: Some(&kept), ..WhatIfQuestion::default() };
    what_if(&cluster, &question).await.unwrap();
    assert_eq!(kept.0.into_inner().unwrap(), ["future 1 of 2", "zone 1 of 3", "zone 2 of 3", "zone 3 of 3", "future 2 of 2"]);
}

fn node(name: &str, cpu: &str) -> Value {
    let room = json!({"cpu": cpu, "memory": "64Gi", "pods": "50"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3"}}})
}

/// A ReplicaSet whose pods request so much CPU, one on each of these nodes.
fn replicas(name: &str, cpu: &str, nodes: &[&str]) -> Vec<Value> {
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 1,
        "containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": cpu}}}]}});
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"replicas": nodes.len(), "selector": {"matchLabels": {"app": name}}, "template": template}});
    let pod = |(at, node): (usize, &&str)| {
        let mut pod = template.clone();
        (pod["apiVersion"], pod["kind"]) = (json!("v1"), json!("Pod"));
        pod["metadata"] = json!({"name": format!("{name}-{at}"), "namespace": "default", "uid": format!("uid-{name}-{at}"),
            "labels": {"app": name}, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": format!("uid-{name}"), "controller": true}]});
        pod["spec"]["nodeName"] = json!(node);
        pod["status"] =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}]});
        pod
    };
    std::iter::once(set.clone()).chain(nodes.iter().enumerate().map(pod)).collect()
}

async fn spare(objects: Vec<Vec<Value>>) -> Spare {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    let items: Vec<Value> = objects.into_iter().flatten().chain([namespace]).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let cluster = cluster_of(list.to_string(), Options { namespace: Some("default".to_owned()), ..Options::default() }).await;
    let spare = what_if(&cluster, &WhatIfQuestion { spare: true, ..WhatIfQuestion::default() }).await.unwrap().spare.unwrap();
    // What is said to be possible is: the drains one after the other leave nothing pending.
    let actions = spare.nodes.iter().cloned().map(WhatIfAction::Drain).collect();
    let played = what_if(&cluster, &WhatIfQuestion { actions, ..WhatIfQuestion::default() }).await.unwrap();
    assert!(played.finds_places(), "{:?}", played.events);
    spare
}

/// The emptiest node is drained first by a rule of thumb, and its large pod takes the room that two others need.
#[tokio::test]
async fn the_largest_set_is_found_where_the_emptiest_nodes_are_not_the_best() {
    let nodes = vec![node("big", "10"), node("a", "3"), node("b", "3"), node("c", "20")];
    let spare = spare(vec![
        nodes,
        replicas("large", "4", &["big"]),
        replicas("small", "2", &["a"]),
        replicas("tiny", "2", &["b"]),
        replicas("rest", "16", &["c"]),
    ])
    .await;
    assert_eq!((spare.nodes.len(), spare.is_largest, spare.most), (2, true, 2), "{spare:?}");
    assert_eq!(spare.nodes.len() + spare.others.len(), 4);
}

#[tokio::test]
async fn a_set_that_their_room_bounds_is_the_largest_without_a_search() {
    let nodes = (0..12).map(|at| node(&format!("n{at:02}"), "4")).collect();
    let names: Vec<String> = (0..12).map(|at| format!("n{at:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let spare = spare(vec![nodes, replicas("web", "1", &names)]).await;
    assert_eq!((spare.nodes.len(), spare.is_largest, spare.most), (9, true, 9), "{spare:?}");
    assert!(spare.others.iter().all(|(_, why)| why.contains("finds no place: 0/12 nodes are available")), "{:?}", spare.others);
}

/// Pods that keep apart from each other: room alone would let most nodes go, and more orders than can be tried are left.
#[tokio::test]
async fn where_not_every_order_is_tried_the_set_is_at_least_so_large() {
    let names: Vec<String> = (0..14).map(|at| format!("n{at:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let nodes = names.iter().map(|name| node(name, "32")).collect();
    let mut sets = Vec::new();
    for (at, of) in [&names[0..4], &names[4..8], &names[8..11]].iter().enumerate() {
        let mut set = replicas(&format!("apart-{at}"), "1", of);
        let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": format!("apart-{at}")}}, "topologyKey": "kubernetes.io/hostname"}]}});
        set[0]["spec"]["template"]["spec"]["affinity"] = apart.clone();
        set[1..].iter_mut().for_each(|pod| pod["spec"]["affinity"] = apart.clone());
        sets.push(set);
    }
    let spare = spare(sets.into_iter().chain([nodes]).collect()).await;
    assert_eq!((spare.nodes.len(), spare.is_largest), (10, false), "{spare:?}");
    assert!(spare.most > 10, "{spare:?}");
    assert!(spare.others.iter().all(|(_, why)| why.contains("anti-affinity")), "{:?}", spare.others);
}
