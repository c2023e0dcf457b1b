//! CustomResourceDefinitions from v1beta1 to v1, which has schema, subresources and columns in each version.
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
