//! Files: databases, data dirs and API objects, opened as a command opens them.

use std::fs;
use std::path::Path;

use futures_util::{FutureExt, StreamExt};
use ketcd_render::yaml as writer;
use ketcd_store::{At, Event, KeyRange, KeyValue, Origin, Revision, RevisionSpan, Source, Until, Want, WatchItem, load};
use serde_json::{Number, Value};
use tempfile::TempDir;

use super::log::{self, SNAPSHOT_RECORD};

/// A small database before and after a compaction, and the log that reaches from its cluster's beginning beyond both.
const WHOLE_DATABASE: &[u8] = include_bytes!("../seeds/bolt/whole");
const COMPACTED_DATABASE: &[u8] = include_bytes!("../seeds/bolt/compacted");
const WHOLE_LOG: &[u8] = include_bytes!("../seeds/wal/whole");

/// A database of kine before the changes that a log beside it holds.
const BEFORE_LOG: &[u8] = include_bytes!("../seeds/kine/before-log");

/// What a source gives.
pub(super) struct Contents {
    span: RevisionSpan,
    problems: Vec<String>,
    events: Vec<Event>,
    /// The keys alive at the newest revision.
    alive: Vec<KeyValue>,
}

/// A database file.
pub fn bolt(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("db");
    fs::write(&path, data).unwrap();
    if let Ok(contents) = open(&path) {
        hold(&contents);
    }
}

/// The log of a data dir whose database is whole: it adds to what the database says, and where it changes something of it, that is reported.
pub fn wal(data: &[u8]) {
    for database in [WHOLE_DATABASE, COMPACTED_DATABASE] {
        let directory = data_dir(database, data);
        let alone = source(&directory.path().join("member/snap/db")).unwrap();
        let both = source(directory.path()).unwrap_or_else(|error| panic!("the log takes away the database: {error}"));
        let (of_alone, of_both) = (contents(&*alone), contents(&*both));
        hold(&of_both);
        assert!(of_both.span.newest >= of_alone.span.newest, "{:?} of {:?}", of_both.span, of_alone.span);
        let of_database = |contents: Contents| contents.events.into_iter().filter(|event| event.origin == Origin::Db).collect::<Vec<_>>();
        let span = of_alone.span;
        if of_both.problems != of_alone.problems {
            continue;
        }
        assert_eq!(of_database(of_both), of_database(of_alone));
        for at in span.oldest.0..=span.newest.0 {
            assert_eq!(alive(&*both, at), alive(&*alone, at), "at {at}");
        }
    }
}

/// Raft's snapshots: a record of one in the log, and a `.snap` file beside the database. Neither holds keys, so neither changes an answer.
pub fn raft_snapshot(data: &[u8]) {
    let mut records = log::records(WHOLE_LOG);
    let without = data_dir(COMPACTED_DATABASE, &log::file(&records));
    records.insert(data.len() % records.len(), (SNAPSHOT_RECORD, data.to_vec()));
    let with = data_dir(COMPACTED_DATABASE, &log::file(&records));
    fs::write(with.path().join("member/snap/0000000000000002-0000000000000005.snap"), data).unwrap();
    let (mut with, without) = (open(with.path()).unwrap(), open(without.path()).unwrap());
    hold(&with);
    with.problems.retain(|problem| !problem.ends_with("holds a record that cannot be read"));
    assert_eq!((with.span, with.problems), (without.span, without.problems));
    assert_eq!((with.events, with.alive), (without.events, without.alive));
}

/// kine's SQLite database, or the log beside one: alone, and a log beside the database whose it may be.
pub fn kine(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("state.db");
    fs::write(&path, data).unwrap();
    if let Ok(contents) = open(&path) {
        hold(&contents);
    }
    fs::write(&path, BEFORE_LOG).unwrap();
    fs::write(directory.path().join("state.db-wal"), data).unwrap();
    hold(&open(&path).unwrap_or_else(|error| panic!("the log takes away the database: {error}")));
}

/// kine's table as PostgreSQL and MySQL print it.
pub fn kine_export(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("kine");
    fs::write(&path, data).unwrap();
    if let Ok(contents) = open(&path) {
        hold(&contents);
    }
}

