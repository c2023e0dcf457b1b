//! Workloads between the groups and versions that served them up to 1.15, of which the old ones have a field each that the others keep in an annotation.
//!
//! Source: Kubernetes 1.15 `pkg/apis/{extensions/v1beta1,apps/v1beta1,apps/v1beta2,apps/v1}/conversion.go`; 1.9 has the same.

use serde_json::{Map, Value, json};

const ROLLBACK_ANNOTATION: &str = "deprecated.deployment.rollback.revision";
const TEMPLATE_GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn are_versions(stored: &str, wanted: &str, kind: &str) -> bool {
    let is_known = |version: &str| match kind {
        "Deployment" => matches!(version, "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2" | "apps/v1"),
        "DaemonSet" | "ReplicaSet" => matches!(version, "extensions/v1beta1" | "apps/v1beta2" | "apps/v1"),
        "StatefulSet" | "ControllerRevision" => matches!(version, "apps/v1beta1" | "apps/v1beta2" | "apps/v1"),
        _ => false,
    };
    is_known(stored) && is_known(wanted)
}

/// Makes a workload of one version one of another. The error says which annotation cannot be read.
pub(super) fn convert(object: &mut Value, kind: &str, stored: &str, wanted: &str) -> Result<(), String> {
    let has_field = |version: &str| matches!(version, "extensions/v1beta1" | "apps/v1beta1");
    match (kind, has_field(stored), has_field(wanted)) {
        ("Deployment", true, false) => {
            let rollback = remove(object, "spec", "rollbackTo").map(|rollback| rollback["revision"].as_i64().unwrap_or(0));
            remove(object, "metadata", "annotations").into_iter().for_each(|own| annotate(object, without(own, ROLLBACK_ANNOTATION)));
            rollback.into_iter().for_each(|revision| annotate(object, one(ROLLBACK_ANNOTATION, &revision.to_string())));
        }
        ("Deployment", false, true) => {
            if let Some(revision) = number(object, ROLLBACK_ANNOTATION)? {
                object["spec"]["rollbackTo"] = json!({ "revision": revision });
            }
        }
        ("DaemonSet", true, false) => {
            let generation = remove(object, "spec", "templateGeneration").and_then(|generation| generation.as_i64()).unwrap_or(0);
            annotate(object, one(TEMPLATE_GENERATION_ANNOTATION, &generation.to_string()));
        }
        ("DaemonSet", false, true) => {
            if let Some(generation) = number(object, TEMPLATE_GENERATION_ANNOTATION)? {
                object["spec"]["templateGeneration"] = generation.into();
            }
        }
        // Only the oldest version tells a generation of 0 from none.
        ("StatefulSet", false, true) => {
            if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
                status.entry("observedGeneration").or_insert_with(|| 0.into());
            }
        }
        _ => {}
    }
    Ok(())
}

fn remove(object: &mut Value, part: &str, field: &str) -> Option<Value> {
    object.get_mut(part)?.as_object_mut()?.remove(field)
}

fn one(name: &str, text: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), text.into())])
}

fn without(annotations: Value, name: &str) -> Map<String, Value> {
    let Value::Object(mut annotations) = annotations else { return Map::new() };
    annotations.remove(name);
    annotations
}

fn annotate(object: &mut Value, annotations: Map<String, Value>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if annotations.is_empty() {
        return;
    }
    if let Value::Object(own) = metadata.entry("annotations").or_insert_with(|| json!({})) {
        own.extend(annotations);
    }
}

fn number(object: &mut Value, name: &str) -> Result<Option<i64>, String> {
    let Some(text) = object["metadata"]["annotations"][name].as_str().map(str::to_owned) else { return Ok(None) };
    // In a rollback, upstream keeps an empty text.
    if text.is_empty() && name == ROLLBACK_ANNOTATION {
        return Ok(None);
    }
    let number = text.parse().map_err(|_| format!("with the annotation {name}, whose text {text:?} is not a number"))?;
    let rest = remove(object, "metadata", "annotations").map(|own| without(own, name)).unwrap_or_default();
    annotate(object, rest);
    Ok(Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: &str, (old, fields): (&str, &Value), (new, annotated): (&str, &Value)) {
        for (from, to, object, wanted) in [(old, new, fields, annotated), (new, old, annotated, fields)] {
            assert!(are_versions(from, to, kind));
            let mut converted = object.clone();
            convert(&mut converted, kind, from, to).unwrap();
            assert_eq!(converted, *wanted, "{from} to {to}");
        }
    }

    #[test]
    fn what_one_has_in_a_field_the_other_has_in_an_annotation() {
        let fields = json!({"metadata": {"name": "a"}, "spec": {"rollbackTo": {"revision": 3}}});
        let annotated = json!({"metadata": {"name": "a", "annotations": {ROLLBACK_ANNOTATION: "3"}}, "spec": {}});
        for (old, new) in [("extensions/v1beta1", "apps/v1"), ("apps/v1beta1", "apps/v1beta2")] {
            check("Deployment", (old, &fields), (new, &annotated));
        }
        let fields = json!({"metadata": {"annotations": {"own": "x"}}, "spec": {"templateGeneration": 2}});
        let annotated = json!({"metadata": {"annotations": {"own": "x", TEMPLATE_GENERATION_ANNOTATION: "2"}}, "spec": {}});
        check("DaemonSet", ("extensions/v1beta1", &fields), ("apps/v1", &annotated));
        assert!(!are_versions("apps/v1", "extensions/v1beta1", "StatefulSet"));
    }

    #[test]
    fn an_annotation_that_is_no_number_is_named() {
        let mut object = json!({"metadata": {"annotations": {TEMPLATE_GENERATION_ANNOTATION: "many"}}, "spec": {}});
        let refused = convert(&mut object, "DaemonSet", "apps/v1", "extensions/v1beta1").unwrap_err();
        assert!(refused.contains(TEMPLATE_GENERATION_ANNOTATION) && refused.contains("\"many\""), "{refused}");
    }

    #[test]
    fn an_annotation_beside_the_field_goes() {
        let mut object = json!({"metadata": {"annotations": {ROLLBACK_ANNOTATION: "9"}}, "spec": {}});
        convert(&mut object, "Deployment", "extensions/v1beta1", "apps/v1").unwrap();
        assert_eq!(object, json!({"metadata": {}, "spec": {}}));
    }
}
