//! `explain` on objects that are wrong in some way, as a user runs it: a clear message each time, and the rest evaluated.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

const CLUSTER: &str = r#"
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

/// Explains the pod of this spec on the cluster.
fn explain(spec: &str, more: &str, arguments: &[&str]) -> Output {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let pod = format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, uid: u}}\nspec: {spec}\n");
    file.write_all(format!("{CLUSTER}{pod}{more}").as_bytes()).unwrap();
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(["explain", "pod/p"]).args(arguments).output().unwrap()
}

/// The lines printed, folded lines joined.
#[track_caller]
fn printed_by(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().replace("\n  ", " ")
}

#[track_caller]
fn refused(output: &Output, wanted: &str) {
    let printed = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(printed.contains(wanted), "{printed}");
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(2)), "{printed}");
}

#[test]
fn quantities_that_do_not_parse_count_as_absent() {
    let printed = printed_by(&explain("{containers: [{name: c, resources: {requests: {cpu: '1', memory: lots}}}]}", "", &[]));
    assert!(printed.contains(r#"container c resources.requests.memory: "lots" is not a valid quantity; counted as absent"#), "{printed}");
    assert!(printed.contains(r#"nodes/odd: status.allocatable.cpu: "four" is not a valid quantity; counted as absent"#), "{printed}");
    assert!(printed.contains("n1 alone of 3 nodes fits"), "{printed}");
    let place = |text: &str| printed.find(text).unwrap();
    assert!(place("pods/default/p: container c") < place("nodes/bare"), "what is wrong with the pod itself comes first: {printed}");
}

#[test]
fn a_node_without_status_offers_nothing() {
    let printed = printed_by(&explain("{containers: [{name: c}]}", "", &[]));
    assert!(printed.contains("nodes/bare: it has no status.allocatable, so it offers nothing"), "{printed}");
    assert!(printed.contains("2 of 3 nodes fit") && printed.contains("Too many pods"), "{printed}");
}

#[test]
fn a_pod_that_cannot_be_read() {
    let printed = "it cannot be read as a Pod: invalid type: string \"none\", expected a sequence";
    refused(&explain("{containers: none}", "", &[]), &format!("pod default/p: {printed}"));
    refused(&explain("{containers: none}", "", &[]), " get pod/default/p -o json");
}

#[test]
fn claims_that_point_nowhere() {
    let spec = "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}]}";
    let printed = printed_by(&explain(spec, "", &[]));
    assert!(printed.contains(r#"0/3 nodes are available: persistentvolumeclaim "gone" not found. not found"#), "{printed}");
    assert!(printed.contains("create PersistentVolumeClaim gone and a volume for it"), "{printed}");
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: gone, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {volumeName: nowhere}\n";
    let printed = printed_by(&explain(spec, claim, &[]));
    assert!(printed.contains(r#"0/3 nodes are available: persistentvolume "nowhere" not found. not found"#), "{printed}");
    assert!(printed.contains("restore PersistentVolume nowhere, to which claim gone is bound"), "{printed}");
}

#[test]
fn a_plugin_that_is_not_known_is_named_and_the_others_run() {
    let mut config = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {filter: {enabled: [{name: Homemade}]}}}]\n";
    config.write_all(text.as_bytes()).unwrap();
    let printed = printed_by(&explain(
        "{containers: [{name: c, resources: {requests: {cpu: '5'}}}]}",
        "",
        &["--scheduler-config", config.path().to_str().unwrap()],
    ));
    assert!(printed.contains("The plugin Homemade is not in-tree"), "{printed}");
    assert!(printed.contains("Insufficient cpu"), "{printed}");
}

#[test]
fn versions_that_are_not_known() {
    let printed = printed_by(&explain("{containers: [{name: c}]}", "", &["--scheduler-version", "1.99"]));
    assert!(printed.contains("the rules of 1.37 are applied to 1.99, whose own rules ketcd does not know"), "{printed}");
    for version in ["1.5", "banana"] {
        refused(&explain("{containers: [{name: c}]}", "", &["--scheduler-version", version]), "expected one from 1.9");
    }
}

#[test]
fn a_scheduler_that_is_not_known_is_a_hypothesis() {
    let printed = printed_by(&explain("{schedulerName: other, containers: [{name: c}]}", "", &[]));
    assert!(
        printed.contains(
            r#"the pod's schedulerName is "other", whose profile is not known: that of default-scheduler is applied as a hypothesis"#
        ),
        "{printed}"
    );
}

#[test]
fn a_node_that_does_not_exist() {
    refused(&explain("{containers: [{name: c}]}", "", &["--node", "n7"]), "node n7 does not exist at revision");
}

#[test]
fn a_node_in_depth_shows_what_was_compared() {
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 3200m}}}]}\n";
    let printed = printed_by(&explain("{containers: [{name: c, resources: {requests: {cpu: '1'}}}]}", running, &["--node", "n1"]));
    assert!(printed.contains("n1 does not fit: NodeResourcesFit refuses"), "{printed}");
    assert!(printed.contains("cpu: 1 asked, 800m free; 3.2 of 4 taken (by default/q 3.2)"), "{printed}");
    for passed in ["✓ NodeUnschedulable", "it is not cordoned", "it has no NoSchedule or NoExecute taint", "pods: 1 of 10 there"] {
        assert!(printed.contains(passed), "{passed}: {printed}");
    }
    assert!(printed.contains("skipped, as the pod has nothing they check: NodeAffinity, NodePorts"), "{printed}");
}

/// What is wrong with the facts of a line of `explain --all --node … -o ndjson`: of a filter that passes all must speak for the node, of one that
/// refuses one against it.
fn contradictions(line: &str, compared: &mut usize) -> Vec<String> {
    let attempt: serde_json::Value = serde_json::from_str(line).unwrap();
    let mut wrong = Vec::new();
    for filter in attempt["nodes"].as_array().unwrap().iter().flat_map(|node| node["filters"].as_array().unwrap()) {
        let facts = filter["compared"].as_array().map(Vec::as_slice).unwrap_or_default();
        let against = facts.iter().filter(|fact| fact["holds"] == false).count();
        let is_named = match filter["status"].as_str().unwrap() {
            "Success" => !facts.is_empty() && against == 0,
            "Unschedulable" | "UnschedulableAndUnresolvable" => against > 0,
            _ => continue,
        };
        *compared += 1;
        wrong.extend((!is_named).then(|| format!("{} {filter}", attempt["pod"])));
    }
    wrong
}

#[test]
fn facts_bear_the_verdicts_of_every_filter_out() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures");
    let (mut compared, mut wrong) = (0, Vec::new());
    let runs =
        [("k136-random", "n03", "1.36"), ("matrix-1.24", "n01", "1.24"), ("k136-story", "node3", "1.36"), ("k120-random", "n05", "1.9")];
    let older = [("k120-random", "n07", "1.11"), ("k120-random", "n09", "1.17"), ("k120-story", "node2", "1.20")];
    for (capture, node, version) in runs.into_iter().chain(older) {
        let file = captures.join(capture).join("snapshot.db.zst");
        let arguments = ["explain", "--all", "--no-remedies", "--node", node, "--scheduler-version", version, "-o", "ndjson"];
        let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file).args(arguments).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        wrong.extend(printed.lines().flat_map(|line| contradictions(line, &mut compared)));
    }
    assert!(compared > 15_000, "only {compared} verdicts were compared");
    assert!(wrong.is_empty(), "{} of {compared}\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}

/// What `explain` prints for a pod of a recorded cluster.
fn recorded(capture: &str, pod: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture).join("snapshot.db.zst");
    printed_by(&Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file).args(["explain", pod]).output().unwrap()).replace('\n', " ")
}

