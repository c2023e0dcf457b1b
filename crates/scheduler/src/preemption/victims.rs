//! Preemption: the victims on each candidate node, and the node that upstream picks.
//! Sources: `core/generic_scheduler.go` selectNodesForPreemption, pickOneNodeForPreemption (1.11–1.18),
//! `plugins/defaultpreemption/default_preemption.go`, `framework/preemption/preemption.go` (1.19–1.37).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};

use super::budgets::{Budget, Violating, budgets, violating};
use super::evict::DisruptionGroups;
use super::{cleared, is_candidate, lower_pods, units};
use crate::Verdict;
use crate::cycle::{Moved, in_parallel};
use crate::framework::{Cycle, Judgement, NodeJudgement};
use crate::release::Rules;

/// A pod that would be evicted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Victim {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Whether evicting it would violate a disruption budget.
    pub violates_budget: bool,
}

/// A node on which evicting pods of lower priority makes room.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PreemptionCandidate {
    /// The node.
    pub node: Arc<str>,
    /// The pods that would be evicted, the most important first.
    pub victims: Vec<Victim>,
    /// Whether upstream picks this node; several are picked where the rules do not decide.
    pub picked: bool,
    /// Whether a victim is as important as a pod that stays, or that violates no budget: the order in the scheduler's cache decides.
    pub tied: bool,
    /// Whether the victims, or the node's rank, depend on the order of a Go map: that of the disruption budgets, or of the pods in one group.
    pub drawn: bool,
}

/// Returns the candidate nodes of a pod that fits no node, the best first.
pub fn candidates(cycle: &Cycle, judgement: &Judgement) -> Vec<PreemptionCandidate> {
    let prepared = cycle.prepare();
    let nominated = cycle.nominated_pods();
    let budgets = budgets(cycle.state);
    let evaluated: HashMap<u32, &NodeJudgement> = judgement.nodes.iter().map(|node| (node.id, node)).collect();
    let nodes: Vec<&NodeInfo> = judgement.nodes.iter().map(|node| cycle.state.node_by_id(node.id)).collect();
    let together = units::apply(cycle.profile).then(|| DisruptionGroups::new(cycle.state, cycle.profile));
    let places = in_parallel(cycle.state, &nodes, |node| {
        if let Some(together) = &together {
            let lower = is_candidate(cycle, judgement, evaluated[&node.id]).then(|| units::lower(cycle, node, together).ok())??;
            return units::Cleared::new(cycle, &nominated, &prepared, node, &lower).candidate(lower, &budgets);
        }
        let refuses = |verdict: &Verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
        let fits = |node: &NodeInfo, moved: Moved<'_>| !cycle.filter_node(node, &prepared, &nominated, moved).iter().any(refuses);
        is_candidate(cycle, judgement, evaluated[&node.id]).then(|| candidate(cycle, node, &budgets, fits))?
    });
    let mut found: Vec<PreemptionCandidate> = places.into_iter().flatten().collect();
    let rules = &cycle.profile.rules;
    found.sort_by(|a, b| rank(a, rules).cmp(&rank(b, rules)).then_with(|| a.node.cmp(&b.node)));
    let best = found.first().map(|first| rank(first, rules));
    for candidate in &mut found {
        candidate.picked = best.as_ref() == Some(&rank(candidate, rules));
    }
    found
}

/// `pickOneNodeForPreemption`: fewest budget violations, lowest priority of the first victim, smallest sum of priorities, fewest victims, latest
/// start.
fn rank(candidate: &PreemptionCandidate, rules: &Rules) -> (bool, usize, i32, i64, usize, Reverse<i64>) {
    let victims = &candidate.victims;
    let highest = victims.first().map_or(i32::MIN, |victim| victim.pod.spec.priority);
    let sum = victims.iter().map(|victim| i64::from(victim.pod.spec.priority) + (1 << 31)).sum();
    // Victims that violate a budget come first, though others may have a higher priority (`util/utils.go` GetEarliestPodStartTime).
    let top = victims.iter().map(|victim| victim.pod.spec.priority).max();
    let of_highest = victims.iter().filter(|victim| Some(victim.pod.spec.priority) == top);
    let earliest = of_highest.map(|victim| victim.pod.started.unwrap_or(i64::MAX)).min().unwrap_or(i64::MAX);
    let violations = victims.iter().filter(|victim| victim.violates_budget).count();
    // A node without victims wins at once.
    (!victims.is_empty(), violations, highest, sum, victims.len(), Reverse(if rules.victims_by_start() { earliest } else { 0 }))
}

