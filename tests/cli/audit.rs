//! Audit logs on the command line: beside etcd and alone, from standard input, and the users that every page names.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

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

/// All changes, with what the log says of them.
static ALL_CHANGES: LazyLock<String> = LazyLock::new(|| beside(&["history", "--all", "-o", "ndjson"]));

/// Those of one user.
static OF_ALICE: LazyLock<String> = LazyLock::new(|| beside(&["history", "--all", "--by", "alice", "-o", "ndjson"]));

/// The changes of an object, and the requests that made none.
static REQUEST_CHANGES: LazyLock<String> = LazyLock::new(|| beside(&["history", "cm/pay/settings-41", "--requests", "-o", "ndjson"]));

/// That `--user` is the same flag, `several_users_are_named_with_commas_or_one_by_one` shows.
#[test]
fn history_selects_by_user() {
    assert!(OF_ALICE.lines().count() > 20, "{}", OF_ALICE.lines().count());
    for line in OF_ALICE.lines() {
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
    beside(&["report", "cm", "-n", "pay", "--out", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("alice"));
    let tables = folder.path().join("tables");
    beside(&["export", "cm", "-n", "pay", "--out", tables.to_str().unwrap(), "--format", "ndjson", "--tables", "history"]);
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
    let lines = &*REQUEST_CHANGES;
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
    let (all, later) = (REQUEST_CHANGES.lines().count(), count(&["--since", "2026-11-24T18:38:30Z"]));
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

/// Events that are lost end the command with 2; a log that shows no object says what it is.
#[test]
fn lost_events_and_logs_without_bodies_are_said() {
    let whole = String::from_utf8(zstd::decode_all(File::open(file("full.jsonl.zst")).unwrap()).unwrap()).unwrap();
    let lines: Vec<&str> = whole.lines().take(200).collect();
    let log = temporary::file([&lines[..100], &[&lines[100][..lines[100].len() / 3]], &lines[101..]].concat().join("\n"));
    let output = run(&["-f", log.path().to_str().unwrap(), "history", "--all"], Stdio::null());
    assert!(output.status.code() == Some(2) && !output.stdout.is_empty(), "{}", said(&output));
    assert!(said(&output).contains("line 101 is cut short; its event is lost"), "{}", said(&output));
    let metadata = r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps","verb":"create","user":{"username":"carol"},"objectRef":{"resource":"configmaps","namespace":"shop","name":"a","apiVersion":"v1"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-11-24T18:37:19.698533Z","stageTimestamp":"2026-11-24T18:37:19.703509Z"}"#;
    let log = temporary::file(metadata);
    let output = run(&["-f", log.path().to_str().unwrap(), "status"], Stdio::null());
    assert!(
        output.status.code() == Some(2) && said(&output).contains("is an audit log of 1 request from 2026-11-24T"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains("-f SNAPSHOT -f LOG"), "{}", said(&output));
}

/// The users whose changes are shown.
fn users(lines: &str) -> std::collections::BTreeSet<String> {
    let user = |line: &str| serde_json::from_str::<Value>(line).unwrap()["request"]["user"].as_str().map(str::to_owned);
    lines.lines().filter_map(user).collect()
}

#[test]
fn several_users_are_named_with_commas_or_one_by_one() {
    let history = |flags: &[&str]| beside(&[&["history", "cm", "-A", "-o", "ndjson"], flags].concat());
    let (listed, repeated) = (history(&["--by", "alice,oncall"]), history(&["--by", "alice", "--by", "oncall"]));
    assert_eq!(listed, repeated);
    assert_eq!(users(&listed).into_iter().collect::<Vec<_>>(), ["alice", "oncall"]);
    assert_eq!(history(&["--user", "alice,oncall"]), listed);
    let watched = beside(&["watch", "cm", "-A", "--by", "alice,oncall", "-o", "ndjson"]);
    assert_eq!(users(&watched).into_iter().collect::<Vec<_>>(), ["alice", "oncall"]);
    // A service account is known by its short name too, which is the one that is shown.
    let account = history(&["--by", "sa:ci/deployer"]);
    assert_eq!(account, history(&["--by", "system:serviceaccount:ci:deployer"]));
    assert_eq!(users(&account).into_iter().collect::<Vec<_>>(), ["system:serviceaccount:ci:deployer"]);
}

#[test]
fn nobody_made_what_was_written_past_the_api_server() {
    let unexplained: Vec<&str> = ALL_CHANGES.lines().filter(|line| line.contains("\"unexplained\":true")).collect();
    let nobody = beside(&["history", "--all", "--by", "nobody", "-o", "ndjson"]);
    assert_eq!(nobody.lines().collect::<Vec<_>>(), unexplained);
    assert!(!unexplained.is_empty());
    let with_alice = beside(&["history", "--all", "--by", "nobody,alice", "-o", "ndjson"]);
    assert_eq!(with_alice.lines().count(), unexplained.len() + OF_ALICE.lines().count());
}

#[test]
fn every_command_about_changes_selects_by_user() {
    let timeline = beside(&["timeline", "-A", "--by", "bob,oncall"]);
    let entries: Vec<&str> = timeline.lines().filter(|line| line.contains('●')).collect();
    assert!(entries.len() > 10 && entries.iter().all(|line| line.contains("bob") || line.contains("oncall")), "{timeline}");
    let timelines = beside(&["timeline", "cm", "-A", "--by", "bob", "-o", "ndjson"]);
    let phases: Vec<Value> =
        timelines.lines().flat_map(|line| serde_json::from_str::<Value>(line).unwrap()["phases"].as_array().unwrap().clone()).collect();
    assert!(phases.len() > 3 && phases.iter().all(|phase| phase["by"] == "bob"), "{phases:?}");

    let changes = |flags: &[&str]| -> Vec<Value> {
        let words = [&["triage", "--since", "2026-11-24T18:37:30Z", "-o", "json"], flags].concat();
        serde_json::from_str::<Value>(&beside(&words)).unwrap()["changes"].as_array().unwrap().clone()
    };
    let (all, bob) = (changes(&[]), changes(&["--by", "bob"]));
    assert_eq!(bob, all.iter().filter(|change| change["by"] == "bob").cloned().collect::<Vec<_>>());
    assert!(!bob.is_empty() && bob.len() < all.len());

    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    beside(&["report", "cm", "-n", "pay", "--by", "bob", "--out", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(&page).unwrap();
    let data = page.split_once(r#"<script type="application/json" id="data">"#).unwrap().1.split_once("</script>").unwrap().0;
    let rows = serde_json::from_str::<Value>(data).unwrap()["rows"].as_array().unwrap().len();
    let written = beside(&["history", "cm", "-n", "pay", "--by", "bob", "-o", "ndjson"]);
    let objects: std::collections::BTreeSet<String> =
        written.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].to_string()).collect();
    assert_eq!(rows, objects.len());

    let tables = folder.path().join("tables");
    beside(&["export", "--out", tables.to_str().unwrap(), "--format", "ndjson", "--by", "bob"]);
    let rows: Vec<Value> = files_below(&tables)
        .iter()
        .map(|table| zstd::decode_all(File::open(table).unwrap()).unwrap())
        .flat_map(|text| String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>())
        .collect();
    assert!(rows.len() > 5 && rows.iter().all(|row| row["actor"] == "bob"), "{} rows", rows.len());
}

#[test]
fn selecting_by_user_needs_a_log() {
    let db = file("snapshot.db.zst");
    for words in ["history --all", "timeline -A", "triage", "watch pods -A", "report --out -", "export --out /dev/null/nowhere"] {
        let words: Vec<&str> = words.split(' ').chain(["--by", "alice"]).collect();
        let output = run(&[&["-f", db.as_str()], &words[..]].concat(), Stdio::null());
        assert!(output.status.code() == Some(2) && said(&output).contains("-f snapshot.db -f audit.log"), "{words:?}: {}", said(&output));
    }
}

/// If all requests of a person were refused, that is said, with the command that shows them.
#[test]
fn who_was_only_refused_did_not_do_nothing() {
    let (db, log) = (file("snapshot.db.zst"), file("full.jsonl.zst"));
    let asked = |words: &[&str]| run(&[&["-f", db.as_str(), "-f", log.as_str()], words].concat(), Stdio::null());
    for words in [
        &["history", "cm", "-A", "--by", "carol"][..],
        &["history", "-n", "pay", "--by", "alice,carol"],
        &["timeline", "-A", "--by", "carol"],
    ] {
        let output = asked(words);
        let (_, note) = said(&output)
            .split_once("carol made none of the changes, and ")
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap_or_else(|| panic!("{words:?}: {}", said(&output)));
        let line = note.lines().next().unwrap();
        assert!(line.contains("of them refused: ketcd ") && line.ends_with("--by carol --requests"), "{line}");
        let shown: Vec<&str> = line.split_once(": ketcd ").unwrap().1.split(' ').collect();
        let shown = run(&shown, Stdio::null());
        assert!(printed(&shown).contains("refused: 403"), "{line}: {}{}", printed(&shown), said(&shown));
    }
    let nobody = asked(&["history", "cm", "-A", "--by", "mallory"]);
    assert!(nobody.status.code() == Some(1) && said(&nobody).contains("the audit log holds no request of mallory"), "{}", said(&nobody));
}

#[test]
fn a_deletion_says_who_asked_for_it() {
    let gone = beside(&["history", "cm", "-A", "--verb", "delete", "-o", "ndjson"]);
    // One of each user, and of each that was impersonated.
    let mut seen = std::collections::BTreeSet::new();
    for line in gone.lines() {
        let change: Value = serde_json::from_str(line).unwrap();
        let request = &change["request"];
        let Some(user) = request["user"].as_str().filter(|_| change["type"] == "DELETED") else { continue };
        if !seen.insert((user.to_owned(), request["impersonator"].to_string())) {
            continue;
        }
        let address = format!("cm/{}/{}", change["namespace"], change["name"]).replace('"', "");
        let until = change["revision"].to_string();
        let told = beside(&["timeline", &address, "--until", &until]);
        let asked = match request["impersonator"].as_str() {
            Some(by) => format!("{user} (impersonated by {by}) asked for it"),
            None => format!("{user} asked for it"),
        };
        assert!(told.contains(&asked) && !told.contains("leaves no trace"), "{told}");
    }
    assert!(seen.len() > 2, "{gone}");
    let past = beside(&["timeline", "cm/shop/settings-31"]);
    assert!(past.contains("no request asked for it: it was deleted directly in etcd") && !past.contains("leaves no trace"), "{past}");
}

#[test]
fn a_wide_text_says_who_from_where_and_with_what() {
    let changes = beside(&["history", "cm", "-n", "shop", "--verb", "delete", "-o", "ndjson"]);
    let texts = [
        beside(&["history", "cm", "-n", "shop", "--verb", "delete", "-o", "wide"]),
        beside(&["timeline", "cm", "-n", "shop", "--verb", "delete", "-o", "wide"]),
    ];
    for line in changes.lines() {
        let change: Value = serde_json::from_str(line).unwrap();
        let request = &change["request"];
        let (client, address) = (request["userAgent"].as_str().unwrap(), request["sourceIPs"][0].as_str().unwrap());
        let name = change["name"].as_str().unwrap();
        for text in &texts {
            let is_whole = |line: &&str| line.contains(name) && line.contains(client) && line.contains(&format!("from {address}"));
            assert!(text.lines().any(|line| is_whole(&line)), "{name} {client} {address}: {text}");
        }
    }
    // The timeline names who impersonated a user, as the history does, and the tool of a deletion.
    let told = beside(&["timeline", "cm/shop/settings-64"]);
    assert!(told.contains("oncall (impersonated by kubernetes-admin)"), "{told}");
    let deleted = beside(&["history", "--all", "--verb", "delete", "--by", "alice,bob"]);
    assert!(deleted.lines().any(|line| line.contains(" (kubectl") && line.ends_with("deleted")), "{deleted}");
}

#[test]
fn service_accounts_are_short_in_text() {
    let history = beside(&["history", "-A"]);
    assert!(!history.contains("system:serviceaccount:") && history.contains("sa:kube-system/"));
    for words in [&["timeline", "-A"][..], &["blame", "deploy", "-A"], &["triage", "-o", "wide"]] {
        let text = beside(words);
        assert!(!text.contains("system:serviceaccount:"), "{words:?}");
    }
    assert!(ALL_CHANGES.contains("\"system:serviceaccount:kube-system:"), "JSON has the whole name");
}

/// A revision that no answer names is marked, in JSON too, and is none of etcd's.
#[test]
fn placed_revisions_are_marked_and_refused_by_etcd() {
    let (db, log) = (file("snapshot.db.zst"), file("eks.jsonl.zst"));
    let alone = |words: &[&str]| run(&[&["-f", log.as_str()], words].concat(), Stdio::null());
    let history = printed(&alone(&["history", "--all", "-o", "ndjson"]));
    let changes: Vec<Value> = history.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let placed = |change: &&Value| change["isPlaced"] == true;
    assert!(changes.iter().filter(placed).count() > 10 && !changes.iter().all(|change| placed(&change)));
    assert!(changes.iter().filter(placed).all(|change| change["source"] == "derived"));
    let text = printed(&alone(&["history", "--all"]));
    let marked = |text: &str| text.lines().filter(|line| line.contains(" ~r")).count();
    assert_eq!(marked(&text), changes.iter().filter(placed).count());
    let one = changes.iter().find(|change| placed(change) && change["namespace"] != "").unwrap();
    let name = format!("~r{}", one["revision"]);
    let address = format!("{}/{}/{}", one["kind"], one["namespace"], one["name"]).replace('"', "").to_lowercase();
    let told = alone(&["timeline", &address]);
    assert!(printed(&told).contains(&name), "{name}: {}{}", printed(&told), said(&told));
    // etcd's revision of that number is of something else.
    for flag in ["--rev", "--since", "--until"] {
        let refused = run(&["-f", &db, "history", "--all", flag, &name], Stdio::null());
        assert!(
            refused.status.code() == Some(2) && said(&refused).contains(&format!("{flag} {name} is a revision that ketcd assigned")),
            "{}",
            said(&refused)
        );
    }
    assert_eq!(alone(&["history", "--all", "--rev", &name]).status.code(), Some(0), "{name}");
    let between = alone(&["history", "--all", "--since", &name, "--until", &name]);
    assert!(between.status.code() == Some(1) && said(&between).contains("nothing found"), "{name}: {}", said(&between));
    let span = format!("{name}..");
    assert_eq!(run(&["-f", &db, "diff", "pods", "-A", "--rev", &span], Stdio::null()).status.code(), Some(2));
    // With etcd every change has its own.
    assert!(!beside(&["history", "--all"]).contains(" ~r") && !ALL_CHANGES.contains("isPlaced"));
}
