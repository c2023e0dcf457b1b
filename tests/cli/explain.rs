//! The flags and errors of `explain`: the scheduler that they name, and what cannot be explained.

use std::io::Write;
use std::process::{Command, Output};

const CLUSTER_YAML: &str = r#"
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}, nodeInfo: {kubeletVersion: v1.34.1}}
"#;

/// Explains the pod of this spec on the cluster.
fn explain(spec: &str, more: &str, arguments: &[&str]) -> Output {
    let mut file = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let pod = format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default, uid: u}}\nspec: {spec}\n");
    file.write_all(format!("{CLUSTER_YAML}{pod}{more}").as_bytes()).unwrap();
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(["explain", "pod/p"]).args(arguments).output().unwrap()
}

#[track_caller]
fn refused(output: &Output, wanted: &str) {
    let printed = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(printed.contains(wanted), "{printed}");
    assert_eq!((output.stdout.len(), output.status.code()), (0, Some(2)), "{printed}");
}

#[test]
fn a_pod_that_cannot_be_read() {
    let printed = "it cannot be read as a Pod: invalid type: string \"none\", expected a sequence";
    let output = explain("{containers: none}", "", &[]);
    refused(&output, &format!("pod default/p: {printed}"));
    refused(&output, " get pod/default/p -o json");
}

#[test]
fn a_node_that_does_not_exist() {
    refused(&explain("{containers: [{name: c}]}", "", &["--node", "n7"]), "node n7 does not exist at revision");
}

#[test]
fn the_scheduler_is_that_of_the_flags() {
    let config = ketcd_testing::temporary::file(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {filter: {enabled: [{name: Homemade}]}}}]\n",
    );
    let spec = "{containers: [{name: c, resources: {requests: {cpu: '5'}}}]}";
    let printed = |arguments: &[&str]| {
        let output = explain(spec, "", arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().replace("\n  ", " ")
    };
    let configured = printed(&["--scheduler-config", config.path().to_str().unwrap()]);
    assert!(configured.contains("The plugin Homemade is not in-tree") && configured.contains("Insufficient cpu"), "{configured}");
    let later = printed(&["--scheduler-version", "1.99"]);
    assert!(later.contains("the rules of 1.37 are applied to 1.99, whose own rules ketcd does not know"), "{later}");
    for version in ["1.5", "banana"] {
        refused(&explain(spec, "", &["--scheduler-version", version]), "expected one from 1.9");
    }
    let gates = ["--scheduler-version", "1.23", "--feature-gates", "ReadWriteOncePod=perhaps"];
    refused(&explain(spec, "", &gates), "ReadWriteOncePod");
}

#[test]
fn what_cannot_be_read_is_exit_2() {
    let node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: x}\nstatus: text\n";
    let output = explain("{containers: [{name: c}]}", node, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 version of an object could not be read"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 of 2 nodes fit"), "it may fit");
}
