//! GeneralPredicates and its four parts: resources, host name, host ports, node selector.
//! Source: `algorithm/predicates/predicates.go`.

use std::sync::Arc;

use crate::cluster::{HostPort, NodeInfo, NodeTerm, PodInfo, Resources};

use super::{pages, prefilter};
use crate::framework::{Fact, Need, Touches};
use crate::legacy::reason::PreparedPredicate;
use crate::legacy::reason::Reason;
use crate::release::Rules;
use crate::{Candidate, Cycle, Plugin, PreFilter, Verdict, plugins};

/// A scalar of its own standing, where the release knows it: checked between memory and ephemeral storage.
const NVIDIA_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";

/// GeneralPredicates: all four, every refusal reported.
pub(super) struct GeneralPredicates;

/// The plugins that took the place of its parts, in its order.
fn parts() -> impl Iterator<Item = &'static dyn Plugin> {
    ["NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"].into_iter().map(plugins::rule)
}

impl Plugin for GeneralPredicates {
    fn name(&self) -> &'static str {
        "GeneralPredicates"
    }

    fn doc(&self) -> &'static str {
        pages::GENERAL_PREDICATES
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        prefilter(cycle, general(cycle))
    }

    fn compared(&self, cycle: &Cycle, node: &Candidate, verdict: &Verdict) -> Vec<Fact> {
        parts().flat_map(|plugin| plugin.compared(cycle, node, verdict)).collect()
    }

    fn needs(&self, cycle: &Cycle, node: &Candidate) -> Vec<Need> {
        parts().flat_map(|plugin| plugin.needs(cycle, node)).collect()
    }

    fn touches(&self) -> Touches {
        Touches { labels: true, ..Touches::default() }
    }
}

fn general<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let request = cycle.profile.rules.requests.incoming(cycle.pod);
    Box::new(move |candidate| {
        let mut reasons = resources(cycle, &request, candidate.node);
        reasons.extend(host_name_reason(cycle.pod, candidate.node));
        reasons.extend(host_ports_reason(cycle.pod, candidate.node));
        reasons.extend(node_selector_reason(cycle.pod, candidate.node, &cycle.profile.rules));
        Ok(reasons)
    })
}

/// PodFitsResources.
pub(super) fn pod_fits_resources<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let request = cycle.profile.rules.requests.incoming(cycle.pod);
    Box::new(move |candidate| Ok(resources(cycle, &request, candidate.node)))
}

/// HostName.
pub(super) fn host_name<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    Box::new(move |candidate| Ok(host_name_reason(cycle.pod, candidate.node).into_iter().collect()))
}

/// PodFitsHostPorts, and its older name PodFitsPorts.
pub(super) fn host_ports<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    Box::new(move |candidate| Ok(host_ports_reason(cycle.pod, candidate.node).into_iter().collect()))
}

/// MatchNodeSelector.
pub(super) fn node_selector<'a>(cycle: &'a Cycle<'a>) -> PreparedPredicate<'a> {
    let rules = &cycle.profile.rules;
    Box::new(move |candidate| Ok(node_selector_reason(cycle.pod, candidate.node, rules).into_iter().collect()))
}

fn resources(cycle: &Cycle, request: &Resources, node: &NodeInfo) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let insufficient = |name: &str| Reason::Insufficient(name.into());
    if i64::try_from(node.pods.len()).unwrap_or(i64::MAX) >= node.allowed_pods {
        reasons.push(insufficient("pods"));
    }
    if request.milli_cpu == 0 && request.memory == 0 && request.ephemeral_storage == 0 && request.scalars.is_empty() {
        return reasons;
    }
    // A resource is compared even where the pod asks for none of it: an overcommitted node refuses every pod that asks for anything.
    let lacks = |name: &str| node.allocatable.get(name) < request.get(name).wrapping_add(node.requested.get(name));
    for name in ["cpu", "memory", NVIDIA_GPU, "ephemeral-storage"] {
        if lacks(name) && (name != NVIDIA_GPU || cycle.profile.rules.knows_nvidia_gpu()) {
            reasons.push(insufficient(name));
        }
    }
    let ignored = |name: &Arc<str>| cycle.profile.arguments.ignored_resources.contains(name);
    for (name, _) in &request.scalars {
        let checked_above = &**name == NVIDIA_GPU && cycle.profile.rules.knows_nvidia_gpu();
        if !checked_above && !ignored(name) && lacks(name) {
            reasons.push(Reason::Insufficient(name.clone()));
        }
    }
    reasons
}

fn host_name_reason(pod: &PodInfo, node: &NodeInfo) -> Option<Reason> {
    pod.node_name.as_ref().is_some_and(|name| *name != node.name).then_some(Reason::PodNotMatchHostName)
}

fn host_ports_reason(pod: &PodInfo, node: &NodeInfo) -> Option<Reason> {
    let taken = |wanted: &HostPort| node.used_ports(false).any(|(used, _)| conflict(wanted, used));
    pod.spec.host_ports.iter().any(taken).then_some(Reason::PodNotFitsHostPorts)
}

/// `nodeinfo/host_ports.go`: the unspecified address conflicts with every other.
fn conflict(wanted: &HostPort, used: &HostPort) -> bool {
    const ANY_ADDRESS: &str = "0.0.0.0";
    wanted.port == used.port
        && wanted.protocol == used.protocol
        && (wanted.ip == used.ip || &*wanted.ip == ANY_ADDRESS || &*used.ip == ANY_ADDRESS)
}

fn node_selector_reason(pod: &PodInfo, node: &NodeInfo, rules: &Rules) -> Option<Reason> {
    (!matches_selector_and_affinity(pod, node, rules)).then_some(Reason::NodeSelectorNotMatch)
}

/// Whether a node satisfies the pod's nodeSelector and its required node affinity (`podMatchesNodeLabels`, later
/// `PodMatchesNodeSelectorAndAffinityTerms`). Where matchFields is known a term that does not parse is passed over; before, it ends the search.
fn matches_selector_and_affinity(pod: &PodInfo, node: &NodeInfo, rules: &Rules) -> bool {
    if !pod.spec.node_selector.matches(&node.labels) {
        return false;
    }
    let Some(terms) = &pod.spec.node_affinity.required else { return true };
    if rules.match_fields {
        return terms.iter().any(|term| term.matches(&node.name, &node.labels));
    }
    for term in terms {
        if !term.labels_parse {
            return false;
        }
        if matches_expressions(term, node) {
            return true;
        }
    }
    false
}

fn matches_expressions(term: &NodeTerm, node: &NodeInfo) -> bool {
    !term.expressions.is_empty() && term.expressions.iter().all(|expression| expression.matches(node.labels.get(&expression.key)))
}
