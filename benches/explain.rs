//! How fast the state is built and pods are judged. `cargo bench --bench explain`; the numbers are in BENCHMARKS.md.
//! `KETCD_SCALE_CAPTURE=FILE` adds a large cluster's file: its last recorded attempts are judged too.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::StreamExt;
use ketcd::cluster::{Encoded, ObjectKey};
use ketcd::kube::Decoder;
use ketcd::scheduler::{Attempt, Cycle, Gates, NEWEST_SCHEDULER, Profile, Replay, Scheduler, VersionFrom};
use ketcd::store::{Event, EventKind, KeyRange, Revision, Until, WatchItem};

fn scheduler() -> Scheduler {
    let release = NEWEST_SCHEDULER;
    Scheduler {
        profiles: vec![Profile::new(release, Gates::new(release))],
        version: VersionFrom { release, evidence: "the benchmark's".to_owned() },
        recorded: release,
        configured: false,
    }
}

/// The changes of a file that a scheduler watches.
fn events(file: &str) -> Vec<(ObjectKey, Event)> {
    let source = ketcd::store::load::open(&[file.to_owned()], &|_| None).unwrap();
    let events = source.watch(KeyRange::prefix("/registry/"), Revision(1), Until::Forever).filter_map(async |item| {
        let WatchItem::Event(event) = item.unwrap() else { return None };
        let path = std::str::from_utf8(&event.key_value.key).unwrap().strip_prefix("/registry/")?;
        Some((ObjectKey::parse(path)?, event))
    });
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(events.collect())
}

fn feed(replay: &mut Replay, decoder: &Decoder, (key, event): &(ObjectKey, Event)) -> Vec<Attempt> {
    let (name, value) = (&event.key_value.key, &event.key_value.value);
    let stored = (event.kind == EventKind::Put).then_some(Encoded::Stored { decoder, key: name, value, mod_revision: event.revision.0 });
    replay.advance(key, stored, event.revision.0)
}

/// Walks a history; every attempt is explained, or only passed over.
fn walk(events: &[(ObjectKey, Event)], decoder: &Decoder, explain: bool) -> (Replay, Option<Attempt>) {
    let mut replay = Replay::new(scheduler(), true);
    let mut last = None;
    for event in events {
        for attempt in feed(&mut replay, decoder, event) {
            last = Some(attempt.clone());
            if explain {
                black_box(replay.explain(attempt));
            } else {
                replay.pass_over(&attempt);
            }
        }
    }
    (replay, last)
}

fn explain(criterion: &mut Criterion) {
    let decoder = Decoder::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-random/snapshot.db.zst");
    let random = events(file.to_str().unwrap());
    let mut group = criterion.benchmark_group("k136-random");
    group.sample_size(10);
    group.bench_function("state of the whole history", |bencher| bencher.iter(|| walk(&random, &decoder, false)));
    group.bench_function("explain --all", |bencher| bencher.iter(|| walk(&random, &decoder, true)));
    judge(&mut group, &random, &decoder);
    group.finish();

    if let Ok(file) = std::env::var("KETCD_SCALE_CAPTURE") {
        let large = events(&file);
        let mut group = criterion.benchmark_group("large cluster");
        group.sample_size(10);
        judge(&mut group, &large, &decoder);
        group.finish();
    }
}

/// Judging alone, on the state at the end of a history.
fn judge(group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>, events: &[(ObjectKey, Event)], decoder: &Decoder) {
    let (replay, last) = walk(events, decoder, false);
    let pod = last.unwrap().pod;
    let profile = &replay.scheduler().profiles[0];
    let title = format!("one pod judged on {} nodes, {} pods", replay.state().node_count(), replay.state().pods().count());
    group.bench_function(title, |bencher| bencher.iter(|| Cycle { pod: &pod, state: replay.state(), profile }.judge()));
}

criterion_group!(benches, explain);
criterion_main!(benches);
