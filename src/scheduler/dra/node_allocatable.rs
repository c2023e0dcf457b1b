//! Devices that take of the node's own resources (DRANodeAllocatableResources, since 1.36): found, not counted.
//! Upstream: `plugins/dynamicresources/nodeallocatabledynamicresources.go`.

use std::collections::BTreeSet;

use crate::cluster::{Claim, NodeInfo};
use crate::scheduler::Cycle;

use super::{Allocation, claim_name, pod_claims};

/// Devices that take of a node: their driver, pool and name.
pub struct NodeAllocatable(BTreeSet<(String, String, String)>);

impl NodeAllocatable {
    /// Those that are published; `None`: the gate is off, or there are none.
    pub fn of(cycle: &Cycle) -> Option<Self> {
        if !cycle.profile.gates.on("DRANodeAllocatableResources") {
            return None;
        }
        let release = cycle.profile.release.0;
        let mut found = BTreeSet::new();
        for slice in cycle.state.listers().resource_slices.iter() {
            let spec = &slice.spec;
            for (at, device) in spec.devices.iter().flatten().enumerate() {
                let added = slice.added.spec.devices.get(at);
                let takes = match release {
                    ..=36 => device.node_allocatable_resource_mappings.as_ref().is_some_and(|all| !all.is_empty()),
                    _ => added.is_some_and(|added| !added.node_allocatable_resources.is_empty()),
                };
                if takes {
                    found.insert((spec.driver.clone(), spec.pool.name.clone(), device.name.clone()));
                }
            }
        }
        (!found.is_empty()).then_some(Self(found))
    }

    /// Whether any device of an allocation is one.
    pub fn holds(&self, allocation: &Allocation) -> bool {
        allocation.devices.iter().any(|(_, driver, pool, device)| self.0.contains(&(driver.clone(), pool.clone(), device.clone())))
    }

    /// A claim that has one.
    pub fn of_claim<'c>(&self, claims: impl IntoIterator<Item = &'c Claim>) -> Option<String> {
        claims.into_iter().find(|claim| Allocation::recorded(claim).is_some_and(|had| self.holds(&had))).map(claim_name)
    }

    /// A pod on a node that has one, `namespace/name`.
    pub fn on(&self, node: &NodeInfo, cycle: &Cycle) -> Option<String> {
        let has = |pod: &&std::sync::Arc<crate::cluster::PodInfo>| {
            let claims = pod_claims(pod, cycle.state, cycle.profile).unwrap_or_default();
            self.of_claim(claims.iter().map(|claim| &**claim)).is_some()
        };
        node.pods.iter().find(has).map(|pod| pod.full_name().to_string())
    }
}
