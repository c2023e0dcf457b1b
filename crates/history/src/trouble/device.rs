//! Claims of devices that pods wait for after a node was chosen: a driver has yet to make the devices ready before the pods can be bound.

use serde_json::Value;

use super::text;

/// Returns the driver that has yet to make a device of a claim ready: a condition that its allocation asks for is not true. `None` where nothing is
/// awaited (kube-scheduler 1.34, plugins/dynamicresources, `isClaimReadyForBinding`).
pub fn driver_awaited(claim: &Value) -> Option<String> {
    let status = &claim["status"];
    let same = |result: &Value, device: &Value| ["driver", "pool", "device"].iter().all(|field| result[*field] == device[*field]);
    let is_true = |result: &Value, condition: &Value| {
        let device = items(&status["devices"]).find(|device| same(result, device));
        let known = device.map(|device| &device["conditions"]).unwrap_or(&Value::Null);
        items(known).any(|known| known["type"] == *condition && known["status"] == "True")
    };
    let mut results = items(&status["allocation"]["devices"]["results"]);
    let awaited = results.find(|result| items(&result["bindingConditions"]).any(|condition| !is_true(result, condition)))?;
    text(&awaited["driver"])
}

/// The names of the pods that a claim is reserved for.
pub(super) fn reserved_for(claim: &Value) -> impl Iterator<Item = String> + '_ {
    items(&claim["status"]["reservedFor"]).filter(|consumer| consumer["resource"] == "pods").filter_map(|pod| text(&pod["name"]))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}
