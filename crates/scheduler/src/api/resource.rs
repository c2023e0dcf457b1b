//! Types of `resource.k8s.io/v1`, dynamic resource allocation, as of 1.37.

use std::collections::BTreeMap;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer};

use ketcd_kube::Text;

use super::{core, meta, or_default};

/// What a driver reports of an allocated device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AllocatedDeviceStatus {
    pub(crate) conditions: Option<Vec<meta::Condition>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) device: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) driver: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) pool: String,
}

/// The devices allocated to a claim, and the nodes they can be used on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AllocationResult {
    pub(crate) allocation_timestamp: Option<meta::Time>,
    pub(crate) devices: Option<DeviceAllocationResult>,
    pub(crate) node_selector: Option<core::NodeSelector>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CELDeviceSelector {
    #[serde(deserialize_with = "or_default")]
    pub(crate) expression: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CapacityRequestPolicy {
    pub(crate) default: Option<meta::Quantity>,
    pub(crate) valid_range: Option<CapacityRequestPolicyRange>,
    pub(crate) valid_values: Option<Vec<meta::Quantity>>,
}

/// A range of amounts, in steps.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CapacityRequestPolicyRange {
    pub(crate) max: Option<meta::Quantity>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) min: meta::Quantity,
    pub(crate) step: Option<meta::Quantity>,
}

/// Amounts of capacities that a request needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CapacityRequirements {
    pub(crate) requests: Option<BTreeMap<String, meta::Quantity>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Counter {
    #[serde(deserialize_with = "or_default")]
    pub(crate) value: meta::Quantity,
}

/// Counters that devices share, by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CounterSet {
    #[serde(deserialize_with = "or_default")]
    pub(crate) counters: BTreeMap<String, Counter>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Device {
    pub(crate) all_nodes: Option<bool>,
    pub(crate) allow_multiple_allocations: Option<bool>,
    pub(crate) attributes: Option<BTreeMap<String, DeviceAttribute>>,
    pub(crate) binding_conditions: Option<Vec<String>>,
    pub(crate) binding_failure_conditions: Option<Vec<String>>,
    pub(crate) binds_to_node: Option<bool>,
    pub(crate) capacity: Option<BTreeMap<String, DeviceCapacity>>,
    pub(crate) consumes_counters: Option<Vec<DeviceCounterConsumption>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    pub(crate) node_allocatable_resources: Option<BTreeMap<String, NodeAllocatableResource>>,
    pub(crate) node_name: Option<String>,
    pub(crate) node_selector: Option<core::NodeSelector>,
    pub(crate) taints: Option<Vec<DeviceTaint>>,
    pub(crate) node_allocatable_resource_mappings: Option<BTreeMap<String, NodeAllocatableResourceMapping>>,
}

/// The devices allocated to a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceAllocationResult {
    pub(crate) results: Option<Vec<DeviceRequestAllocationResult>>,
}

/// An attribute's value: one of these types, or a list of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceAttribute {
    pub(crate) bool: Option<bool>,
    pub(crate) bools: Option<Vec<bool>>,
    pub(crate) int: Option<i64>,
    pub(crate) ints: Option<Vec<i64>>,
    pub(crate) string: Option<String>,
    pub(crate) strings: Option<Vec<String>>,
    pub(crate) version: Option<String>,
    pub(crate) versions: Option<Vec<String>>,
}

/// A capacity's amount, and how it may be requested.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceCapacity {
    pub(crate) request_policy: Option<CapacityRequestPolicy>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) value: meta::Quantity,
}

/// The requests of a claim, and the constraints among them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceClaim {
    pub(crate) constraints: Option<Vec<DeviceConstraint>>,
    pub(crate) requests: Option<Vec<DeviceRequest>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceClass {
    #[serde(rename = "apiVersion")]
    pub(crate) _api_version: V1,
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: DeviceClassSpec,
}

/// A class's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceClassSpec {
    pub(crate) extended_resource_name: Option<String>,
    pub(crate) selectors: Option<Vec<DeviceSelector>>,
}

/// An attribute that devices of several requests have in common, or in which they differ.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceConstraint {
    pub(crate) distinct_attribute: Option<String>,
    pub(crate) match_attribute: Option<String>,
    pub(crate) requests: Option<Vec<String>>,
}

/// What a device consumes of a counter set.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceCounterConsumption {
    pub(crate) compatibility_groups: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) counter_set: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) counters: BTreeMap<String, Counter>,
}

