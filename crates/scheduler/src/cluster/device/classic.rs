//! Fields of 1.26 to 1.31, where a driver's controller allocates devices ("classic DRA"): those that `resource.k8s.io/v1` does not have.
//! Sources: `api/resource/v1alpha1/types.go` (1.26), `v1alpha2` (1.27–1.30), `v1alpha3` (1.31).

use serde::Deserialize;
use serde_json::Value;

use crate::api::core::NodeSelector;
use crate::api::meta::ObjectMeta;
use crate::cluster::raw_object::{FromRaw, RawObject};

use super::named_resources::StructuredData;

/// What a claim of these releases has besides the fields of v1.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct DriverClaim {
    /// Its spec.
    pub(crate) spec: DriverClaimSpec,
    /// Its status.
    pub(crate) status: DriverClaimStatus,
}

/// The spec of such a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverClaimSpec {
    pub(crate) resource_class_name: String,
    pub(crate) parameters_ref: Option<ParametersReference>,
    pub(crate) allocation_mode: String,
    /// In 1.31, the driver that allocates the claim; empty: the scheduler does.
    pub(crate) controller: String,
}

/// The status of such a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverClaimStatus {
    pub(crate) allocation: Option<DriverAllocation>,
    pub(crate) deallocation_requested: bool,
}

/// An allocation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverAllocation {
    pub(crate) shareable: bool,
    pub(crate) resource_handles: Vec<ResourceHandle>,
}

/// What a driver needs to know about an allocation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceHandle {
    pub(crate) driver_name: String,
    pub(crate) structured_data: Option<StructuredData>,
}

/// A reference to parameters of a class or claim.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ParametersReference {
    pub(crate) api_group: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

/// A class of claims, up to 1.30.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceClass {
    pub(crate) driver_name: String,
    pub(crate) parameters_ref: Option<ParametersReference>,
    pub(crate) suitable_nodes: Option<NodeSelector>,
    pub(crate) structured_parameters: bool,
}

/// How scheduler and drivers negotiate the node of a pod (in 1.26 named PodScheduling).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PodSchedulingContext {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: PodSchedulingContextSpec,
    pub(crate) status: PodSchedulingContextStatus,
}

/// The scheduler's part.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSchedulingContextSpec {
    pub(crate) selected_node: String,
    pub(crate) potential_nodes: Vec<String>,
}

/// The drivers' part.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PodSchedulingContextStatus {
    pub(crate) resource_claims: Vec<ClaimSchedulingStatus>,
}

/// A driver's answer for one claim of the pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClaimSchedulingStatus {
    /// The claim's name in the pod.
    pub(crate) name: String,
    pub(crate) unsuitable_nodes: Vec<String>,
}

/// The nodes a device class is for (1.31).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClassNodes {
    pub(crate) suitable_nodes: NodeSelector,
}

/// Returns what a claim stored in an alpha version has besides its fields in v1.
pub(crate) fn of_claim(object: &Value) -> Option<DriverClaim> {
    is_alpha(object).then(|| DriverClaim::deserialize(object).ok())?
}

/// Returns the nodes that a class stored in an alpha version is for.
pub(crate) fn of_class(object: &Value) -> Option<ClassNodes> {
    let suitable = is_alpha(object) && object["spec"].get("suitableNodes").is_some_and(Value::is_object);
    suitable.then(|| ClassNodes::deserialize(&object["spec"]).ok())?
}

impl FromRaw for ResourceClass {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

impl FromRaw for PodSchedulingContext {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

fn is_alpha(object: &Value) -> bool {
    object["apiVersion"].as_str().is_some_and(|version| version.starts_with("resource.k8s.io/v1alpha"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_v1_lacks_are_kept() {
        let claim = json!({"apiVersion": "resource.k8s.io/v1alpha2", "spec": {"resourceClassName": "c", "allocationMode": "Immediate"},
            "status": {"deallocationRequested": true, "allocation": {"shareable": true, "resourceHandles": [{"driverName": "d",
                "structuredData": {"nodeName": "n", "results": [{"namedResources": {"name": "r"}}]}}]}}});
        let read = of_claim(&claim).unwrap();
        assert_eq!((read.spec.resource_class_name.as_str(), read.spec.allocation_mode.as_str()), ("c", "Immediate"));
        let allocation = read.status.allocation.unwrap();
        assert!(read.status.deallocation_requested && allocation.shareable);
        let data = allocation.resource_handles[0].structured_data.clone().unwrap();
        assert_eq!(data.results[0].named_resources.clone().unwrap().name, "r");
        let class = json!({"apiVersion": "resource.k8s.io/v1alpha3", "spec": {"suitableNodes": {"nodeSelectorTerms": []}}});
        assert!(of_class(&class).is_some());
        let newer = json!({"apiVersion": "resource.k8s.io/v1beta1", "spec": {"suitableNodes": {"nodeSelectorTerms": []}}});
        assert!(of_claim(&newer).is_none() && of_class(&newer).is_none());
    }
}
