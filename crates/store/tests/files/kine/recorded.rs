//! The recorded databases of a cluster on kine.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use bytes::Bytes;
use ketcd_store::{EventKind, Origin, Revision, RevisionSpan, SourceKind, load};

use super::{alive, decompressed, events, killed, open, wait};

/// What a compaction removed is held against the same cluster before it.
#[test]
fn compacted_rows_come_back_from_the_rows_that_replaced_them_and_from_free_pages() {
    let (database, log) = killed();
    let whole = load::open_kine("state.db", database.into(), log.into()).unwrap();
    assert_eq!(whole.damage(), &[] as &[String]);
    assert_eq!(wait(whole.span()).unwrap(), RevisionSpan { oldest: Revision(1), newest: Revision(3036), compacted: None });
    let truth: HashMap<_, _> = events(&*whole).into_iter().map(|event| (event.revision, event)).collect();
    assert_eq!(truth.len(), 3035);
    assert!(truth.values().all(|event| event.origin == Origin::Db && (event.key_value.version > 0) == (event.kind == EventKind::Put)));

    let bytes = Bytes::from(decompressed("compacted.db.zst"));
    let compacted = load::open_bytes("compacted.db", bytes, &load::Limits::default(), &|_| None).unwrap();
    assert_eq!(compacted.damage(), &[] as &[String]);
    let span = RevisionSpan { oldest: Revision(1800), newest: Revision(3036), compacted: Some(Revision(1800)) };
    assert_eq!(wait(compacted.span()).unwrap(), span);
    let mut found: BTreeMap<Origin, usize> = BTreeMap::new();
    for event in events(&*compacted) {
        let (shown, truth) = (&event.key_value, &truth[&event.revision]);
        assert_eq!(
            (event.kind, &shown.key, &shown.value),
            (truth.kind, &truth.key_value.key, &truth.key_value.value),
            "{}",
            event.revision
        );
        assert_eq!(shown.create_revision, truth.key_value.create_revision, "{}", event.revision);
        // Versions are not numbered where the first is gone; a value that a later row kept has lost its lease.
        assert!([0, truth.key_value.version].contains(&shown.version) && [0, truth.key_value.lease].contains(&shown.lease), "{event:?}");
        *found.entry(event.origin).or_default() += 1;
    }
    assert_eq!(found, BTreeMap::from([(Origin::Db, 2125), (Origin::OldValue, 143), (Origin::FreePage, 636)]));
    let status = wait(compacted.status()).unwrap();
    assert_eq!((status.kind, status.recoverable_old_value, status.recoverable_freepage), (SourceKind::Kine, 143, 636));
    let bytes = |source| alive(source).into_iter().map(|entry| (entry.key, entry.value, entry.mod_revision)).collect::<Vec<_>>();
    assert_eq!(bytes(&*compacted), bytes(&*whole));
}

/// Each version that has one before it says so, whether or not it has a number.
#[test]
fn versions_without_numbers_follow_each_other() {
    let bytes = Bytes::from(decompressed("compacted.db.zst"));
    let source = load::open_bytes("compacted.db", bytes, &load::Limits::default(), &|_| None).unwrap();
    let mut last = HashMap::new();
    let (mut unnumbered, mut following) = (0, 0);
    for event in events(&*source).into_iter().filter(|event| event.kind == EventKind::Put && event.revision > Revision(1800)) {
        let now = event.key_value;
        unnumbered += u32::from(now.version == 0);
        following += u32::from(last.insert(now.key.clone(), now.clone()).is_some_and(|before| now.follows(&before)));
    }
    assert!(unnumbered > 800 && following > 800, "{unnumbered} {following}");
}

#[test]
fn a_directory_of_k3s_is_read_and_left_as_it_is() {
    let (database, log) = killed();
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("server/db");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("state.db"), &database).unwrap();
    fs::write(folder.join("state.db-wal"), &log).unwrap();
    for place in ["", "server", "server/db", "server/db/state.db"] {
        let source = open(&directory.path().join(place)).unwrap();
        assert_eq!((source.damage(), events(&*source).len()), (&[][..], 3035), "{place}");
    }
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["state.db", "state.db-wal"]);
    assert!(fs::read(folder.join("state.db")).unwrap() == database && fs::read(folder.join("state.db-wal")).unwrap() == log);

    // Without the log the database is as it was when it was last written back, which is a whole state.
    fs::remove_file(folder.join("state.db-wal")).unwrap();
    let older = open(&folder).unwrap();
    assert!(wait(older.span()).unwrap().newest < Revision(3036) && older.damage().is_empty());

    // The log alone has pages of its transactions.
    fs::remove_file(folder.join("state.db")).unwrap();
    fs::write(folder.join("state.db-wal"), &log).unwrap();
    let newest = open(&folder).unwrap();
    assert!(events(&*newest).len() > 100 && !newest.damage().is_empty());
}
