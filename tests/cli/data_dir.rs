//! Data dirs: database and write-ahead log together, whole, damaged and cut; and several files as one history.

#[path = "../support/data_dir.rs"]
mod unpack;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::StreamExt;
use ketcd_store::{At, Error, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, SourceStatus, Until, Want, WatchItem, load};
use serde_json::Value;
use sha2::{Digest, Sha256};
use unpack::data_dir;

const WAL: &str = "member/wal/0000000000000000-0000000000000000.wal";

fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name)
}

fn decompressed(name: &str) -> Vec<u8> {
    zstd::decode_all(fs::File::open(capture(name)).unwrap()).unwrap()
}

/// Puts another file in a file's place; the old one may still be mapped.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(new, path).unwrap();
}

fn open(paths: &[&Path]) -> Result<Box<dyn Source>, Error> {
    let paths: Vec<String> = paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    load::open(&paths, &|_| None)
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn events(source: &dyn Source) -> Vec<Event> {
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>();
    wait(items).into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect()
}

fn alive(source: &dyn Source, at: At) -> Vec<KeyValue> {
    wait(async { source.range(KeyRange::all(), at, Want::Values).await.unwrap().entries.map(Result::unwrap).collect().await })
}

fn status(source: &dyn Source) -> SourceStatus {
    wait(source.status()).unwrap()
}

fn sha(value: &[u8]) -> String {
    Sha256::digest(value).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A member killed while its API server compacted every 30 s: what a watcher beside it saw is all there.
#[test]
fn the_log_gives_back_what_was_compacted_and_what_the_database_did_not_have_yet() {
    let directory = data_dir("k136-live/member.tar.zst");
    let source = open(&[directory.path()]).unwrap();
    let events = events(&*source);
    let ours: HashMap<(i64, &str), Option<String>> = events
        .iter()
        .map(|event| {
            let value = (event.kind == EventKind::Put).then(|| sha(&event.key_value.value));
            ((event.revision.0, std::str::from_utf8(&event.key_value.key).unwrap()), value)
        })
        .collect();
    let mut seen = 0;
    for line in decompressed("k136-live/times.jsonl.zst").split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let change: Value = serde_json::from_slice(line).unwrap();
        let value = ours[&(change["rev"].as_i64().unwrap(), change["key"].as_str().unwrap())].as_deref();
        assert_eq!(value, change["sha"].as_str(), "{change}");
        seen += 1;
    }
    assert_eq!(seen, 2106);
    let status = status(&*source);
    assert_eq!((status.problems, status.cluster_id.as_deref()), (vec![], Some("5d84e036f4f56740")));
    assert_eq!(status.recoverable_wal as usize, events.iter().filter(|event| event.origin == Origin::Wal).count());
    // What etcd itself made of the same files.
    let after = open(&[&capture("k136-live/after.db.zst")]).unwrap();
    assert_eq!(alive(&*source, At::Newest), alive(&*after, At::Newest));
    assert!(wait(source.range(KeyRange::all(), At::Revision(Revision(2)), Want::Keys)).is_ok(), "the log reaches back to the beginning");
}

#[test]
fn a_log_and_its_database_show_each_change_once() {
    let directory = data_dir("k120-story/member.tar.zst");
    let snapshot = open(&[&capture("k120-story/snapshot.db.zst")]).unwrap();
    assert_eq!(events(&*open(&[directory.path()]).unwrap()), events(&*snapshot));
    // The member directory itself will do, and so will a database without a log.
    assert_eq!(events(&*open(&[&directory.path().join("member")]).unwrap()), events(&*snapshot));
    fs::remove_dir_all(directory.path().join("member/wal")).unwrap();
    let source = open(&[directory.path()]).unwrap();
    assert_eq!(events(&*source), events(&*snapshot));
    assert_eq!(status(&*source).problems, ["member/wal holds no entries, so only the database is shown"]);
}

/// The frames of the log's records: kind, data.
fn records(log: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (mut at, mut records) = (0, Vec::new());
    loop {
        let frame = u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
        if frame == 0 {
            return records;
        }
        let length = (frame & ((1 << 56) - 1)) as usize;
        let record = Record::decode(&log[at + 8..at + 8 + length]);
        records.push((record.kind, record.data));
        at += 8 + length + if frame >> 63 == 1 { (frame >> 56 & 7) as usize } else { 0 };
    }
}

#[derive(Clone, PartialEq, prost::Message)]
struct Record {
    #[prost(uint64, tag = "1")]
    kind: u64,
    #[prost(uint32, tag = "2")]
    crc: u32,
    #[prost(bytes = "vec", tag = "3")]
    data: Vec<u8>,
}

impl Record {
    fn decode(bytes: &[u8]) -> Self {
        prost::Message::decode(bytes).unwrap()
    }
}

/// A log file of these records, framed and chained anew.
fn log_of(records: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let (mut log, mut crc) = (Vec::new(), 0);
    for (kind, data) in records {
        crc = crc32c::crc32c_append(crc, data);
        let mut record = prost::Message::encode_to_vec(&Record { kind: *kind, crc, data: data.clone() });
        let padding = record.len().next_multiple_of(8) - record.len();
        let frame = record.len() as u64 | if padding > 0 { (0x80 | padding as u64) << 56 } else { 0 };
        record.resize(record.len() + padding, 0);
        log.extend(frame.to_le_bytes());
        log.extend(record);
    }
    log.resize(log.len() + 4096, 0);
    log
}

/// Old files of a log are removed in time: then it only continues the database.
#[test]
fn a_log_that_begins_later_continues_the_database() {
    let directory = data_dir("k136-story/member.tar.zst");
    let whole = open(&[directory.path()]).unwrap();
    // A database of a little earlier.
    replace(&directory.path().join("member/snap/db"), &decompressed("k136-story/snapshot.db.zst"));
    let last_of_db = wait(open(&[&capture("k136-story/snapshot.db.zst")]).unwrap().span()).unwrap().newest;
    assert_eq!(last_of_db, Revision(3190));
    let wal = directory.path().join(WAL);
    let records = records(&fs::read(&wal).unwrap());
    let entries = records.iter().filter(|record| record.0 == 2).count();
    let mut dropped = 0;
    let kept: Vec<_> = records
        .into_iter()
        .filter(|(kind, _)| {
            *kind != 2 || {
                dropped += 1;
                dropped > entries / 3
            }
        })
        .collect();
    replace(&wal, &log_of(&kept));
    let source = open(&[directory.path()]).unwrap();
    assert_eq!(status(&*source).problems, Vec::<String>::new());
    assert_eq!(wait(source.span()).unwrap().newest, Revision(3201));
    for at in [last_of_db, Revision(3195), Revision(3201)] {
        assert_eq!(alive(&*source, At::Revision(at)), alive(&*whole, At::Revision(at)), "{at}");
    }
    let of_log = |event: &Event| event.revision > last_of_db;
    for (event, truth) in events(&*source).iter().zip(events(&*whole)) {
        assert_eq!((event.revision, &event.key_value), (truth.revision, &truth.key_value));
        assert_eq!(event.origin, if of_log(event) { Origin::Wal } else { Origin::Db });
    }
    assert_eq!(status(&*source).recoverable_wal, 11);
}

/// Whether all that an event says is so; its version may be unknown.
fn assert_true(event: &Event, truth: &Event) {
    let (ours, theirs) = (&event.key_value, &truth.key_value);
    assert_eq!((event.kind, &ours.key, &ours.value, ours.lease), (truth.kind, &theirs.key, &theirs.value, theirs.lease));
    let versions = |kv: &KeyValue| (kv.version, kv.create_revision);
    assert!(versions(ours) == versions(theirs) || versions(ours) == (0, Revision(0)), "{:?} {:?}", versions(ours), versions(theirs));
}

/// What a log holds of compacted revisions when its own beginning is gone: whatever is shown is true, and most is shown.
#[test]
fn a_log_that_begins_later_still_shows_what_was_compacted() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(WAL);
    let whole = records(&fs::read(&wal).unwrap());
    let entries = whole.iter().filter(|record| record.0 == 2).count();
    for (share, least) in [(10, 900), (3, 600), (2, 400)] {
        let mut dropped = 0;
        let kept = whole.iter().filter(|(kind, _)| {
            *kind != 2 || {
                dropped += 1;
                dropped > entries / share
            }
        });
        replace(&wal, &log_of(&kept.cloned().collect::<Vec<_>>()));
        let source = open(&[directory.path()]).unwrap();
        let (mut recovered, mut unknown) = (0, 0);
        for event in events(&*source).into_iter().filter(|event| event.origin == Origin::Wal) {
            assert_true(&event, &truth[&place(&event)]);
            recovered += 1;
            unknown += u32::from(event.key_value.version == 0 && event.kind == EventKind::Put);
        }
        assert!(recovered >= least, "1/{share} dropped: {recovered} recovered, {unknown} of unknown version");
    }
}

