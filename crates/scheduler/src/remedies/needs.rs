//! The needs of a pod on a node: those of every filter that rejects it.

use std::collections::BTreeSet;

use crate::cluster::NodeInfo;
use crate::framework::{Fix, Need, Obstacle, Touches};
use crate::{Candidate, Cycle, Plugin, Refusal, Verdict, WholePod};

/// A need, and the filter it belongs to.
#[derive(Clone)]
pub(super) struct FilterNeed {
    /// The filter; empty where no filter rejects but the pod as a whole is rejected.
    pub plugin: &'static str,
    /// The need.
    pub need: Need,
    /// What else the filter reads.
    touches: Touches,
}

impl FilterNeed {
    fn of(plugin: &'static str, need: Need) -> Self {
        Self { plugin, need, touches: Touches::default() }
    }
}

/// Returns the needs of a pod on a node: of every filter that rejects it; none if it fits.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &NodeInfo, verdicts: &[Verdict]) -> Vec<FilterNeed> {
    let nominated = cycle.nominated_pods();
    let added = nominated.get(&node.name).map(Vec::as_slice).unwrap_or_default();
    let mut with = node.clone();
    added.iter().for_each(|pod| with.add_pod(pod.clone(), cycle.state.rules()));
    let candidate = Candidate { node: &with, added, removed: &[], returned: &[] };
    let mut all = Vec::new();
    for (entry, verdict) in cycle.profile.filters.iter().zip(verdicts) {
        let needs = match verdict {
            Verdict::Pass | Verdict::Skip => continue,
            Verdict::Reject(refusal) => or(entry.plugin.needs(cycle, &candidate), || refused(refusal)),
            Verdict::Unknown { missing } => vec![Need::hopeless(Obstacle::Unknown { missing: missing.clone() })],
            Verdict::Error(error) => or(entry.plugin.needs_after_error(cycle), || Obstacle::Error(error.clone())),
        };
        let touches = entry.plugin.touches();
        all.extend(needs.into_iter().map(|need| FilterNeed { touches, ..FilterNeed::of(entry.name, need) }));
    }
    let others: BTreeSet<Fix> = all.iter().flat_map(|of| of.need.options.iter().cloned()).collect();
    all.iter_mut().for_each(|of| of.add(&others));
    all
}

fn or(needs: Vec<Need>, obstacle: impl FnOnce() -> Obstacle) -> Vec<Need> {
    if needs.is_empty() { vec![Need::hopeless(obstacle())] } else { needs }
}

fn refused(refusal: &Refusal) -> Obstacle {
    Obstacle::Refused(refusal.reasons.clone())
}

impl FilterNeed {
    /// Adds what changes made for other needs may do for this one.
    fn add(&mut self, others: &BTreeSet<Fix>) {
        let touches = self.touches;
        let may_meet = |fix: &&Fix| match fix {
            Fix::AddLabel { .. } | Fix::RemoveLabel { .. } => touches.labels,
            Fix::DeletePod(_) => touches.pods,
            Fix::ReleaseDevices { .. } => true,
            Fix::Uncordon | Fix::Tolerate(_) | Fix::RemoveTaint(_) | Fix::DropNodeSelector { .. } | Fix::DropNodeAffinity => {
                touches.admitted_nodes
            }
            _ => false,
        };
        let more: Vec<Fix> = others.iter().filter(may_meet).filter(|fix| !self.need.options.contains(fix)).cloned().collect();
        self.need.options.extend(more);
    }
}

/// Returns the needs of a pod that is rejected as a whole.
pub(super) fn of_whole(cycle: &Cycle<'_>, whole: &WholePod) -> Vec<FilterNeed> {
    match whole {
        WholePod::Gated { plugin, reason } => {
            vec![FilterNeed::of(plugin, Need::hopeless(Obstacle::Refused(vec![reason.clone().into()])))]
        }
        WholePod::Error(error) => {
            let after = |entry: &crate::FilterEntry| {
                Some((entry.name, entry.plugin.needs_after_error(cycle))).filter(|(_, needs)| !needs.is_empty())
            };
            let (plugin, needs) = cycle.profile.rows().find_map(after).unwrap_or_default();
            or(needs, || Obstacle::Error(error.clone())).into_iter().map(|need| FilterNeed::of(plugin, need)).collect()
        }
        WholePod::Refused { plugin, refusal } => {
            let needs = in_profile(cycle, plugin).map(|plugin| plugin.needs_of_pod(cycle)).unwrap_or_default();
            or(needs, || refused(refusal)).into_iter().map(|need| FilterNeed::of(plugin, need)).collect()
        }
    }
}

/// Returns the needs for a node that a plugin's PreFilterResult leaves out.
pub(super) fn of_unnamed(cycle: &Cycle<'_>, plugin: &'static str) -> Vec<FilterNeed> {
    let needs = in_profile(cycle, plugin).map(|plugin| plugin.needs_of_unnamed(cycle)).unwrap_or_default();
    needs.into_iter().map(|need| FilterNeed::of(plugin, need)).collect()
}

pub(super) fn in_profile<'a>(cycle: &Cycle<'a>, name: &str) -> Option<&'a dyn Plugin> {
    cycle.profile.rows().find(|entry| entry.name == name).map(|entry| entry.plugin)
}
