//! Sampled clocks against what a watcher beside etcd saw: when each revision really came.

use ketcd_store::load::Limits;
use ketcd_testing::testdata;
use serde_json::Value;

use super::*;
use crate::options::{Options, ReleaseChoice};

/// How long etcd may have taken to commit and to tell, in seconds.
const COMMIT_LAG_SECONDS: f64 = 0.05;

fn recorded() -> Vec<(Revision, f64)> {
    let text = String::from_utf8(testdata::read("captures/k136-clock/times.jsonl.zst")).unwrap();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (Revision(line["rev"].as_i64().unwrap()), line["time"].as_f64().unwrap())
    };
    text.lines().map(line).collect()
}

/// The half of the revisions is dated with no more than this error; panics where one is dated wrong.
fn median_error(clock: &Clock, recorded: &[(Revision, f64)]) -> f64 {
    let mut errors = Vec::new();
    for &(revision, time) in recorded {
        let Some(dated) = clock.date(revision) else { continue };
        let off = (dated.time.as_microsecond() as f64 / 1e6 - time).abs();
        assert!(off <= dated.error + COMMIT_LAG_SECONDS, "r{revision} came at {time} and is dated {} ±{}", dated.time, dated.error);
        errors.push(dated.error);
    }
    assert!(errors.len() > recorded.len() * 9 / 10, "{} of {} are dated", errors.len(), recorded.len());
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn samples_date_truly_and_more_closely_around_what_was_asked() {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let source =
            crate::files::open(&[testdata::path("captures/k136-clock/snapshot.db.zst").to_str().unwrap().to_owned()], &Limits::default())
                .unwrap()
                .source;
        let cluster = Cluster::open(source, Options { release: ReleaseChoice::Any, ..Options::default() }).await.unwrap();
        let span = cluster.source.span().await.unwrap();
        let clock = cluster.sample(span).await.unwrap();
        cluster.dates.clock.set(Arc::new(clock.clone())).unwrap();
        let recorded = recorded();
        let first = median_error(&clock, &recorded);
        assert!(first < 5.0, "{first} s");
        let some: Vec<_> = recorded.iter().step_by(recorded.len() / 40).copied().collect();
        let revisions: Vec<Revision> = some.iter().map(|(revision, _)| *revision).collect();
        let nearer = median_error(&cluster.clock_around(&revisions, &[]).await.unwrap(), &some);
        assert!(nearer <= median_error(&clock, &some) && nearer < 1.5, "{nearer} s");
    });
}
