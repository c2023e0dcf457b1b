//! The recorded databases of a cluster on kine.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use bytes::Bytes;
use ketcd_store::{EventKind, Origin, Revision, RevisionSpan, SourceKind, load};

use super::{alive, decompressed, events, killed, open, wait};
use ketcd_testing::data_dir::data_dir;

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

/// SQLite would undo the transaction that the journal belongs to, and write the database for it.
#[test]
fn a_rollback_journal_beside_it_is_a_doubt() {
    let directory = data_dir("k136-kine/killed.tar.zst");
    let (file, journal) = (directory.path().join("state.db"), directory.path().join("state.db-journal"));
    fs::write(&journal, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0\0\0\x01").unwrap();
    let source = open(&file).unwrap();
    assert!(source.damage().iter().any(|said| said.contains("there is a rollback journal next to it")), "{:?}", source.damage());
    // Where a transaction ended the journal's header is overwritten with zeros.
    fs::write(&journal, [0; 512]).unwrap();
    assert_eq!(open(&file).unwrap().damage(), &[] as &[String]);
}

/// SQLite reads a log up to its last whole transaction and says nothing of the rest; its index of the log says how much there was.
#[test]
fn a_log_that_ends_early_is_told() {
    const FRAME_BYTES: usize = 24 + 4096;
    /// The frames that the last process had committed.
    const COMMITTED_FRAMES: usize = 173;
    let directory = data_dir("k136-kine/killed.tar.zst");
    let [file, log, index] = ["state.db", "state.db-wal", "state.db-shm"].map(|name| directory.path().join(name));
    let whole = fs::read(&log).unwrap();
    // What is damaged, and what is left out.
    let told = |length: usize| {
        fs::write(&log, &whole[..length]).unwrap();
        let source = open(&file).unwrap();
        (source.damage().join("; "), source.left_out().join("; "))
    };
    // What lies behind the last transaction is of earlier ones.
    for length in [
        whole.len(),
        32 + (COMMITTED_FRAMES + 7) * FRAME_BYTES,
        32 + COMMITTED_FRAMES * FRAME_BYTES + 100,
        32 + COMMITTED_FRAMES * FRAME_BYTES,
    ] {
        assert_eq!(told(length), (String::new(), String::new()), "{length}");
    }
    for length in [0, 32, 32 + 100 * FRAME_BYTES, 32 + (COMMITTED_FRAMES - 1) * FRAME_BYTES, 32 + COMMITTED_FRAMES * FRAME_BYTES - 1] {
        let (damage, _) = told(length);
        assert!(damage.contains("state.db-shm says that 173 frames were committed to it"), "{length}: {damage}");
    }
    fs::remove_file(&log).unwrap();
    let damage = open(&file).unwrap().damage().join("; ");
    assert!(damage.contains("state.db-wal is cut short or damaged"), "{damage}");
    // Without that index nothing shows whether a transaction was finished.
    fs::remove_file(&index).unwrap();
    let (damage, left_out) = told(32 + COMMITTED_FRAMES * FRAME_BYTES - 1);
    let wanted = "bytes behind its last whole transaction: one that was never finished, or the file was cut short";
    assert!(damage.is_empty() && left_out.contains(wanted), "{damage} {left_out}");
    let (damage, left_out) = told(32);
    assert!(damage.is_empty() && left_out.contains("state.db-wal holds no transaction"), "{damage} {left_out}");
    assert_eq!(told(32 + COMMITTED_FRAMES * FRAME_BYTES), (String::new(), String::new()));
}
