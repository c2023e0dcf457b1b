//! Labels, and what selects by them: taints, tolerations, requirements.

use serde_json::{Map, Value};

use super::members::{at, renamed};
use crate::choice::Class;
use crate::fields;
use crate::mask::Mask;

/// Labels with their keys.
pub(super) fn labels(mask: &mut Mask, labels: &mut Map<String, Value>) {
    renamed(labels, |key, member| {
        at(mask, "*", |mask| {
            if let Value::String(text) = member {
                *text = label(mask, key, text);
            }
            mask.label_key(key)
        })
    });
}

/// `{key, operator, values}`, `{key, value, effect}`.
pub(super) fn requirement(mask: &mut Mask, members: &mut Map<String, Value>) {
    let key = members.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, member) in members.iter_mut() {
        at(mask, name, |mask| match (name.as_str(), &mut *member) {
            ("key", Value::String(text)) => *text = mask.label_key(text),
            ("value", Value::String(text)) => *text = label(mask, &key, text),
            ("values", Value::Array(values)) => {
                for value in values {
                    if let Value::String(text) = value {
                        *text = label(mask, &key, text);
                    }
                }
            }
            _ => {}
        });
    }
}

/// The value of a label.
fn label(mask: &mut Mask, key: &str, value: &str) -> String {
    /// Numbers with no more digits are compared as numbers by `Gt` and `Lt`.
    const MAX_NUMBER_DIGITS: usize = 10;
    let is_number = value.len() <= MAX_NUMBER_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || fields::has_public_values(key) {
        mask.literal(value);
        return value.to_owned();
    }
    let class = if key == "kubernetes.io/metadata.name" { Class::Namespaces } else { Class::Names };
    mask.name(class, value)
}
