//! Devices: what a pod's claims would get on a node. Upstream: `k8s.io/dynamic-resource-allocation/structured`.

mod allocate_device;
mod allocator;
mod attribute;
mod capacity;
mod claims;
mod constraint;
mod counters;
mod extended;
mod group_claims;
mod groups;
mod node_allocatable;
mod pool;
mod prepare;
mod request;
mod reserve;
mod search;
mod selector;
mod slices;
mod taint_rules;

pub use allocator::Allocation;
pub(crate) use allocator::{Allocations, Allocator};
pub(crate) use claims::{can_skip_operations, named_claims, pod_claims, skips_operations};
pub(crate) use extended::{ExtendedResources, NodeClaim, resources_of_classes};
pub(crate) use group_claims::{gives_up, group_of, is_kept_for, is_kept_for_nobody_else};
pub(crate) use node_allocatable::{Holding, NodeAllocatable};
pub(crate) use pool::selects;
pub(crate) use request::{claim_name, requests, written};
pub(crate) use reserve::{Given, results};

/// Why an allocation cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Upstream fails with this error, which ends the attempt.
    Error(String),
    /// Upstream rejects the node with this reason.
    Node(String),
    /// It depends on what is not modelled here, or not in the data.
    Unknown(String),
}

/// A device: its driver, pool and name.
pub(crate) type DeviceId<'a> = (&'a str, &'a str, &'a str);
