//! What the schedulers of 1.9 to 1.17 say of small clusters, release by release: messages, errors, order, candidates.

mod affinity;
mod cluster;
mod volumes;

use serde_json::{Value, json};

use cluster::{Cluster, asking, fitting, node, placed, pod, three, with};

#[test]
fn a_request_no_node_can_hold() {
    for release in 9..=17 {
        assert_eq!(Cluster::new(three()).message(release, &asking("100")), "0/3 nodes are available: 3 Insufficient cpu.", "1.{release}");
    }
    assert_eq!(Cluster::new([]).message(16, &asking("1")), "no nodes available to schedule pods");
}

/// 1.9 runs all predicates and counts every reason; 1.10 to 1.16 stop at the first predicate, whose reasons all count; 1.17 gives one.
#[test]
fn how_far_a_node_is_looked_at() {
    let tainted = with(node("n1"), "/spec", json!({"taints": [{"key": "a", "effect": "NoSchedule"}]}));
    let cluster = Cluster::new([tainted]);
    let pod = pod(
        json!({"nodeSelector": {"disk": "ssd"}, "containers": [{"name": "c", "resources": {"requests": {"cpu": "9", "memory": "9Gi"}}}]}),
    );
    let start = "0/1 nodes are available:";
    assert_eq!(
        cluster.message(9, &pod),
        format!("{start} 1 Insufficient cpu, 1 Insufficient memory, 1 MatchNodeSelector, 1 PodToleratesNodeTaints.")
    );
    let general = format!("{start} 1 Insufficient cpu, 1 Insufficient memory, 1 node(s) didn't match node selector.");
    for release in 10..=16 {
        assert_eq!(cluster.message(release, &pod), general, "1.{release}");
    }
    assert_eq!(cluster.message(17, &pod), format!("{start} 1 Insufficient cpu."));
}

#[test]
fn a_term_with_fields_only_matches_nothing_before_1_11() {
    let cluster = Cluster::new(three());
    let daemon = pod(json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]}}}}));
    for release in 9..=17 {
        let want: &[&str] = if release <= 10 { &[] } else { &["n2"] };
        assert_eq!(fitting(&cluster.evaluate(release, &daemon)), want, "1.{release}");
    }
}

/// A cordoned node: by its conditions up to 1.11, by CheckNodeUnschedulable from 1.12 on, which a toleration passes.
#[test]
fn legacy_attempts_refuse_cordoned_nodes() {
    let cordoned = with(node("n1"), "/spec", json!({"unschedulable": true}));
    let cluster = Cluster::new([cordoned]);
    let tolerant = pod(json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]}));
    for release in 9..=17 {
        let text = if release == 9 { "NodeUnschedulable" } else { "node(s) were unschedulable" };
        assert_eq!(cluster.message(release, &asking("1")), format!("0/1 nodes are available: 1 {text}."), "1.{release}");
        assert_eq!(fitting(&cluster.evaluate(release, &tolerant)).len(), usize::from(release >= 12), "1.{release}");
    }
}

#[test]
fn conditions_keep_pods_away_up_to_1_11_unless_a_gate_says_so() {
    let conditions = json!([{"type": "Ready", "status": "Unknown"}, {"type": "NetworkUnavailable", "status": "True"}, {"type": "OutOfDisk", "status": "Unknown"}]);
    let objects = [with(node("n1"), "/status/conditions", conditions)];
    let text = |parts: &[&str]| format!("0/1 nodes are available: {}.", parts.join(", "));
    let cluster = Cluster::new(objects.clone());
    assert_eq!(cluster.message(9, &asking("1")), text(&["1 NodeNetworkUnavailable", "1 NodeNotReady", "1 NodeOutOfDisk"]));
    let long = ["1 node(s) had unavailable network", "1 node(s) were not ready", "1 node(s) were out of disk space"];
    assert_eq!(cluster.message(11, &asking("1")), text(&long));
    assert_eq!(fitting(&cluster.evaluate(12, &asking("1"))), ["n1"]);
    let cluster = Cluster { gates: "TaintNodesByCondition=false", ..Cluster::new(objects) };
    assert_eq!(cluster.message(13, &asking("1")), text(&long));
    assert_eq!(cluster.message(14, &asking("1")), text(&long[..2]), "1.14 no longer knows OutOfDisk");
    assert_eq!(cluster.message(16, &asking("1")), text(&long[..2]));
}

/// Only pods without requests and limits mind memory pressure; from 1.16 on init containers count.
#[test]
fn memory_pressure_and_best_effort() {
    let pressed = with(node("n1"), "/status/conditions", json!([{"type": "MemoryPressure", "status": "True"}]));
    let init = pod(json!({"initContainers": [{"name": "i", "resources": {"limits": {"cpu": "1"}}}]}));
    let cluster = Cluster { gates: "TaintNodesByCondition=false", ..Cluster::new([pressed]) };
    for release in 9..=16 {
        assert_eq!(fitting(&cluster.evaluate(release, &asking("1"))), ["n1"], "1.{release}");
        assert!(fitting(&cluster.evaluate(release, &pod(json!({})))).is_empty(), "1.{release}");
        assert_eq!(fitting(&cluster.evaluate(release, &init)).len(), usize::from(release >= 16), "1.{release}");
    }
}

/// Init containers of pods on the node count from 1.16 on.
#[test]
fn what_pods_on_a_node_take() {
    let existing = json!({"kind": "Pod", "metadata": {"name": "old", "namespace": "default"}, "spec": {"nodeName": "n1",
        "containers": [{"name": "c"}], "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "4"}}}]}});
    let cluster = Cluster::new([node("n1"), existing]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.evaluate(release, &asking("1"))).len(), usize::from(release <= 15), "1.{release}");
    }
}

/// Pods nominated to a node count from the release on that knows priorities.
#[test]
fn nominated_pods_count_from_1_11_on() {
    let nominated = json!({"kind": "Pod", "metadata": {"name": "first", "namespace": "default"}, "status": {"nominatedNodeName": "n1"},
        "spec": {"priority": 5, "containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}});
    let cluster = Cluster::new([node("n1"), nominated]);
    for release in 9..=17 {
        assert_eq!(fitting(&cluster.evaluate(release, &asking("1"))).len(), usize::from(release <= 10), "1.{release}");
    }
}

/// Whether taking lower pods away is tried on a node depends on what was wrong with it.
#[test]
fn preemption_looks_at_nodes_it_can_help() {
    let labels = json!({"app": "other"});
    let lower = placed("old", "n1", labels, json!({}));
    let lower = with(lower, "/spec/containers", json!([{"name": "c", "resources": {"requests": {"cpu": "4"}}}]));
    let wanting = |spec: Value| with(pod(spec), "/spec/priority", json!(10));
    let cpu = json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}]);
    let cluster = Cluster::new([node("n1"), lower]);
    let helps = |release, pod: &Value| cluster.evaluate(release, pod).preemption_helps;
    for release in 11..=17 {
        assert!(helps(release, &wanting(json!({"containers": cpu}))), "1.{release}");
        assert!(!helps(release, &wanting(json!({"containers": cpu, "nodeSelector": {"disk": "ssd"}}))), "1.{release}");
    }
    assert!(!helps(10, &wanting(json!({"containers": cpu}))), "priorities are off by default up to 1.10");
}
