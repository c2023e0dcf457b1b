//! Claims shared by pods of a group (DRAWorkloadResourceClaims, since 1.36).
//! Upstream: `resourceclaim/resourceclaim.go`, `unreservePodGroupClaims` (1.36) and `deallocatePodGroupClaims` (1.37) of
//! `plugins/dynamicresources/dynamicresources.go`.

use std::sync::Arc;

use crate::Profile;
use crate::cluster::{Claim, ClusterState, PodGroup, PodInfo};
use crate::volumes::is_controlled_by;

const API_GROUP: &str = "scheduling.k8s.io";

/// `IsForPod`: why a claim created from a template is not the pod's, if it is not.
pub(super) fn owner_problem(claim: &Claim, pod: &PodInfo, profile: &Profile) -> Option<String> {
    if is_controlled_by(&claim.metadata, pod) {
        return None;
    }
    let (namespace, name) = (&pod.namespace, &pod.name);
    let what = claim.metadata.name.as_deref().unwrap_or_default();
    let kind = profile.rules.claim_owner_kind();
    let not = format!("ResourceClaim {namespace}/{what} was not created for {kind} {namespace}/{name}");
    match (&pod.spec.pod_group, profile.gates.on("DRAWorkloadResourceClaims")) {
        (Some(group), true) if is_made_for(claim, group) => None,
        (Some(group), true) => Some(format!("{not} (neither Pod nor PodGroup {group} is the owner)")),
        (None, true) if profile.rules.claim_of_no_group_crashes() => {
            Some(format!("{not}; kube-scheduler of this release crashes here, as the pod has no group"))
        }
        _ => Some(format!("{not} ({kind} is not owner)")),
    }
}

/// `isForPodGroupByPod`: pods do not know the uid of their group.
fn is_made_for(claim: &Claim, group: &str) -> bool {
    let owner = claim.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    owner.is_some_and(|owner| owner.name == group && owner.kind == "PodGroup" && owner.api_version.starts_with(&format!("{API_GROUP}/")))
}

/// Whether a claim is reserved for the pod or, where `groups` may reserve claims, for its group (`IsReservedForPod`).
pub(crate) fn is_kept_for(claim: &Claim, pod: &PodInfo, groups: bool) -> bool {
    let mut users = claim.status.iter().flat_map(|status| status.reserved_for.iter().flatten());
    users.any(|user| {
        let of_group = user.api_group.as_deref() == Some(API_GROUP) && user.resource == "podgroups";
        *user.uid == *pod.uid || (groups && of_group && pod.spec.pod_group.as_deref() == Some(user.name.as_str()))
    })
}

/// Returns the group of a pod, where groups may have claims.
pub(crate) fn group_of<'s>(pod: &PodInfo, state: &'s ClusterState, profile: &Profile) -> Option<&'s PodGroup> {
    let name = pod.spec.pod_group.as_deref().filter(|_| profile.gates.on("DRAWorkloadResourceClaims"))?;
    state.listers().pod_groups.get(&pod.namespace, name).map(Arc::as_ref)
}

/// Whether the group of a pod, none of whose pods is bound, has an allocated claim that is reserved for it: it is deallocated then.
pub(crate) fn gives_up(group: &PodGroup, pod: &PodInfo, state: &ClusterState) -> bool {
    let claims = group.spec.resource_claims.iter().filter_map(|entry| {
        let made = || group.status.resource_claim_statuses.iter().find(|status| status.name == entry.name)?.resource_claim_name.as_ref();
        let name = entry.resource_claim_name.as_ref().or_else(made)?;
        let claim = state.listers().resource_claims.get(&pod.namespace, name)?;
        let owner = claim.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        let own = entry.resource_claim_name.is_some() || owner.is_some_and(|owner| owner.uid == group.metadata.uid);
        own.then_some(claim)
    });
    let mut claims = claims.filter(|claim| claim.status.as_ref().is_some_and(|status| status.allocation.is_some()));
    claims.any(|claim| is_kept_for(claim, pod, true))
}

/// Whether a claim is reserved for the group only (1.37).
pub(crate) fn is_kept_for_nobody_else(claim: &Claim, group: &PodGroup) -> bool {
    let users = claim.status.as_ref().and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
    users.is_empty() || (users.len() == 1 && users[0].uid == group.metadata.uid)
}
