//! Objects from the version they are stored in to the version they are asked for in.

mod autoscaling;
mod definition;
mod events;
mod ingress;

use ketcd_kube::Release;
use serde_json::Value;

use super::resources::Resource;

/// Groups and kinds whose versions have the same fields (k8s.io/api 1.16 to 1.36; the decoder's table of replaced versions is held to the same).
#[rustfmt::skip]
const SAME_FIELDS: &[(&str, &[&str])] = &[
    ("apiregistration.k8s.io", &["APIService"]),
    ("batch", &["CronJob"]),
    ("coordination.k8s.io", &["Lease"]),
    ("events.k8s.io", &["Event"]),
    ("networking.k8s.io", &["IngressClass", "IPAddress", "ServiceCIDR"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"]),
];

/// Makes a stored object what the resource serves. The error says what is missing for it.
pub(super) fn to(object: &mut Value, resource: &Resource, release: Release) -> Result<(), String> {
    let wanted = resource.api_version();
    let stored = object["apiVersion"].as_str().unwrap_or_default();
    if stored == wanted {
        return Ok(());
    }
    let refusal = format!("stored as {stored}, which ketcd does not convert to {wanted}");
    if let Some(custom) = &resource.custom {
        if custom.needs_webhook {
            return Err(format!("stored as {stored}; the webhook that converts it to {wanted} cannot be called"));
        }
        object["apiVersion"] = wanted.into();
        return Ok(());
    }
    let stored_group = stored.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = resource.kind.kind.as_ref();
    let is_same = |row: &(&str, &[&str])| row.0 == resource.group && row.1.contains(&kind);
    match (stored_group, resource.group.as_str(), kind) {
        ("", "events.k8s.io", "Event") => events::from_core(object),
        ("events.k8s.io", "", "Event") => events::to_core(object),
        ("autoscaling", "autoscaling", _) => match (stored, resource.version.as_str()) {
            ("autoscaling/v2" | "autoscaling/v2beta2", "v1") => autoscaling::to_v1(object, release.0),
            ("autoscaling/v2", "v2beta2") | ("autoscaling/v2beta2", "v2") => {}
            _ => return Err(refusal),
        },
        ("apiextensions.k8s.io", _, _) if wanted == "apiextensions.k8s.io/v1" => definition::to_v1(object),
        (_, _, "Ingress") => match (stored.ends_with("/v1"), resource.version == "v1") {
            (false, true) => ingress::to_v1(object),
            (true, false) => ingress::from_v1(object),
            _ => {}
        },
        (from, to, _) if from == to && SAME_FIELDS.iter().any(is_same) => {}
        _ => return Err(refusal),
    }
    object["apiVersion"] = wanted.into();
    Ok(())
}