/// Gives a log of SQLite and each of its frames the checksums that hold; other files are left as they are.
pub fn mend_sqlite_log(file: &mut [u8]) {
    const LOG_HEADER_BYTES: usize = 32;
    const FRAME_HEADER: usize = 24;
    let Some((&[0x37, 0x7f, 0x06, order @ (0x82 | 0x83)], _)) = file.split_first_chunk() else { return };
    let word = |bytes: &[u8]| {
        let bytes = bytes.try_into().expect("four bytes");
        if order == 0x83 { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    let sum = |bytes: &[u8], (one, two): (u32, u32)| {
        bytes.chunks_exact(8).fold((one, two), |(one, two), pair| {
            let one = one.wrapping_add(word(&pair[..4])).wrapping_add(two);
            (one, two.wrapping_add(word(&pair[4..])).wrapping_add(one))
        })
    };
    let Some(header) = file.get(..LOG_HEADER_BYTES) else { return };
    let page = u32::from_be_bytes(header[8..12].try_into().expect("four bytes")) as usize;
    let salts: [u8; 8] = header[16..24].try_into().expect("eight bytes");
    let mut sums = sum(&header[..24], (0, 0));
    let mut place = 24;
    let mut next = LOG_HEADER_BYTES;
    loop {
        file[place..place + 4].copy_from_slice(&sums.0.to_be_bytes());
        file[place + 4..place + 8].copy_from_slice(&sums.1.to_be_bytes());
        let Some(frame) = (page > 0).then(|| file.get_mut(next..next.saturating_add(FRAME_HEADER).saturating_add(page))).flatten() else {
            return;
        };
        frame[8..16].copy_from_slice(&salts);
        sums = sum(&frame[FRAME_HEADER..], sum(&frame[..8], sums));
        place = next + 16;
        next += FRAME_HEADER + page;
    }
}

/// API objects. What is loaded, written as YAML, loads as the same.
pub fn yaml(data: &[u8]) {
    let directory = directory();
    let path = directory.path().join("objects");
    fs::write(&path, data).unwrap();
    let Ok(contents) = open(&path) else { return };
    hold(&contents);
    let objects = objects(&contents);
    let mut stream = Vec::new();
    for (_, object) in &objects {
        stream.extend_from_slice(b"---\n");
        writer::write(object, &mut stream).unwrap();
    }
    let again = directory.path().join("again");
    fs::write(&again, &stream).unwrap();
    if objects.is_empty() {
        return;
    }
    let again = open(&again).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&stream)));
    assert_eq!(objects_by_float(objects), objects_by_float(self::objects(&again)), "{}", String::from_utf8_lossy(&stream));
}

/// Text files with a secret in them that are no source, or hold what cannot be read: the secret is in no error, and each is short.
pub fn error_text(data: &[u8]) {
    const SECRET_TEXT: &str = "Zq7wXk9vTb3m";
    let at = data.first().map_or(0, |&first| usize::from(first) * data.len() / 256);
    let data = [&data[..at], SECRET_TEXT.as_bytes(), &data[at..]].concat();
    let directory = directory();
    let path = directory.path().join("file");
    fs::write(&path, &data).unwrap();
    let said = match open(&path) {
        Err(error) => vec![error],
        // What is left out is named; what cannot be read is not.
        Ok(contents) => contents.problems.into_iter().filter(|problem| problem.contains("cannot be read")).collect(),
    };
    for message in said {
        assert!(!message.contains(&SECRET_TEXT[..6]) && !message.contains(&SECRET_TEXT[6..]), "{message}");
        assert!(message.len() < 1000, "{message}");
    }
}

fn objects(contents: &Contents) -> Vec<(String, Value)> {
    let object = |event: &Event| {
        let key = String::from_utf8(event.key_value.key.to_vec()).unwrap();
        (key, serde_json::from_slice(&event.key_value.value).unwrap())
    };
    contents.events.iter().map(object).collect()
}

