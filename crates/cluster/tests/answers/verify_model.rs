//! A model of `verify`: a database, a member's data dir and a recording, each cut anywhere and changed anywhere, are called good only where nothing is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use futures_util::TryStreamExt;
use ketcd_cluster::verify::{FindingKind, Verdict, Verification, VerifyAsked};
use ketcd_cluster::{Cluster, Options};
use ketcd_store::recording::{Recorder, RecorderOptions, RecordingScope};
use ketcd_store::{At, KeyRange, Result, Revision, Source, Until, Want, WatchItem, load};
use ketcd_testing::random::Random;
use ketcd_testing::wal::{ENTRY_RECORD, log_of, records};
use ketcd_testing::written::Written;
use sha2::{Digest, Sha256};

const PAGE_BYTES: usize = 4096;

/// The kind of a record that holds raft's state.
const STATE_RECORD: u64 = 3;

/// The name of a log's first file.
const LOG_NAME: &str = "0000000000000000-0000000000000000.wal";

/// What a source holds.
type Held = BTreeMap<Vec<u8>, Vec<u8>>;

async fn held(source: &dyn Source, at: At) -> Option<Held> {
    let entries = source.range(KeyRange::all(), at, Want::Values).await.ok()?.entries;
    entries.map_ok(|entry| (entry.key.to_vec(), entry.value.to_vec())).try_collect().await.ok()
}

/// What is said of a source, and what it holds; `None` where it is refused.
async fn verified(source: Result<Box<dyn Source>>) -> Option<(Verification, Held)> {
    let cluster = Cluster::open(source.ok()?, Options::default()).await.ok()?;
    let verification = cluster.verify(&VerifyAsked::default()).await.ok()?;
    let held = held(&*cluster.source, At::Newest).await?;
    Some((verification, held))
}

/// Whether nothing is wrong with the files. The objects in them are made up, and an API server would not have written them.
fn is_whole(verification: &Verification) -> bool {
    let is_of_files = |kind: FindingKind| matches!(kind, FindingKind::Checksum | FindingKind::Damage | FindingKind::Log);
    !verification.findings.iter().any(|finding| is_of_files(finding.kind))
}

/// The lengths to cut at: the boundaries of pages, and as many in between.
fn cuts(length: usize, random: &mut Random) -> Vec<usize> {
    let boundaries: Vec<usize> = (0..length).step_by(PAGE_BYTES).collect();
    let between = boundaries.iter().map(|_| random.below(length)).collect::<Vec<_>>();
    boundaries.into_iter().chain(between).chain([length - 1]).collect()
}

/// The writes of a small cluster.
fn writes() -> impl Iterator<Item = (String, String)> {
    (0..200).map(|number| {
        let name = format!("c{}", number % 40);
        let value = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"{name}\",\"namespace\":\"a\"}},\"data\":{{\"n\":\"{number}\"}}}}\n"
        );
        (format!("/registry/configmaps/a/{name}"), value)
    })
}

/// Its database, without a checksum.
fn database() -> Vec<u8> {
    let mut written = Written::default();
    writes().for_each(|(key, value)| written.put(&key, value));
    written.finish()
}

/// Its database as a snapshot, with a SHA-256 at the end.
fn snapshot() -> Vec<u8> {
    let database = database();
    let sum = Sha256::digest(&database);
    [&database[..], &sum].concat()
}

fn opened(bytes: &[u8]) -> Result<Box<dyn Source>> {
    load::open_bytes("a.db", bytes.to_vec().into(), &load::Limits::default(), &|_| None)
}

#[tokio::test]
async fn no_cut_of_a_database_is_called_good() {
    for whole in [database(), snapshot()] {
        let (verification, all) = verified(opened(&whole)).await.unwrap();
        assert!(is_whole(&verification), "{verification:?}");
        for keep in cuts(whole.len(), &mut Random(51)) {
            if let Some((verification, left)) = verified(opened(&whole[..keep])).await
                && (is_whole(&verification) || verification.verdict() != Verdict::Bad)
            {
                assert!(left == all, "{keep} of {} bytes", whole.len());
            }
        }
    }
}

#[tokio::test]
async fn no_changed_byte_of_a_snapshot_is_called_good() {
    let (whole, mut random) = (snapshot(), Random(51));
    for _ in 0..48 {
        let mut bytes = whole.clone();
        let place = random.below(bytes.len());
        bytes[place] ^= 1 << random.below(8);
        let verified = verified(opened(&bytes)).await;
        assert!(verified.is_none_or(|(verification, _)| verification.verdict() == Verdict::Bad), "byte {place}");
    }
}

/// A number as protobuf writes it.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A field of bytes as protobuf writes it.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2][..], &varint(bytes.len() as u64), bytes].concat()
}

