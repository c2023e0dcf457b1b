//! What a group's preemption may evict: single pods, and groups whose pods go together.
//! Sources: `framework/preemption/types.go`, `podgrouppreemption.go` (1.36, 1.37).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cluster::{ClusterState, PodGroup, PodInfo};

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

/// Nodes that are gone while pods of groups that go together are still said to run there: 1.37 then gives up and names one of them, by chance
/// (`createDomainVictims`).
pub fn missing_nodes(state: &ClusterState) -> BTreeSet<Arc<str>> {
    let reached = state.nodes().flat_map(|node| &node.pods).filter_map(|pod| Some((&pod.namespace, pod.spec.pod_group.as_ref()?)));
    let reached: BTreeSet<(&Arc<str>, &Arc<str>)> = reached.collect();
    let together = |pod: &&Arc<PodInfo>| group_of(pod, state).is_some_and(|group| group.spec.goes_together());
    let lost = state.pods().filter(|pod| pod.is_on_node() && pod.node_name.as_deref().is_some_and(|name| state.node(name).is_none()));
    let lost =
        lost.filter(together).filter(|pod| pod.spec.pod_group.as_ref().is_some_and(|name| reached.contains(&(&pod.namespace, name))));
    lost.filter_map(|pod| pod.node_name.clone()).collect()
}
