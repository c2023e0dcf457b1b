//! The claims of a pod: those it names and those created for it. Upstream: `resourceclaim/resourceclaim.go`.

use std::sync::Arc;

use crate::Profile;
use crate::cluster::{Claim, ClusterState, Node, PodInfo};

use super::group_claims::owner_problem;
use super::reserve::results;

/// Returns the pod's claims, in order, or why it cannot be scheduled.
pub(crate) fn pod_claims(pod: &PodInfo, state: &ClusterState, profile: &Profile) -> Result<Vec<Arc<Claim>>, String> {
    Ok(named_claims(pod, state, profile)?.into_iter().map(|(_, claim)| claim).collect())
}

/// The same, each with the pod's own name for it (`foreachPodResourceClaim`).
pub(crate) fn named_claims(pod: &PodInfo, state: &ClusterState, profile: &Profile) -> Result<Vec<(Arc<str>, Arc<Claim>)>, String> {
    let rules = &profile.rules;
    let mut claims = Vec::new();
    for (entry, claim, template) in &pod.spec.resource_claims {
        let (name, made) = match (claim, template) {
            (Some(name), _) => (Some(name.clone()), false),
            (None, Some(_)) if rules.claims_are_named_after_pod() => (Some(format!("{}-{entry}", pod.name).into()), true),
            (None, None) if rules.claims_are_named_after_pod() => (Some(format!("{}-{entry}", pod.name).into()), false),
            (None, Some(_)) => match pod.claim_statuses.iter().find(|status| status.name == *entry) {
                Some(status) => (status.claim.clone(), true),
                None => return Err(format!("pod \"{}\": ResourceClaim not created yet", pod.full_name())),
            },
            (None, None) => {
                return Err(format!("pod \"{}\", spec.resourceClaim \"{entry}\": none of the supported fields are set", pod.full_name()));
            }
        };
        let Some(name) = name else { continue };
        let Some(claim) = state.listers().resource_claims.get(&pod.namespace, &name) else {
            return Err(rules.claim_not_found(&pod.namespace, &name, made));
        };
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("resourceclaim \"{name}\" is being deleted"));
        }
        if let Some(problem) = owner_problem(claim, pod, profile).filter(|_| made) {
            return Err(problem);
        }
        claims.push((entry.clone(), claim.clone()));
    }
    Ok(claims)
}

/// Whether a node declares that it can skip operations that a device does not need.
pub(crate) fn can_skip_operations(node: &Node) -> bool {
    node.declared_features.iter().any(|feature| &**feature == "DRAOptionalNodeOperations")
}

/// Whether any device of a claim requires a node that can. Upstream: `allocationResultRequiresDRAOptionalNodeOperations` (1.37).
pub(crate) fn skips_operations(claim: &Claim) -> bool {
    results(claim).iter().any(|result| result.skip_node_operations.as_ref().is_some_and(|operations| !operations.is_empty()))
}
