//! Files of API objects: the state of one moment, read however large or broken it is, and known only from what it holds.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst")
}

fn run(files: &[&Path], arguments: &[&str]) -> Output {
    let files = files.iter().flat_map(|file| [Path::new("-f"), file]);
    Command::new(env!("CARGO_BIN_EXE_ketcd")).args(files).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What it says on standard output, where it exits 0.
fn stdout_of(files: &[&Path], arguments: &[&str]) -> String {
    let output = run(files, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn file(content: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

fn names(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn config_map(name: &str, version: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x", "resourceVersion": version}})
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}})
}

/// The kinds whose stories are held against their histories, each a file, as `kubectl get -A --show-managed-fields` would write them.
const KINDS: &[&str] = &[
    "pods",
    "nodes",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "events",
    "namespaces",
    "services",
    "pvc",
    "pv",
    "hpa",
    "pdb",
];

struct Printed {
    _folder: TempDir,
    files: Vec<PathBuf>,
}

impl Printed {
    fn files(&self) -> Vec<&Path> {
        self.files.iter().map(PathBuf::as_path).collect()
    }
}

/// Prints a capture's objects at a revision, each kind into a file, JSON and YAML by turns.
fn printed(name: &str, revision: &str) -> Printed {
    let folder = TempDir::new().unwrap();
    let mut files = Vec::new();
    for (place, kind) in KINDS.iter().enumerate() {
        let format = if place % 4 == 1 { "yaml" } else { "json" };
        let output = run(&[&capture(name)], &["get", kind, "-A", "-o", format, "--show-managed-fields", "--rev", revision]);
        if output.status.code() == Some(0) {
            let path = folder.path().join(kind);
            std::fs::write(&path, output.stdout).unwrap();
            files.push(path);
        }
    }
    Printed { _folder: folder, files }
}

fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn time(of: &Value) -> Timestamp {
    of["time"].as_str().unwrap().parse().unwrap()
}

fn seconds(a: Timestamp, b: Timestamp) -> f64 {
    a.duration_since(b).as_secs_f64().abs()
}

/// Whether a history shows a phase that the object alone shows: by the same name at the same time or, where only the object has a word for it, by a
/// change of the same manager at that time.
fn is_in_history(phase: &Value, history: &Value) -> bool {
    let at = time(phase);
    let near = |other: &Value| {
        other["time"].is_string()
            && seconds(at, time(other)) <= 1.0 + phase["timeErrorSeconds"].as_f64().unwrap() + other["timeErrorSeconds"].as_f64().unwrap()
    };
    let same = |other: &&Value| match phase["phase"].as_str().unwrap() {
        // A node that came back is ready since then.
        "Ready" => other["phase"] == "Ready" || other["phase"] == "Returned",
        name => other["phase"] == name,
    };
    let by = |change: &&Value| phase["by"].is_null() || change["by"] == phase["by"];
    let phases = history["phases"].as_array().unwrap();
    match phase["phase"].as_str().unwrap() {
        "Changed" | "Started" => history["changes"].as_array().unwrap().iter().filter(by).any(near),
        _ => phases.iter().filter(same).any(near),
    }
}

#[test]
fn what_objects_alone_show_is_in_their_history() {
    for (name, revisions) in [("k120-story", ["700", "1100", "1786"]), ("k136-story", ["1300", "2000", "3190"])] {
        let history = documents(&stdout_of(&[&capture(name)], &["timeline", "-A", "-o", "ndjson"]));
        let history: HashMap<String, &Value> = history.iter().map(|story| (story["object"].to_string(), story)).collect();
        let mut phases = 0;
        let mut wrong = Vec::new();
        for revision in revisions {
            let printed = printed(name, revision);
            let output = run(&printed.files(), &["timeline", "-A", "-o", "ndjson"]);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            for story in documents(&text(&output.stdout)) {
                assert_eq!((&story["complete"], &story["oneMoment"], &story["gaps"]), (&json!(false), &json!(true), &json!([])), "{story}");
                let Some(past) = history.get(&story["object"].to_string()) else { continue };
                for phase in story["phases"].as_array().unwrap() {
                    phases += 1;
                    assert_ne!(phase["byFrom"], "inferred", "{phase}");
                    if !is_in_history(phase, past) {
                        wrong.push(format!("{name} r{revision} {}: {phase}", story["object"]));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {phases}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(phases > 300, "{phases}");
    }
}

#[test]
fn a_pod_alone_shows_its_steps() {
    let printed = printed("k136-story", "1300");
    let story: Value = serde_json::from_str(&stdout_of(&printed.files(), &["timeline", "pod/web/logged", "-o", "json"])).unwrap();
    let phases: Vec<&str> = story["phases"].as_array().unwrap().iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(
        phases,
        [
            "Created",
            "Scheduled",
            "SandboxReady",
            "SidecarStarted",
            "InitStarted",
            "InitFinished",
            "Initialized",
            "ContainersStarted",
            "Ready"
        ],
        "{story:#}"
    );
    assert_eq!(story["phases"][1]["detail"], "to node3");
    assert_eq!(story["phases"][0]["by"], "kubectl-client-side-apply");
    let own = story["changes"][0]["revision"].as_i64().unwrap();
    assert!(story["phases"].as_array().unwrap().iter().all(|phase| phase["revision"] == own));
    assert!(story["events"].as_array().unwrap().iter().any(|event| event["reason"] == "Scheduled"));
    let page = stdout_of(&printed.files(), &["timeline", "pod/web/logged"]);
    assert!(!page.contains("no scheduler asked") && !page.contains("(gap)") && !page.contains('*'), "{page}");
    assert!(page.lines().next().unwrap().contains("one moment"), "{page}");
}

#[test]
fn lists_of_several_revisions_are_one_moment() {
    let first = file(&list(&[config_map("a", "17"), config_map("b", "12")]).to_string());
    let second = file(
        &json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "90"},
        "items": [{"metadata": {"name": "c", "namespace": "x", "resourceVersion": "80"}}, {"metadata": {"name": "d", "namespace": "x"}}]})
        .to_string(),
    );
    let files = [first.path(), second.path()];
    let output =
        run(&files, &["get", "cm", "-n", "x", "-o", "jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}"]);
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("a=17 b=12 c=80 d= ", ""));
    let status: Value = serde_json::from_str(&stdout_of(&files, &["status", "-o", "json"])).unwrap();
    assert_eq!((&status["revisions"]["oneMoment"], &status["problems"]), (&json!(true), &json!([])));
    assert_eq!((&status["revisions"]["oldestReadable"], &status["revisions"]["newest"]), (&json!(90), &json!(90)));
    let changes = documents(&stdout_of(&files, &["history", "--all", "-o", "ndjson"]));
    let seen: Vec<_> =
        changes.iter().map(|change| (change["revision"].as_i64().unwrap(), change["type"].as_str().unwrap(), &change["patch"])).collect();
    assert_eq!(
        seen,
        [(0, "MODIFIED", &Value::Null), (12, "MODIFIED", &Value::Null), (17, "MODIFIED", &Value::Null), (80, "MODIFIED", &Value::Null)]
    );
    assert!(changes.iter().all(|change| change["time"].is_null() && change["source"] == "objects"));
    let page = stdout_of(&files, &["history", "cm/x/a"]);
    assert!(page.contains("as read; what came before is not known"), "{page}");
    for asked in [&["get", "cm/x/a", "--rev", "20"][..], &["history", "cm/x/a", "--rev", "100"]] {
        let output = run(&files, asked);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("API objects are the state of one moment, not a history"), "{}", text(&output.stderr));
    }
}

#[test]
fn of_copies_the_newest_is_shown() {
    let with = |mut object: Value, word: &str| {
        object["data"] = json!({"w": word});
        object
    };
    let mut managed = config_map("same", "5");
    managed["metadata"]["managedFields"] = json!([{"manager": "m", "operation": "Update"}]);
    let old = file(&list(&[with(config_map("a", "9"), "old"), config_map("same", "5"), with(config_map("odd", "7"), "one")]).to_string());
    let new = file(&list(&[with(config_map("a", "10"), "new"), managed, with(config_map("odd", "7"), "other")]).to_string());
    for files in [[old.path(), new.path()], [new.path(), old.path()]] {
        let output = run(
            &files,
            &["get", "cm", "-n", "x", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.w} {end}", "--show-managed-fields"],
        );
        let (shown, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(shown.starts_with("a=new odd="), "{shown}");
        assert_eq!(stderr.lines().count(), 2, "{stderr}");
        assert!(
            stderr.contains(&format!(
                "{}: ConfigMap x/a is left out: {} has a newer version of it",
                old.path().display(),
                new.path().display()
            )),
            "{stderr}"
        );
        assert!(
            stderr.contains("ConfigMap x/odd is left out: ") && stderr.contains("has another copy of it at the same resourceVersion"),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout_of(&files, &["get", "cm/x/same", "-o", "json", "--show-managed-fields"]).contains("\"manager\": \"m\""));
    }
}

#[test]
fn ages_count_from_the_newest_time_or_at() {
    let born = |name: &str, born: &str| {
        let mut object = config_map(name, "3");
        object["metadata"]["creationTimestamp"] = born.into();
        object["metadata"]["annotations"] = json!({"expires": "2030-01-01T00:00:00Z"});
        object
    };
    let mut nothing = config_map("c", "4");
    nothing["metadata"]["creationTimestamp"] = Value::Null;
    let objects = file(&list(&[born("a", "2026-01-01T00:00:00Z"), born("b", "2026-01-01T01:00:00Z"), nothing]).to_string());
    let ages = |more: &[&str]| {
        let output = run(&[objects.path()], &[&["ls", "cm", "-n", "x", "--no-headers"], more].concat());
        let ages: Vec<String> = text(&output.stdout).lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect();
        (ages.join(" "), text(&output.stderr))
    };
    assert_eq!(ages(&[]), ("60m 0s <unknown>".to_owned(), String::new()));
    assert_eq!(ages(&["--at", "2026-01-01T03:00:00Z"]), ("3h 120m <unknown>".to_owned(), String::new()));
    let (shown, stderr) = ages(&["--at", "-30m"]);
    assert!(shown.starts_with("30m "), "{shown}");
    assert!(stderr.contains("--at 2026-01-01T00:30:00Z is before the newest time in the objects, 2026-01-01T01:00:00Z"), "{stderr}");
}

#[test]
fn no_clock_is_accused_by_objects() {
    for name in ["k120-story", "k136-story"] {
        let printed = printed(name, "1500");
        let output = run(&printed.files(), &["status"]);
        let (page, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(page.contains("one moment") && !page.contains("problem") && !page.contains("clock"), "{page}");
        assert_eq!((stderr.as_str(), output.status.code()), ("", Some(0)));
    }
}

#[test]
fn every_command_takes_objects() {
    let folder = TempDir::new().unwrap();
    let printed = printed("k136-story", "1300");
    let files = printed.files();
    let page = folder.path().join("page.html");
    for arguments in [
        &["blame", "pod/web/logged"][..],
        &["history", "pod/web/logged", "--diff"],
        &["history", "--all"],
        &["timeline", "node/node1"],
        &["timeline", "deploy/web/tomcat"],
        &["timeline", "-n", "lab"],
        &["timeline", "-A", "-o", "wide"],
        &["timeline", "pod/web/logged", "--around", "-30m", "--window", "3h"],
        &["report", "--out", page.to_str().unwrap()],
        &["ls", "pods", "-A", "-o", "wide"],
        &["explain", "pod/lab/details"],
    ] {
        let output = run(&files, arguments);
        let stderr = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("clock") && !text(&output.stdout).contains("no scheduler asked"), "{arguments:?}: {stderr}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("the state of one moment") && !page.contains("complete since the cluster began"));
    let (one, other) = (file(&config_map("a", "5").to_string()), file(&config_map("b", "6").to_string()));
    let output = run(&[], &["diff", one.path().to_str().unwrap(), other.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let both = run(&[&capture("k120-story"), one.path()], &["ls", "cm", "-A"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(text(&both.stderr).contains("API objects and etcd's own files cannot be read together"), "{}", text(&both.stderr));
}

#[test]
fn who_bound_a_pod_is_not_printed_where_nothing_shows_it() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "nodeInfo": {"kubeletVersion": "v1.36.0"}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x", "uid": "1"},
        "spec": {"nodeName": "n1", "schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i"}]}});
    let objects = file(&list(&[node, pod]).to_string());
    let stderr = stdout_of(&[objects.path()], &["explain", "pod/x/p"]);
    assert!(stderr.contains("x/p → n1") && !stderr.contains("no scheduler decided"), "{stderr}");
}

/// Each form of a file, whole and cut at many places: what comes before the break is shown, and the break is reported.
#[test]
fn a_file_cut_short_gives_what_came_before() {
    let objects: Vec<Value> = (0..40)
        .map(|number| {
            let mut object = config_map(&format!("c{number:02}"), &format!("{}", 100 + number));
            object["data"] = json!({"text": "a\"b\\ü\n".repeat(5)});
            object
        })
        .collect();
    let pretty = serde_json::to_string_pretty(&list(&objects)).unwrap();
    let lines = objects.iter().map(|object| format!("{object}\n")).collect::<String>();
    let whole = file(&pretty);
    let yaml = stdout_of(&[whole.path()], &["get", "cm", "-n", "x", "-o", "yaml"]);
    for (form, content) in [("list", &pretty), ("lines", &lines), ("yaml", &yaml)] {
        assert_eq!(names(&run(&[file(content).path()], &["ls", "cm", "-n", "x", "-o", "name"])).len(), 40, "{form}");
        for part in 1..20 {
            let mut cut = content.len() * part / 20;
            while !content.is_char_boundary(cut) {
                cut -= 1;
            }
            let broken = file(&content[..cut]);
            let output = run(&[broken.path()], &["ls", "cm", "-n", "x", "-o", "name"]);
            let (shown, stderr) = (names(&output), text(&output.stderr));
            let complete = content[..cut].matches(if form == "yaml" { "resourceVersion: \"1" } else { "\"resourceVersion\":" }).count();
            assert!(shown.len().abs_diff(complete) <= 1, "{form} {part}: {} of {complete}: {stderr}", shown.len());
            let on_a_line = form == "lines" && content[..cut].ends_with('\n');
            assert_eq!(output.status.code(), Some(if on_a_line { 0 } else { 2 }), "{form} {part}: {stderr}");
            assert!(on_a_line || stderr.contains("line "), "{form} {part}: {stderr}");
        }
    }
    let garbage = file(&format!("{lines}{{\"apiVersion\": \"v1\", x}}\n"));
    let output = run(&[garbage.path()], &["ls", "cm", "-n", "x", "-o", "name"]);
    assert_eq!((names(&output).len(), output.status.code()), (40, Some(2)));
    assert!(text(&output.stderr).contains("the JSON is damaged at line 41, column 22 (key must be a string)"), "{}", text(&output.stderr));
}

#[test]
fn one_object_that_cannot_be_read_costs_no_other() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let lines = format!("{}\n{{\"kind\": \"ConfigMap\", \"deep\": {deep}}}\n17\n{}\n", config_map("a", "1"), config_map("b", "2"));
    let output = run(&[file(&lines).path()], &["ls", "cm", "-n", "x", "-o", "name"]);
    assert_eq!((names(&output).len(), output.status.code()), (2, Some(2)));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("the object that begins at line 2 cannot be read: recursion limit exceeded")
            && stderr.contains("the value at line 3 is not an API object"),
        "{stderr}"
    );
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n---\na: [1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: x}\n";
    let output = run(&[file(yaml).path()], &["ls", "cm", "-n", "x", "-o", "name"]);
    assert_eq!((names(&output).len(), output.status.code()), (2, Some(2)), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the YAML cannot be read at line "), "{}", text(&output.stderr));
}

#[test]
fn odd_shapes_are_read() {
    let nested = list(&[list(&[config_map("a", "1")]), config_map("b", "2")]);
    let array = json!([config_map("a", "1"), config_map("b", "2")]);
    let late = r#"{"items": [{"metadata": {"name": "a", "namespace": "x"}}, {"metadata": {"name": "b", "namespace": "x"}}], "apiVersion": "v1", "kind": "ConfigMapList"}"#;
    let own = r#"{"apiVersion": "v1", "items": [1, 2], "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}"#;
    let map = r#"{"apiVersion": "v1", "items": {"c": 1}, "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "x"}}"#;
    let bom = format!("\u{feff}{}", config_map("a", "1"));
    for (content, count) in [(nested.to_string(), 2), (array.to_string(), 2), (late.to_owned(), 2), (format!("{own}\n{map}"), 2), (bom, 1)]
    {
        let as_yaml = format!("---\n{}", content.trim_start_matches('\u{feff}').replace("}\n{", "}\n---\n{"));
        for content in [content, as_yaml] {
            let output = run(&[file(&content).path()], &["ls", "cm", "-n", "x", "-o", "name"]);
            assert_eq!((names(&output).len(), text(&output.stderr).as_str(), output.status.code()), (count, "", Some(0)), "{content}");
        }
    }
    assert!(stdout_of(&[file(own).path()], &["get", "cm/x/a", "-o", "json"]).contains("\"items\""));
    // A list of nothing is a list all the same.
    let empty = run(&[file(&list(&[]).to_string()).path()], &["ls", "cm", "-n", "x"]);
    assert_eq!(empty.status.code(), Some(1), "{}", text(&empty.stderr));
    for nothing in ["hello", "{}", "[1, 2", "a: 1", "\u{7f}"] {
        let output = run(&[file(nothing).path()], &["ls", "cm", "-A"]);
        assert_eq!(output.status.code(), Some(2), "{nothing}");
        assert!(text(&output.stderr).contains("is neither an etcd database nor API objects"), "{nothing}: {}", text(&output.stderr));
    }
}

#[test]
fn definitions_of_another_file_make_kinds_known() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true}]}});
    let things: Vec<Value> = (0..3)
        .map(
            |number| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": format!("t{number}"), "namespace": "x"}}),
        )
        .collect();
    let (things, definition) = (file(&list(&things).to_string()), file(&definition.to_string()));
    assert_eq!(names(&run(&[things.path(), definition.path()], &["ls", "things", "-n", "x", "-o", "name"])).len(), 3);
    let alone = text(&run(&[things.path()], &["ls", "cm", "-A"]).stderr);
    assert!(alone.contains("3 objects example.com/v1 Thing are left out: its kind has no place in etcd that ketcd knows"), "{alone}");
}

