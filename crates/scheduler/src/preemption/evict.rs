//! The units that preemption evicts: single pods, and pod groups whose disruption mode evicts all pods at once.
//! Sources: `framework/preemption/types.go`, `podgrouppreemption.go` (1.36, 1.37), `util.go` (1.37).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::budgets::{Budget, violating_units};
use crate::Profile;
use crate::cluster::{ClusterState, NodeInfo, PodGroup, PodInfo};
use crate::pod_groups::{GroupId, Hierarchy};
use crate::release::Rules;

/// Pods that are evicted together.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The pods.
    pub pods: Vec<Arc<PodInfo>>,
    /// The priority of the pod, or of its group.
    pub priority: i32,
    kind: UnitKind,
    started: i64,
}

/// The kind of a unit, the less important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum UnitKind {
    Pod,
    Group,
    Composite,
}

/// Sorts units, the more important first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Importance(Reverse<i32>, Reverse<UnitKind>, Reverse<usize>, i64, Arc<str>, Arc<str>);

impl Importance {
    /// The importance without the names, which upstream does not compare.
    pub(crate) fn without_names(self) -> Self {
        Self(self.0, self.1, self.2, self.3, Arc::default(), Arc::default())
    }
}

impl Unit {
    fn new(pods: Vec<Arc<PodInfo>>, priority: i32, kind: UnitKind, rules: &Rules) -> Self {
        let started = pods.iter().map(|pod| pod.started.unwrap_or(i64::MAX));
        let started = if rules.groups_start_with_earliest_pod() { started.min() } else { started.take(1).next() };
        Self { priority, kind, started: started.unwrap_or(i64::MAX), pods }
    }

    /// `moreImportantVictim`: priority, composite groups before groups before pods, the larger, the longer running. 1.36 compares sizes of groups
    /// alone; pods have one.
    pub(crate) fn importance(&self) -> Importance {
        let (namespace, name) = self.pods.first().map(|pod| pod.key()).unwrap_or_default();
        Importance(Reverse(self.priority), Reverse(self.kind), Reverse(self.pods.len()), self.started, namespace, name)
    }
}

/// `GetPodPriority` (1.37): the priority of the pod's root group, if it has one.
pub(crate) fn priority(pod: &PodInfo, hierarchy: Hierarchy) -> i32 {
    let top = above(pod, hierarchy).pop();
    top.map_or(pod.spec.priority, |(_, group)| group.spec.priority.unwrap_or(0))
}

fn above<'s>(pod: &PodInfo, hierarchy: Hierarchy<'s>) -> Vec<(GroupId, &'s Arc<PodGroup>)> {
    let own = pod.spec.pod_group.as_deref().map(|name| GroupId::of_pods(&pod.namespace, name));
    own.map(|own| hierarchy.upwards(own)).unwrap_or_default()
}

/// `getHighestAllAncestor` (1.37): the topmost group with which the pod is evicted, unless the pod is evicted alone.
fn goes_with(pod: &PodInfo, hierarchy: Hierarchy) -> Option<GroupId> {
    above(pod, hierarchy).into_iter().rev().find(|(_, group)| group.spec.is_disrupted_as_one()).map(|(id, _)| id)
}

/// Pods on nodes, by the groups that are evicted as one (`disruptionMode: all`).
pub(crate) struct DisruptionGroups<'s> {
    hierarchy: Hierarchy<'s>,
    rules: &'s Rules,
    groups: BTreeMap<GroupId, Vec<Arc<PodInfo>>>,
}

impl<'s> DisruptionGroups<'s> {
    pub(crate) fn new(state: &'s ClusterState, profile: &'s Profile) -> Self {
        let (hierarchy, rules) = (Hierarchy::new(state, profile), &profile.rules);
        let with_lost = rules.groups_have_pods_of_lost_nodes();
        let (mut groups, mut leaves): (BTreeMap<_, Vec<Arc<PodInfo>>>, BTreeMap<_, Vec<Arc<PodInfo>>>) = Default::default();
        let unplaced =
            |pod: &&Arc<PodInfo>| with_lost && pod.is_on_node() && pod.node_name.as_deref().is_some_and(|name| state.node(name).is_none());
        for pod in state.nodes().flat_map(|node| &node.pods).chain(state.pods().filter(unplaced)) {
            let Some(group) = goes_with(pod, hierarchy) else { continue };
            let leaf = pod.spec.pod_group.as_deref().map(|name| GroupId::of_pods(&pod.namespace, name));
            leaves.entry(leaf).or_default().push(pod.clone());
            groups.entry(group).or_default().push(pod.clone());
        }
        for (group, pods) in groups.iter_mut().filter(|(group, _)| group.composite) {
            let below = hierarchy.leaves(group).into_iter().filter_map(|leaf| leaves.get(&Some(leaf)));
            *pods = below.flatten().cloned().collect();
        }
        Self { hierarchy, rules, groups }
    }

