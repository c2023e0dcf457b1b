//! Which victims would violate a PodDisruptionBudget.
//! Sources: `core/generic_scheduler.go` filterPodsWithPDBViolation (1.9–1.18), `plugins/defaultpreemption/default_preemption.go`,
//! `framework/preemption` (1.19–1.37).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::policy::PodDisruptionBudget;
use crate::cluster::{ClusterState, Interner, PodInfo, Selector, label_selector};
use crate::release::{BudgetCount, Rules};

/// Pods that violate a budget, by namespace and name.
pub(crate) type Violating = BTreeSet<(Arc<str>, Arc<str>)>;

/// A PodDisruptionBudget that selects pods.
#[derive(Clone)]
pub(crate) struct Budget {
    budget: Arc<PodDisruptionBudget>,
    selector: Selector,
    allowed: i32,
}

impl Budget {
    pub(crate) fn selects(&self, pod: &PodInfo) -> bool {
        let namespace = self.budget.metadata.namespace.as_deref().unwrap_or_default();
        namespace == &*pod.namespace && !pod.labels.is_empty() && self.selector.matches(&pod.labels)
    }

    /// Whether the budget lists that pod in `status.disruptedPods`.
    fn knows(&self, pod: &PodInfo) -> bool {
        let disrupted = self.budget.status.as_ref().and_then(|status| status.disrupted_pods.as_ref());
        disrupted.is_some_and(|disrupted| disrupted.contains_key(&*pod.name))
    }
}

pub(crate) fn budgets(state: &ClusterState) -> Vec<Budget> {
    let mut interner = Interner::default();
    let mut compiled = |budget: &Arc<PodDisruptionBudget>| {
        let selector = label_selector(budget.spec.as_ref()?.selector.as_ref()?, &mut interner)?;
        let allowed = budget.status.as_ref().map_or(0, |status| status.disruptions_allowed.unwrap_or(0));
        (!selector.is_empty()).then(|| Budget { budget: budget.clone(), selector, allowed })
    };
    state.listers().budgets.iter().filter_map(&mut compiled).collect()
}

/// Walks the pods in order and decrements each budget's `disruptionsAllowed`. There is one result, except in releases where a pod's first violated
/// budget keeps the others from being decremented: there, one result for each order of the budgets that select a pod together, as far as the results
/// differ.
pub(crate) fn violating(pods: &[Arc<PodInfo>], budgets: &[Budget], rules: &Rules) -> Vec<Violating> {
    let all: Vec<&Budget> = budgets.iter().filter(|budget| pods.iter().any(|pod| budget.selects(pod))).collect();
    let shared = |budget: &&Budget| {
        let together = |pod: &Arc<PodInfo>| budget.selects(pod) && all.iter().filter(|other| other.selects(pod)).count() > 1;
        rules.budget_count().follows_order() && pods.iter().any(together)
    };
    let (shared, alone): (Vec<&Budget>, Vec<&Budget>) = all.iter().copied().partition(shared);
    let mut answers: Vec<Violating> = Vec::new();
    for order in orders(&shared) {
        let order: Vec<&Budget> = order.into_iter().chain(alone.iter().copied()).collect();
        let answer = in_order(pods, &order, rules);
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    answers
}

/// Beyond this many budgets only some orders are tried.
const MOST_ORDERED: usize = 6;

/// Returns the orders of some budgets; where there are many, only one order beginning with each of them.
fn orders<'a>(budgets: &[&'a Budget]) -> Vec<Vec<&'a Budget>> {
    if budgets.len() <= 1 {
        return vec![budgets.to_vec()];
    }
    let mut found = Vec::new();
    for first in 0..budgets.len() {
        let mut rest = budgets.to_vec();
        let head = rest.remove(first);
        let tails = if budgets.len() > MOST_ORDERED { vec![rest.clone(), rest.into_iter().rev().collect()] } else { orders(&rest) };
        found.extend(tails.into_iter().map(|tail| [vec![head], tail].concat()));
    }
    found
}

