//! Several sources as one history: each change once with all its sources, gaps reported, other clusters refused, many files opened when needed.

use std::fs;
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use ketcd_store::recording::{Recorder, RecorderOptions, RecordingScope};
use ketcd_store::{At, Error, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Until, Want, WatchItem};
use ketcd_testing::database;

use super::nights::{Nights, story};
use super::{capture, events, items, open, wait};

fn gaps(source: &dyn Source) -> Vec<(i64, i64)> {
    let gap = |item| if let WatchItem::Gap { from, to } = item { Some((from.0, to.0)) } else { None };
    items(source, KeyRange::all()).into_iter().filter_map(gap).collect()
}

/// The names of the sources that have a change.
fn sources(event: &Event) -> Vec<&str> {
    event.sources.names().iter().map(|name| &**name).collect()
}

fn alive(source: &dyn Source, at: i64) -> Vec<KeyValue> {
    super::alive(source, At::Revision(Revision(at)))
}

/// A history that goes another way from a revision on, as that of a cluster which was restored from a snapshot does.
fn restored(story: &[Event], after: i64) -> Vec<Event> {
    let mut told: Vec<Event> = story.iter().filter(|event| event.revision.0 <= after).cloned().collect();
    let mut versions: std::collections::BTreeMap<Vec<u8>, KeyValue> = std::collections::BTreeMap::new();
    for event in &told {
        match event.kind {
            EventKind::Put => drop(versions.insert(event.key_value.key.to_vec(), event.key_value.clone())),
            EventKind::Delete => drop(versions.remove(&event.key_value.key[..])),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    let keys: Vec<KeyValue> = versions.into_values().filter(|version| version.key.starts_with(b"/registry/configmaps/")).collect();
    for (step, version) in (1..=400_i64).zip(keys.iter().cycle()) {
        let revision = Revision(after + step);
        let key_value = KeyValue {
            mod_revision: revision,
            version: version.version + 1 + (step - 1) / keys.len() as i64,
            value: format!("restored {step}").into(),
            ..version.clone()
        };
        told.push(Event { revision, sub_revision: 0, kind: EventKind::Put, key_value, origin: Origin::Db, sources: Default::default() });
    }
    told
}

#[test]
fn overlapping_snapshots_are_one_history_with_all_their_names() {
    let nights = Nights::new();
    let (one, two) = (nights.night("one.db", 1100, None), nights.night("two.db", 1787, Some(900)));
    for files in [[&*one, &*two], [&two, &one]] {
        let both = open(&files).unwrap();
        assert_eq!(events(&*both), nights.story);
        assert_eq!(gaps(&*both), []);
        assert_eq!((both.damage(), both.left_out()), (&[][..], &[][..]));
        for revision in [2, 500, 899, 900, 1000, 1100, 1101, 1787] {
            let whole = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
            assert_eq!(alive(&*both, revision), alive(&*whole, revision), "{revision}");
        }
    }
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    for event in events(&*open(&[Path::new(one), Path::new(two)]).unwrap()) {
        let (revision, sources) = (event.revision.0, sources(&event));
        match revision {
            901..=1100 => assert_eq!(sources, [one, two], "{revision}"),
            1101.. => assert_eq!(sources, [two], "{revision}"),
            _ => assert!(sources == [one] || sources == [one, two], "{revision}: {sources:?}"),
        }
        assert_eq!(event.origin, Origin::Db);
    }
    assert!(events(&*open(&[Path::new(one)]).unwrap()).iter().all(|event| event.sources.names().is_empty()));
}

#[test]
fn what_no_source_has_is_reported() {
    let nights = Nights::new();
    let (one, two) = (nights.night("one.db", 1100, None), nights.night("two.db", 1787, Some(1238)));
    let files = [&*one, &*two];
    let both = open(&files).unwrap();
    let (one_name, two_name) = (one.to_str().unwrap(), two.to_str().unwrap());
    let gap = format!("revisions 1101 to 1237 are in none of the sources: {one_name} ends with 1100, {two_name} begins with 1238");
    assert_eq!(both.left_out(), std::slice::from_ref(&gap));
    assert_eq!(both.late_damage(), Vec::<String>::new());
    // What is left of the time between them is shown, and the rest is a gap.
    let told = events(&*both);
    let missing: Vec<i64> = gaps(&*both).into_iter().flat_map(|(from, to)| from..=to).collect();
    assert!(missing.len() > 50 && missing.iter().all(|revision| (1101..=1238).contains(revision)), "{missing:?}");
    let has_all = (2..=1787).all(|revision| missing.contains(&revision) != told.iter().any(|event| event.revision.0 == revision));
    assert!(has_all);
    assert!(told.iter().all(|event| nights.story.iter().any(|truth| truth == event)));
    let passed = "changes of revisions 1101 to 1237 were read past and are missing: none of the sources has them";
    assert_eq!(both.late_damage(), [passed]);
    let between = wait(both.range(KeyRange::all(), At::Revision(Revision(1150)), Want::Keys)).err().unwrap();
    assert!(matches!(between, Error::Between { .. }), "{between}");
}

#[test]
fn a_restored_cluster_is_refused_with_the_first_revision_that_differs() {
    let nights = Nights::new();
    let origin = nights.night("origin.db", 1100, None);
    let other = restored(&nights.story, 1000);
    // With revisions in common, and without: then what the newer one kept contradicts the older one.
    for (name, newest, compacted) in [("common.db", 1350, Some(1050)), ("whole.db", 1350, None), ("apart.db", 1390, Some(1380))] {
        let file = nights.write(name, &other, newest, compacted, false);
        for files in [[&*origin, &*file], [&file, &origin]] {
            let error = open(&files).err().unwrap().to_string();
            assert!(error.contains("these are not from one etcd cluster"), "{name}: {error}");
            let is_fork = error.contains("they agree up to revision 1000 and differ after it") && error.contains("ketcd diff ");
            assert_eq!(is_fork, name == "whole.db", "{name}: {error}");
            assert!(error.contains("origin.db") && error.contains(name) && error.contains("SHA-256 "), "{name}: {error}");
            let revision = match name {
                "common.db" => "they disagree about revision 1051: ",
                "whole.db" => "they disagree about revision 1001: ",
                _ => "they disagree about ",
            };
            assert!(error.contains(revision), "{name}: {error}");
        }
    }
    // A snapshot of the same cluster long after.
    let later = nights.night("later.db", 1787, Some(1700));
    assert!(open(&[&origin, &later]).is_ok());
}

#[test]
fn sources_that_share_nothing_are_reported() {
    let nights = Nights::new();
    let early: Vec<Event> = nights.story.iter().filter(|event| event.revision.0 <= 40).cloned().collect();
    let one = nights.write("one.db", &early, 40, None, false);
    let only_new: Vec<Event> =
        nights.story.iter().filter(|event| event.key_value.create_revision.0 > 60 || event.revision.0 > 1700).cloned().collect();
    let other = nights.write("other.db", &only_new, 1787, Some(1700), false);
    let both = open(&[&one, &other]).unwrap();
    let said = both.left_out();
    let is_it = |sentence: &&String| {
        sentence.starts_with("cannot tell that ") && sentence.ends_with("from one cluster: they have no change in common")
    };
    assert!(said.iter().any(|sentence| is_it(&sentence)), "{said:?}");
}

/// The tree of a copy that was cut short reaches nothing, so all that is left of it was recovered.
#[test]
fn a_copy_that_was_cut_short_agrees_or_is_called_damaged() {
    let nights = Nights::new();
    let whole = nights.night("whole.db", 1787, None);
    let cut = nights.path("cut.db");
    let bytes = fs::read(&whole).unwrap();
    for share in [3, 2] {
        fs::write(&cut, &bytes[..bytes.len() / share]).unwrap();
        for files in [[&*whole, &*cut], [&cut, &whole]] {
            let both = open(&files).unwrap();
            let said: Vec<&String> = both
                .left_out()
                .iter()
                .filter(|sentence| sentence.contains("cannot tell") || sentence.contains("recovered of it"))
                .collect();
            let wanted = format!("{} is damaged; what could be recovered of it agrees with {}", cut.display(), whole.display());
            assert_eq!(said, [&wanted]);
        }
    }
    // Its values are of another cluster.
    let other = open(&[&cut, &capture("k136-story/snapshot.db.zst")]).unwrap();
    let said = other.left_out();
    let is_it = |sentence: &String| {
        sentence.starts_with("cannot tell that ")
            && sentence.ends_with(&format!("{} is damaged, and nothing certain of it could be compared", cut.display()))
    };
    assert!(said.iter().any(is_it), "{said:?}");
}

#[test]
fn free_pages_of_more_than_sixteen_files_are_all_read() {
    let nights = Nights::new();
    // Each compaction removed what only the free pages of the next file still have.
    let ends: Vec<i64> = (1..=20).map(|night| 80 * night).collect();
    let files: Vec<PathBuf> =
        ends.iter().map(|&end| nights.write(&format!("night{end}.db"), &nights.story, end, Some(end - 10), true)).collect();
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let all = open(&paths).unwrap();
    let told = events(&*all);
    let truth: Vec<&Event> = nights.story.iter().filter(|event| event.revision.0 <= 1600).collect();
    assert_eq!(told.len(), truth.len());
    for (event, truth) in told.iter().zip(truth) {
        assert_eq!((event.revision, event.sub_revision, &event.key_value), (truth.revision, truth.sub_revision, &truth.key_value));
        assert!(!event.sources.names().is_empty());
    }
    assert!(told.iter().any(|event| event.origin == Origin::FreePage));
    assert_eq!(gaps(&*all), []);
    // More than are read at once: each is opened when a question needs it.
    let span = wait(all.span()).unwrap();
    assert_eq!((span.oldest, span.newest), (Revision(70), Revision(1600)));
    let state = alive(&*all, 795);
    let whole = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    assert_eq!(state, alive(&*whole, 795));
}

/// A page of one file is lost; another file, of some of its revisions, has what was in it.
#[test]
fn what_a_damaged_file_lacks_comes_from_another() {
    let nights = Nights::new();
    let mut damaged = database!(&nights.story, 1787, None, false);
    damaged[40 * 4096..41 * 4096].fill(0);
    let one = nights.path("damaged.db");
    fs::write(&one, damaged).unwrap();
    let lost: Vec<i64> = gaps(&*open(&[&one]).unwrap()).into_iter().flat_map(|(from, to)| from..=to).collect();
    assert!(!lost.is_empty() && lost[0] > 20, "{lost:?}");
    let two = nights.night("two.db", lost[lost.len() - 1] + 300, Some(lost[0] - 20));
    let whole = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    for files in [[&*one, &*two], [&two, &one]] {
        let both = open(&files).unwrap();
        assert!(!both.damage().is_empty() && both.damage().iter().all(|problem| problem.contains("damaged.db")), "{:?}", both.damage());
        assert_eq!((events(&*both), gaps(&*both)), (nights.story.clone(), vec![]));
        for revision in [lost[0] - 1, lost[0], lost[lost.len() - 1] + 10, 1500, 1787] {
            assert_eq!(alive(&*both, revision), alive(&*whole, revision), "{revision}");
        }
    }
    // What it lost does not contradict the others.
    let mut early = database!(&nights.story, 1100, None, false);
    early[40 * 4096..41 * 4096].fill(0);
    let early = (nights.path("early.db"), early);
    fs::write(&early.0, early.1).unwrap();
    let later = nights.night("later.db", 1787, Some(1700));
    let both = open(&[&early.0, &later]).unwrap();
    assert!(both.left_out().iter().all(|sentence| sentence.contains("in none of the sources")), "{:?}", both.left_out());
}

/// A recording of a part of the recorded cluster's history.
fn recording(nights: &Nights, name: &str, after: i64, upto: i64, cluster_id: &str) -> PathBuf {
    let directory = nights.path(name);
    let scope = RecordingScope { cluster_id: Some(cluster_id.to_owned()), ..RecordingScope::default() };
    let mut recorder = Recorder::open(&directory, &scope, RecorderOptions::default()).unwrap();
    let whole = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    recorder.begin_after(Revision(after));
    recorder.begin_state(Revision(after)).unwrap();
    alive(&*whole, after).iter().for_each(|entry| recorder.state_entry(entry).unwrap());
    recorder.end_state().unwrap();
    for event in nights.story.iter().filter(|event| (after + 1..=upto).contains(&event.revision.0)) {
        recorder.change(event).unwrap();
        recorder.complete(event.revision).unwrap();
    }
    recorder.flush().unwrap();
    directory
}

#[test]
fn a_recording_fills_what_snapshots_lack() {
    let nights = Nights::new();
    let (one, two) = (nights.night("one.db", 1100, None), nights.night("two.db", 1787, Some(1238)));
    let rec = recording(&nights, "rec", 1050, 1300, "77");
    for files in [[&*one, &*two, &*rec], [&rec, &two, &one]] {
        let all = open(&files).unwrap();
        assert_eq!((all.damage(), all.left_out()), (&[][..], &[][..]));
        assert_eq!(
            events(&*all).iter().map(|event| &event.key_value).collect::<Vec<_>>(),
            nights.story.iter().map(|event| &event.key_value).collect::<Vec<_>>()
        );
        assert_eq!(gaps(&*all), []);
        let whole = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
        assert_eq!(alive(&*all, 1150), alive(&*whole, 1150));
    }
    let all = events(&*open(&[&one, &two, &rec]).unwrap());
    let recorded: Vec<&Event> = all.iter().filter(|event| sources(event) == [rec.to_str().unwrap()]).collect();
    assert!(!recorded.is_empty() && recorded.iter().all(|event| event.origin == Origin::Recording));
    // Another cluster's, by its id and by what it says.
    let other = recording(&nights, "other", 1050, 1300, "78");
    let error = open(&[&rec, &other]).err().unwrap().to_string();
    assert!(error.contains("rec is of cluster 77, ") && error.contains("other of cluster 78"), "{error}");
    let fork = nights.write("fork.db", &restored(&nights.story, 1060), 1300, None, false);
    let error = open(&[&rec, &fork]).err().unwrap().to_string();
    assert!(error.contains("they disagree about revision 1061: "), "{error}");
}

#[test]
fn data_dirs_of_different_clusters_are_refused_by_their_ids() {
    let (one, two) = (capture("k120-story/member.tar.zst"), capture("k136-story/member.tar.zst"));
    let error = open(&[&one, &two]).err().unwrap().to_string();
    assert!(error.contains("these are not from one etcd cluster") && error.matches(" of cluster ").count() == 2, "{error}");
    // A member's data dir, and a snapshot of its cluster.
    let snapshot = capture("k120-story/compacted.db.zst");
    let both = open(&[&one, &snapshot]).unwrap();
    assert_eq!(events(&*both).len(), story().len());
    let kine = capture("k136-kine");
    let database = fs::read_dir(&kine).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.to_string_lossy().contains(".db"));
    let Some(database) = database else { panic!("no kine database in {}", kine.display()) };
    let error = open(&[&database, &snapshot]).err().unwrap().to_string();
    assert!(error.contains("these are not from one etcd cluster"), "{error}");
}

#[test]
fn a_copy_with_another_value_is_a_conflict_with_both_digests() {
    let nights = Nights::new();
    let one = nights.night("one.db", 1787, None);
    let mut other = nights.story.clone();
    let place = other.iter().position(|event| event.kind == EventKind::Put && event.revision.0 > 1200).unwrap();
    other[place].key_value.value = "another".into();
    let (revision, key) = (other[place].revision, String::from_utf8_lossy(&other[place].key_value.key).into_owned());
    let two = nights.write("two.db", &other, 1787, None, false);
    // What both have is compared when it is read.
    let both = open(&[&one, &two]).unwrap();
    let read = wait(both.watch(KeyRange::all(), Revision(1), Until::Forever).try_collect::<Vec<_>>());
    let said = read.unwrap_err().to_string();
    assert!(said.contains(&format!("they disagree about revision {revision}: ")), "{said}");
    assert!(said.matches(&format!("has {key} (SHA-256 ")).count() == 2, "{said}");
    assert!(said.contains("one.db") && said.contains("two.db"), "{said}");
}
