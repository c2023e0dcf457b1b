//! DynamicResources: devices that claims have must be reachable, and those that claims want must be there.

use std::sync::Arc;

use crate::cluster::NodeInfo;
use crate::kube::api::resource::v1::ResourceClaim;
use crate::scheduler::dra::{Allocator, ExtendedResources, Fault, NodeClaim, claim_name, pod_claims, requests, selects, written};
use crate::scheduler::{Candidate, Cycle, Judgement, NodeJudgement, Plugin, PreFilter, PreScore, Refusal, Verdict, WholePod};

/// The rule.
pub struct DynamicResources;

const NOT_AVAILABLE: &str = "resourceclaim not available on the node";
const CANNOT_ALLOCATE: &str = "cannot allocate all claims";

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        "DynamicResources"
    }

    fn doc(&self) -> &'static str {
        "Devices that claims have must be reachable from the node, and those that claims want must be there.

Checks
  Every ResourceClaim of the pod exists, and its device classes too. A claim with devices: the node selector of its allocation matches.
  Claims without: a search over the devices published for the node, by class and request selectors (CEL), count or all, constraints
  (matchAttribute, distinctAttribute), admin access, alternatives (firstAvailable), shared counters, consumable capacity, device taints.
  Extended resources that device classes stand for, on nodes without a device plugin for them.
  Score: which of a request's alternatives the node could serve, the first ones best.
Reads
  ResourceClaims, DeviceClasses, ResourceSlices, the pod's resourceClaims and resourceClaimStatuses, the node's labels and allocatable
History
  1.26  behind the gate DynamicResourceAllocation; on by default since 1.34
  1.32  the scheduler allocates by itself; up to 1.31 drivers did, whose answers are not in etcd: unknown
  1.34  alternatives; 1.35 score; 1.36 extended resources, shared counters, device taints, consumable capacity by default
Differs from upstream
  CEL beyond the parts modelled, attributes of list types and device taint rules make a node unknown.
  Upstream takes pools in random order and gives up after ten seconds a node; here the order is by name, the limit a number of steps."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        let claims = match pod_claims(cycle.pod, cycle.state) {
            Ok(claims) => claims,
            Err(reason) => return PreFilter::Refuse(Refusal::unresolvable(reason)),
        };
        let extended = ExtendedResources::of(cycle);
        if claims.is_empty() && extended.is_none() {
            return PreFilter::Skip;
        }
        if let Some(problem) = claims.iter().filter(|claim| !is_allocated(claim)).find_map(|claim| problem(claim, cycle)) {
            return problem;
        }
        let allocator = Allocator::new(cycle);
        PreFilter::Judge(Box::new(move |node: &Candidate| judge(node, &claims, extended.as_ref(), &allocator, cycle)))
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a [&'a NodeInfo]) -> PreScore<'a> {
        if cycle.profile.release.0 <= 34 {
            return PreScore::Skip;
        }
        let claims = pod_claims(cycle.pod, cycle.state).unwrap_or_default();
        let open: Vec<Arc<ResourceClaim>> = claims.iter().filter(|claim| !is_allocated(claim)).cloned().collect();
        let fixed: i64 = claims.iter().map(|claim| points(claim, &allocated_requests(claim))).sum();
        let allocator = Allocator::new(cycle);
        PreScore::scaled(
            move |node| {
                let wanted: Vec<&ResourceClaim> = open.iter().map(|claim| &**claim).collect();
                let found = if wanted.is_empty() { None } else { allocator.allocate(node, &wanted).ok().flatten() };
                let found = found.unwrap_or_default();
                let names =
                    |at: usize| found.get(at).map(|claim| claim.devices.iter().map(|(request, ..)| request.clone()).collect::<Vec<_>>());
                fixed + open.iter().enumerate().filter_map(|(at, claim)| Some(points(claim, &names(at)?))).sum::<i64>()
            },
            false,
        )
    }
}

/// `PreEnqueue` (since 1.28): why the pod is not even tried, if it is not.
pub fn pre_enqueue(cycle: &Cycle<'_>) -> Option<String> {
    if cycle.profile.release.0 <= 27 || cycle.pod.spec.resource_claims.is_empty() {
        return None;
    }
    pod_claims(cycle.pod, cycle.state).err()
}

