//! What a pod asks of a node's resources, what is free, and who has the rest.

use std::sync::Arc;

use crate::cluster::{NodeInfo, PodKey};
use crate::framework::{Fact, ResourceCheck};
use crate::{Candidate, Cycle};

use super::{device_resources, shortages};

/// The number of pods, and each resource that is requested or lacking.
pub(super) fn room(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let of_devices = if rules.dra_extended_resources { device_resources(cycle) } else { Vec::new() };
    let short = shortages(node, &request, rules, arguments, &of_devices);
    let lacks = |name: &str| short.iter().any(|shortage| &*shortage.resource == name);
    let standard = ["cpu", "memory", "ephemeral-storage"].map(Arc::from).into_iter();
    let names = standard.chain(request.scalars.iter().map(|(name, _)| name.clone()));
    let mut facts = vec![Fact::new(!lacks("pods"), ResourceCheck::Pods { count: node.pods.len(), allowed: node.allowed_pods })];
    if rules.sidecars_refused && cycle.pod.spec.requests.init_containers.iter().any(|container| container.restartable) {
        facts.push(Fact::refusing(ResourceCheck::Sidecar));
    }
    let of_resource = |resource: Arc<str>| {
        let [requested, used, allocatable] = [request.get(&resource), node.requested.get(&resource), node.allocatable.get(&resource)];
        if !lacks(&resource) && allocatable < requested {
            return Fact::holding(ResourceCheck::Ignored { resource, requested });
        }
        if allocatable == 0 {
            return Fact::refusing(ResourceCheck::Absent { resource, requested });
        }
        let pods = requesting(cycle, node, &resource);
        Fact::new(!lacks(&resource), ResourceCheck::Requested { resource, requested, used, allocatable, pods })
    };
    facts.extend(names.filter(|name| request.get(name) > 0 || lacks(name)).map(of_resource));
    facts
}

/// The pods on a node that request a resource, each with how much, the largest first.
fn requesting(cycle: &Cycle, node: &NodeInfo, resource: &str) -> Vec<(PodKey, i64)> {
    let rules = &cycle.profile.rules.requests;
    let requested = node.pods.iter().map(|pod| (pod.key(), rules.existing(pod).get(resource)));
    let mut pods: Vec<(PodKey, i64)> = requested.filter(|(_, requested)| *requested > 0).collect();
    pods.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    pods
}