fn in_order(pods: &[Arc<PodInfo>], budgets: &[&Budget], rules: &Rules) -> Violating {
    let mut left: Vec<i32> = budgets.iter().map(|budget| budget.allowed).collect();
    let (count, disrupted_are_free) = (rules.budget_count(), rules.disrupted_pods_are_free());
    let mut found = Violating::new();
    for pod in pods {
        let mut violated = false;
        for (budget, allowed) in budgets.iter().zip(&mut left).filter(|(budget, _)| budget.selects(pod)) {
            if disrupted_are_free && budget.knows(pod) {
                continue;
            }
            match count {
                BudgetCount::Unchanged => violated |= *allowed <= 0,
                BudgetCount::UntilUsedUp if *allowed <= 0 => {
                    violated = true;
                    break;
                }
                _ => {
                    *allowed = allowed.wrapping_sub(1);
                    violated |= *allowed < 0;
                    if violated && count == BudgetCount::UntilViolated {
                        break;
                    }
                }
            }
        }
        if violated {
            found.insert(pod.key());
        }
    }
    found
}

/// `filterVictimsWithPDBViolation` (`framework/preemption/preemption.go`, 1.36, 1.37): which of the pods, evicted in units and in this order, violate
/// a budget.
pub(crate) fn violating_units(units: &[&[Arc<PodInfo>]], budgets: &[Budget], rules: &Rules) -> Vec<Vec<bool>> {
    let all = rules.every_pod_of_group_counts();
    let mut left: Vec<i32> = budgets.iter().map(|budget| budget.allowed).collect();
    let mut violates = |pod: &PodInfo| {
        let mut own = budgets.iter().zip(&mut left).filter(|(budget, _)| budget.selects(pod) && !budget.knows(pod));
        own.any(|(_, allowed)| {
            *allowed = allowed.wrapping_sub(1);
            *allowed < 0
        })
    };
    let mut unit = |pods: &[Arc<PodInfo>]| {
        let mut found = Vec::with_capacity(pods.len());
        for pod in pods {
            let looks = all || !found.contains(&true);
            found.push(looks && violates(pod));
        }
        found
    };
    units.iter().map(|pods| unit(pods)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::{ObjectKey, PodFields, WatchedKind};
    use crate::{Gates, Profile, Release};

    /// Three pods of two budgets that allow one disruption each, and a fourth pod of one of them: in 1.18 which pod violates depends on the order.
    #[test]
    fn the_order_of_budgets_matters_where_the_first_violation_stops() {
        let answers = |minor: u16, apart: bool| {
            let rules = Profile::new(Release(minor), Gates::new(Release(minor))).rules;
            let mut state = ClusterState::new(rules.requests);
            for (at, (name, label, allowed)) in [("a", "x", 0), ("b", if apart { "z" } else { "y" }, 1)].into_iter().enumerate() {
                let budget = json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"selector": {"matchLabels": {label: "1"}}},
                                    "status": {"disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3}});
                let key = ObjectKey { kind: WatchedKind::PodDisruptionBudget, namespace: "n".into(), name: name.into() };
                state.apply(&key, Some(budget.to_string().as_bytes()), at as i64 + 1);
            }
            let mut pod = |name: &str, labels: serde_json::Value| {
                let pod = json!({"metadata": {"name": name, "namespace": "n", "labels": labels}, "spec": {"containers": []}});
                Arc::new(PodInfo::compile(&PodFields::of(pod).unwrap(), 0, state.interner(), &mut Vec::new()))
            };
            let pods = [pod("p0", json!({"x": "1", "y": "1"})), pod("p1", json!({"y": "1"}))];
            let mut found: Vec<Vec<String>> = violating(&pods, &budgets(&state), &rules)
                .into_iter()
                .map(|answer| answer.into_iter().map(|(_, name)| name.to_string()).collect())
                .collect();
            found.sort();
            found
        };
        assert_eq!(answers(18, false), [vec!["p0"], vec!["p0", "p1"]]);
        assert_eq!(answers(37, false), [vec!["p0"], vec!["p0", "p1"]]);
        assert_eq!(answers(18, true), [["p0"]]);
        assert_eq!(answers(17, false), [["p0"]]);
        assert_eq!(answers(19, false), [["p0", "p1"]]);
    }
}
