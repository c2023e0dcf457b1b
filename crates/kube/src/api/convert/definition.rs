//! CustomResourceDefinitions between v1beta1 and v1, which has schema, subresources and columns in each version.
//!
//! Source: apiextensions-apiserver v0.20 `pkg/apis/apiextensions/v1/conversion.go`.

use serde_json::{Map, Value, json};

/// Makes a definition of v1beta1 one of v1.
pub(super) fn to_v1(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let name = spec.remove("version");
    // A definition of one version could leave the list out.
    if let (None, Some(name)) = (spec.get("versions"), name) {
        spec.insert("versions".to_owned(), json!([{"name": name, "served": true, "storage": true}]));
    }
    let schema = spec.remove("validation");
    let shared = [("schema", schema), ("subresources", spec.remove("subresources"))];
    let columns = spec.remove("additionalPrinterColumns");
    for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        for (name, value) in shared.iter().chain([&("additionalPrinterColumns", columns.clone())]) {
            if let (false, Some(value)) = (version.contains_key(*name), value) {
                version.insert((*name).to_owned(), value.clone());
            }
        }
        for column in version.get_mut("additionalPrinterColumns").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(column) = column.as_object_mut() else { continue };
            if let Some(path) = column.remove("JSONPath") {
                column.insert("jsonPath".to_owned(), path);
            }
        }
    }
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut) {
        let mut webhook = Map::new();
        for (from, to) in [("webhookClientConfig", "clientConfig"), ("conversionReviewVersions", "conversionReviewVersions")] {
            webhook.extend(conversion.remove(from).map(|value| (to.to_owned(), value)));
        }
        if !webhook.is_empty() && conversion.get("strategy") == Some(&json!("Webhook")) {
            conversion.insert("webhook".to_owned(), webhook.into());
        }
    }
}

/// Makes a definition of v1 one of v1beta1, in which all versions share what is the same in each.
pub(super) fn from_v1(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let mut shared = Map::new();
    if let Some(versions) = spec.get_mut("versions").and_then(Value::as_array_mut) {
        for column in versions.iter_mut().filter_map(|version| version.get_mut("additionalPrinterColumns")?.as_array_mut()).flatten() {
            let Some(column) = column.as_object_mut() else { continue };
            if let Some(path) = column.remove("jsonPath") {
                column.insert("JSONPath".to_owned(), path);
            }
        }
        shared.extend(versions.first().map(|first| ("version".to_owned(), first["name"].clone())));
        for (of_version, of_all) in
            [("subresources", "subresources"), ("schema", "validation"), ("additionalPrinterColumns", "additionalPrinterColumns")]
        {
            let first = versions.first().map(|first| first[of_version].clone()).unwrap_or_default();
            if versions.iter().all(|version| version[of_version] == first) {
                versions.iter_mut().filter_map(Value::as_object_mut).for_each(|version| drop(version.remove(of_version)));
                shared.extend(Some((of_all.to_owned(), first)).filter(|(_, value)| !value.is_null()));
            }
        }
    }
    spec.extend(shared);
    spec.entry("preserveUnknownFields").or_insert_with(|| false.into());
    if let Some(conversion) = spec.get_mut("conversion").and_then(Value::as_object_mut)
        && let Some(Value::Object(mut webhook)) = conversion.remove("webhook")
    {
        for (from, to) in [("clientConfig", "webhookClientConfig"), ("conversionReviewVersions", "conversionReviewVersions")] {
            conversion.extend(webhook.remove(from).map(|value| (to.to_owned(), value)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_each_version_is_shared() {
        let version = |name: &str, schema: Value| {
            json!({"name": name, "served": true, "storage": name == "v1", "schema": schema,
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]})
        };
        let webhook = json!({"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]});
        let new = json!({"spec": {"group": "g.io", "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": [version("v1", json!({"a": 1})), version("v2", json!({"a": 2}))]}});
        let mut definition = new.clone();
        from_v1(&mut definition);
        let own = |name: &str, schema: Value| json!({"name": name, "served": true, "storage": name == "v1", "schema": schema});
        let old = json!({"spec": {"group": "g.io", "version": "v1", "preserveUnknownFields": false,
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "JSONPath": ".spec.size"}],
            "conversion": {"strategy": "Webhook", "webhookClientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
            "versions": [own("v1", json!({"a": 1})), own("v2", json!({"a": 2}))]}});
        assert_eq!(definition, old);
        to_v1(&mut definition);
        assert_eq!(definition, new);
    }
}
