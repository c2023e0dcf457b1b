//! How fast a database is opened with what its free pages hold, one without meta pages, and a data dir whose log is replayed.
//! `tools/bench recover`; BENCHMARKS.md has the figures.

use std::hint::black_box;
use std::io::Read;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ketcd_store::load;
use ketcd_testing::testdata;

fn decompressed(name: &str) -> Vec<u8> {
    testdata::read(&format!("captures/{name}"))
}

/// A recorded data dir: its database, and its log's files with their names.
fn member(name: &str) -> (Bytes, Vec<(String, Bytes)>) {
    let tar = decompressed(name);
    let (mut db, mut log) = (Bytes::new(), Vec::new());
    for entry in tar::Archive::new(&tar[..]).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if path.ends_with("snap/db") {
            db = bytes.into();
        } else if path.extension().is_some_and(|extension| extension == "wal") {
            log.push((path.file_name().unwrap().to_string_lossy().into_owned(), bytes.into()));
        }
    }
    (db, log)
}

fn recover(criterion: &mut Criterion) {
    let open = |db: &Bytes| load::open_bytes("db", black_box(db.clone()), &load::Limits::default(), &|_| None).unwrap();
    let compacted = Bytes::from(decompressed("k136-story/compacted.db.zst"));
    let mut without_metas = compacted.to_vec();
    without_metas[..2 * 4096].fill(0);
    let without_metas = Bytes::from(without_metas);
    let mut group = criterion.benchmark_group("pages");
    group.throughput(Throughput::Bytes(compacted.len() as u64));
    group.bench_function("a compacted database with its free pages", |bencher| bencher.iter(|| open(&compacted)));
    group.bench_function("a database without meta pages", |bencher| bencher.iter(|| open(&without_metas)));
    group.finish();

    let mut group = criterion.benchmark_group("log replay");
    for (what, name) in [("from the beginning", "k136-story/member.tar.zst"), ("of a compacted member", "k136-live/member.tar.zst")] {
        let (db, log) = member(name);
        group.bench_function(what, |bencher| bencher.iter(|| load::open_member("member", black_box(db.clone()), log.clone()).unwrap()));
    }
    group.finish();
}

criterion_group!(benches, recover);
criterion_main!(benches);
