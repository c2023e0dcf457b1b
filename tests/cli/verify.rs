//! `verify`: verdicts and exit codes of recorded clusters and of damaged copies. Its model is in `ketcd-cluster`'s tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use ketcd_testing::testdata;
use serde_json::Value;

use crate::ketcd::{all, ketcd};

/// A moment after the recorded cluster's last write.
const NOW_TIME: &str = "2026-11-20T22:50:00Z";

fn capture(name: &str) -> PathBuf {
    testdata::path(&format!("captures/{name}"))
}

fn run(words: &[&str]) -> Output {
    ketcd().arg("verify").args(words).args(["--now", NOW_TIME]).output().unwrap()
}

#[track_caller]
fn first_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_else(|| panic!("{}", all(output))).to_owned()
}

/// The document of a file, whose verdict goes with the exit code.
#[track_caller]
fn document(path: &Path, more: &[&str]) -> Value {
    let output = run(&[&[path.to_str().unwrap(), "-o", "json"], more].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", all(&output)));
    let code = match document["verdict"].as_str().unwrap() {
        "good" => 0,
        "findings" => 1,
        "bad" => 2,
        other => panic!("{other}"),
    };
    assert_eq!(output.status.code(), Some(code), "{}", all(&output));
    document
}

/// The recorded snapshot, changed.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot.db");
    let mut bytes = testdata::read("captures/k120-story/snapshot.db.zst");
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn a_good_snapshot_says_what_that_rests_on() {
    let output = run(&[capture("k120-story/snapshot.db.zst").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    let line = first_line(&output);
    assert!(line.starts_with("GOOD: ") && line.ends_with("25 min old, 559 keys, SHA-256 holds, every value decodes"), "{line}");
    assert!(all(&output).contains("HashKV        2639838306 at revision 1787, nothing compacted"), "{}", all(&output));
    let document = document(&capture("k120-story/snapshot.db.zst"), &[]);
    assert_eq!(document["hashKv"], serde_json::json!({"compactRevision": -1, "hash": 2_639_838_306_u32, "revision": 1787}));
    assert_eq!((&document["keys"], &document["revisions"]["newest"]), (&Value::from(559), &Value::from(1787)));
}

#[test]
fn nobody_tampered_with_the_recorded_clusters() {
    for name in [
        "k120-story/compacted.db.zst",
        "k136-story/snapshot.db.zst",
        "k136-story/member.tar.zst",
        "k136-kine/killed.tar.zst",
        "k136-cbor/snapshot.db.zst",
    ] {
        let document = document(&capture(name), &[]);
        assert_ne!(document["verdict"], "bad", "{name}: {document:#}");
        let is_tampering = |finding: &&Value| finding["kind"] == "tampering";
        assert_eq!(document["findings"].as_array().unwrap().iter().find(is_tampering), None, "{name}");
    }
}

#[test]
fn a_changed_byte_makes_it_bad() {
    let (_folder, path) = changed(|bytes| {
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
    });
    let document = document(&path, &[]);
    assert_eq!(document["verdict"], "bad");
    assert!(document["findings"].as_array().unwrap().iter().any(|finding| finding["kind"] == "checksum"), "{document:#}");
    assert!(first_line(&run(&[path.to_str().unwrap()])).starts_with("BAD: "));
}

#[test]
fn a_file_that_is_cut_short_or_no_database_is_bad() {
    for keep in [1_000_000, 40_000, 0] {
        let (_folder, path) = changed(|bytes| bytes.truncate(keep));
        assert_eq!(document(&path, &[])["verdict"], "bad", "{keep}");
    }
}

/// The newest night was interrupted: what is read of the folder is whole, and not what was meant.
#[test]
fn a_folder_whose_newest_backup_is_unfinished_has_a_finding() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for (capture, night) in [("earlier", "night-1.db.zst"), ("snapshot", "night-2.db.zst")] {
        fs::copy(testdata::path(&format!("captures/k120-story/{capture}.db.zst")), file(night)).unwrap();
    }
    let part = &testdata::read("captures/k120-story/snapshot.db.zst")[..20_000];
    fs::write(file("night-3.db.part"), part).unwrap();
    let of_the_part = |document: &Value| {
        let findings = document["findings"].as_array().unwrap().iter();
        let says: Vec<String> = findings.map(|finding| finding["says"].as_str().unwrap().to_owned()).collect();
        says.into_iter().find(|says| says.contains("night-3.db.part is not read: ")).unwrap_or_else(|| panic!("{document:#}"))
    };
    let several = document(folder.path(), &[]);
    assert_eq!(several["verdict"], "findings");
    let newest = format!("; the newest whole file is {}, up to revision 1787", file("night-2.db.zst").display());
    let says = of_the_part(&several);
    assert!(says.ends_with(&newest), "{says}");
    assert!(!several["notChecked"].to_string().contains("night-3"), "{several:#}");
    assert!(first_line(&run(&[folder.path().to_str().unwrap()])).starts_with("FINDINGS: "));
    // A damaged one is not whole.
    let mut bytes = testdata::read("captures/k120-story/snapshot.db.zst");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(file("night-2.db"), bytes).unwrap();
    fs::remove_file(file("night-2.db.zst")).unwrap();
    let damaged = document(folder.path(), &[]);
    assert_eq!(damaged["verdict"], "bad");
    let says = of_the_part(&damaged);
    assert!(says.ends_with(&format!("; the newest whole file is {}, up to revision 560", file("night-1.db.zst").display())), "{says}");
    // One alone.
    fs::remove_file(file("night-2.db")).unwrap();
    let says = of_the_part(&document(folder.path(), &[]));
    assert!(says.ends_with(&format!("; the file that is read is {}", file("night-1.db.zst").display())), "{says}");
}

#[test]
fn what_was_not_checked_stands_in_the_line() {
    let (_folder, path) = changed(|bytes| bytes.truncate(bytes.len() - 32));
    let output = run(&[path.to_str().unwrap()]);
    let line = first_line(&output);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    assert!(
        line.starts_with("GOOD as a file: ") && line.ends_with("; not checked: no SHA-256 in it, a changed value cannot be noticed"),
        "{line}"
    );
}

#[test]
fn a_member_has_a_log_that_agrees() {
    let document = document(&capture("k136-story/member.tar.zst"), &[]);
    let log = &document["log"];
    assert!(log["applied"].as_u64() <= log["commit"].as_u64() && log["first"] == 1, "{log}");
    assert!(document["checked"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().starts_with("database and log agree")));
}

#[test]
fn sealed_values_without_their_keys_are_not_checked() {
    let sealed = document(&capture("k120-encrypted/snapshot.db.zst"), &[]);
    assert!(sealed["notChecked"].to_string().contains("sealed by aescbc"), "{:#}", sealed["notChecked"]);
    let keys = capture("k120-encrypted/encryption-config.yaml");
    let opened = document(&capture("k120-encrypted/snapshot.db.zst"), &["--encryption-config", keys.to_str().unwrap()]);
    assert!(!opened["notChecked"].to_string().contains("sealed"), "{:#}", opened["notChecked"]);
}

#[test]
fn age_comparison_and_metrics_are_for_cron() {
    let file = capture("k120-story/snapshot.db.zst");
    let old = document(&file, &["--max-age", "10m"]);
    assert_eq!((&old["verdict"], &old["findings"][0]["kind"]), (&Value::from("findings"), &Value::from("age")));
    assert_eq!(document(&file, &["--max-age", "1h"])["verdict"], "good");
    let other = capture("k136-story/snapshot.db.zst");
    let other = document(&file, &["--against", other.to_str().unwrap()]);
    assert!(other["findings"].to_string().contains("of another cluster"), "{:#}", other["findings"]);
    let same = capture("k120-story/compacted.db.zst");
    assert_eq!(document(&file, &["--against", same.to_str().unwrap()])["verdict"], "good");
    let metrics = run(&[file.to_str().unwrap(), "-o", "metrics"]);
    let text = String::from_utf8(metrics.stdout).unwrap();
    assert!(text.contains("\nketcd_verify_verdict{source=") && text.lines().all(|line| line.starts_with(['#', 'k'])), "{text}");
}

#[test]
fn an_upgrade_is_held_against_the_table_of_the_target() {
    let file = capture("k120-story/snapshot.db.zst");
    let upgrades = |target: &str| {
        let document = document(&file, &["--target", target]);
        document["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "upgrade").count()
    };
    assert!(upgrades("1.25") > 0);
    // What 1.20 stores, it serves.
    assert_eq!(upgrades("1.20"), 0);
}

/// With the audit log as another file, the clients of versions that go are named.
#[test]
fn an_audit_log_names_the_clients_that_an_upgrade_breaks() {
    let [snapshot, log] = ["snapshot.db.zst", "metadata.jsonl.zst"].map(|name| testdata::path(&format!("audit/{name}")));
    let words = ["verify", "--now", NOW_TIME, "--target", "1.28", "-o", "json"];
    let document = |files: &[&PathBuf]| -> Value {
        let output = files.iter().fold(&mut ketcd(), |command, file| command.arg("-f").arg(file)).args(words).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", all(&output)))
    };
    let with = document(&[&snapshot, &log]);
    let upgrades = with["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == "upgrade");
    let evidence: Vec<String> = upgrades.map(|finding| finding["evidence"].to_string()).collect();
    assert!(evidence.iter().any(|facts| facts.contains("\"user ") && facts.contains(" with kube-apiserver/v1.37")), "{evidence:?}");
    let without = document(&[&snapshot]);
    assert!(without["notChecked"].to_string().contains("-f AUDIT_LOG names them"), "{:#}", without["notChecked"]);
}

#[test]
fn several_files_are_ranked() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.db");
    let mut bytes = testdata::read("captures/k136-story/snapshot.db.zst");
    bytes.truncate(1_000_000);
    fs::write(&cut, bytes).unwrap();
    let files =
        [cut, capture("k136-story/snapshot.db.zst"), capture("k136-story/compacted.db.zst")].map(|path| path.to_str().unwrap().to_owned());
    let output = run(&[&files[0], &files[1], &files[2], "-o", "json"]);
    assert_eq!(output.status.code(), Some(2), "{}", all(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> =
        document["sources"].as_array().unwrap().iter().map(|one| one["verification"]["name"].as_str().unwrap()).collect();
    // The compacted one is newer.
    assert_eq!(names, [&files[2], &files[1], &files[0]]);
    assert_eq!(document["sources"][1]["lacks"], "lacks the last 11 revisions");
}

#[test]
fn files_are_words_or_flags() {
    let file = capture("k120-story/snapshot.db.zst");
    let both = ketcd().arg("-f").arg(&file).arg("verify").arg(&file).output().unwrap();
    assert!(both.status.code() == Some(2) && all(&both).contains("takes no -f"), "{}", all(&both));
    let flag = ketcd().arg("-f").arg(&file).args(["verify", "--now", NOW_TIME]).output().unwrap();
    assert_eq!(flag.stdout, run(&[file.to_str().unwrap()]).stdout);
    let missing = run(&["/nowhere.db"]);
    assert!(missing.status.code() == Some(2) && missing.stdout.is_empty(), "{}", all(&missing));
}
