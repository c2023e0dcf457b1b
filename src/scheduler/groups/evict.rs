//! What a group's preemption may evict: single pods, and groups whose pods go together.
//! Sources: `framework/preemption/types.go`, `podgrouppreemption.go` (1.36, 1.37).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::{ClusterState, PodGroup, PodInfo, Stored};
use crate::scheduler::cycle::{Cycle, Moved};
use crate::scheduler::plugin::Verdict;
use crate::scheduler::replay::excursion::Excursion;

use super::placement::Outcome;
use super::{Group, Scope, object_key};

/// Pods that go together.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The pods, by name.
    pub pods: Vec<Arc<PodInfo>>,
    /// Theirs, or their group's.
    pub priority: i32,
    grouped: bool,
    started: i64,
}

/// The more important first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Importance(Reverse<i32>, Reverse<bool>, Reverse<usize>, i64, Arc<str>, Arc<str>);

impl Importance {
    /// The same without the names, which upstream does not look at.
    pub fn alike(self) -> Self {
        Self(self.0, self.1, self.2, self.3, Arc::default(), Arc::default())
    }
}

impl Unit {
    fn new(pods: Vec<Arc<PodInfo>>, priority: i32, newer: bool) -> Self {
        let started = pods.iter().map(|pod| pod.started.unwrap_or(i64::MAX));
        // 1.36 dates a group by the pod it met first.
        let started = if newer { started.min() } else { started.take(1).next() };
        let grouped = pods.first().is_some_and(|pod| pod.spec.pod_group.is_some());
        Self { priority, grouped, started: started.unwrap_or(i64::MAX), pods }
    }

    /// `moreImportantVictim`: priority, groups before pods, the larger, the longer running. 1.36 compares sizes of groups alone; pods have one.
    pub fn importance(&self) -> Importance {
        let (namespace, name) = self.pods.first().map(|pod| pod.key()).unwrap_or_default();
        Importance(Reverse(self.priority), Reverse(self.grouped), Reverse(self.pods.len()), self.started, namespace, name)
    }
}

fn group_of<'s>(pod: &PodInfo, state: &'s ClusterState) -> Option<&'s Arc<PodGroup>> {
    state.listers().pod_groups.get(&pod.namespace, pod.spec.pod_group.as_deref()?)
}

/// `GetPodPriority` (1.37): that of the pod's group, if it has one.
pub fn priority(pod: &PodInfo, state: &ClusterState) -> i32 {
    group_of(pod, state).map_or(pod.spec.priority, |group| group.spec.priority.unwrap_or(0))
}

/// Everything on the cluster's nodes that could go.
pub fn units(state: &ClusterState, newer: bool) -> Vec<Unit> {
    let mut together: BTreeMap<(Arc<str>, Arc<str>), Vec<Arc<PodInfo>>> = BTreeMap::new();
    let mut units = Vec::new();
    for pod in state.nodes().flat_map(|node| &node.pods) {
        match (group_of(pod, state), &pod.spec.pod_group) {
            (Some(group), Some(name)) if group.spec.goes_together() => {
                together.entry((pod.namespace.clone(), name.clone())).or_default().push(pod.clone());
            }
            _ => units.push(Unit::new(vec![pod.clone()], if newer { priority(pod, state) } else { pod.spec.priority }, newer)),
        }
    }
    for pods in together.into_values() {
        let priority = priority(&pods[0], state);
        units.push(Unit::new(pods, priority, newer));
    }
    units
}

/// Where the group's pods would go once all lower pods are gone, each with the filters that did not run for it then.
pub fn assignments(group: &Group, state: &mut ClusterState, outcome: &Outcome) -> Vec<(Arc<PodInfo>, Vec<bool>)> {
    let members = outcome.chosen.into_iter().flat_map(|at| &outcome.tries[at].1.members);
    let mut assumed = Excursion::default();
    let mut found = Vec::new();
    for member in members {
        let Some(placed) = member.assumed() else { continue };
        let scope = Scope::default();
        let idle = Cycle { scope: Some(&scope), ..Cycle::new(&member.pod, state, group.profile) }.prepare().idle_filters();
        found.push((placed.clone(), idle));
        assumed.set(state, &object_key(&placed), Some(Stored::Pod(placed)));
    }
    assumed.restore(state);
    found
}

/// Whether each pod of the group still passes on its node, one after the other (1.37). Filters whose PreFilter had nothing to say stay out.
pub fn hold(group: &Group, state: &mut ClusterState, assignments: &[(Arc<PodInfo>, Vec<bool>)]) -> bool {
    let mut assumed = Excursion::default();
    let fits = assignments.iter().all(|(placed, idle)| {
        let passes = passes(group, state, placed, idle);
        if passes {
            assumed.set(state, &object_key(placed), Some(Stored::Pod(placed.clone())));
        }
        passes
    });
    assumed.restore(state);
    fits
}

fn passes(group: &Group, state: &ClusterState, placed: &PodInfo, idle: &[bool]) -> bool {
    let pod = PodInfo { node_name: None, ..placed.clone() };
    let scope = Scope::default();
    let cycle = Cycle { scope: Some(&scope), ..Cycle::new(&pod, state, group.profile) };
    let Some(node) = placed.node_name.as_deref().and_then(|name| state.node(name)) else { return true };
    let verdicts = cycle.judge_node(node, &cycle.prepare(), &cycle.nominated_pods(), Moved::default());
    let refuses = |(verdict, idle): (&Verdict, &bool)| !idle && matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
    !verdicts.iter().zip(idle).any(refuses)
}