/// An attribute that a CEL expression derives from the others of a device (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceDerivedAttribute {
    #[serde(deserialize_with = "or_default")]
    pub(crate) expression: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceRequest {
    pub(crate) exactly: Option<ExactDeviceRequest>,
    pub(crate) first_available: Option<Vec<DeviceSubRequest>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceRequestAllocationResult {
    pub(crate) admin_access: Option<bool>,
    pub(crate) binding_conditions: Option<Vec<String>>,
    pub(crate) binding_failure_conditions: Option<Vec<String>>,
    pub(crate) consumed_capacity: Option<BTreeMap<String, meta::Quantity>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) device: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) driver: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) pool: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) request: String,
    #[serde(rename = "shareID")]
    pub(crate) share_id: Option<String>,
    pub(crate) skip_node_operations: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceSelector {
    pub(crate) cel: Option<CELDeviceSelector>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceSubRequest {
    pub(crate) allocation_mode: Option<String>,
    pub(crate) capacity: Option<CapacityRequirements>,
    pub(crate) count: Option<i64>,
    pub(crate) derived_attributes: Option<Vec<DeviceDerivedAttribute>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) device_class_name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    pub(crate) selectors: Option<Vec<DeviceSelector>>,
    pub(crate) tolerations: Option<Vec<DeviceToleration>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceTaint {
    #[serde(deserialize_with = "or_default")]
    pub(crate) effect: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DeviceToleration {
    pub(crate) effect: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) operator: Option<String>,
    pub(crate) value: Option<String>,
}

/// A request without alternatives.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ExactDeviceRequest {
    pub(crate) admin_access: Option<bool>,
    pub(crate) allocation_mode: Option<String>,
    pub(crate) capacity: Option<CapacityRequirements>,
    pub(crate) count: Option<i64>,
    pub(crate) derived_attributes: Option<Vec<DeviceDerivedAttribute>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) device_class_name: String,
    pub(crate) selectors: Option<Vec<DeviceSelector>>,
    pub(crate) tolerations: Option<Vec<DeviceToleration>>,
}

/// How much of a node's resource a device represents (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableMapping {
    pub(crate) capacity_key: Option<String>,
    pub(crate) capacity_multiplier: Option<meta::Quantity>,
    pub(crate) device_multiplier: Option<meta::Quantity>,
}

/// What a device needs of a node's resource in addition to itself (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableOverhead {
    pub(crate) per_container: Option<meta::Quantity>,
    pub(crate) per_pod: Option<meta::Quantity>,
}

/// What a device consumes of one of the node's resources (1.37).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeAllocatableResource {
    pub(crate) mapping: Option<NodeAllocatableMapping>,
    pub(crate) overhead: Option<NodeAllocatableOverhead>,
}

/// How much of a node's resource a device represents (1.36).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableResourceMapping {
    pub(crate) allocation_multiplier: Option<meta::Quantity>,
    pub(crate) capacity_key: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourceClaim {
    #[serde(rename = "apiVersion")]
    pub(crate) _api_version: V1,
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: ResourceClaimSpec,
    pub(crate) status: Option<ResourceClaimStatus>,
}

/// A pod or other object that may use a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceClaimConsumerReference {
    pub(crate) api_group: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) resource: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) uid: String,
}

/// A claim's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourceClaimSpec {
    /// The driver that allocates the claim (v1alpha3 of 1.31 alone).
    pub(crate) controller: Option<String>,
    pub(crate) devices: Option<DeviceClaim>,
}

/// A claim's `status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceClaimStatus {
    pub(crate) allocation: Option<AllocationResult>,
    pub(crate) devices: Option<Vec<AllocatedDeviceStatus>>,
    pub(crate) reserved_for: Option<Vec<ResourceClaimConsumerReference>>,
}

/// The pool a slice belongs to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourcePool {
    #[serde(deserialize_with = "or_default")]
    pub(crate) generation: i64,
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(crate) resource_slice_count: i64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResourceSlice {
    #[serde(rename = "apiVersion")]
    pub(crate) _api_version: V1,
    #[serde(deserialize_with = "or_default")]
    pub(crate) metadata: meta::ObjectMeta,
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: ResourceSliceSpec,
}

/// A slice's `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceSliceSpec {
    pub(crate) all_nodes: Option<bool>,
    pub(crate) devices: Option<Vec<Device>>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) driver: String,
    pub(crate) node_name: Option<String>,
    pub(crate) node_selector: Option<core::NodeSelector>,
    pub(crate) per_device_node_selection: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) pool: ResourcePool,
    pub(crate) shared_counters: Option<Vec<CounterSet>>,
    pub(crate) skip_node_operations: Option<Vec<String>>,
}

/// The `apiVersion` of an object of this module's types. Any other is refused: it has to be converted first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct V1;

impl V1 {
    pub(crate) const NAME: &str = "resource.k8s.io/v1";
}

impl<'de> Deserialize<'de> for V1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Text::deserialize(deserializer)?;
        if &*found == Self::NAME { Ok(Self) } else { Err(D::Error::invalid_value(Unexpected::Str(&found), &Self::NAME)) }
    }
}
