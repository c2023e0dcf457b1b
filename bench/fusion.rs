//! What a year of nightly snapshots costs as one history: the time of each question and the heap it needs at its peak.
//! `tools/bench fusion`; BENCHMARKS.md has the figures. `KETCD_FUSION_DIR=DIR` keeps the snapshots there.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod heap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::{FutureExt, StreamExt, TryStreamExt};
use heap::{measure, number, version};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Sources, Until, Want, WatchItem, load};

const SNAPSHOT_NIGHTS: i64 = 365;
/// Changes between two snapshots, and those of the five minutes since the last compaction.
const CHANGES_PER_NIGHT: i64 = 3000;
const RECENT_CHANGES: i64 = 300;
const VALUE_BYTES: usize = 1000;

fn event(key_value: &KeyValue) -> Event {
    let (revision, key_value) = (key_value.mod_revision, key_value.clone());
    Event { revision, sub_revision: 0, kind: EventKind::Put, key_value, origin: Origin::Db, sources: Sources::default() }
}

/// Writes the snapshots, one a night.
fn write(directory: &Path) -> Vec<PathBuf> {
    let mut versions: BTreeMap<i64, KeyValue> = BTreeMap::new();
    let mut files = Vec::new();
    for night in 1..=SNAPSHOT_NIGHTS {
        let (newest, compacted) = (night * CHANGES_PER_NIGHT, night * CHANGES_PER_NIGHT - RECENT_CHANGES);
        let mut history: Vec<Event> = Vec::new();
        for main in ((night - 1) * CHANGES_PER_NIGHT).max(1) + 1..=newest {
            let (number, version) = (number(main), version(main, versions.get(&number(main)), VALUE_BYTES));
            if main > compacted {
                history.push(event(&version));
            }
            versions.insert(number, version);
            if main == compacted {
                history.extend(versions.values().map(event));
                history.sort_by_key(|event| event.revision);
            }
        }
        let path = directory.join(format!("night{night:03}.db"));
        std::fs::write(&path, ketcd_testing::database!(&history, newest, Some(compacted), false)).unwrap();
        files.push(path);
    }
    files
}

fn open(files: &[PathBuf]) -> Box<dyn Source> {
    let paths: Vec<String> = files.iter().map(|file| file.to_str().unwrap().to_owned()).collect();
    load::open(&paths, &|_| None).unwrap()
}

fn state(source: &dyn Source, at: i64) -> usize {
    let listing = source.range(KeyRange::all(), At::Revision(Revision(at)), Want::Values).now_or_never().unwrap().unwrap();
    listing.entries.try_fold(0, |count, _| async move { Ok(count + 1) }).now_or_never().unwrap().unwrap()
}

fn changes(source: &dyn Source, keys: KeyRange) -> usize {
    let items = source.watch(keys, Revision(1), Until::Forever).map(Result::unwrap);
    items.filter(|item| std::future::ready(matches!(item, WatchItem::Event(_)))).count().now_or_never().unwrap()
}

fn main() {
    let kept = std::env::var_os("KETCD_FUSION_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let directory = kept.as_deref().unwrap_or(temporary.path());
    let files = write(directory);
    let bytes: u64 = files.iter().map(|file| std::fs::metadata(file).unwrap().len()).sum();
    println!("{} snapshots, {:.0} MiB, {} revisions", files.len(), bytes as f64 / f64::from(1 << 20), SNAPSHOT_NIGHTS * CHANGES_PER_NIGHT);
    let source = measure("opening one of them", || open(&files[..1]));
    measure("the state of its newest revision", || state(&*source, CHANGES_PER_NIGHT));
    drop(source);
    let source = measure("opening all", || open(&files));
    measure("the state of a revision half a year ago", || state(&*source, 180 * CHANGES_PER_NIGHT));
    measure("the state of another one", || state(&*source, 90 * CHANGES_PER_NIGHT));
    measure("every change of one object", || changes(&*source, KeyRange::key("/registry/configmaps/lab/c0007")));
    measure("the same again", || changes(&*source, KeyRange::key("/registry/configmaps/lab/c0007")));
    let told = measure("every change that is left", || changes(&*source, KeyRange::all()));
    println!("{told} changes");
}
