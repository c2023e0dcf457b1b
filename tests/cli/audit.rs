//! Audit logs on the command line: beside etcd and alone, from standard input, and the users that every page names.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use ketcd_testing::{temporary, testdata};
use serde_json::Value;

fn file(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/audit").join(name).to_str().unwrap().to_owned()
}

fn run(arguments: &[&str], input: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(arguments).stdin(input).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What is printed with etcd and its log.
fn beside(arguments: &[&str]) -> String {
    let (db, log) = (file("snapshot.db.zst"), file("full.jsonl.zst"));
    let output = run(&[&["-f", db.as_str(), "-f", log.as_str()], arguments].concat(), Stdio::null());
    assert!(output.status.code() == Some(0), "{arguments:?}: {}", said(&output));
    printed(&output)
}

#[test]
fn history_selects_by_user_under_both_names() {
    let (by, user) = (["--by", "alice"], ["--user", "alice"]);
    let history = |flags: &[&str]| beside(&[&["history", "--all", "-o", "ndjson"], flags].concat());
    let (by, user) = (history(&by), history(&user));
    assert!(by == user && by.lines().count() > 20, "{}", by.lines().count());
    for line in by.lines() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["request"]["user"], "alice");
    }
    // etcd's own user is refused with files as before, where both are given.
    let db = file("snapshot.db.zst");
    let both = run(&["-f", &db, "history", "--all", "--by", "alice", "--user", "bob"], Stdio::null());
    assert!(both.status.code() == Some(2) && said(&both).contains("cannot be used with"), "{}", said(&both));
}

#[test]
fn a_log_alone_is_read_as_every_source() {
    let log = file("eks.jsonl.zst");
    let ketcd = |arguments: &[&str]| run(&[&["-f", log.as_str()], arguments].concat(), Stdio::null());
    for arguments in [&["ls", "--at", "2026-11-24T18:38:00Z", "-A"][..], &["triage"], &["explain", "--all"]] {
        let output = ketcd(arguments);
        assert!(matches!(output.status.code(), Some(0 | 1)) && !output.stdout.is_empty(), "{arguments:?}: {}", said(&output));
        let hidden: Vec<String> =
            said(&output).lines().filter(|line| line.contains("are logged without bodies")).map(str::to_owned).collect();
        assert!(hidden.len() == 1 && hidden[0].contains("configmaps"), "{arguments:?}: {hidden:?}");
    }
    let history = printed(&ketcd(&["history", "pods", "-A", "-o", "ndjson"]));
    let sources: Vec<String> =
        history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["source"].as_str().unwrap().to_owned()).collect();
    assert!(sources.contains(&"auditlog".to_owned()) && sources.contains(&"derived".to_owned()));
    let status = printed(&ketcd(&["status"]));
    assert!(status.contains("begins") && !status.contains("compacted"), "{status}");
}

#[test]
fn a_log_alone_begins_somewhere_and_was_not_compacted() {
    let whole = String::from_utf8(testdata::read("audit/full.jsonl.zst")).unwrap();
    let log = temporary::file(whole.lines().skip(1500).collect::<Vec<_>>().join("\n"));
    let status = |format: &str| printed(&run(&["-f", log.path().to_str().unwrap(), "status", "-o", format], Stdio::null()));
    let text = status("table");
    assert!(text.contains("begins") && !text.contains("compacted"), "{text}");
    let revisions = &serde_json::from_str::<Value>(&status("json")).unwrap()["revisions"];
    assert!(revisions["compacted"].is_null() && revisions["oldestReadable"].as_i64() > Some(1), "{revisions}");
}

#[test]
fn a_log_comes_through_standard_input() {
    let input = || Stdio::from(File::open(file("metadata.jsonl.zst")).unwrap());
    let db = file("snapshot.db.zst");
    let with_etcd = run(&["-f", &db, "-f", "-", "history", "--all", "--by", "alice"], input());
    assert!(with_etcd.status.success() && printed(&with_etcd).contains("alice"), "{}", said(&with_etcd));
    let alone = run(&["-f", "-", "ls", "pods", "-A"], Stdio::from(File::open(file("full.jsonl.zst")).unwrap()));
    assert!(alone.status.success() && !alone.stdout.is_empty(), "{}", said(&alone));
}

