//! Explanations in clusters where something is wrong: a clear message each time, and the rest evaluated.

use ketcd_cluster::Error;
use ketcd_cluster::replay::{ConfigurationFile, SchedulerOptions};
use serde_json::json;

use crate::explain::{Explained, How, explained};
use crate::fixture::cluster_of;

const CLUSTER_YAML: &str = r#"
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, nodeInfo: {kubeletVersion: v1.34.1}}
---
apiVersion: v1
kind: Node
metadata: {name: bare}
---
apiVersion: v1
kind: Node
metadata: {name: odd}
status: {allocatable: {cpu: "four", memory: 8Gi, pods: "10"}}
"#;

/// Explains the pod of this spec in the cluster, with more in it.
async fn explain(spec: &str, more: &str, how: How<'_>) -> Result<Explained, Error> {
    let pod = format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, uid: u}}\nspec: {spec}\n");
    explained(&cluster_of(&format!("{CLUSTER_YAML}{pod}{more}")).await, "default/p", how).await
}

/// What people read of it.
async fn text(spec: &str, more: &str, how: How<'_>) -> String {
    explain(spec, more, how).await.unwrap().text
}

fn at(release: &str) -> How<'_> {
    How { scheduler: SchedulerOptions { version: Some(release), ..SchedulerOptions::default() }, ..How::default() }
}

fn on(node: &str) -> How<'_> {
    How { node: Some(node), ..How::default() }
}

