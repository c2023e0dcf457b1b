//! `history` on recorded clusters: every change once, each patch exact, times within their bounds, folding gives the last version.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
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
    lines(&[&["-f", file.as_str(), "history", "--all", "-o", "ndjson"], flags].concat())
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

#[test]
fn every_change_is_there_once_and_every_patch_is_exact() {
    for (file, newest, patches) in
        [("k120-story", 1787, 1200), ("k136-story", 3190, 2150), ("k120-random", 4591, 2090), ("k136-random", 4887, 2540)]
    {
        let changes = history(&format!("{file}/snapshot.db.zst"), &["--show-secrets", "--show-managed-fields"]);
        let revisions: Vec<i64> = changes.iter().map(|change| change["revision"].as_i64().unwrap()).collect();
        assert_eq!(revisions, (2..=newest).collect::<Vec<_>>(), "{file}");
        let fitted = fold(&changes);
        assert!(fitted >= patches, "{file}: {fitted} patches");
    }
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
fn after_a_compaction_the_first_versions_have_no_patch() {
    let changes = history("k120-story/compacted.db.zst", &["--show-secrets"]);
    let mut seen = std::collections::HashSet::new();
    let first: Vec<&Value> = changes.iter().filter(|change| seen.insert(change["key"].as_str().unwrap())).collect();
    assert!(first.iter().all(|change| change["patch"].is_null()));
    assert!(first.iter().any(|change| change["type"] == "MODIFIED"));
}

#[test]
fn revisions_are_dated_within_their_bounds() {
    let times = zstd::decode_all(File::open(capture("k136-clock/times.jsonl.zst")).unwrap()).unwrap();
    let times = String::from_utf8(times).unwrap();
    let real: HashMap<i64, f64> = times
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["rev"].as_i64().unwrap(), line["time"].as_f64().unwrap()))
        .collect();
    let (mut inside, mut bounds, mut undated, mut last) = (0usize, Vec::new(), 0usize, f64::MIN);
    for change in history("k136-clock/snapshot.db.zst", &[]) {
        let Some(real) = real.get(&change["revision"].as_i64().unwrap()) else { continue };
        let Some(time) = change["time"].as_str() else {
            undated += 1;
            continue;
        };
        let time = time.parse::<Timestamp>().unwrap().as_microsecond() as f64 / 1e6;
        assert!(time >= last, "time runs backwards at r{}", change["revision"]);
        last = time;
        let bound = change["timeErrorSeconds"].as_f64().unwrap();
        inside += usize::from((time - real).abs() <= bound + 0.05);
        bounds.push(bound);
    }
    bounds.sort_by(f64::total_cmp);
    assert!(inside as f64 >= 0.99 * bounds.len() as f64, "{inside} of {}", bounds.len());
    assert!(bounds[bounds.len() / 2] <= 0.5);
    assert!(undated as f64 <= 0.01 * bounds.len() as f64, "{undated} undated");
}

#[test]
fn watch_of_a_file_is_the_history_from_a_revision() {
    let file = capture("k120-story/snapshot.db.zst");
    let all = lines(&["-f", &file, "history", "pod/lab/ubuntu-tainted", "-o", "ndjson"]);
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
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap()["differences"].as_array().unwrap().len())
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

#[test]
fn a_dead_kubelet_deletes_nothing() {
    // node2's kubelet is gone from 00:16:24 on; the taint manager deletes pods that have ended, and they are gone at once.
    let file = capture("k136-story/snapshot.db.zst");
    for pod in ["pod/web/indexed-0-86w4j", "pod/web/indexed-1-hj7nh", "pod/web/burst-gkggx"] {
        let changes = lines(&["-f", &file, "history", pod, "-o", "ndjson"]);
        let ends: Vec<_> = changes.iter().rev().take(2).map(|change| (&change["type"], &change["by"], &change["byFrom"])).collect();
        let by = |kind: &str| (Value::from(kind), Value::from("kube-controller-manager"), Value::from("inferred"));
        let (deleted, ended) = (by("DELETED"), by("MODIFIED"));
        assert_eq!(ends, [(&deleted.0, &deleted.1, &deleted.2), (&ended.0, &ended.1, &ended.2)], "{pod}");
    }
    // Nothing that left no record is a kubelet's between its last lease and its return, 10 s before that at most.
    let silent = |change: &&Value| (1_800..=2_770).contains(&change["revision"].as_i64().unwrap());
    let changes = history("k136-story/snapshot.db.zst", &[]);
    let by_node2 = changes.iter().filter(silent).filter(|change| change["by"] == "kubelet node2" && change["byFrom"] == "inferred");
    let late: Vec<_> = by_node2.filter(|change| change["time"].as_str() > Some("2026-11-21T00:17:05")).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn who_forces_a_deletion_is_not_the_kubelet() {
    // `kubectl delete --force` of a running pod (story.log, "namespace: lab/spread-5"): the request leaves no trace of who sent it.
    let file = capture("k136-story/snapshot.db.zst");
    let changes = lines(&["-f", &file, "history", "pod/lab/spread-5", "-o", "ndjson"]);
    let last = changes.last().unwrap();
    assert_eq!((&last["type"], &last["by"], &last["byFrom"]), (&"DELETED".into(), &Value::Null, &Value::Null));
}

#[test]
fn the_number_of_a_compaction_is_no_damage() {
    let file = capture("k136-live/member.tar.zst");
    let output = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["-f", &file, "history", "--all"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = page.lines().filter(|line| line.contains("compact_rev_key")).collect();
    assert!(!lines.is_empty() && !page.contains("cannot be decoded"), "{lines:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!errors.contains("compact_rev_key"), "{errors}");
}
