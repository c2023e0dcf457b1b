//! What every command really prints, in every form and over several captures, is what its schema says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ketcd_render::contract::JSON_CONTRACTS;
use serde_json::{Value, json};

use super::{root, schema};
use ketcd_testing::data_dir::data_dir;

/// The schemas by command.
static SCHEMAS_BY_COMMAND: LazyLock<BTreeMap<&str, Value>> =
    LazyLock::new(|| JSON_CONTRACTS.iter().map(|contract| (contract.command, contract.schema())).collect());

/// The schema of one document of a command: one of the alternatives of which the whole schema consists, so that what fits it fits the whole.
fn part(command: &str, document: &str) -> Value {
    let schema = &SCHEMAS_BY_COMMAND[command];
    let reference = format!("#/$defs/{document}");
    let alternatives = schema["anyOf"].as_array().unwrap_or_else(|| panic!("{command} has one document"));
    assert!(alternatives.iter().any(|one| one["$ref"] == reference), "{command} has no document {document}");
    let others = ["$defs", "$id", "$schema", "anyOf", "description", "title"];
    assert!(schema.as_object().unwrap().keys().all(|keyword| others.contains(&keyword.as_str())), "the schema of {command} says more");
    json!({"$defs": schema["$defs"], "$ref": reference})
}

/// Where a command reads.
#[derive(Clone, Copy)]
enum From {
    /// A capture's file.
    Capture(&'static str),
    /// The story's snapshot with undecodable values.
    Damaged,
    /// Pods and nodes as kubectl prints them.
    Objects,
    /// Hostile objects.
    Hostile,
    /// Nowhere.
    Nothing,
}

static WORK_FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

static DAMAGED_FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let snapshot = root().join("testdata/captures/k136-story/snapshot.db.zst");
    let mut bytes = zstd::decode_all(fs::File::open(snapshot).unwrap()).unwrap();
    let magic = b"k8s\0\n";
    let places: Vec<usize> = (0..bytes.len() - 20).filter(|&at| bytes[at..].starts_with(magic)).collect();
    for at in places.iter().step_by(9) {
        bytes[at + 4..at + 20].fill(0xff);
    }
    let path = WORK_FOLDER.path().join("damaged.db");
    fs::write(&path, bytes).unwrap();
    path
});

static OBJECTS_FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = WORK_FOLDER.path().join("objects.json");
    fs::write(&path, run(From::Capture("k136-story/snapshot.db.zst"), "get pods,nodes,deployments,secrets -A -o json", "").0).unwrap();
    path
});

/// Runs a command; returns what it printed and the exit code.
fn run(from: From, command: &str, input: &str) -> (String, i32) {
    let captures = root().join("testdata/captures");
    let file = match from {
        From::Capture(name) => Some(captures.join(name)),
        From::Damaged => Some(DAMAGED_FILE.clone()),
        From::Objects => Some(OBJECTS_FILE.clone()),
        From::Hostile => Some(root().join("testdata/hostile/snapshot.db.zst")),
        From::Nothing => None,
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_ketcd"));
    child.current_dir(captures).args(command.split_whitespace());
    if let Some(file) = file {
        child.arg("-f").arg(file);
    }
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

/// Holds what a command prints against its schema and against the document of it that this form prints; returns the documents.
#[track_caller]
fn check(from: From, command: &str, document: &str, code: i32) -> Vec<Value> {
    check_input(from, command, "", document, code)
}

#[track_caller]
fn check_input(from: From, command: &str, input: &str, document: &str, code: i32) -> Vec<Value> {
    let (printed, exit) = run(from, command, input);
    assert_eq!(exit, code, "{command}");
    documents(command, document, &printed)
}

/// The documents that a command printed, held against the schema of this one, or against the whole where none is named.
#[track_caller]
fn documents(command: &str, document: &str, printed: &str) -> Vec<Value> {
    let name = command.split_whitespace().next().unwrap();
    let by_line = command.contains("ndjson") || command.contains("--lines");
    let parse = |text: &str| -> Value { serde_json::from_str(text).unwrap_or_else(|error| panic!("{command}: {error}: {text}")) };
    let documents: Vec<Value> = if by_line { printed.lines().map(parse).collect() } else { vec![parse(printed)] };
    let schema = if document.is_empty() { SCHEMAS_BY_COMMAND[name].clone() } else { part(name, document) };
    for of in &documents {
        schema::check(&schema, of).unwrap_or_else(|fault| panic!("{command}: {document}: {}", fault.of(of)));
    }
    documents
}

const EXAMPLE_SOURCES: [From; 4] =
    [From::Capture("k120-story/snapshot.db.zst"), From::Capture("k136-story/compacted.db.zst"), From::Damaged, From::Hostile];
const STORY_SOURCE: From = From::Capture("k136-story/snapshot.db.zst");

/// The exit code of damaged data is 2.
fn code(from: From, clean: i32) -> i32 {
    if matches!(from, From::Damaged) { 2 } else { clean }
}

#[test]
fn status() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects, From::Capture("k136-encrypted/snapshot.db.zst")]) {
        check(from, "status -o json", "", code(from, 0));
    }
    let directory = data_dir("k136-live/member.tar.zst");
    let status = &check(From::Nothing, &format!("status -o json -f {}", directory.path().display()), "", 0)[0];
    assert_eq!(status["source"]["kind"], "dataDir");
}

