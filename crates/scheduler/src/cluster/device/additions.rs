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
    /// What the node has nothing to do with for these devices.
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
    /// To what it consumes of counters, in its order.
    #[serde(deserialize_with = "or_default")]
    pub(crate) consumes_counters: Vec<ConsumptionAdditions>,
    /// What it takes of the node, by the name of the node's resource.
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

/// What a device takes of one of the node's resources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NodeAllocatableResource {
    /// What it stands for itself.
    pub(crate) mapping: Option<NodeAllocatableMapping>,
    /// What it needs beside.
    pub(crate) overhead: Option<NodeAllocatableOverhead>,
}

/// How much of a resource a device stands for.
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

/// What a device needs beside itself.
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
    /// To what they ask for.
    #[serde(deserialize_with = "or_default")]
    pub(crate) devices: RequestsAdditions,
}

/// What was added to what claims ask for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RequestsAdditions {
    /// To requests.
    #[serde(deserialize_with = "or_default")]
    pub(crate) requests: Vec<RequestAdditions>,
}

/// What was added to requests.
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
    /// Attributes that expressions make, of an alternative.
    #[serde(deserialize_with = "or_default")]
    pub(crate) derived_attributes: Vec<DerivedAttribute>,
}

/// What was added to a plain request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WayAdditions {
    /// Attributes that expressions make.
    #[serde(deserialize_with = "or_default")]
    pub(crate) derived_attributes: Vec<DerivedAttribute>,
}

/// An attribute that an expression makes of a device's others.
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
    /// To what they were given.
    #[serde(deserialize_with = "or_default")]
    pub(crate) allocation: AllocationAdditions,
}

/// What was added to what claims were given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AllocationAdditions {
    /// To devices.
    #[serde(deserialize_with = "or_default")]
    pub(crate) devices: ResultsAdditions,
}

/// What was added to devices claims were given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResultsAdditions {
    /// One for each.
    #[serde(deserialize_with = "or_default")]
    pub(crate) results: Vec<ResultAdditions>,
}

/// What was added to a device a claim was given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResultAdditions {
    /// What the node has nothing to do with.
    #[serde(deserialize_with = "or_default")]
    pub(crate) skip_node_operations: Vec<String>,
}

/// The API server writes what is not there as null where it is a list.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
