//! What a pod wants of devices, and whether a node has it: `PreEnqueue`, `PreFilter`, `Filter`.

use std::sync::Arc;

use crate::cluster::{Claim, NodeInfo};
use crate::dra::{
    Allocations, Allocator, ExtendedResources, Fault, Given, NodeAllocatable, NodeClaim, can_skip_operations, claim_name, named_claims,
    pod_claims, requests, skips_operations, written,
};
use crate::{Candidate, Cycle, PreFilter, Refusal, Verdict};

use super::NOT_AVAILABLE;
use super::available::{is_allocated, is_available, is_reachable};

const CANNOT_ALLOCATE: &str = "cannot allocate all claims";

/// What a pod wants of devices.
pub(crate) struct Wanted<'a> {
    pub(super) claims: Vec<Arc<Claim>>,
    /// The pod's own names for them.
    pub(super) entries: Vec<Arc<str>>,
    extended: Option<ExtendedResources<'a>>,
    pub(super) allocator: Allocator<'a>,
    /// Devices that take of the node's own resources, where these count.
    pub(super) node_allocatable: Option<NodeAllocatable<'a>>,
    pub(super) cycle: &'a Cycle<'a>,
}

impl<'a> Wanted<'a> {
    /// What the pod wants, if anything, or why it cannot be had.
    pub(crate) fn of(cycle: &'a Cycle<'a>) -> Result<Option<Self>, String> {
        let (entries, claims): (Vec<_>, Vec<_>) = named_claims(cycle.pod, cycle.state, cycle.profile)?.into_iter().unzip();
        let extended = ExtendedResources::of(cycle);
        if claims.is_empty() && extended.is_none() {
            return Ok(None);
        }
        let (allocator, node_allocatable) = (Allocator::new(cycle), NodeAllocatable::of(cycle));
        Ok(Some(Self { claims, entries, extended, allocator, node_allocatable, cycle }))
    }

    /// The claim for extended resources that an earlier attempt left behind, where it is allocated.
    pub(super) fn left_behind(&self) -> Option<&Arc<Claim>> {
        self.extended.as_ref().and_then(|extended| extended.left_behind.as_ref()).filter(|claim| is_allocated(claim))
    }

    pub(crate) fn allocates(&self) -> bool {
        if self.claims.iter().any(|claim| self.cycle.profile.rules.driver_allocates(claim)) {
            return false;
        }
        let extended = self.extended.is_some() && self.left_behind().is_none();
        extended || self.claims.iter().any(|claim| !is_allocated(claim) || self.is_pending(claim))
    }

    /// Whether a pod of the same group was given the claim's devices just before: to upstream it is one to allocate still.
    pub(super) fn is_pending(&self, claim: &Claim) -> bool {
        self.cycle.scope.is_some_and(|scope| scope.pending.contains(&claim_name(claim)))
    }

    /// What upstream takes for the devices of the claims to allocate on a node, in the order of these: first what is found for those that
    /// have none, then what those have that a pod of the same group was given, whichever claim comes first.
    pub(super) fn results(&self, node: &NodeInfo) -> Vec<Given> {
        let own = self.own(node);
        let open = self.open(own.as_ref());
        let mut found = if open.is_empty() { Vec::new() } else { self.allocator.give(node, &open) };
        if found.len() == open.len() {
            found.extend(self.claims.iter().filter(|claim| self.is_pending(claim)).filter_map(|claim| Given::had(claim)));
        }
        found
    }

    /// The claims that the pod brings devices to once it is on a node: its own and, last, the one made for extended resources.
    pub(crate) fn reserve(&self, node: &NodeInfo) -> Vec<Claim> {
        let mut results = self.results(node).into_iter();
        let mut reserved = Vec::new();
        for claim in self.claims.iter().filter(|claim| !is_allocated(claim) || self.is_pending(claim)) {
            let given = results.next();
            reserved.extend(given.filter(|_| !is_allocated(claim)).map(|given| given.to(claim)));
        }
        if let (Some(NodeClaim::Claim(claim)), Some(given)) = (self.own(node), results.next()) {
            reserved.push(given.to(&claim));
        }
        reserved
    }

    /// The claim that the scheduler makes for extended resources on a node.
    pub(super) fn own(&self, node: &NodeInfo) -> Option<NodeClaim> {
        let namespace = &self.cycle.pod.namespace;
        self.extended.as_ref().map(|extended| extended.on(node, !self.claims.is_empty(), namespace))
    }

    /// The claims to find devices for: those that have none, and the scheduler's own.
    pub(super) fn open<'c>(&'c self, own: Option<&'c NodeClaim>) -> Vec<&'c Claim> {
        let own = own.and_then(|own| if let NodeClaim::Claim(claim) = own { Some(&**claim) } else { None });
        self.claims.iter().map(|claim| &**claim).filter(|claim| !is_allocated(claim)).chain(own).collect()
    }

