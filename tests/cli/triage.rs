//! `triage` beside `report`, which weighs by the same rules, and its exit codes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

use ketcd_testing::written::Written;
use ketcd_testing::{pty, temporary, testdata};
use serde_json::Value;

use crate::ketcd::{all, ketcd};

const K120: &str = "k120-story/snapshot.db.zst";
const K136: &str = "k136-story/snapshot.db.zst";

fn capture(name: &str) -> PathBuf {
    testdata::path("captures").join(name)
}

fn run(file: &Path, arguments: &[&str]) -> Output {
    ketcd().arg("-f").arg(file).args(arguments).output().unwrap()
}

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
    for (name, at) in [(K120, "22:22:55"), (K136, "00:22:15")] {
        let data = report(name);
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

/// What stands out of a report of a capture.
fn standing(name: &str) -> Vec<Value> {
    report(name)["stand"].as_array().unwrap().clone()
}

#[test]
fn a_report_says_still_of_what_is_and_counts_no_more() {
    let still = |standing: &[Value]| -> Vec<String> {
        let words = |one: &Value| format!("{} {}", one["who"].as_str().unwrap(), one["what"].as_str().unwrap());
        standing.iter().filter(|one| one["lasts"] == true).map(words).collect()
    };
    // At its end one pod of tomcat waits, though several did.
    let found = standing(K136);
    assert!(still(&found).contains(&"pod/web/tomcat-647b88d788-vmnc5 unschedulable".to_owned()), "{found:?}");
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
    let found = standing(clock);
    assert!(still(&found).is_empty() && found.iter().all(|one| !one["what"].as_str().unwrap().contains("no volume")), "{found:?}");
}

const NAMESPACE: (&str, &str) = ("/registry/namespaces/default", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}"#);

#[test]
fn where_there_is_nothing_to_look_at_the_exit_code_is_1() {
    for (values, reason, words) in
        [(&[][..], "Empty", "nothing is stored there"), (&[("\u{1b}[31m/a", "x")][..], "Foreign", "keys begin with ")]
    {
        let file = temporary::file(Written::of(values).finish());
        let output = run(file.path(), &["triage"]);
        let page = all(&output);
        assert!(page.starts_with("nothing to look at at revision ") && page.lines().next().unwrap().contains(words), "{page}");
        assert!(!page.contains("nothing is wrong") && !page.contains('\u{1b}'), "{page}");
        let document = run(file.path(), &["triage", "-o", "json"]);
        assert_eq!((output.status.code(), document.status.code()), (Some(1), Some(1)), "{page}");
        let absence = &serde_json::from_slice::<Value>(&document.stdout).unwrap()["absence"];
        assert!(absence["reason"] == reason && absence["message"].as_str().unwrap().contains(words), "{absence}");
    }
}

#[test]
fn a_cluster_without_nodes_is_one_all_the_same() {
    let file = temporary::file(Written::of(&[NAMESPACE, ("compact_rev_key", "17")]).finish());
    let output = run(file.path(), &["triage"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.starts_with("nothing is wrong") && page.contains("looked at: 0 nodes, 0 pods, 0 workloads"), "{page}");
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn what_could_not_be_decoded_is_said_first() {
    let broken = ("/registry/minions/n1", r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"#);
    let file = temporary::file(Written::of(&[broken, NAMESPACE]).finish());
    for (file, words, count) in [
        (&*capture("k136-encrypted/snapshot.db.zst"), "13 values could not be decoded", 13),
        (file.path(), "1 value could not be decoded", 1),
    ] {
        let output = run(file, &["triage"]);
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.lines().next().unwrap().starts_with(words) && !page.contains("nothing is wrong"), "{page}");
        let json = run(file, &["triage", "-o", "json"]);
        let document: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!((output.status.code(), json.status.code(), &document["notDecoded"]), (Some(2), Some(2), &count.into()));
    }
}

/// What a terminal of 80 columns shows first.
fn first_screen(name: &str) -> String {
    let folder = capture(name);
    let mut command = ketcd();
    command.current_dir(folder.parent().unwrap()).args(["-f", "snapshot.db.zst", "triage"]);
    let (shown, status) = pty::run(80, &mut command);
    assert!(status.success(), "{shown}");
    shown.lines().take(24).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_culprits_are_on_the_first_screen() {
    for name in [K120, K136] {
        let screen = first_screen(name);
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("no {words}: {screen}"));
        // Below the pod that waits: whose label, which image, and by whom.
        let places = [
            "pod/web/tomcat-",
            "node/node3",
            "- labels.nodelabel tomcat",
            "kubectl-label",
            "deploy/web/tomcat",
            "tomcat:8.0 → tomcat:10",
            "kubectl-set",
        ];
        assert!(places.map(at).is_sorted(), "{screen}");
    }
    for name in [K120, K136] {
        assert!(first_screen(name).contains("rollout 4 not finished"), "{}", first_screen(name));
    }
}

#[test]
fn json_has_the_causes_too() {
    let output = run(&capture(K136), &["triage", "-o", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| document["findings"].as_array().unwrap().iter().find(|one| one["objects"][0]["name"] == name).unwrap();
    let causes = of("tomcat-647b88d788-vmnc5")["causes"].as_array().unwrap();
    let told: Vec<_> = causes.iter().map(|cause| (&cause["relation"], &cause["change"]["name"], &cause["change"]["by"])).collect();
    assert_eq!(
        told,
        [(&"Node".into(), &"node3".into(), &"kubectl-label".into()), (&"Owner".into(), &"tomcat".into(), &"kubectl-set".into())]
    );
    let seconds = causes[0]["secondsBefore"].as_f64().unwrap();
    // r693 at 00:14:54.169, the refusal at 00:14:56.
    assert!((1.5..2.5).contains(&seconds), "{seconds}");
    assert!(causes.iter().all(|cause| document["changes"].as_array().unwrap().contains(&cause["change"])), "{causes:?}");
}

#[test]
fn changes_that_explain_nothing_come_last_by_author() {
    let page = String::from_utf8(run(&capture(K136), &["triage"]).stdout).unwrap();
    let (_, others) = page.split_once("other changes from ").unwrap();
    assert!(others.lines().any(|line| line.ends_with("  kubectl-create: 2 changes in scratch")), "{others}");
    assert!(!others.contains("nodelabel") && !others.contains("tomcat:10"), "{others}");
    assert!(page.contains("kube-scheduler  nobody leads: its lease was released 20 s ago"), "{page}");
}

#[test]
fn exit_code_says_whether_anything_is_wrong() {
    let code = |name: &str, arguments: &[&str]| run(&capture(name), arguments).status.code();
    assert_eq!(code(K136, &["triage"]), Some(0));
    assert_eq!(code(K136, &["triage", "--exit-code"]), Some(1));
    assert_eq!(code(K136, &["triage", "--exit-code", "-o", "json"]), Some(1));
    assert_eq!(code("k136-clock/snapshot.db.zst", &["triage", "--exit-code"]), Some(0));
    assert_eq!(code("k136-encrypted/snapshot.db.zst", &["triage", "--exit-code"]), Some(2));
}
