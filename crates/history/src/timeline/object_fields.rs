//! Parts of objects that steps of several kinds are read from.

use std::collections::HashMap;

use serde_json::Value;

use super::{StatusReason, StepDetail};
use ketcd_kube::condition;

pub(super) fn controller(object: &Value) -> Option<&Value> {
    object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)
}

/// A condition's status where it differs from the version before: `(before, after)`, empty where there was none.
pub(super) fn turned<'a>(before: Option<&'a Value>, after: &'a Value, kind: &str) -> Option<(&'a str, &'a str, &'a Value)> {
    let now = condition(after, kind)?;
    let status = |condition: &'a Value| condition["status"].as_str().unwrap_or_default();
    let then = before.and_then(|before| condition(before, kind)).map(status).unwrap_or_default();
    (then != status(now)).then(|| (then, status(now), now))
}

/// The reason and message of a condition or state.
pub(super) fn why(value: &Value) -> StatusReason {
    let text = |field: &str| value[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    StatusReason { reason: text("reason"), message: text("message") }
}

pub(super) fn condition_detail(condition: &Value) -> StepDetail {
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    StepDetail::Condition { kind: text("type"), status: text("status"), reason: why(condition) }
}

/// A list of the object's status or spec.
pub(super) fn items<'a>(object: Option<&'a Value>, field: [&str; 2]) -> &'a [Value] {
    object.and_then(|object| object[field[0]][field[1]].as_array()).map(Vec::as_slice).unwrap_or_default()
}

/// Indexes the items of a list by one of their fields, so that lookups in long lists are fast. If items share a value, the first counts.
pub(super) struct ByField<'a>(HashMap<&'a Value, &'a Value>);

impl<'a> ByField<'a> {
    pub(super) fn new(list: &'a [Value], field: &str) -> Self {
        let mut items = HashMap::with_capacity(list.len());
        for item in list {
            items.entry(&item[field]).or_insert(item);
        }
        Self(items)
    }

    pub(super) fn named(list: &'a [Value]) -> Self {
        Self::new(list, "name")
    }

    pub(super) fn find(&self, value: &Value) -> Option<&'a Value> {
        self.0.get(value).copied()
    }
}