    /// What the claims that are open would get on a node, each with its name; `None`: they do not, or it is unknown.
    pub(crate) fn chosen(&self, node: &NodeInfo) -> Option<(Vec<String>, Allocations)> {
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
        let open = self.open(own.as_ref());
        if open.is_empty() { Ok(Some(Allocations::nothing())) } else { self.allocator.allocate(node, &open) }
    }

    /// `Filter`.
    fn filter(&self, node: &NodeInfo) -> Verdict {
        match self.own(node) {
            Some(NodeClaim::Refused(reason)) => return Verdict::unresolvable(reason),
            Some(NodeClaim::Nothing) => return Verdict::Pass,
            Some(NodeClaim::LeftBehind) if self.claims.is_empty() => return Verdict::Pass,
            _ => {}
        }
        match self.node_allocatable.as_ref().map(|devices| self.shared(node, devices)).transpose() {
            Ok(Some(Some(reason))) => return Verdict::unresolvable(reason),
            Err(fault) => return fault.into(),
            Ok(_) => {}
        }
        let skips = |claim: &&Arc<Claim>| self.is_pending(claim) && skips_operations(claim) && !can_skip_operations(node);
        if let Some(claim) = self.claims.iter().find(skips).filter(|_| self.allocator.rules.claims_may_skip_operations()) {
            let lacks = "allocation requires DRAOptionalNodeOperations feature on the node";
            return Verdict::unresolvable(format!("resource claim {} {lacks}", claim_name(claim)));
        }
        let ambiguous = self.extended.as_ref().and_then(|extended| extended.ambiguous.as_ref());
        if let (Some(name), Some(NodeClaim::Claim(_))) = (ambiguous, self.own(node)) {
            let missing = format!("several device classes name {name}, and which of them serves it is random in this release");
            return Verdict::Unknown { missing: missing.into() };
        }
        if self.allocates() {
            match self.allocate(node) {
                Ok(Some(_)) => {}
                Ok(None) => return Verdict::unresolvable(CANNOT_ALLOCATE),
                Err(fault) => return fault.into(),
            }
        }
        if let Some(verdict) = self.does_not_fit(node) {
            return verdict;
        }
        let mut unknown = None;
        for claim in self.claims.iter().chain(self.left_behind()) {
            let available = match self.is_pending(claim) {
                true => Some(self.allocator.rules.pending_claims_are_available() || is_reachable(claim, node)),
                false => is_available(claim, node, self.allocator.rules),
            };
            match available {
                Some(true) => {}
                Some(false) => return Verdict::unresolvable(NOT_AVAILABLE),
                None => unknown = Some(claim_name(claim)),
            }
        }
        if let Some(claim) = unknown {
            let missing = format!("the devices of claim {claim} are not ready to be bound, and whether their time was up is not in etcd");
            return Verdict::Unknown { missing: missing.into() };
        }
        Verdict::Pass
    }
}

/// `PreFilter`, and what is left of `Filter` for each node.
pub(super) fn filter<'a>(cycle: &'a Cycle<'a>) -> PreFilter<'a> {
    let wanted = match Wanted::of(cycle) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return PreFilter::Skip,
        Err(reason) => return PreFilter::Refuse(Refusal::unresolvable(reason)),
    };
    if let Some(claim) = wanted.claims.iter().find(|claim| cycle.profile.rules.driver_allocates(claim)) {
        let missing = format!(
            "the driver of claim {}, not the scheduler, allocates its devices (classic DRA, Kubernetes 1.26 to 1.31), and which nodes it can serve \
             is not evaluated",
            claim_name(claim)
        );
        return PreFilter::Filter(Box::new(move |_: &Candidate| Verdict::Unknown { missing: missing.clone().into() }));
    }
    let elsewhere = |claim: &Claim| cycle.scope.is_some_and(|scope| scope.elsewhere.contains(&claim_name(claim)));
    let problem = wanted.claims.iter().find_map(|claim| match claim {
        claim if elsewhere(claim) => {
            let why = format!("resource claim {} is in the process of being allocated", claim_name(claim));
            Some(PreFilter::Refuse(Refusal::unresolvable(why)))
        }
        claim if is_allocated(claim) => None,
        claim => problem(claim, cycle),
    });
    problem.unwrap_or_else(|| PreFilter::Filter(Box::new(move |node: &Candidate| wanted.filter(node))))
}

/// `PreEnqueue`: why the pod is not even tried, if it is not.
pub(super) fn pre_enqueue(cycle: &Cycle<'_>) -> Option<String> {
    if !cycle.profile.rules.missing_claims_keep_out_of_queue() || cycle.pod.spec.resource_claims.is_empty() {
        return None;
    }
    pod_claims(cycle.pod, cycle.state, cycle.profile).err()
}

/// What excludes an unallocated claim from allocation.
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
