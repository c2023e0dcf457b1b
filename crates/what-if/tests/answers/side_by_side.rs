//! The examples that other tools' documents give, with what they print, and what ketcd answers to the same.
//!
//! cluster-capacity: README of kubernetes-sigs/cluster-capacity, "Example output". Simulator: kubernetes-sigs/kube-scheduler-simulator,
//! `simulator/docs/api-samples/v1/pod_annotations.md`.

use std::collections::BTreeSet;

use ketcd_cluster::Options;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_scheduler::{Depth, Verdict};
use ketcd_what_if::{FitOf, Happening, WhatIfAction, WhatIfQuestion, what_if};
use serde_json::{Value, json};

use super::fixture::cluster_of;

fn node(name: &str, cpu: &str, memory: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}, "nodeInfo": {"kubeletVersion": version}}})
}

fn pod(name: &str, cpu: &str, memory: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "k8s.gcr.io/pause:3.5", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}})
}

fn list(mut items: Vec<Value>) -> String {
    items.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}));
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// "The cluster can schedule 52 instance(s) of the pod": 4 nodes of 2 CPUs and 4 GB, pods of 0.15 CPU and 100 Mi, 13 on each, then insufficient cpu.
#[tokio::test]
async fn cluster_capacitys_example() {
    let nodes = (1..=4).map(|at| node(&format!("kube-node-{at}"), "2", "4G", "v1.34.0")).collect();
    let cluster = cluster_of(list(nodes), Options::default()).await;
    let fit = Some(FitOf::Object(pod("small-pod", "150m", "100Mi")));
    let answer = what_if(&cluster, &WhatIfQuestion { fit, ..WhatIfQuestion::default() }).await.unwrap();
    let found = answer.fit.unwrap();
    assert_eq!(found.count, 52);
    assert!(found.message.unwrap().starts_with("0/4 nodes are available: 4 Insufficient cpu."));
    assert_eq!(answer.after.values().map(|load| load.pods).collect::<Vec<_>>(), [13; 4]);
}

/// A pod of 100m and 16Gi, one node: every filter passed, no node was scored, and the pod is on that node.
#[tokio::test]
async fn the_simulators_example() {
    let cluster =
        cluster_of(list(vec![node("node-pprb7", "4", "32Gi", "v1.25.0"), pod("pod-w64pz", "100m", "16Gi")]), Options::default()).await;
    let explainer = cluster.explainer(&SchedulerOptions::default()).await.unwrap();
    let explanation = explainer.with_depth(Depth::Verdicts).pod("default", "pod-w64pz").await.unwrap().explanation;
    let filters: BTreeSet<&str> = explanation.judgement.filters.iter().copied().collect();
    let shown = [
        "AzureDiskLimits",
        "EBSLimits",
        "GCEPDLimits",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeResourcesFit",
        "NodeUnschedulable",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "TaintToleration",
        "VolumeBinding",
        "VolumeRestrictions",
        "VolumeZone",
    ];
    assert_eq!(filters, BTreeSet::from(shown));
    let [judged] = &explanation.judgement.nodes[..] else { panic!("{:?}", explanation.judgement.nodes) };
    assert!(judged.verdicts.iter().all(Verdict::passes) && explanation.judgement.scores.is_none());

    let empty = cluster_of(list(vec![node("node-pprb7", "4", "32Gi", "v1.25.0")]), Options::default()).await;
    let actions = vec![WhatIfAction::Apply(vec![pod("pod-w64pz", "100m", "16Gi")])];
    let answer = what_if(&empty, &WhatIfQuestion { actions, ..WhatIfQuestion::default() }).await.unwrap();
    let placed: Vec<&str> =
        answer.events.iter().filter(|event| event.what == Happening::Scheduled).filter_map(|event| event.node.as_deref()).collect();
    assert_eq!(placed, ["node-pprb7"]);
}
