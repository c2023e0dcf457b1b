//! `triage` beside `report`, which weighs by the same rules, and its exit codes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::LazyLock;

use ketcd_testing::written::Written;
use ketcd_testing::{temporary, testdata};
use serde_json::Value;

use crate::ketcd::{all, ketcd};

const K120_CAPTURE: &str = "k120-story/snapshot.db.zst";
const K136_CAPTURE: &str = "k136-story/snapshot.db.zst";

fn capture(name: &str) -> PathBuf {
    testdata::path("captures").join(name)
}

fn run(file: &Path, arguments: &[&str]) -> Output {
    ketcd().arg("-f").arg(file).args(arguments).output().unwrap()
}

/// The data of the story's report.
static OF_K136: LazyLock<Value> = LazyLock::new(|| report(K136_CAPTURE));

/// The data of a report of a capture.
fn report(name: &str) -> Value {
    let output = run(&capture(name), &["report", "--out", "-"]);
    let report = String::from_utf8(output.stdout).unwrap();
    let (_, data) = report.split_once(r#"id="data">"#).unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// One module weighs for both: what stood out of the whole time is what `triage` says of a moment in it.
#[test]
fn a_report_says_what_triage_says() {
    for (name, at, data) in [(K120_CAPTURE, "22:22:55", &report(K120_CAPTURE)), (K136_CAPTURE, "00:22:15", &*OF_K136)] {
        let standing = data["stand"].as_array().unwrap();
        let output = run(&capture(name), &["triage", "--at", at, "-o", "wide"]);
        assert_eq!(output.status.code(), Some(0), "{}", all(&output));
        let page = String::from_utf8(output.stdout).unwrap();
        for one in &standing[..2] {
            // What is over is not said to be so still: node2 came back.
            assert_eq!(one["lasts"], one["what"] == "CrashLoopBackOff", "{one}");
            let words = format!("{}  {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
            assert!(page.lines().any(|line| line.starts_with(&words)), "{words}: {page}");
            let row = &data["rows"][usize::try_from(one["row"].as_u64().unwrap()).unwrap()];
            assert!(words.contains(row["n"].as_str().unwrap()), "{words}: {row}");
        }
        let first: BTreeSet<&str> = standing[..2].iter().map(|one| one["what"].as_str().unwrap()).collect();
        assert_eq!(first, BTreeSet::from(["CrashLoopBackOff", "silent"]), "{standing:?}");
    }
}

/// What stands out of a report.
fn standing(report: &Value) -> &[Value] {
    report["stand"].as_array().unwrap()
}

#[test]
fn a_report_says_still_of_what_is_and_counts_no_more() {
    let still = |standing: &[Value]| -> Vec<String> {
        let words = |one: &Value| format!("{} {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
        standing.iter().filter(|one| one["lasts"] == true).map(words).collect()
    };
    // At its end one pod of tomcat waits, though several did.
    let found = standing(&OF_K136);
    assert!(still(found).contains(&"pod/web/tomcat-647b88d788-vmnc5 unschedulable".to_owned()), "{found:?}");
    assert!(
        found.iter().all(|one| one["lasts"] == false || !one["who"].as_str().unwrap().contains("pods of deploy/web/tomcat")),
        "{found:?}"
    );
    // node2 was silent from its last heartbeat (story.log: 00:16:19) to its return, not from when that was noticed.
    let silent = found.iter().find(|one| one["what"] == "silent").unwrap();
    let lasted = silent["lasted"].as_i64().unwrap();
    assert!(silent["lasts"] == false && (376_000..378_500).contains(&lasted), "{silent}");
    // Claims whose class waits for a pod are nobody's trouble: `triage` finds nothing wrong.
    let clock = "k136-clock/snapshot.db.zst";
    let page = String::from_utf8(run(&capture(clock), &["triage"]).stdout).unwrap();
    assert!(page.starts_with("nothing is wrong"), "{page}");
    let data = report(clock);
    let found = standing(&data);
    assert!(still(found).is_empty() && found.iter().all(|one| !one["what"].as_str().unwrap().contains("no volume")), "{found:?}");
}

const DEFAULT_NAMESPACE: (&str, &str) =
    ("/registry/namespaces/default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#);

#[test]
fn where_there_is_nothing_to_look_at_the_exit_code_is_1() {
    let file = temporary::file(Written::of(&[("\u{1b}[31m/a", "x")]).finish());
    let output = run(file.path(), &["triage"]);
    let page = all(&output);
    assert!(page.starts_with("nothing to check at revision ") && page.lines().next().unwrap().contains("keys begin with "), "{page}");
    assert!(!page.contains("nothing is wrong") && !page.contains('\u{1b}'), "{page}");
    let document = run(file.path(), &["triage", "-o", "json"]);
    assert_eq!((output.status.code(), document.status.code()), (Some(1), Some(1)), "{page}");
    let absence = &serde_json::from_slice::<Value>(&document.stdout).unwrap()["absence"];
    assert!(absence["reason"] == "Foreign" && absence["message"].as_str().unwrap().contains("keys begin with "), "{absence}");
}

#[test]
fn a_healthy_cluster_is_one_line() {
    let output = run(&capture(K120_CAPTURE), &["triage", "--at", "22:16:21"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert_eq!(page, "nothing is wrong at 2026-11-20T22:16:21Z, revision 421; looked at: 4 nodes, 2 pods, 0 workloads\n");
}

#[test]
fn what_could_not_be_decoded_is_said_first() {
    let broken = ("/registry/minions/n1", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"#);
    let file = temporary::file(Written::of(&[broken, DEFAULT_NAMESPACE]).finish());
    let output = run(file.path(), &["triage"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.lines().next().unwrap().starts_with("1 value could not be decoded") && !page.contains("nothing is wrong"), "{page}");
    let json = run(file.path(), &["triage", "-o", "json"]);
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((output.status.code(), json.status.code(), &document["notDecoded"]), (Some(2), Some(2), &1.into()));
}

#[test]
fn exit_code_says_whether_anything_is_wrong() {
    let code = |name: &str, arguments: &[&str]| run(&capture(name), arguments).status.code();
    assert_eq!(code(K136_CAPTURE, &["triage"]), Some(0));
    assert_eq!(code(K136_CAPTURE, &["triage", "--exit-code"]), Some(1));
    assert_eq!(code(K136_CAPTURE, &["triage", "--exit-code", "-o", "json"]), Some(1));
    assert_eq!(code("k136-clock/snapshot.db.zst", &["triage", "--exit-code"]), Some(0));
    assert_eq!(code("k136-encrypted/snapshot.db.zst", &["triage", "--exit-code"]), Some(2));
}

/// What is new is shown for a chat, and what cannot be compared is refused with what to do.
#[test]
fn an_earlier_triage_is_a_file_of_its_own() {
    let (folder, file) = (tempfile::tempdir().unwrap(), capture(K120_CAPTURE));
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let kept = |name: &str, arguments: &[&str]| {
        let output = run(&file, &[&["triage", "-o", "json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", all(&output));
        std::fs::write(path(name), output.stdout).unwrap();
    };
    kept("last.json", &["--at", "22:20:30"]);
    let (last, next) = (path("last.json"), path("next.json"));
    let page = run(&file, &["triage", "--at", "22:22:55", "--since-last", &last]);
    let text = String::from_utf8(page.stdout).unwrap();
    assert!(text.lines().next().unwrap().contains("; since 2026-11-20T22:20:30Z, revision 1350"), "{text}");
    assert!(text.contains("\nnew\n") && !text.contains("  id "), "{text}");
    let wide = run(&file, &["triage", "--at", "22:22:55", "--since-last", &last, "-o", "wide"]);
    assert!(String::from_utf8(wide.stdout).unwrap().contains("id "));
    // What is printed as JSON is the next file.
    kept("next.json", &["--at", "22:22:55", "--since-last", &last]);
    let again = run(&file, &["triage", "--at", "22:22:55", "--since-last", &next, "--exit-code"]);
    assert_eq!(again.status.code(), Some(1), "the exit code is triage's");
    assert!(String::from_utf8(again.stdout).unwrap().starts_with("0 new, 0 ended, "));
    std::fs::write(path("empty.json"), "").unwrap();
    std::fs::write(path("other.json"), "{}").unwrap();
    let other = capture(K136_CAPTURE);
    for (from, since, at, says) in [
        (&file, path("missing.json"), "22:22:55", "begin with ketcd"),
        (&file, path("empty.json"), "22:22:55", "write to another file"),
        (&file, path("other.json"), "22:22:55", "is not the JSON of a triage"),
        (&file, next.clone(), "22:20:30", "which is after"),
        (&other, last.clone(), "00:22:15", "is of another cluster"),
    ] {
        let output = run(from, &["triage", "--at", at, "--since-last", &since]);
        assert_eq!(output.status.code(), Some(2), "{since}");
        assert!(all(&output).contains(says), "{says}: {}", all(&output));
    }
}

#[test]
fn what_may_have_begun_earlier_says_so_in_text_json_and_the_report() {
    const COMPACTED: &str = "k120-story/compacted.db.zst";
    let loops = |findings: &Value| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["trouble"] == "CrashLooping");
        found.unwrap_or_else(|| panic!("{findings:#}"))["mayBeginEarlier"].clone()
    };
    let output = run(&capture(COMPACTED), &["triage"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("pod/web/crasher  CrashLoopBackOff since 22:17:40 or earlier (at least 6m55s)\n"), "{page}");
    for (name, wanted) in [(COMPACTED, true), (K120_CAPTURE, false)] {
        let output = run(&capture(name), &["triage", "-o", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((loops(&document["findings"]), loops(&report(name)["findings"])), (wanted.into(), wanted.into()), "{name}");
    }
}
