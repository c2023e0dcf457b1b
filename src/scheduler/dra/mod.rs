//! Devices: which a pod's claims could get on a node. Upstream: `k8s.io/dynamic-resource-allocation/structured`.

mod allocator;
mod claims;
mod constraint;
mod consumption;
mod pool;
mod prepare;
mod request;
mod search;
mod selector;

pub use allocator::{Allocation, Allocator};
pub use claims::{ExtendedResources, NodeClaim, pod_claims};
pub use pool::selects;
pub use request::{claim_name, requests, written};

/// Why the devices of a node cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Upstream fails with this error, which ends the attempt.
    Error(String),
    /// Upstream refuses the node with this reason.
    Node(String),
    /// What it depends on is not modelled here, or not in the data.
    Unknown(String),
}

/// A device: its driver, pool and name.
pub type DeviceId<'a> = (&'a str, &'a str, &'a str);

/// The features an allocation may use, from the scheduler's gates.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "one per gate")]
pub struct Features {
    admin_access: bool,
    prioritized_list: bool,
    partitionable: bool,
    taints: bool,
    binding: bool,
    consumable: bool,
}

impl Features {
    /// The features of a profile.
    pub fn of(gates: &crate::scheduler::Gates) -> Self {
        Self {
            admin_access: gates.on("DRAAdminAccess"),
            prioritized_list: gates.on("DRAPrioritizedList"),
            partitionable: gates.on("DRAPartitionableDevices"),
            taints: gates.on("DRADeviceTaints"),
            binding: gates.on("DRADeviceBindingConditions") && gates.on("DRAResourceClaimDeviceStatus"),
            consumable: gates.on("DRAConsumableCapacity"),
        }
    }
}
