//! A made history recorded with stops, gaps and damage, and read again: every answer is the history's, or is marked.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use tempfile::TempDir;

use super::chunk::{self, Scan};
use super::directory::{Directory, Manifest, name};
use super::facts::{FORMAT_VERSION, FileFacts, FileKind};
use super::{Keep, MissingRevisions, Recorder, RecorderOptions, RecordingScope, RecordingSource};
use crate::{
    Arrivals, At, Error, Event, EventKind, KeyRange, KeyValue, LateDamage, Origin, Revision, Source, Sources, Until, Want, WatchItem,
};

/// A change a revision from 2 on, of keys that are made, changed and deleted.
pub(super) fn history(last: i64) -> Vec<Event> {
    let mut alive: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let change = |revision: i64| {
        let key = (revision * 7919) % 23;
        let is_deletion = revision % 11 == 5 && alive.contains_key(&key);
        let (create, version) = match alive.get(&key) {
            Some(_) if is_deletion => (0, 0),
            Some(&(create, version)) => (create, version + 1),
            None => (revision, 1),
        };
        if is_deletion {
            alive.remove(&key)
        } else {
            alive.insert(key, (create, version))
        };
        let value = if is_deletion { Vec::new() } else { format!("value {revision} ").repeat((revision % 40) as usize).into_bytes() };
        let key_value = KeyValue {
            key: Bytes::from(format!("/registry/pods/lab/pod-{key:02}")),
            value: value.into(),
            create_revision: Revision(create),
            mod_revision: Revision(revision),
            version,
            replaced: Revision(0),
            lease: if is_deletion { 0 } else { revision % 3 },
        };
        let kind = if is_deletion { EventKind::Delete } else { EventKind::Put };
        Event { revision: Revision(revision), sub_revision: 0, kind, key_value, origin: Origin::Recording, sources: Sources::default() }
    };
    (2..=last).map(change).collect()
}

/// What is alive at a revision.
pub(super) fn alive(history: &[Event], at: i64) -> Vec<KeyValue> {
    let mut alive = BTreeMap::new();
    for event in history.iter().filter(|event| event.revision.0 <= at) {
        match event.kind {
            EventKind::Put => drop(alive.insert(event.key_value.key.clone(), event.key_value.clone())),
            EventKind::Delete => drop(alive.remove(&event.key_value.key)),
        }
    }
    alive.into_values().collect()
}

pub(super) fn scope() -> RecordingScope {
    RecordingScope { cluster_id: Some("1234".to_owned()), ..RecordingScope::default() }
}

/// Small files, so that there are many.
pub(super) fn options() -> RecorderOptions {
    RecorderOptions { file_bytes: 3000, ..RecorderOptions::default() }
}

pub(super) fn open(path: &Path) -> Recorder {
    Recorder::open(path, &scope(), options()).unwrap()
}

pub(super) fn state(recorder: &mut Recorder, history: &[Event], at: i64) {
    recorder.begin_state(Revision(at)).unwrap();
    alive(history, at).iter().for_each(|entry| recorder.state_entry(entry).unwrap());
    recorder.end_state().unwrap();
}

/// Records what comes after what was reached, up to a revision, and flushes now and then.
pub(super) fn follow(recorder: &mut Recorder, history: &[Event], to: i64) {
    let from = recorder.reached().unwrap().0 + 1;
    for event in &history[(from - 2) as usize..(to - 1) as usize] {
        recorder.change(event).unwrap();
        recorder.complete(event.revision).unwrap();
        if event.revision.0 % 7 == 0 {
            recorder.flush().unwrap();
        }
        if let Some((_, at)) = recorder.wanted_state() {
            state(recorder, history, at.0);
        }
    }
    recorder.flush().unwrap();
}

/// A recording of a history from its beginning.
pub(super) fn recorded(history: &[Event]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    follow(&mut recorder, history, history.len() as i64 + 1);
    directory
}

pub(super) fn source(path: &Path) -> RecordingSource {
    RecordingSource::open(path.to_str().unwrap()).unwrap()
}

pub(super) fn items(source: &RecordingSource, keys: KeyRange, from: i64) -> Vec<WatchItem> {
    source.watch(keys, Revision(from), Until::Forever).map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap()
}

