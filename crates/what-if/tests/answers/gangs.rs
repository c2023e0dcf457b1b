//! What-ifs about pods of groups: they get nodes together or wait together.

use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Options};
use ketcd_what_if::{GroupDoubt, Happening, Unmodelled, WhatIf, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::cluster_of;

const NEWEST_GATES: &str = "GenericWorkload=true";

fn node(name: &str, release: &str, cpu: &str) -> Value {
    let room = json!({"cpu": cpu, "memory": "8Gi", "pods": "20"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": release}}})
}

fn group(name: &str, least: u32) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
        "spec": {"schedulingPolicy": {"gang": {"minCount": least}}}})
}

/// A pod of one CPU in a group.
fn pod(name: &str, group: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "labels": {"app": group}},
        "spec": {"schedulingGroup": {"podGroupName": group}, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}]}})
}

/// Pods of a group, named by number.
fn pods(group: &str, count: usize) -> Vec<Value> {
    (1..=count).map(|at| pod(&format!("{group}-{at}"), group)).collect()
}

/// The pod as it runs on a node.
fn on(mut pod: Value, node: &str) -> Value {
    pod["metadata"]["uid"] = json!(format!("uid-{}", pod["metadata"]["name"].as_str().unwrap()));
    pod["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    pod["spec"]["nodeName"] = json!(node);
    pod["status"] =
        json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}]});
    pod
}

async fn cluster(objects: &[Value]) -> Cluster {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    let items: Vec<&Value> = objects.iter().chain([&namespace]).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    cluster_of(list.to_string(), Options { namespace: Some("default".to_owned()), ..Options::default() }).await
}

async fn asked(cluster: &Cluster, gates: Option<&str>, actions: Vec<WhatIfAction>) -> WhatIf {
    let scheduler = SchedulerOptions { feature_gates: gates, ..SchedulerOptions::default() };
    what_if(cluster, &WhatIfQuestion { actions, scheduler, ..WhatIfQuestion::default() }).await.unwrap()
}

async fn answer(objects: &[Value], gates: &str, actions: Vec<WhatIfAction>) -> WhatIf {
    asked(&cluster(objects).await, Some(gates), actions).await
}

/// The pods to which something happens, in order of their names.
fn names(answer: &WhatIf, what: Happening) -> Vec<&str> {
    let mut names: Vec<&str> = answer.events.iter().filter(|event| event.what == what).map(|event| &*event.pod.name).collect();
    names.sort_unstable();
    names
}

/// When pods get their nodes, in seconds.
fn bound_at(answer: &WhatIf) -> Vec<i64> {
    answer.events.iter().filter(|event| event.what == Happening::Scheduled).map(|event| event.after / 1_000).collect()
}

fn doubts(answer: &WhatIf) -> Vec<GroupDoubt> {
    let doubt = |caveat: &Unmodelled| if let Unmodelled::PodGroup { doubt, .. } = caveat { Some(*doubt) } else { None };
    answer.caveats.iter().filter_map(doubt).collect()
}

fn waiting(answer: &WhatIf) -> Vec<(&str, &str)> {
    answer.waiting.iter().map(|(pod, message)| (&*pod.name, message.as_deref().unwrap_or_default())).collect()
}

#[tokio::test]
async fn a_gang_gets_its_nodes_together_or_none() {
    let nodes = [node("n1", "v1.37.2", "2"), node("n2", "v1.37.2", "2")];
    let with = |least: u32| [nodes.to_vec(), vec![group("g", least)]].concat();
    let fits = answer(&with(4), NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 4))]).await;
    assert_eq!((names(&fits, Happening::Scheduled).len(), bound_at(&fits)), (4, vec![0; 4]));
    assert!(fits.finds_places() && doubts(&fits).is_empty(), "{fits:?}");

    let waits = answer(&with(5), NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 5))]).await;
    assert_eq!((names(&waits, Happening::Scheduled).len(), waits.waiting.len()), (0, 5));
    let short = "pod group is unschedulable, minCount (5) cannot be satisfied: 4 scheduled, 0 remaining";
    assert!(waiting(&waits)[0].1.starts_with(short), "{:?}", waiting(&waits));
    assert!(waiting(&waits)[4].1.starts_with("0/2 nodes are available: 2 Insufficient cpu."), "{:?}", waiting(&waits));

    let add = WhatIfAction::AddLike { count: 1, node: "n1".to_owned() };
    let helped = answer(&with(5), NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 5)), add]).await;
    assert_eq!((names(&helped, Happening::Scheduled).len(), helped.waiting.len()), (5, 0));
}