#[test]
fn troubles() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        check(from, "triage -o json", "", code(from, 0));
    }
    let found = &check(STORY_SOURCE, "triage --at 00:22:15 -o json", "", 0)[0];
    let earlier = WORK_FOLDER.path().join("earlier.json");
    fs::write(&earlier, run(STORY_SOURCE, "triage --at 00:20:15 -o json", "").0).unwrap();
    check(STORY_SOURCE, &format!("triage --at 00:22:15 --since-last {} -o json", earlier.display()), "", 0);
    assert!(["changes", "findings", "windows"].iter().all(|part| !found[part].as_array().unwrap().is_empty()), "{found}");
}

#[test]
fn usages() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        check(from, "usage -o json", "Usage", code(from, 0));
    }
    // The lines are rows of the whole.
    for from in [EXAMPLE_SOURCES[0], From::Hostile, From::Objects] {
        check(from, "usage -o ndjson", "UsageRow", 0);
    }
}

#[test]
fn verifications() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects, From::Capture("k136-encrypted/snapshot.db.zst")]) {
        let (printed, _) = run(from, "verify --target 1.37 -o json", "");
        let found = &documents("verify --target 1.37 -o json", "Verification", &printed)[0];
        assert!(!matches!(from, From::Damaged) || found["verdict"] == "bad", "{found}");
    }
    let files = ["k136-story/snapshot.db.zst", "k136-story/member.tar.zst"]
        .map(|file| root().join("testdata/captures").join(file).display().to_string());
    let several = format!("verify {} -o json", files.join(" "));
    let ranked = &documents(&several, "Ranking", &run(From::Nothing, &several, "").0)[0];
    assert_eq!(ranked["sources"].as_array().unwrap().len(), 2);
}

#[test]
fn rehearsals() {
    let now = "--now 2026-11-30T22:50:00Z -o json";
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Capture("k136-encrypted/snapshot.db.zst")]) {
        let alone = format!("rehearse {now}");
        let (printed, _) = run(from, &alone, "");
        documents(&alone, "Rehearsal", &printed);
    }
    let [older, newest] = ["k136-story/snapshot.db.zst", "k136-story/compacted.db.zst"]
        .map(|file| root().join("testdata/captures").join(file).display().to_string());
    let both = format!("rehearse {older} --over {newest} {now}");
    let found = &documents(&both, "Rehearsal", &run(From::Nothing, &both, "").0)[0];
    assert_eq!(found["lostRevisions"], 11);
    let done = format!("rehearse {older} --done {newest} {now}");
    documents(&done, "Scores", &run(From::Nothing, &done, "").0);
}

#[test]
fn what_ifs() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        let (printed, _) = run(from, "what-if --each node -o json", "");
        documents("what-if --each node -o json", "WhatIf", &printed);
        let (printed, exit) = run(from, "what-if --spare --each zone -o ndjson", "");
        if exit < 2 {
            documents("what-if --spare --each zone -o ndjson", "WhatIf", &printed);
        }
    }
    let whatif = From::Capture("k137-whatif/snapshot.db.zst");
    let drained = &check(whatif, "what-if --rev 1453 --drain w09 --seeds 3 -o json", "WhatIf", 1)[0];
    assert_eq!(drained["futures"]["count"], 3);
    assert!(!drained["events"].as_array().unwrap().is_empty() && !drained["summary"]["waiting"].as_array().unwrap().is_empty());
    let fit = &check(whatif, "what-if --rev 3082 --fit deploy/shop/fit-10 -o json", "WhatIf", 0)[0];
    assert_eq!(fit["fit"]["count"], 1);
    let judged = &check(STORY_SOURCE, "what-if --decisions --scheduler-version 1.30 -o json", "Decisions", 1)[0];
    assert!(!judged["decisions"].as_array().unwrap().is_empty());
}