/// The objects with every number as YAML's readers take it: what fits no integer of 64 bits is a float, and `1.50` is `1.5`.
fn objects_by_float(objects: Vec<(String, Value)>) -> Vec<(String, Value)> {
    fn by_float(value: Value) -> Value {
        match value {
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), ..) => whole.into(),
                (_, Some(whole), _) => whole.into(),
                // As to Go, 644.0 is 644.
                (.., Some(float)) if float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
                (.., float) => float.and_then(Number::from_f64).map_or_else(|| number.as_str().into(), Value::Number),
            },
            Value::Array(items) => items.into_iter().map(by_float).collect(),
            Value::Object(members) => members.into_iter().map(|(name, value)| (name, by_float(value))).collect(),
            other => other,
        }
    }
    objects.into_iter().map(|(key, object)| (key, by_float(object))).collect()
}

pub(super) fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn data_dir(database: &[u8], log: &[u8]) -> TempDir {
    let directory = directory();
    for folder in ["member/snap", "member/wal"] {
        fs::create_dir_all(directory.path().join(folder)).unwrap();
    }
    fs::write(directory.path().join("member/snap/db"), database).unwrap();
    fs::write(directory.path().join("member/wal/0000000000000000-0000000000000000.wal"), log).unwrap();
    directory
}

fn source(path: &Path) -> Result<Box<dyn Source>, String> {
    load::open(&[path.to_str().unwrap().to_owned()], &key_of).map_err(|error| error.to_string())
}

pub(super) fn open(path: &Path) -> Result<Contents, String> {
    source(path).map(|source| contents(&*source))
}

fn contents(source: &dyn Source) -> Contents {
    let status = source.status().now_or_never().unwrap().unwrap();
    let items = source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect::<Vec<_>>();
    let events = items.now_or_never().unwrap().into_iter();
    let events = events.filter_map(|item| if let WatchItem::Event(event) = item { Some(event) } else { None }).collect();
    let span = source.span().now_or_never().unwrap().unwrap();
    Contents { span, problems: status.problems, events, alive: alive(source, span.newest.0).unwrap() }
}

fn alive(source: &dyn Source, at: i64) -> Result<Vec<KeyValue>, String> {
    let listing = source.range(KeyRange::all(), At::Revision(Revision(at)), Want::Values).now_or_never().unwrap();
    listing.map(|listing| listing.entries.map(Result::unwrap).collect().now_or_never().unwrap()).map_err(|error| error.to_string())
}

/// A key for whatever has a version, a kind and a name.
fn key_of(object: &Value) -> Option<Vec<u8>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (_, kind, name) = (text("/apiVersion")?, text("/kind")?, text("/metadata/name")?);
    Some(format!("/registry/{kind}/{}/{name}", text("/metadata/namespace").unwrap_or_default()).into_bytes())
}

/// What is true of every source: each change comes once and in order, and what is alive at the end was written and not deleted since. What comes from
/// pages that no tree reaches is history, and may be alive only where damage is reported.
pub(super) fn hold(contents: &Contents) {
    let Contents { span, events, alive, problems } = contents;
    assert!(span.oldest <= span.newest, "{span:?}");
    let place = |event: &Event| (event.revision, event.sub_revision);
    assert!(events.is_sorted_by(|one, next| place(one) < place(next)), "changes out of order, or twice");
    assert!(alive.is_sorted_by(|one, next| one.key < next.key), "keys out of order, or twice");
    for key_value in alive {
        assert!(!key_value.key.is_empty() && key_value.mod_revision <= span.newest, "{key_value:?}");
        let of_key = |event: &&Event| event.key_value.key == key_value.key && event.revision <= span.newest;
        let certain = events.iter().rev().filter(of_key).find(|event| event.origin != Origin::FreePage);
        let is_recovered = |event: &&Event| {
            event.origin == Origin::FreePage && certain.is_none_or(|certain| place(certain) < place(event)) && event.key_value == *key_value
        };
        if !problems.is_empty() && events.iter().filter(of_key).any(|event| is_recovered(&event)) {
            continue;
        }
        assert_eq!(certain.map(|event| &event.key_value), Some(key_value), "what is alive is not what was written last");
    }
}
