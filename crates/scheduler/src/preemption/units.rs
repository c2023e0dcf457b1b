//! Preemption for one pod where pods of groups are evicted together, on whichever nodes they are (the gate GenericWorkload, 1.37).
//! Sources: SelectVictimsOnNode of `plugins/defaultpreemption/default_preemption.go`, GetVictimsOnNode of `framework/preemption/preemption.go` (1.37).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::evict::{DisruptionGroups, Reprieved, Unit, node_not_found, repeated, reprieve, violating};
use crate::cluster::{NodeInfo, PodInfo};
use crate::cycle::Moved;
use crate::cycle::prepared::Prepared;
use crate::framework::{Cycle, PreFilterExtensions};
use crate::{Profile, Verdict};

use super::budgets::Budget;
use super::victims::{PreemptionCandidate, Victim};

/// Whether a profile preempts this way.
pub(super) fn apply(profile: &Profile) -> bool {
    profile.rules.pods_evict_groups()
}

/// Returns the units that have pods on a node and a lower priority than the pod.
///
/// # Errors
/// As upstream: a pod of a unit is on a node that does not exist, or its groups form a cycle.
pub(super) fn lower(cycle: &Cycle, node: &NodeInfo, together: &DisruptionGroups) -> Result<Vec<Unit>, String> {
    let mut units = together.units([node].into_iter());
    let gone = units.iter().flat_map(|unit| &unit.pods).filter_map(|pod| pod.node_name.as_deref());
    if let Some(name) = gone.into_iter().find(|name| cycle.state.node(name).is_none()) {
        return Err(node_not_found(name));
    }
    units.retain(|unit| unit.priority < cycle.pod.spec.priority);
    repeated(&units, |pod| pod.node_name.as_ref() == Some(&node.name)).map_or(Ok(units), Err)
}

/// A node from which units were removed.
pub(super) struct Cleared<'a> {
    cycle: &'a Cycle<'a>,
    nominated: &'a BTreeMap<Arc<str>, Vec<Arc<PodInfo>>>,
    prepared: &'a Prepared<'a>,
    info: NodeInfo,
    removed: Vec<Arc<PodInfo>>,
    returned: Vec<Arc<PodInfo>>,
    /// A filter that counts over many nodes, where pods on other nodes are evicted as well, and the prepared filters that use it.
    spread: Option<(Arc<RwLock<Box<dyn PreFilterExtensions>>>, Prepared<'a>)>,
}

impl<'a> Cleared<'a> {
    /// Removes units from a node, and their other pods from other nodes.
    pub(super) fn new(
        cycle: &'a Cycle<'a>,
        nominated: &'a BTreeMap<Arc<str>, Vec<Arc<PodInfo>>>,
        prepared: &'a Prepared<'a>,
        node: &NodeInfo,
        units: &[Unit],
    ) -> Self {
        let afar = units.iter().flat_map(|unit| &unit.pods).any(|pod| pod.node_name.as_ref() != Some(&node.name));
        let tracked = if afar { cycle.prefilter_extensions() } else { None };
        let spread = tracked.map(|(place, tracked)| {
            let (tracked, mut prepared) = (Arc::new(RwLock::new(tracked)), cycle.prepare());
            let shared = tracked.clone();
            prepared.replace(place, Box::new(move |node| shared.read().unwrap_or_else(PoisonError::into_inner).filter(node, cycle)));
            (tracked, prepared)
        });
        let (removed, returned) = (Vec::new(), Vec::new());
        let mut cleared = Self { cycle, nominated, prepared, info: node.clone(), removed, returned, spread };
        units.iter().for_each(|unit| cleared.take(unit));
        cleared
    }

    /// Runs the filters on the node as it is now.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let prepared = self.spread.as_ref().map_or(self.prepared, |(_, prepared)| prepared);
        let moved = Moved { removed: &self.removed, returned: &self.returned };
        self.cycle.filter_node(&self.info, prepared, self.nominated, moved)
    }

    fn take(&mut self, unit: &Unit) {
        self.returned.retain(|other| !unit.pods.iter().any(|pod| pod.key() == other.key()));
        self.removed.extend(unit.pods.iter().cloned());
        self.each(unit, -1);
    }

    fn put_back(&mut self, unit: &Unit) {
        self.removed.retain(|other| !unit.pods.iter().any(|pod| pod.key() == other.key()));
        self.returned.extend(unit.pods.iter().cloned());
        self.each(unit, 1);
    }

    fn each(&mut self, unit: &Unit, delta: i64) {
        let (rules, sidecars) = (self.cycle.state.rules(), self.cycle.profile.rules.sidecar_ports);
        for pod in &unit.pods {
            match delta {
                _ if pod.node_name.as_ref() != Some(&self.info.name) => {}
                1 => self.info.simulate_add(pod.clone(), rules, sidecars),
                _ => self.info.simulate_remove(pod, rules, sidecars),
            }
            let node = pod.node_name.as_deref().and_then(|name| self.cycle.state.node(name));
            if let (Some((tracked, _)), Some(node)) = (&self.spread, node) {
                tracked.write().unwrap_or_else(PoisonError::into_inner).moved(pod, node, delta, self.cycle);
            }
        }
    }

    /// Puts a unit back; removes it again if the pod no longer fits.
    fn may_stay(&mut self, unit: &Unit) -> bool {
        self.put_back(unit);
        let fits = self.fits();
        if !fits {
            self.take(unit);
        }
        fits
    }

    fn fits(&self) -> bool {
        !self.verdicts().iter().any(|verdict| matches!(verdict, Verdict::Reject(_) | Verdict::Error(_)))
    }

    fn is_drawn(&self) -> bool {
        self.spread.as_ref().is_some_and(|(tracked, _)| tracked.read().unwrap_or_else(PoisonError::into_inner).is_drawn())
    }

    /// Selects the victims: reprieves each unit that may stay, first those whose budget would be violated. `None`: the pod does not fit even without
    /// all units.
    pub(super) fn candidate(mut self, mut lower: Vec<Unit>, budgets: &[Budget]) -> Option<PreemptionCandidate> {
        if lower.is_empty() || !self.fits() {
            return None;
        }
        lower.sort_by_key(Unit::importance);
        let reversed: Vec<Budget> = budgets.iter().rev().cloned().collect();
        let rules = &self.cycle.profile.rules;
        let drawn = violating(&lower, budgets, rules) != violating(&lower, &reversed, rules);
        let Reprieved { victims, tied } = reprieve(lower, budgets, rules, |unit| self.may_stay(unit));
        let tied = tied || self.is_drawn();
        let unlike = |unit: &Unit| unit.pods.iter().any(|pod| pod.spec.priority != unit.pods[0].spec.priority);
        // The first of all victims determines the node's rank.
        let drawn = drawn || victims.first().is_some_and(|(unit, _)| unlike(unit));
        let pods = victims.into_iter().flat_map(|(unit, violates)| unit.pods.into_iter().zip(violates));
        let victims = pods.map(|(pod, violates_budget)| Victim { pod, violates_budget }).collect();
        Some(PreemptionCandidate { node: self.info.name.clone(), victims, picked: false, tied, drawn })
    }
}
