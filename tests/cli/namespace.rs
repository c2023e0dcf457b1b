//! `-n` where no object is addressed: the same as all namespaces shows, less what is of others.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn capture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).to_str().unwrap().to_owned()
}

fn ketcd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Every difference that `diff` prints, as its line.
fn differences(arguments: &[&str]) -> BTreeSet<String> {
    let output = ketcd(&[&["diff", "-o", "ndjson", "--show-managed-fields"], arguments].concat());
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let lines: BTreeSet<String> = stdout.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), stdout.lines().count(), "a difference is printed twice");
    lines
}

/// Whether a difference is of an object in the namespace, or of the namespace itself.
fn is_of(line: &str, namespace: &str) -> bool {
    let key = serde_json::from_str::<Value>(line).unwrap()["key"].as_str().unwrap().to_owned();
    key.contains(&format!("/{namespace}/")) || key == format!("/registry/namespaces/{namespace}")
}

#[test]
fn a_diff_is_of_one_namespace() {
    let (story, older) = (capture("k136-story/snapshot.db.zst"), capture("k120-story/snapshot.db.zst"));
    // Revision 2 holds no definition of a custom kind yet, so those objects are known from the other side alone, and the other way round.
    for sides in [&["-f", &story, "--rev", "2.."][..], &["-f", &story, "--rev", "3000..300"], &[&older, &story]] {
        let all = differences(sides);
        for namespace in ["lab", "web", "kube-system", "kube-node-lease"] {
            let wanted: BTreeSet<String> = all.iter().filter(|line| is_of(line, namespace)).cloned().collect();
            let found = differences(&[sides, &["-n", namespace]].concat());
            assert!(!wanted.is_empty(), "{sides:?} -n {namespace}");
            assert!(found == wanted, "{sides:?} -n {namespace}: {} differences, not {}", found.len(), wanted.len());
        }
        assert_eq!(differences(&[sides, &["-A"]].concat()), all);
    }
}

#[test]
fn custom_resources_are_compared_after_their_definition_is_gone() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let definition = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
        "versions": [{"name": "v1", "served": true, "storage": true}]}}"#;
    let thing = r#"{"apiVersion": "lab.example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "shop"}}"#;
    let namespace = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}"#;
    std::fs::write(file.path(), [definition, thing, namespace].map(|object| object.replace('\n', " ")).join("\n")).unwrap();
    let bare = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(bare.path(), namespace).unwrap();
    let found = differences(&["-n", "shop", file.path().to_str().unwrap(), bare.path().to_str().unwrap()]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found.iter().all(|line| line.contains(r#""type":"DELETED""#) && line.contains("things/shop/a")), "{found:?}");
}

#[test]
fn a_namespace_that_holds_nothing_is_an_error() {
    let file = capture("k136-story/snapshot.db.zst");
    for arguments in [&["-f", &file, "diff", "-n", "nope", "--rev", "100..200"][..], &["diff", &file, &file, "-n", "nope"]] {
        let output = ketcd(arguments);
        let message = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{message}");
        assert!(message.contains(r#"nothing found in namespace "nope""#) && message.contains(" ls namespaces"), "{message}");
    }
    let output = ketcd(&["-f", &file, "report", "-n", "nope", "--out", "/dev/null"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}

/// The rows of a report: namespace, kind, name, and how many changes, Events and decisions each has.
fn rows(arguments: &[&str]) -> Vec<[String; 6]> {
    let output = ketcd(&[&["-f", &capture("k136-story/snapshot.db.zst"), "report", "--out", "-"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    let (_, data) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |value: &Value| value.as_array().unwrap().len().to_string();
    let row = |row: &Value| [word(&row["ns"]), word(&row["k"]), word(&row["n"]), count(&row["c"]), count(&row["v"]), row["a"].to_string()];
    let mut rows: Vec<_> = data["rows"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn a_report_is_of_one_namespace() {
    let all = rows(&[]);
    for namespace in ["lab", "web"] {
        let is_own = |row: &[String; 6]| row[0] == namespace || (row[1] == "Namespace" && row[2] == namespace);
        let wanted: Vec<_> = all.iter().filter(|row| is_own(row)).cloned().collect();
        assert!(wanted.len() > 5 && wanted.len() < all.len(), "{namespace}: {} rows", wanted.len());
        assert!(wanted.iter().any(|row| row[4] != "0") && wanted.iter().any(|row| row[5] != "0"), "{namespace}: no Events or no decisions");
        assert_eq!(rows(&["-n", namespace]), wanted);
    }
}