    pub(crate) fn units<'n>(&self, nodes: impl Iterator<Item = &'n NodeInfo>) -> Vec<Unit> {
        let mut met = BTreeSet::new();
        let mut units = Vec::new();
        for pod in nodes.flat_map(|node| &node.pods) {
            let group = goes_with(pod, self.hierarchy).and_then(|group| self.groups.get_key_value(&group));
            if let Some((id, pods)) = group {
                let kind = if id.composite { UnitKind::Composite } else { UnitKind::Group };
                if met.insert(id) {
                    units.push(Unit::new(pods.clone(), priority(pod, self.hierarchy), kind, self.rules));
                }
            } else {
                let kind = if pod.spec.pod_group.is_some() { UnitKind::Group } else { UnitKind::Pod };
                let of_group = self.rules.pods_have_priority_of_group();
                let priority = if of_group { priority(pod, self.hierarchy) } else { pod.spec.priority };
                units.push(Unit::new(vec![pod.clone()], priority, kind, self.rules));
            }
        }
        units
    }
}

/// Returns the error for a pod that is in several units, or twice in one, because groups form a cycle: upstream cannot remove it a second time.
pub(crate) fn repeated(units: &[Unit], on: impl Fn(&PodInfo) -> bool) -> Option<String> {
    let mut seen = BTreeSet::new();
    let pod = units.iter().flat_map(|unit| &unit.pods).filter(|pod| on(pod)).find(|pod| !seen.insert(pod.key()))?;
    Some(format!("no corresponding pod {} in pods of node {}", pod.name, pod.node_name.as_deref().unwrap_or_default()))
}

/// Returns which pods of each unit violate a budget.
pub(crate) fn violating(units: &[Unit], budgets: &[Budget], rules: &Rules) -> Vec<Vec<bool>> {
    violating_units(&units.iter().map(|unit| unit.pods.as_slice()).collect::<Vec<_>>(), budgets, rules)
}

/// The result of reprieving units.
pub(crate) struct Reprieved {
    /// The units to evict, the more important first, each with which of its pods violate a budget.
    pub victims: Vec<(Unit, Vec<bool>)>,
    /// Whether a victim is as important as a unit that was reprieved.
    pub tied: bool,
}

/// Reprieves each removed unit that may stay: first those whose budget would be violated, then the more important.
pub(crate) fn reprieve(mut units: Vec<Unit>, budgets: &[Budget], rules: &Rules, mut may_stay: impl FnMut(&Unit) -> bool) -> Reprieved {
    units.sort_by_key(Unit::importance);
    let violating = violating(&units, budgets, rules);
    let (first, then): (Vec<_>, Vec<_>) = units.into_iter().zip(violating).partition(|(_, violates)| violates.contains(&true));
    let rank = |(unit, violates): &(Unit, Vec<bool>)| (unit.importance().without_names(), violates.contains(&true));
    let (staying, mut victims): (Vec<_>, Vec<_>) = first.into_iter().chain(then).partition(|(unit, _)| may_stay(unit));
    let staying: Vec<_> = staying.iter().map(rank).collect();
    let tied = victims.iter().any(|victim| staying.contains(&rank(victim)));
    victims.sort_by_key(|(unit, _)| unit.importance());
    Reprieved { victims, tied }
}

/// The error for a pod whose node does not exist (`newDomainVictim`).
pub(crate) fn node_not_found(node: &str) -> String {
    format!("failed to get node info for node \"{node}\" from snapshot: nodeinfo not found for node name \"{node}\"")
}

/// Nodes that do not exist although pods of groups that are evicted as one are still bound to them. 1.37 then gives up with an error that names one
/// of them, chosen at random (`createDomainVictims`).
pub(crate) fn missing_nodes(state: &ClusterState, profile: &Profile) -> BTreeSet<Arc<str>> {
    let hierarchy = Hierarchy::new(state, profile);
    let reached: BTreeSet<GroupId> = state.nodes().flat_map(|node| &node.pods).filter_map(|pod| goes_with(pod, hierarchy)).collect();
    let unplaced = state.pods().filter(|pod| pod.is_on_node() && pod.node_name.as_deref().is_some_and(|name| state.node(name).is_none()));
    let unplaced = unplaced.filter(|pod| goes_with(pod, hierarchy).is_some_and(|group| reached.contains(&group)));
    unplaced.filter_map(|pod| pod.node_name.clone()).collect()
}
