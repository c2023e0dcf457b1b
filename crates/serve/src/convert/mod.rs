//! Objects from the version they are stored in to the version they are asked for in.

mod autoscaling;
mod autoscaling_from_v1;
mod definition;
mod disruption_budget;
mod endpoint_slice;
mod events;
mod flow_control;
mod ingress;
mod workloads;

use ketcd_kube::{Body, Decoder, Release};
use serde_json::Value;

use super::resources::Resource;

/// Groups and kinds whose versions have the same fields (k8s.io/api 1.16 to 1.36; the decoder's table of replaced versions is held to the same).
#[rustfmt::skip]
const SAME_FIELDS: &[(&str, &[&str])] = &[
    ("admissionregistration.k8s.io", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("batch", &["CronJob"]),
    ("certificates.k8s.io", &["CertificateSigningRequest"]),
    ("coordination.k8s.io", &["Lease"]),
    ("events.k8s.io", &["Event"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema"]),
    ("networking.k8s.io", &["IngressClass", "IPAddress", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("storage.k8s.io", &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"]),
];

/// Kinds that went to another group with the same fields (k8s.io/api 1.15).
const MOVED: &[(&str, &str, &str)] = &[("NetworkPolicy", "extensions", "networking.k8s.io"), ("PodSecurityPolicy", "extensions", "policy")];

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
        match resource.schemas() {
            Some(schemas) => schemas.convert(object, &resource.version, release),
            None => object["apiVersion"] = wanted.into(),
        }
        return Ok(());
    }
    let (stored, version) = (stored.to_owned(), resource.version.as_str());
    let mut is_whole = true;
    let stored_group = stored.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = resource.kind.kind.as_ref();
    let is_same = |row: &(&str, &[&str])| row.0 == resource.group && row.1.contains(&kind);
    match (stored_group, resource.group.as_str(), kind) {
        ("", "events.k8s.io", "Event") => events::from_core(object),
        ("events.k8s.io", "", "Event") => events::to_core(object),
        ("autoscaling", "autoscaling", _) => {
            autoscaler(object, &stored, version, release).ok_or(refusal)?;
            is_whole = version == "v1";
        }
        ("flowcontrol.apiserver.k8s.io", _, "PriorityLevelConfiguration") => {
            flow_control::convert(object, stored.rsplit('/').next().unwrap_or_default(), version, release.0);
            is_whole = false;
        }
        ("discovery.k8s.io", _, "EndpointSlice") => {
            match (stored.as_str(), version) {
                ("discovery.k8s.io/v1beta1", "v1") => endpoint_slice::to_v1(object),
                ("discovery.k8s.io/v1", "v1beta1") => endpoint_slice::from_v1(object),
                _ => return Err(refusal),
            }
            is_whole = false;
        }
        ("apiextensions.k8s.io", _, "CustomResourceDefinition") => match version {
            "v1" => definition::to_v1(object),
            _ => definition::from_v1(object),
        },
        (_, _, "Ingress") => match (stored.ends_with("/v1"), resource.version == "v1") {
            (false, true) => ingress::to_v1(object),
            (true, false) => ingress::from_v1(object),
            _ => {}
        },
        ("policy", "policy", "PodDisruptionBudget") => disruption_budget::convert(object, version == "v1"),
        (_, _, kind) if workloads::are_versions(&stored, &wanted, kind) => {
            workloads::convert(object, kind, &stored, &wanted)?;
            is_whole = false;
        }
        (from, to, _) if from == to && SAME_FIELDS.iter().any(is_same) => {}
        (from, to, kind) if MOVED.contains(&(kind, from, to)) || MOVED.contains(&(kind, to, from)) => {}
        _ => return Err(refusal),
    }
    object["apiVersion"] = wanted.into();
    if is_whole { Ok(()) } else { complete(object, release) }
}

/// Converts a HorizontalPodAutoscaler. `None` where the versions are others.
fn autoscaler(object: &mut Value, stored: &str, version: &str, release: Release) -> Option<()> {
    match (stored, version) {
        ("autoscaling/v2" | "autoscaling/v2beta2", "v1") => autoscaling::to_v1(object, release.0),
        ("autoscaling/v2", "v2beta2") | ("autoscaling/v2beta2", "v2") => {}
        ("autoscaling/v1", "v2beta2" | "v2") => autoscaling_from_v1::to_v2(object),
        ("autoscaling/v1", "v2beta1") => {
            autoscaling_from_v1::to_v2(object);
            autoscaling::to_v2beta1(object, release.0);
        }
        ("autoscaling/v2" | "autoscaling/v2beta2", "v2beta1") => autoscaling::to_v2beta1(object, release.0),
        _ => return None,
    }
    Some(())
}

/// Gives a converted object the members that its version always has, by reading it as if it were stored so.
fn complete(object: &mut Value, release: Release) -> Result<(), String> {
    let bytes = ketcd_kube::encode(object, release).map_err(|error| error.to_string())?.ok_or("of a kind without messages")?;
    match Decoder::for_stored_values().with_release(release).showing_secrets(true).decode(b"", &bytes, 0).body {
        Body::Object(whole) => *object = whole.into_value(),
        Body::Opaque(opaque) => return Err(opaque.reason),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ketcd_kube::proto::kubernetes::{MESSAGES, ROOTS};
    use ketcd_kube::proto::table::{Message, MessageId, Type};

    use serde_json::json;

    use super::*;
    use crate::resources::Catalog;

    fn message(id: MessageId) -> &'static Message {
        &MESSAGES[usize::from(id.0)]
    }

    /// A field of one message that the other lacks or has in another shape.
    fn unlike(one: &Message, other: &Message, seen: &mut BTreeSet<&'static str>) -> Option<String> {
        if one.name == other.name || !seen.insert(one.name) {
            return None;
        }
        for row in one.rows.iter().filter(|row| row.last == 255 && !matches!(row.ty, Type::ApiVersion | Type::Kind)) {
            let same = other.rows.iter().find(|own| own.name == row.name && own.card == row.card && own.last == 255);
            match same.map(|own| (row.ty, own.ty)) {
                Some((Type::Message(a), Type::Message(b))) => {
                    let inner = unlike(message(a), message(b), seen);
                    if inner.is_some() {
                        return inner;
                    }
                }
                Some((a, b)) if a == b => {}
                _ => return Some(format!("{}.{}", one.name, row.name)),
            }
        }
        None
    }

    #[test]
    fn versions_that_are_not_converted_have_the_same_fields() {
        for (group, kinds) in SAME_FIELDS {
            for kind in *kinds {
                let is_it =
                    |version: &str| version.strip_prefix(*group).is_some_and(|rest| rest.starts_with("/v") && !rest.contains("alpha"));
                let all: Vec<_> =
                    ROOTS.iter().filter(|row| row.kind == *kind && is_it(row.api_version)).map(|row| message(row.message)).collect();
                assert!(all.len() > 1, "{group} {kind}");
                for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                    assert_eq!(unlike(one, other, &mut BTreeSet::new()), None, "{} and {}", one.name, other.name);
                }
            }
        }
    }

    #[test]
    fn kinds_that_moved_have_the_same_fields() {
        for (kind, from, to) in MOVED {
            let of = |group: &str| {
                let is_it = |version: &str| version.strip_prefix(group).is_some_and(|rest| rest.starts_with("/v"));
                ROOTS.iter().find(|row| row.kind == *kind && is_it(row.api_version)).map(|row| message(row.message)).unwrap()
            };
            assert_eq!(unlike(of(from), of(to), &mut BTreeSet::new()), None, "{kind}");
            assert_eq!(unlike(of(to), of(from), &mut BTreeSet::new()), None, "{kind}");
        }
    }

    #[test]
    fn workloads_are_read_in_every_version_of_their_release() {
        let (release, deployment) = (
            Release(15),
            json!({"apiVersion": "extensions/v1beta1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"replicas": 1, "rollbackTo": {"revision": 2}, "template": {"metadata": {}, "spec": {"containers": []}}}}),
        );
        let catalog = Catalog::new(release, &[]);
        let mut object = deployment.clone();
        to(&mut object, catalog.find("apps", "v1", "deployments").unwrap(), release).unwrap();
        assert_eq!(object["apiVersion"], "apps/v1");
        assert_eq!(object["metadata"]["annotations"], json!({"deprecated.deployment.rollback.revision": "2"}));
        to(&mut object, catalog.find("extensions", "v1beta1", "deployments").unwrap(), release).unwrap();
        assert_eq!((&object["apiVersion"], &object["spec"]["rollbackTo"]), (&deployment["apiVersion"], &deployment["spec"]["rollbackTo"]));
    }
}
