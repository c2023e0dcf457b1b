//! EndpointSlices between v1beta1, which has zone and node in a map of topology, and v1.
//!
//! Source: Kubernetes 1.36 `pkg/apis/discovery/v1beta1/conversion.go`.

use serde_json::{Map, Value};

const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

fn each(slice: &mut Value, change: impl Fn(&mut Map<String, Value>)) {
    let endpoints = slice.get_mut("endpoints").and_then(Value::as_array_mut).into_iter().flatten();
    endpoints.filter_map(Value::as_object_mut).for_each(change);
}

/// Makes a slice of v1beta1 one of v1.
pub(super) fn to_v1(slice: &mut Value) {
    each(slice, |endpoint| {
        let Some(Value::Object(mut topology)) = endpoint.remove("topology") else { return };
        endpoint.extend(topology.remove(ZONE_LABEL).map(|zone| ("zone".to_owned(), zone)));
        if topology.get(HOSTNAME_LABEL).is_some_and(|host| endpoint.get("nodeName") == Some(host)) {
            topology.remove(HOSTNAME_LABEL);
        }
        if !topology.is_empty() {
            endpoint.insert("deprecatedTopology".to_owned(), topology.into());
        }
    });
}

/// Makes a slice of v1 one of v1beta1.
pub(super) fn from_v1(slice: &mut Value) {
    each(slice, |endpoint| {
        let (zone, node) = (endpoint.remove("zone"), endpoint.get("nodeName").cloned());
        let mut topology = match endpoint.remove("deprecatedTopology") {
            Some(Value::Object(topology)) => topology,
            _ => Map::new(),
        };
        topology.extend(zone.map(|zone| (ZONE_LABEL.to_owned(), zone)));
        if let Some(node) = node.filter(|_| topology.get(HOSTNAME_LABEL).is_none_or(|host| host == "")) {
            topology.insert(HOSTNAME_LABEL.to_owned(), node);
        }
        if !topology.is_empty() {
            endpoint.insert("topology".to_owned(), topology.into());
        }
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zone_and_node_are_fields_or_topology() {
        let old = json!({"endpoints": [{"nodeName": "n1", "topology": {ZONE_LABEL: "a", HOSTNAME_LABEL: "n1", "own": "x"}}, {"topology": {HOSTNAME_LABEL: "n2"}}]});
        let new = json!({"endpoints": [{"nodeName": "n1", "zone": "a", "deprecatedTopology": {"own": "x"}}, {"deprecatedTopology": {HOSTNAME_LABEL: "n2"}}]});
        let mut slice = old.clone();
        to_v1(&mut slice);
        assert_eq!(slice, new);
        from_v1(&mut slice);
        assert_eq!(slice, old);
    }
}
