//! Databases read whole: every change, what compaction leaves, ranges as the changes folded, and files of a running etcd.

use std::io::Write;

use futures_util::StreamExt;
use ketcd_store::{At, Error, Event, EventKind, KeyRange, Origin, Revision, RevisionSpan, Want, WatchItem, load};
use sha2::{Digest, Sha256};

use super::{alive, capture, decompressed, events, events_of, items, open, open_file, status, wait};

/// The digest of one line a change, each with all that is known of it.
fn digest(events: &[Event]) -> String {
    let mut all = Sha256::new();
    for event in events {
        let kv = &event.key_value;
        let kind = match event.kind {
            EventKind::Delete => "DELETED",
            EventKind::Put if kv.version > 1 => "MODIFIED",
            EventKind::Put => "ADDED",
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        let value: String = Sha256::digest(&kv.value).iter().map(|byte| format!("{byte:02x}")).take(8).collect();
        let line = format!(
            "{{\"rev\": {}, \"sub\": {}, \"key\": \"{}\", \"type\": \"{kind}\", \"version\": {}, \"create\": {}, \"size\": {}, \"sha\": \"{value}\"}}\n",
            event.revision,
            event.sub_revision,
            std::str::from_utf8(&kv.key).unwrap(),
            kv.version,
            kv.create_revision.0,
            kv.value.len(),
        );
        all.update(line);
    }
    all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digests were made by another reader of the format, in another language.
#[test]
fn every_change_of_a_database_is_read() {
    let table = [
        ("k120-story/snapshot.db.zst", 1786, 1, None, "a1d9af509c160833e0d9a5059666ac1473c600616ad0375ad7b3bc9dafbf7899"),
        (
            "k120-story/compacted.db.zst",
            1255,
            1072,
            Some(Revision(1072)),
            "108a8673de9754585d4e0ae02852d42ccd5bb2e2940db3fef37764da248b6e19",
        ),
    ];
    for (name, changes, oldest, compacted, wanted) in table {
        let source = open(&[&capture(name)]).unwrap();
        let span = RevisionSpan { oldest: Revision(oldest), newest: Revision(1787), compacted };
        assert_eq!(wait(source.span()).unwrap(), span, "{name}");
        let mut events = events(&*source);
        events.retain(|event| event.origin == Origin::Db);
        assert_eq!(events.len(), changes, "{name}");
        assert_eq!(digest(&events), wanted, "{name}");
        let status = status(&*source);
        assert_eq!(status.problems, Vec::<String>::new(), "{name}");
        assert_eq!(status.in_use_bytes + status.free_bytes, status.file_bytes, "{name}");
    }
}

#[test]
fn compaction_leaves_gaps_that_are_reported() {
    let source = open(&[&capture("k120-story/compacted.db.zst")]).unwrap();
    let mut expected = 2;
    for item in items(&*source, KeyRange::all()) {
        match item {
            WatchItem::Event(event) => {
                assert!(event.revision == Revision(expected) || event.revision == Revision(expected - 1), "unannounced gap at {expected}");
                expected = event.revision.0 + 1;
            }
            WatchItem::Gap { from, to } => {
                assert!(from == Revision(expected) && to >= from && to < Revision(1072), "{from} {to}");
                expected = to.0 + 1;
            }
            WatchItem::Progress(revision) => assert_eq!(revision, Revision(1787)),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    assert_eq!(expected, 1788);
    let asked = At::Revision(Revision(1071));
    let refused = wait(source.range(KeyRange::all(), asked, Want::Keys)).err().unwrap();
    assert!(matches!(refused, Error::Compacted { asked: Revision(1071), oldest: Revision(1072), .. }), "{refused}");
    assert!(wait(source.range(KeyRange::all(), At::Revision(Revision(1072)), Want::Keys)).is_ok());
    let refused = wait(source.range(KeyRange::all(), At::Revision(Revision(1788)), Want::Keys)).err().unwrap();
    assert!(matches!(refused, Error::Future { asked: Revision(1788), newest: Revision(1787) }), "{refused}");
}

/// The free pages of a compacted file are held against the file before its compaction.
#[test]
fn what_compaction_removed_is_found_in_free_pages_and_true() {
    let key = |event: &Event| (event.revision, event.sub_revision);
    let full: std::collections::HashMap<_, _> =
        events(&*open(&[&capture("k120-story/snapshot.db.zst")]).unwrap()).into_iter().map(|event| (key(&event), event)).collect();
    let source = open(&[&capture("k120-story/compacted.db.zst")]).unwrap();
    let mut recovered = 0;
    for event in events(&*source) {
        let truth = &full[&key(&event)];
        assert_eq!((event.kind, &event.key_value), (truth.kind, &truth.key_value));
        recovered += u64::from(event.origin == Origin::FreePage);
    }
    assert_eq!(recovered, 505);
    assert_eq!(status(&*source).recoverable_freepage, recovered);
    // They hold the past only: a key whose last change came back from there is not alive.
    let full = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    assert_eq!(alive(&*source, At::Newest), alive(&*full, At::Newest));
}

/// Ranges at every revision equal the changes folded up to it, for all keys and for a few.
#[test]
fn a_range_is_the_fold_of_the_changes_before_it() {
    let source = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    for keys in [KeyRange::all(), KeyRange::prefix("/registry/pods/"), KeyRange::key("/registry/pods/lab/ubuntu"), KeyRange::prefix("/zzz")]
    {
        let mut alive = std::collections::BTreeMap::new();
        let mut changes = events_of(&*source, keys.clone()).into_iter().peekable();
        for revision in 1..=1787 {
            while let Some(event) = changes.next_if(|event| event.revision.0 <= revision) {
                match event.kind {
                    EventKind::Put => alive.insert(event.key_value.key.clone(), event.key_value),
                    EventKind::Delete => alive.remove(&event.key_value.key),
                    #[cfg(not(ketcd_exhaustive))]
                    _ => unreachable!("of another version"),
                };
            }
            if revision % 97 != 0 && revision != 1787 {
                continue;
            }
            let listing = wait(source.range(keys.clone(), At::Revision(Revision(revision)), Want::Values)).unwrap();
            assert_eq!(listing.revision, Revision(revision));
            let listed: Vec<_> = wait(listing.entries.map(Result::unwrap).collect());
            assert_eq!(listed, alive.values().cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_watch_of_some_keys_is_the_watch_of_all_with_others_left_out() {
    let source = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    let all = events(&*source);
    for keys in [KeyRange::prefix("/registry/pods/"), KeyRange::prefix("/registry/pods/lab/"), KeyRange::key("/registry/minions/node1")] {
        let wanted: Vec<_> = all.iter().filter(|event| keys.contains(&event.key_value.key)).cloned().collect();
        assert!(!wanted.is_empty());
        assert_eq!(events_of(&*source, keys), wanted);
    }
}

#[test]
fn gzip_is_read_too() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    let source = open_file(&packed.finish().unwrap()).unwrap();
    assert_eq!(events(&*source).len(), 1786);
}

/// A running etcd holds an exclusive lock on its file; an etcd that starts would wait for ours.
#[test]
fn the_file_of_a_running_etcd_is_read_and_never_locked() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    file.as_file().lock().unwrap();
    let source = open(&[file.path()]).unwrap();
    assert_eq!(events(&*source).len(), 1786);
    assert_eq!(status(&*source).problems, Vec::<String>::new());

    let mut stopped = tempfile::NamedTempFile::new().unwrap();
    stopped.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    let _source = open(&[stopped.path()]).unwrap();
    assert!(stopped.as_file().try_lock().is_ok(), "the file is still locked");
}

#[test]
fn opening_counts_the_bytes_of_pages_as_they_are_read() {
    let plain = decompressed("k120-story/snapshot.db.zst");
    let pages = plain.len() as u64 / 4096 * 4096;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&plain).unwrap();
    for path in [file.path().to_owned(), capture("k120-story/snapshot.db.zst")] {
        let progress = load::OpeningProgress::counting();
        assert_eq!(progress.bytes(), None, "nothing is open yet");
        let limits = load::Limits { progress: progress.clone(), ..load::Limits::default() };
        load::open_within(&[path.to_str().unwrap().to_owned()], &limits, &|_| None).unwrap();
        let (done, all) = progress.bytes().unwrap();
        assert_eq!(all, pages, "{}", path.display());
        // All but the meta pages, which are read before.
        assert!(done > all / 10 * 9 && done <= all, "{}: {done} of {all}", path.display());
    }
}
