//! Which alternatives of requests a node could serve: `Score`.

use crate::cluster::Claim;
use crate::dra::{Given, requests};
use crate::{Cycle, PreScore};

use super::available::is_allocated;
use super::pod_devices::Wanted;

/// What of alternatives each node could serve.
pub(super) fn score<'a>(cycle: &'a Cycle<'a>) -> PreScore<'a> {
    if !cycle.profile.rules.scores_device_alternatives() {
        return PreScore::Skip;
    }
    // Upstream looks at what it would allocate on the node: where all is allocated, that is nothing.
    let wanted = Wanted::of(cycle).ok().flatten().filter(|wanted| wanted.allocates() && cycle.profile.gates.on("DRAPrioritizedList"));
    let Some(wanted) = wanted else { return PreScore::scaled(|_| 0, false) };
    let allocated = wanted.claims.iter().filter(|claim| is_allocated(claim));
    let (had, all) = (allocated.clone().count(), wanted.claims.len());
    if cycle.profile.rules.allocated_claims_fail_score() && had > 0 {
        let counts = format!("number of allocations {} is smaller than number of claims", all - had);
        return PreScore::Error(format!("running Score plugins: plugin \"DynamicResources\" failed with: {counts}"));
    }
    let is_open = |claim: &Claim| !is_allocated(claim) || wanted.is_pending(claim);
    let fixed: i64 = allocated.filter(|claim| !is_open(claim)).filter_map(|claim| Some(points(claim, &Given::had(claim)?))).sum();
    let open: Vec<_> = wanted.claims.iter().filter(|claim| is_open(claim)).cloned().collect();
    // Where no alternatives are asked for there is nothing to look for.
    if !open.iter().any(|claim| requests(claim).iter().any(|request| request.exactly.is_none())) {
        return PreScore::scaled(move |_| fixed, false);
    }
    PreScore::scaled(
        move |node| fixed + open.iter().zip(&wanted.results(node)).map(|(claim, given)| points(claim, given)).sum::<i64>(),
        false,
    )
}

/// Eight points for the first alternative of a request that is served, one less for each that follows (`computeScore`).
fn points(claim: &Claim, given: &Given) -> i64 {
    let served: Vec<&str> = given.served().collect();
    let of_request = |request: &crate::api::resource::DeviceRequest| {
        let alternatives = request.first_available.as_deref().unwrap_or_default();
        let chosen = alternatives
            .iter()
            .zip(0..)
            .filter(|(alternative, _)| served.contains(&format!("{}/{}", request.name, alternative.name).as_str()));
        chosen.map(|(_, at)| 8 - at).sum::<i64>()
    };
    requests(claim).iter().map(of_request).sum()
}
