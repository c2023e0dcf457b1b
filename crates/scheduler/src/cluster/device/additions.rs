//! Fields that 1.37 added to ResourceSlices and ResourceClaims, as far as schedulers read them. Source: `api/resource/v1/types.go` (1.37).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use ketcd_kube::apimachinery::pkg::api::resource::Quantity;

/// What was added to ResourceSlices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SliceAdditions {
    /// To their specs.
    #[serde(deserialize_with = "or_default")]
    pub spec: SliceSpecAdditions,
}

/// What was added to specs of ResourceSlices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SliceSpecAdditions {
    /// What the node has nothing to do with for these devices.
    #[serde(deserialize_with = "or_default")]
    pub skip_node_operations: Vec<String>,
    /// To devices, in their order.
    #[serde(deserialize_with = "or_default")]
    pub devices: Vec<DeviceAdditions>,
}

/// What was added to devices.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceAdditions {
    /// To what it consumes of counters, in its order.
    #[serde(deserialize_with = "or_default")]
    pub consumes_counters: Vec<ConsumptionAdditions>,
    /// What it takes of the node, by the name of the node's resource.
    #[serde(deserialize_with = "or_default")]
    pub node_allocatable_resources: BTreeMap<String, NodeAllocatableResource>,
}

/// What was added to consumed counters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConsumptionAdditions {
    /// Devices that share a group may draw from one counter set together.
    #[serde(deserialize_with = "or_default")]
    pub compatibility_groups: Vec<String>,
}

/// What a device takes of one of the node's resources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeAllocatableResource {
    /// What it stands for itself.
    pub mapping: Option<NodeAllocatableMapping>,
    /// What it needs beside.
    pub overhead: Option<NodeAllocatableOverhead>,
}

/// How much of a resource a device stands for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAllocatableMapping {
    /// The capacity that counts.
    pub capacity_key: Option<String>,
    /// How many times it counts.
    pub capacity_multiplier: Option<Quantity>,
    /// How much each device counts.
    pub device_multiplier: Option<Quantity>,
}

/// What a device needs beside itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAllocatableOverhead {
    /// For the pod.
    pub per_pod: Option<Quantity>,
    /// For each container that has the claim.
    pub per_container: Option<Quantity>,
}

/// What was added to ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimAdditions {
    /// To their specs.
    #[serde(deserialize_with = "or_default")]
    pub spec: ClaimSpecAdditions,
    /// To their statuses.
    #[serde(deserialize_with = "or_default")]
    pub status: ClaimStatusAdditions,
}

/// What was added to specs of ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimSpecAdditions {
    /// To what they ask for.
    #[serde(deserialize_with = "or_default")]
    pub devices: RequestsAdditions,
}

/// What was added to what claims ask for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RequestsAdditions {
    /// To requests.
    #[serde(deserialize_with = "or_default")]
    pub requests: Vec<RequestAdditions>,
}

/// What was added to requests.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestAdditions {
    /// The request's, or the alternative's, name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// To a plain request.
    #[serde(deserialize_with = "or_default")]
    pub exactly: WayAdditions,
    /// To alternatives.
    #[serde(deserialize_with = "or_default")]
    pub first_available: Vec<RequestAdditions>,
    /// Attributes that expressions make, of an alternative.
    #[serde(deserialize_with = "or_default")]
    pub derived_attributes: Vec<DerivedAttribute>,
}

/// What was added to a plain request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WayAdditions {
    /// Attributes that expressions make.
    #[serde(deserialize_with = "or_default")]
    pub derived_attributes: Vec<DerivedAttribute>,
}

/// An attribute that an expression makes of a device's others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DerivedAttribute {
    /// Its full name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The expression.
    #[serde(deserialize_with = "or_default")]
    pub expression: String,
}

/// What was added to statuses of ResourceClaims.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaimStatusAdditions {
    /// To what they were given.
    #[serde(deserialize_with = "or_default")]
    pub allocation: AllocationAdditions,
}

/// What was added to what claims were given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AllocationAdditions {
    /// To devices.
    #[serde(deserialize_with = "or_default")]
    pub devices: ResultsAdditions,
}

/// What was added to devices claims were given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ResultsAdditions {
    /// One for each.
    #[serde(deserialize_with = "or_default")]
    pub results: Vec<ResultAdditions>,
}

/// What was added to a device a claim was given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultAdditions {
    /// What the node has nothing to do with.
    #[serde(deserialize_with = "or_default")]
    pub skip_node_operations: Vec<String>,
}

/// The API server writes what is not there as null where it is a list.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
