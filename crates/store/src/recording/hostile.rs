//! Recordings as others may have made them: forged manifests and indexes, links, pipes, foreign files, files that are gone, cut or too many. Nothing outside
//! is touched, no reader hangs or takes memory for what is not there, and what is lost is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use futures_util::FutureExt;
use sha2::{Digest, Sha256};

use super::continuity::{Continuity, continuity};
use super::tests::{alive, events, files, follow, history, hold, items, open, options, range, recorded, scope, source, state};
use super::{Keep, Recorder, RecorderOptions};
use crate::{Event, KeyRange, LateDamage, Revision, Source, WatchItem};

/// Changes what the manifest says; its hash holds.
fn forge(directory: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = directory.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut sealed: serde_json::Value = serde_json::from_str(&text).unwrap();
    change(&mut sealed["recording"]);
    let recording = sealed["recording"].to_string();
    let sha256 = super::segment::hex(Sha256::digest(&recording).as_slice());
    fs::write(path, format!(r#"{{"recording":{recording},"sha256":"{sha256}"}}"#)).unwrap();
}

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn refused(path: &Path) -> String {
    Recorder::open(path, &scope(), options()).map(drop).unwrap_err().to_string()
}

#[test]
fn a_manifest_names_files_of_its_recording_alone() {
    let history = history(300);
    let directory = recorded(&history);
    let outer = tempfile::tempdir().unwrap();
    let victim = outer.path().join("precious.txt");
    fs::write(&victim, "precious").unwrap();
    fs::create_dir(directory.path().join("sub")).unwrap();
    fs::write(directory.path().join("sub/0000000009.changes"), "precious").unwrap();
    fs::write(directory.path().join("notes.txt"), "precious").unwrap();
    fs::write(directory.path().join("0000000077.changes"), "precious").unwrap();
    symlink(&victim, directory.path().join("0000000078.changes")).unwrap();
    let up = format!("../{}/precious.txt", outer.path().file_name().unwrap().to_str().unwrap());
    let names = [
        victim.to_str().unwrap(),
        &up,
        "sub/0000000009.changes",
        "./notes.txt",
        "notes.txt",
        "lock",
        "",
        ".",
        "0000000077.changes",
        "0000000078.changes",
        "+000000001.changes",
    ];
    for is_removed in [true, false] {
        forge(directory.path(), |recording| {
            let like = recording["files"][0].clone();
            for name in names {
                let mut file = like.clone();
                (file["name"], file["kind"], file["removed"]) = (name.into(), "changes".into(), is_removed.into());
                recording["files"].as_array_mut().unwrap().push(file);
            }
        });
        let shown = events(&source(directory.path()), KeyRange::all());
        assert_eq!(shown, history);
        let recorder = open(directory.path());
        assert!(recorder.problems().iter().any(|problem| problem.contains("which is not the name of a recording's file")));
        drop(recorder);
        for path in [&victim, &directory.path().join("sub/0000000009.changes"), &directory.path().join("notes.txt")] {
            assert_eq!(fs::read(path).unwrap(), b"precious", "{}", path.display());
        }
        assert_eq!(fs::read(directory.path().join("0000000077.changes")).unwrap(), b"precious");
        assert!(directory.path().join("0000000078.changes").is_symlink());
    }
}

#[test]
fn a_manifest_with_numbers_that_cannot_be_is_damage() {
    let history = history(300);
    let forged: [fn(&mut serde_json::Value); 6] = [
        |file| file["covered"] = serde_json::json!([[5, 2]]),
        |file| file["covered"] = serde_json::json!([[-3, i64::MAX]]),
        |file| file["covered"] = serde_json::json!([[i64::MAX, i64::MAX]]),
        |file| file["missing"] = serde_json::json!([{"from": 902, "to": 901, "reason": "none"}]),
        |file| file["bytes"] = u64::MAX.into(),
        |file| file["ended"] = i64::MIN.into(),
    ];
    for forge_file in forged {
        let directory = recorded(&history);
        forge(directory.path(), |recording| forge_file(&mut recording["files"][1]));
        let source = source(directory.path());
        assert!(source.facts().damage[0].contains("what the manifest says of 0000000002"), "{:?}", source.facts().damage);
        assert_eq!(events(&source, KeyRange::all()), history);
    }
}

#[test]
fn links_are_not_followed_and_pipes_not_waited_for() {
    let history = history(300);
    let good = recorded(&history);
    let open_name = files(good.path(), ".open")[0].file_name().unwrap().to_owned();
    let names: Vec<_> = files(good.path(), "").iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    for name in &names {
        for kind in ["link", "dangling", "pipe", "folder", "hard link"] {
            let directory = tempfile::tempdir().unwrap();
            let outside = tempfile::tempdir().unwrap();
            files(good.path(), "").iter().for_each(|path| drop(fs::copy(path, directory.path().join(path.file_name().unwrap()))));
            let (path, target) = (directory.path().join(name), outside.path().join("target"));
            let before = fs::read(&path).unwrap();
            fs::rename(&path, &target).unwrap();
            match kind {
                "link" => symlink(&target, &path).unwrap(),
                "dangling" => symlink(outside.path().join("nothing"), &path).unwrap(),
                "pipe" => pipe(&path),
                "hard link" => fs::hard_link(&target, &path).unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            let what = format!("{} is a {kind}", name.display());
            let read = super::RecordingSource::open(directory.path().to_str().unwrap());
            if let Ok(source) = read {
                let shown = events(&source, KeyRange::all());
                let is_said = !source.facts().damage.is_empty() || !source.late_damage().is_empty();
                assert!(shown == history || is_said, "{what}");
            }
            let recorder = Recorder::open(directory.path(), &scope(), options());
            if *name == open_name || (name == "lock" && kind != "hard link") {
                assert!(recorder.is_err(), "{what}");
            }
            drop(recorder);
            assert_eq!(fs::read(&target).unwrap(), before, "{what}");
            assert!(!outside.path().join("nothing").exists(), "{what}");
        }
    }
}

#[test]
fn a_directory_with_foreign_files_is_left_as_it_is() {
    for name in ["thesis.tmp", "manifest.tmp", "1.state.tmp", "0000000001.changes.tmp", ".tmp", "notes"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(name), "mine").unwrap();
        let error = refused(directory.path());
        assert!(error.contains(&format!("is not a recording and holds other files ({name})")), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{name}");
    }
    // A recording stays readable, whatever other files lie in its directory; and names like a recorder's are not proof of what is in a file.
    let history = history(100);
    let directory = recorded(&history);
    for name in ["thesis.tmp", "0000000099.state.tmp", "0000000098.changes.open"] {
        fs::write(directory.path().join(name), "mine").unwrap();
    }
    let recorder = open(directory.path());
    assert!(recorder.problems().iter().any(|problem| problem.contains("0000000099.state.tmp was not written by a recorder")));
    assert!(recorder.problems().iter().any(|problem| problem.contains("0000000098.changes.open")));
    drop(recorder);
    for name in ["thesis.tmp", "0000000099.state.tmp", "0000000098.changes.open"] {
        assert_eq!(fs::read(directory.path().join(name)).unwrap(), b"mine", "{name}");
    }
}

#[test]
fn the_last_number_is_not_passed() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("9999999999.changes.open"), "").unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    recorder.complete(Revision(5)).unwrap();
    assert!(recorder.flush().unwrap_err().to_string().contains("has no number left"));
}

/// The first index page of a file with other numbers at `at`, under a checksum that holds.
fn forge_index(file: &[u8], at: usize, number: u64) -> Vec<u8> {
    let mut forged = file.to_vec();
    let trailer = &file[file.len() - 24..];
    let start = u64::from_le_bytes(trailer[8..16].try_into().unwrap()) as usize;
    let length = u32::from_le_bytes(trailer[16..20].try_into().unwrap()) as usize;
    let page = &mut forged[start..start + length.min(4096)];
    page[at..at + 8].copy_from_slice(&number.to_le_bytes());
    let end = page.len() - 4;
    let crc = crc32c::crc32c_append(crc32c::crc32c(&0_u64.to_le_bytes()), &page[..end]);
    page[end..].copy_from_slice(&crc.to_le_bytes());
    forged
}

#[test]
fn lengths_of_an_index_are_held_against_the_file() {
    let history = history(300);
    let directory = recorded(&history);
    let path = files(directory.path(), ".changes").remove(0);
    let good = fs::read(&path).unwrap();
    let numbers = [0, 1, 1 << 20, 1 << 40, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    // Fields of the first block: where it begins, its length, after which revision and up to which; the counts; ends of keys.
    for at in [12, 20, 28, 36, 0, 4, 44, 48] {
        for number in numbers {
            fs::write(&path, forge_index(&good, at, number)).unwrap();
            let source = source(directory.path());
            let shown = events(&source, KeyRange::all());
            assert!(shown.iter().all(|event| history.contains(event)), "{at} {number}");
            let key = KeyRange::key("/registry/pods/lab/pod-07");
            let of_key = events(&source, key.clone());
            assert!(of_key.iter().all(|event| key.contains(&event.key_value.key)), "{at} {number}");
            let is_said = !source.facts().damage.is_empty() || !source.late_damage().is_empty();
            assert!(shown == history || is_said, "{at} {number}");
            for item in items(&source, KeyRange::all(), 1) {
                assert!(!matches!(item, WatchItem::Gap { from, to } if to < from), "{item:?}");
            }
        }
    }
}

#[test]
fn every_file_that_is_being_written_is_read_and_taken_up() {
    let history = history(600);
    let whole = recorded(&history[..499]);
    let open_file = files(whole.path(), ".open").pop().unwrap();
    let bytes = fs::read(&open_file).unwrap();
    for content in [&b""[..], &bytes[..20], &bytes[..bytes.len().min(130)], &bytes[..bytes.len() - 1], &bytes] {
        for number in ["0000000001", "0000000097"] {
            let directory = tempfile::tempdir().unwrap();
            files(whole.path(), "").iter().for_each(|path| drop(fs::copy(path, directory.path().join(path.file_name().unwrap()))));
            fs::write(directory.path().join(format!("{number}.changes.open")), content).unwrap();
            let read = source(directory.path());
            assert_eq!(events(&read, KeyRange::all()), history[..499], "{} bytes", content.len());
            assert_eq!(range(&read, KeyRange::all(), 500).unwrap(), alive(&history, 500));
            let mut recorder = open(directory.path());
            assert_eq!(recorder.reached(), Some(Revision(500)));
            follow(&mut recorder, &history, 600);
            drop(recorder);
            hold(directory.path(), &history, 1);
        }
    }
}

#[test]
fn what_a_state_is_ahead_of_the_changes_is_said_and_healed() {
    let history = history(400);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(directory.path(), &scope(), RecorderOptions::default()).unwrap();
    recorder.begin_after(Revision(1));
    state(&mut recorder, &history, 1);
    let mut lengths = Vec::new();
    for to in [200, 350] {
        follow(&mut recorder, &history, to);
        lengths.push(fs::metadata(&files(directory.path(), ".open")[0]).unwrap().len());
    }
    state(&mut recorder, &history, 350);
    drop(recorder);
    let open_file = files(directory.path(), ".open").remove(0);
    let whole = fs::read(&open_file).unwrap();
    fs::write(&open_file, &whole[..lengths[0] as usize + 30]).unwrap();
    let read = source(directory.path());
    assert!(read.facts().damage.iter().any(|problem| problem.contains("revisions 201 to 350 are lost")), "{:?}", read.facts().damage);
    let shown = events(&read, KeyRange::all());
    assert!(shown.iter().all(|event| history.contains(event)));
    assert_eq!(shown.iter().filter(|event| event.revision.0 <= 200).count(), 199);
    // etcd still has them.
    let mut recorder = open(directory.path());
    assert_eq!(recorder.reached(), Some(Revision(200)));
    follow(&mut recorder, &history, 400);
    drop(recorder);
    hold(directory.path(), &history, 1);
}

#[test]
fn what_is_removed_while_it_is_read_is_still_read_or_said() {
    let history = history(3000);
    let directory = recorded(&history);
    let read = source(directory.path());
    // As a recorder does that keeps less.
    let mut recorder =
        Recorder::open(directory.path(), &scope(), RecorderOptions { keep: Some(Keep::Bytes(20_000)), ..options() }).unwrap();
    recorder.complete(Revision(3001)).unwrap();
    recorder.flush().unwrap();
    state(&mut recorder, &history, 3001);
    drop(recorder);
    assert!(files(directory.path(), ".changes").len() < 20);
    assert_eq!(range(&read, KeyRange::all(), 100).unwrap(), alive(&history, 100));
    let shown = events(&read, KeyRange::all());
    let said = read.late_damage();
    assert!(
        said.iter().all(|problem| problem.ends_with("was removed while it was read, since the recorder keeps less (--keep)")),
        "{said:?}"
    );
    assert_eq!(shown.len() == history.len(), said.is_empty());
    assert!(shown.len() > 300);
    assert!(events(&source(directory.path()), KeyRange::all()).len() < 1500);
}

#[test]
fn a_clock_that_is_set_removes_nothing() {
    let history = history(900);
    let directory = recorded(&history[..599]);
    // As if all of it had been recorded a year ago by the clock that is set now.
    let year = 365 * 24 * 3600 * 1000_i64;
    drop(open(directory.path()));
    let open_file = files(directory.path(), ".open").remove(0);
    fs::remove_file(open_file).unwrap();
    forge(directory.path(), |recording| {
        for file in recording["files"].as_array_mut().unwrap() {
            for time in ["begun", "ended"] {
                file[time] = (file[time].as_i64().unwrap() - year).into();
            }
        }
    });
    let before = files(directory.path(), "").len();
    let keep = RecorderOptions { keep: Some(Keep::Age(Duration::from_secs(24 * 3600))), ..options() };
    let mut recorder = Recorder::open(directory.path(), &scope(), keep).unwrap();
    follow(&mut recorder, &history, 900);
    let at = recorder.reached().unwrap().0;
    state(&mut recorder, &history, at);
    drop(recorder);
    assert!(files(directory.path(), "").len() > before);
    hold(directory.path(), &history, 1);
}

/// How a recording of a history and an etcd with another one go together; the etcd was compacted at a revision.
fn compared(recorded_history: &[Event], other: &[Event], compacted: i64) -> Continuity {
    let directory = recorded(recorded_history);
    let etcd = tempfile::tempdir().unwrap();
    let mut recorder = open(etcd.path());
    recorder.begin_after(Revision(compacted));
    state(&mut recorder, other, compacted);
    follow(&mut recorder, other, other.len() as i64 + 1);
    drop(recorder);
    let etcd = source(etcd.path());
    continuity(directory.path(), &etcd, &|_| true, &[KeyRange::all()]).now_or_never().unwrap().unwrap()
}

#[test]
fn another_history_is_found_by_what_was_recorded_last() {
    let one = history(600);
    let mut other = one.clone();
    // From revision 400 on other things were written.
    for event in &mut other[398..] {
        event.key_value.value = event.key_value.value.iter().rev().copied().chain(*b"!").collect();
    }
    assert_eq!(compared(&one[..499], &one, 1), Continuity::Same);
    assert_eq!(compared(&one[..499], &one, 498), Continuity::Same);
    assert_eq!(compared(&one[..499], &one, 510), Continuity::Same);
    assert_eq!(compared(&one[..389], &other, 1), Continuity::Same);
    for compacted in [1, 300, 499] {
        let Continuity::Other(evidence) = compared(&one[..499], &other, compacted) else { panic!("compacted at {compacted}") };
        assert!(evidence.starts_with("they disagree about revision"), "{evidence}");
    }
    // From the time that both have, only keys are left that were not written since.
    let mut later = one.clone();
    later[480..498].iter_mut().for_each(|event| event.key_value.version += 7);
    assert!(matches!(compared(&one[..499], &later, 505), Continuity::Other(_)));
    let nothing = tempfile::tempdir().unwrap();
    drop(open(nothing.path()));
    let etcd = recorded(&one);
    let etcd = source(etcd.path());
    let found = continuity(nothing.path(), &etcd, &|_| true, &[KeyRange::all()]).now_or_never().unwrap().unwrap();
    assert_eq!(found, Continuity::Unknown);
}
