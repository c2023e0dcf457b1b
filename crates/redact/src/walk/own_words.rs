//! The caller's own words, in whatever is left of an object.

use serde_json::Value;

use crate::mask::Mask;

/// Replaces them in keys and strings.
pub(super) fn rewrite(mask: &mut Mask, value: &mut Value) {
    match value {
        Value::String(text) => mask.own(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite(mask, item)),
        Value::Object(members) => {
            let all = std::mem::take(members);
            for (mut key, mut member) in all {
                rewrite(mask, &mut member);
                mask.own(&mut key);
                members.insert(key, member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