/// The files in a folder and in those below it.
fn files_below(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn triage_reports_and_exports_name_the_users() {
    assert!(beside(&["triage", "--at", "2026-11-24T18:38:00Z", "-o", "json", "--no-pager"]).contains("\"alice\""));
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    beside(&["report", "--out", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("alice"));
    let tables = folder.path().join("tables");
    beside(&["export", "--out", tables.to_str().unwrap(), "--format", "ndjson", "--tables", "history"]);
    assert!(
        files_below(&tables)
            .iter()
            .any(|table| zstd::decode_all(File::open(table).unwrap()).unwrap().windows(5).any(|text| text == b"alice"))
    );
}

#[test]
fn a_damaged_line_accuses_nobody() {
    let whole = String::from_utf8(zstd::decode_all(File::open(file("full.jsonl.zst")).unwrap()).unwrap()).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    // The line of a creation, cut.
    let cut = &lines[100][..lines[100].len() / 3];
    let mut log = tempfile::NamedTempFile::new().unwrap();
    log.write_all([&lines[..100], &[cut], &lines[101..]].concat().join("\n").as_bytes()).unwrap();
    let (db, log) = (file("snapshot.db.zst"), log.path().to_str().unwrap().to_owned());
    let output = run(&["-f", &db, "-f", &log, "history", "--all", "-o", "ndjson"], Stdio::null());
    assert!(said(&output).contains("line 101 is cut short"), "{}", said(&output));
    let unexplained = printed(&output).lines().filter(|line| line.contains("\"unexplained\":true")).count();
    assert_eq!(unexplained, 5);
}

/// A must-gather has logs of the API server that seldom hold what was changed.
#[test]
fn a_log_without_changes_leaves_objects_as_they_were_printed() {
    let folder = tempfile::tempdir().unwrap();
    let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", "resourceVersion": "8"}}"#;
    std::fs::write(folder.path().join("objects.json"), object).unwrap();
    let request = concat!(
        r#"{"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "1", "stage": "ResponseComplete", "verb": "list", "#,
        r#""requestURI": "/api/v1/pods", "user": {"username": "a"}, "objectRef": {"resource": "pods", "apiVersion": "v1"}, "responseStatus": {"code": 200}, "#,
        r#""requestReceivedTimestamp": "2026-11-24T01:00:00.000000Z", "stageTimestamp": "2026-11-24T01:00:00.000000Z"}"#,
        "\n"
    );
    std::fs::write(folder.path().join("audit.log"), request).unwrap();
    let output = run(&["-f", folder.path().to_str().unwrap(), "status"], Stdio::null());
    assert!(printed(&output).contains("API objects, no history"), "{}{}", printed(&output), said(&output));
}

#[test]
fn requests_without_a_change_stand_between_the_changes() {
    let text = beside(&["history", "cm/pay/settings-41", "--requests", "--verb", "get", "--by", "carol"]);
    assert!(text.contains("! carol (kubectl)") && text.contains("get refused: 403 Forbidden"), "{text}");
    let lines = beside(&["history", "cm/pay/settings-41", "--requests", "-o", "ndjson"]);
    let documents: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times: Vec<&str> = documents.iter().filter_map(|document| document["time"].as_str()).collect();
    assert!(times.is_sorted(), "{times:?}");
    let of = |kind: &str| documents.iter().filter(|document| document["type"] == kind).count();
    assert!(of("ADDED") == 1 && of("REQUEST") > 3, "{lines}");
    let tried = documents.iter().find(|document| document["outcome"] == "dryRun").unwrap();
    assert_eq!((&tried["request"]["user"], &tried["scope"]), (&Value::from("oncall"), &Value::from("object")));
    // The changes are the same as without.
    let changes = beside(&["history", "cm/pay/settings-41", "-o", "ndjson"]);
    let kept: Vec<&str> = lines.lines().filter(|line| !line.contains("\"REQUEST\"")).collect();
    assert_eq!(changes.lines().collect::<Vec<_>>(), kept);
    let whole: Value = serde_json::from_str(&beside(&["history", "cm/pay/settings-41", "--requests", "-o", "json"])).unwrap();
    assert_eq!(whole["items"].as_array().unwrap().len(), documents.len());
}

#[test]
fn requests_are_shown_within_the_time_asked_for_and_from_a_log_alone() {
    let count = |arguments: &[&str]| {
        beside(&[&["history", "cm/pay/settings-41", "--requests", "-o", "ndjson"], arguments].concat()).lines().count()
    };
    let (all, later) = (count(&[]), count(&["--since", "2026-11-24T18:38:30Z"]));
    let earlier = count(&["--until", "2026-11-24T18:38:30Z"]);
    assert!(later > 0 && earlier > 0 && later + earlier == all, "{earlier} and {later} of {all}");
    let log = file("metadata.jsonl.zst");
    let alone = run(&["-f", &log, "history", "cm/pay/settings-41", "--requests", "--by", "carol"], Stdio::null());
    assert!(printed(&alone).contains("get refused: 403 Forbidden"), "{}{}", printed(&alone), said(&alone));
    let none = run(&["-f", &file("snapshot.db.zst"), "history", "cm/pay/settings-41", "--requests"], Stdio::null());
    assert!(none.status.code() == Some(2) && said(&none).contains("--requests") && said(&none).contains("-f audit.log"), "{}", said(&none));
}

/// A watch of the object, as the log has it when it begins and when it ends.
#[test]
fn a_watch_that_goes_on_is_shown_as_one() {
    let event = |stage: &str, id: &str, second: u8| {
        serde_json::json!({"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id, "stage": stage, "verb": "watch",
            "requestURI": "/api/v1/namespaces/pay/configmaps?watch=true", "user": {"username": "mallory"}, "userAgent": "kubectl/v1.37.2",
            "objectRef": {"resource": "configmaps", "namespace": "pay", "name": "settings-41", "apiVersion": "v1"}, "responseStatus": {"code": 200},
            "requestReceivedTimestamp": "2026-11-24T18:38:30Z", "stageTimestamp": format!("2026-11-24T18:38:{second}Z")})
    };
    let mut log = tempfile::NamedTempFile::new().unwrap();
    for (stage, id, second) in [
        ("ResponseStarted", "goes-on", 30),
        ("ResponseStarted", "ended", 30),
        ("ResponseComplete", "ended", 40),
        ("ResponseStarted", "goes-on", 30),
    ] {
        writeln!(log, "{}", event(stage, id, second)).unwrap();
    }
    let requests = ["-f", log.path().to_str().unwrap(), "history", "cm/pay/settings-41", "--requests", "--by", "mallory"];
    let text = beside(&requests);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("mallory")).collect();
    assert!(lines.len() == 2 && lines.iter().filter(|line| line.ends_with("watch, not ended in the log")).count() == 1, "{text}");
}
