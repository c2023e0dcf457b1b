//! Gardener's backups: a full snapshot and the deltas after it are the history that a watcher of the same etcd saw, and what is missing is reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use ketcd_store::{EventKind, Source, load};
use ketcd_testing::testdata;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{events, open, open_bytes, status, wait};

fn sample(name: &str) -> PathBuf {
    testdata::path(&format!("containers/gardener/{name}"))
}

/// A change as it can be compared: its kind, its key in base64, its value's SHA-256, the revision of its creation, its version and its lease.
type Change = (bool, String, String, i64, i64, i64);

/// What the watcher saw, by revision and sub-revision.
fn truth(name: &str) -> BTreeMap<(i64, i64), Change> {
    let text = String::from_utf8(testdata::read(&format!("containers/gardener/{name}"))).unwrap();
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let number = |field: &str| row[field].as_i64().unwrap_or(0);
        let is_put = row["type"] == "PUT";
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let sum = if is_put { text("sha256") } else { String::new() };
        ((number("rev"), number("sub")), (is_put, text("keyB64"), sum, number("create"), number("version"), number("lease")))
    };
    text.lines().map(row).collect()
}

/// What a source holds, in the same form.
fn held(source: &dyn Source) -> BTreeMap<(i64, i64), Change> {
    let change = |event: &ketcd_store::Event| {
        let (kv, is_put) = (&event.key_value, event.kind == EventKind::Put);
        let key = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &kv.key);
        let sum = Sha256::digest(&kv.value).iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>();
        let numbers = if is_put { (kv.create_revision.0, kv.version, kv.lease) } else { (0, 0, 0) };
        (is_put, key, if is_put { sum } else { String::new() }, numbers.0, numbers.1, numbers.2)
    };
    events(source).iter().map(|event| ((event.revision.0, event.sub_revision), change(event))).collect()
}

/// A copy of the backups, without some, in a bucket's folders.
fn copy(without: &str) -> tempfile::TempDir {
    let bucket = tempfile::tempdir().unwrap();
    let folder = bucket.path().join("shoot--a--b/etcd-main/v2");
    fs::create_dir_all(&folder).unwrap();
    for file in fs::read_dir(sample("v2")).unwrap().map(Result::unwrap).filter(|file| !file.file_name().to_string_lossy().contains(without))
    {
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    bucket
}

fn file(bucket: &Path, name: &str) -> PathBuf {
    bucket.join("shoot--a--b/etcd-main/v2").join(name)
}

#[test]
fn a_full_snapshot_and_its_deltas_are_one_history() {
    let (bucket, wanted) = (copy("nothing"), truth("truth.jsonl.zst"));
    fs::write(file(bucket.path(), "Chunk-1"), "left by an upload that was broken off").unwrap();
    let source = open(&[bucket.path()]).unwrap();
    assert_eq!((source.damage(), wait(source.span()).unwrap().newest.0), (&[][..], 521));
    assert_eq!(held(&*source), wanted);
    assert_eq!(status(&*source).gaps, vec![]);
}

#[test]
fn a_missing_delta_is_a_gap() {
    let (bucket, mut wanted) = (copy("Incr-00000419"), truth("truth.jsonl.zst"));
    wanted.retain(|(revision, _), _| !(419..=456).contains(revision));
    let source = open(&[bucket.path()]).unwrap();
    assert_eq!(held(&*source), wanted);
    let gaps = status(&*source).gaps;
    assert_eq!(gaps.iter().map(|gap| (gap.from.0, gap.to.0)).collect::<Vec<_>>(), [(419, 456)]);
    assert!(source.damage().iter().any(|damage| damage.contains("419")), "{:?}", source.damage());
}

/// A digit of a value changes under an intact compression, and a file ends within.
#[test]
fn a_damaged_delta_is_named_and_left_out() {
    let name = "Incr-00000381-00000418-1795547365.gz";
    let packed = fs::read(sample("v2").join(name)).unwrap();
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    let place = text.windows(9).position(|bytes| bytes == b"\"value\":\"").unwrap() + 12;
    text[place] = if text[place] == b'A' { b'B' } else { b'A' };
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&text).unwrap();
    let mut wanted = truth("truth.jsonl.zst");
    wanted.retain(|(revision, _), _| !(381..=418).contains(revision));
    for (bytes, why) in [(&encoder.finish().unwrap()[..], "SHA-256"), (&packed[..packed.len() / 2], "cut short")] {
        let bucket = copy("nothing");
        fs::write(file(bucket.path(), name), bytes).unwrap();
        let source = open(&[bucket.path()]).unwrap();
        assert_eq!(held(&*source), wanted, "{why}");
        assert!(source.damage().iter().any(|damage| damage.contains(name) && damage.contains(why)), "{why}: {:?}", source.damage());
    }
}

#[test]
fn deltas_alone_are_a_history_of_the_keys_that_they_name() {
    let mut wanted = truth("truth.jsonl.zst");
    wanted.retain(|(revision, _), _| (419..=456).contains(revision));
    let path = sample("v2/Incr-00000419-00000456-1795547367.gz");
    for source in [open(&[&path]).unwrap(), open_bytes(&fs::read(&path).unwrap()).unwrap()] {
        assert_eq!(held(&*source), wanted);
        assert!(source.left_out().iter().any(|said| said.contains("only the keys that they name")));
    }
    // Only the names say that these are compressed, as Go's compress/lzw does.
    let source = open(&[&sample("lzw")]).unwrap();
    assert_eq!((held(&*source), source.damage()), (truth("lzw.jsonl.zst"), &[][..]));
    let bucket = copy("Incr-00000419");
    fs::remove_file(file(bucket.path(), "Full-00000000-00000331-1795547360.gz")).unwrap();
    let source = open(&[bucket.path()]).unwrap();
    assert_eq!(status(&*source).gaps.iter().map(|gap| (gap.from.0, gap.to.0)).collect::<Vec<_>>(), [(419, 456)]);
    assert!(source.damage().iter().any(|said| said.ends_with("revisions 419 to 456 are missing")), "{:?}", source.damage());
}

/// A file that only its name says how to decompress is read alone too, and a damaged full snapshot does not hide the deltas after it.
#[test]
fn each_file_is_read_as_far_as_it_goes() {
    let lzw = fs::read_dir(sample("lzw")).unwrap().map(|file| file.unwrap().path()).min().unwrap();
    let source = open(&[&lzw]).unwrap();
    assert!(!held(&*source).is_empty() && source.damage().is_empty(), "{:?}", source.damage());
    let (bucket, mut wanted) = (copy("nothing"), truth("truth.jsonl.zst"));
    let full = "Full-00000000-00000331-1795547360.gz";
    fs::write(file(bucket.path(), full), &fs::read(sample("v2").join(full)).unwrap()[..300]).unwrap();
    wanted.retain(|(revision, _), _| *revision >= 332);
    let source = open(&[bucket.path()]).unwrap();
    assert_eq!(held(&*source), wanted);
    let damage = source.damage().join("\n");
    assert!(damage.contains(full) && damage.contains("only the deltas after it are read"), "{damage}");
}

#[test]
fn the_backups_of_several_clusters_are_refused_with_their_names() {
    let (one, other) = (copy("nothing"), copy("nothing"));
    fs::rename(other.path().join("shoot--a--b"), one.path().join("shoot--c--d")).unwrap();
    let error = load::open(&[one.path().display().to_string()], &|_| None).err().unwrap().to_string();
    assert!(error.contains("shoot--a--b/etcd-main, shoot--c--d/etcd-main"), "{error}");
}
