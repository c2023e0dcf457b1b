//! Command lines that are printed to be copied: each runs as it stands in a real shell, on the same source, whatever the names in it are made of.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ketcd::{all, ketcd};
use ketcd_testing::written::Written;

/// Names that a shell would run, expand or take for something else; what runs leaves the file RAN.
const HOSTILE_NAMES: &[&str] = &[
    "reader$(touch RAN)",
    "a`touch RAN`",
    "a;touch RAN;",
    "a&&touch RAN",
    "a|touch RAN",
    "a>RAN",
    "a\ntouch RAN\n#",
    "a' ; touch RAN ; '",
    "a\\'$(touch RAN)",
    "a\"$(touch RAN)",
    "${IFS}touch${IFS}RAN",
    "~root",
    "*",
    "{a,b}",
    "!!",
    "-rf",
    "#a",
    "a b",
    "a\u{1b}[31m",
    "a\u{202e}b",
    "Ünï",
];

/// The file's own name is hostile too.
const HOSTILE_FILE: &str = "it's $(touch RAN) a.db";

/// Writes an object of `path`, a resource with its namespace.
fn put(history: &mut Written, path: &str, api_version: &str, kind: &str, name: &str, rest: &Value) {
    let (_, namespace) = path.split_once('/').unwrap_or_default();
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "uid": format!("{path}/{name}"), "creationTimestamp": "2026-11-20T22:00:00Z"}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    history.put(&format!("/registry/{path}/{name}"), object.to_string());
}

/// A folder with the database of a cluster in which every name is hostile, and much is wrong.
fn cluster() -> TempDir {
    let mut history = Written::default();
    put(&mut history, "namespaces", "v1", "Namespace", "default", &json!({}));
    put(&mut history, "namespaces", "v1", "Namespace", "lab", &json!({}));
    for name in HOSTILE_NAMES {
        put(&mut history, "roles/lab", "rbac.authorization.k8s.io/v1", "Role", name, &json!({"rules": []}));
        put(&mut history, "configmaps/lab", "v1", "ConfigMap", name, &json!({"data": {}}));
        let waits = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available",
            "lastTransitionTime": "2026-11-20T22:00:00Z"});
        let pod = json!({"spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "c"}]},
            "status": {"phase": "Pending", "conditions": [waits]}});
        put(&mut history, "pods/lab", "v1", "Pod", name, &pod);
        let down =
            json!({"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-11-20T22:00:00Z"});
        put(&mut history, "minions", "v1", "Node", name, &json!({"status": {"conditions": [down]}}));
        let short = json!({"spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {}},
            "status": {"replicas": 2, "unavailableReplicas": 2}});
        put(&mut history, "deployments/lab", "apps/v1", "Deployment", name, &short);
    }
    for name in HOSTILE_NAMES {
        history.delete(&format!("/registry/configmaps/lab/{name}"));
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(HOSTILE_FILE), history.finish()).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    ketcd().args(["-f", HOSTILE_FILE]).args(arguments).current_dir(folder).output().unwrap()
}

/// The command lines that a run prints: each begins with ketcd's name and a flag, and ends its line.
fn printed(output: &Output) -> Vec<String> {
    let text = all(output);
    text.lines().filter_map(|line| line.find("ketcd -").map(|at| line[at..].trim_end().to_owned())).collect()
}

/// What triage says in JSON.
fn commands(value: &Value, found: &mut BTreeSet<String>) {
    found.extend(value["command"].as_str().filter(|command| !command.is_empty()).map(str::to_owned));
    for findings in [&value["findings"], &value["effects"]] {
        findings.as_array().into_iter().flatten().for_each(|finding| commands(finding, found));
    }
}

/// All command lines that commands print about the cluster.
fn suggested(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for arguments in
        [&["triage"][..], &["triage", "-o", "wide"], &["triage", "--rev", "30"], &["extract", "-n", "no$(touch RAN)where", "--all"]]
    {
        found.extend(printed(&run(folder, arguments)));
    }
    let triage = run(folder, &["triage", "-o", "json"]);
    commands(&serde_json::from_slice(&triage.stdout).unwrap(), &mut found);
    for name in HOSTILE_NAMES {
        for (command, address, least) in [
            ("describe", format!("role/lab/{name}"), 1),
            ("timeline", format!("cm/lab/{name}"), 1),
            // It was deleted, it is in another namespace, it is of another kind.
            ("get", format!("cm/lab/{name}"), 1),
            ("get", format!("role/default/{name}"), 1),
            ("explain", format!("pod/default/{name}"), 1),
            ("explain", format!("deploy/lab/{name}"), 1),
            ("extract", format!("svc/lab/{name}"), 1),
        ] {
            let output = run(folder, &[command, &address]);
            let printed = printed(&output);
            assert!(printed.len() >= least, "{command} {address:?}: {}", all(&output));
            found.extend(printed);
        }
    }
    found
}

