//! Preemption itself: on each candidate node the pods that would have to go, and the node upstream's rules pick.
//! Sources: `core/generic_scheduler.go` selectNodesForPreemption, pickOneNodeForPreemption (1.11–1.18),
//! `plugins/defaultpreemption/default_preemption.go`, `framework/preemption/preemption.go` (1.19–1.37).

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::cluster::{ClusterState, Interner, NodeInfo, PodInfo, Selector};
use crate::kube::api::policy::v1::PodDisruptionBudget;

use super::Verdict;
use super::cycle::{Cycle, Judgement, NodeJudgement, in_parallel};
use super::preemption::{is_candidate, lower_pods};

/// A pod that would have to go.
#[derive(Clone, Debug)]
pub struct Victim {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Whether that would violate a disruption budget.
    pub violates_budget: bool,
}

/// A node that taking lower pods away would make room on.
#[derive(Clone, Debug)]
pub struct PreemptionCandidate {
    /// The node.
    pub node: Arc<str>,
    /// The pods that would have to go, the most important first.
    pub victims: Vec<Victim>,
    /// Whether upstream's rules pick it; several are picked where the rules leave several.
    pub picked: bool,
    /// Whether a victim and a pod that stays are equals: which of them goes depends on their order in the scheduler's cache.
    pub tied: bool,
}

/// The candidate nodes of a pod that fits nowhere, the best first.
pub fn candidates(cycle: &Cycle, judgement: &Judgement) -> Vec<PreemptionCandidate> {
    let prepared = cycle.prepare();
    let nominated = cycle.nominated_pods();
    let budgets = budgets(cycle.state);
    let judged: HashMap<u32, &NodeJudgement> = judgement.nodes.iter().map(|node| (node.id, node)).collect();
    let nodes: Vec<&NodeInfo> = judgement.nodes.iter().map(|node| cycle.state.node_by_id(node.id)).collect();
    let places = in_parallel(&nodes, |node| {
        let refuses = |verdict: &Verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
        let fits = |gone: &[Arc<PodInfo>]| !cycle.judge_node(node, &prepared, &nominated, gone).iter().any(refuses);
        let (victims, tied) = is_candidate(cycle, judgement, judged[&node.id]).then(|| victims(cycle, node, &budgets, fits))??;
        Some(PreemptionCandidate { node: node.name.clone(), victims, picked: false, tied })
    });
    let mut found: Vec<PreemptionCandidate> = places.into_iter().flatten().collect();
    let minor = cycle.profile.release.0;
    found.sort_by(|a, b| rank(a, minor).cmp(&rank(b, minor)).then_with(|| a.node.cmp(&b.node)));
    let best = found.first().map(|first| rank(first, minor));
    for candidate in &mut found {
        candidate.picked = best.as_ref() == Some(&rank(candidate, minor));
    }
    found
}

/// `pickOneNodeForPreemption`: fewest budgets violated, lowest first victim, smallest sum of priorities, fewest victims, latest start.
fn rank(candidate: &PreemptionCandidate, minor: u16) -> (bool, usize, i32, i64, usize, Reverse<i64>) {
    let victims = &candidate.victims;
    let highest = victims.first().map_or(i32::MIN, |victim| victim.pod.spec.priority);
    let sum = victims.iter().map(|victim| i64::from(victim.pod.spec.priority) + (1 << 31)).sum();
    let of_highest = victims.iter().filter(|victim| victim.pod.spec.priority == highest);
    let earliest = of_highest.map(|victim| victim.pod.started.unwrap_or(i64::MAX)).min().unwrap_or(i64::MAX);
    let violations = victims.iter().filter(|victim| victim.violates_budget).count();
    // A node that needs no victim wins at once.
    (!victims.is_empty(), violations, highest, sum, victims.len(), Reverse(if minor >= 15 { earliest } else { 0 }))
}

