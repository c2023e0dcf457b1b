//! What devices ask for: pods of other claims give theirs up.

use std::sync::Arc;

use crate::cluster::Claim;
use crate::framework::{Fix, Need, Obstacle};
use crate::{Candidate, Cycle};

use super::is_reachable;

/// The most claims of other pods that are considered for giving up their devices.
const MAX_CLAIMS_TRIED: usize = 6;

/// Pods of other claims give their devices up; trying shows which of them are the right ones.
pub(super) fn of_node(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let holder = |claim: &Claim| {
        let consumers = claim.status.as_ref()?.reserved_for.as_deref()?;
        let [consumer] = consumers else { return None };
        cycle.state.pod(claim.metadata.namespace.as_deref()?, &consumer.name).filter(|pod| !pod.returns_or_stays()).cloned()
    };
    let allocated = |claim: &&Arc<Claim>| claim.status.as_ref().is_some_and(|status| status.allocation.is_some());
    let held = cycle.state.listers().resource_claims.iter().filter(|claim| allocated(claim) && is_reachable(claim, node));
    let mut held: Vec<_> = held.filter_map(|claim| Some((holder(claim)?, claim.clone()))).collect();
    held.sort_by_key(|(pod, _)| (pod.spec.priority, std::cmp::Reverse(pod.started), pod.key()));
    let options = held
        .into_iter()
        .take(MAX_CLAIMS_TRIED)
        .map(|(pod, claim)| Fix::ReleaseDevices { claim: claim.metadata.name.as_deref().unwrap_or_default().into(), pod: pod.key() })
        .collect();
    vec![Need::one_of_or(options, Obstacle::NoFreeDevice)]
}