#[test]
fn yaml_of_a_whole_cluster_loads() {
    let pods = stdout_of(&[&capture("k136-story")], &["get", "pods", "-A", "-o", "yaml"]);
    let (head, rest) = pods.split_once("items:\n").unwrap();
    let (items, tail) = rest.split_once("\nkind: List").unwrap();
    let count = items.matches("\n    name: ").count();
    let many: String = (0..1000_usize.div_ceil(30))
        .map(|number| format!("{}\n", items.replace("\n    name: ", &format!("\n    name: n{number}-"))))
        .collect();
    let many = file(&format!("{head}items:\n{many}kind: List{tail}"));
    let shown = names(&run(&[many.path()], &["ls", "pods", "-A", "-o", "name"]));
    assert!(shown.len() > 900, "{} of {count} each", shown.len());
    let stream: String =
        (0..1500).map(|number| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n  namespace: x\n")).collect();
    assert_eq!(names(&run(&[file(&stream).path()], &["ls", "cm", "-n", "x", "-o", "name"])).len(), 1500);
}

#[test]
fn aliases_that_expand_without_end_are_refused() {
    let mut laughs =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
            .to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let long = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: x}}\nlong: &long \"{}\"\nmany:\n{}",
        "x".repeat(1 << 20),
        "- *long\n".repeat(40_000)
    );
    for bomb in [laughs, long] {
        let output = run(&[file(&bomb).path()], &["ls", "cm", "-A"]);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("its aliases expand to far more than the file holds"), "{stderr}");
    }
    let used = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, labels: &l {app: w}}\ndata: *l\n";
    assert!(stdout_of(&[file(used).path()], &["get", "cm/x/a", "-o", "jsonpath={.data.app}"]).contains('w'));
}

