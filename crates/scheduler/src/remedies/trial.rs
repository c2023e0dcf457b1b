//! Changes applied for a while: the pod and the state as they would be, evaluated, and undone.

use std::sync::Arc;

use crate::cluster::{ClusterState, PodInfo, UndoLog, WhenUnsatisfiable};
use crate::framework::{Fix, SpreadCheck};
use crate::plugins::node_resources_fit;
use crate::plugins::pod_topology_spread::filter::comparisons;
use crate::{Candidate, Cycle, Profile};

use super::needs::{self, FilterNeed};

/// A state with some changes applied, which are undone when it is dropped.
pub(super) struct Trial<'s> {
    pod: PodInfo,
    state: UndoLog<'s, ClusterState>,
    /// The changes applied, with the amounts that turned out to be needed.
    pub fixes: Vec<Fix>,
}

impl<'s> Trial<'s> {
    /// Applies changes: first those of fixed amount, then those whose amount depends on what is left to do.
    pub(super) fn with(pod: &PodInfo, state: &'s mut ClusterState, profile: &Profile, fixes: &[Fix], node: &Arc<str>) -> Self {
        let mut trial = Self { pod: pod.clone(), state: UndoLog::new(state), fixes: Vec::new() };
        let (open, complete): (Vec<&Fix>, Vec<&Fix>) =
            fixes.iter().partition(|fix| matches!(fix, Fix::LowerRequest { .. } | Fix::RaiseMaxSkew { .. }));
        for fix in complete {
            trial.make(fix.clone(), node);
        }
        for fix in open {
            let fix = match fix {
                Fix::LowerRequest { resource, .. } => {
                    Fix::LowerRequest { resource: resource.clone(), by: trial.lacking(profile, node, resource) }
                }
                Fix::RaiseMaxSkew { constraint, topology_key, .. } => Fix::RaiseMaxSkew {
                    constraint: *constraint,
                    topology_key: topology_key.clone(),
                    max_skew: trial.skew(profile, node, *constraint),
                },
                other => other.clone(),
            };
            trial.make(fix, node);
        }
        trial
    }

    fn make(&mut self, fix: Fix, node: &Arc<str>) {
        fix.change_pod(&mut self.pod);
        for (key, stored) in fix.change_state(&self.state, &self.pod, node) {
            self.state.set(&key, stored);
        }
        self.fixes.push(fix);
    }

    fn cycle<'c>(&'c self, profile: &'c Profile) -> Cycle<'c> {
        Cycle { pod: &self.pod, state: &self.state, profile, scope: None }
    }

    /// Returns how much of a resource the node lacks, pods nominated to it counted; rounded up to an amount people would write.
    fn lacking(&self, profile: &Profile, node: &str, resource: &Arc<str>) -> i64 {
        let cycle = self.cycle(profile);
        let Some(info) = self.state.node(node) else { return 0 };
        let mut with = info.clone();
        for pod in cycle.nominated_pods().get(node).into_iter().flatten() {
            with.add_pod(pod.clone(), self.state.rules());
        }
        let request = profile.rules.requests.incoming(&self.pod);
        let devices = node_resources_fit::device_resources(&cycle);
        let short = node_resources_fit::shortages(&with, &request, &profile.rules, &profile.arguments, &devices);
        let lack = short.into_iter().find(|shortage| shortage.resource == *resource);
        let unit = if matches!(&**resource, "memory" | "ephemeral-storage") { 1 << 20 } else { 1 };
        lack.map_or(0, |lack| {
            let by = lack.requested.saturating_add(lack.used).saturating_sub(lack.capacity);
            by.div_euclid(unit).saturating_add(i64::from(by.rem_euclid(unit) > 0)).saturating_mul(unit).min(lack.requested)
        })
    }

    /// Returns the skew that one of the pod's constraints would have on the node, or the allowed skew if that is enough.
    fn skew(&self, profile: &Profile, node: &str, at: usize) -> i32 {
        let constraints = &self.pod.spec.spread;
        let hard = constraints.iter().take(at).filter(|constraint| constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
        let number = hard.count();
        let cycle = self.cycle(profile);
        let Some(info) = self.state.node(node) else { return 0 };
        let compared = comparisons(&cycle, &Candidate::plain(info)).into_iter().nth(number).and_then(Result::ok);
        let needed = compared.filter(SpreadCheck::is_skewed).map(|of| of.skew());
        needed.and_then(|skew| i32::try_from(skew).ok()).unwrap_or(0)
    }

    /// Returns what still rejects the pod on the node; empty: it fits.
    pub(super) fn needs(&self, profile: &Profile, node: &str) -> Vec<FilterNeed> {
        let cycle = self.cycle(profile);
        let prepared = cycle.prepare();
        if let Some(whole) = &prepared.whole_pod {
            return needs::of_whole(&cycle, whole);
        }
        let Some(info) = self.state.node(node) else { return Vec::new() };
        let mut found = Vec::new();
        if let Some((_, plugins)) = prepared.subset.as_ref().filter(|(names, _)| !names.contains(node)) {
            found.extend(plugins.first().into_iter().flat_map(|plugin| needs::of_unnamed(&cycle, plugin)));
        }
        let verdicts = cycle.filter_node(info, &prepared, &cycle.nominated_pods(), crate::cycle::Moved::default());
        found.extend(needs::of_node(&cycle, info, &verdicts));
        found
    }
}
