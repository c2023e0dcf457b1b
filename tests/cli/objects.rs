//! Files of API objects on the command line: every command takes them, `--at` says when they were printed, and what they cannot answer is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ketcd_testing::temporary::file;
use serde_json::{Value, json};
use tempfile::TempDir;

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst")
}

fn run(files: &[&Path], arguments: &[&str]) -> Output {
    let files = files.iter().flat_map(|file| [Path::new("-f"), file]);
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(files).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn config_map(name: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x", "resourceVersion": version}})
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// Kinds, each printed into a file of its own.
const KINDS: &[&str] = &[
    "pods",
    "nodes",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "events",
    "namespaces",
    "services",
    "pvc",
    "pv",
    "hpa",
    "pdb",
];

struct Printed {
    _folder: TempDir,
    files: Vec<PathBuf>,
}

impl Printed {
    fn files(&self) -> Vec<&Path> {
        self.files.iter().map(PathBuf::as_path).collect()
    }
}

/// Prints a capture's objects at a revision, each kind into a file, JSON and YAML by turns.
fn printed(name: &str, revision: &str) -> Printed {
    let folder = TempDir::new().unwrap();
    let mut files = Vec::new();
    for (place, kind) in KINDS.iter().enumerate() {
        let format = if place % 4 == 1 { "yaml" } else { "json" };
        let output = run(&[&capture(name)], &["get", kind, "-A", "-o", format, "--show-managed-fields", "--rev", revision]);
        if output.status.code() == Some(0) {
            let path = folder.path().join(kind);
            std::fs::write(&path, output.stdout).unwrap();
            files.push(path);
        }
    }
    Printed { _folder: folder, files }
}

#[test]
fn ages_count_from_the_newest_time_or_at() {
    let born = |name: &str, born: &str| {
        let mut object = config_map(name, "3");
        object["metadata"]["creationTimestamp"] = born.into();
        object["metadata"]["annotations"] = json!({"expires": "2030-01-01T00:00:00Z"});
        object
    };
    let mut nothing = config_map("c", "4");
    nothing["metadata"]["creationTimestamp"] = Value::Null;
    let objects = file(list(&[born("a", "2026-01-01T00:00:00Z"), born("b", "2026-01-01T01:00:00Z"), nothing]).to_string());
    let ages = |more: &[&str]| {
        let output = run(&[objects.path()], &[&["ls", "cm", "-n", "x", "--no-headers"], more].concat());
        let ages: Vec<String> = text(&output.stdout).lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect();
        (ages.join(" "), text(&output.stderr))
    };
    assert_eq!(ages(&[]), ("60m 0s <unknown>".to_owned(), String::new()));
    assert_eq!(ages(&["--at", "2026-01-01T03:00:00Z"]), ("3h 120m <unknown>".to_owned(), String::new()));
    let (shown, stderr) = ages(&["--at", "-30m"]);
    assert!(shown.starts_with("30m "), "{shown}");
    assert!(stderr.contains("--at 2026-01-01T00:30:00Z is before the newest time in the objects, 2026-01-01T01:00:00Z"), "{stderr}");
}

#[test]
fn every_command_takes_objects() {
    let folder = TempDir::new().unwrap();
    let printed = printed("k136-story", "1300");
    let files = printed.files();
    let page = folder.path().join("page.html");
    for arguments in [
        &["blame", "pod/web/logged"][..],
        &["history", "pod/web/logged", "--diff"],
        &["history", "--all"],
        &["timeline", "node/node1"],
        &["timeline", "deploy/web/tomcat"],
        &["timeline", "-n", "lab"],
        &["timeline", "-A", "-o", "wide"],
        &["timeline", "pod/web/logged", "--around", "-30m", "--window", "3h"],
        &["report", "--out", page.to_str().unwrap()],
        &["ls", "pods", "-A", "-o", "wide"],
        &["explain", "pod/lab/details"],
    ] {
        let output = run(&files, arguments);
        let stderr = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("clock") && !text(&output.stdout).contains("no scheduler asked"), "{arguments:?}: {stderr}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("the state of one moment") && !page.contains("complete since the cluster began"));
    let (one, other) = (file(config_map("a", "5").to_string()), file(config_map("b", "6").to_string()));
    let output = run(&[], &["diff", one.path().to_str().unwrap(), other.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let both = run(&[&capture("k120-story"), one.path()], &["ls", "cm", "-A"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("API objects and etcd's own files cannot be read together"), "{}", text(&both.stderr));
}

#[test]
fn what_one_moment_cannot_answer_is_refused() {
    let objects = file(list(&[config_map("a", "17"), config_map("b", "12")]).to_string());
    let page = run(&[objects.path()], &["history", "cm/x/a"]);
    assert!(text(&page.stdout).contains("as read; what came before is not known"), "{}", text(&page.stdout));
    for asked in [&["get", "cm/x/a", "--rev", "13"][..], &["history", "cm/x/a", "--rev", "100"]] {
        let output = run(&[objects.path()], asked);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("API objects are the state of one moment, not a history"), "{}", text(&output.stderr));
    }
    let status = run(&[objects.path()], &["status"]);
    let page = text(&status.stdout);
    assert!(status.status.code() == Some(0) && page.contains("one moment") && !page.contains("clock"), "{page}");
}

#[test]
fn a_file_cut_short_ends_with_exit_2() {
    let objects = list(&[config_map("a", "17"), config_map("b", "12")]).to_string();
    let cut = file(&objects[..objects.len() - 100]);
    let output = run(&[cut.path()], &["ls", "cm", "-n", "x", "-o", "name"]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("configmap/a\n", Some(2)), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("line 1"), "{}", text(&output.stderr));
}

#[test]
fn custom_resources_without_a_definition_are_shown_under_the_plural_that_kubectl_guesses() {
    let certificate = |name: &str| json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": name, "namespace": "x", "resourceVersion": "7"}});
    let file = file(list(&[certificate("a"), certificate("b"), config_map("c", "8")]).to_string());
    let listed = run(&[file.path()], &["ls", "--all"]);
    let said = text(&listed.stderr);
    assert!(said.contains("2 objects cert-manager.io/v1 Certificate: shown as certificates.cert-manager.io"), "{said}");
    let names = run(&[file.path()], &["get", "certificates.cert-manager.io", "-n", "x", "-o", "name"]);
    assert_eq!(text(&names.stdout).lines().count(), 2, "{}", text(&names.stderr));
    assert!(!said.contains("left out"), "{said}");
}

#[test]
fn a_custom_resource_that_a_webhook_converts_is_shown_as_it_is_stored() {
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v1", "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "wheels.cars.example"},
        "spec": {
            "group": "cars.example", "scope": "Namespaced", "names": {"kind": "Wheel", "plural": "wheels", "singular": "wheel"},
            "conversion": {"strategy": "Webhook"}, "versions": [version("v1"), version("v2")],
        },
    });
    let stored = json!({"apiVersion": "cars.example/v1", "kind": "Wheel", "metadata": {"name": "left", "namespace": "x"}, "old": "field"});
    let objects = file(list(&[definition, stored]).to_string());
    let output = run(&[objects.path()], &["get", "wheels", "left", "-n", "x", "-o", "json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((&shown["apiVersion"], &shown["old"]), (&json!("cars.example/v1"), &json!("field")));
}

#[test]
fn openshifts_objects_lie_where_openshift_keeps_them() {
    let route = json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
        "spec": {"host": "web.example.com", "to": {"kind": "Service", "name": "web"}, "wildcardPolicy": "None"}});
    let file = file(route.to_string());
    let table = run(&[file.path()], &["get", "routes", "-n", "shop"]);
    let wanted = "NAME   HOST/PORT         PATH   SERVICES   PORT    TERMINATION   WILDCARD\nweb    web.example.com          web        <all>                 None\n";
    assert_eq!(text(&table.stdout), wanted, "{}", text(&table.stderr));
    let keys = run(&[file.path()], &["ls", "/openshift.io/"]);
    assert!(text(&keys.stdout).contains("/openshift.io/routes/shop/web"), "{}", text(&keys.stderr));
}

#[test]
fn utf_16_with_a_mark_is_read_as_powershell_writes_it() {
    let yaml = "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: grün\r\n  namespace: x\r\n";
    let encodings: [([u8; 2], fn(u16) -> [u8; 2]); 2] = [([0xff, 0xfe], u16::to_le_bytes), ([0xfe, 0xff], u16::to_be_bytes)];
    for (mark, bytes) in encodings {
        for content in [yaml.to_owned(), list(&[config_map("grün", "3")]).to_string()] {
            let units: Vec<u8> = content.encode_utf16().flat_map(bytes).collect();
            let file = file([&mark[..], &units].concat());
            let names = run(&[file.path()], &["get", "configmaps", "-n", "x", "-o", "name"]);
            assert_eq!(text(&names.stdout), "configmap/grün\n", "{}", text(&names.stderr));
        }
    }
}

#[test]
fn events_of_a_watch_leave_what_was_there_at_its_end() {
    let event = |kind: &str, name: &str, version: &str| json!({"type": kind, "object": config_map(name, version)}).to_string();
    let events = [
        event("ADDED", "a", "3"),
        event("ADDED", "b", "4"),
        event("MODIFIED", "a", "5"),
        event("DELETED", "b", "6"),
        event("ADDED", "c", "7"),
        event("DELETED", "c", "8"),
        event("ADDED", "c", "9"),
    ];
    let file = file(events.join("\n"));
    let names = run(&[file.path()], &["get", "configmaps", "-n", "x", "-o", "name"]);
    assert_eq!(text(&names.stdout), "configmap/a\nconfigmap/c\n", "{}", text(&names.stderr));
    let one: Value = serde_json::from_slice(&run(&[file.path()], &["get", "configmap/x/a", "-o", "json"]).stdout).unwrap();
    assert_eq!(one["metadata"]["resourceVersion"], "5");
}