/// What the API server lets pass must not stop the reading.
#[test]
fn null_times_and_lists_are_no_obstacle() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x", "creationTimestamp": null, "managedFields": null, "ownerReferences": null},
        "spec": null, "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": null}, null], "containerStatuses": null}});
    let output = run(&[file(&pod.to_string()).path()], &["timeline", "pod/x/p", "-o", "json"]);
    let story: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(story["phases"], json!([]), "what has no time is no step");
}

/// What kubectl means by YAML without quotes, and what it writes without them.
#[test]
fn yaml_means_what_it_means_to_kubectl() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, namespace: x, annotations: {commit: 12e4567}}\n  \
                data: {k: 'a\u{2028}    b'}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p, namespace: x}\n  \
                spec: {volumes: [{name: v, configMap: {name: a, defaultMode: 0644}}], containers: [{name: c, ports: [{containerPort: 08080}]}]}\n";
    let objects = file(text);
    let get = |what: &str, path: &str| stdout_of(&[objects.path()], &["get", what, "-o", &format!("jsonpath={{{path}}}")]);
    assert_eq!(get("cm/x/a", ".metadata.annotations.commit"), "12e4567");
    assert_eq!(get("cm/x/a", ".data.k"), "a\u{2028}b");
    assert_eq!(get("pod/x/p", ".spec.volumes[0].configMap.defaultMode"), "420");
    assert_eq!(get("pod/x/p", ".spec.containers[0].ports[0].containerPort"), "8080");
    let manifest = stdout_of(&[objects.path()], &["extract", "pod/x/p"]);
    assert!(manifest.contains("defaultMode: 420\n") && manifest.contains("containerPort: 8080\n"), "{manifest}");
}

