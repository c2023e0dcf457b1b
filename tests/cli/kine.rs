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
fn a_killed_kine_tells_its_objects_its_past_and_why_a_pod_waits() {
    let directory = data_dir("k136-kine/killed.tar.zst");
    let file = directory.path().join("state.db");
    let status = json(&ask(&file, &["status", "-o", "json"]));
    assert_eq!((&status["source"]["kind"], &status["revisions"]["newest"]), (&"kine".into(), &3036.into()));
    let history = ask(&file, &["history", "--all", "-o", "ndjson"]);
    assert_eq!((history.status.code(), history.stdout.split(|&byte| byte == b'\n').count() - 1), (Some(0), 3035));
    for words in [&["timeline", "pod/lab/ubuntu"][..], &["explain", "pod/lab/weighted"], &["get", "pod/lab/ubuntu", "-o", "yaml"]] {
        let output = ask(&file, words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", all(&output));
        assert!(output.stderr.is_empty() && output.stdout.len() > 300, "{words:?}: {}", all(&output));
    }
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

/// SQLite would undo the transaction that the journal belongs to, and write the database for it.
#[test]
fn a_rollback_journal_beside_it_is_a_doubt() {
    let directory = data_dir("k136-kine/killed.tar.zst");
    let (file, journal) = (directory.path().join("state.db"), directory.path().join("state.db-journal"));
    fs::write(&journal, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0\0\0\x01").unwrap();
    let output = ask(&file, &["ls", "pods", "-A"]);
    assert_eq!(output.status.code(), Some(2), "{}", all(&output));
    assert!(all(&output).contains("there is a rollback journal next to it"), "{}", all(&output));
    // Where a transaction ended the journal's header is overwritten with zeros.
    fs::write(&journal, [0; 512]).unwrap();
    assert_eq!(ask(&file, &["ls", "pods", "-A"]).status.code(), Some(0));
}

/// SQLite reads a log up to its last whole transaction and says nothing of the rest; its index of the log says how much there was.
#[test]
fn a_log_that_ends_early_is_told() {
    const FRAME: u64 = 24 + 4096;
    /// The frames that the last process had committed.
    const COMMITTED: u64 = 173;
    let directory = data_dir("k136-kine/killed.tar.zst");
    let [file, log, index] = ["state.db", "state.db-wal", "state.db-shm"].map(|name| directory.path().join(name));
    let whole = fs::read(&log).unwrap();
    let told = |length: u64, with_index: bool| {
        let other = directory.path().join("state.db-other");
        fs::write(&other, &whole[..length as usize]).unwrap();
        fs::rename(&other, &log).unwrap();
        if !with_index {
            let _ = fs::remove_file(&index);
        }
        let output = ask(&file, &["history", "--all", "-o", "ndjson"]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // What lies behind the last transaction is of earlier ones.
    for length in [whole.len() as u64, 32 + (COMMITTED + 7) * FRAME, 32 + COMMITTED * FRAME + 100, 32 + COMMITTED * FRAME] {
        assert_eq!(told(length, true), (Some(0), String::new()), "{length}");
    }
    for length in [0, 32, 32 + 100 * FRAME, 32 + (COMMITTED - 1) * FRAME, 32 + COMMITTED * FRAME - 1] {
        let (code, said) = told(length, true);
        assert!(code == Some(2) && said.contains("state.db-shm says that 173 frames were committed to it"), "{length}: {code:?} {said}");
    }
    fs::remove_file(&log).unwrap();
    let output = ask(&file, &["ls"]);
    assert!(output.status.code() == Some(2) && all(&output).contains("state.db-wal is cut short or damaged"), "{}", all(&output));
    // Without that index nothing shows whether a transaction was finished.
    let (code, said) = told(32 + COMMITTED * FRAME - 1, false);
    assert!(
        code == Some(0) && said.contains("bytes behind its last whole transaction: one that was never finished, or the file was cut short"),
        "{said}"
    );
    let (code, said) = told(32, false);
    assert!(code == Some(0) && said.contains("state.db-wal holds no transaction"), "{said}");
    assert_eq!(told(32 + COMMITTED * FRAME, false), (Some(0), String::new()));
}
