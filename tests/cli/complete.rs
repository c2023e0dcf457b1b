//! Completion: names as kubectl takes them, files, formats and plugins; in silence, and within half a second whatever etcd does.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

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
    offered_by(&mut ketcd(), words)
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
    assert_eq!(offered(&["-f", file, "get", "nonsense", ""]), [""; 0]);
}

#[test]
fn the_word_at_the_cursor_is_completed() {
    let file = db();
    let mut command = ketcd();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "3").env("_CLAP_IFS", "\n");
    let output = command.args(["--", "ketcd", "get", "nodes", "", "-f"]).arg(file.path()).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.starts_with("node1\nnode2\nnode3\nnode4\n--"), "{words}");
}

#[test]
fn files_formats_and_plugins() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("snapshot.db"), "").unwrap();
    let in_folder = |words: &[&str]| offered_by(ketcd().current_dir(folder.path()), words);
    for words in [&["-f", "sna"][..], &["get", "-f", "sna"], &["--encryption-config", "sna"], &["decode", "sna"], &["diff", "sna"]] {
        assert_eq!(in_folder(words), ["snapshot.db"], "{words:?}");
    }
    assert_eq!(in_folder(&["report", "--out", "sna"]), ["snapshot.db"]);
    assert_eq!(in_folder(&["-f", "x", "diff", "--rev", "2..3", "statef"]), ["statefulsets"]);

    assert_eq!(offered(&["plugins", "noderesourcesf"]), ["NodeResourcesFit"]);
    assert_eq!(offered(&["get", "-o", "json"]), ["json", "jsonpath="]);
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
        for format in ["table", "wide", "json", "yaml", "name", "ndjson", "jsonpath=", "custom-columns="] {
            let value = match format {
                "jsonpath=" => "jsonpath={.kind}",
                "custom-columns=" => "custom-columns=KIND:.kind",
                plain => plain,
            };
            let output = ketcd().arg("-f").arg(file.path()).args(command).args(["-o", value]).output().unwrap();
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

#[test]
fn nothing_is_waited_for_longer_than_half_a_second() {
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}", deaf.local_addr().unwrap());
    let unroutable = "http://192.0.2.1:2379";
    for endpoint in [deaf.as_str(), unroutable] {
        for (words, wanted) in [(&["get", "statef"][..], &["statefulsets"][..]), (&["get", "nodes", ""], &[]), (&["get", "-n", "la"], &[])]
        {
            let begin = Instant::now();
            assert_eq!(offered_by(ketcd().env("ETCDCTL_ENDPOINTS", endpoint), words), wanted, "{endpoint}");
            let took = begin.elapsed();
            // The process starts and ends beside the half second, on a machine that does other work.
            assert!(took < Duration::from_millis(1500), "{endpoint} {words:?}: {took:?}");
        }
    }
}

#[test]
fn pipes_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let begin = Instant::now();
    for file in ["-", "/dev/stdin", fifo.to_str().unwrap()] {
        assert_eq!(offered(&["-f", file, "get", "nodes", ""]), [""; 0]);
    }
    assert!(begin.elapsed() < Duration::from_millis(1400), "nobody writes into a pipe while a word is typed: {:?}", begin.elapsed());
}