#[tokio::test]
async fn quantities_that_do_not_parse_count_as_absent() {
    let printed = text("{containers: [{name: c, resources: {requests: {cpu: '1', memory: lots}}}]}", "", How::default()).await;
    assert!(printed.contains(r#"container c resources.requests.memory: "lots" is not a valid quantity; counted as absent"#), "{printed}");
    assert!(printed.contains(r#"nodes/odd: status.allocatable.cpu: "four" is not a valid quantity; counted as absent"#), "{printed}");
    assert!(printed.contains("n1 alone of 3 nodes fits"), "{printed}");
    let place = |text: &str| printed.find(text).unwrap();
    assert!(place("pods/default/p: container c") < place("nodes/bare"), "what is wrong with the pod itself comes first: {printed}");
}

#[tokio::test]
async fn a_node_without_status_offers_nothing() {
    let printed = text("{containers: [{name: c}]}", "", How::default()).await;
    assert!(printed.contains("nodes/bare: it has no status.allocatable, so it offers nothing"), "{printed}");
    assert!(printed.contains("2 of 3 nodes fit") && printed.contains("Too many pods"), "{printed}");
}

#[tokio::test]
async fn claims_that_point_nowhere() {
    let spec = "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}]}";
    let printed = text(spec, "", How::default()).await;
    assert!(printed.contains(r#"0/3 nodes are available: persistentvolumeclaim "gone" not found. not found"#), "{printed}");
    assert!(printed.contains("create PersistentVolumeClaim gone and a volume for it"), "{printed}");
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: gone, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {volumeName: nowhere}\n";
    let printed = text(spec, claim, How::default()).await;
    assert!(printed.contains(r#"0/3 nodes are available: persistentvolume "nowhere" not found. not found"#), "{printed}");
    assert!(printed.contains("restore PersistentVolume nowhere, to which claim gone is bound"), "{printed}");
}

#[tokio::test]
async fn a_plugin_that_is_not_known_is_named_and_the_others_run() {
    let configuration = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {filter: {enabled: [{name: Homemade}]}}}]\n";
    let file = ConfigurationFile { name: "config.yaml".to_owned(), text: configuration };
    let how = How { scheduler: SchedulerOptions { configuration: Some(file), ..SchedulerOptions::default() }, ..How::default() };
    let printed = text("{containers: [{name: c, resources: {requests: {cpu: '5'}}}]}", "", how).await;
    assert!(printed.contains("The plugin Homemade is not in-tree"), "{printed}");
    assert!(printed.contains("Insufficient cpu"), "{printed}");
}

#[tokio::test]
async fn of_a_config_map_the_configuration_in_it_is_used() {
    let configuration = |plugin: &str| {
        format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{{plugins: {{filter: {{enabled: [{{name: {plugin}}}]}}}}}}]\n"
        )
    };
    let by = async |data: serde_json::Value| {
        let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scheduler"}, "data": data}).to_string();
        let file = ConfigurationFile { name: "map.json".to_owned(), text: &text };
        let scheduler = SchedulerOptions { configuration: Some(file), ..SchedulerOptions::default() };
        explain("{containers: [{name: c}]}", "", How { scheduler, ..How::default() }).await.map(|explained| explained.text)
    };
    let printed = by(json!({"config.yaml": configuration("Homemade"), "README": "of the scheduler"})).await.unwrap();
    assert!(printed.contains("The plugin Homemade is not in-tree"), "{printed}");
    let error = by(json!({"a.yaml": configuration("One"), "b.yaml": configuration("Other")})).await.unwrap_err();
    let wanted = "map.json is a ConfigMap with several configurations: a.yaml, b.yaml";
    assert!(matches!(&error, Error::Invalid { problem, .. } if problem == wanted), "{error:?}");
}

#[tokio::test]
async fn versions_that_are_not_known() {
    let printed = text("{containers: [{name: c}]}", "", at("1.99")).await;
    assert!(printed.contains("the rules of 1.37 are applied to 1.99, whose own rules ketcd does not know"), "{printed}");
    for version in ["1.5", "banana"] {
        let error = explain("{containers: [{name: c}]}", "", at(version)).await.err().unwrap();
        assert!(matches!(&error, Error::Invalid { problem, .. } if problem.contains("expected one from 1.9")), "{error:?}");
    }
}

#[tokio::test]
async fn a_scheduler_that_is_not_known_is_a_hypothesis() {
    let printed = text("{schedulerName: other, containers: [{name: c}]}", "", How::default()).await;
    assert!(
        printed.contains(
            r#"the pod's schedulerName is "other", whose profile is not known: that of default-scheduler is applied as a hypothesis"#
        ),
        "{printed}"
    );
}

#[tokio::test]
async fn a_node_in_depth_shows_what_was_compared() {
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 3200m}}}]}\n";
    let printed = text("{containers: [{name: c, resources: {requests: {cpu: '1'}}}]}", running, on("n1")).await;
    assert!(printed.contains("n1 does not fit: NodeResourcesFit refuses"), "{printed}");
    assert!(printed.contains("cpu: 1 asked, 800m free; 3.2 of 4 taken (by default/q 3.2)"), "{printed}");
    for passed in ["✓ NodeUnschedulable", "it is not cordoned", "it has no NoSchedule or NoExecute taint", "pods: 1 of 10 there"] {
        assert!(printed.contains(passed), "{passed}: {printed}");
    }
    assert!(printed.contains("skipped, as the pod has nothing they check: NodeAffinity, NodePorts"), "{printed}");
}

#[tokio::test]
async fn what_a_spread_and_a_limit_count() {
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: one}}]}\n";
    let volume = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{csi: {{driver: csi.example.com, volumeHandle: {name}}}}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: default, annotations: {{pv.kubernetes.io/bind-completed: 'yes'}}}}\nspec: {{volumeName: {name}}}\n"
        )
    };
    let node = "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: csi.example.com, nodeID: n1, allocatable: {count: 1}}]}\n";
    let objects = [running, &volume("one"), &volume("two"), node].concat();
    let spec = "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: two}}], topologySpreadConstraints: [{maxSkew: 5, topologyKey: kubernetes.io/os, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}]}";
    let printed = text(spec, &objects, on("n1")).await;
    assert!(
        printed.contains("node(s) exceed max volume count") && printed.contains("csi.example.com: 1 attached, 1 more asked (two), limit 1"),
        "{printed}"
    );
    assert!(printed.contains("it has no label kubernetes.io/os"), "{printed}");
}