#[tokio::test]
async fn pods_beyond_the_least_are_tried_after_the_gang_was_bound() {
    let objects = [node("n1", "v1.37.2", "3"), group("g", 2)];
    let answer = answer(&objects, NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 4))]).await;
    assert_eq!(names(&answer, Happening::Scheduled), ["g-1", "g-2", "g-3"]);
    assert_eq!(waiting(&answer).len(), 1);
    assert!(waiting(&answer)[0].1.starts_with("0/1 nodes are available: 1 Insufficient cpu."), "{:?}", waiting(&answer));
}

#[tokio::test]
async fn a_gang_that_lacks_pods_or_its_group_stays_out_of_the_queue_until_they_come() {
    let nodes = [node("n1", "v1.37.2", "4")];
    let with = [&nodes[..], &[group("g", 3)]].concat();
    let short = answer(&with, NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 2))]).await;
    assert_eq!(waiting(&short), ["g-1", "g-2"].map(|pod| (pod, "waiting for minCount pods from a gang to appear in scheduling queue")));
    let last = vec![WhatIfAction::Apply(pods("g", 2)), WhatIfAction::Apply(vec![pod("g-3", "g")])];
    assert_eq!(names(&answer(&with, NEWEST_GATES, last).await, Happening::Scheduled), ["g-1", "g-2", "g-3"]);

    let alone = answer(&nodes, NEWEST_GATES, vec![WhatIfAction::Apply(pods("g", 3))]).await;
    assert_eq!(waiting(&alone)[0].1, "waiting for pods's pod group \"g\" to appear in scheduling queue");
    let then = vec![WhatIfAction::Apply(pods("g", 3)), WhatIfAction::Apply(vec![group("g", 3)])];
    assert_eq!(names(&answer(&nodes, NEWEST_GATES, then).await, Happening::Scheduled), ["g-1", "g-2", "g-3"]);
}

/// A Job of three pods on three nodes, of which the controller made a gang.
fn job_with_gang() -> Vec<Value> {
    let template = json!({"metadata": {"labels": {"app": "j"}}, "spec": {"terminationGracePeriodSeconds": 1, "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default", "uid": "uid-job"},
        "spec": {"parallelism": 3, "selector": {"matchLabels": {"app": "j"}}, "template": template,
            "scheduling": {"schedulingPolicy": {"gang": {}}}},
        "status": {"active": 3, "startTime": "2026-01-01T00:00:00Z"}});
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-job", "controller": true});
    let mut gang = group("j", 3);
    gang["metadata"]["ownerReferences"] = json!([owner]);
    let mut objects = vec![job, gang];
    for at in 1..=3 {
        let name = format!("n{at}");
        objects.push(node(&name, "v1.37.2", "1"));
        let mut pod = on(pod(&format!("j-{at}"), "j"), &name);
        pod["metadata"]["ownerReferences"] = json!([owner]);
        objects.push(pod);
    }
    objects
}

#[tokio::test]
async fn a_jobs_new_pods_join_its_group() {
    let mut objects = job_with_gang();
    let alone = answer(&objects, NEWEST_GATES, vec![WhatIfAction::Drain("n1".to_owned())]).await;
    assert_eq!((names(&alone, Happening::Evicted), names(&alone, Happening::Scheduled).len()), (vec!["j-1"], 0));
    objects.push(node("n4", "v1.37.2", "1"));
    let replaced = answer(&objects, NEWEST_GATES, vec![WhatIfAction::Drain("n1".to_owned())]).await;
    assert_eq!(names(&replaced, Happening::Scheduled).len(), 1, "{:?}", replaced.events);
    // Two more make a gang of five, of which four fit.
    let scale = WhatIfAction::Scale { address: "job/default/j".to_owned(), replicas: 5 };
    let scaled = answer(&objects, NEWEST_GATES, vec![scale]).await;
    assert_eq!((names(&scaled, Happening::Created).len(), names(&scaled, Happening::Scheduled).len()), (2, 0), "{:?}", scaled.events);
    assert!(waiting(&scaled)[0].1.contains("minCount (5)") || waiting(&scaled)[1].1.contains("minCount (5)"), "{:?}", waiting(&scaled));
}

