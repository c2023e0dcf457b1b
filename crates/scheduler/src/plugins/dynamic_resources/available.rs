//! Claims that have their devices: whether these can be used from a node. Upstream: `Filter`, `isClaimReadyForBinding`.

use crate::api::resource::ResourceClaimStatus;
use crate::cluster::{Claim, NodeInfo};
use crate::dra::{can_skip_operations, selects, skips_operations};
use crate::release::DeviceRules;

pub(crate) fn is_allocated(claim: &Claim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.allocation.is_some())
}

/// Whether the allocation of a claim selects the node.
pub(crate) fn is_reachable(claim: &Claim, node: &NodeInfo) -> bool {
    let selector =
        claim.status.as_ref().and_then(|status| status.allocation.as_ref()).and_then(|allocation| allocation.node_selector.as_ref());
    selector.is_none_or(|selector| selects(selector, node))
}

/// Whether the devices of an allocated claim can be used from the node; `None`: time decides.
pub(super) fn is_available(claim: &Claim, node: &NodeInfo, rules: DeviceRules) -> Option<bool> {
    let Some(status) = &claim.status else { return Some(true) };
    let Some(allocation) = &status.allocation else { return Some(true) };
    let skips = rules.claims_may_skip_operations() && skips_operations(claim);
    if !is_reachable(claim, node) || (skips && !can_skip_operations(node)) {
        return Some(false);
    }
    match readiness(status) {
        _ if !rules.binding => Some(true),
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