#[test]
fn what_is_suggested_runs_and_nothing_else_does() {
    let folder = cluster();
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let suggested = suggested(folder.path());
    assert!(suggested.len() > 5 * HOSTILE_NAMES.len(), "{suggested:#?}");
    for line in &suggested {
        assert!(line.starts_with(r"ketcd -f 'it'\''s $(touch RAN) a.db' "), "it reads something else: {line}");
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
        let shell =
            |flags: &[&str]| Command::new("sh").args(flags).arg(line).env("PATH", &path).current_dir(folder.path()).output().unwrap();
        let parsed = shell(&["-n", "-c"]);
        assert!(parsed.status.success(), "{line}: {}", all(&parsed));
        let ran = shell(&["-c"]);
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{line}: {:?} {}", ran.status, all(&ran));
    }
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, [HOSTILE_FILE], "something else ran");
}

/// Every shell that people paste into reads the words as they are meant.
#[test]
fn all_shells_read_the_same_words() {
    let folder = cluster();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("ketcd"), "#!/bin/sh\nprintf '%s\\0' \"$@\" END >> \"$LOG\"\n").unwrap();
    fs::set_permissions(bin.join("ketcd"), fs::Permissions::from_mode(0o755)).unwrap();
    let lines: Vec<String> =
        HOSTILE_NAMES.iter().flat_map(|name| printed(&run(folder.path(), &["describe", &format!("role/lab/{name}")]))).collect();
    let words = |shell: &str, flags: &[&str]| {
        let log = folder.path().join("log");
        let _ = fs::remove_file(&log);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(shell);
        command.args(flags).args(["-c", &lines.join("\n")]).env("PATH", path).env("LOG", &log).env("HOME", folder.path());
        let output = command.current_dir(folder.path()).output().unwrap_or_else(|error| panic!("{shell}: {error}; tools/test installs it"));
        let read = fs::read(&log).unwrap_or_else(|_| panic!("{shell}: {}", all(&output)));
        read.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
    };
    let meant = HOSTILE_NAMES.iter().flat_map(|name| {
        ["-f", HOSTILE_FILE, "history", &format!("role.rbac.authorization.k8s.io/lab/{name}"), "--diff", "END"].map(str::to_owned)
    });
    let meant: Vec<String> = meant.chain([String::new()]).collect();
    for (shell, flags) in [("sh", &[][..]), ("bash", &["--norc"]), ("zsh", &["-f"]), ("fish", &["--no-config"])] {
        assert_eq!(words(shell, flags), meant, "{shell}");
    }
    assert!(!folder.path().join("RAN").exists());
}

/// A file in the place of a command or behind one is told how to be read.
#[test]
fn a_file_without_its_flag_is_told_the_flag() {
    let folder = cluster();
    let path = format!("{}:{}", Path::new(env!("CARGO_BIN_EXE_ketcd")).parent().unwrap().display(), std::env::var("PATH").unwrap());
    for arguments in [[HOSTILE_FILE, "triage"], ["triage", HOSTILE_FILE], [HOSTILE_FILE, "status"]] {
        let output = ketcd().args(arguments).current_dir(folder.path()).output().unwrap();
        let said = all(&output);
        let (_, line) = said.trim_end().rsplit_once("with -f: ").unwrap_or_else(|| panic!("{arguments:?}: {said}"));
        let ran = Command::new("sh").args(["-c", line]).env("PATH", &path).current_dir(folder.path()).output().unwrap();
        assert_eq!((output.status.code(), ran.status.code()), (Some(2), Some(0)), "{line}: {}", all(&ran));
    }
}

/// The files below a folder that make command lines in another way: of ketcd's name, or of a text with a command and something of data behind it.
fn others(folder: &Path, found: &mut Vec<String>) {
    let with_data = regex::Regex::new(
        r#"format!\([^"]*"[^"]*\b(ketcd|kubectl|etcdctl) (get|ls|explain|history|timeline|describe|tree|extract|diff|watch|role|label|taint|patch|delete) [^"]*\{[a-z:?}]"#,
    )
    .unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            others(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let is_own = ["invocation/mod.rs", "terminal.rs"].iter().any(|own| path.ends_with(own));
        found.extend((text.contains("invocation().program()") && !is_own).then(|| format!("{} takes ketcd's name itself", path.display())));
        found.extend(with_data.find_iter(text).map(|place| format!("{}: {}", path.display(), place.as_str())));
    }
}

#[test]
fn command_lines_are_made_in_one_place() {
    let mut found = Vec::new();
    for sources in ["src", "crates/render/src", "crates/serve/src", "crates/store/src"] {
        others(&Path::new(env!("CARGO_MANIFEST_DIR")).join(sources), &mut found);
    }
    // A sentence about a command that was run.
    found.retain(|place| !place.contains("kubectl get {what}"));
    assert!(found.is_empty(), "make a CommandLine of it, which quotes: {found:#?}");
}