pub(super) fn events(source: &RecordingSource, keys: KeyRange) -> Vec<Event> {
    items(source, keys, 1).into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

pub(super) fn range(source: &RecordingSource, keys: KeyRange, at: i64) -> crate::Result<Vec<KeyValue>> {
    let listing = source.range(keys, At::Revision(Revision(at)), Want::Values).now_or_never().unwrap()?;
    listing.entries.try_collect().now_or_never().unwrap()
}

pub(super) fn files(path: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_str().unwrap().ends_with(suffix));
    files.sort();
    files
}

/// Everything that a recording answers is the history's.
pub(super) fn hold(path: &Path, history: &[Event], from: i64) {
    let source = source(path);
    assert_eq!(events(&source, KeyRange::all()), history);
    assert_eq!(source.late_damage(), [""; 0]);
    assert_eq!(source.facts().damage, [""; 0]);
    for at in from..=history.len() as i64 + 1 {
        assert_eq!(range(&source, KeyRange::all(), at).unwrap(), alive(history, at), "at {at}");
    }
    for key in 0..25 {
        let key = format!("/registry/pods/lab/pod-{key:02}");
        let of_key: Vec<Event> = history.iter().filter(|event| event.key_value.key == key).cloned().collect();
        assert_eq!(events(&source, KeyRange::key(key.as_str())), of_key);
        let last = alive(history, i64::MAX).into_iter().filter(|entry| entry.key == key).collect::<Vec<_>>();
        assert_eq!(range(&source, KeyRange::key(key.as_str()), history.len() as i64 + 1).unwrap(), last);
    }
}

