//! What would satisfy each lacking resource: a smaller request, or one pod less that uses it.

use crate::framework::{Fix, Need, Obstacle};
use crate::{Candidate, Cycle};

use super::{Shortage, device_resources, shortages};

/// The needs of each lacking resource: a smaller request, or one pod less that uses it.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let (rules, arguments) = (&cycle.profile.rules, &cycle.profile.arguments);
    let request = rules.requests.incoming(cycle.pod);
    let devices = if rules.dra_extended_resources { device_resources(cycle) } else { Vec::new() };
    let short = shortages(node, &request, rules, arguments, &devices);
    let takers = |resource: &str| {
        Fix::deletions(node.pods.iter().filter(|pod| resource == "pods" || rules.requests.existing(pod).get(resource) > 0))
    };
    let need = |shortage: Shortage| {
        let resource = &*shortage.resource;
        let lower =
            (resource != "pods" && shortage.requested > 0).then(|| Fix::LowerRequest { resource: shortage.resource.clone(), by: 0 });
        // Where the node never has that much, no pod less makes it enough.
        let delete = if shortage.requested > shortage.capacity { Vec::new() } else { takers(resource) };
        let obstacle = if resource == "pods" { Obstacle::TooManyPods } else { Obstacle::NoRoom };
        Need::one_of_or(lower.into_iter().chain(delete).collect(), obstacle)
    };
    short.into_iter().map(need).collect()
}
