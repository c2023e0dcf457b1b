//! Completion: names as kubectl takes them, files, formats and plugins; in silence, and whatever etcd does.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ketcd::ketcd;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).join("snapshot.db.zst")
}

/// A database file, which is opened at once.
fn db() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), zstd::decode_all(fs::File::open(capture("k120-story")).unwrap()).unwrap()).unwrap();
    file
}

/// Where completion waits as long as its source takes.
fn patient() -> Command {
    let mut command = ketcd();
    command.env("KETCD_COMPLETION_TIMEOUT", "24h");
    command
}

/// What is offered for the last word, as fish is told it, without the flags that clap offers wherever one can begin.
#[track_caller]
fn offered_by(command: &mut Command, words: &[&str]) -> Vec<String> {
    let output = command.env("COMPLETE", "fish").args(["--", "ketcd"]).args(words).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""), "{words:?}");
    let words = String::from_utf8(output.stdout).unwrap();
    words.lines().map(|line| line.split('\t').next().unwrap().to_owned()).filter(|word| !word.starts_with("--")).collect()
}

#[track_caller]
fn offered(words: &[&str]) -> Vec<String> {
    offered_by(&mut patient(), words)
}

#[test]
fn names_follow_a_kind() {
    let file = db();
    let file = file.path().to_str().unwrap();
    assert_eq!(offered(&["-f", file, "get", "nodes", ""]), ["node1", "node2", "node3", "node4"]);
    assert_eq!(offered(&["-f", file, "get", "nodes", "node2", "node"]), ["node1", "node3", "node4"]);
    let pods = offered(&["-f", file, "get", "pods", "-n", "lab", ""]);
    assert!(pods.len() > 5 && pods.contains(&"ubuntu".to_owned()) && pods.iter().all(|name| !name.contains('/')), "{pods:?}");
    assert_eq!(offered(&["get", "-f", file, "-n", "lab", "po", "ubu"]), ["ubuntu"]);
    assert_eq!(offered(&["-f", file, "history", "pod", "-n", "default", ""]), [""; 0]);
    assert_eq!(offered(&["-f", file, "get", "pod/lab/ubu"]), ["pod/lab/ubuntu"]);
    assert_eq!(offered(&["-f", file, "get", "-n", "lab", "pod/ubu"]), ["pod/ubuntu"]);
    assert_eq!(offered(&["-f", file, "get", "node/node1", "node/node2"]), ["node/node2"]);
    assert_eq!(offered(&["-f", file, "get", "po,statef"]), ["po,statefulsets"]);
    assert_eq!(offered(&["-f", file, "ls", "-n", "la"]), ["lab"]);
    assert_eq!(offered(&["-f", file, "what-if", "--drain", "node"]), ["node1", "node2", "node3", "node4"]);
    assert_eq!(offered(&["-f", file, "get", "nonsense", ""]), [""; 0]);
}

#[test]
fn the_word_at_the_cursor_is_completed() {
    let file = db();
    let mut command = patient();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3").env("_CLAP_IFS", "\n");
    let output = command.args(["--", "ketcd", "get", "nodes", "", "-f"]).arg(file.path()).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.starts_with("node1\nnode2\nnode3\nnode4\n--"), "{words}");
}

#[test]
fn files_formats_and_plugins() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("snapshot.db"), "").unwrap();
    let in_folder = |words: &[&str]| offered_by(patient().current_dir(folder.path()), words);
    for words in [&["-f", "sna"][..], &["get", "-f", "sna"], &["--encryption-config", "sna"], &["decode", "sna"], &["diff", "sna"]] {
        assert_eq!(in_folder(words), ["snapshot.db"], "{words:?}");
    }
    assert_eq!(in_folder(&["report", "--out", "sna"]), ["snapshot.db"]);
    assert_eq!(in_folder(&["-f", "x", "diff", "--rev", "2..3", "statef"]), ["statefulsets"]);

    assert_eq!(offered(&["plugins", "noderesourcesf"]), ["NodeResourcesFit"]);
    assert_eq!(offered(&["get", "-o", "json"]), ["json", "jsonpath=", "jsonpath-as-json=", "jsonpath-file="]);
    assert_eq!(offered(&["timeline", "-o", ""]), ["table", "json", "ndjson"]);
}

#[test]
fn the_formats_offered_are_those_the_command_has() {
    let file = db();
    let commands = [
        &["blame", "node/node1"][..],
        &["diff", "--rev", "300..310"],
        &["encryption"],
        &["explain", "pod/lab/ubuntu"],
        &["get", "node/node1"],
        &["history", "node/node1"],
        &["ls", "nodes"],
        &["plugins"],
        &["status"],
        &["timeline", "node/node1"],
        &["watch", "node/node1", "--from-rev", "2"],
    ];
    for command in commands {
        let offered = offered(&[command[0], "-o", ""]);
        for format in ["table", "wide", "json", "yaml", "name", "ndjson", "jsonpath=", "go-template=", "custom-columns="] {
            let value = match format {
                "jsonpath=" => "jsonpath={.kind}",
                "go-template=" => "go-template={{.kind}}",
                "custom-columns=" => "custom-columns=KIND:.kind",
                plain => plain,
            };
            // What the installed plugins are is asked of no data.
            let source = if command[0] == "plugins" { None } else { Some([Path::new("-f"), file.path()]) };
            let output = ketcd().args(source.iter().flatten()).args(command).args(["-o", value]).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let is_refused = stderr.contains("has no output format");
            assert!(is_refused || output.status.code() != Some(2), "{command:?} -o {value}: {stderr}");
            // What shows the table or JSON under another name too need not be offered.
            let is_offered = offered.iter().any(|known| known == format);
            assert!(!(is_offered && is_refused), "{command:?} -o {value} is offered: {stderr}");
            let is_another_name = matches!((command[0], format), (_, "wide" | "ndjson") | ("blame", "table"));
            assert!(is_offered || is_refused || is_another_name, "{command:?} -o {value} is not offered");
        }
    }
}