#[test]
fn listings() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        check(from, "ls --all -A -o json", "List", code(from, 0));
        check(from, "get pods -A -o json", "List", code(from, 0));
        check(from, "ls -o ndjson", "KindCount", code(from, 0));
        let kinds = &check(from, "ls -o json", "", code(from, 0))[0];
        assert!(kinds["items"].as_array().unwrap().len() > 2);
    }
    check(STORY_SOURCE, "ls pods -n nowhere -o json", "List", 1);
    check(STORY_SOURCE, "get node/node1 -o json", "KubernetesObject", 0);
    check(STORY_SOURCE, "ls pods -A -o ndjson", "KubernetesObject", 0);
    assert_eq!(check(STORY_SOURCE, "get pod/nowhere/nothing -o ndjson", "", 1).len(), 0);
    let (listed, exit) = run(From::Damaged, "ls --all -o ndjson", "");
    let unread = listed.lines().filter(|line| line.starts_with("{\"key\"")).count();
    assert!(unread > 10 && exit == 2, "nothing is damaged");
    documents("ls --all -o ndjson", "", &listed);
    // Values of Secrets are masked, and those that are sealed are no objects.
    let secrets = check(STORY_SOURCE, "get secrets -A -o ndjson", "KubernetesObject", 0);
    assert!(secrets.iter().any(|secret| secret["data"].as_object().is_some_and(|data| data.values().all(|value| value == "***"))));
    check(From::Capture("k136-encrypted/snapshot.db.zst"), "ls secrets -A -o ndjson", "", 0);
}

#[test]
fn pods_with_their_configuration() {
    let pods = check(STORY_SOURCE, "get pods -A -o ndjson", "KubernetesObject", 0);
    let (mut shapes, mut sources) = (BTreeSet::new(), 0);
    // One of each set of ways in which a pod takes its configuration.
    let ways = ["configMap\":", "configMapKeyRef", "configMapRef", "projected", "secret\":", "secretKeyRef", "secretRef"];
    let mut is_another = |pod: &&Value| {
        let spec = pod["spec"].to_string();
        shapes.insert(ways.map(|way| spec.contains(way)))
    };
    for pod in pods.iter().filter(|pod| is_another(pod)) {
        let address = format!("pod/{}/{}", pod["metadata"]["namespace"].as_str().unwrap(), pod["metadata"]["name"].as_str().unwrap());
        let shown = &check(STORY_SOURCE, &format!("get {address} --with-config -o json"), "PodWithConfig", 0)[0];
        sources += shown["config"].as_array().unwrap().len();
    }
    assert!(sources > 0, "no pod has configuration");
}

#[test]
fn descriptions_events_and_trees() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        let is_large = matches!(from, From::Damaged | From::Capture("k136-story/compacted.db.zst"));
        for (command, document) in [
            ("describe pods,nodes,secrets,deployments -A -o ndjson", "Description"),
            ("tree nodes -o ndjson", "TreeNode"),
            ("tree pods,deployments -A -o json", "TreeList"),
            // What a list holds are the same documents.
            ("describe pods -A -o json", "DescriptionList"),
        ] {
            if is_large && document == "DescriptionList" {
                continue;
            }
            let (printed, _) = run(from, command, "");
            assert!(!printed.is_empty(), "{command}");
            documents(command, document, &printed);
        }
        let (printed, exit) = run(from, "events -A -o json", "");
        documents("events -A -o json", "EventList", &printed);
        check(from, "events -A -o ndjson", "KubernetesObject", exit);
    }
    let node = &check(STORY_SOURCE, "describe node/node1 -o json", "Description", 0)[0];
    assert!(node["pods"]["count"].as_u64().unwrap() > 0);
    let pod = &check(STORY_SOURCE, "describe pod/web/db-0 -o json", "Description", 0)[0];
    assert!(["changes", "events", "owners"].iter().all(|part| !pod[part].as_array().unwrap().is_empty()), "{pod}");
    assert_eq!(check(STORY_SOURCE, "tree pod/web/db-0 -o json", "TreeNode", 0)[0]["kind"], "StatefulSet");
    check(STORY_SOURCE, "describe pods -n nowhere -o json", "DescriptionList", 1);
    check(STORY_SOURCE, "extract deployments,services -n web -o json", "List", 0);
    check(STORY_SOURCE, "extract ns/web -o ndjson", "KubernetesObject", 0);
    let plan = &check(STORY_SOURCE, "extract ns/web --rev 1500 -o json --against k136-story/snapshot.db.zst", "Plan", 1)[0];
    assert!(!plan["changes"].as_array().unwrap().is_empty() && !plan["obstacles"].as_array().unwrap().is_empty(), "{plan}");
}

