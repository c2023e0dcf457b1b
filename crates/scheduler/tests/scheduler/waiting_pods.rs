//! The queue of pods that wait: its order, its backoff, and what is tried again without an event.

use std::sync::Arc;

use serde_json::json;

use ketcd_scheduler::cluster::{ClusterState, ObjectKey, PodInfo};
use ketcd_scheduler::queue::SchedulingQueue;
use ketcd_scheduler::{Cycle, Gates, Judgement, Release, Rules, Scheduler, VersionEvidence, VersionFrom};

const MINUTE_MILLIS: i64 = 60_000;

/// A cluster with a node that is too small, and pods of these priorities that are refused there.
struct Waiting {
    scheduler: Scheduler,
    pods: Vec<(Arc<PodInfo>, Judgement)>,
}

fn waiting(priorities: &[i64]) -> Waiting {
    let version = VersionFrom { release: Release(36), patch: None, evidence: VersionEvidence::Given };
    let scheduler = Scheduler::with_defaults(version);
    let mut state = ClusterState::new(Rules::new(Release(36), &Gates::new(Release(36))).requests);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "1", "memory": "8Gi", "pods": "10"}}});
    let pod = |(at, priority): (usize, &i64)| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p{at}"), "namespace": "ns", "uid": format!("u{at}")},
            "spec": {"priority": priority, "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}})
    };
    for object in [node].into_iter().chain(priorities.iter().enumerate().map(pod)) {
        state.apply(&ObjectKey::of(&object).unwrap(), Some(object.to_string().as_bytes()), 1);
    }
    let judged = |at: usize| {
        let pod = state.pod("ns", &format!("p{at}")).unwrap().clone();
        let judgement = Cycle::new(&pod, &state, scheduler.profile_for(&pod).0).evaluate();
        (pod, judgement)
    };
    let pods = (0..priorities.len()).map(judged).collect();
    Waiting { scheduler, pods }
}

/// The names of the pods that are tried at a time, in order; each is refused again.
fn tried(queue: &mut SchedulingQueue, waiting: &Waiting, now: i64) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(key) = queue.next(now) {
        let (pod, judgement) = waiting.pods.iter().find(|(pod, _)| pod.key() == key).unwrap();
        queue.refuse(pod, now, judgement);
        names.push(key.1.to_string());
    }
    names
}

#[test]
fn priority_comes_first_then_time() {
    let waiting = waiting(&[5, 5, 9]);
    let mut queue = SchedulingQueue::new(&waiting.scheduler);
    for (at, time) in [(0, 30), (1, 10), (2, 50)] {
        queue.add(&waiting.pods[at].0, time);
    }
    assert_eq!(tried(&mut queue, &waiting, 100), ["p2", "p1", "p0"]);
    assert_eq!(tried(&mut queue, &waiting, 2 * MINUTE_MILLIS), [""; 0]);
}

#[test]
fn a_refused_pod_is_tried_again_without_an_event_after_more_than_five_minutes() {
    let waiting = waiting(&[0, 0]);
    let mut queue = SchedulingQueue::new(&waiting.scheduler);
    for (at, last) in [(0, 0), (1, 2 * MINUTE_MILLIS)] {
        queue.add_refused(&waiting.pods[at].0, (last, 1), &waiting.pods[at].1);
    }
    queue.flush(5 * MINUTE_MILLIS);
    assert_eq!(queue.next(5 * MINUTE_MILLIS), None);
    let time = queue.next_flush().unwrap();
    assert!(time > 5 * MINUTE_MILLIS && time <= 5 * MINUTE_MILLIS + 30_000 && time % 30_000 == 0, "{time}");
    queue.flush(time);
    assert_eq!(tried(&mut queue, &waiting, time), ["p0"]);
    // It waits as long again; the other one is next.
    let next = queue.next_flush().unwrap();
    queue.flush(next);
    assert_eq!((next > 7 * MINUTE_MILLIS, tried(&mut queue, &waiting, next)), (true, vec!["p1".to_owned()]));
}
