//! What a year of recordings costs: a file an hour and a state a day, the time of each question and the heap it needs at its peak.
//! `tools/bench recording`; BENCHMARKS.md has the figures. `KETCD_RECORDING_DIR=DIR` keeps the recording there.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod heap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::{FutureExt, StreamExt, TryStreamExt};
use heap::{measure, number, version};
use ketcd_store::recording::{Recorder, RecorderOptions, RecordingScope};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Sources, Until, Want, WatchItem, load};

const RECORDED_HOURS: i64 = 365 * 24;
/// Changes of an hour.
const CHANGES_PER_HOUR: i64 = 120;
const VALUE_BYTES: usize = 600;

/// Records a year; a file is full with the changes of an hour.
fn record(directory: &Path) {
    let options = RecorderOptions { file_bytes: 1, ..RecorderOptions::default() };
    let scope = RecordingScope { cluster_id: Some("1234".to_owned()), ..RecordingScope::default() };
    let mut recorder = Recorder::open(directory, &scope, options).unwrap();
    recorder.begin_after(Revision(1));
    let mut versions: BTreeMap<i64, KeyValue> = BTreeMap::new();
    for hour in 0..RECORDED_HOURS {
        for main in (hour * CHANGES_PER_HOUR).max(1) + 1..=(hour + 1) * CHANGES_PER_HOUR {
            let key_value = version(main, versions.get(&number(main)), VALUE_BYTES);
            versions.insert(number(main), key_value.clone());
            let revision = Revision(main);
            let event =
                Event { revision, sub_revision: 0, kind: EventKind::Put, key_value, origin: Origin::Live, sources: Sources::default() };
            recorder.change(&event).unwrap();
        }
        recorder.complete(Revision((hour + 1) * CHANGES_PER_HOUR)).unwrap();
        recorder.flush().unwrap();
        if hour % 24 == 23 {
            recorder.begin_state(Revision((hour + 1) * CHANGES_PER_HOUR)).unwrap();
            versions.values().for_each(|entry| recorder.state_entry(entry).unwrap());
            recorder.end_state().unwrap();
        }
    }
}

fn state(source: &dyn Source, at: At) -> usize {
    let listing = source.range(KeyRange::all(), at, Want::Values).now_or_never().unwrap().unwrap();
    listing.entries.try_fold(0, |count, _| async move { Ok(count + 1) }).now_or_never().unwrap().unwrap()
}

fn changes(source: &dyn Source, keys: KeyRange, from: Revision) -> usize {
    let items = source.watch(keys, from, Until::Forever).map(Result::unwrap);
    items.filter(|item| std::future::ready(matches!(item, WatchItem::Event(_)))).count().now_or_never().unwrap()
}

fn main() {
    let kept = std::env::var_os("KETCD_RECORDING_DIR").map(PathBuf::from);
    let temporary = tempfile::tempdir().unwrap();
    let directory = kept.as_deref().unwrap_or(temporary.path());
    if std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none()) {
        measure("recording a year", || record(directory));
    }
    let files: Vec<u64> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
    println!("{} files, {:.0} MiB, {} revisions", files.len(), files.iter().sum::<u64>() as f64 / f64::from(1 << 20), RECORDED_HOURS * CHANGES_PER_HOUR);
    let path = directory.to_str().unwrap().to_owned();
    let source = measure("opening it", || load::open(&[path], &|_| None).unwrap());
    measure("the newest state", || state(&*source, At::Newest));
    measure("the state of a revision half a year ago", || state(&*source, At::Revision(Revision(RECORDED_HOURS * CHANGES_PER_HOUR / 2))));
    let day = Revision(RECORDED_HOURS * CHANGES_PER_HOUR - 24 * CHANGES_PER_HOUR);
    measure("the changes of the last day", || changes(&*source, KeyRange::all(), day));
    measure("every change of one object", || changes(&*source, KeyRange::key("/registry/configmaps/lab/c1007"), Revision(1)));
}
