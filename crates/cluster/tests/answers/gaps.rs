//! Histories with gaps: each gap is reported, no step is invented, and a decision after one is explained by the state after it.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use ketcd_cluster::replay::SchedulerOptions;
use ketcd_cluster::{Cluster, Error, Notice, Options};
use ketcd_history::clock::Clock;
use ketcd_history::timeline::{Phase, StepKind, Story, Timeline};
use ketcd_history::{AttributedChange, Follower};
use ketcd_kube::Decoder;
use ketcd_store::{Event, KeyRange, KeyValue, Revision, Until, WatchItem};
use ketcd_testing::random::Random;
use ketcd_testing::{database, temporary};

use crate::fixture::{capture, noting, open};

async fn all_events(capture_name: &str) -> Vec<Event> {
    let cluster = capture(capture_name, Options::default()).await;
    let items: Vec<_> = cluster.source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect().await;
    let event = |item| if let WatchItem::Event(event) = item { Some(event) } else { None };
    items.into_iter().filter_map(event).collect()
}

/// Every event of the kinds that stories are of.
async fn events() -> Vec<Event> {
    let kinds: [&[u8]; 4] = [b"/registry/pods/", b"/registry/deployments/", b"/registry/minions/", b"/registry/persistentvolumeclaims/"];
    let mut events = all_events("k136-story").await;
    events.retain(|event| kinds.iter().any(|kind| event.key_value.key.starts_with(kind)));
    events
}

/// The stories of those events that are not lost; a source says where something is missing.
fn stories<'a>(events: impl Iterator<Item = (&'a Event, bool)>) -> BTreeMap<Vec<u8>, Timeline> {
    let decoder = Decoder::new();
    let mut follower = Follower::new(|entry: &KeyValue| decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body);
    let clock = Clock::default();
    let mut story = Story::default();
    for (event, is_lost) in events {
        if is_lost {
            follower.gap(event.revision);
        } else {
            story.observe(AttributedChange::new(follower.change(event.clone()), &clock), false);
        }
    }
    story.finish(None);
    story.timelines.into_iter().map(|(key, timeline)| (key.to_vec(), timeline)).collect()
}

fn steps_of(timeline: &Timeline) -> BTreeSet<(&'static str, i64)> {
    // An undo whose earlier template is lost in a gap can only be shown as a rollout.
    let name = |phase: &Phase| if phase.phase == StepKind::Undo { "Rollout" } else { phase.phase.as_str() };
    timeline.phases.iter().map(|phase| (name(phase), phase.revision.0)).collect()
}

#[tokio::test]
async fn gaps_are_reported_and_no_step_is_invented() {
    let events = events().await;
    let all = stories(events.iter().map(|event| (event, false)));
    for percent_kept in [20, 35, 50, 60, 70, 80, 90, 95] {
        let mut random = Random(percent_kept as u64);
        for (key, timeline) in stories(events.iter().map(|event| (event, random.below(100) >= percent_kept))) {
            let (whole, name) = (&all[&key], String::from_utf8_lossy(&key));
            let invented: Vec<_> = steps_of(&timeline).difference(&steps_of(whole)).copied().collect();
            assert!(invented.is_empty(), "{percent_kept} % {name}: {invented:?}");
            let is_reported = timeline.phases.len() == whole.phases.len() || !timeline.complete || timeline.until < whole.until;
            assert!(is_reported, "{percent_kept} % {name}: a gap is not reported");
        }
    }
}

/// The decisions after revision 900: the pod, its node, the scheduler's sentence, the verdict.
async fn late_decisions(cluster: &Cluster) -> Vec<String> {
    let mut decisions = cluster.explainer(&SchedulerOptions::default()).await.unwrap().decisions();
    let mut found = Vec::new();
    let walked = decisions.each(|decision| {
        let explanation = decision.explain().explanation;
        let (attempt, judgement) = (&explanation.attempt, &explanation.judgement);
        if attempt.revision > 900 {
            let pod = format!("{}/{} {:?}", attempt.pod.namespace, attempt.pod.name, attempt.pod.node_name);
            found.push(format!("{pod} {:?} {:?}", judgement.message, explanation.agreement));
        }
        Ok::<(), Error>(())
    });
    walked.await.unwrap();
    found
}

/// What was deleted between two snapshots is not there after them, though nobody saw it go.
#[tokio::test]
async fn decisions_after_a_gap_are_explained_by_the_state_after_it() {
    let story = all_events("k120-story").await;
    let nights = [(600, None), (1787, Some(900))].map(|(newest, compacted)| temporary::file(database!(story, newest, compacted, false)));
    let (options, notices) = noting(Options::default());
    let fused = open(&nights.each_ref().map(|night| night.path().to_str().unwrap().to_owned()), options).await.unwrap();
    let (wanted, found) = (late_decisions(&capture("k120-story", Options::default()).await).await, late_decisions(&fused).await);
    assert!(!wanted.is_empty() && found == wanted, "{wanted:?}\n{found:?}");
    let notices = notices.lock().unwrap();
    let missing: Vec<_> =
        notices.iter().filter_map(|notice| if let Notice::AttemptsMissing(gaps) = notice { Some(&gaps[..]) } else { None }).collect();
    assert_eq!(missing, [[(Revision(602), Revision(899))]]);
}
