//! Which pods a controller deletes first where it has too many. Source: `pkg/controller/controller_utils.go` ActivePods, ActivePodsWithRanks (1.37).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::json::{is_condition_true, list, number, text};
use crate::model::Id;

/// A pod with what decides when it goes.
struct Ranked {
    id: Id,
    uid: String,
    is_assigned: bool,
    phase: u8,
    is_ready: bool,
    cost: i64,
    /// How many pods of the same workload its node has.
    near: usize,
    /// Since when it is ready, in milliseconds since 1970.
    ready: Option<i64>,
    /// The most restarts of a container, and of a sidecar.
    restarts: (i64, i64),
    /// When it was created.
    created: Option<i64>,
}

/// How controllers of a kind rank pods.
#[derive(Clone, Copy)]
pub(super) enum Rules<'r> {
    /// As ReplicaSets do: by cost, by the number of related pods on each node, and by logarithms of ages.
    ReplicaSet {
        /// How many active pods of the workload each node has.
        on_nodes: &'r BTreeMap<String, usize>,
    },
    Job,
}

/// The pods that go.
pub(super) struct Chosen {
    /// The pods, the first first.
    pub pods: Vec<Id>,
    /// Whether chance chose between one of them and one that stays: upstream has no further rule, and takes its pods in random order.
    pub is_chance: bool,
}

/// Chooses this many pods. `now`: milliseconds since 1970. Equals go in the order in which they are given.
pub(super) fn first_to_go(pods: Vec<(Id, Arc<Value>)>, count: usize, rules: Rules<'_>, now: i64) -> Chosen {
    let mut ranked: Vec<Ranked> = pods.into_iter().map(|(id, pod)| Ranked::new(id, &pod, rules)).collect();
    let now = matches!(rules, Rules::ReplicaSet { .. }).then_some(now);
    let mut is_chance = false;
    if count < ranked.len() {
        ranked.sort_by(|one, other| one.compare(other, now));
        let (gone, kept) = ranked.split_at(count);
        is_chance = gone.iter().any(|one| kept.iter().any(|other| one.compare(other, now) != Ordering::Less));
    }
    Chosen { pods: ranked.into_iter().take(count).map(|ranked| ranked.id).collect(), is_chance }
}

