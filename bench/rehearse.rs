//! What rehearsing a restore takes: a snapshot, opened twice, is held against an older state of itself, as if a backup of that revision were restored over it.
//! `tools/bench rehearse SNAPSHOT [REVISION]`, the recorded cluster and the middle of its revisions without them; BENCHMARKS.md has the figures.

use std::env;
use std::time::Instant;

use ketcd_cluster::rehearse::{RehearseAsked, rehearse};
use ketcd_cluster::{At, Cluster, Options, Revision, files};
use ketcd_store::load::Limits;
use ketcd_testing::heap::{Counting, peak};
use ketcd_testing::testdata;

#[global_allocator]
static COUNTING: Counting = Counting;

async fn open(file: &str, at: At) -> Cluster {
    let source = files::open(&[file.to_owned()], &Limits::default()).unwrap().source;
    Cluster::open(source, Options { at, ..Options::default() }).await.unwrap()
}

/// Holds the snapshot against itself; returns how many forecasts there are and about how many objects.
async fn rehearsed(file: &str, revision: Option<i64>) -> (usize, usize) {
    let newest = open(file, At::Newest).await;
    let span = newest.source.span().await.unwrap();
    let revision = revision.map_or(Revision(i64::midpoint(span.oldest.0, span.newest.0)), Revision);
    let backup = open(file, At::Revision(revision)).await;
    let rehearsal = rehearse(&backup, &[&newest], &RehearseAsked::default()).await.unwrap();
    (rehearsal.forecasts.len(), rehearsal.forecasts.iter().map(|forecast| forecast.count).sum())
}

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let recorded = || testdata::path("captures/k136-story/snapshot.db.zst").to_str().unwrap().to_owned();
    let file = words.first().cloned().unwrap_or_else(recorded);
    let revision = words.get(1).map(|revision| revision.parse().expect("a revision"));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let begun = Instant::now();
    let ((forecasts, objects), heap) = peak(|| runtime.block_on(rehearsed(&file, revision)));
    let (seconds, mebibytes) = (begun.elapsed().as_secs_f64(), heap as f64 / f64::from(1 << 20));
    println!("{file}: {forecasts} forecasts about {objects} objects {seconds:>8.2} s {mebibytes:>8.1} MiB of heap");
}
