//! Which claim is deallocated where no node fits: `PostFilter`, `plugins/dynamicresources/dynamicresources.go` (1.26–1.31).

use crate::cluster::NodeInfo;
use crate::release::FreedClaims;
use crate::{Cycle, Judgement, NodeJudgement};

use super::{ClaimsOfDrivers, NOT_AVAILABLE};

impl ClaimsOfDrivers<'_> {
    /// The indices of the claims that `PostFilter` may deallocate because they are not available on a node.
    fn could_free(&self, node: &NodeInfo) -> Vec<usize> {
        let waits = |at: usize| self.claims[at].driver.spec.allocation_mode == "WaitForFirstConsumer";
        let mut away = self.unavailable(node);
        match self.cycle.profile.rules.freed_claims() {
            // Upstream checks the allocation mode not of these claims but of as many first ones of the pod.
            FreedClaims::AllIfOneWaits if !(0..away.len()).any(waits) => away.clear(),
            FreedClaims::Waiting => away.retain(|at| waits(*at)),
            FreedClaims::AllIfOneWaits | FreedClaims::All => {}
        }
        away
    }
}

/// `PostFilter`: the plugin's message where no node fits; `None`: no other plugin runs, because it requests deallocation of a claim.
pub(crate) fn post_filter(cycle: &Cycle<'_>, judgement: &Judgement) -> Option<&'static str> {
    let Ok(Some(wanted)) = ClaimsOfDrivers::of(cycle) else { return Some("no new claims to deallocate") };
    let place = judgement.filters.iter().position(|name| *name == "DynamicResources");
    let unavailable = |node: &&NodeJudgement| {
        let refusal = node.first_refusal().filter(|(at, _)| !node.absent && Some(*at) == place);
        refusal.is_some_and(|(_, refusal)| refusal.reasons == [NOT_AVAILABLE])
    };
    let frees = |at: usize| {
        let users = wanted.claims[at].claim.status.as_ref().and_then(|status| status.reserved_for.as_deref()).unwrap_or_default();
        users.len() <= 1 && users.iter().all(|user| *user.uid == *cycle.pod.uid)
    };
    let mut nodes = judgement.nodes.iter().filter(unavailable).map(|node| cycle.state.node_by_id(node.id));
    match nodes.any(|node| wanted.could_free(node).into_iter().any(frees)) {
        true if cycle.profile.rules.freeing_claim_ends_post_filter() => None,
        true => Some("deallocation of ResourceClaim completed"),
        false => Some("still not schedulable"),
    }
}