#[tokio::test]
async fn a_gang_makes_room_for_itself_only_if_all_of_it_fits_then() {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000});
    let mut gang = group("g", 2);
    (gang["spec"]["priorityClassName"], gang["spec"]["priority"]) = (json!("high"), json!(1000));
    let single = |name: &str, on_node: &str| {
        let mut single = on(pod(name, ""), on_node);
        single["spec"].as_object_mut().unwrap().remove("schedulingGroup");
        single["spec"]["priority"] = json!(0);
        single
    };
    let urgent = |count: usize| {
        let mut pods = pods("g", count);
        pods.iter_mut().for_each(|pod| pod["spec"]["priorityClassName"] = json!("high"));
        vec![WhatIfAction::Apply(pods)]
    };
    let objects = [node("n1", "v1.37.2", "1"), node("n2", "v1.37.2", "1"), single("a", "n1"), single("b", "n2"), class, gang.clone()];
    let room = answer(&objects, NEWEST_GATES, urgent(2)).await;
    assert_eq!((names(&room, Happening::Preempted), names(&room, Happening::Scheduled)), (vec!["a", "b"], vec!["g-1", "g-2"]));
    let mut larger = objects.to_vec();
    gang["spec"]["schedulingPolicy"]["gang"]["minCount"] = json!(3);
    *larger.last_mut().unwrap() = gang;
    let none = answer(&larger, NEWEST_GATES, urgent(3)).await;
    assert_eq!((names(&none, Happening::Preempted).len(), names(&none, Happening::Scheduled).len()), (0, 0), "{:?}", none.events);
}

#[tokio::test]
async fn in_release_1_35_pods_wait_on_their_nodes_for_the_others_and_give_up_after_five_minutes() {
    let workload = |least: u32| {
        json!({"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w", "namespace": "default"},
            "spec": {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": least}}}]}})
    };
    let members = |count: usize| {
        let mut pods = pods("g", count);
        for pod in &mut pods {
            pod["spec"].as_object_mut().unwrap().remove("schedulingGroup");
            pod["spec"]["workloadRef"] = json!({"name": "w", "podGroup": "g"});
        }
        vec![WhatIfAction::Apply(pods)]
    };
    let gates = "GenericWorkload=true,GangScheduling=true";
    let objects = [node("n1", "v1.35.0", "1"), node("n2", "v1.35.0", "1"), workload(2)];
    let fits = answer(&objects, gates, members(2)).await;
    assert_eq!((names(&fits, Happening::Scheduled), bound_at(&fits)), (vec!["g-1", "g-2"], vec![0, 0]));

    let objects = [node("n1", "v1.35.0", "1"), node("n2", "v1.35.0", "1"), workload(3)];
    let waits = answer(&objects, gates, members(3)).await;
    assert_eq!((names(&waits, Happening::Scheduled).len(), waits.waiting.len()), (0, 3), "{:?}", waits.events);
    let gave_up = "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.";
    let events = waits.events.iter().filter(|event| event.message.as_deref() == Some(gave_up));
    assert_eq!(events.map(|event| event.after / 1_000).collect::<Vec<_>>(), [300, 300], "{:?}", waits.events);
    assert!(waits.after["n1"].pods == 0 && waits.after["n2"].pods == 0);
}

#[tokio::test]
async fn without_the_gate_pods_of_a_group_are_tried_one_by_one_and_that_is_said() {
    let objects = [node("n1", "v1.37.2", "2"), group("g", 3)];
    let answer = asked(&cluster(&objects).await, None, vec![WhatIfAction::Apply(pods("g", 3))]).await;
    assert_eq!((names(&answer, Happening::Scheduled).len(), doubts(&answer)), (2, vec![GroupDoubt::GateOff]));
}
