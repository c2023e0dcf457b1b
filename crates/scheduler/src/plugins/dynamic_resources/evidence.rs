//! What is compared about devices: those that claims have, those they would get, those that are there.

use std::sync::Arc;

use crate::cluster::Claim;
use crate::dra::driver;
use crate::dra::{Allocation, Allocator, ExtendedResources, NodeClaim, claim_name, pod_claims, requests, results, written};
use crate::framework::Fact;
use crate::{Candidate, Cycle};

use crate::plugins::wording::amount;

use super::{Lacking, Wanted, is_allocated, is_reachable};

/// Each claim with the devices it has or would get; where it gets none, what it wants and how many devices are left.
pub(super) fn claims(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    if cycle.profile.rules.drivers_allocate() {
        return match driver::Wanted::of(cycle) {
            Ok(wanted) => wanted.map(|wanted| wanted.facts(node)).unwrap_or_default(),
            Err(driver::Stop::Refused(why) | driver::Stop::Failed(why)) => vec![Fact::refusing(why)],
        };
    }
    let claims = match pod_claims(cycle.pod, cycle.state, cycle.profile) {
        Ok(claims) => claims,
        Err(reason) => return vec![Fact::refusing(reason)],
    };
    let (had, open): (Vec<&Arc<Claim>>, Vec<_>) = claims.iter().partition(|claim| is_allocated(claim));
    let mut facts: Vec<Fact> = had.iter().map(|claim| allocated(claim, node)).collect();
    let own = match ExtendedResources::of(cycle).map(|extended| extended.on(node, !claims.is_empty(), &cycle.pod.namespace)) {
        Some(NodeClaim::Claim(claim)) => Some(claim),
        Some(NodeClaim::Refused(reason)) => {
            facts.push(Fact::refusing(reason.to_owned()));
            return facts;
        }
        Some(NodeClaim::Nothing | NodeClaim::LeftBehind) | None => None,
    };
    let wanted: Vec<&Claim> = open.iter().map(|claim| &***claim).chain(own.as_deref()).collect();
    if !wanted.is_empty() {
        facts.extend(to_allocate(&wanted, cycle, node));
    }
    facts.extend(of_the_node(cycle, node));
    if facts.is_empty() { vec![Fact::holding("device plugins serve all the pod asks for".to_owned())] } else { facts }
}

/// What the node lacks for the pod together with its devices, where these take of the node's own resources.
fn of_the_node(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    if !cycle.profile.rules.requests.devices {
        return Vec::new();
    }
    let wanted = Wanted::of(cycle).ok().flatten();
    let lacking = wanted.map(|wanted| wanted.lacking(node)).unwrap_or_default();
    let told = lacking.into_iter().map(|Lacking { resource, asked, taken, capacity }| {
        let [asked, taken, capacity] = [asked, taken, capacity].map(|value| amount(&resource, value));
        Fact::refusing(format!("{resource}: {asked} asked with what the devices take, {taken} of {capacity} taken"))
    });
    told.collect()
}

fn allocated(claim: &Claim, node: &Candidate) -> Fact {
    let devices: Vec<String> = results(claim).iter().map(|device| format!("{}/{}/{}", device.driver, device.pool, device.device)).collect();
    let reached = is_reachable(claim, node);
    let not = if reached { "" } else { "not " };
    Fact::new(reached, format!("claim {} has {}, {not}reached from here", claim_name(claim), devices.join(", ")))
}

fn to_allocate(claims: &[&Claim], cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let allocator = Allocator::new(cycle);
    if let Ok(Some(found)) = allocator.allocate(node, claims) {
        let others = if found.certain { "" } else { ", or others: this release takes pools in random order" };
        let would = |(claim, got): (&&Claim, &Allocation)| {
            Fact::holding(format!("claim {} would get {}{others}", claim_name(claim), by_request(got)))
        };
        return claims.iter().zip(&found.claims).map(would).collect();
    }
    let there = allocator.devices(node);
    let taken = there.iter().filter(|(_, taken)| *taken).count();
    let wants = claims.iter().map(|claim| {
        let each = requests(claim).iter().map(|request| {
            let ways = written(request);
            let ways: Vec<String> = ways
                .iter()
                .map(|way| {
                    if way.mode == "All" { format!("all of class {}", way.class) } else { format!("{} of class {}", way.count, way.class) }
                })
                .collect();
            ways.join(" or else ")
        });
        format!("claim {} wants {}", claim_name(claim), each.collect::<Vec<_>>().join(" and "))
    });
    let mut facts: Vec<Fact> = wants.map(Fact::refusing).collect();
    facts.push(Fact::refusing(format!("{} here, {taken} of them taken", counted(there.len()))));
    facts
}

fn counted(devices: usize) -> String {
    if devices == 1 { "1 device".to_owned() } else { format!("{devices} devices") }
}

/// Devices with the requests they serve: `gpu/pool/a, gpu/pool/b for r0; nic/pool/c for r1`.
pub(crate) fn by_request(of: &Allocation) -> String {
    let mut parts: Vec<(&str, Vec<String>)> = Vec::new();
    for (request, driver, pool, device) in &of.devices {
        let name = format!("{driver}/{pool}/{device}");
        match parts.iter_mut().find(|(known, _)| known == request) {
            Some((_, devices)) => devices.push(name),
            None => parts.push((request, vec![name])),
        }
    }
    let parts: Vec<String> = parts.into_iter().map(|(request, devices)| format!("{} for {request}", devices.join(", "))).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}
