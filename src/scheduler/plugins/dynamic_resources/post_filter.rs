//! What the plugin says where no node fits: `PostFilter`.

use crate::cluster::{Claim, NodeInfo};
use crate::scheduler::dra::{ExtendedResources, Variant, driver, pod_claims};
use crate::scheduler::{Cycle, Judgement, NodeJudgement, WholePod};

use super::NOT_AVAILABLE;
use super::available::is_available;

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
