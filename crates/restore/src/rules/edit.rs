//! Removing members of JSON objects.

use serde_json::{Map, Value};

/// The members of an object below `path`.
pub(super) fn members<'a>(object: &'a mut Value, path: &str) -> Option<&'a mut Map<String, Value>> {
    object.pointer_mut(path)?.as_object_mut()
}

/// Removes members of the object at `path`; returns whether there were any.
pub(super) fn remove(object: &mut Value, path: &str, names: &[&str]) -> bool {
    members(object, path).is_some_and(|members| remove_of(members, |name| names.contains(&name)))
}

/// Removes the members whose names are `unwanted`; returns whether there were any.
pub(super) fn remove_of(members: &mut Map<String, Value>, unwanted: impl Fn(&str) -> bool) -> bool {
    let before = members.len();
    members.retain(|name, _| !unwanted(name));
    members.len() < before
}

/// Removes annotations or labels whose names are `unwanted`, and the map with the last of them.
pub(super) fn remove_marks(object: &mut Value, metadata: &str, marks: &str, unwanted: impl Fn(&str) -> bool) -> bool {
    let Some(metadata) = members(object, metadata) else { return false };
    let Some(map) = metadata.get_mut(marks).and_then(Value::as_object_mut) else { return false };
    let is_changed = remove_of(map, unwanted);
    if is_changed && map.is_empty() {
        metadata.remove(marks);
    }
    is_changed
}

/// Removes the items of the list `list` of an object that are `unwanted`, and the list with the last of them.
pub(super) fn remove_items(members: &mut Map<String, Value>, list: &str, unwanted: impl Fn(&Value) -> bool) -> bool {
    let Some(items) = members.get_mut(list).and_then(Value::as_array_mut) else { return false };
    let before = items.len();
    items.retain(|item| !unwanted(item));
    let is_changed = items.len() < before;
    if is_changed && items.is_empty() {
        members.remove(list);
    }
    is_changed
}
