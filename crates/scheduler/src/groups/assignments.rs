//! The nodes a group's pods would get once all lower-priority pods are evicted, and whether they keep fitting as victims are reprieved one by one.
//! Source: `reprieveVictim` of `framework/preemption/podgrouppreemption.go` (1.37): each pod keeps the CycleState of its cycle.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::cluster::{CachedObject, ClusterState, ObjectKey, PodInfo, UndoLog};
use crate::cycle::Moved;
use crate::dra::claim_name;
use crate::framework::{Cycle, GroupScope, PreFilterExtensions, Verdict};
use crate::preemption::evict::Unit;

use super::Group;
use super::placement::PodGroupAlgorithmResult;
use super::status::Status;

/// The group's pods that found nodes, in order.
pub(super) struct Assignments<'g> {
    group: &'g Group<'g>,
    all: Vec<Assignment>,
    /// The assignments of each child group of a composite group: upstream keeps these in a map, so their order is random.
    blocks: Vec<Range<usize>>,
    drawn: bool,
}

/// Beyond this many groups only one order is tried.
const MAX_ORDERED_GROUPS: usize = 3;

struct Assignment {
    pending: PodInfo,
    node: Arc<str>,
    /// The pod on its node, with what it reserved there.
    brings: Vec<(ObjectKey, CachedObject)>,
    scope: GroupScope,
    /// The filters that were skipped for it (PreFilter returned Skip).
    idle: Vec<bool>,
    /// A filter's counts over many nodes, with its position among the filters.
    counts: Option<(usize, Box<dyn PreFilterExtensions>)>,
}

impl<'g> Assignments<'g> {
    /// Collects the assignments of a result. The state is as it was afterwards.
    pub(super) fn new(group: &'g Group<'g>, state: &mut ClusterState, outcome: &PodGroupAlgorithmResult) -> Self {
        let mut found = Self { group, all: Vec::new(), blocks: Vec::new(), drawn: false };
        found.collect(&mut UndoLog::new(state), outcome);
        found
    }

    /// Adds the assignments of a group, each with the CycleState its cycle began with; pods that stay on nodes for the groups that follow are
    /// included.
    fn collect(&mut self, state: &mut ClusterState, outcome: &PodGroupAlgorithmResult) {
        let Some(tried) = outcome.chosen.map(|at| &outcome.tries[at].1) else { return };
        let mut state = UndoLog::new(state);
        for group in &tried.groups {
            self.collect(&mut state, group);
        }
        let start = self.all.len();
        let mut scope = GroupScope { within: None, pending: BTreeSet::new(), ..tried.scope.clone() };
        for member in &tried.members {
            let Some(node) = member.tried.node.clone() else { continue };
            let cycle = Cycle { scope: Some(&scope), ..Cycle::new(&member.pod, &state, self.group.profile) };
            let (idle, counts) = (cycle.prepare().idle_filters(), cycle.prefilter_extensions());
            let pending = PodInfo { node_name: None, ..(*member.pod).clone() };
            self.all.push(Assignment { pending, node, brings: member.brings.clone(), scope: scope.clone(), idle, counts });
            for (key, stored) in &member.brings {
                if let CachedObject::ResourceClaim(claim) = stored {
                    scope.pending.insert(claim_name(claim));
                }
                state.set(key, Some(stored.clone()));
            }
        }
        self.blocks.extend((start < self.all.len()).then_some(start..self.all.len()));
        if outcome.status == Status::Success {
            state.keep();
        }
    }

    /// Updates the pods' counts after a unit was added (1) or removed (-1).
    pub(super) fn moved(&mut self, state: &ClusterState, unit: &Unit, delta: i64) {
        for assignment in &mut self.all {
            let Some((_, counts)) = &mut assignment.counts else { continue };
            let cycle = Cycle { scope: Some(&assignment.scope), ..Cycle::new(&assignment.pending, state, self.group.profile) };
            for pod in &unit.pods {
                if let Some(node) = pod.node_name.as_deref().and_then(|name| state.node(name)) {
                    counts.moved(pod, node, delta, &cycle);
                }
            }
        }
    }

    /// Returns whether each pod still fits its node, one after the other.
    pub(super) fn hold(&mut self, state: &mut ClusterState) -> bool {
        let blocks: Vec<usize> = (0..self.blocks.len()).collect();
        let fits = self.hold_in(&blocks, state);
        if blocks.len() > 1 && !self.drawn {
            self.drawn = blocks.len() > MAX_ORDERED_GROUPS || orders(blocks).iter().any(|order| self.hold_in(order, state) != fits);
        }
        fits
    }

    fn hold_in(&self, order: &[usize], state: &mut ClusterState) -> bool {
        let (mut state, mut before) = (UndoLog::new(state), Vec::new());
        order.iter().flat_map(|block| &self.all[self.blocks[*block].clone()]).all(|assignment| {
            let passes = assignment.passes(self.group, &state, &before);
            before.push(&assignment.pending);
            for (key, stored) in assignment.brings.iter().filter(|_| passes) {
                state.set(key, Some(stored.clone()));
            }
            passes
        })
    }

    /// Whether a verdict on one of the pods depended on chance.
    pub(super) fn are_drawn(&self) -> bool {
        self.drawn || self.all.iter().filter_map(|assignment| assignment.counts.as_ref()).any(|(_, counts)| counts.is_drawn())
    }
}

/// Every order of a few items.
fn orders(of: Vec<usize>) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![of];
    }
    let first = |at: usize| {
        let mut rest = of.clone();
        let first = rest.remove(at);
        orders(rest).into_iter().map(move |rest| [first].into_iter().chain(rest).collect())
    };
    (0..of.len()).flat_map(first).collect()
}

impl Assignment {
    /// `before`: pods of the group that are on their nodes already. They are still nominated to those nodes, so they count twice.
    fn passes(&self, group: &Group, state: &ClusterState, before: &[&PodInfo]) -> bool {
        let cycle = Cycle { scope: Some(&self.scope), ..Cycle::new(&self.pending, state, group.profile) };
        let Some(node) = state.node(&self.node) else { return true };
        let mut prepared = cycle.prepare();
        if let Some((at, counts)) = &self.counts {
            prepared.replace(*at, Box::new(|node| counts.filter(node, &cycle)));
        }
        let mut nominated = cycle.nominated_pods();
        for other in before.iter().filter(|other| other.spec.priority >= self.pending.spec.priority) {
            let of_node = other.nominated_node_name.iter().filter(|name| **name == node.name);
            of_node.for_each(|name| nominated.entry(name.clone()).or_default().push(Arc::new((*other).clone())));
        }
        let verdicts = cycle.filter_node(node, &prepared, &nominated, Moved::default());
        let refuses = |(verdict, idle): (&Verdict, &bool)| !idle && matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
        !verdicts.iter().zip(&self.idle).any(refuses)
    }
}
