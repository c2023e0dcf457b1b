//! Fields that 1.37 added to ResourceSlices and ResourceClaims, as far as schedulers read them. Source: `api/resource/v1/types.go` (1.37).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use ketcd_kube::apimachinery::pkg::api::resource::Quantity;

/// What was added to ResourceSlices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SliceAdditions {
    /// To their specs.
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: SliceSpecAdditions,
}

/// What was added to specs of ResourceSlices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SliceSpecAdditions {
    /// Operations that the node skips for these devices.
    #[serde(deserialize_with = "or_default")]
    pub(crate) skip_node_operations: Vec<String>,
    /// To devices, in their order.
    #[serde(deserialize_with = "or_default")]
    pub(crate) devices: Vec<DeviceAdditions>,
}

/// What was added to devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceAdditions {
    /// For each of its consumed counters, in order.
    #[serde(deserialize_with = "or_default")]
    pub(crate) consumes_counters: Vec<ConsumptionAdditions>,
    /// What it consumes of the node, by the name of the node's resource.
    #[serde(deserialize_with = "or_default")]
    pub(crate) node_allocatable_resources: BTreeMap<String, NodeAllocatableResource>,
}

/// What was added to consumed counters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ConsumptionAdditions {
    /// Devices that share a group may draw from one counter set together.
    #[serde(deserialize_with = "or_default")]
    pub(crate) compatibility_groups: Vec<String>,
}

/// What a device consumes of one of the node's resources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeAllocatableResource {
    /// The amount it represents itself.
    pub(crate) mapping: Option<NodeAllocatableMapping>,
    /// The amount it needs in addition.
    pub(crate) overhead: Option<NodeAllocatableOverhead>,
}

/// How much of a resource a device represents.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableMapping {
    /// The capacity that counts.
    pub(crate) capacity_key: Option<String>,
    /// How many times it counts.
    pub(crate) capacity_multiplier: Option<Quantity>,
    /// How much each device counts.
    pub(crate) device_multiplier: Option<Quantity>,
}

/// What a device needs in addition to itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeAllocatableOverhead {
    /// For the pod.
    pub(crate) per_pod: Option<Quantity>,
    /// For each container that has the claim.
    pub(crate) per_container: Option<Quantity>,
}

/// What was added to ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimAdditions {
    /// To their specs.
    #[serde(deserialize_with = "or_default")]
    pub(crate) spec: ClaimSpecAdditions,
    /// To their statuses.
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: ClaimStatusAdditions,
}

/// What was added to specs of ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimSpecAdditions {
    /// To their requests.
    #[serde(deserialize_with = "or_default")]
    pub(crate) devices: RequestsAdditions,
}

/// What was added to the requests of claims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestsAdditions {
    /// To requests.
    #[serde(deserialize_with = "or_default")]
    pub(crate) requests: Vec<RequestAdditions>,
}

/// What was added to a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RequestAdditions {
    /// The request's, or the alternative's, name.
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    /// To a plain request.
    #[serde(deserialize_with = "or_default")]
    pub(crate) exactly: WayAdditions,
    /// To alternatives.
    #[serde(deserialize_with = "or_default")]
    pub(crate) first_available: Vec<RequestAdditions>,
    /// Derived attributes of an alternative.
    #[serde(deserialize_with = "or_default")]
    pub(crate) derived_attributes: Vec<DerivedAttribute>,
}

/// What was added to a plain request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WayAdditions {
    /// Derived attributes.
    #[serde(deserialize_with = "or_default")]
    pub(crate) derived_attributes: Vec<DerivedAttribute>,
}

/// An attribute that a CEL expression derives from a device's other attributes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DerivedAttribute {
    /// Its full name.
    #[serde(deserialize_with = "or_default")]
    pub(crate) name: String,
    /// The expression.
    #[serde(deserialize_with = "or_default")]
    pub(crate) expression: String,
}

/// What was added to statuses of ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaimStatusAdditions {
    /// To their allocations.
    #[serde(deserialize_with = "or_default")]
    pub(crate) allocation: AllocationAdditions,
}

/// What was added to allocations.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AllocationAdditions {
    /// To devices.
    #[serde(deserialize_with = "or_default")]
    pub(crate) devices: ResultsAdditions,
}

/// What was added to allocated devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResultsAdditions {
    /// One for each.
    #[serde(deserialize_with = "or_default")]
    pub(crate) results: Vec<ResultAdditions>,
}

/// What was added to an allocated device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResultAdditions {
    /// Operations that the node skips.
    #[serde(deserialize_with = "or_default")]
    pub(crate) skip_node_operations: Vec<String>,
}

/// The API server writes an absent list as null.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