#[test]
fn a_damaged_log_is_reported_and_never_shows_wrong_values() {
    let directory = data_dir("k136-live/member.tar.zst");
    let place = |event: &Event| (event.revision, event.sub_revision);
    let truth: HashMap<_, _> = events(&*open(&[directory.path()]).unwrap()).into_iter().map(|event| (place(&event), event)).collect();
    let wal = directory.path().join(WAL);
    let mut whole = fs::read(&wal).unwrap();
    let written = whole.iter().rposition(|&byte| byte != 0).unwrap();
    whole.truncate(written + 4096);
    for n in 1..12 {
        for flip in [true, false] {
            let mut log = whole.clone();
            if flip {
                log[written * n / 12] ^= 0x40
            } else {
                log.truncate(written * n / 12)
            }
            replace(&wal, &log);
            let source = open(&[directory.path()]).unwrap();
            let events = events(&*source);
            assert!(!status(&*source).problems.is_empty() || events.len() == truth.len() || n == 11, "{n} {flip}");
            for event in &events {
                assert_true(event, &truth[&place(event)]);
            }
        }
    }
}

#[test]
fn a_directory_without_a_member_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = open(&[directory.path()]).err().unwrap();
    assert!(
        error.to_string().ends_with("is a directory without member/snap/db; name etcd's --data-dir, a database file or a snapshot"),
        "{error}"
    );
}

#[test]
fn two_files_of_a_cluster_are_one_history() {
    let (full, compacted) = (capture("k120-story/snapshot.db.zst"), capture("k120-story/compacted.db.zst"));
    let wanted = events(&*open(&[&full]).unwrap());
    for order in [[full.as_path(), &compacted], [&compacted, &full]] {
        let both = open(&order).unwrap();
        assert_eq!(events(&*both), wanted);
        assert_eq!(wait(both.span()).unwrap().oldest, Revision(1));
        assert_eq!(alive(&*both, At::Revision(Revision(900))), alive(&*open(&[&full]).unwrap(), At::Revision(Revision(900))));
    }
    let other = capture("k136-story/snapshot.db.zst");
    let error = open(&[&full, &other]).err().unwrap().to_string();
    assert!(error.contains("these are not of one etcd cluster"), "{error}");
}