/// 1.22 to 1.24 share a count between nodes and their copies.
#[tokio::test]
async fn a_claim_for_one_pod_that_may_be_miscounted_is_a_caveat() {
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\n\
                 spec: {accessModes: [ReadWriteOncePod], volumeName: v}\n";
    let user = |more: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: other, namespace: default, uid: o}}\nspec: {{containers: [{{name: c}}], {VOLUMES_YAML}{more}\n"
        )
    };
    const VOLUMES_YAML: &str = "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]";
    let spec = format!("{{containers: [{{name: c}}], {VOLUMES_YAML}}}");
    let at = |release: &'static str| {
        let scheduler =
            SchedulerOptions { version: Some(release), feature_gates: Some("ReadWriteOncePod=true"), ..SchedulerOptions::default() };
        How { scheduler, ..How::default() }
    };
    let running = format!("{claim}{}", user(", nodeName: n1}"));
    let forgotten = "1.23 no longer counts claim data as used after it tried preemption on its user's node: the filter may have passed";
    assert!(text(&spec, &running, at("1.23")).await.contains(forgotten));
    assert!(!text(&spec, &running, at("1.25")).await.contains("no longer counts claim"));
    let nominated = format!("{claim}{}", user("}\nstatus: {nominatedNodeName: n1}"));
    let taken = "1.24 may count claim data as used, because a pod that uses it was nominated to a node: the filter may have refused";
    assert!(text(&spec, &nominated, at("1.24")).await.contains(taken));
}

#[tokio::test]
async fn a_tree_of_groups_is_printed_from_the_top() {
    let group = |kind: &str, version: &str, name: &str, spec: &str| {
        format!(
            "---\napiVersion: scheduling.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: default}}\nspec: {spec}\n"
        )
    };
    let tree = [
        group("CompositePodGroup", "v1alpha3", "train", "{schedulingPolicy: {gang: {minGroupCount: 2}}}"),
        group("PodGroup", "v1beta1", "drivers", "{schedulingPolicy: {basic: {}}, parentCompositePodGroupName: train}"),
        group("PodGroup", "v1beta1", "workers", "{schedulingPolicy: {gang: {minCount: 1}}, parentCompositePodGroupName: train}"),
    ];
    let mate = |cpu: u32| {
        let spec =
            format!("{{schedulingGroup: {{podGroupName: workers}}, containers: [{{name: c, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}");
        format!("{}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: mate, namespace: default, uid: m}}\nspec: {spec}\n", tree.concat())
    };
    let gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true";
    let own = "{schedulingGroup: {podGroupName: drivers}, containers: [{name: c, resources: {requests: {cpu: '2'}}}]}";
    let scheduler = SchedulerOptions { version: Some("1.37"), feature_gates: Some(gates), ..SchedulerOptions::default() };
    let run = async |cpu: u32| text(own, &mate(cpu), How { scheduler: scheduler.clone(), ..How::default() }).await;
    let printed = run(2).await;
    assert!(printed.contains("group drivers, 1 pod tried together: fits"), "{printed}");
    assert!(printed.contains("part of train, 2 of 2 groups fit, 2 wanted: it fits"), "{printed}");
    let printed = run(3).await;
    assert!(printed.contains("group drivers, 1 pod tried together: does not fit"), "{printed}");
    assert!(printed.contains("part of train, 1 of 2 groups fits, 2 wanted: it does not fit"), "{printed}");
    assert!(printed.contains("cannot be satisfied: 1 scheduled"), "{printed}");
}

