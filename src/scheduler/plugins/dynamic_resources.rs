//! DynamicResources: devices that claims have must be reachable, and those that claims want must be there.

use std::sync::Arc;

use crate::cluster::{Claim, NodeInfo};
use crate::kube::api::resource::v1::ResourceClaimStatus;
use crate::scheduler::dra::driver;
use crate::scheduler::dra::{
    Allocation, Allocations, Allocator, ExtendedResources, Fault, NodeAllocatable, NodeClaim, Variant, can_skip_operations, claim_name,
    pod_claims, requests, selects, skips_operations, written,
};
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
  Every Claim of the pod exists, and its device classes too. A claim with devices: the node selector of its allocation matches.
  Claims without: a search over the devices published for the node, by class and request selectors (CEL), count or all, constraints
  (matchAttribute, distinctAttribute), admin access, alternatives (firstAvailable), shared counters, consumable capacity, device taints.
  Extended resources that device classes stand for, on nodes without a device plugin for them. Devices that are to be made ready
  for the node: whether that failed.
  Score: which of a request's alternatives the node could serve, the first ones best.
  Up to 1.31 a driver may serve a claim (resourceClassName up to 1.30, controller in 1.31): the node must be one of those its classes are
  for (suitableNodes) and none the driver calls unsuitable in the pod's PodSchedulingContext. Once a node is chosen the driver is asked,
  and the pod waits: `waiting for resource driver to allocate resource`, `… to provide information` or, since 1.30, no more than that.
  In 1.30 the scheduler serves claims of classes with structuredParameters: each request gets the first named resource that is left
  and meets the class's filter and the request's selector (CEL).
Reads
  ResourceClaims, DeviceClasses, ResourceSlices, DeviceTaintRules, the pod's resourceClaims and resourceClaimStatuses, the node's labels and allocatable;
  up to 1.31 PodSchedulingContexts (1.26: PodSchedulings), up to 1.30 ResourceClasses, in 1.30 ResourceClassParameters, ResourceClaimParameters
History
  1.26  behind the gate DynamicResourceAllocation; on by default since 1.34
  1.26  drivers allocate; a claim of mode Immediate is waited for, one in use or to be reallocated too
  1.28  PreEnqueue keeps pods out whose claims are missing; claims made for a pod are named in its status
  1.29  a missing class refuses the pod (before, the attempt ended with an error); waiting pods are Pending
  1.30  named resources, allocated by the scheduler; gone in 1.31
  1.31  device requests, allocated by the scheduler; drivers only with the gate DRAControlPlaneController, no more since 1.32
  1.26–1.29  where a claim is asked to be freed, preemption is not tried; the claims whose mode is looked at for that are the pod's first
  ones, not those in the way
  1.31  a request for all devices counts those its class is not for, passes over those it cannot have, and ends the attempt
  where nothing is left for the rest; a pool's newer slice may count twice
  1.34  alternatives; 1.35 score; 1.36 extended resources, shared counters, device taints, consumable capacity by default
  1.33–1.35  what a failed branch of the search took is not always given back, and a second device of an alternative that wants all
  is one of the first alternative's; up to 1.34 an incomplete pool is used and an invalid one ends the attempt
  1.35  a pod that has claims with devices and claims without ends its attempt in Score
  1.36  what is listed of attributes is seen by selectors (gate), and by constraints since 1.37
  1.37  counters of one pool no longer count for those of another driver; an error of a selector names the device; steps of capacity
  below one (gate); devices for which the node has nothing to do, compatibility groups, derived attributes (gates); PostFilter says
  nothing where it does nothing
