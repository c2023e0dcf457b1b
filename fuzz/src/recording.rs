//! Files of a recording, complete and while they are written; their indexes; the manifest; and all of them in one file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use futures_util::{FutureExt, StreamExt};
use ketcd_store::recording::{Recorder, RecorderOptions, RecordingScope, begins_as_packed};
use ketcd_store::{At, EventKind, KeyRange, KeyValue, Revision, Source, Until, Want, WatchItem, load};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::containers::mend_tar;

/// The state that the changes of the seeds go on from: nothing is alive at revision 1.
const STATE_FILE: &[u8] = include_bytes!("../seeds/recording/state");
/// A complete file of changes behind it.
const COMPLETE_FILE: &[u8] = include_bytes!("../seeds/recording/complete");
/// Where its index begins, with its header.
const INDEX_OFFSET: usize = 734;

/// A file of a recording, beside the state it continues from. Changes come once and in order; where nothing is said, what is alive is what they
/// leave, and one key's changes are those of all keys that are its.
pub fn recording(data: &[u8]) {
    for name in ["0000000002.changes", "0000000002.changes.open"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("0000000001.state"), STATE_FILE).unwrap();
        fs::write(directory.path().join(name), data).unwrap();
        if let Ok(source) = load::open(&[directory.path().to_str().unwrap().to_owned()], &|_| None) {
            hold(&*source);
        }
    }
}

