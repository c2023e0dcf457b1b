//! The devices that a pod's claims would get on a node, of those published and not allocated.
//! Upstream: `structured/internal/{stable,incubating,experimental}/allocator_*.go`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Cycle;
use crate::cluster::{Claim, ClusterState, Node};
use crate::release::DeviceRules;

use super::capacity::{Amounts, amount};
use super::pool::{Pool, gather};
use super::reserve::Given;
use super::search::DeviceSearch;
use super::selector::Selectors;
use super::slices::Slices;
use super::taint_rules::published;
use super::{DeviceId, Fault};

/// The parts that are the same for every node.
pub(crate) struct Allocator<'a> {
    /// Which of upstream's allocators it is.
    pub rules: DeviceRules,
    /// The cluster.
    pub state: &'a ClusterState,
    /// Expressions about devices.
    pub(super) selectors: Selectors,
    slices: Result<Slices, Fault>,
    taken: TakenDevices<'a>,
}

/// What is allocated to claims already.
#[derive(Default)]
pub(super) struct TakenDevices<'a> {
    /// Devices allocated to one claim.
    dedicated: HashSet<DeviceId<'a>>,
    /// Devices shared by several claims.
    shared: HashSet<DeviceId<'a>>,
    capacity: HashMap<DeviceId<'a>, Amounts>,
}

impl<'a> TakenDevices<'a> {
    fn of(claims: impl Iterator<Item = &'a Arc<Claim>>, rules: DeviceRules) -> Self {
        let mut taken = Self::default();
        let results = claims.filter_map(|claim| claim.status.as_ref()?.allocation.as_ref()?.devices.as_ref()?.results.as_ref());
        for result in results.flatten().filter(|result| result.admin_access != Some(true)) {
            let id = (result.driver.as_str(), result.pool.as_str(), result.device.as_str());
            if !rules.consumable || result.share_id.is_none() {
                taken.dedicated.insert(id);
                continue;
            }
            taken.shared.insert(id);
            if let Some(consumed) = &result.consumed_capacity {
                let total = taken.capacity.entry(id).or_default();
                for (name, quantity) in consumed {
                    let sum = total.entry(name.clone()).or_default();
                    *sum = *sum + amount(quantity);
                }
            }
        }
        taken
    }

    /// Whether a device is allocated to one claim.
    pub(super) fn is_dedicated(&self, id: DeviceId<'_>) -> bool {
        self.dedicated.contains(&id)
    }

    /// Whether what a device consumes is in use (`IsDeviceAllocated`).
    pub(super) fn consumes(&self, id: DeviceId<'_>, rules: DeviceRules) -> bool {
        self.is_dedicated(id) || (rules.shared_devices_consume() && (self.shared.contains(&id) || self.capacity.contains_key(&id)))
    }

    /// Whether a device is shared by claims.
    pub(super) fn is_shared(&self, id: DeviceId<'_>) -> bool {
        self.shared.contains(&id)
    }

    /// The consumed capacity of a shared device.
    pub(super) fn capacity<'t>(&'t self, id: DeviceId<'t>) -> Option<&'t Amounts> {
        self.capacity.get(&id)
    }
}

/// The allocation of a claim: devices, each with the request it serves (`request/alternative`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Request, driver, pool, device.
    pub devices: Vec<(String, String, String, String)>,
}

impl Allocation {
    pub(crate) fn recorded(claim: &Claim) -> Option<Self> {
        let results = claim.status.as_ref()?.allocation.as_ref()?.devices.as_ref()?.results.as_ref()?;
        let each = results.iter().map(|result| (result.request.clone(), result.driver.clone(), result.pool.clone(), result.device.clone()));
        Some(Self { devices: each.collect() })
    }
}

/// The allocations of several claims.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allocations {
    /// One for each claim.
    pub claims: Vec<Allocation>,
    /// Whether these are the devices the scheduler would allocate; otherwise its choice is random.
    pub certain: bool,
}

impl Allocations {
    /// The allocations where no claim needs any.
    pub(crate) fn nothing() -> Self {
        Self { claims: Vec::new(), certain: true }
    }
}

impl<'a> Allocator<'a> {
    /// Prepares the search: what is published and what is allocated.
    pub(crate) fn new(cycle: &Cycle<'a>) -> Self {
        let rules = DeviceRules::new(cycle.profile.release, &cycle.profile.gates);
        let listers = cycle.state.listers();
        let selectors = Selectors::default();
        let slices = published(cycle.state, &selectors, rules).map(Slices::new);
        let taken = TakenDevices::of(listers.resource_claims.iter(), rules);
        Self { rules, state: cycle.state, selectors, slices, taken }
    }

    /// Returns the claims' allocations on a node; `None`: they do not all get what they request.
    ///
    /// # Errors
    /// Why it cannot be computed.
    pub(crate) fn allocate(&self, node: &Node, claims: &[&Claim]) -> Result<Option<Allocations>, Fault> {
        let slices = self.slices.as_ref().map_err(Fault::clone)?;
        let mut pools = gather(slices, node, self.rules);
        let first = self.search(node, claims, &pools);
        if self.rules.sorts_pools() || pools.len() < 2 {
            return first.map(|found| found.map(|claims| Allocations { claims, certain: true }));
        }
        // Where upstream's order is that of a Go map, a result that depends on it is not certain: tried reversed, and with each pool first.
        let mut certain = true;
        for turn in 0..pools.len() {
            if turn == 0 {
                pools.reverse()
            } else {
                pools[..=turn].rotate_right(1)
            }
            let other = self.search(node, claims, &pools);
            match (&first, &other) {
                (Ok(Some(found)), Ok(Some(other))) => certain &= found == other,
                (Ok(None), Ok(None)) => {}
                (Err(fault), Err(other)) if fault == other => {}
                _ => {
                    return Err(Fault::Unknown(
                        "the scheduler takes resource pools in random order, and what it finds depends on it".to_owned(),
                    ));
                }
            }
        }
        first.map(|found| found.map(|claims| Allocations { claims, certain }))
    }

    fn search(&self, node: &Node, claims: &[&Claim], pools: &[Pool<'_>]) -> Result<Option<Vec<Allocation>>, Fault> {
        let mut search = DeviceSearch::new(self, node, claims, pools, &self.taken);
        search.prepare()?;
        if search.run()? {
            return Ok(Some(search.result()));
        }
        if self.rules.passes_over_invalid_pools() && pools.iter().any(|pool| pool.invalid.is_some()) {
            return Err(Fault::Node("invalid resource pools were encountered".to_owned()));
        }
        Ok(None)
    }

    /// Returns the claims' statuses once the devices found on a node are allocated to them; empty where they get none.
    pub(crate) fn give(&self, node: &Node, claims: &[&Claim]) -> Vec<Given> {
        let Ok(slices) = &self.slices else { return Vec::new() };
        let pools = gather(slices, node, self.rules);
        let mut search = DeviceSearch::new(self, node, claims, &pools, &self.taken);
        match search.prepare().and_then(|()| search.run()) {
            Ok(true) => search.given(),
            _ => Vec::new(),
        }
    }

    /// The devices published for a node, each with whether it is allocated to a claim.
    pub(crate) fn devices(&self, node: &Node) -> Vec<(String, bool)> {
        let Ok(slices) = &self.slices else { return Vec::new() };
        let pools = gather(slices, node, self.rules);
        let devices = pools.iter().flat_map(|pool| pool.devices());
        devices.map(|device| (format!("{}/{}/{}", device.id.0, device.id.1, device.id.2), self.taken.is_dedicated(device.id))).collect()
    }
}
