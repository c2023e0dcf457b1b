//! What the devices published and taken leave for a pod's claims on a node.
//! Upstream: `structured/internal/{stable,incubating,experimental}/allocator_*.go`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::cluster::{Amount, ClusterState, Node};
use crate::kube::api::resource::v1::{ResourceClaim, ResourceSlice};
use crate::scheduler::{Cycle, Release};

use super::consumption::{Consumed, Counters};
use super::pool::{PoolDevice, gather};
use super::search::Search;
use super::{DeviceId, Fault, Features};

/// What is the same for every node.
pub struct Allocator<'a> {
    /// Whose rules apply.
    pub release: Release,
    /// What claims may use.
    pub features: Features,
    /// The cluster.
    pub state: &'a ClusterState,
    slices: Vec<Arc<ResourceSlice>>,
    allocated: HashSet<(String, String, String)>,
    consumed: Vec<((String, String, String), String, Amount)>,
}

/// What a claim would get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Devices, each with the request it serves (`request/alternative`): request, driver, pool, device.
    pub devices: Vec<(String, String, String, String)>,
    /// For each request with alternatives, the place of the one that serves it.
    pub alternatives: Vec<usize>,
}

impl<'a> Allocator<'a> {
    /// Prepares the search: what is published and what is taken.
    pub fn new(cycle: &Cycle<'a>) -> Self {
        let features = Features::of(&cycle.profile.gates);
        let listers = cycle.state.listers();
        let mut allocated = HashSet::new();
        let mut consumed = Vec::new();
        let results = listers
            .resource_claims
            .iter()
            .filter_map(|claim| claim.status.as_ref()?.allocation.as_ref()?.devices.as_ref()?.results.as_ref());
        for result in results.flatten().filter(|result| result.admin_access != Some(true)) {
            let id = (result.driver.clone(), result.pool.clone(), result.device.clone());
            if features.consumable && result.share_id.is_some() {
                let taken = result.consumed_capacity.iter().flatten();
                consumed.extend(taken.map(|(name, quantity)| (id.clone(), name.clone(), Amount::parse(&quantity.0).unwrap_or_default())));
            } else {
                allocated.insert(id);
            }
        }
        let slices = listers.resource_slices.iter().cloned().collect();
        Self { release: cycle.profile.release, features, state: cycle.state, slices, allocated, consumed }
    }

    /// What the claims would get on a node; `None`: they do not all get what they want.
    pub fn allocate(&self, node: &Node, claims: &[&ResourceClaim]) -> Result<Option<Vec<Allocation>>, Fault> {
        let pools = gather(&self.slices, node, self.features, self.release.0);
        let is_allocated = |device: &PoolDevice<'_>| self.is_allocated(device.id);
        let counters = Counters::of(&pools, self.release.0, is_allocated);
        let mut consumed = Consumed::new();
        for ((driver, pool, device), name, taken) in &self.consumed {
            let total = consumed.entry(((driver.as_str(), pool.as_str(), device.as_str()), name.clone())).or_default();
            *total = *total + *taken;
        }
        let mut search = Search::new(self, node, claims, &pools, counters, consumed);
        search.prepare()?;
        if search.claim(0)? {
            return Ok(Some(search.result()));
        }
        if self.release.0 >= 35 && pools.iter().any(|pool| pool.invalid.is_some()) {
            return Err(Fault::Node("invalid resource pools were encountered".to_owned()));
        }
        Ok(None)
    }

    /// The devices published for a node, each with whether some claim has it.
    pub fn devices(&self, node: &Node) -> Vec<(String, bool)> {
        let pools = gather(&self.slices, node, self.features, self.release.0);
        let devices = pools.iter().flat_map(|pool| pool.devices());
        devices.map(|device| (format!("{}/{}/{}", device.id.0, device.id.1, device.id.2), self.is_allocated(device.id))).collect()
    }

    /// Whether a device is allocated to some claim.
    pub fn is_allocated(&self, id: DeviceId<'_>) -> bool {
        self.allocated.contains(&(id.0.to_owned(), id.1.to_owned(), id.2.to_owned()))
    }
}