#[tokio::test]
async fn static_pods_and_pods_created_with_their_node_were_placed_by_no_scheduler() {
    let pod = |name: &str, more: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default, uid: {name}{more}}}\nspec: {{nodeName: n1, containers: [{{name: c}}]}}\n"
        )
    };
    let cluster =
        cluster_of(&[CLUSTER_YAML, &pod("etcd", ", annotations: {kubernetes.io/config.mirror: h}"), &pod("placed", "")].concat()).await;
    let mirrored = explained(&cluster, "default/etcd", How::default()).await.unwrap();
    let first: Vec<&str> = mirrored.text.lines().next().unwrap().split("  ").filter(|part| !part.is_empty()).collect();
    assert_eq!(first.join("|"), "default/etcd → n1| a static pod: no scheduler decided");
    assert!(mirrored.text.contains("its kubelet runs it and no scheduler decided"), "{}", mirrored.text);
    assert_eq!(mirrored.document["attempt"]["decidedBy"], "Kubelet");
    let placed = explained(&cluster, "default/placed", How::default()).await.unwrap();
    assert_eq!(placed.document["attempt"]["decidedBy"], "Unreadable");
}

/// Where nothing shows who bound a pod, nobody is said to have.
#[tokio::test]
async fn who_bound_a_pod_is_not_printed_where_nothing_shows_it() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: x, uid: '1'}\n\
               spec: {nodeName: n1, schedulerName: default-scheduler, containers: [{name: c, image: i}]}\n";
    let printed = explained(&cluster_of(&[CLUSTER_YAML, pod].concat()).await, "x/q", How::default()).await.unwrap().text;
    assert!(printed.contains("x/q → n1") && !printed.contains("no scheduler decided"), "{printed}");
}

/// A pod with a label, and the nodes that these lines describe.
async fn words_on(nodes: &[&str], spec: &str, more: &str) -> String {
    let node = |rest: &&str| {
        format!(
            "---\napiVersion: v1\nkind: Node\nstatus: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '10'}}, nodeInfo: {{kubeletVersion: v1.34.1}}}}\n{rest}\n"
        )
    };
    let pod =
        format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, uid: u, labels: {{app: a}}}}\nspec: {spec}\n");
    let objects = nodes.iter().map(node).chain([pod, more.to_owned()]).collect::<String>();
    let text = explained(&cluster_of(&objects).await, "default/p", How::default()).await.unwrap().text;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A host that only its taint keeps empty counts in a spread; that the spread may leave it out comes before weaker spreads.
#[tokio::test]
async fn a_spread_that_counts_tainted_nodes_may_honor_the_taints() {
    let nodes = [
        "metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}",
        "metadata: {name: cp, labels: {kubernetes.io/hostname: cp}}\nspec: {taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]}",
    ];
    let spec = "{containers: [{name: c}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}]}";
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c}]}\n";
    let printed = words_on(&nodes, spec, running).await;
    let (honor, raise) = (
        "set nodeTaintsPolicy: Honor on the spread over kubernetes.io/hostname → n1",
        "raise maxSkew of the spread over kubernetes.io/hostname to 2 → n1",
    );
    let place = |text: &str| printed.find(text).unwrap_or_else(|| panic!("no {text}: {printed}"));
    assert!(place("what would help") < place(honor) && place(honor) < place(raise), "{printed}");
}

#[tokio::test]
async fn a_node_that_is_not_initialised_waits_for_the_cloud_controller_manager() {
    let key = "node.cloudprovider.kubernetes.io/uninitialized";
    let node = format!("metadata: {{name: new}}\nspec: {{taints: [{{key: {key}, value: 'true', effect: NoSchedule}}]}}");
    let printed = words_on(&[&node], "{containers: [{name: c}]}", "").await;
    let wanted = format!("new: its taint {key}:NoSchedule stays until the cloud controller manager has initialised it");
    assert!(printed.contains("no change to the pod or to a node is known to help"), "{printed}");
    assert!(printed.contains(&wanted) && !printed.contains("unhealthy"), "{printed}");
}
