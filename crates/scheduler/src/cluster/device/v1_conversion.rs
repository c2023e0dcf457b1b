//! Converts ResourceClaims and ResourceSlices stored before `resource.k8s.io/v1` (1.34) to the shape of v1.
//! Sources: `api/resource/v1alpha3/types.go` (1.31), `v1beta1/types.go` (1.32, 1.33); `v1beta2` has the fields of v1.

use serde_json::{Map, Value, json};

/// The fields that a v1 request has in `exactly`.
const EXACTLY_FIELDS: [&str; 7] = ["deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"];

/// Converts a claim or slice of any version to the shape of v1.
pub(in crate::cluster) fn to_v1(object: &mut Value) {
    if let Some(allocation) = object.pointer_mut("/status/allocation").and_then(Value::as_object_mut)
        && let Some(nodes) = allocation.remove("availableOnNodes")
    {
        allocation.insert("nodeSelector".to_owned(), nodes);
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let requests = spec.get_mut("devices").and_then(|devices| devices.get_mut("requests")).and_then(Value::as_array_mut);
    requests.into_iter().flatten().filter_map(Value::as_object_mut).for_each(request);
    let devices = spec.get_mut("devices").and_then(Value::as_array_mut);
    devices.into_iter().flatten().filter_map(Value::as_object_mut).for_each(device);
}

/// Up to v1beta1 a request without alternatives has its fields at the top.
fn request(request: &mut Map<String, Value>) {
    if request.contains_key("exactly") || !request.contains_key("deviceClassName") {
        return;
    }
    let alternatives = request.get("firstAvailable").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let fields = EXACTLY_FIELDS.iter().filter_map(|name| request.remove(*name).map(|value| ((*name).to_owned(), value)));
    let exactly: Map<String, Value> = fields.collect();
    if !alternatives {
        request.insert("exactly".to_owned(), exactly.into());
    }
}

/// Up to v1beta1 the fields of a device are in `basic`, and in 1.31 capacities are plain quantities.
fn device(device: &mut Map<String, Value>) {
    if let Some(Value::Object(basic)) = device.remove("basic") {
        device.extend(basic);
    }
    let capacities = device.get_mut("capacity").and_then(Value::as_object_mut);
    for capacity in capacities.into_iter().flat_map(Map::values_mut).filter(|capacity| !capacity.is_object()) {
        *capacity = json!({ "value": capacity.take() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_claims_and_slices_get_the_shape_of_v1() {
        let mut claim = json!({"spec": {"devices": {"requests": [
            {"name": "a", "deviceClassName": "gpu", "count": 2},
            {"name": "b", "deviceClassName": "", "firstAvailable": [{"name": "c", "deviceClassName": "gpu"}]},
            {"name": "d", "exactly": {"deviceClassName": "gpu"}},
        ]}}});
        to_v1(&mut claim);
        let wanted = json!({"spec": {"devices": {"requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}},
            {"name": "b", "firstAvailable": [{"name": "c", "deviceClassName": "gpu"}]},
            {"name": "d", "exactly": {"deviceClassName": "gpu"}},
        ]}}});
        assert_eq!(claim, wanted);
        let mut claim = json!({"status": {"allocation": {"availableOnNodes": {"nodeSelectorTerms": []}}}});
        to_v1(&mut claim);
        assert_eq!(claim, json!({"status": {"allocation": {"nodeSelector": {"nodeSelectorTerms": []}}}}));
        let mut slice =
            json!({"spec": {"devices": [{"name": "a", "basic": {"capacity": {"m": "8Gi", "n": {"value": "1"}}}}, {"name": "b"}]}});
        to_v1(&mut slice);
        let wanted = json!({"spec": {"devices": [{"name": "a", "capacity": {"m": {"value": "8Gi"}, "n": {"value": "1"}}}, {"name": "b"}]}});
        assert_eq!(slice, wanted);
    }
}
