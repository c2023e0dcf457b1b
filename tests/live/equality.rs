//! Every command reads a live etcd as it reads the file: the captures are replayed, and both answers held against each other.

use std::process::Command;

use crate::data_dir::data_dir;
use crate::etcd::{Etcd, EtcdRelease, Transport};
use crate::ketcd::{flags, ketcd, run, stderr};
use crate::pki::Pki;
use crate::record::reaches;
use crate::replay::{changes, changes_in, etcd_of, snapshot, write};
use crate::watcher::Watching;

/// Commands for any capture. Ages and silences are those of the revision shown, so tables and timelines name it: without `--rev` a live cluster's run on to now. `REV` stands for its middle revision, `NEWEST` for its newest, `TIME` for the time of that.
const ANY_COMMANDS: &[&str] = &[
    "ls",
    "ls --all --rev NEWEST",
    "ls --all -o ndjson",
    "ls --all -o json --rev REV",
    "ls pods -A --rev NEWEST",
    "ls po,svc,deploy,rs,sts,ds,job,pvc,events -A -o wide --rev NEWEST",
    "ls pods -A -o yaml --show-managed-fields",
    "ls pods -A -o name -l app --sort-by .metadata.creationTimestamp",
    "ls pods -A --field-selector status.phase=Running --rev REV",
    "ls nodes -o custom-columns=NAME:.metadata.name,KUBELET:.status.nodeInfo.kubeletVersion",
    "ls secrets -A -o json",
    "ls secrets -A -o json --show-secrets",
    "get pods -A --rev NEWEST",
    "events -A -o json --rev REV",
    "tree deploy,sts,ds,cj,job -A --rev NEWEST",
    "get nodes -o jsonpath={.items[*].metadata.name}",
    "get pods -A -o yaml --rev REV",
    "get /registry/ranges/serviceips -o json",
    "get pod/nowhere/nobody",
    "history --all --objects -o ndjson",
    "grep node -o json",
    "grep -e ^node[12]$ pods -l",
    "grep kube --in names,keys,managers,messages --count",
    "history pods -A",
    "history nodes --diff",
    "history leases -A --objects -o ndjson --rev REV",
    "history pod/nowhere/nobody",
    "timeline pods -A",
    "timeline pods -A -o json",
    "timeline nodes --rev NEWEST",
    "diff --rev REV..NEWEST",
    "diff nodes --rev REV..NEWEST -o json",
    "blame deployments -A",
    "explain --all",
    "explain --all -o ndjson",
    "encryption",
    "ls pods -A --at TIME",
    "ls pods -A --rev 1",
    "ls pods -A --rev 999999",
    "ls nonsense",
];

/// Those of them whose answers depend on how values are stored, each of another way to read: in CBOR or sealed, a value is the same bytes from etcd as
/// from a file.
const VALUE_COMMANDS: &[&str] = &[
    "ls --all -o ndjson",
    "ls pods -A --rev NEWEST",
    "ls pods -A -o yaml --show-managed-fields",
    "ls pods -A --field-selector status.phase=Running --rev REV",
    "ls secrets -A -o json --show-secrets",
    "get /registry/ranges/serviceips -o json",
    "grep node -o json",
    "history --all --objects -o ndjson",
    "timeline pods -A",
    "diff --rev REV..NEWEST",
    "explain --all -o ndjson",
    "encryption",
];

/// Commands that name objects of the story captures.
const STORY_COMMANDS: &[&str] = &[
    "get pod/lab/ubuntu -o yaml",
    "get deploy/web/tomcat -o json --rev REV",
    "history pod/lab/ubuntu",
    "history pod/lab/ubuntu --diff",
    "history pod/lab/ubuntu --diff --all-fields",
    "history pod/lab/ubuntu -o ndjson",
    "history deploy/web/tomcat --diff",
    "timeline pod/lab/ubuntu",
    "timeline pod/lab/ubuntu -o json",
    "timeline deploy/web/tomcat",
    "blame pod/lab/ubuntu",
    "explain pod/lab/weighted",
    "explain pod/lab/ubuntu -o json",
];

