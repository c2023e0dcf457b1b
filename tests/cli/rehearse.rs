//! `rehearse`: its exit codes, its errors, and which source is what, on recorded clusters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ketcd_testing::nobody::nobody;
use ketcd_testing::testdata;
use serde_json::Value;

use crate::ketcd::{all, ketcd};

/// A moment after the recorded cluster's last write.
const NOW_TIME: &str = "2026-11-30T22:50:00Z";

fn capture(name: &str) -> String {
    testdata::path(&format!("captures/{name}")).to_str().unwrap().to_owned()
}

/// The recorded story, and a snapshot that was taken before its last revisions.
fn newest_and_older() -> [String; 2] {
    ["k136-story/compacted.db.zst", "k136-story/snapshot.db.zst"].map(capture)
}

fn run(words: &[&str]) -> Output {
    ketcd().arg("rehearse").args(words).args(["--now", NOW_TIME]).env_remove("ETCDCTL_ENDPOINTS").output().unwrap()
}

#[track_caller]
fn document(words: &[&str]) -> (Value, Option<i32>) {
    let output = run(&[words, &["-o", "json"]].concat());
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", all(&output)));
    (document, output.status.code())
}

#[track_caller]
fn first_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_else(|| panic!("{}", all(output))).to_owned()
}

/// The error is one line that says what is wrong and what to do.
#[track_caller]
fn refused(words: &[&str], wanted: &[&str]) {
    let output = run(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{words:?}: {}", all(&output));
    assert!(wanted.iter().all(|wanted| said.contains(wanted)), "{words:?}: {said}");
}

#[test]
fn an_older_backup_is_held_against_the_newest_state() {
    let [newest, older] = newest_and_older();
    let (document, code) = document(&[&older, "--over", &newest]);
    assert_eq!(document["kind"], "Rehearsal");
    assert!(document["sameCluster"] == true && document["lostRevisions"] == 11, "{document:#}");
    let wanted = match document["verdict"].as_str().unwrap() {
        "good" => 0,
        "findings" => 1,
        other => panic!("{other}"),
    };
    assert_eq!(code, Some(wanted), "{document:#}");
    let line = first_line(&run(&[&older, "--over", &newest]));
    assert!(line.starts_with("RESTORE of ") && line.contains(" over ") && line.contains("you lose 11 revisions"), "{line}");
}

#[test]
fn the_backup_of_another_cluster_is_refused_with_the_verdict() {
    let (newest, other) = (capture("k120-story/snapshot.db.zst"), capture("k136-story/snapshot.db.zst"));
    let (document, code) = document(&[&other, "--over", &newest]);
    assert!(document["verdict"] == "bad" && document["sameCluster"] == false && code == Some(2), "{document:#}");
    let text = run(&[&other, "--over", &newest]);
    assert!(first_line(&text).contains("do not: the backup is of another cluster"), "{}", all(&text));
    assert_eq!(text.status.code(), Some(2));
}

#[test]
fn without_a_newer_state_the_backup_alone_answers() {
    let file = capture("k136-story/snapshot.db.zst");
    let (document, _) = document(&[&file]);
    assert!(document["lostRevisions"].is_null() && document["sameCluster"].is_null(), "{document:#}");
    let flag = ketcd().args(["-f", &file, "rehearse", "--now", NOW_TIME]).env_remove("ETCDCTL_ENDPOINTS").output().unwrap();
    let (said, asked) = (String::from_utf8(flag.stdout).unwrap(), String::from_utf8(run(&[&file]).stdout).unwrap());
    assert_eq!(said.replace(&format!("-f {file} rehearse"), &format!("rehearse {file}")), asked);
}

/// What does not fit the first screen is counted on a terminal; in a pipe each forecast stands with a command.
#[test]
fn forecasts_are_folded_on_terminals_alone() {
    let entry = |name: &str| format!("{}::{name}", testdata::path("rehearsals/old-backup.tar.zst").display());
    let words = ["rehearse", &entry("backup.db"), "--over", &entry("newest.db"), "--now", NOW_TIME];
    let piped = ketcd().args(words).output().unwrap();
    let piped = String::from_utf8(piped.stdout).unwrap();
    assert!(!piped.contains("-o wide shows all"), "{piped}");
    let (terminal, _) = crate::pty::run(160, ketcd().args(words));
    let terminal = anstream::adapter::strip_str(&terminal).to_string();
    let sentences =
        |text: &str| ["  high    ", "  medium  ", "  low     "].iter().map(|weight| text.matches(weight).count()).sum::<usize>();
    let folded = terminal.lines().find_map(|line| line.trim().split_once(" more forecasts (-o wide shows all)"));
    let folded: usize = folded.unwrap_or_else(|| panic!("{terminal}")).0.parse().unwrap();
    assert_eq!(sentences(&terminal) + folded, sentences(&piped), "{terminal}\n{piped}");
}

#[test]
fn markdown_begins_with_the_decision() {
    let [newest, older] = newest_and_older();
    let page = run(&[&older, "--over", &newest, "-o", "markdown"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.starts_with("# Restore of ") && page.contains("\n\nRESTORE of "), "{page}");
}

#[test]
fn the_restored_cluster_is_held_against_the_forecast() {
    let [newest, older] = newest_and_older();
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live.db.zst");
    fs::copy(&older, &live).unwrap();
    let (document, code) = document(&[&older, "--over", &newest, "--done", live.to_str().unwrap()]);
    assert_eq!(document["kind"], "Scores", "{document:#}");
    let wrong = document["wrong"].as_u64().unwrap();
    assert_eq!(code, Some(i32::from(wrong > 0)), "{document:#}");
    let text = run(&[&older, "--over", &newest, "--done", live.to_str().unwrap()]);
    assert!(first_line(&text).contains(" not observable in "), "{}", all(&text));
}

/// A file that is a database no more.
fn broken(folder: &Path) -> PathBuf {
    let path = folder.join("broken.db");
    fs::write(&path, b"not a database").unwrap();
    path
}

#[test]
fn a_state_that_cannot_be_read_is_ranked_last_and_a_backup_is_refused() {
    let [newest, older] = newest_and_older();
    let folder = tempfile::tempdir().unwrap();
    let broken = broken(folder.path());
    let broken = broken.to_str().unwrap();
    let (document, _) = document(&[&older, "--over", broken, "--over", &newest]);
    let last = document["sources"].as_array().unwrap().last().unwrap();
    assert!(last["name"] == broken && last["verdict"] == "bad", "{document:#}");
    assert_eq!(document["lostRevisions"], 11);
    refused(&[broken, "--over", &newest], &["broken.db", "it cannot be restored; what is wrong with it: ketcd verify "]);
}

/// The commands of the checklist.
#[track_caller]
fn way(words: &[&str]) -> String {
    let output = run(&[words, &["-o", "markdown"]].concat());
    let page = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(page.starts_with("# Restore of "), "{}", all(&output));
    page
}

#[test]
fn of_a_folder_the_newest_whole_backup_is_rehearsed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::copy(capture("k120-story/earlier.db.zst"), file("night-1.db.zst")).unwrap();
    fs::copy(capture("k120-story/snapshot.db.zst"), file("night-2.db.zst")).unwrap();
    let (nights, newest) = (folder.path().to_str().unwrap(), file("night-2.db.zst"));
    let page = way(&[nights]);
    let commands = [format!("zstd -dk {newest}\n"), format!("etcdutl snapshot restore {} ", newest.trim_end_matches(".zst"))];
    assert!(commands.iter().all(|command| page.contains(command)) && !page.contains("night-1"), "{page}");
    let output = run(&[nights]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("{newest} is rehearsed, the newest whole one of 2 backups")), "{said}");
    assert!(first_line(&output).starts_with(&format!("RESTORE of {newest} (r1787")), "{}", all(&output));
    assert!(all(&output).contains(&format!("rehearse {newest} --now {NOW_TIME} -o markdown")), "{}", all(&output));
    refused(&[nights, "--over", &newest], &["is the same as the backup"]);
    // Two files are as a folder.
    let two = ["-f", &newest, "-f", &file("night-1.db.zst")];
    let two = ketcd().args(two).args(["rehearse", "--now", NOW_TIME]).env_remove("ETCDCTL_ENDPOINTS").output().unwrap();
    assert_eq!(first_line(&two), first_line(&output));

    let mut bytes = testdata::read("captures/k120-story/snapshot.db.zst");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(file("night-2.db"), bytes).unwrap();
    fs::remove_file(&newest).unwrap();
    let output = run(&[nights]);
    let older = file("night-1.db.zst");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("{older} is rehearsed, ")) && said.contains("night-2.db is newer, and damaged"), "{said}");
    assert!(first_line(&output).starts_with(&format!("RESTORE of {older} (r560")), "{}", all(&output));
    // One that lies alone in a folder is named where it lies.
    fs::remove_file(file("night-2.db")).unwrap();
    let page = way(&[nights]);
    assert!(page.contains(&format!("zstd -dk {older}\n")), "{page}");
}

