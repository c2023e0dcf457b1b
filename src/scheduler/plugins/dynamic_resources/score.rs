//! Which alternatives of requests a node could serve: `Score` (since 1.35).

use crate::cluster::Claim;
use crate::scheduler::dra::{Allocation, requests};
use crate::scheduler::{Cycle, PreScore};

use super::available::is_allocated;
use super::wanted::Wanted;

/// What of alternatives each node could serve.
pub fn score<'a>(cycle: &'a Cycle<'a>) -> PreScore<'a> {
    if cycle.profile.release.0 <= 34 {
        return PreScore::Skip;
    }
    // Upstream looks at what it would allocate on the node: where all is allocated, that is nothing.
    let wanted = Wanted::of(cycle).ok().flatten().filter(|wanted| wanted.allocates() && cycle.profile.gates.on("DRAPrioritizedList"));
    let Some(wanted) = wanted else { return PreScore::scaled(|_| 0, false) };
    let allocated = wanted.claims.iter().filter(|claim| is_allocated(claim));
    let (had, all) = (allocated.clone().count(), wanted.claims.len());
    if cycle.profile.release.0 == 35 && had > 0 {
        // 1.35 counts claims that are allocated among those it has devices for.
        let counts = format!("number of allocations {} is smaller than number of claims", all - had);
        return PreScore::Error(format!("running Score plugins: plugin \"DynamicResources\" failed with: {counts}"));
    }
    let fixed: i64 = allocated.map(|claim| points(claim, &allocated_requests(claim))).sum();
    PreScore::scaled(
        move |node| {
            let found = wanted.allocate(node).ok().flatten().unwrap_or_default();
            let open = wanted.claims.iter().filter(|claim| !is_allocated(claim));
            let served = |claim: &Allocation| claim.devices.iter().map(|(request, ..)| request.clone()).collect::<Vec<_>>();
            fixed + open.zip(&found.claims).map(|(claim, found)| points(claim, &served(found))).sum::<i64>()
        },
        false,
    )
}

/// The requests (`request/alternative`) that the devices of an allocated claim serve.
fn allocated_requests(claim: &Claim) -> Vec<String> {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let results = allocation.and_then(|allocation| allocation.devices.as_ref()).and_then(|devices| devices.results.as_ref());
    results.into_iter().flatten().map(|result| result.request.clone()).collect()
}

/// Eight points for the first alternative of a request that is served, one less for each that follows (`computeScore`).
fn points(claim: &Claim, served: &[String]) -> i64 {
    let of_request = |request: &crate::kube::api::resource::v1::DeviceRequest| {
        let alternatives = request.first_available.as_deref().unwrap_or_default();
        let chosen =
            alternatives.iter().zip(0..).filter(|(alternative, _)| served.contains(&format!("{}/{}", request.name, alternative.name)));
        chosen.map(|(_, at)| 8 - at).sum::<i64>()
    };
    requests(claim).iter().map(of_request).sum()
}
