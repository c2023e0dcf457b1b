//! Where a group's pods would go once all lower pods are gone, and whether they still may as these come back one by one.
//! Source: `reprieveVictim` of `framework/preemption/podgrouppreemption.go` (1.37): each pod keeps the state its cycle had then.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cluster::{ClusterState, ObjectKey, PodInfo, Stored};
use crate::scheduler::cycle::{Cycle, Moved};
use crate::scheduler::dra::claim_name;
use crate::scheduler::plugin::Verdict;
use crate::scheduler::plugins::pod_topology_spread::Tracked;
use crate::scheduler::replay::excursion::Excursion;

use super::evict::Unit;
use super::placement::Outcome;
use super::{Group, Scope};

/// The group's pods that found nodes, in order.
pub struct Assignments<'g> {
    group: &'g Group<'g>,
    all: Vec<Assignment>,
}

struct Assignment {
    pending: PodInfo,
    node: Arc<str>,
    /// The pod on its node with what it reserved.
    brings: Vec<(ObjectKey, Stored)>,
    scope: Scope,
    /// The filters that did not run for it, as their PreFilter had nothing to say.
    idle: Vec<bool>,
    spread: Option<Tracked>,
}

impl<'g> Assignments<'g> {
    /// Those of an outcome. The state is as it was afterwards.
    pub fn new(group: &'g Group<'g>, state: &mut ClusterState, outcome: &Outcome) -> Self {
        let mut all = Vec::new();
        let Some(tried) = outcome.chosen.map(|at| &outcome.tries[at].1) else { return Self { group, all } };
        let mut scope = Scope { within: None, pending: BTreeSet::new(), ..tried.scope.clone() };
        let mut assumed = Excursion::default();
        for member in &tried.members {
            let Some(node) = member.tried.node.clone() else { continue };
            let cycle = Cycle { scope: Some(&scope), ..Cycle::new(&member.pod, state, group.profile) };
            let (idle, spread) = (cycle.prepare().idle_filters(), Tracked::new(&cycle));
            let pending = PodInfo { node_name: None, ..(*member.pod).clone() };
            all.push(Assignment { pending, node, brings: member.brings.clone(), scope: scope.clone(), idle, spread });
            for (key, stored) in &member.brings {
                if let Stored::ResourceClaim(claim, _) = stored {
                    scope.pending.insert(claim_name(claim));
                }
                assumed.set(state, key, Some(stored.clone()));
            }
        }
        assumed.restore(state);
        Self { group, all }
    }

    /// Tells the pods' cycles that a unit came (1) or went (-1).
    pub fn moved(&mut self, state: &ClusterState, unit: &Unit, delta: i64) {
        for assignment in &mut self.all {
            let Some(spread) = &mut assignment.spread else { continue };
            let cycle = Cycle { scope: Some(&assignment.scope), ..Cycle::new(&assignment.pending, state, self.group.profile) };
            for pod in &unit.pods {
                if let Some(node) = pod.node_name.as_deref().and_then(|name| state.node(name)) {
                    spread.moved(pod, node, delta, &cycle);
                }
            }
        }
    }

    /// Whether each pod still passes on its node, one after the other.
    pub fn hold(&self, state: &mut ClusterState) -> bool {
        let mut assumed = Excursion::default();
        let fits = self.all.iter().all(|assignment| {
            let passes = assignment.passes(self.group, state);
            for (key, stored) in assignment.brings.iter().filter(|_| passes) {
                assumed.set(state, key, Some(stored.clone()));
            }
            passes
        });
        assumed.restore(state);
        fits
    }

    /// Whether a verdict on one of the pods depended on chance.
    pub fn are_drawn(&self) -> bool {
        self.all.iter().filter_map(|assignment| assignment.spread.as_ref()).any(Tracked::is_drawn)
    }
}

impl Assignment {
    fn passes(&self, group: &Group, state: &ClusterState) -> bool {
        let cycle = Cycle { scope: Some(&self.scope), ..Cycle::new(&self.pending, state, group.profile) };
        let Some(node) = state.node(&self.node) else { return true };
        let mut prepared = cycle.prepare();
        let place = group.profile.filters.iter().position(|entry| entry.name == "PodTopologySpread");
        if let (Some(at), Some(spread)) = (place, &self.spread) {
            prepared.replace(at, Box::new(|node| spread.judge(node, &cycle)));
        }
        let verdicts = cycle.judge_node(node, &prepared, &cycle.nominated_pods(), Moved::default());
        let refuses = |(verdict, idle): (&Verdict, &bool)| !idle && matches!(verdict, Verdict::Reject(_) | Verdict::Error(_));
        !verdicts.iter().zip(&self.idle).any(refuses)
    }
}