/// `PostFilter`: what the plugin adds to the message where no node fits. (It frees one of the claims that kept the pod off a node.)
pub fn post_filter(cycle: &Cycle<'_>, judgement: &Judgement) -> &'static str {
    const NOTHING: &str = "no new claims to deallocate";
    let refused_itself = matches!(&judgement.whole_pod, Some(WholePod::Refused { plugin: "DynamicResources", .. }));
    let extended = ExtendedResources::of(cycle);
    let claims = pod_claims(cycle.pod, cycle.state).unwrap_or_default();
    if refused_itself || (claims.is_empty() && extended.is_none()) {
        return NOTHING;
    }
    let place = judgement.filters.iter().position(|name| *name == "DynamicResources");
    let reached = |node: &&NodeJudgement| !node.absent && node.first_refusal().is_some_and(|(at, _)| Some(at) == place);
    let refusing: Vec<&NodeInfo> = judgement.nodes.iter().filter(reached).map(|node| cycle.state.node_by_id(node.id)).collect();
    let frees = |claim: &ResourceClaim| {
        let users = claim.status.as_ref().and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
        users.iter().all(|user| *user.uid == *cycle.pod.uid) && users.len() <= 1
    };
    if claims.iter().any(|claim| frees(claim) && refusing.iter().any(|node| !is_reachable(claim, node))) {
        "deallocation of ResourceClaim completed"
    } else if extended.is_some_and(|extended| extended.left_behind.is_some()) {
        "deletion of ResourceClaim completed"
    } else {
        "still not schedulable"
    }
}

/// `Filter`.
fn judge(
    node: &Candidate,
    claims: &[Arc<ResourceClaim>],
    extended: Option<&ExtendedResources>,
    allocator: &Allocator<'_>,
    cycle: &Cycle<'_>,
) -> Verdict {
    let own = match extended.map(|extended| extended.on(node, !claims.is_empty(), &cycle.pod.namespace)) {
        Some(NodeClaim::Refused(reason)) => return Verdict::unresolvable(reason),
        Some(NodeClaim::Claim(claim)) => Some(claim),
        Some(NodeClaim::Nothing) => return Verdict::Pass,
        None => None,
    };
    let open: Vec<&ResourceClaim> =
        claims.iter().map(|claim| &**claim).filter(|claim| !is_allocated(claim)).chain(own.as_deref()).collect();
    if !open.is_empty() {
        if cycle.profile.release.0 <= 31 {
            return Verdict::Unknown { missing: "up to 1.31 drivers allocate devices, and their answers are not in etcd".into() };
        }
        if cycle.profile.gates.on("DRADeviceTaintRules") {
            return Verdict::Unknown { missing: "DeviceTaintRules are not read".into() };
        }
        match allocator.allocate(node, &open) {
            Ok(Some(_)) => {}
            Ok(None) => return Verdict::unresolvable(CANNOT_ALLOCATE),
            Err(Fault::Node(reason)) => return Verdict::unresolvable(reason),
            Err(Fault::Error(error)) => return Verdict::Error(error),
            Err(Fault::Unknown(missing)) => return Verdict::Unknown { missing: missing.into() },
        }
    }
    if claims.iter().all(|claim| is_reachable(claim, node)) { Verdict::Pass } else { Verdict::unresolvable(NOT_AVAILABLE) }
}

/// What keeps an unallocated claim from being looked at at all.
fn problem<'a>(claim: &ResourceClaim, cycle: &Cycle<'_>) -> Option<PreFilter<'a>> {
    let refuse = |reason: String| Some(PreFilter::Refuse(Refusal::unresolvable(reason)));
    for request in requests(claim) {
        let alternatives = written(request);
        let prioritized = request.exactly.is_none();
        if alternatives.is_empty() {
            return refuse(format!("resource claim {}, request {}: unknown request type", claim_name(claim), request.name));
        }
        if prioritized && !cycle.profile.gates.on("DRAPrioritizedList") {
            let what = "has subrequests, but the DRAPrioritizedList feature is disabled";
            return refuse(format!("resource claim {}, request {}: {what}", claim_name(claim), request.name));
        }
        for alternative in alternatives {
            let name = if prioritized { format!("{}/{}", request.name, alternative.name) } else { request.name.clone() };
            if alternative.class.is_empty() {
                return Some(PreFilter::Error(format!("request {name}: unsupported request type")));
            }
            if cycle.state.listers().device_classes.get("", alternative.class).is_none() {
                return refuse(format!("request {name}: device class {} does not exist", alternative.class));
            }
        }
    }
    None
}

/// Whether a claim has its devices.
pub fn is_allocated(claim: &ResourceClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.allocation.is_some())
}

/// Whether the devices of an allocated claim can be used from the node.
pub fn is_reachable(claim: &ResourceClaim, node: &NodeInfo) -> bool {
    let selector =
        claim.status.as_ref().and_then(|status| status.allocation.as_ref()).and_then(|allocation| allocation.node_selector.as_ref());
    selector.is_none_or(|selector| selects(selector, node))
}

/// The requests (`request/alternative`) that the devices of an allocated claim serve.
fn allocated_requests(claim: &ResourceClaim) -> Vec<String> {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let results = allocation.and_then(|allocation| allocation.devices.as_ref()).and_then(|devices| devices.results.as_ref());
    results.into_iter().flatten().map(|result| result.request.clone()).collect()
}

/// Eight points for the first alternative of a request, one less for each that follows (`computeScore`).
fn points(claim: &ResourceClaim, served: &[String]) -> i64 {
    let of_request = |request: &crate::kube::api::resource::v1::DeviceRequest| {
        let alternatives = request.first_available.as_deref().unwrap_or_default();
        let chosen = alternatives.iter().position(|alternative| served.contains(&format!("{}/{}", request.name, alternative.name)));
        chosen.and_then(|at| i64::try_from(at).ok()).map_or(0, |at| 8 - at)
    };
    requests(claim).iter().map(of_request).sum()
}
