//! A recorded cluster, held against an earlier state of itself.

use std::collections::BTreeSet;

use ketcd_store::load::Limits;
use ketcd_store::{At, Revision};
use ketcd_testing::testdata;

use super::forecast::{Forecast, ForecastKind};
use super::objects::text;
use super::rehearse_options::RehearseAsked;
use super::states::States;
use super::{fits, runs, stale};
use crate::cluster::Cluster;
use crate::files;
use crate::options::Options;

/// The revision of the newest state.
const STATE: At = At::Newest;

async fn cluster(at: At) -> Cluster {
    let file = testdata::path("captures/k136-story/snapshot.db.zst").to_str().unwrap().to_owned();
    let source = files::open(&[file], &Limits::default()).unwrap().source;
    Cluster::open(source, Options { at, ..Options::default() }).await.unwrap()
}

async fn forecasts(states: &States<'_>) -> Vec<Forecast> {
    let mut forecasts = runs::forecasts(states).await.unwrap();
    forecasts.extend(fits::forecasts(states).await.unwrap());
    forecasts.extend(stale::forecasts(states).await.unwrap());
    forecasts
}

#[tokio::test]
async fn every_pod_that_runs_is_known_or_forecast() {
    let newest = cluster(STATE).await;
    let span = newest.source.span().await.unwrap();
    let backup = cluster(At::Revision(Revision(i64::midpoint(span.oldest.0, span.newest.0)))).await;
    let asked = RehearseAsked { now: Some("2027-01-01T00:00:00Z".parse().unwrap()), ..RehearseAsked::default() };
    let states = States::of(&backup, Some(&newest), &asked).await.unwrap();
    let found = forecasts(&states).await;
    let uids = |objects: Vec<ketcd_kube::Object>| -> BTreeSet<String> {
        let running = objects
            .iter()
            .filter(|pod| !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") && !text(pod, "/spec/nodeName").is_empty());
        running.map(|pod| text(pod, "/metadata/uid").to_owned()).collect()
    };
    let then: BTreeSet<String> =
        states.backup.objects("/pods/").await.unwrap().iter().map(|pod| text(pod, "/metadata/uid").to_owned()).collect();
    let now = uids(states.newest.as_ref().unwrap().objects("/pods/").await.unwrap());
    let of_kinds = [ForecastKind::UnknownPods, ForecastKind::OtherPods];
    let forecast: BTreeSet<String> = found
        .iter()
        .filter(|forecast| of_kinds.contains(&forecast.kind))
        .flat_map(|forecast| &forecast.affected)
        .map(|pod| pod.uid.clone())
        .collect();
    assert_eq!(forecast, now.difference(&then).cloned().collect());
    assert!(!forecast.is_empty());
    assert!(found.iter().all(|forecast| !forecast.commands.is_empty()), "each has a command: {found:?}");
}

#[tokio::test]
async fn a_state_that_is_restored_over_itself_forecasts_nothing_that_weighs() {
    let [backup, newest] = [cluster(STATE).await, cluster(STATE).await];
    let asked = RehearseAsked::default();
    let states = States::of(&backup, Some(&newest), &asked).await.unwrap();
    assert_eq!(forecasts(&states).await, []);
}
