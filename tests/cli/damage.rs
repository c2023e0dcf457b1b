//! Damaged databases on the command line: what the library reports is on standard error, and the exit code is 2.

use std::io::Write;
use std::process::Output;

use futures_util::StreamExt;
use ketcd_store::{At, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem, load};
use ketcd_testing::mutants::{DAMAGE_KINDS, PAGE_BYTES, damage_database};
use ketcd_testing::random::Random;
use ketcd_testing::testdata;

use crate::ketcd::{all, ketcd};

/// The recorded database, without the checksum at its end.
fn database() -> Vec<u8> {
    let mut whole = testdata::read("captures/k120-story/snapshot.db.zst");
    whole.truncate(whole.len() / PAGE_BYTES * PAGE_BYTES);
    whole
}

fn run(database: &[u8], arguments: &[&str]) -> Output {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(database).unwrap();
    ketcd().arg("-f").arg(file.path()).args(arguments).output().unwrap()
}

fn open(database: &[u8]) -> Result<Box<dyn Source>, String> {
    load::open_bytes("damaged", database.to_vec().into(), &load::Limits::default(), &|_| None).map_err(|error| error.to_string())
}

/// Every change that a source has, and every key that is there.
fn content(source: &dyn Source) -> (Vec<WatchItem>, Vec<KeyValue>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let changes = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect().await;
        let alive = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap().entries.map(Result::unwrap).collect().await;
        (changes, alive)
    })
}

/// What is said of a copy: why it is refused, or the first damage found.
fn said(opened: &Result<Box<dyn Source>, String>) -> Option<String> {
    match opened {
        Ok(source) => source.damage().iter().cloned().chain(source.late_damage()).next(),
        Err(error) => Some(error.clone()),
    }
}

#[test]
fn a_command_on_damaged_data_ends_with_exit_2() {
    let whole = database();
    let original = content(&*open(&whole).unwrap());
    let commands =
        [&["ls", "pods", "-A"][..], &["get", "node/node1", "-o", "yaml"], &["history", "node/node1"], &["timeline", "pod/lab/urgent"]];
    let expected: Vec<_> = commands.iter().map(|arguments| run(&whole, arguments)).collect();
    let mut reported = 0;
    // Each kind of damage under two commands; `files` of ketcd-store damages more.
    for number in 0..2 * DAMAGE_KINDS.len() {
        let kind = DAMAGE_KINDS[number % DAMAGE_KINDS.len()];
        let mut damaged = whole.clone();
        damage_database(&mut damaged, kind, &mut Random(4_000_000 + number as u64));
        let opened = open(&damaged);
        let output = run(&damaged, commands[number % commands.len()]);
        if let Some(what) = said(&opened) {
            let what = what.strip_prefix("damaged: ").unwrap();
            let is_told = output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains(what);
            assert!(is_told, "mutant {number} ({kind:?}): no {what:?} in {}", all(&output));
            reported += 1;
        } else if content(&*opened.unwrap()) == original {
            assert_eq!(output.stdout, expected[number % commands.len()].stdout, "mutant {number} ({kind:?})");
        }
    }
    assert!(reported > 8, "{reported}");
}

#[test]
fn the_page_that_is_damaged_is_named_and_the_rest_shown() {
    let mut broken = database();
    broken[300 * PAGE_BYTES..300 * PAGE_BYTES + 64].fill(0xa5);
    let output = run(&broken, &["ls", "nodes"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("page 300 is damaged: it bears another page's number; revisions from 671 to before 673 may be missing"),
        "{said}"
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 5);
}

fn status(path: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = ketcd().arg("-f").arg(path).arg("status").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// `status` says what was checked, and ends with 2 where it has a problem.
#[test]
fn status_says_what_was_checked_and_each_problem_counts() {
    let whole = testdata::read("captures/k120-story/snapshot.db.zst");
    let write = |bytes: &[u8]| ketcd_testing::temporary::file(bytes);
    let mut changed = whole.clone();
    let length = changed.len();
    changed[length - 1] ^= 1;
    for (bytes, code, checked) in [
        (&whole[..], 0, "checked       SHA-256 holds\n"),
        (&database()[..], 0, "checked       no SHA-256 in the file"),
        (&changed[..], 2, "checked       SHA-256 does not match\n"),
    ] {
        let file = write(bytes);
        let (found, printed) = status(file.path(), &[]);
        assert_eq!(found, Some(code), "{printed}");
        assert!(printed.contains(checked) && printed.contains("\nproblem") == (code == 2), "{checked}: {printed}");
    }
    let member = ketcd_testing::data_dir::data_dir("k120-story/member.tar.zst");
    assert_eq!(status(member.path(), &[]).0, Some(0));
    std::fs::remove_dir_all(member.path().join("member/wal")).unwrap();
    let (code, printed) = status(member.path(), &[]);
    assert!(code == Some(2) && printed.contains("problem       there is no member/wal next to the database"), "{printed}");
    let (code, printed) = status(member.path(), &["-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &json["checksums"]["absent"], json["problems"].as_array().unwrap().len()), (Some(2), &1.into(), 1));
}
