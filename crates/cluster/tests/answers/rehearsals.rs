//! Restores that were really done: each forecast is held against what came of it. `tools/rehearsals` makes the recordings.

use std::fs;

use ketcd_cluster::rehearse::{ForecastKind, Outcome, Rehearsal, RehearseAsked, Scored, compare, rehearse};
use ketcd_cluster::{Cluster, Options};
use ketcd_testing::testdata;
use serde_json::Value;

use crate::fixture::open;

/// What is recorded of each experiment.
fn experiments() -> Vec<Value> {
    let rows = fs::read_to_string(testdata::path("rehearsals/scores.jsonl")).unwrap();
    rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn text<'v>(experiment: &'v Value, field: &str) -> &'v str {
    experiment[field].as_str().unwrap()
}

async fn state(experiment: &Value, entry: &str) -> Cluster {
    let archive = testdata::path(&format!("rehearsals/{}.tar.zst", text(experiment, "experiment")));
    open(&[format!("{}::{entry}", archive.display())], Options::default()).await.unwrap()
}

/// The forecast of an experiment, and what became of it.
async fn done(experiment: &Value) -> (Rehearsal, Vec<Scored>) {
    let backup = state(experiment, "backup.db").await;
    let mut newest = Vec::new();
    for entry in experiment["newest"].as_array().unwrap() {
        newest.push(state(experiment, entry.as_str().unwrap()).await);
    }
    let over: Vec<&Cluster> = newest.iter().collect();
    let asked = RehearseAsked { now: Some(text(experiment, "now").parse().unwrap()), ..RehearseAsked::default() };
    let rehearsal = rehearse(&backup, &over, &asked).await.unwrap();
    let scored = compare(&rehearsal, &state(experiment, "after.db").await).await.unwrap();
    (rehearsal, scored)
}

#[tokio::test]
async fn no_forecast_of_a_restore_that_was_done_is_wrong() {
    let experiments = experiments();
    assert!(experiments.len() >= 12, "{}", experiments.len());
    for experiment in &experiments {
        let (rehearsal, scored) = done(experiment).await;
        assert_eq!(rehearsal.is_of_one_cluster, Some(true), "{experiment}");
        let of = |outcome: Outcome| scored.iter().filter(|one| one.outcome == outcome).collect::<Vec<_>>();
        // A restore that did not raise revisions is told so, and nothing else is wrong about it.
        let is_excused = |one: &Scored| one.kind == ForecastKind::Watchers && experiment["raised"] == false;
        let wrong: Vec<&Scored> = of(Outcome::Wrong).into_iter().filter(|one| !is_excused(one)).collect();
        assert!(wrong.is_empty(), "{experiment}: {wrong:?}");
        let counts = Outcome::ALL.map(|outcome| (outcome.name(), of(outcome).len()));
        for (name, count) in counts {
            assert_eq!(experiment[name], count, "{name} of {experiment}");
        }
    }
}

#[tokio::test]
async fn of_three_members_the_one_that_is_behind_comes_last() {
    let experiments = experiments();
    let experiment = experiments.iter().find(|experiment| text(experiment, "experiment") == "three-members").unwrap();
    let (rehearsal, _) = done(experiment).await;
    let best = rehearsal.better().unwrap();
    assert!(best.is_newest && best.lacks == Some(0), "{best:?}");
    let members: Vec<_> = rehearsal.sources.iter().filter(|source| !source.is_backup).collect();
    assert!(members.len() == 3 && members[2].name.ends_with("newest-m3.db") && members[2].lacks > Some(0), "{members:?}");
}
