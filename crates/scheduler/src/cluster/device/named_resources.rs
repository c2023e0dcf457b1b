//! NamedObject resources, the structured parameters of 1.30: fields that `resource.k8s.io/v1` does not have.
//! Source: `api/resource/v1alpha2/types.go` (1.30).

use serde::Deserialize;
use serde_json::Value;

use crate::cluster::raw_object::{FromRaw, RawObject};

use super::classic::ParametersReference;

/// The named resources allocated on a node (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StructuredData {
    pub(crate) node_name: String,
    pub(crate) results: Vec<DriverResult>,
}

/// One of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverResult {
    pub(crate) named_resources: Option<NamedObject>,
}

/// An object with a name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamedObject {
    pub(crate) name: String,
}

/// The parameters of a class (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceClassParameters {
    pub(crate) generated_from: Option<ParametersReference>,
    pub(crate) filters: Vec<ResourceFilter>,
}

/// Which devices of a driver a class is for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceFilter {
    pub(crate) driver_name: String,
    pub(crate) named_resources: Option<NamedResourcesSelector>,
}

/// A condition on a named resource, in CEL.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamedResourcesSelector {
    pub(crate) selector: String,
}

/// The parameters of a claim (1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceClaimParameters {
    pub(crate) generated_from: Option<ParametersReference>,
    pub(crate) driver_requests: Vec<DriverRequests>,
}

/// The requests of a claim to one driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverRequests {
    pub(crate) driver_name: String,
    pub(crate) requests: Vec<ResourceRequest>,
}

/// A request for one resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceRequest {
    pub(crate) named_resources: Option<NamedResourcesSelector>,
}

/// Resources a driver offers on a node (ResourceSlice of 1.30).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NamedResourceSlice {
    pub(crate) node_name: String,
    pub(crate) driver_name: String,
    pub(crate) named_resources: NamedResources,
}

/// Resources by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamedResources {
    pub(crate) instances: Vec<NamedResource>,
}

/// One of them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct NamedResource {
    pub(crate) name: String,
    pub(crate) attributes: Vec<NamedAttribute>,
}

/// One attribute of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NamedAttribute {
    pub(crate) name: String,
    pub(crate) quantity: Option<String>,
    pub(crate) bool: Option<bool>,
    pub(crate) int: Option<i64>,
    pub(crate) int_slice: Option<IntSlice>,
    pub(crate) string: Option<String>,
    pub(crate) string_slice: Option<StringSlice>,
    pub(crate) version: Option<String>,
}

/// Integers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct IntSlice {
    pub(crate) ints: Vec<i64>,
}

/// Strings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StringSlice {
    pub(crate) strings: Vec<String>,
}

/// The named resources of a slice as 1.30 stored it.
pub(crate) fn of_slice(object: &Value) -> Option<NamedResourceSlice> {
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
