//! kubectl's habits: `get` with its table and `-w`, the commands that there cannot be, and those in the modules below.

mod describe;
mod events;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::ketcd::ketcd;

const STORY_CAPTURE: &str = "k136-story";

fn run_on(capture: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(capture);
    ketcd().args(["-f", "snapshot.db.zst"]).args(arguments).current_dir(folder).output().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    run_on(STORY_CAPTURE, arguments)
}

/// What a command prints that finds something and has nothing to complain of.
#[track_caller]
fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn json_of(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[track_caller]
fn lines_of(arguments: &[&str]) -> Vec<Value> {
    text(arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the arguments on objects as kubectl prints them.
fn on_objects(objects: &[Value], arguments: &[&str]) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    ketcd().arg("-f").arg(file.path()).args(arguments).output().unwrap()
}

#[test]
fn get_prints_the_table_of_ls_unless_a_format_is_asked_for() {
    for words in [&["pods", "-A"][..], &["pod/web/crasher"], &["nodes", "-o", "wide"], &["po,svc", "-n", "web"], &["gadgets", "-A"]] {
        let (get, ls) = (text(&[&["get"], words].concat()), text(&[&["ls"], words].concat()));
        assert!(get.starts_with("NAME"), "{get}");
        assert_eq!(get, ls, "{words:?}");
    }
    assert_eq!(json_of(&["get", "pod/web/crasher", "-o", "json"])["metadata"]["name"], "crasher");
    let key = text(&["get", "/registry/pods/web/crasher"]);
    assert!(key.contains("crasher") && key.contains("CrashLoopBackOff"), "{key}");
}

#[test]
fn get_watch_prints_what_is_and_then_each_change() {
    let from = 1200;
    let watch = |more: &[&'static str]| -> Vec<&'static str> { [&["get", "pods", "-n", "lab", "--rev", "1200"], more].concat() };
    let before = text(&["ls", "pods", "-n", "lab", "--rev", "1200"]);
    let history = lines_of(&["history", "pods", "-n", "lab", "--objects", "-o", "ndjson"]);
    let later: Vec<&Value> = history.iter().filter(|change| change["revision"].as_i64().unwrap() > from).collect();
    assert!(later.len() > 50 && later.iter().any(|change| change["type"] == "DELETED"));

    let rows = text(&watch(&["-w"]));
    assert!(rows.starts_with(&before), "the rows of ls come first:\n{rows}");
    let name = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let followed: Vec<String> = rows[before.len()..].lines().map(name).collect();
    let wanted: Vec<String> = later.iter().map(|change| change["key"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()).collect();
    assert_eq!(followed, wanted);
    let only = text(&watch(&["--watch-only", "--no-headers"]));
    assert_eq!(only.lines().map(name).collect::<Vec<_>>(), wanted);

    // Documents are those of the history; of a deletion the object as it was last.
    let documents = lines_of(&watch(&["--watch-only", "-o", "ndjson"]));
    assert_eq!(documents.len(), later.len());
    for (document, change) in documents.iter().zip(&later).filter(|(_, change)| change["type"] != "DELETED") {
        assert_eq!(document, &change["object"]);
    }
    let pretty = text(&watch(&["-w", "-o", "json"]));
    let read: Vec<Value> = serde_json::Deserializer::from_str(&pretty).into_iter().map(Result::unwrap).collect();
    assert_eq!(read.len(), before.lines().count() - 1 + later.len());
    assert_eq!(read[before.lines().count() - 1..], documents);
    let yaml = text(&watch(&["-w", "-o", "yaml"]));
    assert_eq!(yaml.split("\n---\n").count(), read.len());
    let names = text(&watch(&["-w", "-o", "custom-columns=N:.metadata.name"]));
    assert_eq!(names.lines().count(), 1 + read.len());
    let templated = text(&watch(&["-w", "-o", "jsonpath={.metadata.name}{\"\\n\"}"]));
    assert_eq!(templated.lines().collect::<Vec<_>>(), names.lines().skip(1).map(str::trim_end).collect::<Vec<_>>());
    // What cannot be read as a template is refused before anything happens.
    let broken = run(&watch(&["--watch-only", "--field-selector", "metadata.name=nothing", "-o", "go-template={{"]));
    assert_eq!((broken.status.code(), broken.stdout.len()), (Some(2), 0), "{}", stderr(&broken));

    // A selector takes an object that fits before or after the change.
    let running = text(&watch(&["--watch-only", "--no-headers", "--field-selector", "status.phase=Running"]));
    assert!(running.lines().count() < wanted.len() && running.lines().any(|line| line.contains("Terminating")), "{running}");
    let end = run(&["get", "pods", "-n", "lab", "--watch-only"]);
    assert_eq!((end.status.code(), end.stdout.len()), (Some(1), 0), "a file has no changes after its newest revision");
}

#[test]
fn get_watch_says_what_is_not_there_and_goes_on() {
    let created = lines_of(&["history", "pod/lab/urgent", "-o", "ndjson"])[0]["revision"].as_i64().unwrap();
    let output = run(&["get", "pod/lab/urgent", "-w", "--no-headers", "--rev", &(created - 1).to_string()]);
    assert!(stderr(&output).contains("pod \"urgent\" not found in namespace \"lab\" at revision"), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("urgent"));
}

#[test]
fn commands_that_there_cannot_be_say_why() {
    for (words, why) in [
        ("logs crasher -n web -f --tail=5", "logs are not in etcd but on the pod's node, in /var/log/pods/"),
        ("logs -f crasher -c main --previous", "/var/log/pods/"),
        ("delete pod crasher -n web --force --grace-period=0", "ketcd never writes to a cluster; use kubectl delete"),
        ("edit deploy/tomcat", "ketcd get -o yaml shows the object"),
        ("apply -f deploy.yaml --server-side", "use kubectl apply"),
        ("apply -k .", "use kubectl apply"),
        ("exec -it crasher -- sh -c ls", "exec asks the kubelet"),
        ("scale deploy tomcat --replicas=3", "use kubectl scale"),
        ("patch pod x -p {}", "use kubectl patch"),
        ("create deployment x --image=y", "use kubectl create"),
        ("label pod x a=b", "use kubectl label"),
        ("annotate pod x a=b", "use kubectl annotate"),
        ("rollout undo deploy/tomcat --to-revision=3", "ketcd timeline and ketcd history show rollouts"),
        ("drain node1 --ignore-daemonsets", "use kubectl drain"),
        ("cordon node1", "use kubectl cordon"),
        ("uncordon node1", "use kubectl uncordon"),
        ("taint nodes node1 a=b:NoSchedule", "use kubectl taint"),
        ("top pods", "metrics-server"),
        ("port-forward pod/x 8080:80", "use kubectl port-forward"),
        ("attach x", "use kubectl attach"),
        ("cp x:/tmp/a .", "use kubectl cp"),
    ] {
        let output = ketcd().args(words.split(' ')).output().unwrap();
        let said = stderr(&output);
        assert_eq!((output.status.code(), output.stdout.len(), said.lines().count()), (Some(2), 0, 1), "{words}: {said}");
        assert!(said.starts_with("ketcd: error: ") && said.contains(why), "{words}: {said}");
    }
    let help = String::from_utf8(ketcd().arg("--help").output().unwrap().stdout).unwrap();
    assert!(help.contains("  describe ") && !help.contains("  delete ") && !help.contains("  logs "), "{help}");
}
