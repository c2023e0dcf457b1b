//! The database of an etcd that writes it all the time: each reading of the file is one state of it, whole and true, and so is what is read later.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use etcd_client::{Client, CompactionOptions};
use futures_util::StreamExt;
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem, load};
use ketcd_testing::on_each_release;
use ketcd_testing::wait::until_async;

use crate::etcd::{Etcd, EtcdRelease, Transport};

/// Keys that are written in turn.
const KEY_COUNT: usize = 60;

/// How often the file is read.
fn readings() -> usize {
    std::env::var("KETCD_WRITTEN_READINGS").map_or(12, |readings| readings.parse().expect("KETCD_WRITTEN_READINGS is a number"))
}

/// The value of the write of this number: some reach over several pages, each byte says whose it is.
fn value(write: usize) -> Vec<u8> {
    let length = [40, 700, 3000, 9000, 30_000][write % 5];
    format!("{write:08} ").into_bytes().repeat(length / 9 + 1)
}

/// Writes for ever: puts, deletions of each key now and then, and compactions of all but the newest revisions, as far as `compacts_to`.
async fn write(mut client: Client, compacts_to: Arc<AtomicI64>) {
    for write in 0.. {
        let key = format!("/written/{}", write % KEY_COUNT);
        if write % 97 == 96 {
            client.delete(key, None).await.unwrap();
        } else {
            client.put(key, value(write), None).await.unwrap();
        }
        if write % 500 == 499 {
            let revision = client.get("/", None).await.unwrap().header().unwrap().revision() - 200;
            let _ = client.compact(revision.min(compacts_to.load(Ordering::SeqCst)), Some(CompactionOptions::new())).await;
        }
    }
}

/// The write that a value is of, if it is the value of one; `from` says where it was read.
fn write_of(kv: &KeyValue, from: &str) -> usize {
    let number = kv.value.get(..8).and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
    let written = number.map(|write: usize| (format!("/written/{}", write % KEY_COUNT).into_bytes(), value(write)));
    let is_it = written.as_ref().is_some_and(|(key, value)| kv.key == key[..] && kv.value == value[..]);
    assert!(is_it, "{} of revision {} in {from} is of no write: {}", kv.key.escape_ascii(), kv.mod_revision, difference(kv, written));
    number.unwrap_or_default()
}

/// Where a value differs from the one that was written.
fn difference(kv: &KeyValue, written: Option<(Vec<u8>, Vec<u8>)>) -> String {
    let Some((key, value)) = written else { return format!("it begins with {}", kv.value[..kv.value.len().min(40)].escape_ascii()) };
    let at = value.iter().zip(&kv.value).position(|(one, other)| one != other).unwrap_or(value.len().min(kv.value.len()));
    let shown = kv.value[at..kv.value.len().min(at + 40)].escape_ascii();
    format!("{} has {} bytes, this one has {} and goes on at byte {at} with {shown}", key.escape_ascii(), value.len(), kv.value.len())
}

/// Holds what a source shows against what was written, and returns its newest revision.
async fn check(source: &dyn Source) -> i64 {
    assert_eq!((source.damage(), source.late_damage()), (&[][..], vec![]));
    let span = source.span().await.unwrap();
    let items: Vec<_> = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect().await;
    let events: Vec<Event> =
        items.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect();
    let mut writes: BTreeMap<i64, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind == EventKind::Put) {
        writes.insert(event.revision.0, write_of(&event.key_value, &format!("{:?}", event.origin)));
    }
    // One write after the other: each revision is of one write.
    let first = writes.iter().next().map(|(revision, write)| revision - *write as i64);
    assert!(writes.iter().all(|(revision, write)| Some(revision - *write as i64) == first), "{writes:?}");
    let mut listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap().entries;
    while let Some(entry) = listing.next().await {
        // A compaction since then may have taken it away, which is said.
        match entry {
            Ok(kv) => drop(write_of(&kv, "a listing")),
            Err(error) => assert!(error.to_string().contains("away since it was opened"), "{error}"),
        }
    }
    span.newest.0
}

/// The keys alive at a revision, as the file says and as etcd says.
async fn alive(source: &dyn Source, client: &mut Client, revision: i64) -> (Vec<String>, Vec<String>) {
    let listing = source.range(KeyRange::all(), At::Newest, Want::Keys).await.unwrap().entries;
    let name = |key: &[u8], revision: i64| format!("{} {revision}", String::from_utf8_lossy(key));
    let of_file = listing.map(Result::unwrap).map(|kv| name(&kv.key, kv.mod_revision.0)).collect().await;
    let options = etcd_client::GetOptions::new().with_all_keys().with_keys_only().with_revision(revision);
    let answer = client.get("", Some(options)).await.unwrap();
    (of_file, answer.kvs().iter().map(|kv| name(kv.key(), kv.mod_revision())).collect())
}

async fn newest(client: &mut Client) -> i64 {
    client.get("/", None).await.unwrap().header().unwrap().revision()
}

/// Waits for this many revisions more.
async fn goes_on(client: &mut Client, revisions: i64) {
    let least = newest(client).await + revisions;
    until_async(async || (newest(client).await >= least).then_some(())).await;
}

async fn the_file_is_read_while_it_is_written(release: EtcdRelease) {
    // Transactions end twenty times as often as usual, so that some end in every reading.
    let etcd = Etcd::start_with(release, Transport::Plain, &["--backend-batch-interval=5ms"]).await;
    let (mut client, compacts_to) = (etcd.writer().await, Arc::new(AtomicI64::new(i64::MAX)));
    let writer = tokio::spawn(write(etcd.writer().await, Arc::clone(&compacts_to)));
    goes_on(&mut client, 600).await;
    let (file, mut before) = (etcd.db().to_str().unwrap().to_owned(), 0);
    for reading in 0..readings() {
        // What is read is not compacted before etcd was asked for it too.
        compacts_to.store(newest(&mut client).await - 300, Ordering::SeqCst);
        let source = load::open(std::slice::from_ref(&file), &|_| None).unwrap();
        let span = source.span().await.unwrap();
        let (of_file, of_etcd) = alive(&*source, &mut client, span.newest.0).await;
        assert_eq!(of_file, of_etcd, "{release:?} at {}", span.newest);
        compacts_to.store(i64::MAX, Ordering::SeqCst);
        // Every other reading is looked at when its pages have been used again.
        if reading % 2 == 1 {
            goes_on(&mut client, 700).await;
        }
        let now = check(&*source).await;
        assert!(now >= before, "{now} after {before}");
        before = now;
    }
    assert!(before > 300, "{release:?}: revision {before}");
    assert!(!writer.is_finished());
    writer.abort();
}

on_each_release!(the_file_is_read_while_it_is_written);