#[test]
fn what_is_recorded_is_read_again() {
    let history = history(1500);
    let directory = recorded(&history);
    assert!(files(directory.path(), ".changes").len() > 5 && files(directory.path(), ".state").len() > 2);
    hold(directory.path(), &history, 1);
    let source = source(directory.path());
    let span = source.span().now_or_never().unwrap().unwrap();
    assert_eq!((span.oldest, span.newest, span.compacted), (Revision(1), Revision(1500), None));
    assert!(matches!(range(&source, KeyRange::all(), 1501), Err(Error::Future { newest: Revision(1500), .. })));
    for path in files(directory.path(), "") {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
}

#[test]
fn what_was_flushed_outlives_a_kill() {
    let history = history(900);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    let mut to = 1;
    while to < 900 {
        to = (to + 37).min(900);
        follow(&mut recorder, &history, to);
        // What is taken and not flushed is gone with the process; a state that was begun too.
        if to < 900 {
            recorder.change(&history[(to - 1) as usize]).unwrap();
            recorder.begin_state(Revision(to)).unwrap();
        }
        drop(recorder);
        recorder = open(directory.path());
        assert_eq!(recorder.reached(), Some(Revision(to)));
        assert_eq!(recorder.problems(), [""; 0]);
    }
    hold(directory.path(), &history, 1);
    assert_eq!(files(directory.path(), ".tmp"), [""; 0].map(PathBuf::from));
}

#[test]
fn a_kill_between_a_file_and_the_manifest_loses_nothing() {
    let history = history(600);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    follow(&mut recorder, &history, 100);
    let manifest = fs::read(directory.path().join("manifest.json")).unwrap();
    follow(&mut recorder, &history, 500);
    drop(recorder);
    // As if it had been killed before each manifest since.
    fs::write(directory.path().join("manifest.json"), &manifest).unwrap();
    hold(directory.path(), &history[..499], 1);
    let mut recorder = open(directory.path());
    assert_eq!(recorder.reached(), Some(Revision(500)));
    follow(&mut recorder, &history, 600);
    hold(directory.path(), &history, 1);
}

#[test]
fn a_file_cut_while_it_is_written_has_what_was_flushed() {
    let history = history(60);
    let directory = recorded(&history);
    let open_file = files(directory.path(), ".open").pop().unwrap();
    let whole = fs::read(&open_file).unwrap();
    let mut seen = 0;
    for end in (1..whole.len()).rev() {
        fs::write(&open_file, &whole[..end]).unwrap();
        // Its beginning is written when it is made.
        let Ok(source) = RecordingSource::open(directory.path().to_str().unwrap()) else { continue };
        let events = events(&source, KeyRange::all());
        assert_eq!(events, history[..events.len()], "cut at {end}");
        if !events.is_empty() {
            assert_eq!((source.facts().damage, source.late_damage()), (&[][..], Vec::new()), "cut at {end}");
        }
        seen = seen.max(events.len());
    }
    assert!(seen > 40);
    // The recorder that continues cuts the rest off.
    fs::write(&open_file, &whole[..whole.len() - 1]).unwrap();
    let mut recorder = open(directory.path());
    assert!(recorder.reached().unwrap() < Revision(60));
    follow(&mut recorder, &history, 60);
    drop(recorder);
    hold(directory.path(), &history, 1);
}

/// What is shown of a damaged recording is true, and what is missing is said.
fn hold_damaged(path: &Path, history: &[Event], what: &str) {
    let source = match RecordingSource::open(path.to_str().unwrap()) {
        Ok(source) => source,
        Err(Error::Format { .. }) => return,
        Err(error) => panic!("{what}: {error}"),
    };
    let shown = events(&source, KeyRange::all());
    for event in &shown {
        // A version that a state alone still holds is the same but for its place among those of its revision.
        assert_eq!(*event, history[(event.revision.0 - 2) as usize], "{what}");
    }
    assert!(shown.is_sorted_by(|one, next| one.revision < next.revision), "{what}: out of order, or twice");
    let key = KeyRange::key("/registry/pods/lab/pod-07");
    let of_key = events(&source, key.clone());
    let newest = history.len() as i64 + 1;
    let last = range(&source, key.clone(), newest);
    let expected: Vec<&Event> = history.iter().filter(|event| key.contains(&event.key_value.key)).collect();
    let is_whole = shown.len() == history.len()
        && of_key.iter().eq(expected)
        && last.is_ok_and(|last| last == alive(history, newest).into_iter().filter(|entry| key.contains(&entry.key)).collect::<Vec<_>>());
    let is_said = !source.facts().damage.is_empty() || !source.late_damage().is_empty();
    assert!(is_whole || is_said, "{what}: changes are missing, and nothing is said");
}

#[test]
fn a_changed_byte_anywhere_is_harmless_or_said() {
    let history = history(400);
    let directory = recorded(&history);
    let all = files(directory.path(), "");
    assert!(all.len() > 4);
    for path in all.iter().filter(|path| !path.ends_with("lock")) {
        let good = fs::read(path).unwrap();
        // Each byte of the format, and many of what is compressed.
        for at in (0..good.len()).step_by(if good.len() > 2000 { 61 } else { 7 }) {
            let mut damaged = good.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(path, &damaged).unwrap();
            hold_damaged(directory.path(), &history, &format!("{} byte {at}", path.display()));
        }
        for end in (0..good.len()).step_by(397) {
            fs::write(path, &good[..end]).unwrap();
            if !path.to_str().unwrap().ends_with(".open") {
                hold_damaged(directory.path(), &history, &format!("{} cut at {end}", path.display()));
            }
        }
        fs::remove_file(path).unwrap();
        if !path.to_str().unwrap().ends_with(".open") {
            hold_damaged(directory.path(), &history, &format!("{} removed", path.display()));
        }
        fs::write(path, &good).unwrap();
    }
    hold(directory.path(), &history, 1);
}

#[test]
fn a_gap_is_one_and_what_outlived_it_is_shown() {
    let history = history(300);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    follow(&mut recorder, &history, 100);
    recorder.missing(MissingRevisions { from: 101, to: 200, reason: "compacted".to_owned() }).unwrap();
    assert_eq!(recorder.wanted_state(), Some((Revision(200), Revision(200))));
    drop(recorder);
    let mut recorder = open(directory.path());
    assert_eq!((recorder.reached(), recorder.wanted_state()), (Some(Revision(200)), Some((Revision(200), Revision(200)))));
    state(&mut recorder, &history, 200);
    follow(&mut recorder, &history, 300);
    let source = source(directory.path());
    let survivors: Vec<Event> = history
        .iter()
        .filter(|event| {
            !(101..=200).contains(&event.revision.0) || alive(&history, 200).iter().any(|entry| entry.mod_revision == event.revision)
        })
        .cloned()
        .collect();
    assert_eq!(events(&source, KeyRange::all()), survivors);
    let missing = items(&source, KeyRange::all(), 1).into_iter().filter_map(|item| match item {
        WatchItem::Gap { from, to } => Some(from.0..=to.0),
        _ => None,
    });
    let told: Vec<i64> = missing.flatten().collect();
    let expected: Vec<i64> = (101..=200).filter(|&revision| !survivors.iter().any(|event| event.revision.0 == revision)).collect();
    assert_eq!(told, expected);
    assert!(source.facts().left_out[0].ends_with("revisions 101 to 200 were not recorded: compacted"), "{:?}", source.facts().left_out);
    assert_eq!(range(&source, KeyRange::all(), 100).unwrap(), alive(&history, 100));
    assert!(matches!(range(&source, KeyRange::all(), 101), Err(Error::Compacted { oldest: Revision(200), .. })));
    assert_eq!(range(&source, KeyRange::all(), 250).unwrap(), alive(&history, 250));
}

#[test]
fn what_began_later_has_what_was_alive_then() {
    let history = history(300);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(150));
    follow(&mut recorder, &history, 300);
    let source = source(directory.path());
    let span = source.span().now_or_never().unwrap().unwrap();
    assert_eq!((span.oldest, span.compacted), (Revision(150), Some(Revision(150))));
    assert_eq!(range(&source, KeyRange::all(), 150).unwrap(), alive(&history, 150));
    assert!(matches!(range(&source, KeyRange::all(), 149), Err(Error::Compacted { oldest: Revision(150), .. })));
    let first = events(&source, KeyRange::all());
    assert_eq!(first.iter().filter(|event| event.revision.0 <= 150).count(), alive(&history, 150).len());
}

