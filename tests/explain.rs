//! `explain` on objects that are wrong in some way, as a person runs it: a clear sentence each time, and the rest judged.

use std::io::Write;
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
fn told(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().replace("\n  ", " ")
}

#[track_caller]
fn refused(output: &Output, wanted: &str) {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(said.contains(wanted), "{said}");
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(2)), "{said}");
}

#[test]
fn quantities_that_do_not_parse_count_as_absent() {
    let said = told(&explain("{containers: [{name: c, resources: {requests: {cpu: '1', memory: lots}}}]}", "", &[]));
    assert!(said.contains(r#"container c resources.requests.memory: "lots" is no quantity; counted as absent"#), "{said}");
    assert!(said.contains(r#"nodes/odd: status.allocatable.cpu: "four" is no quantity; counted as absent"#), "{said}");
    assert!(said.contains("one of 3 nodes fits"), "{said}");
}

#[test]
fn a_node_without_status_offers_nothing() {
    let said = told(&explain("{containers: [{name: c}]}", "", &[]));
    assert!(said.contains("nodes/bare: it has no status.allocatable, so it offers nothing"), "{said}");
    assert!(said.contains("2 of 3 nodes fit") && said.contains("Too many pods"), "{said}");
}

#[test]
fn claims_that_point_nowhere() {
    let spec = "{containers: [{name: c}], volumes: [{name: v, persistentVolumeClaim: {claimName: gone}}]}";
    let said = told(&explain(spec, "", &[]));
    assert!(said.contains(r#"0/3 nodes are available: persistentvolumeclaim "gone" not found. not found"#), "{said}");
    assert!(said.contains("create PersistentVolumeClaim gone and a volume for it"), "{said}");
    let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: gone, namespace: default, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {volumeName: nowhere}\n";
    let said = told(&explain(spec, claim, &[]));
    assert!(said.contains(r#"0/3 nodes are available: persistentvolume "nowhere" not found. not found"#), "{said}");
}

#[test]
fn a_plugin_that_is_not_known_is_named_and_the_others_judge() {
    let mut config = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {filter: {enabled: [{name: Homemade}]}}}]\n";
    config.write_all(text.as_bytes()).unwrap();
    let said = told(&explain(
        "{containers: [{name: c, resources: {requests: {cpu: '5'}}}]}",
        "",
        &["--scheduler-config", config.path().to_str().unwrap()],
    ));
    assert!(said.contains("Homemade is not of Kubernetes' tree"), "{said}");
    assert!(said.contains("Insufficient cpu"), "{said}");
}

#[test]
fn versions_that_are_not_known() {
    let said = told(&explain("{containers: [{name: c}]}", "", &["--scheduler-version", "1.99"]));
    assert!(said.contains("the rules of 1.36 are applied to 1.99, whose own are not known here"), "{said}");
    for version in ["1.5", "banana"] {
        refused(
            &explain("{containers: [{name: c}]}", "", &["--scheduler-version", version]),
            "is no scheduler version known here: give one from 1.9",
        );
    }
}

#[test]
fn a_scheduler_that_is_not_known_is_a_hypothesis() {
    let said = told(&explain("{schedulerName: other, containers: [{name: c}]}", "", &[]));
    assert!(
        said.contains(r#"the pod asks for scheduler "other", whose rules are not known: those of default-scheduler are a hypothesis"#),
        "{said}"
    );
}

#[test]
fn a_node_that_does_not_exist() {
    refused(&explain("{containers: [{name: c}]}", "", &["--node", "n7"]), "node n7 does not exist at revision");
}

#[test]
fn a_node_in_depth_tells_what_was_compared() {
    let running = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: q, namespace: default, uid: v, labels: {app: a}}\nspec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 3200m}}}]}\n";
    let said = told(&explain("{containers: [{name: c, resources: {requests: {cpu: '1'}}}]}", running, &["--node", "n1"]));
    assert!(said.contains("cpu: 1 asked, 3.2 of 4 taken (by default/q 3.2)"), "{said}");
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
    let said = told(&explain(spec, &objects, &["--node", "n1"]));
    assert!(said.contains("node(s) exceed max volume count") && said.contains("csi.example.com: 1 attached, 1 asked, limit 1"), "{said}");
    assert!(said.contains("it has no label kubernetes.io/os"), "{said}");
}