Differs from upstream
  In 1.26 what preemption and this plugin say comes in random order; here this plugin's comes first, or as recorded.
  Random order of drivers, slices and generated parameters (1.30) and of slices of two generations (1.31): unknown where it decides.
  CEL beyond the parts modelled makes a node unknown, and so do a search that crashes 1.34 or 1.35, derived attributes, claims of the
  pod's group (DRAWorkloadResourceClaims) and devices that take of the node's own resources (DRANodeAllocatableResources).
  Up to 1.35 upstream takes pools in random order: where it decides whether devices are found or which error is met, the node is unknown;
  where it decides which are found, that is said. Upstream gives up after ten seconds a node, here after a number of steps."
    }

    fn filter<'a>(&self, cycle: &'a Cycle<'a>) -> PreFilter<'a> {
        if cycle.profile.release.0 <= driver::LAST {
            return match driver::Wanted::of(cycle) {
                Ok(Some(wanted)) => PreFilter::Judge(Box::new(move |node: &Candidate| wanted.judge(node))),
                Ok(None) => PreFilter::Skip,
                Err(stop) => stop.into(),
            };
        }
        let wanted = match Wanted::of(cycle) {
            Ok(Some(wanted)) => wanted,
            Ok(None) => return PreFilter::Skip,
            Err(reason) => return PreFilter::Refuse(Refusal::unresolvable(reason)),
        };
        if let Some(problem) = wanted.claims.iter().filter(|claim| !is_allocated(claim)).find_map(|claim| problem(claim, cycle)) {
            return problem;
        }
        PreFilter::Judge(Box::new(move |node: &Candidate| wanted.judge(node)))
    }

    fn score<'a>(&self, cycle: &'a Cycle<'a>, _feasible: &'a [&'a NodeInfo]) -> PreScore<'a> {
        if cycle.profile.release.0 <= 34 {
            return PreScore::Skip;
        }
        // Upstream looks at what it would allocate on the node: where all is allocated, that is nothing.
        let wanted = Wanted::of(cycle).ok().flatten().filter(|wanted| wanted.allocates() && cycle.profile.gates.on("DRAPrioritizedList"));
        let Some(wanted) = wanted else { return PreScore::scaled(|_| 0, false) };
        let allocated = wanted.claims.iter().filter(|claim| is_allocated(claim));
        let (had, all) = (allocated.clone().count(), wanted.claims.len());
        if cycle.profile.release.0 == 35 && had > 0 {
            // 1.35 counts claims that are allocated among those it has devices for.
            let counts = format!("number of allocations {} is smaller than number of claims", all - had);
            return PreScore::Error(format!("running Score plugins: plugin \"DynamicResources\" failed with: {counts}"));
        }
        let fixed: i64 = allocated.map(|claim| points(claim, &allocated_requests(claim))).sum();
        PreScore::scaled(
            move |node| {
                let found = wanted.allocate(node).ok().flatten().unwrap_or_default();
                let open = wanted.claims.iter().filter(|claim| !is_allocated(claim));
                let served = |claim: &Allocation| claim.devices.iter().map(|(request, ..)| request.clone()).collect::<Vec<_>>();
                fixed + open.zip(&found.claims).map(|(claim, found)| points(claim, &served(found))).sum::<i64>()
            },
            false,
        )
    }
}

/// What a pod wants of devices.
pub struct Wanted<'a> {
    claims: Vec<Arc<Claim>>,
    extended: Option<ExtendedResources<'a>>,
    allocator: Allocator<'a>,
    /// Devices that take of the node's own resources.
    node_allocatable: Option<NodeAllocatable>,
    cycle: &'a Cycle<'a>,
}

impl<'a> Wanted<'a> {
    /// What the pod wants, if anything, or why it cannot be had.
    pub fn of(cycle: &'a Cycle<'a>) -> Result<Option<Self>, String> {
        let claims = match pod_claims(cycle.pod, cycle.state, cycle.profile.release.0) {
            Err(_) if shares_with_group(cycle) => Vec::new(),
            claims => claims?,
        };
        let extended = ExtendedResources::of(cycle);
        if claims.is_empty() && extended.is_none() && !shares_with_group(cycle) {
            return Ok(None);
        }
        Ok(Some(Self { claims, extended, allocator: Allocator::new(cycle), node_allocatable: NodeAllocatable::of(cycle), cycle }))
    }

    /// The claim for extended resources that an earlier attempt left behind, where it is allocated.
    fn left_behind(&self) -> Option<&Arc<Claim>> {
        self.extended.as_ref().and_then(|extended| extended.left_behind.as_ref()).filter(|claim| is_allocated(claim))
    }

    /// Whether there is anything to allocate.
    pub fn allocates(&self) -> bool {
        let extended = self.extended.is_some() && self.left_behind().is_none();
        extended || self.claims.iter().any(|claim| !is_allocated(claim))
    }

    /// The claim that the scheduler makes for extended resources on a node.
    fn own(&self, node: &NodeInfo) -> Option<NodeClaim> {
        let namespace = &self.cycle.pod.namespace;
        self.extended.as_ref().map(|extended| extended.on(node, !self.claims.is_empty(), namespace))
    }

    /// What the claims that are open would get on a node, each with its name; `None`: they do not, or it cannot be told.
    pub fn chosen(&self, node: &NodeInfo) -> Option<(Vec<String>, Allocations)> {
        let open = self.claims.iter().filter(|claim| !is_allocated(claim)).map(|claim| claim_name(claim));
        let own = match self.own(node) {
            Some(NodeClaim::Claim(claim)) => Some(claim_name(&claim)),
            _ => None,
        };
        let found = self.allocate(node).ok().flatten()?;
        Some((open.chain(own).collect(), found))
    }

