//! The database of an etcd that writes it all the time: each reading of the file is one state of it, whole and true, and so is what is read later.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use etcd_client::{Client, CompactionOptions};
use futures_util::StreamExt;
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem, load};

use crate::etcd::{Etcd, RELEASES, Transport};

/// Keys that are written in turn.
const KEYS: usize = 60;

/// How long a release is written to and read.
fn duration() -> Duration {
    Duration::from_secs(std::env::var("KETCD_WRITTEN_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(6))
}

/// The value of the write of this number: some reach over several pages, each byte says whose it is.
fn value(write: usize) -> Vec<u8> {
    let length = [40, 700, 3000, 9000, 30_000][write % 5];
    format!("{write:08} ").into_bytes().repeat(length / 9 + 1)
}

/// Writes for ever: puts, deletions of each key now and then, and compactions of all but the newest revisions.
async fn write(mut client: Client) {
    for write in 0.. {
        let key = format!("/written/{}", write % KEYS);
        if write % 97 == 96 {
            client.delete(key, None).await.unwrap();
        } else {
            client.put(key, value(write), None).await.unwrap();
        }
        if write % 500 == 499 {
            let revision = client.get("/", None).await.unwrap().header().unwrap().revision();
            client.compact(revision - 200, Some(CompactionOptions::new())).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The write that a value is of, if it is the value of one.
fn write_of(kv: &KeyValue) -> usize {
    let write = std::str::from_utf8(&kv.value[..8]).unwrap().parse().unwrap();
    assert_eq!((&kv.key[..], &kv.value[..]), (format!("/written/{}", write % KEYS).as_bytes(), &value(write)[..]), "{}", kv.mod_revision);
    write
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
        writes.insert(event.revision.0, write_of(&event.key_value));
    }
    // One write after the other: each revision is of one write.
    let first = writes.iter().next().map(|(revision, write)| revision - *write as i64);
    assert!(writes.iter().all(|(revision, write)| Some(revision - *write as i64) == first), "{writes:?}");
    let mut listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap().entries;
    while let Some(entry) = listing.next().await {
        // A compaction since then may have taken it away, which is said.
        match entry {
            Ok(kv) => drop(write_of(&kv)),
            Err(error) => assert!(error.to_string().contains("away since it was opened"), "{error}"),
        }
    }
    span.newest.0
}

/// The keys alive at a revision, as the file says and as etcd says; `None` where etcd has compacted it since.
async fn alive(source: &dyn Source, client: &mut Client, revision: i64) -> Option<(Vec<String>, Vec<String>)> {
    let listing = source.range(KeyRange::all(), At::Newest, Want::Keys).await.unwrap().entries;
    let name = |key: &[u8], revision: i64| format!("{} {revision}", String::from_utf8_lossy(key));
    let of_file = listing.map(Result::unwrap).map(|kv| name(&kv.key, kv.mod_revision.0)).collect().await;
    let options = etcd_client::GetOptions::new().with_all_keys().with_keys_only().with_revision(revision);
    let answer = client.get("", Some(options)).await.ok()?;
    Some((of_file, answer.kvs().iter().map(|kv| name(kv.key(), kv.mod_revision())).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_is_read_while_it_is_written() {
    for release in RELEASES {
        // Transactions end twenty times as often as usual, so that some end in every reading.
        let etcd = Etcd::start_with(release, Transport::Plain, &["--backend-batch-interval=5ms"]).await;
        let writer = tokio::spawn(write(etcd.writer().await));
        let mut client = etcd.writer().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (file, begun) = (etcd.db().to_str().unwrap().to_owned(), Instant::now());
        let (mut readings, mut compared, mut newest) = (0, 0, 0);
        while begun.elapsed() < duration() {
            let source = load::open(std::slice::from_ref(&file), &|_| None).unwrap();
            let span = source.span().await.unwrap();
            if let Some((of_file, of_etcd)) = alive(&*source, &mut client, span.newest.0).await {
                assert_eq!(of_file, of_etcd, "{release:?} at {}", span.newest);
                compared += 1;
            }
            // Every other reading is looked at when its pages have been used again.
            if readings % 2 == 1 {
                tokio::time::sleep(Duration::from_millis(700)).await;
            }
            let now = check(&*source).await;
            assert!(now >= newest, "{now} after {newest}");
            (newest, readings) = (now, readings + 1);
        }
        assert!(readings > 3 && compared > 0 && newest > 300, "{release:?}: {readings} readings, {compared} compared, revision {newest}");
        assert!(!writer.is_finished());
        writer.abort();
    }
}