/// `selectVictimsOnNode`: all lower pods go; then each is let stay that may, those whose budget would be violated first.
/// Beside the victims: whether one of them is the equal of a pod that stays.
fn victims(cycle: &Cycle<'_>, node: &NodeInfo, budgets: &[Budget], fits: impl Fn(&[Arc<PodInfo>]) -> bool) -> Option<(Vec<Victim>, bool)> {
    let minor = cycle.profile.release.0;
    let mut lower = lower_pods(node, cycle.pod.spec.priority);
    // Since 1.21 a node without lower pods is none.
    if (lower.is_empty() && minor >= 21) || !fits(&lower) {
        return None;
    }
    lower.sort_by_key(|pod| importance(pod, minor));
    let violating = violating(&lower, budgets, minor);
    let (first, then): (Vec<_>, Vec<_>) = lower.iter().cloned().partition(|pod| violating.contains(&pod.key()));
    let mut gone = lower.clone();
    let (mut victims, mut staying) = (Vec::new(), Vec::new());
    for (pod, violates_budget) in first.into_iter().map(|pod| (pod, true)).chain(then.into_iter().map(|pod| (pod, false))) {
        let without: Vec<Arc<PodInfo>> = gone.iter().filter(|other| other.key() != pod.key()).cloned().collect();
        if fits(&without) {
            gone = without;
            staying.push((importance(&pod, minor), violates_budget));
        } else {
            victims.push(Victim { pod, violates_budget });
        }
    }
    let tied = victims.iter().any(|victim: &Victim| staying.contains(&(importance(&victim.pod, minor), victim.violates_budget)));
    if minor >= 26 {
        victims.sort_by_key(|victim| importance(&victim.pod, minor));
    }
    Some((victims, tied))
}

/// Higher priority first, then the longer running (since 1.15).
fn importance(pod: &PodInfo, minor: u16) -> (Reverse<i32>, i64) {
    (Reverse(pod.spec.priority), if minor >= 15 { pod.started.unwrap_or(i64::MAX) } else { 0 })
}

/// A disruption budget that selects pods.
pub struct Budget {
    budget: Arc<PodDisruptionBudget>,
    selector: Selector,
    allowed: i32,
}

/// The budgets that select pods.
pub fn budgets(state: &ClusterState) -> Vec<Budget> {
    let mut interner = Interner::default();
    let mut compiled = |budget: &Arc<PodDisruptionBudget>| {
        let selector = Selector::compile(budget.spec.as_ref()?.selector.as_ref()?, &mut interner)?;
        let allowed = budget.status.as_ref().map_or(0, |status| status.disruptions_allowed.unwrap_or(0));
        (!selector.is_empty()).then(|| Budget { budget: budget.clone(), selector, allowed })
    };
    state.listers().budgets.iter().filter_map(&mut compiled).collect()
}

/// `filterPodsWithPDBViolation`: walks the pods in order and counts what the budgets allow down.
fn violating(pods: &[Arc<PodInfo>], budgets: &[Budget], minor: u16) -> Vec<(Arc<str>, Arc<str>)> {
    let mut left: Vec<i32> = budgets.iter().map(|budget| budget.allowed).collect();
    let none = BTreeMap::new();
    let mut found = Vec::new();
    for pod in pods.iter().filter(|pod| !pod.labels.is_empty()) {
        let mut violated = false;
        for (Budget { budget, selector, .. }, allowed) in budgets.iter().zip(&mut left) {
            let of = budget.metadata.namespace.as_deref().unwrap_or_default();
            if of != &*pod.namespace || !selector.matches(&pod.labels) {
                continue;
            }
            let disrupted = budget.status.as_ref().and_then(|status| status.disrupted_pods.as_ref()).unwrap_or(&none);
            if minor >= 19 && disrupted.contains_key(&*pod.name) {
                continue;
            }
            match minor {
                ..=17 => violated |= *allowed <= 0,
                18 if *allowed <= 0 => violated = true,
                _ => {
                    *allowed -= 1;
                    violated |= *allowed < 0;
                    // What comes after the first that is violated is left as it is since 1.37 (`framework/preemption/util.go`).
                    if violated && minor >= 37 {
                        break;
                    }
                }
            }
        }
        if violated {
            found.push(pod.key());
        }
    }
    found
}

