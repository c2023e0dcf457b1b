//! `usage` on recorded clusters, held against figures counted by another reader of etcd's database.

use std::path::Path;

use serde_json::Value;

use crate::ketcd::ketcd;

fn usage(capture: &str, arguments: &[&str]) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture).join("snapshot.db.zst");
    let output = ketcd().arg("-f").arg(file).args(["usage", "-o", "json"]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The row of this name.
fn row<'a>(rows: &'a Value, name: &str) -> &'a Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {rows}"))
}

fn sum(rows: &Value, of: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[of].as_u64().unwrap()).sum()
}

/// Counted by a reader of the database that shares no code with ketcd: puts, their bytes, deletions, live keys and their bytes.
#[test]
fn sums_are_those_of_another_reader() {
    let found = usage("k120-story", &[]);
    let total = &found["total"];
    let of_total = ["writes", "writtenBytes", "deletions", "keys", "liveBytes"].map(|name| total[name].as_u64().unwrap());
    assert_eq!(of_total, [1771, 1_803_188, 15, 559, 569_535]);
    for (name, writes, bytes) in [("leases", 686, 306_432), ("events", 300, 199_029), ("pods", 189, 478_065), ("nodes", 50, 160_455)] {
        let row = row(&found["resources"], name);
        assert_eq!((row["writes"].as_u64(), row["writtenBytes"].as_u64()), (Some(writes), Some(bytes)), "{name}");
    }
    // Each way to look at it is of the same whole.
    for rows in ["resources", "namespaces", "managers"] {
        assert_eq!(sum(&found[rows], "writes"), 1771, "{rows}");
        assert_eq!(sum(&found[rows], "writtenBytes"), 1_803_188, "{rows}");
    }
    assert_eq!(found["span"]["after"], 1);
    assert!((found["historyToLive"].as_f64().unwrap() - 1_803_188.0 / 569_535.0).abs() < 1e-9);
}

#[test]
fn heartbeats_change_nothing_and_pods_do() {
    for capture in ["k120-story", "k136-story"] {
        let found = usage(capture, &[]);
        let leases = row(&found["resources"], "leases");
        assert!(leases["idle"].as_u64() > Some(600), "{capture}: {leases}");
        let (idle, compared) = (leases["idle"].as_u64().unwrap(), leases["compared"].as_u64().unwrap());
        assert!(compared - idle <= 4, "{capture}: leases are taken, then renewed: {leases}");
        assert_eq!(row(&found["resources"], "pods")["idle"], 0, "{capture}");
        assert_eq!(found["comparedEvery"], 1);
    }
}

#[test]
fn a_span_is_the_difference_of_two() {
    let writes = |arguments: &[&str]| {
        let total = usage("k120-story", arguments)["total"].clone();
        total["writes"].as_u64().unwrap() + total["deletions"].as_u64().unwrap()
    };
    // One change each revision.
    assert_eq!(writes(&["--since", "1000"]), 787);
    assert_eq!(writes(&["--since", "1000", "--rev", "1500"]), 500);
    assert_eq!(writes(&["--rev", "1000"]) + writes(&["--since", "1000"]), 1786);
    assert!(writes(&["--since", "22:20:00"]) < 787);
    // What is asked of a time before the history is counted from its beginning.
    assert_eq!(writes(&["--since", "-1h"]), 1786);
}

#[test]
fn growth_leads_to_the_quota() {
    let found = usage("k120-story", &["--quota", "1Gi"]);
    let (growth, days) = (found["liveBytesPerHour"].as_f64().unwrap(), found["daysToQuota"].as_f64().unwrap());
    let seconds = found["span"]["seconds"].as_f64().unwrap();
    // The first revision holds nothing.
    assert!((growth - 569_535.0 * 3600.0 / seconds).abs() < 1.0, "{growth}");
    let room = f64::from(1 << 30) - 2_797_568.0;
    assert!((days - room / growth / 24.0).abs() < 1e-6, "{days}");
    assert_eq!(usage("k120-story", &[])["daysToQuota"], Value::Null);
}

#[test]
fn what_is_large_and_what_is_left_behind() {
    let found = usage("k120-story", &[]);
    assert_eq!(found["largest"][0]["name"], "/registry/ranges/serviceips");
    assert_eq!(found["largest"][0]["field"], "data");
    let left = found["leftBehind"].as_array().unwrap();
    let has = |kind: &str, owner: &str, reason: &str| {
        left.iter().any(|one| one["kind"] == kind && one["owner"] == owner && one["reason"] == reason)
    };
    assert!(has("Pod", "Job", "Ended") && has("ReplicaSet", "Deployment", "Superseded"), "{left:?}");
    // Lengths of a Secret's fields are part of its secret.
    let secrets = found["largest"].as_array().unwrap().iter().filter(|one| one["name"].as_str().unwrap().starts_with("secret/"));
    assert!(secrets.clone().count() > 0 && secrets.clone().all(|one| one["field"] == Value::Null));
}

#[test]
fn a_span_that_ends_before_it_begins_is_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k120-story/snapshot.db.zst");
    for (since, says) in [("1700", "after revision 1000"), ("yesterday", "--since")] {
        let output = ketcd().arg("-f").arg(&file).args(["usage", "--rev", "1000", "--since", since]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{since}");
    }
}

/// The owners of printed objects need not be printed too.
#[test]
fn printed_objects_lack_no_owner() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pods.json");
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web", "uid": "1", "ownerReferences":
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "2"}]}}"#;
    std::fs::write(&file, pod).unwrap();
    let output = ketcd().arg("-f").arg(&file).args(["usage", "-o", "json"]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["leftBehind"].as_array().unwrap().len(), 0, "{found}");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(notes.contains("owner no longer exists are not counted: printed objects need not be all of a cluster"), "{notes}");
}