#[test]
fn of_an_archive_the_commands_name_what_is_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nights.tar");
    fs::create_dir(folder.path().join("day")).unwrap();
    for (name, night) in [("earlier", "day/night-1.db.zst"), ("snapshot", "day/night-2.db.zst")] {
        fs::copy(capture(&format!("k120-story/{name}.db.zst")), folder.path().join(night)).unwrap();
    }
    let tar = Command::new("tar").arg("-cf").arg(&path).arg("-C").arg(folder.path()).arg("day").status().unwrap();
    assert!(tar.success());
    let archive = path.to_str().unwrap();
    let page = way(&[archive]);
    let unpack = format!("tar -xf {archive} day/night-2.db.zst && zstd -dk day/night-2.db.zst\n");
    assert!(page.contains(&unpack) && page.contains(" restore day/night-2.db "), "{page}");
    let page = way(&[&format!("{archive}::day/night-1.db.zst")]);
    assert!(page.contains(" day/night-1.db.zst && ") && page.contains(" restore day/night-1.db "), "{page}");
}

#[test]
fn what_is_not_a_backup_of_an_etcd_is_refused_by_its_kind() {
    const NEEDED: &str = "rehearse needs what etcd is restored from: a snapshot, a member's data dir, or a database of kine";
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("pods.json");
    fs::write(&objects, r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"b"}}"#).unwrap();
    let bundle = folder.path().join("b.ketcd");
    let made = ketcd().args(["-f", &capture("k120-story/snapshot.db.zst"), "bundle", "-n", "lab", "--out"]).arg(&bundle).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", all(&made));
    let log = testdata::path("audit/eks.jsonl.zst");
    for (file, what) in [(&objects, "holds API objects"), (&bundle, "is a bundle"), (&log, "is an audit log of API servers")] {
        let file = file.to_str().unwrap();
        let extract = format!("ketcd -f {file} extract -A --all");
        refused(&[file], &[&format!("{file} {what}, not a backup of an etcd"), NEEDED, &extract]);
        refused(&[file, "-o", "markdown"], &[NEEDED]);
    }
}