/// Writes the head of a file, and the manifest, as a recorder of the first version of the format did.
fn make_older(path: &Path) {
    for file in
        files(path, "").into_iter().filter(|file| [".changes", ".state", ".open"].iter().any(|end| file.to_str().unwrap().ends_with(end)))
    {
        let bytes = fs::read(&file).unwrap();
        let scan = Scan::of(&bytes);
        let head = &scan.chunks[0];
        let text = String::from_utf8(bytes[head.payload.clone()].to_vec()).unwrap();
        assert!(text.contains(&format!("\"format\":{FORMAT_VERSION}")), "{text}");
        let older = text.replace(&format!("\"format\":{FORMAT_VERSION}"), "\"format\":1");
        // Both numbers have one digit, so nothing moves.
        fs::write(&file, [&chunk::written(head.header, older.as_bytes())[..], &bytes[head.payload.end..]].concat()).unwrap();
    }
    let mut directory = Directory::read(path).unwrap();
    directory.files.iter_mut().for_each(|file| file.sha256.clear());
    Manifest { format: 1, ..directory.manifest() }.write(path).unwrap();
}

#[test]
fn recordings_of_the_first_version_are_read_and_go_on() {
    let history = history(900);
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = open(directory.path());
    recorder.begin_after(Revision(1));
    follow(&mut recorder, &history, 500);
    drop(recorder);
    make_older(directory.path());
    hold(directory.path(), &history[..499], 1);
    assert_eq!(source(directory.path()).arrivals(Revision(1), Revision(900)), []);
    // The file that was being written goes on as it was begun; the next one notes arrivals.
    let mut recorder = open(directory.path());
    assert_eq!((recorder.reached(), recorder.problems()), (Some(Revision(500)), &[][..]));
    recorder.arriving(UNIX_EPOCH + Duration::from_secs(7), Some(Duration::from_secs(2)));
    follow(&mut recorder, &history, 900);
    drop(recorder);
    hold(directory.path(), &history, 1);
    let arrivals = source(directory.path()).arrivals(Revision(1), Revision(900));
    let first = arrivals.first().unwrap();
    assert!(first.from > Revision(501) && arrivals.last().unwrap().to == Revision(900), "{arrivals:?}");
    assert!(arrivals.iter().all(|arrival| (arrival.time, arrival.delay) == (7_000_000, 2_000_000)));
}

#[test]
fn one_recorder_of_one_cluster_writes_to_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = open(directory.path());
    let refused = |scope: &RecordingScope| Recorder::open(directory.path(), scope, options()).map(drop).unwrap_err().to_string();
    assert!(refused(&scope()).ends_with("another ketcd record writes to it"));
    drop(recorder);
    let other = RecordingScope { cluster_id: Some("99".to_owned()), ..scope() };
    assert!(refused(&other).contains("of cluster 1234, and this is cluster 99"));
    let fewer = RecordingScope { left_out: vec!["Secrets".to_owned()], ..scope() };
    assert!(refused(&fewer).contains("of all keys, not of all keys without Secrets"));
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("notes.txt"), "mine").unwrap();
    let error = Recorder::open(foreign.path(), &scope(), options()).map(drop).unwrap_err().to_string();
    assert!(error.contains("is not a recording and holds other files (notes.txt)"), "{error}");
}

