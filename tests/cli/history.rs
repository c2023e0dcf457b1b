//! What `history`, `watch`, `diff` and `get --with-config` print as JSON: every change once, each patch exact, folding gives the last version.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

fn capture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).to_str().unwrap().to_owned()
}

fn ketcd(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(arguments: &[&str]) -> Vec<Value> {
    ketcd(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn history(file: &str, flags: &[&str]) -> Vec<Value> {
    let file = capture(file);
    lines(&[&["-f", file.as_str(), "history", "--all", "--objects", "-o", "ndjson"], flags].concat())
}

/// Folds the patches of every key from its first version and holds each result against the version shown. Returns how many fitted.
fn fold(changes: &[Value]) -> usize {
    let mut states: HashMap<&str, Value> = HashMap::new();
    let mut fitted = 0;
    for change in changes {
        let key = change["key"].as_str().unwrap();
        let object = &change["object"];
        if let Some(state) = states.get_mut(key).filter(|_| change["patch"].is_array()) {
            let patch: json_patch::Patch = serde_json::from_value(change["patch"].clone()).unwrap();
            json_patch::patch(state, &patch).unwrap();
            assert_eq!(state, object, "{} r{}", key, change["revision"]);
            fitted += 1;
        } else {
            assert_ne!(change["type"], "DELETED", "{key} r{}: a deletion without a version before", change["revision"]);
            states.insert(key, object.clone());
        }
    }
    fitted
}

/// A capture has every revision up to its newest, and as many patches that fold.
fn is_whole(file: &str, newest: i64, patches: usize) {
    let changes = history(&format!("{file}/snapshot.db.zst"), &["--show-secrets", "--show-managed-fields"]);
    let revisions: Vec<i64> = changes.iter().map(|change| change["revision"].as_i64().unwrap()).collect();
    assert_eq!(revisions, (2..=newest).collect::<Vec<_>>(), "{file}");
    let fitted = fold(&changes);
    assert!(fitted >= patches, "{file}: {fitted} patches");
}

#[test]
fn every_change_is_there_once_and_every_patch_is_exact() {
    is_whole("k120-story", 1787, 1200);
}

#[test]
fn every_change_is_there_once_and_every_patch_is_exact_in_other_clusters_nightly() {
    is_whole("k136-story", 3190, 2150);
    is_whole("k120-random", 4591, 2090);
    is_whole("k136-random", 4887, 2540);
}

/// The whole object is most of a change: it is printed only where it is asked for, and every change says which object it is of.
#[test]
fn changes_name_their_objects_and_hold_them_only_if_asked() {
    let file = capture("k120-story/snapshot.db.zst");
    let without = lines(&["-f", &file, "history", "--all", "-o", "ndjson"]);
    let with = history("k120-story/snapshot.db.zst", &[]);
    let bytes = |changes: &[Value]| changes.iter().map(|change| change.to_string().len()).sum::<usize>();
    assert!(bytes(&without) * 2 < bytes(&with), "{} and {} bytes", bytes(&without), bytes(&with));
    assert_eq!(without.len(), with.len());
    for (mut change, without) in with.into_iter().zip(without) {
        let object = change.as_object_mut().unwrap().remove("object").unwrap();
        assert_eq!(change, without);
        assert!(change["type"] != "DELETED" || object.is_null(), "{change}");
        let metadata = &object["metadata"];
        if let (Some(kind), Some(name)) = (object["kind"].as_str(), metadata["name"].as_str()) {
            // The API server's own counters have neither a kind of their own nor a name.
            let is_special = change["kind"] == "";
            assert!(is_special || (&change["kind"], &change["name"]) == (&kind.into(), &name.into()), "{change}");
            assert!(is_special || change["namespace"] == metadata["namespace"].as_str().unwrap_or_default(), "{change}");
        }
    }
    let list: Value = serde_json::from_str(&ketcd(&["-f", &file, "history", "pods", "-A", "-o", "json"])).unwrap();
    assert_eq!(list["kind"], "List");
    let items = list["items"].as_array().unwrap();
    assert!(
        items.len() > 100 && items.iter().all(|change| change["kind"] == "Pod" && change["name"] != "" && change.get("object").is_none())
    );
}

#[test]
fn masked_changes_fold_as_well_and_hold_no_secret() {
    let changes = history("k120-story/snapshot.db.zst", &[]);
    assert!(fold(&changes) > 1000);
    let secrets: Vec<&Value> = changes.iter().filter(|change| change["object"]["kind"] == "Secret").collect();
    assert!(!secrets.is_empty());
    for change in secrets {
        let values = change["object"]["data"].as_object().into_iter().flatten();
        assert!(values.into_iter().all(|(_, value)| value == "***"), "{change}");
        assert!(change["object"]["metadata"].get("managedFields").is_none());
    }
}

#[test]
fn watch_of_a_file_is_the_history_from_a_revision() {
    let file = capture("k120-story/snapshot.db.zst");
    let all = lines(&["-f", &file, "history", "pod/lab/ubuntu-tainted", "--objects", "-o", "ndjson"]);
    let watched = lines(&["-f", &file, "watch", "pod/lab/ubuntu-tainted", "--from-rev", "394", "-o", "ndjson"]);
    let wanted: Vec<&Value> = all.iter().filter(|change| change["revision"].as_i64() >= Some(394)).collect();
    assert_eq!(watched.iter().collect::<Vec<_>>(), wanted);
    assert!(watched[0]["patch"].is_array());
}

#[test]
fn a_difference_is_exit_one_and_equality_is_exit_zero() {
    let file = capture("k120-story/snapshot.db.zst");
    let run = |span: &str| {
        let arguments = ["-f", file.as_str(), "diff", "nodes", "--rev", span, "-o", "json"];
        let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).output().unwrap();
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap()["items"].as_array().unwrap().len())
    };
    assert_eq!(run("400..400"), (Some(0), 0));
    let (code, found) = run("400..440");
    assert_eq!(code, Some(1));
    assert!(found >= 3);
}

#[test]
fn a_pod_shows_the_configuration_it_started_with() {
    let file = capture("k120-story/snapshot.db.zst");
    let text = ketcd(&["-f", &file, "get", "pod/web/crasher", "--with-config", "-o", "json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    let config = found["config"].as_array().unwrap().iter().find(|config| config["kind"] == "ConfigMap").unwrap();
    assert_eq!(config["name"], "app-config");
    assert!(found["startedRevision"].as_i64().unwrap() > 969);
    let mut then = config["atStart"].clone();
    let patch: json_patch::Patch = serde_json::from_value(config["changedSince"].clone()).unwrap();
    json_patch::patch(&mut then, &patch).unwrap();
    let now: Value = serde_json::from_str(&ketcd(&["-f", &file, "get", "configmap/web/app-config", "-o", "json"])).unwrap();
    assert_eq!(then["data"], now["data"]);
    let early: Value = serde_json::from_str(&ketcd(&["-f", &file, "get", "pod/web/db-0", "--with-config", "-o", "json"])).unwrap();
    let secret = early["config"].as_array().unwrap().iter().find(|config| config["kind"] == "Secret").unwrap();
    assert!(secret["atStart"]["data"].as_object().unwrap().values().all(|value| value == "***"));
}