/// The index of a complete file, which the manifest agrees with: what it says of blocks and keys, under checksums that hold.
pub fn blocks(data: &[u8]) {
    let directory = directory();
    let mut file = COMPLETE_FILE[..INDEX_OFFSET].to_vec();
    file.extend_from_slice(&index(data));
    let number = |at: usize| data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, i64::from_le_bytes);
    let count = data.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let runs: Vec<String> =
        (0..count.min(64) as usize).map(|block| 12 + 32 * block).map(|at| format!("[{},{}]", number(at + 16), number(at + 24))).collect();
    let facts = |name: &str, kind: &str, covered: &str, bytes: usize| {
        format!(
            r#"{{"name":"{name}","kind":"{kind}","covered":[{covered}],"missing":[],"bytes":{bytes},"changes":0,"begun":1,"ended":2,"sha256":""}}"#
        )
    };
    let files = [
        facts("0000000001.state", "state", "[1,1]", STATE_FILE.len()),
        facts("0000000002.changes", "changes", &runs.join(","), file.len()),
    ];
    fs::write(directory.path().join("0000000002.changes"), &file).unwrap();
    let scope = r#""format":1,"clusterId":"1","prefixes":[],"leftOut":[]"#;
    seal(directory.path(), &format!(r#"{{{scope},"files":[{}]}}"#, files.join(",")));
    if let Ok(source) = load::open(&[directory.path().to_str().unwrap().to_owned()], &|_| None) {
        read(&*source);
    }
}

/// A manifest whose hash holds, beside the files of the seeds. What lies outside of the directory, and what no recorder wrote, stays.
pub fn manifest(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let outer = directory();
    let victims = ["victim", "recording/thesis.tmp", "recording/notes.changes"];
    let recording = outer.path().join("recording");
    fs::create_dir(&recording).unwrap();
    victims.iter().for_each(|victim| fs::write(outer.path().join(victim), b"mine").unwrap());
    fs::write(recording.join("0000000001.state"), STATE_FILE).unwrap();
    fs::write(recording.join("0000000002.changes"), COMPLETE_FILE).unwrap();
    seal(&recording, text);
    if let Ok(source) = load::open(&[recording.to_str().unwrap().to_owned()], &|_| None) {
        read(&*source);
    }
    let scope = RecordingScope { cluster_id: None, prefixes: Vec::new(), left_out: Vec::new(), api_server: None, bundle: None };
    drop(Recorder::open(&recording, &scope, RecorderOptions::default()));
    for victim in victims {
        assert_eq!(fs::read(outer.path().join(victim)).unwrap(), b"mine", "{victim} was touched");
    }
}

/// A bundle: a recording in one archive. It begins with its state, and what is alive is what the changes after it leave. Nothing is written next to it.
pub fn packed(data: &[u8]) {
    if !begins_as_packed(data) {
        return;
    }
    let outer = directory();
    let path = outer.path().join("it.ketcd");
    fs::write(&path, data).unwrap();
    if let Ok(source) = load::open(&[path.to_str().unwrap().to_owned()], &|_| None) {
        hold_bundle(&*source);
    }
    let left = fs::read_dir(outer.path()).unwrap().count();
    assert_eq!(left, 2, "something was unpacked");
}

/// What is alive at a revision, if that can be read.
fn alive(source: &dyn Source, at: Revision) -> Option<BTreeMap<Vec<u8>, KeyValue>> {
    let listing = source.range(KeyRange::all(), At::Revision(at), Want::Values).now_or_never().unwrap().ok()?;
    let entries: Vec<KeyValue> = listing.entries.map(Result::unwrap).collect().now_or_never().unwrap();
    assert!(entries.is_sorted_by(|one, next| one.key < next.key), "keys out of order, or twice");
    Some(entries.into_iter().map(|entry| (entry.key.to_vec(), entry)).collect())
}

fn hold_bundle(source: &dyn Source) {
    let span = source.span().now_or_never().unwrap().unwrap();
    assert!(span.oldest <= span.newest, "{span:?}");
    let all = items(source, KeyRange::all());
    let is_whole = !all.iter().any(|item| matches!(item, WatchItem::Gap { .. }));
    let events: Vec<_> = all.into_iter().filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect();
    let place = |event: &ketcd_store::Event| (event.revision, event.sub_revision);
    let changes: Vec<_> = events.iter().filter(|event| event.revision > span.oldest).collect();
    assert!(changes.is_sorted_by(|one, next| place(one) < place(next)), "changes out of order, or twice");
    let (first, last) = (alive(source, span.oldest), alive(source, span.newest));
    if let Some(late) = source.facts().late_damage {
        late.read_all();
    }
    if !is_whole || !source.damage().is_empty() || !source.late_damage().is_empty() {
        return;
    }
    let (Some(mut left), Some(last)) = (first, last) else { return };
    for event in changes {
        match event.kind {
            EventKind::Put => drop(left.insert(event.key_value.key.to_vec(), event.key_value.clone())),
            EventKind::Delete => drop(left.remove(&event.key_value.key[..])),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    assert!(last == left, "what is alive is not what was written last");
}

/// Gives a bundle the checksums that hold: of the archive's headers, of the manifest, and of the chunks of its files.
pub fn mend_packed(data: &mut [u8]) {
    const BLOCK_BYTES: usize = 512;
    mend_tar(data);
    let mut at = 0;
    while let Some(header) = data.get(at..at + BLOCK_BYTES).filter(|header| header[0] != 0) {
        let size = std::str::from_utf8(&header[124..135]).ok().and_then(|digits| usize::from_str_radix(digits, 8).ok()).unwrap_or(0);
        let is_manifest = header.starts_with(b"manifest.json\0");
        let start = at + BLOCK_BYTES;
        let end = start.saturating_add(size).min(data.len());
        match data.get_mut(start..end) {
            Some(content) if is_manifest => mend_manifest(content),
            Some(content) => mend(content),
            None => return,
        }
        at = start.saturating_add(size.next_multiple_of(BLOCK_BYTES));
    }
}

/// Gives a manifest the hash that holds.
fn mend_manifest(content: &mut [u8]) {
    const BEGINNING: &[u8] = b"{\"recording\":";
    const HASH: &[u8] = b",\"sha256\":\"";
    const DIGITS: usize = 64;
    let Some(hash) = content.windows(HASH.len()).rposition(|window| window == HASH) else { return };
    let Some(recording) = content.get(BEGINNING.len()..hash) else { return };
    let digits: String = Sha256::digest(recording).iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(place) = content.get_mut(hash + HASH.len()..hash + HASH.len() + DIGITS) {
        place.copy_from_slice(digits.as_bytes());
    }
}

/// A directory with the state of the seeds, in memory where that is possible.
fn directory() -> TempDir {
    let shm = Path::new("/dev/shm");
    let directory = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() }.unwrap();
    fs::write(directory.path().join("0000000001.state"), STATE_FILE).unwrap();
    directory
}

/// Writes a manifest whose hash holds.
fn seal(directory: &Path, recording: &str) {
    let hash: String = Sha256::digest(recording).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(directory.join("manifest.json"), format!(r#"{{"recording":{recording},"sha256":"{hash}"}}"#)).unwrap();
}

/// An index in its chunk, and what stands behind it at the end of a file.
fn index(content: &[u8]) -> Vec<u8> {
    let mut pages = Vec::new();
    for (number, page) in content.chunks(4092).enumerate() {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&(number as u64).to_le_bytes()), page);
        pages.extend_from_slice(page);
        pages.extend_from_slice(&crc.to_le_bytes());
    }
    let mut bytes = COMPLETE_FILE[INDEX_OFFSET..INDEX_OFFSET + 48].to_vec();
    bytes[8..12].copy_from_slice(&(pages.len() as u32).to_le_bytes());
    bytes[40..44].copy_from_slice(&crc32c::crc32c(&pages).to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..44]);
    bytes[44..48].copy_from_slice(&crc.to_le_bytes());
    let mut trailer = b"\x89ktcidx\n".to_vec();
    trailer.extend_from_slice(&(INDEX_OFFSET as u64 + 48).to_le_bytes());
    trailer.extend_from_slice(&(pages.len() as u32).to_le_bytes());
    trailer.extend_from_slice(&crc32c::crc32c(&trailer).to_le_bytes());
    [bytes, pages, trailer].concat()
}

/// Reads all that a source has, and a key of it. An index that was made to lie may leave changes out or repeat them; it makes none.
fn read(source: &dyn Source) {
    let span = source.span().now_or_never().unwrap().unwrap();
    assert!(span.oldest <= span.newest, "{span:?}");
    for item in items(source, KeyRange::all()) {
        match item {
            WatchItem::Gap { from, to } => assert!(from <= to, "a gap from {from} to {to}"),
            WatchItem::Event(event) => assert!((2..=23).contains(&event.revision.0), "{event:?}"),
            WatchItem::Progress(_) => {}
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    drop(items(source, KeyRange::key("/registry/configmaps/lab/c-1")));
    for at in [span.oldest, span.newest] {
        let listing = source.range(KeyRange::all(), At::Revision(at), Want::Values).now_or_never().unwrap();
        drop(listing.ok().map(|listing| listing.entries.map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap()));
    }
    for sentence in source.damage().iter().chain(&source.late_damage()) {
        for words in sentence.split("revisions ").skip(1) {
            let mut numbers =
                words.split(" to ").map(|part| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<i64>());
            if let (Some(Ok(from)), Some(Ok(to))) = (numbers.next(), numbers.next()) {
                assert!(from <= to, "{sentence}");
            }
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
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
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
    const HEADER_BYTES: usize = 48;
    let mut at = 0;
    while let Some(header) = file.get(at..at + HEADER_BYTES) {
        let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let Some(payload) = file.get(at + HEADER_BYTES..(at + HEADER_BYTES).saturating_add(length)) else { return };
        let crc = crc32c::crc32c(payload);
        file[at..at + 4].copy_from_slice(b"\x89ktc");
        file[at + 40..at + 44].copy_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&file[at..at + 44]);
        file[at + 44..at + 48].copy_from_slice(&crc.to_le_bytes());
        at += HEADER_BYTES + length;
    }
}