/// An item that cannot be read costs no other, and the words are ours.
#[test]
fn one_item_of_yaml_that_cannot_be_read_costs_no_other() {
    let item = |name: &str, more: &str| format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}, namespace: x}}\n{more}");
    let bad = ["  data: {a: .inf}\n", "  data: {a: 1, a: 2}\n", "  data: *none\n", "  data: !!int x\n"];
    for (number, more) in bad.into_iter().enumerate() {
        let text = format!("apiVersion: v1\nitems:\n{}{}{}kind: List\n", item("a", ""), item("b", more), item("c", ""));
        let output = run(&[file(&text).path()], &["ls", "cm", "-n", "x", "-o", "name"]);
        let stderr = text_of(&output);
        assert_eq!(
            (names(&output), output.status.code()),
            (vec!["configmap/a".to_owned(), "configmap/c".to_owned()], Some(2)),
            "{number}: {stderr}"
        );
        assert!(
            stderr.contains("the YAML cannot be read at line 9, column ") && stderr.contains("; the object there is missing"),
            "{stderr}"
        );
    }
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let stderr = text_of(&run(&[file(two).path()], &["ls", "-A"]));
    assert!(
        stderr.contains("at line 4, column 1 (a member is written twice in one object; a line --- between two objects may be missing)"),
        "{stderr}"
    );
    for word in ["policy", "Policy", "Options", "saphyr", "serde"] {
        assert!(!stderr.contains(word), "{stderr}");
    }
}

fn text_of(output: &Output) -> String {
    text(&output.stderr)
}