    /// What the claims that are open would get on a node.
    fn allocate(&self, node: &NodeInfo) -> Result<Option<Allocations>, Fault> {
        let own = self.own(node);
        let own = own.as_ref().and_then(|own| if let NodeClaim::Claim(claim) = own { Some(&**claim) } else { None });
        let open: Vec<&Claim> = self.claims.iter().map(|claim| &**claim).filter(|claim| !is_allocated(claim)).chain(own).collect();
        if open.is_empty() { Ok(Some(Allocations::nothing())) } else { self.allocator.allocate(node, &open) }
    }

    /// `Filter`.
    fn judge(&self, node: &NodeInfo) -> Verdict {
        if shares_with_group(self.cycle) {
            return Verdict::Unknown { missing: "claims that pods of a group share (DRAWorkloadResourceClaims) are not modelled".into() };
        }
        match self.own(node) {
            Some(NodeClaim::Refused(reason)) => return Verdict::unresolvable(reason),
            Some(NodeClaim::Nothing) => return Verdict::Pass,
            Some(NodeClaim::LeftBehind) if self.claims.is_empty() => return Verdict::Pass,
            _ => {}
        }
        let mut new = Vec::new();
        if self.allocates() {
            match self.allocate(node) {
                Ok(Some(found)) => new = found.claims,
                Ok(None) => return Verdict::unresolvable(CANNOT_ALLOCATE),
                Err(Fault::Node(reason)) => return Verdict::unresolvable(reason),
                Err(Fault::Error(error)) => return Verdict::Error(error),
                Err(Fault::Unknown(missing)) => return Verdict::Unknown { missing: missing.into() },
            }
        }
        let mut unknown = None;
        for claim in self.claims.iter().chain(self.left_behind()) {
            match is_available(claim, node, self.allocator.variant) {
                Some(true) => {}
                Some(false) => return Verdict::unresolvable(NOT_AVAILABLE),
                None => unknown = Some(claim_name(claim)),
            }
        }
        if let Some(claim) = unknown {
            let missing = format!("the devices of claim {claim} are not ready to be bound, and whether their time was up is not in etcd");
            return Verdict::Unknown { missing: missing.into() };
        }
        let takes = |devices: &NodeAllocatable| {
            new.iter().any(|new| devices.holds(new)) || devices.of_claim(self.claims.iter().map(|claim| &**claim)).is_some()
        };
        if self.node_allocatable.as_ref().is_some_and(takes) {
            let missing = "what the pod's devices take of the node's own resources (DRANodeAllocatableResources) is not counted here";
            return Verdict::Unknown { missing: missing.into() };
        }
        Verdict::Pass
    }
}

/// Whether the pod's claims may be those of its group (DRAWorkloadResourceClaims, since 1.36).
fn shares_with_group(cycle: &Cycle<'_>) -> bool {
    let on = cycle.profile.gates.on("DRAWorkloadResourceClaims") && cycle.profile.gates.on("GenericWorkload");
    on && cycle.pod.spec.pod_group.is_some() && !cycle.pod.spec.resource_claims.is_empty()
}

/// `PreEnqueue` (since 1.28): why the pod is not even tried, if it is not.
pub fn pre_enqueue(cycle: &Cycle<'_>) -> Option<String> {
    if cycle.profile.release.0 <= 27 || cycle.pod.spec.resource_claims.is_empty() || shares_with_group(cycle) {
        return None;
    }
    pod_claims(cycle.pod, cycle.state, cycle.profile.release.0).err()
}

