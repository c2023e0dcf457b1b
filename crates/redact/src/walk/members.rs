//! The members of an object under new names, and where in it the walk is, for the report.

use serde_json::{Map, Value};

use crate::mask::Mask;

/// Runs `work` one step down the path.
pub(super) fn at<T>(mask: &mut Mask, step: &str, work: impl FnOnce(&mut Mask) -> T) -> T {
    let length = enter(mask, step);
    let result = work(mask);
    mask.path.truncate(length);
    result
}

/// Goes one step down the path and returns how long it was before.
pub(super) fn enter(mask: &mut Mask, step: &str) -> usize {
    let length = mask.path.len();
    if step != "[]" && length > 0 {
        mask.path.push('.');
    }
    mask.path.push_str(step);
    length
}

/// Rewrites each member by `work`, which returns its new key.
pub(super) fn renamed(members: &mut Map<String, Value>, mut work: impl FnMut(&str, &mut Value) -> String) {
    let all = std::mem::take(members);
    for (key, mut member) in all {
        let renamed = work(&key, &mut member);
        members.insert(renamed, member);
    }
}

/// A key that its author may have chosen.
pub(super) fn key(mask: &mut Mask, key: &str) -> String {
    if mask.is_learning || mask.words.is_common(key) { key.to_owned() } else { mask.text(key) }
}
