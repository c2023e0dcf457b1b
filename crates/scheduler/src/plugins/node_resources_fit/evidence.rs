//! What a pod asks of a node's resources, what is free, and who has the rest.

use std::sync::Arc;

use crate::cluster::{NodeInfo, PodInfo};
use crate::framework::Fact;
use crate::plugins::wording::amount;
use crate::{Candidate, Cycle};

use super::{device_resources, shortages};

/// The number of pods, and each resource that is asked for or lacks.
pub(super) fn room(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let of_devices = if rules.dra_extended_resources { device_resources(cycle) } else { Vec::new() };
    let short = shortages(node, &request, rules, arguments, &of_devices);
    let lacks = |name: &str| short.iter().any(|shortage| &*shortage.resource == name);
    let standard = ["cpu", "memory", "ephemeral-storage"].map(Arc::from).into_iter();
    let names = standard.chain(request.scalars.iter().map(|(name, _)| name.clone()));
    let mut facts = vec![Fact::new(!lacks("pods"), format!("pods: {} of {} there", node.pods.len(), node.allowed_pods))];
    if rules.sidecars_refused && cycle.pod.spec.requests.init_containers.iter().any(|container| container.restartable) {
        facts.push(Fact::refusing("it has a sidecar, and the feature gate SidecarContainers is off".to_owned()));
    }
    for name in names.filter(|name| request.get(name) > 0 || lacks(name)) {
        let [asked, taken, capacity] = [request.get(&name), node.requested.get(&name), node.allocatable.get(&name)];
        if !lacks(&name) && capacity < asked {
            facts.push(Fact::holding(format!("{name}: {} asked, not looked at here", amount(&name, asked))));
            continue;
        }
        if capacity == 0 {
            facts.push(Fact::refusing(format!("{name}: {} asked, the node has none", amount(&name, asked))));
            continue;
        }
        let takers = takers(cycle, node, &name);
        let who = if takers.is_empty() { String::new() } else { format!("by {}", takers.join(", ")) };
        let [asked, free, taken, capacity] = [asked, capacity.saturating_sub(taken), taken, capacity].map(|value| amount(&name, value));
        let free = if free.starts_with('-') { "0" } else { &free };
        let text = format!("{name}: {asked} asked, {free} free; {taken} of {capacity} taken");
        facts.push(Fact { who, ..Fact::new(!lacks(&name), text) });
    }
    facts
}

/// The pods that take most of a resource on a node.
fn takers(cycle: &Cycle, node: &NodeInfo, resource: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    let rules = &cycle.profile.rules.requests;
    let mut takers: Vec<(i64, &Arc<PodInfo>)> =
        node.pods.iter().map(|pod| (rules.existing(pod).get(resource), pod)).filter(|(taken, _)| *taken > 0).collect();
    takers.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.key().cmp(&b.1.key())));
    let more = takers.len().saturating_sub(SHOWN);
    let mut told: Vec<String> =
        takers.iter().take(SHOWN).map(|(taken, pod)| format!("{} {}", pod.full_name(), amount(resource, *taken))).collect();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    told
}
