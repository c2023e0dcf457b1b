//! What the plugin says where no node fits: `PostFilter`.

use std::sync::Arc;

use crate::cluster::{Claim, NodeInfo};
use crate::dra::{ExtendedResources, gives_up, group_of, is_kept_for_nobody_else, pod_claims};
use crate::framework::{Cycle, Judgement, NodeJudgement, PostFilter, WholePod};
use crate::pod_groups;
use crate::release::DeviceRules;

use super::NOT_AVAILABLE;
use super::available::is_available;

const GIVEN_UP: &str = "ResourceClaim unreserved for PodGroup";

/// `PostFilter`: what the plugin adds to the message where no node fits. (It frees one of the claims that kept the pod off a node.)
pub(super) fn post_filter(cycle: &Cycle<'_>, judgement: &Judgement) -> PostFilter {
    let rules = &cycle.profile.rules;
    if !rules.dra {
        return PostFilter::Says(if rules.idle_post_filter_is_silent() { "" } else { "plugin disabled" });
    }
    if !claims_are_known(cycle, judgement) {
        return PostFilter::Fails("not found");
    }
    PostFilter::Says(match frees(cycle, judgement) {
        Freed::Devices => "deallocation of ResourceClaim completed",
        Freed::Claim => "deletion of ResourceClaim completed",
        Freed::Nothing | Freed::None if rules.idle_post_filter_is_silent() => "",
        Freed::Nothing => "no new claims to deallocate",
        Freed::None if gives_up_group(cycle) => return PostFilter::Ends(GIVEN_UP),
        Freed::None => "still not schedulable",
    })
}

/// What the plugin does for a pod that no node fits.
#[derive(PartialEq, Eq)]
enum Freed {
    /// The pod has no claims.
    Nothing,
    /// It takes the devices of one of the claims that kept the pod off a node.
    Devices,
    /// It deletes the claim for extended resources that an earlier attempt left behind.
    Claim,
    /// It finds none to free.
    None,
}

fn frees(cycle: &Cycle<'_>, judgement: &Judgement) -> Freed {
    let refused_itself = matches!(&judgement.whole_pod, Some(WholePod::Refused { plugin: "DynamicResources", .. }));
    let extended = ExtendedResources::of(cycle);
    let claims = pod_claims(cycle.pod, cycle.state, cycle.profile).unwrap_or_default();
    if refused_itself || (claims.is_empty() && extended.is_none()) {
        return Freed::Nothing;
    }
    let own = |claim: &Claim| {
        let users = claim.status.as_ref().and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
        users.iter().all(|user| *user.uid == *cycle.pod.uid) && users.len() <= 1
    };
    if unavailable(cycle, judgement, &claims).any(|claim| own(claim)) {
        Freed::Devices
    } else if extended.is_some_and(|extended| extended.left_behind.is_some()) {
        Freed::Claim
    } else {
        Freed::None
    }
}

/// The claims that kept the pod off a node.
fn unavailable<'c>(cycle: &Cycle<'_>, judgement: &Judgement, claims: &'c [Arc<Claim>]) -> impl Iterator<Item = &'c Arc<Claim>> {
    let place = judgement.filters.iter().position(|name| *name == "DynamicResources");
    let refused = |node: &&NodeJudgement| {
        let refusal = node.first_refusal().filter(|(at, _)| !node.absent && Some(*at) == place);
        refusal.is_some_and(|(_, refusal)| refusal.reasons == [NOT_AVAILABLE])
    };
    let refusing: Vec<&NodeInfo> = judgement.nodes.iter().filter(refused).map(|node| cycle.state.node_by_id(node.id)).collect();
    let rules = DeviceRules::new(cycle.profile.release, &cycle.profile.gates);
    claims.iter().filter(move |claim| refusing.iter().any(|node| is_available(claim, node, rules) == Some(false)))
}

/// Whether the pod's group, none of whose pods has a node, gives up one of its claims (1.36).
fn gives_up_group(cycle: &Cycle<'_>) -> bool {
    let scheduled = || pod_groups::scheduled(cycle);
    group_of(cycle.pod, cycle.state, cycle.profile).is_some_and(|group| scheduled() == 0 && gives_up(group, cycle.pod, cycle.state))
}

/// `PodGroupPostFilter` (1.37): what the plugin says where a group does not fit, its pods that were tried each with what came of it.
pub(super) fn group_post_filter(members: &[(Cycle<'_>, &Judgement)]) -> PostFilter {
    const DEALLOCATION_MESSAGE: &str = "deallocation and deletion of ResourceClaims completed";
    let known: Vec<_> = members.iter().filter(|(cycle, judgement)| claims_are_known(cycle, judgement)).collect();
    let Some((first, _)) = known.first() else { return PostFilter::Fails("not found") };
    let frees_none = |(cycle, judgement): &&(Cycle<'_>, &Judgement)| matches!(frees(cycle, judgement), Freed::Nothing | Freed::None);
    let group = group_of(first.pod, first.state, first.profile).filter(|_| known.iter().any(frees_none));
    let Some(group) = group.filter(|_| pod_groups::scheduled(first) == 0) else { return PostFilter::Says(DEALLOCATION_MESSAGE) };
    let frees = |(cycle, judgement): &&(Cycle<'_>, &Judgement)| {
        let claims = pod_claims(cycle.pod, cycle.state, cycle.profile).unwrap_or_default();
        unavailable(cycle, judgement, &claims).any(|claim| is_kept_for_nobody_else(claim, group))
    };
    if known.iter().any(frees) {
        PostFilter::Says("deallocation of PodGroup ResourceClaim completed")
    } else if gives_up(group, first.pod, first.state) {
        PostFilter::Ends(GIVEN_UP)
    } else {
        PostFilter::Says(DEALLOCATION_MESSAGE)
    }
}

/// Whether `PreFilter` wrote its state, on which `PostFilter` fails otherwise: it ran, and none before it refused.
fn claims_are_known(cycle: &Cycle, judgement: &Judgement) -> bool {
    let order = cycle.profile.prefilters();
    let place = |name: &str| order.iter().position(|known| *known == name);
    let refusing = match &judgement.whole_pod {
        Some(WholePod::Refused { plugin, .. }) => place(plugin),
        _ => None,
    };
    place("DynamicResources").is_some_and(|own| refusing.is_none_or(|refusing| refusing >= own))
}
