//! Converts objects from their stored version to the requested one.

mod autoscaling;
mod autoscaling_from_v1;
mod definition;
mod disruption_budget;
mod endpoint_slice;
mod events;
mod flow_control;
mod ingress;
mod workloads;

use crate::proto::kinds::{Conversion, KindRow};
use crate::{Body, Decoder, Release};
use serde_json::Value;

use super::Resource;

/// Converts a stored object to the version that the resource serves. The error says what is missing.
pub fn to(object: &mut Value, resource: &Resource, release: Release) -> Result<(), String> {
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
    let stored = stored.to_owned();
    let (from, to) = (stored.rsplit_once('/').map_or("", |(group, _)| group), resource.group.as_str());
    let Some(row) = KindRow::in_group(to, |row| row.kind == resource.kind.kind) else { return Err(refusal) };
    if from != row.group && !row.other_groups.contains(&from) {
        return Err(refusal);
    }
    let is_whole = apply(row, object, (&stored, &wanted), release)?.ok_or(refusal)?;
    object["apiVersion"] = wanted.into();
    if is_whole { Ok(()) } else { complete(object, release) }
}

/// Moves the fields of an object between two versions of its kind; returns whether it then has all members that the new version always has. `None`
/// where nothing is known of the versions. The error says which part of the object cannot be read.
fn apply(row: &KindRow, object: &mut Value, (stored, wanted): (&str, &str), release: Release) -> Result<Option<bool>, String> {
    let version = |api_version: &str| api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let (old, new) = (version(stored), version(wanted));
    match row.conversion {
        Conversion::None => return Ok(None),
        Conversion::Same => {}
        Conversion::Events => match (stored.contains('/'), wanted.contains('/')) {
            (false, true) => events::from_core(object),
            (true, false) => events::to_core(object),
            (true, true) => {}
            (false, false) => return Ok(None),
        },
        Conversion::Autoscaler => return Ok(autoscaler(object, stored, &new, release).map(|()| new == "v1")),
        Conversion::FlowControl => {
            flow_control::convert(object, &old, &new, release.0);
            return Ok(Some(false));
        }
        Conversion::EndpointSlice => {
            match (old.as_str(), new.as_str()) {
                ("v1beta1", "v1") => endpoint_slice::to_v1(object),
                ("v1", "v1beta1") => endpoint_slice::from_v1(object),
                _ => return Ok(None),
            }
            return Ok(Some(false));
        }
        Conversion::Definition if new == "v1" => definition::to_v1(object),
        Conversion::Definition => definition::from_v1(object),
        Conversion::Ingress => match (old == "v1", new == "v1") {
            (false, true) => ingress::to_v1(object),
            (true, false) => ingress::from_v1(object),
            _ => {}
        },
        Conversion::DisruptionBudget => disruption_budget::convert(object, new == "v1"),
        Conversion::Workload => {
            if !workloads::are_versions(stored, wanted, row.kind) {
                return Ok(None);
            }
            workloads::convert(object, row.kind, stored, wanted)?;
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}

/// Converts a HorizontalPodAutoscaler. `None` for any other versions.
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
    let bytes = crate::encode(object, release).map_err(|error| error.to_string())?.ok_or("of a kind without messages")?;
    match Decoder::for_stored_values().with_release(release).showing_secrets(true).decode(b"", &bytes, 0).body {
        Body::Object(whole) => *object = whole.into_value(),
        Body::Opaque(opaque) => return Err(opaque.reason),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::proto::kinds::KINDS;
    use crate::proto::kubernetes::{MESSAGES, ROOTS};
    use crate::proto::table::{Message, MessageId, Type};

    use serde_json::json;

    use super::*;
    use crate::api::Catalog;

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
        for row in KINDS.iter().filter(|row| row.conversion == Conversion::Same) {
            let is_it = |api_version: &str| {
                let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
                (group == row.group || row.other_groups.contains(&group)) && !version.contains("alpha")
            };
            let all: Vec<_> =
                ROOTS.iter().filter(|root| root.kind == row.kind && is_it(root.api_version)).map(|root| message(root.message)).collect();
            assert!(all.len() > 1, "{} {}", row.group, row.kind);
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                assert_eq!(unlike(one, other, &mut BTreeSet::new()), None, "{} and {}", one.name, other.name);
            }
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