/// `selectVictimsOnNode`: all pods of lower priority are removed; then each that may stay is reprieved, first those whose budget would be violated.
fn candidate(
    cycle: &Cycle<'_>,
    node: &NodeInfo,
    budgets: &[Budget],
    fits: impl Fn(&NodeInfo, Moved<'_>) -> bool,
) -> Option<PreemptionCandidate> {
    let rules = &cycle.profile.rules;
    let mut lower = lower_pods(node, cycle.pod.spec.priority);
    let cleared = cleared(cycle, node, &lower);
    if (lower.is_empty() && rules.candidates_need_victims()) || !fits(&cleared, Moved { removed: &lower, returned: &[] }) {
        return None;
    }
    sort_by_importance(&mut lower, rules);
    let violating = violating(&lower, budgets, rules);
    let mut answers = violating.iter().map(|violating| reprieve(cycle, &cleared, &lower, violating, &fits));
    let (victims, tied) = answers.next()?;
    let tied = tied || violating.first().is_some_and(|violating| counts_by_order(&victims, &lower, budgets, violating, rules));
    let named = |victims: &[Victim]| victims.iter().map(|victim| (victim.pod.key(), victim.violates_budget)).collect::<Vec<_>>();
    let drawn = answers.any(|(others, _)| named(&others) != named(&victims));
    Some(PreemptionCandidate { node: node.name.clone(), victims, picked: false, tied, drawn })
}

/// Whether a victim and an equally important pod share a budget that one of them violates: which one depends on their order.
fn counts_by_order(victims: &[Victim], lower: &[Arc<PodInfo>], budgets: &[Budget], violating: &Violating, rules: &Rules) -> bool {
    let shared = |a: &PodInfo, b: &PodInfo| budgets.iter().any(|budget| budget.selects(a) && budget.selects(b));
    let unlike = |victim: &Victim, other: &PodInfo| violating.contains(&other.key()) != victim.violates_budget;
    let equal = |a: &PodInfo, b: &PodInfo| importance(a, rules) == importance(b, rules);
    let swapped = |victim: &Victim| {
        let pod = &victim.pod;
        lower.iter().any(|other| unlike(victim, other) && equal(pod, other) && shared(pod, other))
    };
    victims.iter().any(swapped)
}

/// Returns the victims on a node already cleared, and whether one is as important as a pod that stays.
fn reprieve(
    cycle: &Cycle<'_>,
    cleared: &NodeInfo,
    lower: &[Arc<PodInfo>],
    violating: &Violating,
    fits: impl Fn(&NodeInfo, Moved<'_>) -> bool,
) -> (Vec<Victim>, bool) {
    let (rules, requests) = (&cycle.profile.rules, cycle.state.rules());
    let (first, then): (Vec<_>, Vec<_>) = lower.iter().cloned().partition(|pod| violating.contains(&pod.key()));
    let both = !first.is_empty() && !then.is_empty();
    let (mut info, mut gone) = (cleared.clone(), lower.to_vec());
    let (mut victims, mut staying, mut returned) = (Vec::new(), Vec::new(), Vec::new());
    for (pod, violates_budget) in first.into_iter().map(|pod| (pod, true)).chain(then.into_iter().map(|pod| (pod, false))) {
        info.simulate_add(pod.clone(), requests, rules.sidecar_ports);
        let without: Vec<Arc<PodInfo>> = gone.iter().filter(|other| other.key() != pod.key()).cloned().collect();
        returned.push(pod.clone());
        if fits(&info, Moved { removed: &without, returned: &returned }) {
            gone = without;
            staying.push((importance(&pod, rules), violates_budget));
        } else {
            info.simulate_remove(&pod, requests, rules.sidecar_ports);
            returned.pop();
            victims.push(Victim { pod, violates_budget });
        }
    }
    let tied = victims.iter().any(|victim: &Victim| staying.contains(&(importance(&victim.pod, rules), victim.violates_budget)));
    if both && rules.victims_sorted {
        victims.sort_by_key(|victim| importance(&victim.pod, rules));
    }
    (victims, tied)
}

/// Sorts pods as `sort.Slice` does for up to twelve: by insertion. A pod that has not started counts as starting now, which is before the pod it is
/// compared with (`util/utils.go` GetPodStartTime), so that of such pods the last comes first.
fn sort_by_importance(pods: &mut [Arc<PodInfo>], rules: &Rules) {
    if rules.victims_by_start() && pods.len() <= 12 {
        pods.reverse();
        pods.sort_by_key(|pod| importance(pod, rules));
        let started = |pod: &Arc<PodInfo>| (importance(pod, rules), pod.started);
        pods.chunk_by_mut(|a, b| started(a) == started(b)).filter(|equals| equals[0].started.is_some()).for_each(<[_]>::reverse);
    } else {
        pods.sort_by_key(|pod| importance(pod, rules));
    }
}

/// Higher priority first, then the longer running.
fn importance(pod: &PodInfo, rules: &Rules) -> (Reverse<i32>, i64) {
    (Reverse(pod.spec.priority), if rules.victims_by_start() { pod.started.unwrap_or(i64::MAX) } else { 0 })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::{ClusterState, ObjectKey, PodFields, WatchedKind};
    use crate::{Gates, Profile, Release};

    fn check(minor: u16, pods: &[(&str, i32, u32, &str)], cpu: &str, wanted: &[&str]) {
        let profile = Profile::new(Release(minor), Gates::new(Release(minor)));
        let mut state = ClusterState::new(profile.rules.requests);
        let mut revision = 0;
        let mut put = |kind: WatchedKind, name: String, mut object: Value| {
            let namespace = if kind == WatchedKind::Node { "" } else { "default" };
            object["metadata"]["name"] = json!(name);
            object["metadata"]["namespace"] = json!(namespace);
            revision += 1;
            let key = ObjectKey { kind, namespace: namespace.into(), name: name.into() };
            state.apply(&key, Some(&serde_json::to_vec(&object).unwrap()), revision);
        };
        for name in ["x", "y", "z"] {
            let status = json!({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}});
            put(WatchedKind::Node, name.into(), json!({"metadata": {"labels": {}}, "status": status}));
        }
        for (at, (node, priority, cpu, app)) in pods.iter().enumerate() {
            let container = json!({"name": "c", "resources": {"requests": {"cpu": format!("{cpu}m")}}});
            let spec = json!({"nodeName": node, "priority": priority, "containers": [container]});
            let started = format!("2024-01-01T00:00:{at:02}Z");
            let status = json!({"phase": "Running", "startTime": started});
            put(WatchedKind::Pod, format!("p{at}"), json!({"metadata": {"labels": {"app": app}}, "spec": spec, "status": status}));
        }
        let budget = json!({"metadata": {}, "spec": {"selector": {"matchLabels": {"app": "kept"}}}, "status": {"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}});
        put(WatchedKind::PodDisruptionBudget, "kept".into(), budget);
        let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let pod = json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"priority": 1000, "containers": [container]}});
        let pod = PodInfo::compile(&PodFields::of(pod).unwrap(), 0, state.interner(), &mut Vec::new());
        let cycle = Cycle { pod: &pod, state: &state, profile: &profile, scope: None };
        let found = candidates(&cycle, &cycle.evaluate());
        let lines: Vec<String> = found
            .iter()
            .map(|place| {
                let victims: Vec<String> = place
                    .victims
                    .iter()
                    .map(|victim| format!("{}{}", victim.pod.name, if victim.violates_budget { "!" } else { "" }))
                    .collect();
                format!("{}{}: {}", place.node, if place.picked { "*" } else { "" }, victims.join(" "))
            })
            .collect();
        assert_eq!(lines, wanted, "1.{minor}");
    }

    #[test]
    fn budgets_before_priorities_before_sums() {
        let pods = [
            ("x", 100, 2000, "a"),
            ("x", 10, 2000, "a"),
            ("y", 100, 4000, "a"),
            ("z", 50, 1300, "kept"),
            ("z", 50, 1300, "kept"),
            ("z", 50, 1300, "kept"),
        ];
        for minor in [19, 25, 28] {
            check(minor, &pods, "4", &["y*: p2", "x: p0 p1", "z: p5! p3 p4"]);
        }
        for minor in [29, 34, 36] {
            check(minor, &pods, "4", &["y*: p2", "x: p0 p1", "z: p3 p4 p5!"]);
        }
    }

    #[test]
    fn the_lowest_priority_is_evicted_first_then_the_latest_start() {
        let pods = [("x", 100, 2000, "a"), ("x", 10, 2000, "a"), ("y", 10, 3000, "a"), ("z", 5000, 4000, "a")];
        check(34, &pods, "2", &["y*: p2", "x: p1"]);
    }

    #[test]
    fn the_start_time_counts_since_1_15() {
        // Equal otherwise: the node whose pod started last wins.
        let pods = [("x", 10, 4000, "a"), ("y", 10, 4000, "a"), ("z", 5000, 4000, "a")];
        for minor in [11, 14] {
            check(minor, &pods, "2", &["x*: p0", "y*: p1"]);
        }
        for minor in [15, 22, 36] {
            check(minor, &pods, "2", &["y*: p1", "x: p0"]);
        }
    }

    #[test]
    fn a_budget_exhausted_by_earlier_victims() {
        // Two disruptions are allowed; up to 1.17 every pod is compared with the budget as it stands.
        let pods =
            [("x", 50, 1300, "kept"), ("x", 50, 1300, "kept"), ("x", 50, 1300, "kept"), ("y", 5000, 4000, "a"), ("z", 5000, 4000, "a")];
        for minor in [16, 17] {
            check(minor, &pods, "4", &["x*: p0 p1 p2"]);
        }
        for minor in [18, 19, 25] {
            check(minor, &pods, "4", &["x*: p2! p0 p1"]);
        }
    }

    #[test]
    fn a_pod_whose_eviction_frees_nothing_is_reprieved() {
        let pods = [("x", 5000, 4000, "a"), ("y", 5000, 4000, "a"), ("z", 10, 4000, "a"), ("z", 20, 0, "a")];
        check(34, &pods, "2", &["z*: p2"]);
    }

    /// Two pods of equal importance under a budget that allows one disruption: which of them violates it depends on their order.
    #[test]
    fn equally_important_pods_of_one_budget_are_tied() {
        let rules = Profile::new(Release(25), Gates::new(Release(25))).rules;
        let mut state = ClusterState::new(rules.requests);
        let budget = json!({"metadata": {"name": "b", "namespace": "n"}, "spec": {"selector": {"matchLabels": {"app": "kept"}}},
                            "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}});
        let key = ObjectKey { kind: WatchedKind::PodDisruptionBudget, namespace: "n".into(), name: "b".into() };
        state.apply(&key, Some(budget.to_string().as_bytes()), 1);
        let mut pod = |name: &str, app: &str| {
            let pod = json!({"metadata": {"name": name, "namespace": "n", "labels": {"app": app}}, "spec": {"containers": []}});
            Arc::new(PodInfo::compile(&PodFields::of(pod).unwrap(), 0, state.interner(), &mut Vec::new()))
        };
        let pods = [pod("p0", "kept"), pod("p1", "kept"), pod("p2", "other")];
        let budgets = budgets(&state);
        let violating = violating(&pods, &budgets, &rules).remove(0);
        let drawn = |pod: &Arc<PodInfo>| {
            let victims = [Victim { pod: pod.clone(), violates_budget: violating.contains(&pod.key()) }];
            counts_by_order(&victims, &pods, &budgets, &violating, &rules)
        };
        assert_eq!([drawn(&pods[0]), drawn(&pods[1]), drawn(&pods[2])], [true, true, false]);
    }
}