/// An etcd that never answers is given up: nothing else would end these.
#[test]
fn a_word_is_not_waited_for_forever() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}", deaf.local_addr().unwrap());
    let unroutable = "http://192.0.2.1:2379";
    for endpoint in [deaf.as_str(), unroutable] {
        for (words, wanted) in [(&["get", "statef"][..], &["statefulsets"][..]), (&["get", "nodes", ""], &[]), (&["get", "-n", "la"], &[])]
        {
            let mut command = ketcd();
            command.env("ETCDCTL_ENDPOINTS", endpoint).env("ETCDCTL_DIAL_TIMEOUT", "24h").env("ETCDCTL_COMMAND_TIMEOUT", "24h");
            assert_eq!(offered_by(&mut command, words), wanted, "{endpoint}");
        }
    }
}

/// Nobody writes into a pipe while a word is typed.
#[test]
fn pipes_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for file in ["-", "/dev/stdin", fifo.to_str().unwrap()] {
        assert_eq!(offered(&["-f", file, "get", "nodes", ""]), [""; 0]);
    }
}

/// Names that a shell would run, expand or take for something else.
const HOSTILE_NAMES: &[&str] = &[
    "x$(touch RAN)",
    "x`touch RAN`",
    "x;touch RAN",
    "x|touch RAN",
    "x&touch RAN",
    "x>RAN",
    "x\ntouch RAN",
    "x\u{b}touch",
    "x'y",
    "x\"y",
    "x\\y",
    "x!y",
    "x*",
    "x?",
    "x[y]",
    "{x,y}",
    "~root",
    "-rf",
    "--kubeconfig=x",
    "=ls",
    "#x",
    "x y",
    "x\ty",
    "x\u{1b}[31m",
    "x\u{202e}y",
    "%1",
    "$HOME",
];

/// Whatever names a cluster and a directory have, no shell is offered a word that it would not take for itself.
#[test]
fn only_plain_words_are_offered() {
    let folder = tempfile::tempdir().unwrap();
    let object = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| {
        let mut object = serde_json::json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "uid": name}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    };
    let mut objects = vec![object("v1", "Namespace", None, "lab"), object("v1", "ConfigMap", Some("lab"), "plain-one")];
    for name in HOSTILE_NAMES {
        objects.push(object("v1", "Namespace", None, name));
        objects.push(object("v1", "ConfigMap", Some("lab"), name));
        objects.push(object("v1", "ConfigMap", Some(name), "plain-two"));
        let mut definition = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", None, &format!("{name}.example.com"));
        definition["spec"] = serde_json::json!({"group": "example.com", "scope": "Namespaced", "versions": [{"name": "v1", "served": true, "storage": true}],
            "names": {"plural": name, "singular": name, "kind": "Evil", "shortNames": [name]}});
        objects.push(definition);
        let _ = fs::write(folder.path().join(name), "");
    }
    let lines: Vec<String> = objects.iter().map(ToString::to_string).collect();
    fs::write(folder.path().join("objects.json"), lines.join("\n")).unwrap();
    let is_plain = |word: &str| !word.starts_with('-') && word.chars().all(|c| c.is_ascii_alphanumeric() || "._:@/-".contains(c));
    for (words, wanted) in [
        (&["get", "cm", "-n", "lab", ""][..], "plain-one"),
        (&["get", "cm/lab/"], "cm/lab/plain-one"),
        (&["get", "cm/"], "cm/lab/plain-one"),
        (&["get", "-n", ""], "lab"),
        (&["get", ""], "configmaps"),
        (&["history", ""], "configmaps"),
        (&["diff", ""], "objects.json"),
        (&["decode", ""], "objects.json"),
        (&["--encryption-config", ""], "objects.json"),
    ] {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let words = [&["-f", "objects.json"][..], words].concat();
            let mut command = patient();
            command.current_dir(folder.path()).env("COMPLETE", shell);
            if ["bash", "zsh", "elvish"].contains(&shell) {
                command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_IFS", "\n");
            }
            let output = command.args(["--", "ketcd"]).args(&words).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let value = |line: &str| match shell {
                "zsh" => line.replace("\\:", "\0").split(':').next().unwrap().replace('\0', ":"),
                _ => line.split('\t').next().unwrap().to_owned(),
            };
            let offered: Vec<String> = text.lines().map(value).collect();
            assert!(offered.contains(&wanted.to_owned()), "{shell} {words:?}: {offered:?}");
            // Flags are ketcd's own.
            let from_data: Vec<&String> = offered.iter().filter(|word| !(word.starts_with("-") && text.contains("--file"))).collect();
            assert!(from_data.iter().all(|word| is_plain(word)), "{shell} {words:?}: {from_data:?}");
            assert!(!offered.iter().any(|word| HOSTILE_NAMES.contains(&word.as_str())), "{shell} {words:?}: {offered:?}");
        }
    }
}
