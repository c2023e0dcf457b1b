//! Named resources, the structured parameters of 1.30: fields that `resource.k8s.io/v1` does not have.
//! Source: `api/resource/v1alpha2/types.go` (1.30).

use serde::Deserialize;
use serde_json::Value;

use crate::cluster::raw_object::{FromRaw, RawObject};

use super::classic::ParametersReference;

/// The named resources allocated on a node (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct StructuredData {
    pub node_name: String,
    pub results: Vec<DriverResult>,
}

/// One of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct DriverResult {
    pub named_resources: Option<Named>,
}

/// Something with a name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct Named {
    pub name: String,
}

/// What a class says of its devices (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct ResourceClassParameters {
    pub generated_from: Option<ParametersReference>,
    pub filters: Vec<ResourceFilter>,
}

/// Which devices of a driver a class is for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct ResourceFilter {
    pub driver_name: String,
    pub named_resources: Option<NamedResourcesSelector>,
}

/// A condition on a named resource, in CEL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct NamedResourcesSelector {
    pub selector: String,
}

/// What a claim asks for (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct ResourceClaimParameters {
    pub generated_from: Option<ParametersReference>,
    pub driver_requests: Vec<DriverRequests>,
}

/// What a claim asks of one driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct DriverRequests {
    pub driver_name: String,
    pub requests: Vec<ResourceRequest>,
}

/// A request for one resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct ResourceRequest {
    pub named_resources: Option<NamedResourcesSelector>,
}

/// Resources a driver offers on a node (ResourceSlice of 1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct NamedResourceSlice {
    pub node_name: String,
    pub driver_name: String,
    pub named_resources: NamedResources,
}

/// Resources by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct NamedResources {
    pub instances: Vec<NamedResource>,
}

/// One of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct NamedResource {
    pub name: String,
    pub attributes: Vec<NamedAttribute>,
}

/// What is said of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct NamedAttribute {
    pub name: String,
    pub quantity: Option<String>,
    pub bool: Option<bool>,
    pub int: Option<i64>,
    pub int_slice: Option<IntSlice>,
    pub string: Option<String>,
    pub string_slice: Option<StringSlice>,
    pub version: Option<String>,
}

/// Integers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct IntSlice {
    pub ints: Vec<i64>,
}

/// Strings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "Kubernetes' own fields")]
pub struct StringSlice {
    pub strings: Vec<String>,
}

/// The named resources of a slice as 1.30 stored it.
pub fn of_slice(object: &Value) -> Option<NamedResourceSlice> {
    (object["apiVersion"] == "resource.k8s.io/v1alpha2").then(|| NamedResourceSlice::deserialize(object).ok())?
}

impl FromRaw for ResourceClassParameters {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

impl FromRaw for ResourceClaimParameters {
    fn from_raw(raw: RawObject<'_>) -> Result<Self, String> {
        raw.fields()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_slices_of_v1alpha2_have_named_resources() {
        let mut slice = json!({"apiVersion": "resource.k8s.io/v1alpha2", "nodeName": "n", "driverName": "d",
            "namedResources": {"instances": [{"name": "r", "attributes": [{"name": "a", "int": 7}]}]}});
        let read = of_slice(&slice).unwrap();
        assert_eq!((read.node_name.as_str(), read.named_resources.instances[0].attributes[0].int), ("n", Some(7)));
        slice["apiVersion"] = "resource.k8s.io/v1alpha3".into();
        assert!(of_slice(&slice).is_none());
    }
}
