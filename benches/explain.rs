//! How fast the state is built and pods are judged. `cargo bench --bench explain`; the numbers are in BENCHMARKS.md.
//! `KETCD_SCALE_CAPTURE=FILE` measures a large cluster's file in the same ways.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::StreamExt;
use ketcd::cluster::{Encoded, ObjectKey, read_ahead};
use ketcd::kube::Decoder;
use ketcd::scheduler::{Attempt, Cycle, Gates, NEWEST_SCHEDULER, Profile, Replay, Scheduler, VersionFrom};
use ketcd::store::{Event, EventKind, KeyRange, Revision, Until, WatchItem};

fn scheduler() -> Scheduler {
    let release = NEWEST_SCHEDULER;
    Scheduler {
        profiles: vec![Profile::new(release, Gates::new(release))],
        version: VersionFrom { release, patch: None, evidence: "the benchmark's".to_owned() },
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

/// Walks a history as the command does: the next versions are read while the last are taken in. Attempts are explained if `explained` says so of their number.
fn walk(events: &[(ObjectKey, Event)], decoder: &Decoder, explained: impl Fn(usize) -> bool) -> (Replay, Vec<Attempt>) {
    let mut replay = Replay::new(scheduler(), true);
    let mut attempts: Vec<Attempt> = Vec::new();
    let taken: Result<(), std::convert::Infallible> = read_ahead(
        events,
        |(key, event)| {
            let (name, value) = (&event.key_value.key, &event.key_value.value);
            let stored =
                (event.kind == EventKind::Put).then_some(Encoded::Stored { decoder, key: name, value, mod_revision: event.revision.0 });
            Some((key, stored.map(|stored| stored.ahead(key.kind)), event.revision.0))
        },
        |(key, stored, revision)| {
            for attempt in replay.advance(key, stored, revision) {
                if explained(attempts.len()) {
                    black_box(replay.explain(attempt.clone()));
                } else {
                    replay.pass_over(&attempt);
                }
                attempts.push(attempt);
            }
            Ok(())
        },
    );
    taken.unwrap();
    (replay, attempts)
}

/// A file's state, its attempts explained, and pods judged, each apart.
fn measure(criterion: &mut Criterion, name: &str, file: &str) {
    let decoder = Decoder::new();
    let events = events(file);
    let (replay, attempts) = walk(&events, &decoder, |_| false);
    let profile = &replay.scheduler().profiles[0];
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    group.bench_function("the state of the whole history", |bencher| bencher.iter(|| walk(&events, &decoder, |_| false)));
    let last = attempts.len() - 1;
    group.bench_function("the state, and its last attempt explained", |bencher| bencher.iter(|| walk(&events, &decoder, |at| at == last)));
    let title = format!("the state, and all {} attempts explained", attempts.len());
    group.bench_function(title, |bencher| bencher.iter(|| walk(&events, &decoder, |_| true)));
    let judged = |attempt: &Attempt| black_box(Cycle::new(&attempt.pod, replay.state(), profile).judge());
    let title = format!("the last pod judged on {} nodes, {} pods", replay.state().node_count(), replay.state().pods().count());
    group.bench_function(title, |bencher| bencher.iter(|| judged(&attempts[last])));
    let title = format!("all {} pods judged there", attempts.len());
    group.bench_function(title, |bencher| {
        bencher.iter(|| {
            attempts.iter().for_each(|attempt| {
                judged(attempt);
            })
        })
    });
    group.finish();
}

fn explain(criterion: &mut Criterion) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/captures/k136-random/snapshot.db.zst");
    measure(criterion, "k136-random", file.to_str().unwrap());
    if let Ok(file) = std::env::var("KETCD_SCALE_CAPTURE") {
        measure(criterion, "large cluster", &file);
    }
}

criterion_group!(benches, explain);
criterion_main!(benches);
