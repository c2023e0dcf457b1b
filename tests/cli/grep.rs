//! What `grep` prints: by object or as JSON, objects or numbers alone, and what it says where nothing is found.

use std::process::Output;

use ketcd_testing::testdata;
use serde_json::Value;

use crate::ketcd::{all, ketcd};

fn run_on(file: &str, words: &[&str]) -> Output {
    ketcd().arg("-f").arg(testdata::path("captures").join(file)).arg("grep").args(words).output().unwrap()
}

/// What is printed of the story, where something is found.
#[track_caller]
fn text(words: &[&str]) -> String {
    let output = run_on("k120-story/snapshot.db.zst", words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", all(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(words: &[&str]) -> Vec<Value> {
    text(words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_value_has_its_object_path_and_revisions() {
    let printed = text(&["tomcat:8.0"]);
    let mut lines = printed.lines();
    let object = lines.by_ref().find(|line| line.starts_with("deployment") && line.contains("/web/tomcat")).unwrap();
    assert!(!object.contains("deleted"), "{object}");
    let line = lines.find(|line| line.contains("spec.template.spec.containers[tomcat].image")).unwrap();
    assert!(line.starts_with("  r") && line.contains('–') && line.ends_with("tomcat:8.0") && !line.contains("still"), "{line}");
    let deployment = |found: &&Value| found["kind"] == "Deployment" && found["path"] == "spec.template.spec.containers[tomcat].image";
    let found = self::lines(&["tomcat:8.0", "-o", "ndjson"]);
    let image = found.iter().find(deployment).unwrap();
    assert_eq!((&image["in"], &image["value"], &image["still"]), (&"values".into(), &"tomcat:8.0".into(), &false.into()));
    let (from, to) = (image["from"].as_i64().unwrap(), image["to"].as_i64().unwrap());
    // As `history` says it: who made the change that brought it.
    let file = testdata::path("captures/k120-story/snapshot.db.zst");
    let history = ketcd().arg("-f").arg(file).args(["history", "deploy/web/tomcat", "-o", "ndjson"]).output().unwrap();
    let changes: Vec<Value> = String::from_utf8(history.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let change = |revision: i64| changes.iter().find(|change| change["revision"] == revision).unwrap();
    assert_eq!((&change(from)["by"], &change(from)["byFrom"]), (&image["by"], &image["byFrom"]));
    assert!(change(to + 1)["patch"].to_string().contains("tomcat:9.0"), "{}", change(to + 1));
}

#[test]
fn objects_and_numbers_alone() {
    let names: Vec<String> = text(&["node3", "pods", "-l"]).lines().map(str::to_owned).collect();
    assert!(names.contains(&"pod/lab/ubuntu".to_owned()) && names.iter().all(|name| name.starts_with("pod/")), "{names:?}");
    assert_eq!(text(&["node3", "pods", "-o", "name"]), text(&["node3", "pods", "-l"]));
    let all = lines(&["node3", "pods", "-o", "ndjson"]);
    assert_eq!(text(&["node3", "pods", "--count"]), format!("{} matches in {} objects\n", all.len(), names.len()));
    let count: Value = serde_json::from_str(&text(&["node3", "pods", "--count", "-o", "json"])).unwrap();
    assert_eq!((count["matches"].as_u64(), count["objects"].as_u64()), (Some(all.len() as u64), Some(names.len() as u64)));
    let document: Value = serde_json::from_str(&text(&["node3", "pods", "-o", "json"])).unwrap();
    assert_eq!(document["items"].as_array().unwrap(), &all);
    assert_eq!(document["searched"]["to"], 1787);
}

#[test]
fn a_stretch_of_history_is_searched() {
    // What was there before and still is counts, what had ended does not.
    let since = |kind: &str| run_on("k120-story/snapshot.db.zst", &["tomcat:8.0", kind, "--since", "800", "-o", "ndjson"]);
    let output = since("replicasets");
    let found: Vec<Value> = String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(found.iter().any(|found| found["from"].as_i64() < Some(800)), "{found:?}");
    assert!(found.iter().all(|found| found["to"].as_i64() > Some(800)), "{found:?}");
    let ended = since("deployments");
    assert!(!String::from_utf8(ended.stdout).unwrap().contains("containers[tomcat].image"));
    let early = lines(&["tomcat:8.0", "deployments", "--until", "540", "-o", "ndjson"]);
    assert!(early.iter().any(|found| found["still"] == true && found["to"] == 540), "{early:?}");
    assert_eq!(early, lines(&["tomcat:8.0", "deployments", "--rev", "540", "-o", "ndjson"]));
}

#[test]
fn nothing_found_says_what_was_searched() {
    let output = run_on("k120-story/snapshot.db.zst", &["no-such-text", "pods", "-n", "web"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{}", all(&output));
    let said = String::from_utf8(output.stderr).unwrap();
    for part in [
        "nothing found in namespace \"web\"",
        "\"no-such-text\" in names, values and messages",
        "versions of pods, revisions 1 to 1787",
        "-A looks in all",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let document = run_on("k120-story/snapshot.db.zst", &["no-such-text", "-o", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!((&document["items"], &document["leftOut"]), (&Value::Array(Vec::new()), &Value::Null));
    let long = "x".repeat(4097);
    for (words, wanted) in [
        (&[""][..], "the pattern is empty"),
        (&["-e", "a(b"], "invalid regular expression \"a(b\": unclosed group"),
        (&[long.as_str()], "the pattern has 4097 bytes; 4096 are the most"),
        (&["-e", r"(\pL{1000}){1000}"], "size limit"),
    ] {
        let output = run_on("k120-story/snapshot.db.zst", words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(all(&output).contains(wanted), "{words:?}: {}", all(&output));
    }
    let output = run_on("k120-story/snapshot.db.zst", &["node3", "-o", "yaml"]);
    assert_eq!(output.status.code(), Some(2));
}

/// As `history` says it, with the same exit code; what the other objects hold is printed all the same.
#[test]
fn an_object_that_does_not_exist_is_named() {
    let output = run_on("k120-story/snapshot.db.zst", &["crasher", "pod/web/crasher", "pod/web/nope"]);
    assert_eq!(output.status.code(), Some(1), "{}", all(&output));
    let missing = "ketcd: error: pod \"nope\" not found in namespace \"web\" at any readable revision, 1 to 1787\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), missing);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text(&["crasher", "pod/web/crasher"]));
    let file = testdata::path("captures/k120-story/snapshot.db.zst");
    let shown = format!("ketcd -f {} grep -i --in=names CRASHER pod/web/crasher\n", file.display());
    let output = run_on("k120-story/snapshot.db.zst", &["-i", "--in", "names", "CRASHER", "pod/crasher"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.ends_with(&shown) && !said.contains("nothing found"), "{said}");
    let output = run_on("k120-story/snapshot.db.zst", &["no-such-text", "pod/web/crasher", "pod/web/nope"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("\"nope\" not found") && said.contains("nothing found") && !said.contains("of 0 versions"), "{said}");
}

#[test]
fn secrets_are_shown_by_their_flag_alone() {
    let file = "k120-story/snapshot.db.zst";
    let hidden = run_on(file, &["-e", "^[A-Za-z0-9+/=]{200,}$", "secrets", "-o", "ndjson"]);
    assert_eq!((hidden.status.code(), hidden.stdout.len()), (Some(1), 0));
    let shown = text(&["-e", "^[A-Za-z0-9+/=]{200,}$", "secrets", "-o", "ndjson", "--show-secrets"]);
    assert!(shown.lines().all(|line| line.contains("\"path\":\"data")), "{shown}");
}

#[test]
fn recovered_versions_are_found() {
    let output = run_on("k120-story/compacted.db.zst", &["tomcat:8.0", "-o", "ndjson"]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    let whole = lines(&["tomcat:8.0", "-l", "-o", "ndjson"]);
    let found = String::from_utf8(output.stdout).unwrap();
    let found: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(found.iter().all(|found| whole.iter().any(|object| object["key"] == found["key"])));
    assert!(found.iter().all(|found| found["mayBeginEarlier"] != true || found["by"].is_null()));
}
