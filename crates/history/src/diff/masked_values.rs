//! Patches and fields of whole objects: a change of a masked value is reported, although neither value is kept.

use json_patch::jsonptr::Pointer;
use json_patch::{Patch, PatchOperation, ReplaceOperation};
use serde_json::Value;

use super::{Detail, Field, FieldChange, FieldPath, ManagedFields, Segment, field, patch};
use ketcd_kube::Object;

/// Returns the patch that turns `before` into `after`. A masked value that changed is replaced by its mask: applied to `before` the patch
/// gives `after`, both as they are shown.
pub fn object_patch(before: &Object, after: &Object, managed_fields: ManagedFields) -> Patch {
    let mut patch = patch(before, after, managed_fields);
    let replaced = before.masked_changes(after).filter_map(|place| {
        let value = place.resolve(&**after).ok()?.clone();
        Some(PatchOperation::Replace(ReplaceOperation { path: place.to_owned(), value }))
    });
    patch.0.extend(replaced);
    patch
}

/// Returns the fields in which two versions of an object differ, masked ones included.
pub fn object_fields<'a>(before: &'a Object, after: &'a Object, detail: Detail) -> Vec<FieldChange<'a>> {
    let mut changes = field::fields(before, after, detail);
    let masked = before.masked_changes(after).filter_map(|place| {
        let (old, new) = (place.resolve(&**before).ok()?, place.resolve(&**after).ok()?);
        Some(FieldChange { path: path(place, after), field: Field::Changed(old, new) })
    });
    changes.extend(masked);
    field::sort(&mut changes);
    changes
}

fn path(place: &Pointer, object: &Value) -> FieldPath {
    let mut value = Some(object);
    let segments = place.tokens().map(|token| {
        let name = token.decoded();
        let index = value.filter(|value| value.is_array()).and_then(|_| name.parse().ok());
        value = value.and_then(|value| match index {
            Some(index) => value.get::<usize>(index),
            None => value.get(&*name),
        });
        index.map_or_else(|| Segment::Field(name.into_owned()), Segment::Index)
    });
    FieldPath(segments.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ketcd_kube::{Body, Decoder};

    fn decoded(value: &Value) -> Object {
        let Body::Object(object) = Decoder::new().decode(b"/registry/secrets/a/b", value.to_string().as_bytes(), 0).body else { panic!() };
        object
    }

    #[test]
    fn a_patch_of_masked_versions_fits_them() {
        let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data});
        let before = decoded(&secret(json!({"a": "czNjcjN0", "c": "c2FtZQ=="})));
        let after = decoded(&secret(json!({"a": "bmV3", "b": "eA==", "c": "c2FtZQ=="})));
        let patch = object_patch(&before, &after, ManagedFields::Shown);
        assert_eq!(patch.to_string(), r#"[{"op":"add","path":"/data/b","value":"***"},{"op":"replace","path":"/data/a","value":"***"}]"#);
        let mut patched = before.clone().into_value();
        json_patch::patch(&mut patched, &patch).unwrap();
        assert_eq!(after, patched);
        let paths: Vec<String> = object_fields(&before, &after, Detail::Story).iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths, ["data.b", "data.a"]);
    }
}
