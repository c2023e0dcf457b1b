//! What the two plugins that count attached volumes have in common.

use crate::cluster::PodInfo;
use crate::framework::{Candidate, Cycle, Fact, Fix, Need, Obstacle, Verdict, VolumeCheck};
use crate::release::MissingClaim;
use crate::volumes::{claim_needs, claim_refs};

/// What a claim that does not exist makes of the pod that names it, where it does not pass over it.
pub(super) fn not_found(pod: &PodInfo, claim: &str, cycle: &Cycle) -> Option<Verdict> {
    let text = || format!("looking up PVC {}/{claim}: persistentvolumeclaim \"{claim}\" not found", pod.namespace);
    match cycle.profile.rules.missing_claim_of_limits() {
        MissingClaim::PassedOver => None,
        MissingClaim::Fails => Some(Verdict::Error(text())),
        MissingClaim::Refuses => Some(Verdict::unresolvable(text())),
    }
}

/// Claims of the pod that are not there: what cannot be looked up refuses, whatever it would be.
pub(super) fn missing(cycle: &Cycle) -> Vec<Fact> {
    let known = |name: &str| cycle.state.listers().claims.get(&cycle.pod.namespace, name).is_some();
    let refs = claim_refs(cycle.pod, true).filter(|of| !known(&of.name));
    refs.map(|of| Fact::refusing(VolumeCheck::ClaimMissing { claim: of.name })).collect()
}

/// More volumes than may be attached: a pod with volumes less. What is missing of the pod's own claims comes first.
pub(super) fn needs(cycle: &Cycle<'_>, node: &Candidate) -> Vec<Need> {
    let missing: Vec<Need> =
        claim_needs(cycle).into_iter().filter(|need| matches!(need.options.as_slice(), [Fix::CreateClaim { .. }])).collect();
    if !missing.is_empty() {
        return missing;
    }
    let options = Fix::deletions(node.pods.iter().filter(|pod| !pod.spec.volumes.is_empty()));
    vec![Need::one_of_or(options, Obstacle::NoVolumesToDetach)]
}