impl Ranked {
    fn new(id: Id, pod: &Value, rules: Rules<'_>) -> Self {
        let node = text(pod, "/spec/nodeName");
        let phase = match text(pod, "/status/phase") {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        let (cost, near) = match rules {
            Rules::ReplicaSet { on_nodes } => {
                let cost = text(pod, "/metadata/annotations/controller.kubernetes.io~1pod-deletion-cost").parse().unwrap_or(0);
                (cost, on_nodes.get(node).copied().unwrap_or(0))
            }
            Rules::Job => (0, 0),
        };
        let is_ready = is_condition_true(pod, "Ready");
        let ready = list(pod, "/status/conditions").iter().find(|condition| condition["type"] == "Ready").filter(|_| is_ready);
        Self {
            id,
            uid: text(pod, "/metadata/uid").to_owned(),
            is_assigned: !node.is_empty(),
            phase,
            is_ready,
            cost,
            near,
            ready: ready.and_then(|condition| time(text(condition, "/lastTransitionTime"))),
            restarts: (most_restarts(pod, "/status/containerStatuses"), most_restarts(pod, "/status/initContainerStatuses")),
            created: time(text(pod, "/metadata/creationTimestamp")),
        }
    }

    /// Whether this one goes before another one (`Less`). The uid of a pod that the simulation made is none that an API server gives, and decides
    /// nothing. `now`: ages are compared by their logarithms (gate LogarithmicScaleDown).
    fn compare(&self, other: &Self, now: Option<i64>) -> Ordering {
        let by_state =
            (self.is_assigned, self.phase, self.is_ready, self.cost).cmp(&(other.is_assigned, other.phase, other.is_ready, other.cost));
        let by_age = |one: Option<i64>, two: Option<i64>| match (one, two) {
            _ if one == two => Ordering::Equal,
            (Some(one), Some(two)) if now.is_some() => {
                let age = |time: i64| now.map_or(-1, |now| logarithm(now - time));
                let is_known = ![self, other].iter().any(|ranked| ranked.uid.starts_with("simulated-"));
                age(one).cmp(&age(two)).then_with(|| if is_known { self.uid.cmp(&other.uid) } else { Ordering::Equal })
            }
            // No time goes first, then the later one.
            (None, _) => Ordering::Less,
            (_, None) => Ordering::Greater,
            (Some(one), Some(two)) => two.cmp(&one),
        };
        by_state
            .then_with(|| other.near.cmp(&self.near))
            .then_with(|| if self.is_ready { by_age(self.ready, other.ready) } else { Ordering::Equal })
            .then_with(|| other.restarts.cmp(&self.restarts))
            .then_with(|| by_age(self.created, other.created))
    }
}

/// The whole logarithm to the base 2 of a duration in nanoseconds, given in milliseconds (`logarithmicRankDiff`).
fn logarithm(milliseconds: i64) -> i64 {
    let nanoseconds = milliseconds.saturating_mul(1_000_000);
    if nanoseconds > 0 { i64::from(nanoseconds.ilog2()) } else { -1 }
}

fn time(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

fn most_restarts(pod: &Value, statuses: &str) -> i64 {
    list(pod, statuses).iter().filter_map(|status| number(status, "/restartCount")).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Noon of a day, in milliseconds.
    const NOW_MILLIS: i64 = 1_800_000_000_000;

    fn pod(name: &str, node: &str, seconds_ago: i64) -> (Id, Arc<Value>) {
        let time = Timestamp::from_millisecond(NOW_MILLIS - seconds_ago * 1_000).unwrap().to_string();
        let object = json!({"metadata": {"uid": name, "creationTimestamp": time}, "spec": {"nodeName": node}, "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]}});
        (Id::pod("n", name), Arc::new(object))
    }

    fn gone(pods: &[(Id, Arc<Value>)], count: usize) -> Vec<String> {
        let mut on_nodes = BTreeMap::new();
        pods.iter().for_each(|(_, pod)| *on_nodes.entry(text(pod, "/spec/nodeName").to_owned()).or_default() += 1);
        let rules = Rules::ReplicaSet { on_nodes: &on_nodes };
        first_to_go(pods.to_vec(), count, rules, NOW_MILLIS).pods.into_iter().map(|id| id.name).collect()
    }

    fn changed(of: &(Id, Arc<Value>), change: impl FnOnce(&mut Value)) -> (Id, Arc<Value>) {
        let mut pod = (*of.1).clone();
        change(&mut pod);
        (of.0.clone(), Arc::new(pod))
    }

    #[test]
    fn those_without_a_node_go_first_then_the_crowded_then_the_young() {
        let waiting = changed(&pod("w", "", 900), |pod| pod["status"] = json!({"phase": "Pending"}));
        let pods = [pod("old", "a", 4_000), pod("young", "b", 10), pod("one", "c", 4_000), pod("two", "c", 4_000), waiting];
        assert_eq!(gone(&pods, 4), ["w", "one", "two", "young"]);
    }

    #[test]
    fn ages_of_the_same_magnitude_are_equal_and_the_uid_decides() {
        // 2^41 ns are 2,199 s: both are between that and twice that.
        assert_eq!(gone(&[pod("b", "x", 2_300), pod("a", "y", 4_000)], 1), ["a"]);
        assert_eq!(gone(&[pod("b", "x", 2_100), pod("a", "y", 4_000)], 1), ["b"]);
    }

    #[test]
    fn equals_are_chosen_by_chance() {
        let is_chance = |pods: &[(Id, Arc<Value>)]| first_to_go(pods.to_vec(), 1, Rules::Job, NOW_MILLIS).is_chance;
        assert!(is_chance(&[pod("a", "x", 60), pod("b", "y", 60)]));
        assert!(!is_chance(&[pod("a", "x", 60), pod("b", "y", 61)]));
    }

    #[test]
    fn a_low_cost_goes_before_a_crowd_and_jobs_know_no_cost() {
        let cheap = changed(&pod("cheap", "x", 9_000), |pod| {
            pod["metadata"]["annotations"] = json!({"controller.kubernetes.io/pod-deletion-cost": "-1"});
        });
        let pods = [pod("one", "c", 10), pod("two", "c", 10), cheap];
        assert_eq!(gone(&pods, 1), ["cheap"]);
        assert_eq!(first_to_go(pods.to_vec(), 1, Rules::Job, NOW_MILLIS).pods[0].name, "one");
    }

    #[test]
    fn more_restarts_go_first_among_those_that_are_not_ready() {
        let broken = |name: &str, restarts: i64| {
            changed(&pod(name, name, 60), |pod| {
                pod["status"] = json!({"phase": "Running", "containerStatuses": [{"restartCount": restarts}]});
            })
        };
        assert_eq!(gone(&[broken("a", 1), broken("b", 7), pod("c", "c", 1)], 2), ["b", "a"]);
    }
}
