//! How fast stored pods become JSON text, values and types. `tools/bench decode`; BENCHMARKS.md has the figures.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use ketcd_kube::{Decoder, Release};
use ketcd_store::{EventKind, KeyRange, KeyValue, Revision, Until, WatchItem};
use ketcd_testing::testdata;

/// Every stored version of every pod in a capture.
fn pods(capture: &str) -> Vec<KeyValue> {
    let path = testdata::path(&format!("captures/{capture}/snapshot.db.zst"));
    let source = ketcd_store::load::open(&[path.to_str().unwrap().to_owned()], &|_| None).unwrap();
    let events = source.watch(KeyRange::prefix("/registry/pods/"), Revision(1), Until::Forever);
    let pods = events.filter_map(async |item| match item.unwrap() {
        WatchItem::Event(event) if event.kind == EventKind::Put => Some(event.key_value),
        _ => None,
    });
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(pods.collect())
}

fn decode(criterion: &mut Criterion) {
    let decoder = Decoder::new().with_release(Release(36));
    let all = pods("k136-random");
    let one = all.iter().min_by_key(|pod| pod.value.len().abs_diff(4096)).unwrap();
    let revision = one.mod_revision.0;

    let mut group = criterion.benchmark_group(format!("one pod of {} bytes", one.value.len()));
    group.throughput(Throughput::Bytes(one.value.len() as u64));
    let lean = decoder.clone().without_managed_fields();
    let mut text = Vec::new();
    group.bench_function("to JSON text", |bencher| {
        bencher.iter(|| {
            text.clear();
            decoder.decode_text(&one.key, black_box(&one.value), revision, &mut text).unwrap();
            text.len()
        });
    });
    group.bench_function("to a JSON value", |bencher| bencher.iter(|| decoder.decode(&one.key, black_box(&one.value), revision)));
    group.bench_function("to a typed pod", |bencher| {
        bencher.iter(|| lean.decode_as::<Pod>(&one.key, black_box(&one.value), revision).unwrap());
    });
    group.finish();

    let many: Vec<&KeyValue> = all.iter().cycle().take(10_000).collect();
    let mut group = criterion.benchmark_group("10,000 pods");
    group.sample_size(20).throughput(Throughput::Bytes(many.iter().map(|pod| pod.value.len() as u64).sum()));
    group.bench_function("to JSON text", |bencher| {
        bencher.iter(|| {
            many.iter().fold(0, |total, pod| {
                text.clear();
                decoder.decode_text(&pod.key, &pod.value, pod.mod_revision.0, &mut text).unwrap();
                total + text.len()
            })
        });
    });
    group.bench_function("to typed pods", |bencher| {
        bencher.iter(|| many.iter().filter(|pod| lean.decode_as::<Pod>(&pod.key, &pod.value, pod.mod_revision.0).is_ok()).count());
    });
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