/// The database of a member, and its log: how a new cluster begins, and the writes.
fn member() -> (Vec<u8>, Vec<u8>) {
    const TERM: u8 = 2;
    let directory = ketcd_testing::data_dir::data_dir("k120-story/member.tar.zst");
    let recorded = records(&fs::read(directory.path().join("member/wal").join(LOG_NAME)).unwrap());
    let is_of_keys =
        |data: &[u8]| [&b"/registry/"[..], b"compact_rev_key"].iter().any(|key| data.windows(key.len()).any(|part| part == *key));
    let mut records: Vec<(u64, Vec<u8>)> = recorded.into_iter().take_while(|(_, data)| !is_of_keys(data)).collect();
    let begun = records.iter().filter(|(kind, _)| *kind == ENTRY_RECORD).count() as u64;
    let mut last = begun;
    for (key, value) in writes() {
        last += 1;
        // raftpb.Entry, etcdserverpb.InternalRaftRequest, PutRequest.
        let put = [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
        let entry = [vec![0x10, TERM, 0x18], varint(last), field(4, &field(4, &put))].concat();
        records.push((ENTRY_RECORD, entry));
    }
    records.push((STATE_RECORD, [vec![0x08, TERM, 0x10, 1, 0x18], varint(last)].concat()));
    let mut db = database();
    let name = b"consistent_index";
    let place = db.windows(name.len()).position(|bytes| bytes == name).unwrap() + name.len();
    db[place..place + 8].copy_from_slice(&last.to_be_bytes());
    (db, log_of(&records))
}

/// A log may end early where its database does; this one has every write twice, so that a cut of either loses something.
#[tokio::test]
async fn no_cut_of_a_data_dir_is_called_good() {
    let (db, log) = member();
    let opened = |db: &[u8], log: &[u8]| load::open_member("data", db.to_vec().into(), vec![(LOG_NAME.to_owned(), log.to_vec().into())]);
    let (verification, all) = verified(opened(&db, &log)).await.unwrap();
    assert!(is_whole(&verification) && verification.log.is_some(), "{verification:?}");
    let written = log.len() - log.iter().rev().take_while(|byte| **byte == 0).count();
    for keep in cuts(log.len(), &mut Random(51)) {
        if let Some((verification, left)) = verified(opened(&db, &log[..keep])).await {
            assert!(!is_whole(&verification) || (keep >= written && left == all), "{keep} of the log's {written} bytes");
        }
    }
    for keep in cuts(db.len(), &mut Random(52)) {
        let verified = verified(opened(&db[..keep], &log)).await;
        assert!(verified.is_none_or(|(verification, _)| verification.verdict() == Verdict::Bad), "{keep} of the database's bytes");
    }
}

/// Records the small cluster into files of which all but the last are complete.
async fn record(folder: &Path) {
    let options = RecorderOptions { file_bytes: 2 << 10, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(folder, &RecordingScope::default(), options).unwrap();
    recorder.begin_after(Revision(1));
    recorder.begin_state(Revision(1)).unwrap();
    recorder.end_state().unwrap();
    let source = opened(&database()).unwrap();
    let items: Vec<WatchItem> = source.watch(KeyRange::all(), Revision(1), Until::Forever).try_collect().await.unwrap();
    let events = items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None });
    for event in events {
        recorder.change(&event).unwrap();
        recorder.complete(event.revision).unwrap();
        if event.revision.0 % 40 == 0 {
            recorder.flush().unwrap();
        }
    }
    recorder.flush().unwrap();
}

#[tokio::test]
async fn no_cut_of_a_recording_is_called_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    record(&path).await;
    let opened = || load::open(&[path.to_str().unwrap().to_owned()], &|_| None);
    let whole = opened().unwrap();
    let (verification, all) = verified(opened()).await.unwrap();
    assert!(is_whole(&verification), "{verification:?}");
    let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()).collect();
    assert!(names.iter().any(|name| name.ends_with("manifest.json")) && names.len() > 2, "{names:?}");
    let mut random = Random(51);
    for name in &names {
        let bytes = fs::read(name).unwrap();
        if bytes.is_empty() {
            continue;
        }
        let more = (0..16).map(|_| random.below(bytes.len())).collect::<Vec<_>>();
        for keep in cuts(bytes.len(), &mut random).into_iter().chain(more) {
            fs::write(name, &bytes[..keep]).unwrap();
            let Some((verification, left)) = verified(opened()).await else { continue };
            if !is_whole(&verification) {
                continue;
            }
            // A file that is being written ends where it ends: what is there is the cluster of that moment.
            let is_open = name.extension().is_some_and(|ending| ending == "open");
            let then = if is_open { held(&*whole, At::Revision(verification.span.newest)).await.unwrap() } else { all.clone() };
            assert!(left == then, "{keep} of {} bytes of {}", bytes.len(), name.display());
        }
        fs::write(name, &bytes).unwrap();
    }
}
