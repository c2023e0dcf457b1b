//! `serve` plays an API server: what is read and recorded of it through a kubeconfig is what it serves.

use std::path::Path;
use std::process::{Command, Stdio};

use ketcd_testing::command::{run, stderr};
use ketcd_testing::wait::until;

use crate::ketcd::ketcd;
use crate::server::Server;

const STORY_CAPTURE: &str = "k136-story/snapshot.db.zst";
const SNAPSHOT_PATH: &str = "testdata/captures/k136-story/snapshot.db.zst";

/// What ketcd prints of a source.
fn printed(source: &str, words: &[&str]) -> String {
    let output = run(ketcd().args(["-f", source]).args(words));
    assert!(output.status.success(), "{source} {words:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What ketcd prints of the API server that the snapshot is served by.
fn served(words: &[&str]) -> std::process::Output {
    run(ketcd().args(["-f", SNAPSHOT_PATH, "serve", "--", env!("CARGO_BIN_EXE_ketcd")]).args(words))
}

fn read_back(words: &[&str]) -> String {
    let output = served(&[&["-f", "kubeconfig:"], words].concat());
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

const SERVED_QUESTIONS: &[&[&str]] = &[
    &["get", "pods", "-A", "-o", "json", "--show-managed-fields"],
    &["get", "nodes,services,endpoints,leases,deployments,crds", "-A", "-o", "yaml"],
    &["get", "pod/web/db-0", "-o", "yaml"],
    &["get", "events", "-A", "-o", "json"],
];

#[test]
fn an_api_server_answers_as_the_etcd_behind_it() {
    for words in SERVED_QUESTIONS {
        assert_eq!(read_back(words), printed(SNAPSHOT_PATH, words), "{words:?}");
    }
    let explained = read_back(&["explain", "pod/web/store-5"]);
    assert!(explained.contains("store-5"), "{explained}");
}

#[test]
fn secrets_are_not_requested_unless_they_are_to_be_shown() {
    let words = ["-f", "kubeconfig:", "get", "secrets", "-A", "-o", "name"];
    let without = served(&words);
    assert!(
        without.stdout.is_empty() && stderr(&without).contains("not recorded: Secrets (--show-secrets requests them)"),
        "{}",
        stderr(&without)
    );
    let with = served(&[&words[..], &["--show-secrets"]].concat());
    assert_eq!(String::from_utf8(with.stdout).unwrap(), printed(SNAPSHOT_PATH, &["get", "secrets", "-A", "-o", "name"]));
}

#[test]
fn an_api_server_is_read_alone_and_contexts_are_looked_for() {
    let output = served(&["-f", "kubeconfig:", "-f", SNAPSHOT_PATH, "get", "pods"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("which other files cannot extend"), "{}", stderr(&output));
    let output = served(&["-f", "kubeconfig:nowhere", "get", "pods"]);
    assert!(stderr(&output).contains("has no context \"nowhere\"; its contexts are: ketcd"), "{}", stderr(&output));
    let output = served(&["-f", "kubeconfig:", "record", "unused"]);
    assert!(stderr(&output).contains("record reads an API server with --kubeconfig"), "{}", stderr(&output));
}

/// The revision of the moment is read, and no other.
#[test]
fn an_api_server_has_no_past_to_ask_for() {
    let output = served(&["-f", "kubeconfig:", "get", "pods", "-A", "--rev", "1000"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("not a history"), "{}", stderr(&output));
}

/// Records until the state is on the disk, and ends by Ctrl-C.
fn record(server: &Server, directory: &Path, words: &[&str]) {
    let mut command = ketcd();
    command.arg("record").arg(directory).arg("--kubeconfig").arg(server.kubeconfig()).args(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let manifest = || std::fs::read_to_string(directory.join("manifest.json")).ok();
    until(|| manifest().filter(|text| text.contains(".state")));
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success() && child.wait().unwrap().success());
}

#[test]
fn a_recording_through_an_api_server_is_the_etcd_behind_it() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let directory = server.folder().join("recording");
    record(&server, &directory, &[]);
    let recording = directory.to_str().unwrap();
    for words in SERVED_QUESTIONS {
        assert_eq!(printed(recording, words), printed(SNAPSHOT_PATH, words), "{words:?}");
    }
    assert_eq!(printed(recording, &["ls"]).lines().next(), printed(SNAPSHOT_PATH, &["ls"]).lines().next());
    let status = printed(recording, &["status"]);
    assert!(
        status.contains("Secrets (record --show-secrets records them)") && status.contains("through which it was recorded"),
        "{status}"
    );
    // With the snapshot it is one history; with another cluster's it is none.
    let words = ["get", "pods", "-A", "-o", "json"];
    let fused = run(ketcd().args(["-f", recording, "-f", SNAPSHOT_PATH]).args(words));
    assert!(fused.status.success(), "{}", stderr(&fused));
    assert_eq!(String::from_utf8(fused.stdout).unwrap(), printed(SNAPSHOT_PATH, &words));
    let history = ["history", "pod/web/db-0", "-o", "ndjson"];
    let fused = run(ketcd().args(["-f", recording, "-f", SNAPSHOT_PATH]).args(history));
    assert_eq!(String::from_utf8(fused.stdout).unwrap().lines().count(), printed(SNAPSHOT_PATH, &history).lines().count());
    let other = "testdata/captures/k136-random/snapshot.db.zst";
    let refused = run(ketcd().args(["-f", recording, "-f", other]).args(words));
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("not from one etcd cluster"), "{}", stderr(&refused));
}

#[test]
fn a_recording_of_some_resources_has_these_alone_and_goes_on_with_these_alone() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let directory = server.folder().join("recording");
    record(&server, &directory, &["--resources", "pods,deployments.apps"]);
    let recording = directory.to_str().unwrap();
    let words = ["get", "pods,deployments", "-A", "-o", "name"];
    assert_eq!(printed(recording, &words), printed(SNAPSHOT_PATH, &words));
    let nodes = run(ketcd().args(["-f", recording, "get", "nodes"]));
    assert!(nodes.status.code() == Some(1) && stderr(&nodes).contains("not recorded: keys that are not under"), "{}", stderr(&nodes));
    let again = run(ketcd().arg("record").arg(&directory).arg("--kubeconfig").arg(server.kubeconfig()));
    assert!(again.status.code() == Some(2) && stderr(&again).contains("is a recording of keys under"), "{}", stderr(&again));
    let unknown = run(ketcd()
        .arg("record")
        .arg(server.folder().join("new"))
        .arg("--kubeconfig")
        .arg(server.kubeconfig())
        .args(["--resources", "pots"]));
    assert!(stderr(&unknown).contains("has no resource \"pots\""), "{}", stderr(&unknown));
}

/// The token of a kubeconfig that `serve` wrote.
fn token(kubeconfig: &str) -> String {
    let line = kubeconfig.lines().find(|line| line.contains("token:")).unwrap();
    line.split("token:").nth(1).unwrap().trim().trim_matches(['"', '}', ' ']).to_owned()
}

#[test]
fn users_log_in_by_token_files_and_exec_plugins() {
    let server = Server::start(STORY_CAPTURE, &[]);
    let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let write = |name: &str, text: &str| {
        let path = server.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (token, ask) =
        (token(&text), |path: &Path| run(ketcd().env("KUBECONFIG", path).args(["-f", "kubeconfig:", "get", "nodes", "-o", "name"])));
    let with = |login: &str| {
        let lines = text.lines().map(|line| match line.split_once("token:") {
            Some((before, _)) => format!("{before}{login}"),
            None => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let expected = printed(SNAPSHOT_PATH, &["get", "nodes", "-o", "name"]);
    write("token", &token);
    let by_file = ask(&write("by-file", &with("tokenFile: token")));
    assert_eq!(String::from_utf8(by_file.stdout.clone()).unwrap(), expected, "{}", stderr(&by_file));
    let answer =
        format!(r#"{{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{{"token":"{token}"}}}}"#);
    let plugin = write("plugin.json", &answer);
    let exec = format!("exec: {{apiVersion: client.authentication.k8s.io/v1beta1, command: cat, args: ['{}']}}", plugin.display());
    let by_plugin = ask(&write("by-plugin", &with(&exec)));
    assert_eq!(String::from_utf8(by_plugin.stdout.clone()).unwrap(), expected, "{}", stderr(&by_plugin));
    let refused = ask(&write("wrong", &with("token: wrong")));
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("rejects the credentials"), "{}", stderr(&refused));
    assert!(!stderr(&refused).contains(&token));
    let failing = ask(&write(
        "failing",
        &with("exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false', interactiveMode: Never, installHint: install it}"),
    ));
    assert!(stderr(&failing).contains("the exec plugin false") && stderr(&failing).contains("install it"), "{}", stderr(&failing));
}
