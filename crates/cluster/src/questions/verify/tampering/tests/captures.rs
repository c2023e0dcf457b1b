//! Recorded control planes: nothing is found in those that nobody touched, and all of what was written directly to etcd in the one that was.

use std::fs;

use serde_json::Value;

use ketcd_store::load::{AuditLogs, Limits};
use ketcd_testing::testdata;

use super::super::super::asked::VerifyAsked;
use super::super::super::finding::Weight;
use super::super::super::part::Part;
use super::super::findings;
use crate::cluster::Cluster;
use crate::options::Options;

/// What a source may be called in a capture's folder.
const SOURCE_NAMES: [&str; 5] = ["snapshot.db.zst", "compacted.db.zst", "member.tar.zst", "after.db.zst", "killed.tar.zst"];

async fn part(path: &str) -> Part {
    let path = testdata::path(path).to_str().unwrap().to_owned();
    let files = crate::files::open(&[path], &Limits::default()).unwrap();
    let cluster = Cluster::open(files.source, Options { newest_stamp: files.newest_stamp, ..Options::default() }).await.unwrap();
    findings(&cluster, &VerifyAsked::default()).await.unwrap()
}

async fn is_clean(capture: &str) {
    for source in SOURCE_NAMES.iter().map(|source| format!("captures/{capture}/{source}")) {
        if testdata::path(&source).exists() {
            let part = part(&source).await;
            assert_eq!(part.findings, [], "{source}");
            assert!(!part.checked.is_empty(), "{source}");
        }
    }
}

#[tokio::test]
async fn recorded_clusters_are_clean() {
    for capture in ["k120-story", "k136-story", "k136-kine", "k136-encrypted", "k136-cbor"] {
        is_clean(capture).await;
    }
}

#[tokio::test]
async fn every_recorded_cluster_is_clean_nightly() {
    for entry in fs::read_dir(testdata::path("captures")).unwrap() {
        is_clean(entry.unwrap().file_name().to_str().unwrap()).await;
    }
}

/// Lives of real control planes that look like tampering: `testdata/lawful`.
#[tokio::test]
async fn lawful_lives_are_clean() {
    let members = ["hands", "sealed", "bumped", "copied", "copied-by-revision", "stepped"].map(|life| format!("{life}.tar.zst"));
    for source in members.into_iter().chain(["upgraded.db.zst".to_owned()]).map(|file| format!("lawful/{file}")) {
        assert_eq!(part(&source).await.findings, [], "{source}");
    }
}

/// The key below `masterleases` was deleted by hand, as runbooks say.
#[tokio::test]
async fn a_known_recipe_is_named_as_one() {
    let findings = part("lawful/recipe.tar.zst").await.findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.weight, finding.key.as_deref()), (Weight::Low, Some("/registry/masterleases/192.0.2.1")));
    assert!(finding.evidence.iter().any(|fact| fact.contains("a known recipe")), "{finding:?}");
}

/// What was written directly to etcd: revision, key, and whether the data shows it without a log.
fn truth() -> Vec<(i64, String, bool)> {
    let lines = String::from_utf8(testdata::read("tampered/truth.jsonl.zst")).unwrap();
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| {
        let is_in_data = row["evidence"].as_array().unwrap().iter().any(|evidence| evidence == "data");
        (row["rev"].as_i64().unwrap(), row["key"].as_str().unwrap().to_owned(), is_in_data)
    })
    .collect()
}

/// Holds that all of `expected` is found, and of the rest nothing that was not written directly to etcd too.
async fn is_found(path: &str, expected: impl Fn(&(i64, String, bool)) -> bool) {
    let part = part(path).await;
    let found: Vec<(i64, String)> =
        part.findings.iter().map(|finding| (finding.revision.unwrap().0, finding.key.clone().unwrap())).collect();
    let truth = truth();
    for row in truth.iter().filter(|row| expected(row)) {
        assert!(found.iter().any(|(revision, key)| (*revision, key) == (row.0, &row.1)), "{path}: not found: {row:?}");
    }
    for (revision, key) in found {
        assert!(truth.iter().any(|row| (row.0, &row.1) == (revision, &key)), "{path}: r{revision} {key} is the API server's own");
    }
}

#[tokio::test]
async fn what_the_data_shows_is_found_in_a_database_alone() {
    is_found("tampered/db.zst", |row| row.2).await;
}

#[tokio::test]
async fn all_that_was_written_past_the_api_server_is_found_in_a_members_log() {
    is_found("tampered/member.tar.zst", |_| true).await;
}

/// Five writes were made directly in etcd: the log knows none of them, and two leave no sign in the data.
#[tokio::test]
async fn what_no_request_made_is_found_with_audit_logs() {
    let path = |name: &str| testdata::path(&format!("audit/{name}")).to_str().unwrap().to_owned();
    let found = AuditLogs::among(&[path("snapshot.db.zst"), path("full.jsonl.zst")], &Limits::default()).unwrap();
    let files = crate::files::open(&found.others, &Limits::default()).unwrap();
    let mut cluster = Cluster::open(files.source, Options::default()).await.unwrap();
    cluster.set_audit_logs(found.logs);
    let authors = String::from_utf8(testdata::read("audit/authors.jsonl.zst")).unwrap();
    let rows = authors.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let bypasses: Vec<i64> = rows.filter(|row| !row["bypass"].is_null()).map(|row| row["revision"].as_i64().unwrap()).collect();
    let part = findings(&cluster, &VerifyAsked::default()).await.unwrap();
    let found: Vec<i64> = part.findings.iter().map(|finding| finding.revision.unwrap().0).collect();
    assert_eq!((found.len(), &found), (5, &bypasses));
}