/// A change of a list is one of lines: lists are held where the file is small or has a gap, lines everywhere.
#[test]
fn changes() {
    let [small, compacted, damaged, hostile] = EXAMPLE_SOURCES;
    for from in EXAMPLE_SOURCES {
        // A compacted file has a gap too.
        check(from, "watch pods -A -o ndjson", "", code(from, 0));
        let changes = check(from, "history --all --objects -o ndjson", "ChangeWithObject", code(from, 0));
        let kinds: BTreeSet<String> = changes.iter().map(|change| change["type"].to_string()).collect();
        assert!(kinds.len() > 1 || matches!(from, From::Hostile), "{kinds:?}");
    }
    for from in [small, compacted, hostile] {
        for command in ["history", "watch"] {
            let changes = check(from, &format!("{command} pods -A -o json"), "History", 0);
            assert!(!changes[0]["items"].as_array().unwrap().is_empty());
        }
    }
    for from in [small, hostile] {
        check(from, "history pods -A --objects -o json", "History", 0);
        check(from, "history --all -o ndjson", "Change", 0);
    }
    let unread = check(damaged, "history --all -o ndjson", "Change", 2);
    assert!(unread.iter().any(|change| change.get("error").is_some()));
    check(STORY_SOURCE, "history pod/nowhere/nothing -o json", "History", 1);
    assert_eq!(check(STORY_SOURCE, "history pods -n nowhere -o ndjson", "Change", 1).len(), 0);
    check(From::Objects, "history pods -A -o json", "History", 0);
}

#[test]
fn differences() {
    for from in [STORY_SOURCE, From::Damaged, From::Capture("k120-story/snapshot.db.zst")] {
        let found = check(from, "diff --rev 100.. -o json", "Differences", code(from, 1));
        let kinds: BTreeSet<String> = found[0]["items"].as_array().unwrap().iter().map(|one| one["type"].to_string()).collect();
        assert!(kinds.len() > 1, "{kinds:?}");
        check(from, "diff --rev 100..600 -o ndjson", "Difference", code(from, 1));
        check(from, "diff --rev 100..600 --spec -o json", "SpecDifferences", code(from, 1));
        check(from, "diff --rev 100..600 --spec -o ndjson", "SpecDifference", code(from, 1));
    }
    check(STORY_SOURCE, "diff --rev 600..600 -o json", "Differences", 0);
}

#[test]
fn timelines() {
    for from in EXAMPLE_SOURCES.into_iter().chain([From::Objects]) {
        check(from, "timeline -A -o ndjson", "Timeline", code(from, 0));
    }
    // What a list holds are the same documents.
    for from in [EXAMPLE_SOURCES[0], From::Hostile, From::Objects] {
        check(from, "timeline -A -o json", "TimelineList", 0);
    }
    for (node, field) in [("node2", "outages"), ("node1", "cordons")] {
        let node = &check(From::Capture("k120-story/snapshot.db.zst"), &format!("timeline node/{node} -o json"), "Timeline", 0)[0];
        assert!(!node[field].as_array().unwrap().is_empty(), "{node}");
    }
    check(STORY_SOURCE, "timeline nodes --around -10m -o json", "TimelineList", 0);
}

#[test]
fn searches() {
    for (from, pattern) in
        [(EXAMPLE_SOURCES[0], "node2"), (EXAMPLE_SOURCES[1], "node2"), (EXAMPLE_SOURCES[3], "kind"), (From::Objects, "node2")]
    {
        let places = "--in names,values,keys,managers,messages";
        let found = check(from, &format!("grep {pattern} {places} -o ndjson"), "Match", 0);
        assert!(!found.is_empty());
        check(from, &format!("grep {pattern} {places} -o json"), "Found", 0);
        check(from, &format!("grep {pattern} {places} -l -o ndjson"), "MatchedObject", 0);
        check(from, &format!("grep {pattern} {places} -l -o json"), "Found", 0);
        check(from, &format!("grep {pattern} {places} --count -o json"), "Count", 0);
    }
    check(STORY_SOURCE, "grep node2 --since 10 -o json", "Found", 0);
    check(EXAMPLE_SOURCES[2], "grep node2 -o ndjson", "Match", 2);
    let nothing = &check(STORY_SOURCE, "grep no-such-text -o json", "Found", 1)[0];
    assert_eq!(nothing["items"], json!([]));
}

