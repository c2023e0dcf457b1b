//! Devices: ResourceClaims, ResourceSlices and what belongs to them, of every API version, in the shape of `resource.k8s.io/v1`.

pub(super) mod device_taint_rule;
pub(super) mod node_allocatable_claim;
pub(super) mod objects;
pub(super) mod v1_conversion;