#[test]
fn hostile_names_drive_no_terminal() {
    let (hostile, older) = (testdata::path("hostile/snapshot.db.zst"), capture("k136-story/snapshot.db.zst"));
    let hostile = hostile.to_str().unwrap();
    for words in [&[hostile][..], &[&older, "--over", hostile]] {
        for format in ["table", "wide", "markdown", "json"] {
            let output = run(&[words, &["-o", format]].concat());
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(!text.is_empty() && !text.chars().any(|c| c != '\n' && c.is_control()), "{words:?} {format}: {text:?}");
        }
    }
}

#[test]
fn errors_say_what_to_name_instead() {
    let [newest, older] = newest_and_older();
    let live = nobody("http://");
    refused(&[], &["rehearse needs a backup", "ketcd rehearse snapshot.db"]);
    refused(&["/nowhere.db"], &["/nowhere.db"]);
    refused(&[&older, "--over", "/nowhere.db"], &["/nowhere.db"]);
    refused(&[&older, "--over", &older], &["is the same as the backup", "name each state that is left once"]);
    refused(&[&older, "--over", &newest, "--done", &newest], &["--done", "is the same as --over", "runs after the restore"]);
    refused(&[&live], &["so it is not a backup", "--over URL"]);
    refused(&[&older, "--over", "kubeconfig:a"], &["without its Secrets", "--show-secrets"]);
    refused(&[&older, "--over", &newest, "--endpoints", &live], &["both name the newest state"]);
    refused(&[&older, "-o", "yaml"], &["rehearse has no output format yaml", "markdown"]);
    refused(&[&older, "--over", &newest, "--done", "x.db", "-o", "markdown"], &["rehearse --done has no output format markdown"]);
    refused(&["-f", &newest, &older], &["rehearse BACKUP takes no -f", "--over"]);
    let many: Vec<String> = (0..17).map(|number| format!("--over=/nowhere-{number}.db")).collect();
    let many: Vec<&str> = [&*older].into_iter().chain(many.iter().map(String::as_str)).collect();
    refused(&many, &["17 states are too many", "at most 16", "ketcd verify FILE"]);
    refused(&[&older, "--rev", "5"], &["does not take '--rev'"]);
}

#[test]
fn the_etcd_that_flags_or_the_environment_name_is_the_newest_state() {
    let file = capture("k136-story/snapshot.db.zst");
    let live = nobody("http://");
    let by_flag = run(&[&file, "--endpoints", &live, "--dial-timeout", "1s"]);
    let by_variable = ketcd().args(["rehearse", &file, "--dial-timeout", "1s"]).env("ETCDCTL_ENDPOINTS", &live).output().unwrap();
    for output in [by_flag, by_variable] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(live.trim_start_matches("http://")), "{}", all(&output));
    }
}
