//! A file is streamed: the heap in use while its values are read does not grow with them. A counting allocator measures it.

use std::path::Path;

use futures_util::StreamExt;
use ketcd_kube::Decoder;
use ketcd_store::{At, EventKind, KeyRange, KeyValue, Revision, Until, Want, WatchItem, load};
use ketcd_testing::heap;

#[global_allocator]
static COUNTING: heap::Counting = heap::Counting;

/// Runs `work`, which returns how many bytes went by, and holds the heap it needed at its peak against a bound.
#[track_caller]
fn check(what: &str, least: usize, bound: usize, work: impl FnOnce() -> usize) {
    let (seen, needed) = heap::peak(work);
    assert!(seen > least, "{what}: {seen} bytes are too few to measure");
    assert!(needed < bound, "{what}: {needed} bytes of heap for {seen} bytes");
}

/// One test, as the counts are of the whole process.
#[test]
fn heap_does_not_grow_with_the_file() {
    const KIB_BYTES: usize = 1 << 10;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-random/snapshot.db.zst");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (decoder, mut text) = (Decoder::new(), Vec::new());
    // The index: some bytes for each revision and key, none for values. Unpacking goes through a window of its own.
    let mut source = None;
    check("opening", 0, 10 << 20, || {
        source = Some(load::open(&[file.to_str().unwrap().to_owned()], &|_| None).unwrap());
        1
    });
    let source = source.unwrap();
    let mut decode = |entry: &KeyValue| {
        text.clear();
        decoder.decode_text(&entry.key, &entry.value, entry.mod_revision.0, &mut text).map_or(0, |_| text.len())
    };
    check("a listing", 2_000 * KIB_BYTES, 256 * KIB_BYTES, || {
        runtime.block_on(async {
            let listing = source.range(KeyRange::all(), At::Newest, Want::Values).await.unwrap();
            listing.entries.map(|entry| decode(&entry.unwrap())).fold(0, async |sum, length| sum + length).await
        })
    });
    check("a history", 8_000 * KIB_BYTES, 256 * KIB_BYTES, || {
        let mut length = |item| match item {
            WatchItem::Event(event) if event.kind == EventKind::Put => decode(&event.key_value),
            _ => 0,
        };
        runtime.block_on(
            source
                .watch(KeyRange::all(), Revision(1), Until::Forever)
                .map(|item| length(item.unwrap()))
                .fold(0, async |sum, length| sum + length),
        )
    });
}