#[test]
fn pods_of_a_daemon_set_are_meant_for_one_node() {
    let printed = recorded("k136-story", "pod/lab/agent-4rtgr");
    assert!(printed.contains("lab/agent-4rtgr → node2") && printed.contains("the pod of DaemonSet agent for node2"), "{printed}");
    assert!(printed.contains("not evaluated: the pod can run only on other nodes"), "{printed}");
    let printed = recorded("k120-story", "pod/lab/agent-2t9fc");
    assert!(
        printed.contains("the pod of DaemonSet agent for node4") && printed.contains("the node node4 wanted, it is node1"),
        "{printed}"
    );
}

#[test]
fn static_pods_and_pods_created_with_their_node_were_placed_by_no_scheduler() {
    let static_pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: etcd, namespace: default, uid: e, annotations: {kubernetes.io/config.mirror: h}}\nspec: {nodeName: n1, containers: [{name: c}]}\n";
    let placed = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: placed, namespace: default, uid: f}\nspec: {nodeName: n1, containers: [{name: c}]}\n";
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    file.write_all(format!("{CLUSTER}{static_pod}{placed}").as_bytes()).unwrap();
    let explain = |arguments: &[&str]| {
        printed_by(&Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).arg("explain").args(arguments).output().unwrap())
    };
    let first = |printed: String| {
        printed.lines().next().unwrap_or_default().split("  ").filter(|part| !part.is_empty()).collect::<Vec<_>>().join("|")
    };
    assert_eq!(first(explain(&["pod/etcd"])), "default/etcd → n1| a static pod: no scheduler decided");
    let printed = explain(&["pod/etcd"]);
    assert!(printed.contains("its kubelet runs it and no scheduler decided"), "{printed}");
    assert!(explain(&["pod/etcd", "-o", "json"]).contains(r#""decidedBy":"Kubelet""#));
    assert!(explain(&["pod/placed", "-o", "json"]).contains(r#""decidedBy":"#));
}

#[test]
fn what_a_spread_and_a_limit_count() {
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: one}}]}\n";
    let volume = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{csi: {{driver: csi.example.com, volumeHandle: {name}}}}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: default, annotations: {{pv.kubernetes.io/bind-completed: 'yes'}}}}\nspec: {{volumeName: {name}}}\n"
        )
    };
    let node = "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: csi.example.com, nodeID: n1, allocatable: {count: 1}}]}\n";
    let objects = [running, &volume("one"), &volume("two"), node].concat();
    let spec = "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: two}}], topologySpreadConstraints: [{maxSkew: 5, topologyKey: kubernetes.io/os, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}]}";
    let printed = printed_by(&explain(spec, &objects, &["--node", "n1"]));
    assert!(
        printed.contains("node(s) exceed max volume count") && printed.contains("csi.example.com: 1 attached, 1 more asked (two), limit 1"),
        "{printed}"
    );
    assert!(printed.contains("it has no label kubernetes.io/os"), "{printed}");
}

