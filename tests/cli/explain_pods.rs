//! `explain` of many pods in a table, and of one that was refused before it was bound.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use serde_json::Value;

fn explain(arguments: &[&str]) -> Output {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/captures/k136-story/snapshot.db.zst");
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["-f", capture, "explain"]).args(arguments).output().unwrap()
}

#[track_caller]
fn text(arguments: &[&str]) -> String {
    let output = explain(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The last decision about each pod, by namespace and name, as `explain --all` has it.
fn last_decisions() -> BTreeMap<(String, String), Value> {
    let all = explain(&["--all", "-o", "ndjson"]);
    let all = String::from_utf8(all.stdout).unwrap();
    let document = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let place = |document: &Value| ["namespace", "name"].map(|name| document["pod"][name].as_str().unwrap().to_owned()).into();
    all.lines().map(document).map(|document| (place(&document), document)).collect()
}

#[test]
fn pods_of_a_namespace_are_a_table() {
    let printed = text(&["pods", "-n", "lab"]);
    let (table, _) = printed.split_once("\n\n").unwrap();
    let mut lines = table.lines();
    let header = lines.next().unwrap();
    assert!(["POD", "NODE", "VERDICT", "WHY"].iter().all(|name| header.split_whitespace().any(|word| word == *name)), "{header}");
    let at = |name: &str| header.find(name).unwrap();
    let rows: BTreeMap<String, (String, String, String)> = lines
        .map(|line| {
            let cell = |from: usize, to: usize| line.chars().skip(from).take(to - from).collect::<String>().trim().to_owned();
            let why: String = line.chars().skip(at("WHY")).collect();
            (cell(0, at("NODE")), (cell(at("NODE"), at("VERDICT")), cell(at("VERDICT"), at("WHY")), why))
        })
        .collect();
    let last = last_decisions();
    for ((_, name), document) in last.iter().filter(|((namespace, _), _)| namespace == "lab") {
        let (node, verdict, why) = rows.get(name).unwrap_or_else(|| panic!("{name} is missing: {printed}"));
        assert_eq!(node, document["attempt"]["node"].as_str().unwrap_or("<none>"), "{name}");
        assert_eq!(*verdict, document["verdict"].as_str().unwrap().to_lowercase(), "{name}");
        match document["attempt"]["recordedMessage"].as_str() {
            Some(sentence) => assert!(why.ends_with(sentence), "{name}: {why}"),
            None => assert!(!why.is_empty(), "{name}"),
        }
    }
    assert!(rows["train-3"].2.starts_with("waits: "), "{}", rows["train-3"].2);
    let everywhere = String::from_utf8(run("explain pods -A").stdout).unwrap();
    let header = everywhere.lines().next().unwrap();
    assert!(header.starts_with("NAMESPACE"), "{header}");
    assert!(
        everywhere.lines().any(|line| line.starts_with("web ")) && everywhere.lines().any(|line| line.starts_with("lab ")),
        "{everywhere}"
    );
}

#[test]
fn documents_of_several_pods_are_those_of_each() {
    let text = |words: &str| {
        let output = run(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let list: Value = serde_json::from_str(&text("explain pods -n lab -o json")).unwrap();
    let items = list["items"].as_array().unwrap();
    assert_eq!(list["kind"], "List");
    for name in ["spread-5", "ubuntu"] {
        let one: Value = serde_json::from_str(&text(&format!("explain pod/lab/{name} -o json"))).unwrap();
        let listed = items.iter().find(|item| item["pod"]["name"] == *name).unwrap();
        assert_eq!(*listed, one, "{name}");
    }
    let lines = text("explain pods -n lab -o ndjson");
    assert_eq!(lines.lines().count(), items.len());
}

#[test]
fn no_such_pods_are_no_error() {
    let output = explain(&["pods", "-n", "nowhere"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let refused = explain(&["nodes"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("\"nodes\" does not name pods"));
    assert_eq!(refused.status.code(), Some(2));
}

/// Runs a command on the capture.
fn run(arguments: &str) -> Output {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/captures/k120-story/snapshot.db.zst");
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(["-f", capture]).args(arguments.split_whitespace()).output().unwrap()
}

#[test]
fn a_kind_and_a_name_are_two_words_everywhere() {
    for (two, one) in [
        ("explain pod crasher -n web", "explain pod/web/crasher"),
        ("ls po,deploy tomcat crasher -n web -o name", "ls po/web/tomcat po/web/crasher deploy/web/tomcat deploy/web/crasher -o name"),
        ("ls pods svc -n web -o name", "ls pods,svc -n web -o name"),
    ] {
        let (two, one) = (run(two), run(one));
        assert!(!one.stdout.is_empty(), "{one:?}");
        assert_eq!((String::from_utf8_lossy(&two.stdout), two.status.code()), (String::from_utf8_lossy(&one.stdout), one.status.code()));
    }
    let absent = run("ls pod nothing -n web");
    assert_eq!(absent.status.code(), Some(1), "{absent:?}");
    let unknown = run("ls pods servcies/x");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no kind is called \"servcies\""), "{unknown:?}");
}

#[test]
fn what_owns_no_pods_explains_nothing() {
    let none = run("explain svc/web/tomcat");
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(none.status.code() == Some(1) && said.contains("owns no pods") && said.contains("ketcd -f"), "{said}");
    let owned = run("explain deploy/web/tomcat");
    assert!(String::from_utf8_lossy(&owned.stdout).contains("tomcat-"), "{owned:?}");
}

/// The name of a ReplicaSet is taken for a pod's: what is suggested then works.
#[test]
fn what_explain_suggests_is_what_it_takes() {
    let output = run("explain pod/web/tomcat-7f6f6db99b");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, command) = said.trim_end().rsplit_once(": ketcd ").unwrap_or_else(|| panic!("{said}"));
    assert!(command.contains("explain replicaset.apps/web/tomcat-7f6f6db99b"), "{said}");
    let suggested = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(command.split_whitespace()).output().unwrap();
    assert_eq!(suggested.status.code(), Some(0), "{command}: {suggested:?}");
    let diff = run("diff pod crasher -n web");
    let said = String::from_utf8_lossy(&diff.stderr).into_owned();
    let (_, command) = said.trim_end().rsplit_once(": ketcd ").unwrap_or_else(|| panic!("{said}"));
    let suggested = Command::new(env!("CARGO_BIN_EXE_ketcd")).args(command.split_whitespace()).output().unwrap();
    assert!(diff.status.code() == Some(2) && suggested.status.code() == Some(1), "{command}: {suggested:?}");
}
