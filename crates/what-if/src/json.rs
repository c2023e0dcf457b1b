//! Fields of objects as the API has them.

use serde_json::{Map, Value};

/// The text at a pointer; empty if there is none.
pub(super) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The largest number, on either side of zero, that is taken as it is written. API servers refuse larger ones in fields of 32 bits, and as seconds it is
/// some ten thousand years; objects that no API server wrote may have any. Sums and thousandfolds of such numbers are numbers still.
const MAX_EXACT_NUMBER: i64 = 1 << 40;

fn bounded(number: i64) -> i64 {
    number.clamp(-MAX_EXACT_NUMBER, MAX_EXACT_NUMBER)
}

/// The whole number at a pointer; one beyond the largest counts as the largest.
pub(super) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64).map(bounded)
}

pub(super) fn list<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/labels").and_then(Value::as_object)
}

/// The object at a member, made where it is missing.
pub(super) fn member<'v>(object: &'v mut Value, name: &str) -> &'v mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let slot = &mut object[name];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().unwrap_or_else(|| unreachable!("it was just made an object"))
}

pub(super) fn controller(object: &Value) -> Option<&Value> {
    list(object, "/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true)
}

/// Sets a condition of an object's status, or adds it.
pub(super) fn set_condition(object: &mut Value, condition: Value) {
    let status = member(object, "status");
    let conditions = status.entry("conditions").or_insert_with(|| Value::Array(Vec::new()));
    if !conditions.is_array() {
        *conditions = Value::Array(Vec::new());
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

pub(super) fn is_condition_true(object: &Value, kind: &str) -> bool {
    list(object, "/status/conditions").iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether a pod is being deleted.
pub(super) fn is_terminating(pod: &Value) -> bool {
    !pod["metadata"]["deletionTimestamp"].is_null()
}

/// A number of things, or a share of a whole in per cent (`intstr.GetScaledValueFromIntOrPercent`).
pub(super) fn scaled(value: &Value, whole: i64, rounds_up: bool) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().map(bounded),
        Value::String(text) => {
            let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
            let product = percent.checked_mul(whole)?;
            let share = if rounds_up { product.div_euclid(100) + i64::from(product.rem_euclid(100) > 0) } else { product / 100 };
            Some(bounded(share))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_are_rounded_as_upstream_rounds_them() {
        let of = |value: Value, up: bool| scaled(&value, 5, up);
        assert_eq!((of(json!("50%"), true), of(json!("50%"), false)), (Some(3), Some(2)));
        assert_eq!((of(json!(2), true), of(json!("x"), true), of(json!("100%"), true)), (Some(2), None, Some(5)));
    }

    #[test]
    fn numbers_beyond_the_largest_count_as_it() {
        let object = json!({"low": i64::MIN, "high": i64::MAX, "beyond": u64::MAX, "usual": 2_147_483_647});
        let of = |pointer: &str| number(&object, pointer);
        assert_eq!(
            (of("/low"), of("/high"), of("/beyond"), of("/usual")),
            (Some(-MAX_EXACT_NUMBER), Some(MAX_EXACT_NUMBER), None, Some(2_147_483_647))
        );
        assert_eq!(
            (scaled(&json!(i64::MAX), 5, true), scaled(&json!("9223372036854775807%"), 1, true)),
            (Some(MAX_EXACT_NUMBER), Some(MAX_EXACT_NUMBER))
        );
        assert_eq!(scaled(&json!("9223372036854775807%"), 5, true), None);
    }

    #[test]
    fn conditions_are_replaced_by_their_type() {
        let mut pod = json!({});
        set_condition(&mut pod, json!({"type": "Ready", "status": "False"}));
        set_condition(&mut pod, json!({"type": "Ready", "status": "True"}));
        assert!(is_condition_true(&pod, "Ready"));
        assert_eq!(list(&pod, "/status/conditions").len(), 1);
    }
}
