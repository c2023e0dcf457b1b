//! Several sources on the command line: gaps and contradictions are said, and the exit code says so; members are compared.

#[path = "../../crates/store/tests/files/nights.rs"]
mod nights;

use std::path::{Path, PathBuf};
use std::process::Output;

use ketcd_store::EventKind;
use serde_json::Value;

use nights::Nights;

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

fn run(arguments: &[&str]) -> Output {
    crate::ketcd::ketcd().args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn ketcd(files: &[&Path], arguments: &[&str]) -> Output {
    let mut all: Vec<&str> = files.iter().flat_map(|file| ["-f", file.to_str().unwrap()]).collect();
    all.extend(arguments);
    run(&all)
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn changes_name_their_sources() {
    let nights = Nights::new();
    let (one, two) = (nights.night("one.db", 1100, None), nights.night("two.db", 1787, Some(900)));
    let output = ketcd(&[&one, &two], &["history", "--all", "-o", "ndjson"]);
    assert_eq!(code(&output), Some(0), "{}", text(&output.stderr));
    for line in lines(&output).iter().filter(|line| line["revision"].as_i64() > Some(900)) {
        let both = [one.to_str().unwrap(), two.to_str().unwrap()];
        let wanted = if line["revision"].as_i64() > Some(1100) { &both[1..] } else { &both[..] };
        assert_eq!((&line["sources"], &line["source"]), (&serde_json::json!(wanted), &"db".into()), "{line}");
    }
    let alone = ketcd(&[&one], &["history", "--all", "-o", "ndjson"]);
    assert!(lines(&alone).iter().all(|line| line.get("sources").is_none()));
}

#[test]
fn what_no_source_has_is_reported_once_and_exit_2_where_it_was_read_past() {
    let nights = Nights::new();
    let (one, two) = (nights.night("one.db", 1100, None), nights.night("two.db", 1787, Some(1238)));
    let files = [&*one, &*two];
    let (one_name, two_name) = (one.to_str().unwrap(), two.to_str().unwrap());
    let gap = "revisions 1101 to 1237 are in none of the sources: ";
    let passed = "changes of revisions 1101 to 1237 were read past and are missing: none of the sources has them";
    for (arguments, is_passed) in [
        (&["history", "pod/lab/ubuntu"][..], true),
        (&["history", "--all", "-o", "json"], true),
        (&["timeline", "pod/lab/ubuntu"], true),
        (&["watch", "pods", "-A", "-o", "ndjson"], true),
        (&["ls", "pods", "-A", "-o", "name"], false),
        (&["get", "nodes", "-o", "json"], false),
        (&["get", "nodes", "-o", "json", "--rev", "1000"], false),
    ] {
        let output = ketcd(&files, arguments);
        let stderr = text(&output.stderr);
        assert_eq!(stderr.matches(gap).count(), 1, "{arguments:?}: {stderr}");
        assert_eq!((stderr.contains(passed), code(&output)), (is_passed, Some(if is_passed { 2 } else { 0 })), "{arguments:?}: {stderr}");
    }
    let output = ketcd(&files, &["get", "nodes", "--rev", "1150"]);
    let said = format!(
        "revision 1150 is in none of the sources, which are readable up to 1100 ({one_name}) and from 1238 ({two_name}); ask for --rev 1100 or --rev 1238"
    );
    assert!(code(&output) == Some(2) && text(&output.stderr).contains(&said), "{}", text(&output.stderr));
    let output = ketcd(&files, &["status", "-o", "json"]);
    let status: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert_eq!(status["gaps"], serde_json::json!([{"after": one_name, "before": two_name, "from": 1101, "to": 1237}]));
    let spans: Vec<_> =
        status["sources"].as_array().unwrap().iter().map(|part| (&part["name"], &part["oldestReadable"], &part["newest"])).collect();
    assert_eq!(spans, [(&one_name.into(), &1.into(), &1100.into()), (&two_name.into(), &1238.into(), &1787.into())]);
    let page = ketcd(&files, &["status"]);
    assert!(text(&page.stdout).contains("1101 to 1237, between "), "{}", text(&page.stdout));
}

#[test]
fn what_is_of_no_one_cluster_ends_with_exit_2() {
    let output = ketcd(&[&capture("k120-story/snapshot.db.zst"), &capture("k136-story/snapshot.db.zst")], &["get", "nodes"]);
    assert_eq!((code(&output), text(&output.stdout)), (Some(2), ""));
    assert!(text(&output.stderr).contains("these are not from one etcd cluster"), "{}", text(&output.stderr));
}

#[test]
fn members_are_compared() {
    let nights = Nights::new();
    let mut other = nights.story.clone();
    let place = other.iter().rposition(|event| event.kind == EventKind::Put && event.revision.0 <= 1500).unwrap();
    other[place].key_value.value = "another".into();
    let key = String::from_utf8_lossy(&other[place].key_value.key).into_owned();
    let files =
        [nights.night("one.db", 1500, None), nights.night("two.db", 1600, Some(900)), nights.write("three.db", &other, 1520, None, false)];
    let [one, two, three] = files.each_ref().map(|path| path.to_str().unwrap());
    let output = run(&["diff", "--members", one, two]);
    assert_eq!((code(&output), text(&output.stderr)), (Some(0), ""));
    assert!(text(&output.stdout).starts_with("2 members at r1500  they agree: "), "{}", text(&output.stdout));
    let output = run(&["diff", "--members", one, two, three]);
    assert_eq!(code(&output), Some(1), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(
        told.starts_with("3 members at r1500  1 of ") && told.contains(" keys differ; ") && told.contains("three.db stands alone"),
        "{told}"
    );
    let output = run(&["diff", "--members", one, two, three, "-o", "json"]);
    let json: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert_eq!((&json["agree"], &json["alone"], &json["revision"]), (&false.into(), &three.into(), &1500.into()));
    let difference = &json["differences"][0];
    assert_eq!(difference["key"], key.as_str());
    assert_eq!(difference["versions"][0]["members"], serde_json::json!([one, two]));
    assert_eq!(difference["versions"][1]["modRevision"], other[place].revision.0);
    for (arguments, said) in [
        (&["diff", "--members", one][..], "needs two members or more"),
        (&["diff", "--members", one, two, "--rev", "1700"], "has no revision 1700 yet"),
        (&["diff", "--members", one, two, "--rev", "800"], "no revision in common"),
        (&["-f", one, "diff", "--members", two], "takes no -f"),
    ] {
        let output = run(arguments);
        assert!(code(&output) == Some(2) && text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn flags_of_a_live_etcd_need_one() {
    for (arguments, said) in [
        (&["-f", "x.db", "--cacert", "ca.crt", "status"][..], "'--file <PATH>' cannot be used with '--cacert <FILE>'"),
        (&["-f", "x.db", "-f", "http://127.0.0.1:1", "--endpoints", "a:1", "status"], "cannot be used with '--endpoints <URL>'"),
    ] {
        let output = run(arguments);
        assert!(code(&output) == Some(2) && text(&output.stderr).contains(said), "{arguments:?}: {}", text(&output.stderr));
    }
    let nights = Nights::new();
    let one = nights.night("one.db", 1787, None);
    let output = run(&["-f", one.to_str().unwrap(), "-f", "http://127.0.0.1:1", "--dial-timeout", "100ms", "get", "nodes"]);
    assert!(code(&output) == Some(2) && text(&output.stderr).contains("http://127.0.0.1:1"), "{}", text(&output.stderr));
}
