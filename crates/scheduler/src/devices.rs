//! Devices: those the scheduler would allocate to a pod's claims on each node that fits, and those it was seen to allocate.

use std::sync::Arc;

use crate::cluster::{CachedObject, Claim, ObjectChange, PodInfo};

use super::dra::{Allocation, claim_name};
use super::plugins::dynamic_resources::Wanted;
use super::{Cycle, Judgement};

/// The scheduler's name for the claim it creates for extended resources, until it is created.
pub(crate) const OWN_CLAIM: &str = "<extended-resources>";

/// The devices of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClaimDevices {
    /// The claim, `namespace/name`.
    pub claim: String,
    /// Its devices and the requests they serve.
    pub allocation: Allocation,
}

/// The devices a pod would get on a node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeDevices {
    /// The node.
    pub node: Arc<str>,
    /// The devices of each claim that has none yet.
    pub claims: Vec<ClaimDevices>,
    /// Whether it would be exactly these; otherwise upstream's order is random, and others may be allocated.
    pub certain: bool,
}

/// The devices that an attempt was seen to allocate to a claim.
#[derive(Clone, Debug)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub struct RecordedDevices {
    /// What was written.
    pub devices: ClaimDevices,
    /// The revision that wrote it.
    pub revision: i64,
    /// Whether the rules allocate the same on the node; `None`: they are not certain.
    pub agrees: Option<bool>,
}

/// Returns what the claims of a pod that have no devices would get on each node that fits.
pub fn chosen(cycle: &Cycle, judgement: &Judgement) -> Vec<NodeDevices> {
    let Some(wanted) = wanted(cycle, judgement) else { return Vec::new() };
    judgement.nodes.iter().filter(|node| node.fits()).filter_map(|node| given(&wanted, cycle, node)).collect()
}

/// Returns the same of one node.
pub(crate) fn chosen_on(cycle: &Cycle, judgement: &Judgement, node: &str) -> Option<NodeDevices> {
    let wanted = wanted(cycle, judgement)?;
    given(&wanted, cycle, judgement.nodes.iter().find(|judged| *judged.name == *node)?)
}

/// What the pod wants of devices, if there is something to allocate.
fn wanted<'c>(cycle: &'c Cycle<'c>, judgement: &Judgement) -> Option<Wanted<'c>> {
    if judgement.whole_pod.is_some() || !judgement.filters.contains(&"DynamicResources") {
        return None;
    }
    Wanted::of(cycle).ok().flatten().filter(Wanted::allocates)
}

fn given(wanted: &Wanted, cycle: &Cycle, node: &super::NodeJudgement) -> Option<NodeDevices> {
    let (claims, found) = wanted.chosen(cycle.state.node_by_id(node.id))?;
    let devices = claims.into_iter().zip(found.claims).map(|(claim, allocation)| ClaimDevices { claim, allocation });
    Some(NodeDevices { node: node.name.clone(), claims: devices.collect(), certain: found.certain })
}

/// Returns the devices that the attempt's own writes allocated to the pod's claims, compared with what the rules allocate on its node.
/// `changes` are those since it began, each with its revision.
pub(crate) fn recorded<'c>(
    pod: &PodInfo,
    node: Option<&str>,
    changes: impl Iterator<Item = (i64, &'c ObjectChange)>,
    chosen: &[NodeDevices],
) -> Vec<RecordedDevices> {
    let expected = chosen.iter().find(|devices| Some(&*devices.node) == node);
    let given = changes.filter_map(|(revision, change)| {
        let Some(CachedObject::ResourceClaim(after)) = &change.after else { return None };
        let had = matches!(&change.before, Some(CachedObject::ResourceClaim(before)) if Allocation::recorded(before).is_some());
        let ours = change.key.namespace == pod.namespace && reserved(after, pod);
        let allocation = Allocation::recorded(after).filter(|_| ours && !had)?;
        let devices = ClaimDevices { claim: claim_name(after), allocation };
        let own = format!("{}/{OWN_CLAIM}", pod.namespace);
        let is = |known: &&ClaimDevices| known.claim == devices.claim || known.claim == own && is_own(after);
        let rules = expected.and_then(|expected| expected.claims.iter().find(is).map(|claim| (expected.certain, claim)));
        let agrees = rules.and_then(|(certain, claim)| Some(claim.allocation == devices.allocation).filter(|same| certain || *same));
        Some(RecordedDevices { devices, revision, agrees })
    });
    given.collect()
}

fn reserved(claim: &Claim, pod: &PodInfo) -> bool {
    claim.status.iter().flat_map(|status| status.reserved_for.iter().flatten()).any(|consumer| consumer.uid == *pod.uid)
}

fn is_own(claim: &Claim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.get("resource.kubernetes.io/extended-resource-claim").is_some_and(|own| own == "true"))
}
