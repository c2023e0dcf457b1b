//! What is chance in a what-if: futures differ in it, and what is settled without a rule is named.

use ketcd_what_if::{Happening, Unmodelled, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::controllers::{cluster, namespace, node, running, story, workload};
use super::fixture::{at_revision, capture};

async fn played(objects: &[Value], applied: Vec<Value>, seeds: u64) -> WhatIf {
    let question = WhatIfQuestion { actions: vec![WhatIfAction::Apply(applied)], seeds, ..WhatIfQuestion::default() };
    what_if(&cluster(objects).await, &question).await.unwrap()
}

/// Controllers and the scheduler are processes of their own.
#[tokio::test]
async fn in_a_future_pods_of_several_controllers_are_made_in_turns_while_others_are_scheduled() {
    let sets = || ["one", "two"].map(|name| workload("apps/v1", "ReplicaSet", name, &json!({"replicas": 8}))).to_vec();
    let objects = [node("n1", "a", "9"), node("n2", "a", "9"), namespace()];
    let made = |answer: &WhatIf| {
        let created = answer.events.iter().filter(|event| event.what == Happening::Created);
        created.map(|event| event.pod.owner.clone().unwrap()).collect::<Vec<_>>()
    };
    let changes = |owners: &[String]| owners.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let plain = played(&objects, sets(), 0).await;
    assert_eq!((made(&plain).len(), changes(&made(&plain))), (16, 1), "{:?}", story(&plain));
    let future = played(&objects, sets(), 1).await;
    assert_eq!(made(&future).len(), 16);
    assert!(changes(&made(&future)) > 2, "{:?}", story(&future));
    let place = |what: Happening| future.events.iter().position(|event| event.what == what).unwrap();
    let last_made = future.events.iter().rposition(|event| event.what == Happening::Created).unwrap();
    assert!(place(Happening::Scheduled) < last_made, "{:?}", story(&future));
}

/// An experiment of the recorded cluster: which node each replacement really got.
#[tokio::test]
async fn futures_of_a_taint_that_evicts_differ_and_what_really_happened_is_among_them() {
    let cluster = capture("k136-whatif", at_revision(5_513)).await;
    let actions = vec![WhatIfAction::taint("n2=lab/broken:NoExecute").unwrap()];
    let answer = what_if(&cluster, &WhatIfQuestion { actions, seeds: 20, ..WhatIfQuestion::default() }).await.unwrap();
    let futures = answer.futures.unwrap();
    let nodes = |owner: &str| &futures.workloads.iter().find(|future| future.owner == owner).unwrap().nodes;
    let really = [("roll", "n6"), ("api", "n3"), ("lim", "n3"), ("bulk", "n6"), ("quota", "n5"), ("wide", "n3"), ("par", "n5")];
    for (owner, node) in really {
        assert!(nodes(owner).contains_key(node), "{owner} to {node}: {futures:?}");
    }
    assert!(really.iter().any(|(owner, _)| nodes(owner).values().all(|count| *count < futures.count)), "{futures:?}");
}

/// A node of release 1.37, whose scheduler names the node on which it makes room.
fn full(name: &str) -> Vec<Value> {
    let mut node = node(name, "a", "1");
    node["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.37.0");
    let mut pod = running(&format!("low-{name}"), name, "1", None);
    pod["status"]["startTime"] = json!("2026-01-01T00:00:01Z");
    vec![node, pod]
}

/// A pod of a high priority.
fn urgent(name: &str, cpu: &str) -> Value {
    let mut pod = running(name, "", cpu, None);
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod["spec"]["priorityClassName"] = json!("high");
    pod.as_object_mut().unwrap().remove("status");
    pod
}

fn high() -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1_000})
}

#[tokio::test]
async fn equal_nodes_for_preemption_are_named_and_the_message_names_the_one_that_is_taken() {
    let mut others_taken = 0;
    for (count, seeds) in (2..=7).flat_map(|count| [(count, 0), (count, 1)]) {
        let names: Vec<String> = (1..=count).map(|at| format!("n{at}")).collect();
        let mut objects: Vec<Value> = names.iter().flat_map(|name| full(name)).collect();
        objects.extend([namespace(), high()]);
        let answer = played(&objects, vec![urgent("now", "1")], seeds).await;
        let of = |what: Happening| answer.events.iter().filter(|event| event.what == what).collect::<Vec<_>>();
        let ([victim], [refused, ..]) = (&of(Happening::Preempted)[..], &of(Happening::Unschedulable)[..]) else {
            panic!("{:?}", story(&answer))
        };
        let node = victim.node.clone().unwrap();
        assert!(refused.message.as_deref().unwrap().contains(&format!("on node {node}, preempting 1 victims")), "{refused:?}");
        let tied: Vec<String> = names.iter().filter(|name| **name != node).cloned().collect();
        assert_eq!(victim.tied_with, tied);
        let nodes = [std::slice::from_ref(&node), &tied[..]].concat();
        assert!(answer.caveats.contains(&Unmodelled::PreemptionNode { pod: "default/now".to_owned(), nodes }), "{:?}", answer.caveats);
        assert!(seeds > 0 || node == "n1", "without a seed the first is taken");
        others_taken += usize::from(node != "n1");
    }
    assert!(others_taken > 0, "a seed takes others");
}

#[tokio::test]
async fn a_victim_of_two_pods_counts_once() {
    let mut objects = full("n1");
    objects[0]["status"]["allocatable"]["cpu"] = json!("2");
    objects[1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("2");
    objects.extend([namespace(), high()]);
    let answer = played(&objects, vec![urgent("one", "1"), urgent("two", "1")], 0).await;
    assert_eq!((answer.count(Happening::Preempted), answer.count(Happening::Scheduled)), (1, 2), "{:?}", story(&answer));
}

#[tokio::test]
async fn equal_victims_on_one_node_are_named() {
    let mut objects = full("n1");
    objects[0]["status"]["allocatable"]["cpu"] = json!("2");
    objects.push(full("n1")[1].clone());
    objects[2]["metadata"]["name"] = json!("low-other");
    objects[2]["metadata"]["uid"] = json!("uid-low-other");
    objects.extend([namespace(), high()]);
    let answer = played(&objects, vec![urgent("now", "1")], 0).await;
    let equal = Unmodelled::Victims { pod: "default/now".to_owned(), node: "n1".to_owned() };
    assert!(answer.count(Happening::Preempted) == 1 && answer.caveats.contains(&equal), "{:?}", answer.caveats);
}