/// `filterVictimsWithPDBViolation` (`framework/preemption/preemption.go`, 1.36, 1.37): of pods that go together, in their order, whether one violates a
/// budget. 1.36 looks no further than the first.
pub fn violating_units(units: &[&[Arc<PodInfo>]], budgets: &[Budget], all: bool) -> Vec<bool> {
    let mut left: Vec<i32> = budgets.iter().map(|budget| budget.allowed).collect();
    let mut violates = |pod: &PodInfo| {
        let counts = |Budget { budget, selector, .. }: &Budget| {
            let disrupted = budget.status.as_ref().and_then(|status| status.disrupted_pods.as_ref());
            budget.metadata.namespace.as_deref().unwrap_or_default() == &*pod.namespace
                && selector.matches(&pod.labels)
                && !disrupted.is_some_and(|disrupted| disrupted.contains_key(&*pod.name))
        };
        let mut own = budgets.iter().zip(&mut left).filter(|(budget, _)| !pod.labels.is_empty() && counts(budget));
        own.any(|(_, allowed)| {
            *allowed -= 1;
            *allowed < 0
        })
    };
    let mut unit = |pods: &&[Arc<PodInfo>]| {
        if all { pods.iter().filter(|pod| violates(pod)).count() > 0 } else { pods.iter().any(|pod| violates(pod)) }
    };
    units.iter().map(&mut unit).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::{ObjectKey, PodFields, Watched};
    use crate::scheduler::{Gates, Profile, Release};

    fn check(minor: u16, pods: &[(&str, i32, u32, &str)], cpu: &str, wanted: &[&str]) {
        let profile = Profile::new(Release(minor), Gates::new(Release(minor)));
        let mut state = ClusterState::new(profile.rules.requests);
        let mut revision = 0;
        let mut put = |kind: Watched, name: String, mut object: Value| {
            let namespace = if kind == Watched::Node { "" } else { "default" };
            object["metadata"]["name"] = json!(name);
            object["metadata"]["namespace"] = json!(namespace);
            revision += 1;
            let key = ObjectKey { kind, namespace: namespace.into(), name: name.into() };
            state.apply(&key, Some(&serde_json::to_vec(&object).unwrap()), revision);
        };
        for name in ["x", "y", "z"] {
            let status = json!({"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}});
            put(Watched::Node, name.into(), json!({"metadata": {"labels": {}}, "status": status}));
        }
        for (at, (node, priority, cpu, app)) in pods.iter().enumerate() {
            let container = json!({"name": "c", "resources": {"requests": {"cpu": format!("{cpu}m")}}});
            let spec = json!({"nodeName": node, "priority": priority, "containers": [container]});
            let started = format!("2024-01-01T00:00:{at:02}Z");
            let status = json!({"phase": "Running", "startTime": started});
            put(Watched::Pod, format!("p{at}"), json!({"metadata": {"labels": {"app": app}}, "spec": spec, "status": status}));
        }
        let budget = json!({"metadata": {}, "spec": {"selector": {"matchLabels": {"app": "kept"}}}, "status": {"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}});
        put(Watched::PodDisruptionBudget, "kept".into(), budget);
        let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let pod = json!({"metadata": {"name": "p", "namespace": "default"}, "spec": {"priority": 1000, "containers": [container]}});
        let pod = PodInfo::compile(&PodFields::of(pod).unwrap(), 0, state.interner(), &mut Vec::new());
        let cycle = Cycle { pod: &pod, state: &state, profile: &profile, scope: None };
        let found = candidates(&cycle, &cycle.judge());
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
        for minor in [19, 25] {
            check(minor, &pods, "4", &["y*: p2", "x: p0 p1", "z: p5! p3 p4"]);
        }
        for minor in [26, 34, 36] {
            check(minor, &pods, "4", &["y*: p2", "x: p0 p1", "z: p3 p4 p5!"]);
        }
    }

    #[test]
    fn the_lower_pod_goes_and_the_later_start_is_preferred() {
        let pods = [("x", 100, 2000, "a"), ("x", 10, 2000, "a"), ("y", 10, 3000, "a"), ("z", 5000, 4000, "a")];
        check(34, &pods, "2", &["y*: p2", "x: p1"]);
    }

    #[test]
    fn the_start_counts_since_1_15() {
        // Equal in all else: the node whose pod started last.
        let pods = [("x", 10, 4000, "a"), ("y", 10, 4000, "a"), ("z", 5000, 4000, "a")];
        for minor in [11, 14] {
            check(minor, &pods, "2", &["x*: p0", "y*: p1"]);
        }
        for minor in [15, 22, 36] {
            check(minor, &pods, "2", &["y*: p1", "x: p0"]);
        }
    }

    #[test]
    fn a_budget_that_is_used_up_on_the_way() {
        // Two disruptions are allowed; up to 1.17 every pod is held against the budget as it stands.
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
    fn a_pod_that_frees_nothing_stays() {
        let pods = [("x", 5000, 4000, "a"), ("y", 5000, 4000, "a"), ("z", 10, 4000, "a"), ("z", 20, 0, "a")];
        check(34, &pods, "2", &["z*: p2"]);
    }
}
