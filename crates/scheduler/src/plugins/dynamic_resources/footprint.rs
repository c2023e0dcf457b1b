//! What a pod takes of a node together with its devices, where these take of the node's own resources (DRANodeAllocatableResources).
//! Upstream: `plugins/dynamicresources/nodeallocatabledynamicresources.go` (1.36, 1.37).

use std::sync::Arc;

use crate::cluster::{Amount, Claim, NodeAllocatableClaim, NodeInfo, PodInfo, RequestRules, ResourceList, is_pod_level};
use crate::dra::{Fault, Holding, NodeAllocatable, can_skip_operations, is_kept_for, results, skips_operations};
use crate::release::Rules;
use crate::{Refusal, Verdict};

use super::available::{is_allocated, is_reachable};
use super::pod_devices::Wanted;

/// A resource that a node has too little of for the pod and its devices, in the scheduler's units.
pub(crate) struct Lacking {
    /// Its name.
    pub resource: Arc<str>,
    /// What the pod and its devices take.
    pub asked: i64,
    /// What pods have taken.
    pub taken: i64,
    /// What the node offers.
    pub capacity: i64,
}

impl Wanted<'_> {
    /// Why a claim that has devices cannot be the pod's too (`validateNodeAllocatableDRAClaimSharing`).
    pub(super) fn shared(&self, node: &NodeInfo, devices: &NodeAllocatable) -> Result<Option<String>, Fault> {
        let by_node = self.cycle.profile.rules.node_allocatable_sharing_by_node();
        let skips = |claim: &Claim| self.allocator.rules.claims_may_skip_operations() && skips_operations(claim);
        for claim in self.claims.iter().chain(self.left_behind()).filter(|claim| is_allocated(claim)) {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let unusable = !is_reachable(claim, node) || (skips(claim) && !can_skip_operations(node));
            if unusable || (by_node && self.is_pending(claim)) {
                continue;
            }
            let problem = match by_node {
                true => self.users_on(node, name),
                false => self.is_anothers(claim, devices)?.then_some("has a mapped device and cannot be shared across pods"),
            };
            if let Some(problem) = problem {
                return Ok(Some(format!("node allocatable resource claim {name} {problem}")));
            }
        }
        Ok(None)
    }

    /// What is wrong with a claim that pods on the node use already.
    fn users_on(&self, node: &NodeInfo, claim: &str) -> Option<&'static str> {
        let own = self.cycle.pod;
        let uses =
            |pod: &PodInfo| pod.namespace == own.namespace && pod.node_allocatable_claims.iter().any(|taking| *taking.claim == *claim);
        let users: Vec<_> = node.pods.iter().filter(|pod| uses(pod)).collect();
        match users.as_slice() {
            [] => None,
            [user] => (user.uid != own.uid).then_some("is already used by another pod"),
            _ => Some("shared by multiple pods"),
        }
    }

    /// Whether a claim one of whose devices stands for a resource of its node is kept for another pod.
    fn is_anothers(&self, claim: &Claim, devices: &NodeAllocatable) -> Result<bool, Fault> {
        let groups = self.cycle.profile.gates.on("DRAWorkloadResourceClaims");
        let kept = claim.status.iter().flat_map(|status| status.reserved_for.iter().flatten()).next().is_some();
        let anothers = self.is_pending(claim) || (kept && !is_kept_for(claim, self.cycle.pod, groups));
        Ok(anothers && devices.is_mapped(claim)?)
    }

    /// What the devices of the pod's claims take of a node; `None`: they have none that could take anything.
    ///
    /// # Errors
    /// It is unknown.
    pub(crate) fn takings(&self, node: &NodeInfo) -> Result<Option<Vec<NodeAllocatableClaim>>, Fault> {
        let allocated_count = self.cycle.profile.rules.allocated_claims_take_of_node();
        let Some(devices) = self.node_allocatable.as_ref().filter(|_| allocated_count || self.allocates()) else { return Ok(None) };
        let own = self.own(node);
        let open = self.open(own.as_ref());
        let found = if open.is_empty() { Vec::new() } else { self.allocator.give(node, &open) };
        let had = self.claims.iter().chain(self.left_behind()).map(|claim| &**claim);
        let had = had.filter(|claim| is_allocated(claim) && (allocated_count || self.is_pending(claim)));
        let had = had.map(|claim| (claim, results(claim)));
        let given = open.iter().copied().zip(found.iter().map(|given| given.results()));
        let holding = |(claim, devices)| Holding { claim, entries: self.entries_of(claim), devices };
        devices.takings(self.cycle.pod, node, &had.chain(given).map(holding).collect::<Vec<_>>())
    }

    /// The pod's own names for a claim.
    fn entries_of(&self, claim: &Claim) -> Vec<&str> {
        let known = self.claims.iter().zip(&self.entries);
        known.filter(|(known, _)| known.metadata.name == claim.metadata.name).map(|(_, entry)| &**entry).collect()
    }

    /// Why the pod does not fit a node together with its devices, if it does not.
    pub(super) fn does_not_fit(&self, node: &NodeInfo) -> Option<Verdict> {
        let takings = match self.takings(node) {
            Ok(takings) => takings?,
            Err(fault) => return Some(fault.into()),
        };
        let rules = &self.cycle.profile.rules;
        if let Some(taking) = takings.iter().find(|taking| rules.node_allocatable_needs_container() && taking.containers.is_empty()) {
            let what = "node-allocatable resource claim not referenced by any container within the pod";
            return Some(Verdict::unresolvable(format!("claim {}: {what}", taking.claim)));
        }
        let pod = PodInfo { node_allocatable_claims: takings, ..self.cycle.pod.clone() };
        if let Some(reason) = uncovered(rules, &pod) {
            return Some(Verdict::unresolvable(reason));
        }
        let lacking = lacking(&rules.requests, &pod, node);
        let preemption_may_help = lacking.iter().all(|lack| lack.asked <= lack.capacity);
        let reasons = lacking.iter().map(|lack| format!("Insufficient {}", lack.resource).into()).collect();
        (!lacking.is_empty()).then_some(Verdict::Reject(Refusal { reasons, preemption_may_help }))
    }

    /// What a node lacks for the pod and its devices.
    pub(crate) fn lacking(&self, node: &NodeInfo) -> Vec<Lacking> {
        let Ok(Some(takings)) = self.takings(node) else { return Vec::new() };
        lacking(&self.cycle.profile.rules.requests, &PodInfo { node_allocatable_claims: takings, ..self.cycle.pod.clone() }, node)
    }
}

