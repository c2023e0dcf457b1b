//! Files of API objects on the command line: every command takes them, and what they cannot answer is refused.

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

/// Prints a capture's objects of a few kinds at a revision, as JSON and as YAML.
fn printed(folder: &Path) -> [PathBuf; 3] {
    [("pods", "json"), ("nodes", "yaml"), ("deployments", "json")].map(|(kind, format)| {
        let output = run(&[&capture("k136-story")], &["get", kind, "-A", "-o", format, "--show-managed-fields", "--rev", "1300"]);
        assert_eq!(output.status.code(), Some(0), "{kind}");
        let path = folder.join(kind);
        std::fs::write(&path, output.stdout).unwrap();
        path
    })
}

#[test]
fn every_command_takes_objects() {
    let folder = TempDir::new().unwrap();
    let printed = printed(folder.path());
    let files = printed.each_ref().map(PathBuf::as_path);
    let page = folder.path().join("page.html");
    for arguments in [
        &["blame", "pod/web/logged"][..],
        &["history", "--all"],
        &["timeline", "pod/web/logged", "--around", "-30m", "--window", "3h"],
        &["report", "--out", page.to_str().unwrap()],
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
    let output = run(&[objects.path()], &["get", "cm/x/a", "--rev", "13"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("API objects are the state of one moment, not a history"), "{}", text(&output.stderr));
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
fn manifests_without_a_namespace_are_listed_in_the_default_one() {
    let manifest = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "conf"}}).to_string();
    let manifests = file(format!("{}\n{}\n", manifest("ConfigMap"), manifest("Namespace")));
    let all = run(&[manifests.path()], &["get", "cm", "-A", "--no-headers"]);
    let shown = text(&all.stdout);
    assert_eq!(shown.split_whitespace().take(2).collect::<Vec<_>>(), ["default", "conf"], "{shown}");
    let said = text(&all.stderr);
    assert!(said.contains("one object names no namespace: shown in default, where kubectl apply puts it without -n"), "{said}");
    let default = run(&[manifests.path()], &["get", "cm", "conf", "-o", "jsonpath={.metadata.namespace}"]);
    assert_eq!((text(&default.stdout).trim_end(), default.status.code()), ("default", Some(0)), "{}", text(&default.stderr));
}

#[test]
fn ages_count_from_at() {
    let born = |name: &str, born: Value| {
        let mut object = config_map(name, "3");
        object["metadata"]["creationTimestamp"] = born;
        object
    };
    let objects = [born("a", "2026-01-01T00:00:00Z".into()), born("b", "2026-01-01T01:00:00Z".into()), born("c", Value::Null)];
    let objects = file(list(&objects).to_string());
    let ages = |more: &[&str]| {
        let output = run(&[objects.path()], &[&["ls", "cm", "-n", "x", "--no-headers"], more].concat());
        let ages: Vec<String> = text(&output.stdout).lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect();
        (ages.join(" "), text(&output.stderr))
    };
    assert_eq!(ages(&[]).0, "<unknown> <unknown> <unknown>");
    assert_eq!(ages(&["--at", "2026-01-01T01:00:00Z"]), ("60m 0s <unknown>".to_owned(), String::new()));
    let (shown, stderr) = ages(&["--at", "-30m"]);
    assert!(shown.starts_with("30m "), "{shown}");
    assert!(stderr.contains("--at 2026-01-01T00:30:00Z is before the newest time in the objects, 2026-01-01T01:00:00Z"), "{stderr}");
}

#[test]
fn a_route_of_openshift_has_its_table() {
    let route = json!({"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
        "spec": {"host": "web.example.com", "to": {"kind": "Service", "name": "web"}, "wildcardPolicy": "None"}});
    let file = file(route.to_string());
    let table = run(&[file.path()], &["get", "routes", "-n", "shop"]);
    let wanted = "NAME   HOST/PORT         PATH   SERVICES   PORT    TERMINATION   WILDCARD\nweb    web.example.com          web        <all>                 None\n";
    assert_eq!(text(&table.stdout), wanted, "{}", text(&table.stderr));
}

#[test]
fn printed_objects_have_no_age_unless_the_moment_is_given() {
    let mut object = config_map("a", "5");
    object["metadata"]["creationTimestamp"] = "2026-11-24T22:40:00Z".into();
    object["metadata"]["deletionTimestamp"] = "2026-11-24T22:50:00Z".into();
    let objects = file(object.to_string());
    for command in ["get cm/a -n x", "describe cm/a -n x", "tree cm/a -n x"] {
        let words: Vec<&str> = command.split(' ').collect();
        let unknown = run(&[objects.path()], &words);
        let said = text(&unknown.stderr);
        assert!(
            said.contains("these objects do not show when they were printed, so their ages") && said.contains("--at TIME"),
            "{command}: {said}"
        );
        let given = run(&[objects.path()], &[&words[..], &["--at", "2026-11-24T23:40:00Z"]].concat());
        assert!(!text(&given.stderr).contains("not known"), "{command}");
        let [unknown, given] = [unknown, given].map(|output| text(&output.stdout));
        match words[0] {
            "describe" => assert!(unknown.contains("since 2026-11-24T22:50:00Z") && given.contains("since 50m"), "{unknown}{given}"),
            _ => assert!(unknown.contains("<unknown>") && given.contains("60m"), "{command}: {unknown}{given}"),
        }
    }
}