#[tokio::test(flavor = "multi_thread")]
async fn k120_story() {
    check("k120-story", &[ANY_COMMANDS, STORY_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_story_nightly() {
    check("k136-story", &[ANY_COMMANDS, STORY_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_cbor() {
    check("k136-cbor", &[VALUE_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_cbor_nightly() {
    check("k136-cbor", &[ANY_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_encrypted() {
    check("k136-encrypted", &[VALUE_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_encrypted_nightly() {
    check("k136-encrypted", &[ANY_COMMANDS]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k136_random_nightly() {
    check("k136-random", &[&["history --all --objects -o ndjson", "explain --all -o ndjson"]]).await;
}

/// What kine holds, written into an etcd, is the same cluster.
#[tokio::test(flavor = "multi_thread")]
async fn k136_kine_nightly() {
    let unpacked = data_dir("k136-kine/killed.tar.zst");
    check_file(unpacked.path().join("state.db").to_str().unwrap(), &[ANY_COMMANDS, STORY_COMMANDS]).await;
}

/// The database file of a running etcd, which holds its lock.
#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_a_running_etcd() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let changes = changes("k136-cbor").await;
    write(&mut etcd.writer().await, &changes).await;
    reaches(&etcd.db(), changes.last().unwrap().revision).await;
    let (file, mut live) = (etcd.db().to_str().unwrap().to_owned(), ketcd());
    let of_file = answer(ketcd().args(["history", "--all", "--objects", "-o", "ndjson", "-f", &file]), &file);
    let of_live = answer(
        flags(&mut live, &etcd.endpoint(), &pki.ca(), &pki.client()).args(["history", "--all", "--objects", "-o", "ndjson"]),
        &etcd.endpoint(),
    );
    assert!(of_file == of_live, "{}", first_difference(&of_file, &of_live));
}

async fn check(capture: &str, commands: &[&[&str]]) {
    check_file(&snapshot(capture), commands).await;
}

async fn check_file(path: &str, commands: &[&[&str]]) {
    let pki = Pki::new();
    let changes = changes_in(path).await;
    let etcd = etcd_of(&changes, EtcdRelease::V35, Transport::Mutual(pki.server(), pki.ca())).await;
    let newest = changes.last().unwrap().revision.0;
    let (client, time) = (pki.client(), newest_time(path));
    let mut different = Vec::new();
    for command in commands.iter().copied().flatten() {
        let words = filled_in(command, newest, &time);
        let words: Vec<&str> = words.split(' ').collect();
        let file = answer(ketcd().args(&words).args(["-f", path]), path);
        let mut live = ketcd();
        let live = answer(flags(&mut live, &etcd.endpoint(), &pki.ca(), &client).args(&words), &etcd.endpoint());
        assert!(!file.2.contains("panicked") && !file.2.contains("unexpected argument"), "ketcd {command}: {}", file.2);
        if file != live {
            different.push(format!("ketcd {command}\n{}", first_difference(&file, &live)));
        }
    }
    assert!(different.is_empty(), "{} of {path}'s answers differ:\n{}", different.len(), different.join("\n"));
}

/// A recording of the replayed capture answers as the file does.
#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_k136_story_nightly() {
    let pki = Pki::new();
    let etcd = Etcd::mutual(&pki).await;
    let changes = changes("k136-story").await;
    write(&mut etcd.writer().await, &changes).await;
    let newest = changes.last().unwrap().revision;
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = ketcd();
    let recorder = flags(&mut recorder, &etcd.endpoint(), &pki.ca(), &pki.client());
    let recording = Watching::run(recorder.arg("record").arg(directory.path()).args(["--show-secrets", "--file-size", "100k"]));
    reaches(directory.path(), newest).await;
    recording.end();
    let (recorded, snapshot) = (directory.path().to_str().unwrap().to_owned(), snapshot("k136-story"));
    let time = newest_time(&snapshot);
    let mut different = Vec::new();
    for command in ANY_COMMANDS.iter().chain(STORY_COMMANDS) {
        let words = filled_in(command, newest.0, &time);
        let of = |file: &String| answer(ketcd().args(words.split(' ')).args(["-f", file]), file);
        let (file, recording) = (of(&snapshot), of(&recorded));
        if file != recording {
            different.push(format!("ketcd {command}\n{}", first_difference(&file, &recording)));
        }
    }
    assert!(different.is_empty(), "{} answers of the recording differ:\n{}", different.len(), different.join("\n"));
}

/// A command with its revisions and its time.
fn filled_in(command: &str, newest: i64, time: &str) -> String {
    let words = command.replace("REV..", &format!("{}..", newest / 2)).replace("NEWEST", &newest.to_string());
    words.replace(" REV", &format!(" {}", newest / 2)).replace("TIME", time)
}

fn newest_time(file: &str) -> String {
    let output = run(ketcd().args(["status", "-o", "json", "-f", file]));
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    status["revisions"]["newestTime"].as_str().unwrap().to_owned()
}

/// Exit code, standard output and standard error, without the source's name and the commands that are suggested, which name it too.
fn answer(command: &mut Command, name: &str) -> (Option<i32>, String, String) {
    let output = run(command);
    let unnamed = |text: String| {
        let of_live = |text: String, source: &str| {
            text.replace(&format!("\"source\":\"{source}\""), "\"source\":\"db\"")
                .replace(&format!("\"source\": \"{source}\""), "\"source\": \"db\"")
        };
        let text = of_live(of_live(text.replace(name, "SOURCE"), "live"), "recording");
        text.lines().map(|line| line.split("ketcd -").next().unwrap_or_default().trim_end().to_owned() + "\n").collect()
    };
    (output.status.code(), unnamed(String::from_utf8_lossy(&output.stdout).into_owned()), unnamed(stderr(&output)))
}

fn first_difference(file: &(Option<i32>, String, String), live: &(Option<i32>, String, String)) -> String {
    if file.0 != live.0 {
        return format!("  exit code {:?} of the file, {:?} live: {} | {}", file.0, live.0, file.2, live.2);
    }
    let (file, live) = if file.1 == live.1 { (&file.2, &live.2) } else { (&file.1, &live.1) };
    let short = |line: Option<&str>| line.map_or("nothing".to_owned(), |line| line.chars().take(400).collect());
    let (mut file, mut live) = (file.lines(), live.lines());
    loop {
        match (file.next(), live.next()) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => return format!("  file: {}\n  live: {}", short(a), short(b)),
        }
    }
}
