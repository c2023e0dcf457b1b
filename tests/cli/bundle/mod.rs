//! `ketcd bundle`: a slice answers as the whole does, nothing that was to go is in it, and what is refused.

mod again;
mod canaries;
mod cut_short;
mod levels;
mod registries;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use ketcd_testing::testdata;
use serde_json::Value;
use tempfile::TempDir;

use crate::ketcd::{all, ketcd};

const CAPTURE: &str = "captures/k136-story/snapshot.db.zst";

/// A folder with the whole story and bundles of it, each called `it` in a folder of its own: what names its source names it alike.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        fs::create_dir(files.folder("whole")).unwrap();
        fs::write(files.folder("whole").join("it"), testdata::read(CAPTURE)).unwrap();
        files
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, folder: &str, words: &str) -> Output {
        ketcd().current_dir(self.folder(folder)).args(["-f", "it"]).args(words.split_whitespace()).output().unwrap()
    }

    /// Makes a bundle in a folder of this name.
    #[track_caller]
    fn bundle(&self, from: &str, name: &str, words: &str) -> String {
        fs::create_dir_all(self.folder(name)).unwrap();
        let output = self.run(from, &format!("bundle {words} --out ../{name}/it"));
        assert_eq!(output.status.code(), Some(0), "{words}: {}", all(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn text(&self, folder: &str, words: &str) -> String {
        let output = self.run(folder, words);
        assert!(output.status.code() != Some(2), "{folder} {words}: {}", all(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn lines(&self, folder: &str, words: &str) -> Vec<Value> {
        self.text(folder, words).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// All documents of an answer, each on a line or on several.
    fn documents(&self, folder: &str, words: &str) -> Vec<Value> {
        serde_json::Deserializer::from_str(&self.text(folder, words)).into_iter().map(Result::unwrap).collect()
    }

    /// The pods of a namespace that ever were, by what `history` says of it.
    fn pods(&self, namespace: &str) -> BTreeSet<String> {
        let changes = self.lines("whole", &format!("history pods -n {namespace} -o ndjson"));
        changes.iter().map(|change| change["key"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect()
    }
}

/// Where a change was read from is another place.
fn without_source(text: &str) -> String {
    text.replace("\"source\": \"db\"", "\"source\": \"recording\"").replace("\"source\":\"db\"", "\"source\":\"recording\"")
}

#[test]
fn a_namespace_answers_as_in_the_whole() {
    let files = Files::new();
    let said = files.bundle("whole", "slice", "-n lab");
    assert!(said.lines().next().unwrap().starts_with("../slice/it: ") && said.ends_with("next: ketcd -f ../slice/it triage\n"), "{said}");
    let pods = files.pods("lab");
    assert!(pods.len() > 5, "{pods:?}");
    let of_all = [
        "history pods -n lab",
        "history -n lab --diff --all-fields",
        "timeline -n lab",
        "explain --all -n lab -o ndjson",
        "ls -n lab pods -o wide",
    ];
    for words in of_all.iter().map(|words| (*words).to_owned()).chain(pods.iter().take(6).map(|pod| format!("explain pod/lab/{pod}"))) {
        let (whole, slice) = (files.text("whole", &words), files.text("slice", &words));
        assert_eq!(without_source(&slice), without_source(&whole), "{words}");
    }
    for words in ["triage -n lab", "get pods -n lab -o json", "verify", "status", "describe pods -n lab"] {
        assert!(!files.text("slice", words).is_empty(), "{words}");
    }
    let verdict = files.text("slice", "verify");
    assert!(
        verdict.starts_with("GOOD")
            && !verdict.contains("\ntampering ")
            && verdict.contains("a bundle does not hold all objects as they are stored"),
        "{verdict}"
    );
    let whole = fs::metadata(files.folder("whole").join("it")).unwrap().len();
    assert!(fs::metadata(files.folder("slice").join("it")).unwrap().len() < whole);
}

#[test]
fn only_what_the_story_needs_is_in_it() {
    let files = Files::new();
    files.bundle("whole", "slice", "pod/web/db-0");
    let names = |folder: &str, words: &str| -> BTreeSet<String> { files.text(folder, words).lines().map(str::to_owned).collect() };
    let held = names("slice", "ls --all -A -o name");
    for wanted in ["namespace/web", "statefulset.apps/db"] {
        assert!(held.contains(wanted), "{wanted}: {held:?}");
    }
    assert!(!held.iter().any(|name| name.starts_with("deployment.apps/")), "{held:?}");
    // Other pods are there for the scheduler's sake, without what it does not read.
    let other: Value = serde_json::from_str(&files.text("slice", "get pods -n lab -o json")).unwrap();
    let other = other.to_string();
    assert!(other.contains("nodeName") && !other.contains("podIP") && !other.contains("\"env\""), "{other}");
    assert!(other.contains("ketcd/reduced"), "they say so: {other}");
    let page = files.text("slice", "triage -o wide");
    assert!(page.contains("more troubles are left out: of their objects the bundle holds only what a scheduler reads"), "{page}");
    let (findings, _) = page.split_once("changed from").unwrap();
    for of_others in ["lab/", "tomcat", "crasher", "changes in lab"] {
        assert!(!findings.contains(of_others), "{of_others}: {page}");
    }
    let document: Value = serde_json::from_str(&files.text("slice", "triage -o json")).unwrap();
    assert!(document["reduced"].as_u64().unwrap() > 2, "{document}");
}

#[test]
fn secrets_are_masked_and_nothing_redacted_is_left() {
    let files = Files::new();
    files.bundle("whole", "masked", "-n web");
    let secret = |folder: &str| files.text(folder, "get secrets -n web -o json --show-secrets");
    assert!(secret("masked").contains("***"), "{}", secret("masked"));
    assert!(!secret("masked").contains("ketcd/reduced"));
    let said = files.bundle("whole", "redacted", "-n web --redact all --salt of-a-test");
    assert!(said.contains("redacted: ") && said.contains("it.redacted.txt before you send the bundle"), "{said}");
    let report = fs::read_to_string(files.folder("redacted").join("it.redacted.txt")).unwrap();
    let shown = files.text("redacted", "history --all --objects -o ndjson --show-managed-fields --show-secrets");
    for canary in ["db-password", "tomcat-", "app-config"] {
        assert!(!shown.contains(canary) && !report.contains(canary), "{canary}");
    }
    let verdicts = |folder: &str, namespace: &str| -> Vec<(i64, Value, Value)> {
        let attempts = files.lines(folder, &format!("explain --all {namespace} -o ndjson"));
        let attempt =
            |line: &Value| (line["attempt"]["revision"].as_i64().unwrap(), line["verdict"].clone(), line["attempt"]["outcome"].clone());
        attempts.iter().map(attempt).collect()
    };
    let whole = verdicts("whole", "-n web");
    let redacted: Vec<_> =
        verdicts("redacted", "-A").into_iter().filter(|(revision, ..)| whole.iter().any(|one| one.0 == *revision)).collect();
    assert_eq!(redacted, whole);
    // The same salt gives the same file.
    files.bundle("whole", "again", "-n web --redact all --salt of-a-test");
    let read = |name: &str| fs::read(files.folder(name).join("it")).unwrap();
    assert!(read("again") == read("redacted"));
}

#[test]
fn a_bundle_is_a_source_of_bundles() {
    let files = Files::new();
    files.bundle("whole", "slice", "-n lab");
    files.bundle("slice", "again", "-n lab");
    let words = "history pods -n lab";
    assert_eq!(files.text("again", words), files.text("slice", words));
    files.bundle("slice", "late", "-n lab --since 1000");
    let first = files.lines("late", "history pods -n lab --since 1000 -o ndjson");
    assert_eq!(first, files.lines("slice", "history pods -n lab --since 1000 -o ndjson"));
}

/// What was given may be redacted before it is passed on, and the same salt gives the same pseudonyms in each bundle.
#[test]
fn a_bundle_is_redacted_as_its_source_is() {
    let files = Files::new();
    files.bundle("whole", "slice", "-n lab");
    let redacted = "--redact all --salt of-a-test";
    files.bundle("slice", "passed-on", &format!("-n lab {redacted}"));
    files.bundle("whole", "direct", &format!("-n lab {redacted}"));
    files.bundle("whole", "other", &format!("-n web {redacted}"));
    for words in ["history pods -A", "explain --all -A", "timeline pods -A"] {
        assert_eq!(files.text("passed-on", words), files.text("direct", words), "{words}");
    }
    let nodes = files.text("direct", "ls nodes -o name");
    assert!(nodes.lines().count() > 2 && !nodes.contains("node1"), "{nodes}");
    assert_eq!(files.text("other", "ls nodes -o name"), nodes);
}

#[test]
fn what_cannot_be_is_refused() {
    let files = Files::new();
    let refused = |words: &str, code: i32, says: &str| {
        let output = files.run("whole", &format!("bundle {words}"));
        assert_eq!(output.status.code(), Some(code), "{words}: {}", all(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{words}: {}", all(&output));
    };
    refused("--out x", 2, "name a namespace with -n NAME");
    refused("-n nowhere --out x", 1, "nowhere");
    refused("pod/web/nobody --out x", 1, "not found");
    refused("-n web --out it", 2, "belongs to what");
    refused("-n web --out -", 2, "");
    refused("-n web --out x --redact nmaes", 2, "nmaes");
    refused("-n web --out x --salt y", 2, "nothing is redacted");
    refused("-n web --out x --redact all --show-secrets", 2, "--show-secrets");
    refused("-n web --out x -o yaml", 2, "table, json");
    fs::write(files.folder("whole").join("letter"), "dear").unwrap();
    refused("-n web --out letter", 2, "is not a bundle that ketcd wrote");
    assert_eq!(fs::read_to_string(files.folder("whole").join("letter")).unwrap(), "dear");
    let left: Vec<_> = fs::read_dir(files.folder("whole")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(!Path::new("x").exists());
}
