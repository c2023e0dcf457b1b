//! Masks the values of Secrets, keeping their names: `***`, whatever their length.

use json_patch::{Patch, PatchOperation};
use serde_json::{Map, Value};

/// What stands for a value that is not shown.
pub const MASK: &str = "***";

/// Fields of a Secret whose members are secret.
const FIELDS: [&str; 2] = ["data", "stringData"];
/// kubectl apply keeps the whole object here, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether the object's values are to be masked.
pub fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret"
}

/// Masks the values of a Secret in place; other objects stay as they are.
pub fn mask(object: &mut Value) {
    if !is_secret(object) {
        return;
    }
    for field in FIELDS {
        mask_members(object.get_mut(field));
    }
    mask_annotations(object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations")));
}

/// Masks what a patch of a Secret would put into it. Applied to a masked version it gives the next one, masked.
pub fn mask_patch(patch: &mut Patch) {
    for operation in &mut patch.0 {
        let (path, value) = match operation {
            PatchOperation::Add(add) => (&add.path, &mut add.value),
            PatchOperation::Replace(replace) => (&replace.path, &mut replace.value),
            _ => continue,
        };
        let path: Vec<String> = path.tokens().map(|token| token.decoded().into_owned()).collect();
        match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => mask(value),
            [field] if FIELDS.contains(&field) => mask_members(Some(value)),
            [field, _] if FIELDS.contains(&field) => *value = MASK.into(),
            ["metadata", "annotations"] => mask_annotations(Some(value)),
            ["metadata", "annotations", LAST_APPLIED] => *value = MASK.into(),
            _ => {}
        }
    }
}

/// Masks one value of a Secret, given where it lies.
pub fn mask_at(path: &[&str], value: &Value) -> Value {
    match path {
        [field] if FIELDS.contains(field) => {
            let mut masked = value.clone();
            mask_members(Some(&mut masked));
            masked
        }
        [field, ..] if FIELDS.contains(field) => MASK.into(),
        ["metadata", "annotations", LAST_APPLIED] => MASK.into(),
        [] => {
            let mut masked = value.clone();
            mask(&mut masked);
            masked
        }
        _ => value.clone(),
    }
}

fn mask_members(members: Option<&mut Value>) {
    for value in members.and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *value = MASK.into();
    }
}

fn mask_annotations(annotations: Option<&mut Value>) {
    if let Some(value) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        *value = MASK.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::diff;
    use serde_json::json;

    #[test]
    fn a_masked_patch_still_fits_the_masked_versions() {
        let annotations = json!({LAST_APPLIED: "{\"data\":{\"a\":\"czNjcjN0\"}}", "note": "kept"});
        let before = json!({"kind": "Secret", "data": {"a": "czNjcjN0"}, "metadata": {"name": "s"}});
        let after = json!({"kind": "Secret", "data": {"a": "bmV3", "b": "eA=="}, "metadata": {"name": "s", "annotations": annotations}});
        let mut patch = diff::patch(&before, &after);
        mask_patch(&mut patch);
        let text = patch.to_string();
        assert!(!["czNjcjN0", "bmV3", "eA=="].iter().any(|secret| text.contains(secret)), "{text}");
        let (mut old, mut new) = (before, after);
        mask(&mut old);
        mask(&mut new);
        json_patch::patch(&mut old, &patch).unwrap();
        assert_eq!(old, new);
        assert_eq!(new["data"], json!({"a": "***", "b": "***"}));
    }
}
