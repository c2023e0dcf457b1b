//! The error where an address finds nothing: the object of that name that exists elsewhere, and the command that shows it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn object(kind: &str, namespace: &str, name: &str) -> Value {
    let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{kind}-{namespace}-{name}"), "resourceVersion": "9"}})
}

/// A cluster of a few objects, in a folder of its own.
fn cluster() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut objects = vec![
        object("Pod", "shop", "web-0"),
        object("Pod", "shop", "one"),
        object("Pod", "lab", "one"),
        object("Service", "shop", "web"),
        object("Service", "default", "api"),
        object("ConfigMap", "default", "api"),
        object("Deployment", "other", "api"),
        object("ConfigMap", "lab", "api"),
    ];
    objects.extend((0..5).map(|n| object("ConfigMap", &format!("ns-{n}"), "everywhere")));
    let mut node = object("Node", "", "n1");
    node["metadata"].as_object_mut().unwrap().remove("namespace");
    objects.push(node);
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    std::fs::write(folder.path().join("all objects.json"), lines.join("\n")).unwrap();
    std::fs::write(folder.path().join("objects.json"), lines.join("\n")).unwrap();
    folder
}

fn ketcd(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ketcd")).current_dir(folder).args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Holds the one error of a command that finds nothing, and that the command it suggests finds something.
#[track_caller]
fn check(folder: &Path, arguments: &[&str], wanted: &str) {
    let output = ketcd(folder, arguments);
    let lines: Vec<String> = stderr(&output).lines().filter(|line| line.contains("error:")).map(str::to_owned).collect();
    assert_eq!(lines, [format!("ketcd: error: {wanted}")], "{arguments:?}: {}", stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    let Some((_, command)) = wanted.rsplit_once(": ketcd ") else { return };
    let script = format!("exec \"$0\" {command}");
    let shown = Command::new("sh").current_dir(folder).args(["-c", &script, env!("CARGO_BIN_EXE_ketcd")]).output().unwrap();
    assert!(!shown.stdout.is_empty() && !stderr(&shown).contains("error:"), "{command}: {}", stderr(&shown));
}

#[test]
fn the_same_name_in_another_namespace() {
    let folder = cluster();
    let not_found = |what: &str| format!("{what} not found in namespace \"default\" at revision 9; ");
    let f = ["-f", "objects.json"];
    check(
        folder.path(),
        &[&f[..], &["get", "pod/web-0"]].concat(),
        &(not_found("pod \"web-0\"") + "it exists in namespace \"shop\": ketcd -f objects.json get pod/shop/web-0"),
    );
    check(
        folder.path(),
        &[&f[..], &["ls", "pod/one"]].concat(),
        &(not_found("pod \"one\"") + "it exists in namespaces \"lab\" and \"shop\": ketcd -f objects.json ls pod/lab/one"),
    );
    check(
        folder.path(),
        &[&f[..], &["get", "cm/everywhere", "--rev", "9"]].concat(),
        &(not_found("configmap \"everywhere\"")
            + "it exists in 5 other namespaces, \"ns-0\", \"ns-1\" and \"ns-2\" among them: "
            + "ketcd -f objects.json get configmap/ns-0/everywhere --rev 9"),
    );
    check(
        folder.path(),
        &["-f", "all objects.json", "get", "/registry/pods/default/web-0"],
        "key /registry/pods/default/web-0 not found at revision 9; it exists in namespace \"shop\": \
         ketcd -f 'all objects.json' get pod/shop/web-0",
    );
}

#[test]
fn the_same_name_of_another_kind() {
    let folder = cluster();
    let check = |arguments: &[&str], wanted: &str| check(folder.path(), &[&["-f", "objects.json"], arguments].concat(), wanted);
    check(
        &["get", "pod/shop/web"],
        "pod \"web\" not found in namespace \"shop\" at revision 9; \
         service \"web\" exists in namespace \"shop\": ketcd -f objects.json get service/shop/web",
    );
    check(
        &["get", "pod/n1"],
        "pod \"n1\" not found in namespace \"default\" at revision 9; node \"n1\" exists: ketcd -f objects.json get node/n1",
    );
    // Those of the same namespace first.
    check(
        &["get", "pod/api"],
        "pod \"api\" not found in namespace \"default\" at revision 9; 4 objects of other kinds have that name, \
         configmap/default/api, service/default/api and configmap/lab/api among them: ketcd -f objects.json get configmap/default/api",
    );
    check(&["get", "node/n2"], "node \"n2\" not found at revision 9; did you mean n1? ketcd -f objects.json get node/n1");
}

#[test]
fn every_command_that_takes_addresses() {
    let folder = cluster();
    let elsewhere = |command: &str| format!("; it exists in namespace \"shop\": ketcd -f objects.json {command}");
    for (command, when, suggestion) in [
        ("get", "at revision 9", "get pod/shop/web-0"),
        ("ls", "at revision 9", "ls pod/shop/web-0"),
        ("describe", "at revision 9", "describe pod/shop/web-0"),
        ("tree", "at revision 9", "tree pod/shop/web-0"),
        ("blame", "at any readable revision, 9 to 9", "blame pod/shop/web-0"),
        ("explain", "at revision 9", "explain pod/shop/web-0"),
        ("history", "at any readable revision, 9 to 9", "history pod/shop/web-0"),
        ("timeline", "at any readable revision, 9 to 9", "timeline pod/shop/web-0"),
        ("watch", "at any readable revision, 9 to 9", "watch pod/shop/web-0"),
    ] {
        let wanted = format!("pod \"web-0\" not found in namespace \"default\" {when}{}", elsewhere(suggestion));
        check(folder.path(), &["-f", "objects.json", command, "pod/web-0"], &wanted);
    }
    let wanted = format!("pod \"web-0\" not found in namespace \"default\" at revision 9{}", elsewhere("get pod/shop/web-0 --with-config"));
    check(folder.path(), &["-f", "objects.json", "get", "pod/web-0", "--with-config"], &wanted);
}

#[test]
fn a_namespace_and_a_name_in_the_wrong_order() {
    let folder = cluster();
    check(
        folder.path(),
        &["-f", "objects.json", "get", "pod/web-0/shop"],
        "pod \"shop\" not found in namespace \"web-0\" at revision 9; did you mean pod/shop/web-0? ketcd -f objects.json get pod/shop/web-0",
    );
}

/// Holds the error of a command on the recorded cluster in which no kind is named, and that what it suggests names one.
#[track_caller]
fn check_without_kind(arguments: &str, wanted: &str) {
    let words: Vec<&str> = arguments.split(' ').collect();
    let output = ketcd(Path::new("."), &[&["-f", &story()][..], &words].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    assert!(said.contains(&wanted.replace("FILE", &story())), "{arguments}: {said}");
    let (_, command) = said.trim_end().rsplit_once("ketcd -f ").expect("a command is suggested");
    let script = format!("exec \"$0\" -f {command}");
    let shown = Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_ketcd")]).output().unwrap();
    assert!(!stderr(&shown).contains("error:"), "{command}: {}", stderr(&shown));
}

#[test]
fn a_name_without_a_kind() {
    let tomcat = "no kind is called \"tomcat\"; \"tomcat\" is deploy/web/tomcat";
    for command in ["blame", "describe", "explain", "get", "history", "ls", "timeline", "tree", "triage", "usage", "watch"] {
        check_without_kind(&format!("{command} tomcat -n web"), tomcat);
        check_without_kind(
            &format!("{command} crasher -n web").replace("explain", "history"),
            "\"crasher\" is pod/web/crasher: ketcd -f FILE ",
        );
    }
    check_without_kind("explain web/tomcat", "\"web/tomcat\" is deploy/web/tomcat");
    check_without_kind("get crahser", "did you mean pod/web/crasher? ketcd -f FILE get pod/web/crasher");
    check_without_kind("explain tomcat", "explain deploy/web/tomcat");
    check_without_kind("what-if --scale tomcat=5 -n web", "what-if --scale deploy/web/tomcat=5 -n web");
    check_without_kind("get tomcat-7f6f6db99b-jr4fc", "\"tomcat-7f6f6db99b-jr4fc\" was pod/web/tomcat-7f6f6db99b-jr4fc at revision ");
}

#[test]
fn a_namespace_without_a_kind() {
    for (command, meant) in [
        ("timeline", "timeline -n web"),
        ("triage", "triage -n web"),
        ("history", "history -n web"),
        ("events", "events -n web"),
        ("usage", "usage -n web"),
        ("extract", "extract namespace/web"),
        ("tree", "tree namespace/web"),
        ("explain", "explain pods -n web"),
        ("get", "get all -n web"),
    ] {
        check_without_kind(&format!("{command} web"), &format!("\"web\" is a namespace: ketcd -f FILE {meant}"));
    }
}

#[test]
fn a_pod_is_explained_by_its_name() {
    let explain = |words: &str| {
        let output = ketcd(Path::new("."), &[&["-f", &story(), "explain"][..], &words.split(' ').collect::<Vec<_>>()].concat());
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
        output.stdout
    };
    let whole = explain("pod/web/crasher");
    assert_eq!(explain("crasher -n web"), whole);
    assert_eq!(explain("web/crasher"), whole);
    assert_eq!(explain("crasher db-0 -n web"), explain("pod/web/crasher pod/web/db-0"));
}

#[test]
fn a_namespace_that_does_not_exist_is_said_to_be_missing() {
    let dataset = tempfile::tempdir().unwrap();
    for words in
        ["ls", "timeline", "history", "explain pods", "blame pods", "events", "usage", "get pods", "grep node3", "export --out DATASET"]
    {
        let words = words.replace("DATASET", dataset.path().to_str().unwrap());
        let arguments: Vec<&str> = words.split(' ').chain(["-n", "nosuch"]).collect();
        let output = ketcd(Path::new("."), &[&["-f", &story()][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{words}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("nosuch") && said.contains("does not exist") && said.contains("ls namespaces"), "{words}: {said}");
    }
    // Objects alone do not show which namespaces exist.
    let folder = cluster();
    let output = ketcd(folder.path(), &["-f", "objects.json", "history", "-n", "nosuch"]);
    assert!(!stderr(&output).contains("does not exist"), "{}", stderr(&output));
}

#[test]
fn what_is_there_is_shown_all_the_same() {
    let folder = cluster();
    let output = ketcd(folder.path(), &["-f", "objects.json", "get", "pod/web-0", "pod/shop/web-0", "-o", "name"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b"pod/web-0\n"[..]), "{}", stderr(&output));
    assert!(stderr(&output).contains("it exists in namespace \"shop\""), "{}", stderr(&output));
    // A selector that fits nothing is no absence.
    let output = ketcd(folder.path(), &["-f", "objects.json", "history", "pod/shop/web-0", "-l", "a=b"]);
    assert!(output.status.code() == Some(1) && !stderr(&output).contains("error:"), "{}", stderr(&output));
}

fn story() -> String {
    format!("{}/testdata/captures/k120-story/snapshot.db.zst", env!("CARGO_MANIFEST_DIR"))
}

/// The first pod of the story that was deleted, and when: name and revision.
fn deleted() -> (String, i64) {
    let output = ketcd(Path::new("."), &["-f", &story(), "history", "pods", "-n", "lab", "-o", "ndjson"]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let changes: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times = |key: &Value| changes.iter().filter(|change| change["key"] == *key && change["type"] == "ADDED").count();
    let gone = changes.iter().find(|change| change["type"] == "DELETED" && times(&change["key"]) == 1).unwrap();
    (gone["key"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), gone["revision"].as_i64().unwrap())
}

#[test]
fn not_found_names_a_revision_that_has_the_object() {
    let (name, revision) = deleted();
    let (file, here) = (story(), Path::new("."));
    let before = revision - 1;
    check(
        here,
        &["-f", &file, "get", &format!("pod/lab/{name}")],
        &format!(
            "pod \"{name}\" not found in namespace \"lab\" at revision 1787; it was deleted at revision {revision}: \
             ketcd -f {file} get pod/lab/{name} --rev {before}"
        ),
    );
    // In another namespace and at another revision.
    check(
        here,
        &["-f", &file, "get", "pod", &name],
        &format!(
            "pod \"{name}\" not found in namespace \"default\" at revision 1787; it existed in namespace \"lab\" at revision {before}: \
             ketcd -f {file} get pod/lab/{name} --rev {before}"
        ),
    );
    check(
        here,
        &["-f", &file, "history", &format!("pod/{name}")],
        &format!(
            "pod \"{name}\" not found in namespace \"default\" at any readable revision, 1 to 1787; it existed in namespace \"lab\" \
             at revision {before}: ketcd -f {file} history pod/lab/{name}"
        ),
    );
    check(
        here,
        &["-f", &file, "diff", "pod/ubuntu", "--rev", "700..800"],
        &format!(
            "pod \"ubuntu\" not found in namespace \"default\" at revisions 700 and 800; it exists in namespace \"lab\": \
             ketcd -f {file} diff pod/lab/ubuntu --rev 700..800"
        ),
    );
    check(
        here,
        &["-f", &file, "diff", "pod/lab/ubuntu", "--rev", "2..3"],
        &format!(
            "pod \"ubuntu\" not found in namespace \"lab\" at revisions 2 and 3; it was created at revision 367: \
             ketcd -f {file} history pod/lab/ubuntu"
        ),
    );
    check(
        here,
        &["-f", &file, "history", "pod/lab/ubuntu", "--rev", "3"],
        &format!(
            "pod \"ubuntu\" not found in namespace \"lab\" at any readable revision, 1 to 3; it was created at revision 367: \
             ketcd -f {file} history pod/lab/ubuntu"
        ),
    );
}
