//! Stories of a history with gaps: each gap is reported, and no step is invented.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use ketcd_cluster::Options;
use ketcd_history::clock::Clock;
use ketcd_history::timeline::{Phase, StepKind, Story, Timeline};
use ketcd_history::{AttributedChange, Follower};
use ketcd_kube::Decoder;
use ketcd_store::{Event, KeyRange, KeyValue, Revision, Until, WatchItem};
use ketcd_testing::random::Random;

use crate::fixture::capture;

/// Every event of the kinds that stories are of.
async fn events() -> Vec<Event> {
    let kinds: [&[u8]; 4] = [b"/registry/pods/", b"/registry/deployments/", b"/registry/minions/", b"/registry/persistentvolumeclaims/"];
    let cluster = capture("k136-story", Options::default()).await;
    let items: Vec<_> = cluster.source.watch(KeyRange::all(), Revision(1), Until::Forever).map(Result::unwrap).collect().await;
    let event = |item| if let WatchItem::Event(event) = item { Some(event) } else { None };
    let mut events: Vec<Event> = items.into_iter().filter_map(event).collect();
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