#[test]
fn blames() {
    for from in EXAMPLE_SOURCES {
        let names = run(from, "ls nodes,pods,deployments -A -o ndjson", "").0;
        for line in names.lines().step_by(15) {
            let object: Value = serde_json::from_str(line).unwrap();
            // What cannot be decoded has no metadata.
            let (Some(kind), true) = (object["kind"].as_str(), object["metadata"].is_object()) else { continue };
            let [namespace, name] = ["namespace", "name"].map(|field| object["metadata"][field].as_str().unwrap_or_default());
            let (printed, _) = run(from, &format!("blame {kind}/{namespace}/{name} -o json").replace("//", "/"), "");
            assert!(!printed.is_empty(), "{kind}/{namespace}/{name}");
            let printed: Value = serde_json::from_str(&printed).unwrap();
            schema::check(&SCHEMAS_BY_COMMAND["blame"], &printed).unwrap_or_else(|fault| panic!("{}", fault.of(&printed)));
        }
    }
}

#[test]
fn explanations() {
    let mut verdicts = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    let (story, compacted) = (STORY_SOURCE, From::Capture("k120-story/compacted.db.zst"));
    for (from, command, document, code) in [
        (story, "explain --all -o ndjson", "Explanation", 0),
        (story, "explain --all --no-remedies --scheduler-version 1.15 -o ndjson", "Explanation", 1),
        (compacted, "explain --all -o ndjson", "Explanation", 0),
        (compacted, "explain pods -A -o json", "List", 0),
        (compacted, "explain --all --no-remedies --scheduler-version 1.15 -o ndjson", "Explanation", 0),
        (compacted, "explain --all --node node1 -o ndjson", "Explanation", 0),
        (From::Damaged, "explain --all -o ndjson", "Explanation", 2),
    ] {
        for document in check(from, command, document, code).iter().filter(|document| document.get("verdict").is_some()) {
            verdicts.insert(document["verdict"].as_str().unwrap().to_owned());
            let filters = document["nodes"].as_array().unwrap().iter().flat_map(|node| node["filters"].as_array().unwrap());
            statuses.extend(filters.map(|filter| filter["status"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(verdicts.iter().map(String::as_str).collect::<Vec<_>>(), ["Agrees", "Disagrees", "Tie", "Unverifiable"]);
    for status in ["Success", "Unschedulable", "UnschedulableAndUnresolvable", "Skip", "Unknown"] {
        assert!(statuses.contains(status), "{statuses:?}");
    }
}

#[test]
fn encryption() {
    for name in ["k120-encrypted", "k136-encrypted"] {
        let from =
            From::Capture(if name == "k120-encrypted" { "k120-encrypted/snapshot.db.zst" } else { "k136-encrypted/snapshot.db.zst" });
        let audit = &check(from, "encryption -o json", "", 0)[0];
        assert_eq!(audit["promiseKept"], Value::Null);
        let audit = format!("encryption -o json --encryption-config {name}/encryption-config.yaml");
        let (printed, _) = run(from, &audit, "");
        let audit = &documents(&audit, "", &printed)[0];
        assert!(audit["encryption"].as_array().unwrap().iter().any(|row| row["promise"].is_string()), "{audit}");
    }
    check(STORY_SOURCE, "encryption -o json", "", 0);
}

#[test]
fn plugins() {
    let all = &check(From::Nothing, "plugins -o json", "", 0)[0];
    assert!(all["items"].as_array().unwrap().len() > 40);
    check(From::Nothing, "plugins NodeResourcesFit -o json", "Plugin", 0);
    assert_eq!(check(From::Nothing, "plugins NodeResourcesFit --scheduler-version 1.9 -o json", "", 1), [Value::Null]);
}

#[test]
fn decoding() {
    let value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "c2VjcmV0"}}).to_string();
    let object = &check_input(From::Nothing, "decode", &value, "KubernetesObject", 0)[0];
    assert_eq!(object["data"]["k"], "***");
    let lines = format!("{}\n{}\nno base64\n", BASE64.encode(&value), BASE64.encode("k8s\0 damaged"));
    let documents = check_input(From::Nothing, "decode --lines", &lines, "", 1);
    assert_eq!(documents.iter().filter(|document| document.get("error").is_some()).count(), 2);
}
