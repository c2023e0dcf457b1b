//! Database files, read whole and damaged.

use std::io::Write;
use std::path::PathBuf;

use futures_util::StreamExt;
use ketcd_store::{At, Error, Event, EventKind, KeyRange, Origin, Revision, RevisionSpan, Source, Until, Want, WatchItem, load};
use sha2::{Digest, Sha256};

fn capture(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/captures").join(name).to_str().unwrap().to_owned()
}

fn decompressed(name: &str) -> Vec<u8> {
    zstd::decode_all(std::fs::File::open(capture(name)).unwrap()).unwrap()
}

fn open(path: &str) -> Result<Box<dyn Source>, Error> {
    load::open(&[path.to_owned()], &|_| None)
}

fn open_bytes(bytes: &[u8]) -> Result<Box<dyn Source>, Error> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    open(file.path().to_str().unwrap())
}

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn items(source: &dyn Source, keys: KeyRange, from: i64) -> Vec<WatchItem> {
    wait(source.watch(keys, Revision(from), Until::Forever).map(Result::unwrap).collect())
}

fn events(source: &dyn Source, keys: KeyRange) -> Vec<Event> {
    let event = |item| if let WatchItem::Event(event) = item { Some(event) } else { None };
    items(source, keys, 1).into_iter().filter_map(event).collect()
}

