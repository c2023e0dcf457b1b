//! kine's database on the command line: read like etcd's, with the exit code of damage where some of it cannot be read or be believed.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::ketcd::{all, ketcd};
use crate::unpack::data_dir;

fn ask(file: &Path, words: &[&str]) -> Output {
    ketcd().arg("-f").arg(file).args(words).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|cause| panic!("{cause}: {}", all(output)))
}

#[test]
fn a_killed_kine_tells_its_revisions_and_why_a_pod_runs_where_it_runs() {
    let directory = data_dir("k136-kine/killed.tar.zst");
    let file = directory.path().join("state.db");
    let status = json(&ask(&file, &["status", "-o", "json"]));
    assert_eq!((&status["source"]["kind"], &status["revisions"]["newest"]), (&"kine".into(), &3036.into()));
    let output = ask(&file, &["explain", "pod/lab/weighted"]);
    assert_eq!(output.status.code(), Some(0), "{}", all(&output));
    assert!(output.stderr.is_empty() && output.stdout.len() > 300, "{}", all(&output));
}

#[test]
fn a_damaged_kine_shows_what_is_left_and_says_so() {
    let directory = data_dir("k136-kine/killed.tar.zst");
    let file = directory.path().join("state.db");
    // The log has newer pages in place of some: of these the database's own are not read.
    ["state.db-wal", "state.db-shm"].iter().for_each(|name| fs::remove_file(directory.path().join(name)).unwrap());
    let whole = ask(&file, &["ls", "--all", "-o", "name"]);
    assert_eq!(whole.status.code(), Some(0), "{}", all(&whole));
    let pages = fs::metadata(&file).unwrap().len() / 4096;
    let mut database = OpenOptions::new().write(true).open(&file).unwrap();
    for page in (pages / 2..pages / 2 + 20).step_by(2) {
        database.seek(SeekFrom::Start(page * 4096)).unwrap();
        database.write_all(&[0; 4096]).unwrap();
    }
    let damaged = ask(&file, &["ls", "--all", "-o", "name"]);
    assert_eq!(damaged.status.code(), Some(2), "{}", all(&damaged));
    let (before, after) =
        (String::from_utf8_lossy(&whole.stdout).lines().count(), String::from_utf8_lossy(&damaged.stdout).lines().count());
    assert!(after > before / 2, "{after} of {before} objects");
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("page"), "{}", all(&damaged));
}