/// `PostFilter`: what the plugin adds to the message where no node fits. (It frees one of the claims that kept the pod off a node.)
/// `None`: it ends the matter.
pub fn post_filter(cycle: &Cycle<'_>, judgement: &Judgement) -> Option<&'static str> {
    if cycle.profile.release.0 <= driver::LAST {
        return driver::post_filter(cycle, judgement);
    }
    Some(post_filter_alone(cycle, judgement))
}

/// The same where no driver allocates.
fn post_filter_alone(cycle: &Cycle<'_>, judgement: &Judgement) -> &'static str {
    let newer = cycle.profile.release.0 >= 37;
    let nothing = if newer { "" } else { "no new claims to deallocate" };
    let refused_itself = matches!(&judgement.whole_pod, Some(WholePod::Refused { plugin: "DynamicResources", .. }));
    let extended = ExtendedResources::of(cycle);
    let claims = pod_claims(cycle.pod, cycle.state, cycle.profile.release.0).unwrap_or_default();
    let variant = Variant::new(cycle.profile.release, &cycle.profile.gates);
    if refused_itself || (claims.is_empty() && extended.is_none()) {
        return nothing;
    }
    let place = judgement.filters.iter().position(|name| *name == "DynamicResources");
    let reached = |node: &&NodeJudgement| !node.absent && node.first_refusal().is_some_and(|(at, _)| Some(at) == place);
    let unavailable = |node: &&NodeJudgement| node.first_refusal().is_some_and(|(_, refusal)| refusal.reasons == [NOT_AVAILABLE]);
    let nodes = judgement.nodes.iter().filter(reached).filter(unavailable);
    let refusing: Vec<&NodeInfo> = nodes.map(|node| cycle.state.node_by_id(node.id)).collect();
    let frees = |claim: &Claim| {
        let users = claim.status.as_ref().and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
        users.iter().all(|user| *user.uid == *cycle.pod.uid) && users.len() <= 1
    };
    if claims.iter().any(|claim| frees(claim) && refusing.iter().any(|node| is_available(claim, node, variant) == Some(false))) {
        "deallocation of ResourceClaim completed"
    } else if extended.is_some_and(|extended| extended.left_behind.is_some()) {
        "deletion of ResourceClaim completed"
    } else if !newer {
        "still not schedulable"
    } else {
        ""
    }
}

/// What keeps an unallocated claim from being looked at at all.
fn problem<'a>(claim: &Claim, cycle: &Cycle<'_>) -> Option<PreFilter<'a>> {
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
pub fn is_allocated(claim: &Claim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.allocation.is_some())
}

/// Whether the allocation of a claim selects the node.
pub fn is_reachable(claim: &Claim, node: &NodeInfo) -> bool {
    let selector =
        claim.status.as_ref().and_then(|status| status.allocation.as_ref()).and_then(|allocation| allocation.node_selector.as_ref());
    selector.is_none_or(|selector| selects(selector, node))
}

/// Whether the devices of an allocated claim can be used from the node; `None`: time decides.
fn is_available(claim: &Claim, node: &NodeInfo, variant: Variant) -> Option<bool> {
    let Some(status) = &claim.status else { return Some(true) };
    let Some(allocation) = &status.allocation else { return Some(true) };
    let skips = variant.release >= 37 && skips_operations(claim);
    if !is_reachable(claim, node) || (skips && !can_skip_operations(node)) {
        return Some(false);
    }
    match readiness(status) {
        _ if !variant.binding => Some(true),
        Readiness::Ready => Some(true),
        Readiness::Failed => Some(false),
        // After ten minutes (or what the configuration says) without being ready it counts as failed.
        Readiness::Waiting if allocation.allocation_timestamp.is_some() => None,
        Readiness::Waiting => Some(true),
    }
}

/// How far the devices of a claim are that must be made ready for a node.
enum Readiness {
    Ready,
    Waiting,
    Failed,
}

/// `isClaimReadyForBinding`.
fn readiness(status: &ResourceClaimStatus) -> Readiness {
    let results = status.allocation.as_ref().and_then(|allocation| allocation.devices.as_ref()?.results.as_ref());
    for result in results.into_iter().flatten() {
        let Some(wanted) = result.binding_conditions.as_ref().filter(|wanted| !wanted.is_empty()) else { continue };
        let mut known = status.devices.iter().flatten();
        let device = known.find(|of| (&of.driver, &of.pool, &of.device) == (&result.driver, &result.pool, &result.device));
        let is_true = |name: &String| {
            let mut conditions = device.iter().flat_map(|device| device.conditions.iter().flatten());
            conditions.any(|condition| condition.type_ == *name && condition.status == "True")
        };
        if result.binding_failure_conditions.iter().flatten().any(is_true) {
            return Readiness::Failed;
        }
        if !wanted.iter().all(is_true) {
            return Readiness::Waiting;
        }
    }
    Readiness::Ready
}

/// The requests (`request/alternative`) that the devices of an allocated claim serve.
fn allocated_requests(claim: &Claim) -> Vec<String> {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let results = allocation.and_then(|allocation| allocation.devices.as_ref()).and_then(|devices| devices.results.as_ref());
    results.into_iter().flatten().map(|result| result.request.clone()).collect()
}

/// Eight points for the first alternative of a request that is served, one less for each that follows (`computeScore`).
fn points(claim: &Claim, served: &[String]) -> i64 {
    let of_request = |request: &crate::kube::api::resource::v1::DeviceRequest| {
        let alternatives = request.first_available.as_deref().unwrap_or_default();
        let chosen =
            alternatives.iter().zip(0..).filter(|(alternative, _)| served.contains(&format!("{}/{}", request.name, alternative.name)));
        chosen.map(|(_, at)| 8 - at).sum::<i64>()
    };
    requests(claim).iter().map(of_request).sum()
}