/// The digest of one line a change, each with all that is known of it.
fn digest(events: &[Event]) -> String {
    let mut all = Sha256::new();
    for event in events {
        let kv = &event.key_value;
        let kind = match event.kind {
            EventKind::Delete => "DELETED",
            EventKind::Put if kv.version > 1 => "MODIFIED",
            EventKind::Put => "ADDED",
        };
        let value: String = Sha256::digest(&kv.value).iter().map(|byte| format!("{byte:02x}")).take(8).collect();
        let line = format!(
            "{{\"rev\": {}, \"sub\": {}, \"key\": \"{}\", \"type\": \"{kind}\", \"version\": {}, \"create\": {}, \"size\": {}, \"sha\": \"{value}\"}}\n",
            event.revision,
            event.sub_revision,
            std::str::from_utf8(&kv.key).unwrap(),
            kv.version,
            kv.create_revision.0,
            kv.value.len(),
        );
        all.update(line);
    }
    all.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digests were made by another reader of the format, in another language.
#[test]
fn every_change_of_a_database_is_read() {
    let table = [
        ("k120-story/snapshot.db.zst", 1786, 1, None, "a1d9af509c160833e0d9a5059666ac1473c600616ad0375ad7b3bc9dafbf7899"),
        (
            "k120-story/compacted.db.zst",
            1255,
            1072,
            Some(Revision(1072)),
            "108a8673de9754585d4e0ae02852d42ccd5bb2e2940db3fef37764da248b6e19",
        ),
    ];
    for (name, changes, oldest, compacted, wanted) in table {
        let source = open(&capture(name)).unwrap();
        let span = RevisionSpan { oldest: Revision(oldest), newest: Revision(1787), compacted };
        assert_eq!(wait(source.span()).unwrap(), span, "{name}");
        let mut events = events(&*source, KeyRange::all());
        events.retain(|event| event.origin == Origin::Db);
        assert_eq!(events.len(), changes, "{name}");
        assert_eq!(digest(&events), wanted, "{name}");
        let status = wait(source.status()).unwrap();
        assert_eq!(status.problems, Vec::<String>::new(), "{name}");
        assert_eq!(status.in_use_bytes + status.free_bytes, status.file_bytes, "{name}");
    }
}

#[test]
fn compaction_leaves_gaps_that_are_reported() {
    let source = open(&capture("k120-story/compacted.db.zst")).unwrap();
    let mut expected = 2;
    for item in items(&*source, KeyRange::all(), 1) {
        match item {
            WatchItem::Event(event) => {
                assert!(event.revision == Revision(expected) || event.revision == Revision(expected - 1), "unannounced gap at {expected}");
                expected = event.revision.0 + 1;
            }
            WatchItem::Gap { from, to } => {
                assert!(from == Revision(expected) && to >= from && to < Revision(1072), "{from} {to}");
                expected = to.0 + 1;
            }
            WatchItem::Progress(revision) => assert_eq!(revision, Revision(1787)),
        }
    }
    assert_eq!(expected, 1788);
    let asked = At::Revision(Revision(1071));
    let refused = wait(source.range(KeyRange::all(), asked, Want::Keys)).err().unwrap();
    assert!(matches!(refused, Error::Compacted { asked: Revision(1071), oldest: Revision(1072) }), "{refused}");
    assert!(wait(source.range(KeyRange::all(), At::Revision(Revision(1072)), Want::Keys)).is_ok());
    let refused = wait(source.range(KeyRange::all(), At::Revision(Revision(1788)), Want::Keys)).err().unwrap();
    assert!(matches!(refused, Error::Future { asked: Revision(1788), newest: Revision(1787) }), "{refused}");
}

/// The free pages of a compacted file are held against the file before its compaction.
#[test]
fn what_compaction_removed_is_found_in_free_pages_and_true() {
    let key = |event: &Event| (event.revision, event.sub_revision);
    let full: std::collections::HashMap<_, _> = events(&*open(&capture("k120-story/snapshot.db.zst")).unwrap(), KeyRange::all())
        .into_iter()
        .map(|event| (key(&event), event))
        .collect();
    let source = open(&capture("k120-story/compacted.db.zst")).unwrap();
    let mut recovered = 0;
    for event in events(&*source, KeyRange::all()) {
        let truth = &full[&key(&event)];
        assert_eq!((event.kind, &event.key_value), (truth.kind, &truth.key_value));
        recovered += u64::from(event.origin == Origin::FreePage);
    }
    assert_eq!(recovered, 505);
    assert_eq!(wait(source.status()).unwrap().recoverable_freepage, recovered);
    // They hold the past only: a key whose last change came back from there is not alive.
    let listing = wait(source.range(KeyRange::all(), At::Newest, Want::Values)).unwrap();
    let alive: Vec<_> = wait(listing.entries.map(Result::unwrap).collect());
    let full = open(&capture("k120-story/snapshot.db.zst")).unwrap();
    let listing = wait(full.range(KeyRange::all(), At::Newest, Want::Values)).unwrap();
    assert_eq!(alive, wait(listing.entries.map(Result::unwrap).collect::<Vec<_>>()));
}

/// Ranges at every revision equal the changes folded up to it, for all keys and for a few.
#[test]
fn a_range_is_the_fold_of_the_changes_before_it() {
    let source = open(&capture("k120-story/snapshot.db.zst")).unwrap();
    for keys in [KeyRange::all(), KeyRange::prefix("/registry/pods/"), KeyRange::key("/registry/pods/lab/ubuntu"), KeyRange::prefix("/zzz")]
    {
        let mut alive = std::collections::BTreeMap::new();
        let mut changes = events(&*source, keys.clone()).into_iter().peekable();
        for revision in 1..=1787 {
            while let Some(event) = changes.next_if(|event| event.revision.0 <= revision) {
                match event.kind {
                    EventKind::Put => alive.insert(event.key_value.key.clone(), event.key_value),
                    EventKind::Delete => alive.remove(&event.key_value.key),
                };
            }
            if revision % 97 != 0 && revision != 1787 {
                continue;
            }
            let listing = wait(source.range(keys.clone(), At::Revision(Revision(revision)), Want::Values)).unwrap();
            assert_eq!(listing.revision, Revision(revision));
            let listed: Vec<_> = wait(listing.entries.map(Result::unwrap).collect());
            assert_eq!(listed, alive.values().cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_watch_of_some_keys_is_the_watch_of_all_with_others_left_out() {
    let source = open(&capture("k120-story/snapshot.db.zst")).unwrap();
    let all = events(&*source, KeyRange::all());
    for keys in [KeyRange::prefix("/registry/pods/"), KeyRange::prefix("/registry/pods/lab/"), KeyRange::key("/registry/minions/node1")] {
        let wanted: Vec<_> = all.iter().filter(|event| keys.contains(&event.key_value.key)).cloned().collect();
        assert!(!wanted.is_empty());
        assert_eq!(events(&*source, keys), wanted);
    }
}

/// Opens what is left of a file: an error, or some of its changes and no others, with damage reported. Returns how many.
fn left_of(bytes: &[u8], all: &[Event]) -> usize {
    let source = match open_bytes(bytes) {
        Ok(source) => source,
        Err(Error::Format { problem, .. }) => {
            let expected = ["truncated: ", "is empty", "meta", "is neither an etcd database", "cut short"];
            assert!(expected.iter().any(|text| problem.contains(text)), "{} bytes: {problem}", bytes.len());
            return 0;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(source.damage().iter().any(|damage| damage.contains("truncated: ") || damage.contains("cut short")), "{:?}", source.damage());
    let left = events(&*source, KeyRange::all());
    let is_true = |event: &Event| {
        let truth = all.binary_search_by_key(&(event.revision, event.sub_revision), |truth| (truth.revision, truth.sub_revision)).unwrap();
        event.key_value == all[truth].key_value
    };
    assert!(left.iter().all(is_true));
    left.len()
}

#[test]
fn a_database_cut_short_anywhere_gives_what_is_left() {
    let whole = decompressed("k120-story/snapshot.db.zst");
    let all = events(&*open_bytes(&whole).unwrap(), KeyRange::all());
    let left: Vec<usize> = (0..100).map(|n| left_of(&whole[..whole.len() * n / 100], &all)).collect();
    assert!(left[50] > 700 && left[90] > 1400 && left[99] > 1700, "{left:?}");
}

#[test]
fn a_compressed_file_cut_short_gives_what_is_left() {
    let name = "k120-story/snapshot.db.zst";
    let (plain, zstd) = (decompressed(name), std::fs::read(capture(name)).unwrap());
    let all = events(&*open_bytes(&plain).unwrap(), KeyRange::all());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    for packed in [zstd, gzip.finish().unwrap()] {
        let left: Vec<usize> = (1..20).map(|n| left_of(&packed[..packed.len() * n / 20], &all)).collect();
        assert!(left[9] > 500 && left[18] > 1400, "{left:?}");
    }
}

#[test]
fn gzip_is_read_too() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    let source = open_bytes(&packed.finish().unwrap()).unwrap();
    assert_eq!(events(&*source, KeyRange::all()).len(), 1786);
}

#[test]
fn broken_meta_pages_are_reported() {
    let whole = decompressed("k120-story/compacted.db.zst");
    for page in [0, 1] {
        let mut broken = whole.clone();
        broken[page * 4096 + 16 + 20] ^= 0xff;
        let status = wait(open_bytes(&broken).unwrap().status()).unwrap();
        assert!(status.problems[0].starts_with(&format!("meta page {page} is broken")), "{:?}", status.problems);
        assert!(status.problems.last().unwrap().starts_with("the SHA-256 at its end does not hold"), "{:?}", status.problems);
    }
    for wipe in [8..100, 0..8192] {
        let mut broken = whole.clone();
        broken[wipe.clone()].fill(0);
        broken[4096 + 8..4096 + 100].fill(0);
        let source = open_bytes(&broken).unwrap();
        assert!(source.damage()[0].contains("both meta pages are broken"), "{:?}", source.damage());
        assert!(events(&*source, KeyRange::all()).iter().all(|event| event.origin == Origin::FreePage));
    }
}

#[test]
fn what_is_no_database_is_refused() {
    for bytes in [&b""[..], b"hello", b"\0\0\0\0", &[0xff; 9000], &[0; 100_000], b"PK\x03\x04........................"] {
        let error = open_bytes(bytes).err().unwrap();
        assert!(matches!(error, Error::Format { .. }), "{error}");
    }
    assert!(matches!(open("/no/such/file").err().unwrap(), Error::File { .. }));
}

/// What nothing is known of is not unpacked to its end, which may be very far.
#[test]
fn a_compressed_file_of_nothing_known_is_refused_by_its_beginning() {
    let limits = load::Limits { unpacked: 64 << 20, ..load::Limits::default() };
    for filling in [0, 1] {
        let much = vec![filling; 65 << 20];
        let packed = zstd::encode_all(&[&[0; 5000], &much[..]].concat()[..], 1).unwrap();
        let error = load::open_bytes("bomb", packed.into(), &limits, &|_| None).err().unwrap().to_string();
        assert!(error.ends_with("is neither an etcd database nor API objects, plain or compressed"), "{error}");
    }
    // A text may be objects, as far as the limit goes; a database that has lost its beginning is found behind it.
    let spaces = zstd::encode_all(&vec![b' '; 65 << 20][..], 1).unwrap();
    let error = load::open_bytes("spaces", spaces.into(), &limits, &|_| None).err().unwrap().to_string();
    assert!(error.contains("--max-unpacked-size"), "{error}");
    let mut db = decompressed("k136-story/snapshot.db.zst");
    db[..2 << 20].fill(0);
    let source = open_bytes(&zstd::encode_all(&db[..], 1).unwrap()).unwrap();
    assert!(source.damage()[0].contains("both meta pages are broken"), "{:?}", source.damage());
}

/// Damage in the middle of a file costs what it hit and never more, and is reported.
#[test]
fn damage_is_reported_and_the_rest_is_read() {
    let whole = decompressed("k120-story/snapshot.db.zst");
    let all = events(&*open_bytes(&whole).unwrap(), KeyRange::all());
    let mut lost_some = 0;
    for page in (2..whole.len() / 4096).step_by(29) {
        let mut broken = whole.clone();
        broken[page * 4096..page * 4096 + 64].fill(0xa5);
        let Ok(source) = open_bytes(&broken) else { continue };
        let read = events(&*source, KeyRange::all());
        let problems = wait(source.status()).unwrap().problems;
        assert!(!problems.is_empty(), "page {page}");
        let lost = all.len() - read.len();
        if lost > 0 {
            lost_some += 1;
            assert!(problems.len() > 1, "page {page} cost {lost} changes and only the checksum shows it");
            assert!(lost < 400, "page {page} cost {lost} changes");
        }
    }
    assert!(lost_some > 2, "{lost_some}");
}

/// A stand-in for the table of kinds: the test's objects are config maps.
fn key_of(object: &serde_json::Value) -> Option<Vec<u8>> {
    let text = |pointer: &str| object.pointer(pointer)?.as_str();
    (text("/kind")? == "ConfigMap")
        .then(|| format!("/registry/configmaps/{}/{}", text("/metadata/namespace").unwrap(), text("/metadata/name").unwrap()).into())
}

fn objects(text: &str) -> (Vec<String>, Vec<serde_json::Value>, i64, Vec<String>) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let source = load::open(&[file.path().to_str().unwrap().to_owned()], &key_of).unwrap();
    let listing = wait(source.range(KeyRange::all(), At::Newest, Want::Values)).unwrap();
    let revision = listing.revision.0;
    let entries: Vec<_> = wait(listing.entries.map(Result::unwrap).collect());
    let keys = entries.iter().map(|entry| String::from_utf8(entry.key.to_vec()).unwrap()).collect();
    let values = entries.iter().map(|entry| serde_json::from_slice(&entry.value).unwrap()).collect();
    (keys, values, revision, wait(source.status()).unwrap().problems)
}

#[test]
fn api_objects_are_one_revision_however_they_are_written() {
    let one = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x", "resourceVersion": "17"}, "data": {"number": "12345678901234567890"}}"#;
    let two = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "x", "resourceVersion": "12"}}"#;
    let bare = |text: &str| text.replace(r#""apiVersion": "v1", "kind": "ConfigMap", "#, "");
    let yaml = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x, resourceVersion: \"17\"}\ndata:\n  number: \"12345678901234567890\"\n---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: x\n  resourceVersion: \"12\"\n";
    for text in [
        format!("{one}\n{two}\n"),
        format!(r#"{{"apiVersion": "v1", "kind": "List", "metadata": {{"resourceVersion": ""}}, "items": [{two}, {one}]}}"#),
        format!(
            r#"{{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {{"resourceVersion": "17"}}, "items": [{}, {}]}}"#,
            bare(one),
            bare(two)
        ),
        yaml.to_owned(),
    ] {
        let (keys, values, revision, problems) = objects(&text);
        assert_eq!(keys, ["/registry/configmaps/x/a", "/registry/configmaps/x/b"], "{text}");
        assert_eq!(values, [serde_json::from_str::<serde_json::Value>(one).unwrap(), serde_json::from_str(two).unwrap()], "{text}");
        assert_eq!((revision, problems), (17, vec![]), "{text}");
    }
}

#[test]
fn objects_without_a_place_in_etcd_are_reported() {
    let text = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}}\n{\"apiVersion\": \"v9\", \"kind\": \"Odd\", \"metadata\": {\"name\": \"o\"}}";
    let (keys, _, revision, problems) = objects(text);
    assert_eq!((keys.len(), revision), (1, 1));
    assert_eq!(problems, ["v9 Odd o is left out: its kind has no place in etcd that ketcd knows"]);
}

#[test]
fn numbers_of_yaml_keep_their_text() {
    let (_, values, ..) = objects(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\nbig: 9223372036854775807\nsmall: -0.5\nword: \"0x1f\"\nday: 2026-11-20\n",
    );
    assert_eq!(
        values[0].to_string(),
        r#"{"apiVersion":"v1","big":9223372036854775807,"day":"2026-11-20","kind":"ConfigMap","metadata":{"name":"a","namespace":"x"},"small":-0.5,"word":"0x1f"}"#
    );
}

#[test]
fn damage_is_reported_by_every_command() {
    let mut broken = decompressed("k120-story/snapshot.db.zst");
    broken[300 * 4096..300 * 4096 + 64].fill(0xa5);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&broken).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ketcd")).arg("-f").arg(file.path()).args(["ls", "nodes"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("page 300 is damaged: it bears another page's number; revisions from 671 to before 673 may be missing"),
        "{stderr}"
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 5);
}

/// A running etcd holds an exclusive lock on its file; an etcd that starts would wait for ours.
#[test]
fn the_file_of_a_running_etcd_is_read_and_never_locked() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    file.as_file().lock().unwrap();
    let source = open(file.path().to_str().unwrap()).unwrap();
    assert_eq!(events(&*source, KeyRange::all()).len(), 1786);
    assert_eq!(wait(source.status()).unwrap().problems, Vec::<String>::new());

    let mut stopped = tempfile::NamedTempFile::new().unwrap();
    stopped.write_all(&decompressed("k120-story/snapshot.db.zst")).unwrap();
    let _source = open(stopped.path().to_str().unwrap()).unwrap();
    assert!(stopped.as_file().try_lock().is_ok(), "the file is still locked");
}
