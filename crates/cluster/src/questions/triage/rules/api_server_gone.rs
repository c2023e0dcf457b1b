//! API servers that are gone and still stand in `masterleases`, or among the endpoints of the Service `kubernetes`.
//!
//! Kubernetes 1.36: pkg/controlplane/reconcilers/lease.go: each API server renews its lease every 10 seconds for 15 (pkg/controlplane/instance.go, up to 1.20
//! pkg/master/master.go: `DefaultEndpointReconcilerInterval`, `DefaultEndpointReconcilerTTL`), and makes the endpoints of default/kubernetes equal to the
//! leases that are there; if there are none it leaves them.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};
use ketcd_store::{KeyRange, Want};

use super::facts::{Facts, Kind};
use super::object::{items, text};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const ENDPOINTS_KIND: &Kind = &Kind { path: "services/endpoints", namespaced: true, fields: None };
const ENDPOINT_SLICES_KIND: &Kind = &Kind { path: "endpointslices", namespaced: true, fields: None };

/// A lease that was not renewed for so long is of an API server that is gone: four times its duration.
const LEASE_EXPIRY: SignedDuration = SignedDuration::from_secs(60);

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    let Some(now) = facts.now.filter(|_| !facts.may_be_part()) else { return Ok(Vec::new()) };
    let leases = leases(facts).await?;
    if leases.is_empty() {
        return Ok(Vec::new());
    }
    let listed = listed(facts).await?;
    let mut found = Vec::new();
    for (address, renewed) in &leases {
        let expired = renewed.filter(|renewed| now.duration_since(*renewed) > LEASE_EXPIRY);
        let Some(renewed) = expired else { continue };
        let state = if listed.contains(address) { "expired" } else { "lease" };
        found.push(gone(address, state, Some(renewed)));
    }
    let is_leased = |address: &&String| leases.iter().any(|(leased, _)| leased == *address);
    found.extend(listed.iter().filter(|address| !is_leased(address)).map(|address| gone(address, "unleased", None)));
    Ok(found)
}

fn gone(address: &str, state: &str, since: Option<Timestamp>) -> RuleFinding {
    let subject =
        Subject { kind: "Endpoints".to_owned(), namespace: "default".to_owned(), name: "kubernetes".to_owned(), ..Subject::default() };
    let about = vec![address.to_owned(), state.to_owned()];
    RuleFinding::new(subject, Trouble { since, about, ..Trouble::new(TroubleKind::ApiServerGone) })
}

/// The addresses that API servers hold leases of, and when each was renewed last, at the latest; `None` where nothing dates that.
async fn leases(facts: &Facts<'_>) -> Result<Vec<(String, Option<Timestamp>)>> {
    let cluster = facts.cluster;
    let prefix = format!("{}/masterleases/", cluster.prefix().await?);
    let Some(mut listing) = cluster.range_or_miss(KeyRange::prefix(prefix.as_str()), facts.at, Want::Keys).await? else {
        return Ok(Vec::new());
    };
    let mut leases = Vec::new();
    while let Some(entry) = listing.entries.try_next().await? {
        let Some(address) = entry.key.strip_prefix(prefix.as_bytes()) else { continue };
        let dated = cluster.clock_around(&[entry.mod_revision], &[]).await?.date(entry.mod_revision);
        let renewed = dated.and_then(|dated| dated.time.checked_add(SignedDuration::try_from_secs_f64(dated.error).ok()?).ok());
        leases.push((String::from_utf8_lossy(address).into_owned(), renewed));
    }
    Ok(leases)
}

/// The addresses at which clients in the cluster look for API servers.
async fn listed(facts: &mut Facts<'_>) -> Result<BTreeSet<String>> {
    let mut listed = BTreeSet::new();
    for endpoints in facts.within(ENDPOINTS_KIND, "default").await?.iter().filter(|of| text(of, "/metadata/name") == "kubernetes") {
        let addresses = items(endpoints, "/subsets").flat_map(|subset| items(subset, "/addresses"));
        listed.extend(addresses.map(|address| text(address, "/ip").to_owned()));
    }
    let own = |slice: &&serde_json::Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "kubernetes";
    for slice in facts.within(ENDPOINT_SLICES_KIND, "default").await?.iter().filter(own) {
        let addresses = items(slice, "/endpoints").flat_map(|endpoint| items(endpoint, "/addresses"));
        listed.extend(addresses.filter_map(|address| address.as_str()).map(str::to_owned));
    }
    Ok(listed)
}