#[test]
fn what_is_not_kept_is_removed_and_the_rest_is_whole() {
    let history = history(3000);
    let directory = tempfile::tempdir().unwrap();
    let keep = RecorderOptions { keep: Some(Keep::Bytes(20_000)), ..options() };
    let mut recorder = Recorder::open(directory.path(), &scope(), keep).unwrap();
    recorder.begin_after(Revision(1));
    follow(&mut recorder, &history, 3000);
    assert!(recorder.recorded().bytes < 30_000, "{:?}", recorder.recorded());
    let source = source(directory.path());
    assert_eq!(source.facts().damage, [""; 0]);
    let oldest = source.span().now_or_never().unwrap().unwrap().oldest.0;
    assert!(oldest > 1000, "{oldest}");
    for at in (oldest..=3000).step_by(50) {
        assert_eq!(range(&source, KeyRange::all(), at).unwrap(), alive(&history, at));
    }
    let shown: Vec<Event> = events(&source, KeyRange::all()).into_iter().filter(|event| event.revision.0 > oldest).collect();
    assert_eq!(shown, history[(oldest - 1) as usize..]);
}

#[test]
fn a_question_reads_no_file_that_it_does_not_need() {
    let history = history(1500);
    let directory = recorded(&history);
    let source = source(directory.path());
    let changes = files(directory.path(), ".changes");
    // The newest state and what follows it are all that the newest revision needs.
    for path in &changes[..changes.len() - 3] {
        fs::write(path, b"").unwrap();
    }
    assert_eq!(range(&source, KeyRange::all(), 1500).unwrap(), alive(&history, 1500));
    assert_eq!(source.late_damage(), [""; 0]);
    assert!(events(&source, KeyRange::all()).len() < 1499);
    assert!(!source.late_damage().is_empty());
}

/// The SHA-256 of a complete file counts where all is to be read, whatever a question needs of it.
#[test]
fn a_changed_byte_of_a_complete_file_is_damage() {
    let directory = recorded(&history(1500));
    let path = &files(directory.path(), ".state")[0];
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
    let source = source(directory.path());
    source.read_all();
    assert!(source.late_damage().iter().any(|problem| problem.contains("SHA-256")), "{:?}", source.late_damage());
}

/// 8,760 files of an hour each, of which only the newest are there to be read.
#[test]
fn a_year_of_recordings_opens_without_being_read() {
    let history = history(200);
    let directory = recorded(&history);
    let mut manifest: Manifest = {
        let text = fs::read_to_string(directory.path().join("manifest.json")).unwrap();
        let sealed: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(sealed["recording"].clone()).unwrap()
    };
    assert_eq!(manifest.format, FORMAT_VERSION);
    for hour in 0..8760 {
        let name = name(1_000_000 + hour, FileKind::Changes);
        fs::write(directory.path().join(&name), b"not read").unwrap();
        let revision = 200 + hour as i64 * 36_000;
        let sha256 = "0".repeat(64);
        manifest.files.push(FileFacts {
            name,
            covered: vec![(revision, revision + 36_000)],
            bytes: 8,
            sha256,
            ..FileFacts::new(FileKind::Changes)
        });
    }
    manifest.write(directory.path()).unwrap();
    let source = source(directory.path());
    // Each of them would be damage.
    assert_eq!(source.facts().damage, [""; 0]);
    assert_eq!(range(&source, KeyRange::all(), 150).unwrap(), alive(&history, 150));
    assert_eq!(source.late_damage(), [""; 0]);
}

/// A follower of a server that lies about revisions hears of it: what a reader would call damage is never written.
#[test]
fn what_cannot_be_a_revision_is_not_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(directory.path(), &scope(), options()).unwrap();
    let changes = history(20);
    recorder.begin_after(Revision(1));
    changes.iter().for_each(|event| recorder.change(event).unwrap());
    for impossible in [i64::MAX, i64::MAX / 2, -1].map(Revision) {
        let lie = Event { revision: impossible, ..changes[0].clone() };
        let missing = MissingRevisions { from: 21, to: impossible.0, reason: String::new() };
        let refusals = [recorder.complete(impossible), recorder.change(&lie), recorder.pass_over(impossible), recorder.missing(missing)];
        assert!(refusals.into_iter().all(|refusal| refusal.unwrap_err().to_string().contains("cannot be a revision")));
    }
    recorder.complete(Revision(20)).unwrap();
    recorder.flush().unwrap();
    drop(recorder);
    let source = RecordingSource::open(directory.path().to_str().unwrap()).unwrap();
    assert_eq!((source.facts().damage, source.whole_span().newest), (&[][..], Revision(20)));
}
