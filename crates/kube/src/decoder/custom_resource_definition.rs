//! CustomResourceDefinitions: stored as v1beta1 to this day, served as v1 only since 1.22. The conversion is that of apiextensions-apiserver
//! (`pkg/apis/apiextensions/v1/conversion.go` and its defaults, 1.36).

use serde_json::{Map, Value, json};

/// What the storage hoists to the top where all versions agree: its v1beta1 name there and its name in a version.
const HOISTED_FIELDS: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("validation", "schema"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Turns the object of a v1beta1 definition into v1.
pub(super) fn to_v1(object: &mut Value) {
    object["apiVersion"] = "apiextensions.k8s.io/v1".into();
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let hoisted: Vec<(&str, Value)> = HOISTED_FIELDS.iter().filter_map(|(top, name)| Some((*name, spec.remove(*top)?))).collect();
    let version = spec.remove("version");
    let versions = match spec.remove("versions") {
        Some(Value::Array(versions)) if !versions.is_empty() => versions,
        _ => {
            version.filter(|version| version != "").map(|name| json!({"name": name, "served": true, "storage": true})).into_iter().collect()
        }
    };
    spec.insert("versions".to_owned(), versions.into_iter().map(|version| version_to_v1(version, &hoisted)).collect());
    if spec.get("preserveUnknownFields").is_none_or(Value::is_null) {
        spec.insert("preserveUnknownFields".to_owned(), true.into());
    }
    default(spec, "scope", "Namespaced");
    conversion_to_v1(spec);
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        default(names, "singular", &kind.to_lowercase());
        default(names, "listKind", &format!("{kind}List"));
    }
}

fn version_to_v1(mut version: Value, hoisted: &[(&str, Value)]) -> Value {
    let Value::Object(members) = &mut version else { return version };
    for (name, value) in hoisted {
        members.insert((*name).to_owned(), value.clone());
    }
    if let Some(Value::Array(columns)) = members.get_mut("additionalPrinterColumns") {
        for column in columns.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(path) = column.remove("JSONPath") {
                column.insert("jsonPath".to_owned(), path);
            }
        }
    }
    version
}

fn conversion_to_v1(spec: &mut Map<String, Value>) {
    let conversion = spec.entry("conversion").or_insert_with(|| json!({}));
    if conversion.is_null() {
        *conversion = json!({});
    }
    let Value::Object(conversion) = conversion else { return };
    default(conversion, "strategy", "None");
    let client = conversion.remove("webhookClientConfig").filter(|client| !client.is_null());
    let versions = conversion.remove("conversionReviewVersions").filter(|versions| !versions.is_null());
    if client.is_some() || versions.is_some() {
        let mut webhook = Map::new();
        webhook.extend(client.map(|client| ("clientConfig".to_owned(), client)));
        webhook.insert("conversionReviewVersions".to_owned(), versions.unwrap_or_default());
        conversion.insert("webhook".to_owned(), webhook.into());
    }
}

fn default(members: &mut Map<String, Value>, name: &str, value: &str) {
    if members.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
        members.insert(name.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hoisted_returns_to_every_version() {
        let mut object = json!({
            "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
            "spec": {
                "group": "example.com", "version": "v2", "names": {"plural": "crons", "kind": "Cron"},
                "validation": {"openAPIV3Schema": {"type": "object"}},
                "additionalPrinterColumns": [{"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}],
                "versions": [{"name": "v2", "served": true, "storage": true}, {"name": "v1", "served": true, "storage": false, "subresources": {"status": {}}}],
                "conversion": {"strategy": "Webhook", "webhookClientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
                "preserveUnknownFields": false,
            },
        });
        to_v1(&mut object);
        let column = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"});
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        assert_eq!(
            object,
            json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "spec": {
                    "group": "example.com", "scope": "Namespaced", "names": {"plural": "crons", "singular": "cron", "kind": "Cron", "listKind": "CronList"},
                    "versions": [
                        {"name": "v2", "served": true, "storage": true, "schema": schema, "additionalPrinterColumns": [column]},
                        {"name": "v1", "served": true, "storage": false, "subresources": {"status": {}}, "schema": schema, "additionalPrinterColumns": [column]},
                    ],
                    "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]}},
                    "preserveUnknownFields": false,
                },
            })
        );
    }

    #[test]
    fn a_definition_of_one_version_gets_it() {
        let mut object = json!({"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": {"version": "v1", "names": {"kind": "A"}, "subresources": {"status": {}}}});
        to_v1(&mut object);
        assert_eq!(object["spec"]["versions"], json!([{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}}]));
        assert_eq!(object["spec"]["preserveUnknownFields"], true);
    }
}