/// 1.22 to 1.24 share a count between nodes and their copies.
#[test]
fn a_claim_for_one_pod_that_may_be_miscounted_is_a_caveat() {
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\n\
                 spec: {accessModes: [ReadWriteOncePod], volumeName: v}\n";
    let user = |more: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: other, namespace: default, uid: o}}\nspec: {{containers: [{{name: c}}], {VOLUMES}{more}\n"
        )
    };
    const VOLUMES: &str = "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]";
    let spec = format!("{{containers: [{{name: c}}], {VOLUMES}}}");
    let at = |release: &'static str| ["--scheduler-version", release, "--feature-gates", "ReadWriteOncePod=true"];
    let running = format!("{claim}{}", user(", nodeName: n1}"));
    let forgotten = "1.23 no longer counts claim data as used after it tried preemption on its user's node: the filter may have passed";
    assert!(printed_by(&explain(&spec, &running, &at("1.23"))).contains(forgotten));
    assert!(!printed_by(&explain(&spec, &running, &at("1.25"))).contains("no longer counts claim"));
    let nominated = format!("{claim}{}", user("}\nstatus: {nominatedNodeName: n1}"));
    let taken = "1.24 may count claim data as used, because a pod that uses it was nominated to a node: the filter may have refused";
    assert!(printed_by(&explain(&spec, &nominated, &at("1.24"))).contains(taken));
}

#[test]
fn a_tree_of_groups_is_printed_from_the_top() {
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
    let run = |cpu: u32| printed_by(&explain(own, &mate(cpu), &["--scheduler-version", "1.37", "--feature-gates", gates]));
    let printed = run(2);
    assert!(printed.contains("group drivers, 1 pod tried together: fits"), "{printed}");
    assert!(printed.contains("part of train, 2 of 2 groups fit, 2 wanted: it fits"), "{printed}");
    let printed = run(3);
    assert!(printed.contains("group drivers, 1 pod tried together: does not fit"), "{printed}");
    assert!(printed.contains("part of train, 1 of 2 groups fits, 2 wanted: it does not fit"), "{printed}");
    assert!(printed.contains("cannot be satisfied: 1 scheduled"), "{printed}");
}

#[test]
fn what_was_written_after_the_last_refusal_is_evaluated() {
    // Refused at r1430; then a storage class was made, node1 chosen at r1473, and a provisioner that never answers asked for the volume.
    let page = recorded("k136-story", "pod/web/store-5");
    assert!(page.starts_with("web/store-5 waits") && page.contains("  node1 alone of 4 nodes fits "), "{page}");
    let since = "refused at r1430; since then: nominated to node1, claim data-store-5 waits for csi.example.com on node1";
    assert!(page.contains(since), "{page}");
    assert!(!page.contains("provide a PersistentVolume"), "{page}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-story/snapshot.db.zst");
    let json = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ketcd"))
            .arg("-f")
            .arg(&file)
            .args(["explain", "-o", "json"])
            .args(arguments)
            .output()
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let explained = json(&["pod/web/store-5"]);
    let since = &explained["sinceRefusal"];
    assert_eq!((&since["refusedRevision"], &since["nominatedNode"]), (&1430.into(), &"node1".into()));
    assert_eq!(since["awaited"], serde_json::json!([{"claim": "data-store-5", "node": "node1", "waitsFor": "csi.example.com"}]));
    assert_eq!(explained["attempt"]["outcome"], "Pending");
    // If nothing was written about the pod since, the refusal is the answer.
    let refused = json(&["pod/lab/train-3"]);
    assert_eq!((&refused["attempt"]["outcome"], refused.get("sinceRefusal")), (&"Unschedulable".into(), None));
}
