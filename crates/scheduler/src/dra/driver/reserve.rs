//! What happens once a node is chosen for a pod whose claims a driver allocates: the driver is asked, and the pod waits for its answer.
//! Upstream: `Reserve` and `PreBind`, `plugins/dynamicresources/dynamicresources.go` (1.26–1.31).

use std::sync::Arc;

use crate::release::{DriverWaits, Rules};
use crate::{Cycle, DriverWait, Judgement, NodeJudgement};

use super::{ClaimsOfDrivers, Negotiation, Way};

const ALLOCATE: &str = "waiting for resource driver to allocate resource";
const INFORM: &str = "waiting for resource driver to provide information";
/// The reason in releases that write the request to the driver in PreBind.
const DRIVER: &str = "waiting for resource driver";

/// Returns what rejects the pod on each node that fits, once that node is chosen; empty: nothing does.
pub(crate) fn waits(cycle: &Cycle<'_>, judgement: &Judgement) -> Vec<DriverWait> {
    let rules = &cycle.profile.rules;
    let plugin = cycle.profile.filters.iter().any(|entry| entry.name == "DynamicResources");
    if !rules.drivers_allocate() || !rules.dra || !plugin {
        return Vec::new();
    }
    let Ok(Some(wanted)) = ClaimsOfDrivers::of(cycle) else { return Vec::new() };
    let fitting: Vec<&NodeJudgement> = judgement.nodes.iter().filter(|node| node.fits()).collect();
    let scored = judgement.scores.is_some();
    let mut waits: Vec<DriverWait> = Vec::new();
    for node in &fitting {
        let Some(reason) = wanted.after(node, &fitting, scored) else { continue };
        match waits.iter_mut().find(|wait| wait.reason == reason) {
            Some(wait) => wait.nodes.push(node.name.clone()),
            None => {
                let message = sentence(rules, &reason, scored);
                waits.push(DriverWait { nodes: vec![node.name.clone()], status: status(rules, &reason), reason, message });
            }
        }
    }
    waits
}

/// Returns the message written, if it is the same for every node that may be chosen.
pub(crate) fn message(judgement: &Judgement) -> Option<String> {
    let best = judgement.scores.as_ref().filter(|scores| scores.unknown.is_empty());
    let chosen: Vec<&Arc<str>> = match (&judgement.nominated, best) {
        (Some(nominated), _) => vec![nominated],
        (None, Some(scores)) => scores.best().collect(),
        (None, None) => judgement.nodes.iter().filter(|node| node.fits()).map(|node| &node.name).collect(),
    };
    let mut of_all = judgement.driver_waits.iter().filter(|wait| chosen.iter().all(|name| wait.nodes.contains(name)));
    of_all.next().map(|wait| wait.message.clone())
}

/// Words the message written to the pod.
fn sentence(rules: &Rules, reason: &str, scored: bool) -> String {
    let failed = is_error(reason);
    match failed || rules.driver_waits_are_errors() {
        _ if failed && scored => format!("running PreScore plugin \"DynamicResources\": {reason}"),
        true => format!("running Reserve plugin \"DynamicResources\": {reason}"),
        false => format!("0/1 nodes are available: 1 {reason}."),
    }
}

fn status(rules: &Rules, reason: &str) -> &'static str {
    if is_error(reason) { "Error" } else { rules.driver_wait_status() }
}

fn is_error(reason: &str) -> bool {
    !matches!(reason, ALLOCATE | INFORM | DRIVER)
}

impl ClaimsOfDrivers<'_> {
    /// Returns the reason once a node is chosen.
    fn after(&self, node: &NodeJudgement, fitting: &[&NodeJudgement], scored: bool) -> Option<String> {
        if let Negotiation::Foreign(error) = &self.context {
            return Some(error.clone());
        }
        let of = |way: fn(&Way) -> bool| self.claims.iter().filter(|claim| way(&claim.way)).count();
        let asked = of(|way| matches!(way, Way::Driver { .. }));
        let answered = of(|way| matches!(way, Way::Driver { status: Some(_), .. }));
        let own = of(|way| matches!(way, Way::Named(..) | Way::Devices));
        let ready = (asked == 1 && own == 0) || (answered + own == asked && own < asked);
        let spec = if let Negotiation::Of(context) = &self.context { Some(&context.spec) } else { None };
        let selected = spec.is_some_and(|spec| *spec.selected_node == *node.name);
        let potential = |name: &str| spec.is_some_and(|spec| spec.potential_nodes.iter().any(|known| known == name));
        if asked == 0 {
            return None;
        }
        let reason = match self.cycle.profile.rules.driver_waits() {
            DriverWaits::OnceReady if ready => ALLOCATE,
            DriverWaits::UntilSelected if ready && !selected => ALLOCATE,
            DriverWaits::OnceReady | DriverWaits::UntilSelected => INFORM,
            DriverWaits::InPreBind => {
                let known = if scored { fitting.iter().all(|other| potential(&other.name)) } else { potential(&node.name) };
                if !known || (ready && !selected) { DRIVER } else { INFORM }
            }
        };
        Some(reason.to_owned())
    }
}
