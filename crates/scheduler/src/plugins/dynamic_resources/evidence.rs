//! What is compared about devices: those that claims have, those they would get, those that exist.

use std::sync::Arc;

use crate::cluster::Claim;
use crate::dra::{Allocation, Allocator, ExtendedResources, NodeClaim, claim_name, pod_claims, requests, results, written};
use crate::framework::{AllocatedDevice, ClassRequest, DeviceCheck, Fact, ResourceCheck};
use crate::{Candidate, Cycle};

use super::{Lacking, Wanted, is_allocated, is_reachable};

/// Each claim with the devices it has or would get; where it gets none, what it wants and how many devices are left.
pub(super) fn claims(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let claims = match pod_claims(cycle.pod, cycle.state, cycle.profile) {
        Ok(claims) => claims,
        Err(reason) => return vec![Fact::upstream(reason)],
    };
    if claims.iter().any(|claim| cycle.profile.rules.driver_allocates(claim)) {
        return Vec::new();
    }
    let (had, open): (Vec<&Arc<Claim>>, Vec<_>) = claims.iter().partition(|claim| is_allocated(claim));
    let mut facts: Vec<Fact> = had.iter().map(|claim| allocated(claim, node)).collect();
    let own = match ExtendedResources::of(cycle).map(|extended| extended.on(node, !claims.is_empty(), &cycle.pod.namespace)) {
        Some(NodeClaim::Claim(claim)) => Some(claim),
        Some(NodeClaim::Refused(reason)) => {
            facts.push(Fact::upstream(reason));
            return facts;
        }
        Some(NodeClaim::Nothing | NodeClaim::LeftBehind) | None => None,
    };
    let wanted: Vec<&Claim> = open.iter().map(|claim| &***claim).chain(own.as_deref()).collect();
    if !wanted.is_empty() {
        facts.extend(to_allocate(&wanted, cycle, node));
    }
    facts.extend(of_the_node(cycle, node));
    if facts.is_empty() { vec![Fact::holding(DeviceCheck::DevicePlugins)] } else { facts }
}

/// What the node lacks for the pod together with its devices, where these take of the node's own resources.
fn of_the_node(cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    if !cycle.profile.rules.requests.devices {
        return Vec::new();
    }
    let wanted = Wanted::of(cycle).ok().flatten();
    let lacking = wanted.map(|wanted| wanted.lacking(node)).unwrap_or_default();
    let lacks = |Lacking { resource, asked, taken, capacity }: Lacking| {
        Fact::refusing(ResourceCheck::WithDevices { resource, requested: asked, used: taken, allocatable: capacity })
    };
    lacking.into_iter().map(lacks).collect()
}

fn allocated(claim: &Claim, node: &Candidate) -> Fact {
    let devices = results(claim).iter().map(|result| AllocatedDevice {
        request: result.request.clone(),
        driver: result.driver.clone(),
        pool: result.pool.clone(),
        device: result.device.clone(),
    });
    Fact::new(is_reachable(claim, node), DeviceCheck::Allocated { claim: claim_name(claim), devices: devices.collect() })
}

fn to_allocate(claims: &[&Claim], cycle: &Cycle, node: &Candidate) -> Vec<Fact> {
    let allocator = Allocator::new(cycle);
    if let Ok(Some(found)) = allocator.allocate(node, claims) {
        let would = |(claim, got): (&&Claim, &Allocation)| {
            let (claim, devices) = (claim_name(claim), allocated_devices(got));
            Fact::holding(DeviceCheck::WouldAllocate { claim, devices, certain: found.certain })
        };
        return claims.iter().zip(&found.claims).map(would).collect();
    }
    let there = allocator.devices(node);
    let taken = there.iter().filter(|(_, taken)| *taken).count();
    let wants = |claim: &&Claim| {
        let alternatives = |request| {
            let each = written(request).into_iter();
            each.map(|way| ClassRequest { class: way.class.to_owned(), count: (way.mode != "All").then_some(way.count) }).collect()
        };
        let requests = requests(claim).iter().map(alternatives);
        Fact::refusing(DeviceCheck::Wants { claim: claim_name(claim), requests: requests.collect() })
    };
    let mut facts: Vec<Fact> = claims.iter().map(wants).collect();
    facts.push(Fact::refusing(DeviceCheck::Available { devices: there.len(), taken }));
    facts
}

pub(crate) fn allocated_devices(of: &Allocation) -> Vec<AllocatedDevice> {
    let device = |(request, driver, pool, device): &(String, String, String, String)| AllocatedDevice {
        request: request.clone(),
        driver: driver.clone(),
        pool: pool.clone(),
        device: device.clone(),
    };
    of.devices.iter().map(device).collect()
}
