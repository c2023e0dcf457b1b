//! Files of a recording, complete and while they are written.

use std::collections::BTreeMap;
use std::fs;

use futures_util::{FutureExt, StreamExt};
use ketcd_store::{At, EventKind, KeyRange, Revision, Source, Until, Want, WatchItem, load};

/// The state that the changes of the seeds go on from: nothing is alive at revision 1.
const STATE: &[u8] = include_bytes!("../seeds/recording/state");

/// A file of a recording, beside the state it goes on from. Changes come once and in order; where nothing is said, what is alive is what they
/// leave, and one key's changes are those of all keys that are its.
pub fn recording(data: &[u8]) {
    for name in ["0000000002.changes", "0000000002.changes.open"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("0000000001.state"), STATE).unwrap();
        fs::write(directory.path().join(name), data).unwrap();
        if let Ok(source) = load::open(&[directory.path().to_str().unwrap().to_owned()], &|_| None) {
            hold(&*source);
        }
    }
}

fn items(source: &dyn Source, keys: KeyRange) -> Vec<WatchItem> {
    source.watch(keys, Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap()
}

fn hold(source: &dyn Source) {
    let span = source.span().now_or_never().unwrap().unwrap();
    assert!(span.oldest <= span.newest, "{span:?}");
    let of_all = items(source, KeyRange::all());
    let is_whole = !of_all.iter().any(|item| matches!(item, WatchItem::Gap { .. }));
    let events: Vec<_> = of_all.iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect();
    let place = |event: &ketcd_store::Event| (event.revision, event.sub_revision);
    assert!(events.is_sorted_by(|one, next| place(one) < place(next)), "changes out of order, or twice");
    let listing = source.range(KeyRange::all(), At::Revision(span.newest), Want::Values).now_or_never().unwrap();
    let alive: Option<Vec<_>> = listing.ok().map(|listing| listing.entries.map(Result::unwrap).collect().now_or_never().unwrap());
    let key = events.first().map(|event| event.key_value.key.clone());
    let of_key = key.as_ref().map(|key| items(source, KeyRange::key(&key[..])));
    if !is_whole || !source.damage().is_empty() || !source.late_damage().is_empty() {
        return;
    }
    let mut left = BTreeMap::new();
    for event in &events {
        match event.kind {
            EventKind::Put => drop(left.insert(event.key_value.key.clone(), event.key_value.clone())),
            EventKind::Delete => drop(left.remove(&event.key_value.key)),
        }
    }
    if let Some(alive) = alive {
        assert_eq!(alive, left.into_values().collect::<Vec<_>>(), "what is alive is not what was written last");
    }
    // An index that was made to lie, with the checksums that hold, may leave changes out; it cannot make any.
    for item in of_key.into_iter().flatten() {
        let WatchItem::Event(event) = item else { continue };
        assert!(events.contains(&&event) && Some(&event.key_value.key) == key.as_ref(), "{event:?}");
    }
}

/// Gives every chunk the checksums that hold; the file may be damaged.
pub fn mend(file: &mut [u8]) {
    const HEADER: usize = 48;
    let mut at = 0;
    while let Some(header) = file.get(at..at + HEADER) {
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let Some(payload) = file.get(at + HEADER..(at + HEADER).saturating_add(length)) else { return };
        let crc = crc32c::crc32c(payload);
        file[at..at + 4].copy_from_slice(b"\x89ktc");
        file[at + 40..at + 44].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&file[at..at + 44]);
        file[at + 44..at + 48].copy_from_slice(&crc.to_le_bytes());
        at += HEADER + length;
    }
}