impl From<Fault> for Verdict {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Node(reason) => Self::unresolvable(reason),
            Fault::Error(error) => Self::Error(error),
            Fault::Unknown(missing) => Self::Unknown { missing: missing.into() },
        }
    }
}

/// `nodeFitsResources`: among scalar resources only huge pages are checked, even if none are requested.
fn lacking(rules: &RequestRules, pod: &PodInfo, node: &NodeInfo) -> Vec<Lacking> {
    let request = rules.units(&rules.with_devices(pod));
    let standard = ["cpu", "memory", "ephemeral-storage"].map(Arc::from).into_iter();
    let standard = standard.filter(|name| request.get(name) > 0);
    let huge = request.scalars.iter().map(|(name, _)| name.clone()).filter(|name| name.starts_with("hugepages-"));
    let lack = |resource: Arc<str>| Lacking {
        asked: request.get(&resource),
        taken: node.requested.get(&resource),
        capacity: node.allocatable.get(&resource),
        resource,
    };
    standard.chain(huge).map(lack).filter(|lack| lack.asked > lack.capacity.wrapping_sub(lack.taken)).collect()
}

/// What the pod asks for as a whole must cover its containers and its devices. If several resources are not covered, upstream names a random
/// one, and this the first.
fn uncovered(rules: &Rules, pod: &PodInfo) -> Option<String> {
    match (rules.requests.pod_level, rules.pod_level_limits_cover_devices()) {
        (false, _) => None,
        (true, false) => uncovered_requests(&rules.requests, pod),
        (true, true) => uncovered_resources(&rules.requests, pod),
    }
}

/// `validatePodLevelRequestsCoverDRA`.
fn uncovered_requests(rules: &RequestRules, pod: &PodInfo) -> Option<String> {
    let sum = RequestRules { pod_level: false, ..*rules }.with_devices(pod);
    let name = exceeded(&sum, &rules.with_devices(pod)).filter(|_| !pod.spec.requests.pod_level.is_empty())?;
    insufficient("request", &name, "aggregated container and node-allocatable DRA requests")
}

/// `validatePodLevelResourcesCoverDRA`.
fn uncovered_resources(rules: &RequestRules, pod: &PodInfo) -> Option<String> {
    let requests = &pod.spec.requests;
    if pod.node_allocatable_claims.is_empty() {
        return None;
    }
    let sum = RequestRules { pod_level: false, overhead: false, ..*rules }.with_devices(pod);
    let most = requests.pod_level.iter().filter(|(name, _)| is_pod_level(name)).cloned().collect();
    if let Some(name) = exceeded(&sum, &most) {
        return insufficient("request", &name, "aggregated container and node-allocatable DRA requests");
    }
    if let Some(name) = exceeded(&rules.huge_page_limits(pod), &requests.pod_level_limits) {
        return insufficient("limit", &name, "aggregated container and node-allocatable DRA limits");
    }
    for container in &requests.containers {
        let devices: Vec<ResourceList> = pod.node_allocatable_claims.iter().map(|taking| taking.of_container(&container.name)).collect();
        for (name, limit) in container.limits.iter().filter(|(name, _)| !name.starts_with("hugepages-")) {
            let with_devices = devices.iter().filter_map(|list| amount_of(list, name)).fold(*limit, |sum, more| sum + more);
            if amount_of(&requests.pod_level_limits, name).is_some_and(|most| with_devices > most) {
                return insufficient("limit", name, &format!("limit and DRA overhead for container {}", container.name));
            }
        }
    }
    None
}

fn insufficient(kind: &str, name: &str, what: &str) -> Option<String> {
    Some(format!("pod level {kind} for {name} is insufficient to cover the {what}"))
}

fn amount_of(list: &ResourceList, name: &str) -> Option<Amount> {
    list.iter().find(|(known, _)| **known == *name).map(|(_, amount)| *amount)
}

fn exceeded(sum: &ResourceList, most: &ResourceList) -> Option<Arc<str>> {
    let over = |(name, amount): &&(Arc<str>, Amount)| amount_of(most, name).is_some_and(|most| *amount > most);
    sum.iter().find(over).map(|(name, _)| name.clone())
}
