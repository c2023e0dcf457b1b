//! OpenShift's etcd on the command line: objects below /kubernetes.io and /openshift.io in one list, and extracted.

use std::process::{Command, Output};

use base64::Engine;
use ketcd_testing::testdata;
use ketcd_testing::written::Written;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// A Route that openshift/api wrote.
fn route() -> Vec<u8> {
    let pairs = testdata::read("values/openshift-pairs.jsonl.zst");
    let mut pairs = serde_json::Deserializer::from_slice(&pairs).into_iter::<Value>().map(Result::unwrap);
    let pair = pairs.find(|pair| pair["id"] == "route.openshift.io.v1.Route").unwrap();
    base64::engine::general_purpose::STANDARD.decode(pair["pb"].as_str().unwrap()).unwrap()
}

/// A database of an OpenShift cluster.
fn database() -> NamedTempFile {
    let mut written = Written::default();
    written.put(
        "/kubernetes.io/namespaces/default",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}).to_string(),
    );
    written.put(
        "/kubernetes.io/configmaps/namespaceValue/plain",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain", "namespace": "namespaceValue"}}).to_string(),
    );
    written.put("/openshift.io/routes/namespaceValue/nameValue", route());
    for (name, time) in [("a-2", "2026-01-02T00:00:00Z"), ("b-1", "2026-01-01T00:00:00Z"), ("c-3", "2026-01-03T00:00:00Z")] {
        let build = json!({"apiVersion": "build.openshift.io/v1", "kind": "Build", "metadata": {"name": name, "namespace": "x", "creationTimestamp": time}});
        written.put(&format!("/openshift.io/builds/x/{name}"), build.to_string());
    }
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), written.finish()).unwrap();
    file
}

fn run(file: &NamedTempFile, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn objects_below_both_prefixes_are_listed_described_and_extracted() {
    let file = database();
    let kinds = text(&run(&file, &["ls"]));
    for kind in ["routes.route.openshift.io", "configmaps", "builds.build.openshift.io"] {
        assert!(kinds.contains(kind), "{kind}: {kinds}");
    }
    let described = text(&run(&file, &["describe", "routes/namespaceValue/nameValue"]));
    assert!(described.contains("hostValue") && !described.contains("keyValue"), "{described}");
    let names = text(&run(&file, &["get", "routes,configmaps", "-n", "namespaceValue", "-o", "name"]));
    assert_eq!(names, "route.route.openshift.io/nameValue\nconfigmap/plain\n");
    let wanted = ["extract", "routes/namespaceValue/nameValue", "configmaps/namespaceValue/plain"];
    let masked = run(&file, &wanted);
    let (manifests, said) = (String::from_utf8_lossy(&masked.stdout), String::from_utf8_lossy(&masked.stderr));
    assert!(manifests.contains("kind: ConfigMap") && !manifests.contains("keyValue"), "{manifests}");
    assert!(
        said.contains("their values are masked; --show-secrets extracts them: route.route.openshift.io/namespaceValue/nameValue"),
        "{said}"
    );
    let manifests = text(&run(&file, &[&["--show-secrets"], &wanted[..]].concat()));
    assert!(manifests.contains("kind: Route") && manifests.contains("key: keyValue"), "{manifests}");
}

/// By creation, as the API server's own table has them.
#[test]
fn builds_are_sorted_by_their_creation() {
    let table = text(&run(&database(), &["get", "builds", "-n", "x"]));
    let names: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["b-1", "a-2", "c-3"], "{table}");
}
