//! What a group's preemption may evict: single pods, and groups whose pods go together.
//! Sources: `framework/preemption/types.go`, `podgrouppreemption.go` (1.36, 1.37).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, ObjectKey, PodGroup, PodInfo, Stored};
use crate::scheduler::cycle::{Cycle, Moved};
use crate::scheduler::dra::claim_name;
use crate::scheduler::plugin::Verdict;
use crate::scheduler::plugins::pod_topology_spread::Tracked;
use crate::scheduler::replay::excursion::Excursion;

use super::placement::Outcome;
use super::{Group, Scope};

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

/// A node that is gone while a pod of a group that goes together is still said to run there: 1.37 then gives up (`createDomainVictims`).
/// Which one it names where there are several is chance; here it is the first by name.
pub fn missing_node(state: &ClusterState) -> Option<Arc<str>> {
    let reached = state.nodes().flat_map(|node| &node.pods).filter_map(|pod| Some((&pod.namespace, pod.spec.pod_group.as_ref()?)));
    let reached: BTreeSet<(&Arc<str>, &Arc<str>)> = reached.collect();
    let together = |pod: &&Arc<PodInfo>| group_of(pod, state).is_some_and(|group| group.spec.goes_together());
    let lost = state.pods().filter(|pod| pod.is_on_node() && pod.node_name.as_deref().is_some_and(|name| state.node(name).is_none()));
    let lost =
        lost.filter(together).filter(|pod| pod.spec.pod_group.as_ref().is_some_and(|name| reached.contains(&(&pod.namespace, name))));
    lost.filter_map(|pod| pod.node_name.clone()).min()
}

/// A pod of the group on the node it would go to once all lower pods are gone, and the state of its cycle there.
pub struct Assignment {
    placed: Arc<PodInfo>,
    /// The pod with what it reserved.
    brings: Vec<(ObjectKey, Stored)>,
    scope: Scope,
    /// The filters that did not run for it.
    idle: Vec<bool>,
    spread: Option<Tracked>,
}

impl Assignment {
    fn pending(&self) -> PodInfo {
        PodInfo { node_name: None, ..(*self.placed).clone() }
    }
}

/// Where the group's pods would go.
pub fn assignments(group: &Group, state: &mut ClusterState, outcome: &Outcome) -> Vec<Assignment> {
    let Some(tried) = outcome.chosen.map(|at| &outcome.tries[at].1) else { return Vec::new() };
    let mut scope = Scope { within: None, pending: BTreeSet::new(), ..tried.scope.clone() };
    let mut assumed = Excursion::default();
    let mut found = Vec::new();
    for member in &tried.members {
        let Some(placed) = member.assumed() else { continue };
        let cycle = Cycle { scope: Some(&scope), ..Cycle::new(&member.pod, state, group.profile) };
        let (idle, spread) = (cycle.prepare().idle_filters(), Tracked::new(&cycle));
        found.push(Assignment { placed, brings: member.brings.clone(), scope: scope.clone(), idle, spread });
        for (key, stored) in &member.brings {
            if let Stored::ResourceClaim(claim, _) = stored {
                scope.pending.insert(claim_name(claim));
            }
            assumed.set(state, key, Some(stored.clone()));
        }
    }
    assumed.restore(state);
    found
}

/// Tells the pods' cycles that a unit came (1) or went (-1).
pub fn moved(group: &Group, state: &ClusterState, assignments: &mut [Assignment], unit: &Unit, delta: i64) {
    for pod in &unit.pods {
        let Some(node) = pod.node_name.as_deref().and_then(|name| state.node(name)) else { continue };
        for assignment in &mut *assignments {
            let pending = assignment.pending();
            let cycle = Cycle { scope: Some(&assignment.scope), ..Cycle::new(&pending, state, group.profile) };
            if let Some(spread) = &mut assignment.spread {
                spread.moved(pod, node, delta, &cycle);
            }
        }
    }
}

/// Whether each pod of the group still passes on its node, one after the other (1.37). Filters whose PreFilter had nothing to say stay out.
pub fn hold(group: &Group, state: &mut ClusterState, assignments: &[Assignment]) -> bool {
    let mut assumed = Excursion::default();
    let fits = assignments.iter().all(|assignment| {
        let passes = passes(group, state, assignment);
        for (key, stored) in assignment.brings.iter().filter(|_| passes) {
            assumed.set(state, key, Some(stored.clone()));
        }
        passes
    });
    assumed.restore(state);
    fits
}

/// Whether a verdict on one of the pods depended on chance.
pub fn are_drawn(assignments: &[Assignment]) -> bool {
    assignments.iter().filter_map(|assignment| assignment.spread.as_ref()).any(Tracked::is_drawn)
}

fn passes(group: &Group, state: &ClusterState, assignment: &Assignment) -> bool {
    let pod = assignment.pending();
    let cycle = Cycle { scope: Some(&assignment.scope), ..Cycle::new(&pod, state, group.profile) };
    let Some(node) = assignment.placed.node_name.as_deref().and_then(|name| state.node(name)) else { return true };
    let mut prepared = cycle.prepare();
    let place = group.profile.filters.iter().position(|entry| entry.name == "PodTopologySpread");
    if let (Some(at), Some(spread)) = (place, &assignment.spread) {
        prepared.replace(at, Box::new(|node| spread.judge(node, &cycle)));
    }
    let verdicts = cycle.judge_node(node, &prepared, &cycle.nominated_pods(), Moved::default());
    let refuses = |(verdict, idle): (&Verdict, &bool)| !idle && matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
    !verdicts.iter().zip(&assignment.idle).any(refuses)
}
