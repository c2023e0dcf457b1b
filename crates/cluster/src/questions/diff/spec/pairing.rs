//! What differs between the objects of one kind and name in two states.

use serde_json::{Map, Value};

use ketcd_history::ChangeKind;
use ketcd_history::diff::{Detail, Segment, fields};
use ketcd_kube::VALUE_MASK;

use super::difference::{SpecChange, SpecDifference, SpecField, SpecId};
use super::groups::{Shape, ShapeGroup};
use super::newer_defaults::{self, NewerDefault};

/// Returns what differs; `None` where nothing does. Notes the defaults that only one state has.
pub(super) fn difference(
    id: &SpecId,
    before: Option<&ShapeGroup>,
    after: Option<&ShapeGroup>,
    defaults: &mut Vec<&'static NewerDefault>,
) -> Option<SpecDifference> {
    let names = [before, after].map(|group| group.map(ShapeGroup::names).unwrap_or_default());
    let (Some(old), Some(new)) = (before, after) else {
        let kind = if before.is_none() { ChangeKind::Added } else { ChangeKind::Deleted };
        return (before.is_some() || after.is_some()).then(|| SpecDifference {
            id: id.clone(),
            kind,
            names,
            counts: id.naming.is_shared(),
            fields: Vec::new(),
        });
    };
    let mut found = Vec::new();
    for (old, new) in rest(old, new).into_iter().zip(rest(new, old)) {
        for field in changed(old, new, defaults) {
            if !found.contains(&field) {
                found.push(field);
            }
        }
    }
    let counts = names[0].len() != names[1].len();
    (counts || !found.is_empty()).then(|| SpecDifference { id: id.clone(), kind: ChangeKind::Modified, names, counts, fields: found })
}

/// The forms that more objects of a group have than of the other one; those of most objects first.
fn rest<'g>(group: &'g ShapeGroup, other: &ShapeGroup) -> Vec<&'g Shape> {
    let mut rest: Vec<(usize, String, &Shape)> = Vec::new();
    for (hash, shape) in &group.shapes {
        let taken = other.shapes.get(hash).map_or(0, |shape| shape.names.len());
        if let Some(left) = shape.names.len().checked_sub(taken).filter(|left| *left > 0) {
            rest.push((left, shape.value.to_string(), shape));
        }
    }
    rest.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    rest.into_iter().map(|(.., shape)| shape).collect()
}

fn changed(old: &Shape, new: &Shape, defaults: &mut Vec<&'static NewerDefault>) -> Vec<SpecField> {
    let (mut before, mut after) = (old.value.clone(), new.value.clone());
    defaults.extend(newer_defaults::remove(&mut before, &mut after));
    let mut found: Vec<SpecField> = fields(&before, &after, Detail::Story).iter().flat_map(|change| apart(SpecField::of(change))).collect();
    for field in &mut found {
        match &mut field.change {
            SpecChange::Added(value) | SpecChange::Removed(value) => mask(value),
            SpecChange::Changed(before, after) => [before, after].into_iter().for_each(mask),
            SpecChange::Reordered => {}
        }
    }
    found
}

/// A map that only one form has is its members, so that one label is one field; an item of a list stays whole.
fn apart(field: SpecField) -> Vec<SpecField> {
    let members = |map: Map<String, Value>, change: fn(Value) -> SpecChange| {
        let member = |(name, value)| {
            let mut path = field.path.clone();
            path.0.push(Segment::Field(name));
            apart(SpecField { path, change: change(value) })
        };
        map.into_iter().flat_map(member).collect::<Vec<_>>()
    };
    let is_member = matches!(field.path.0.last(), Some(Segment::Field(_)));
    match field.change.clone() {
        SpecChange::Added(Value::Object(map)) if is_member && !map.is_empty() => members(map, SpecChange::Added),
        SpecChange::Removed(Value::Object(map)) if is_member && !map.is_empty() => members(map, SpecChange::Removed),
        _ => vec![field],
    }
}

/// Takes the marks that made masked values comparable off again.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            let mark = text.strip_prefix(VALUE_MASK).filter(|mark| !mark.is_empty());
            if mark.is_some_and(|mark| mark.len() <= 16 && mark.bytes().all(|byte| byte.is_ascii_hexdigit())) {
                *text = VALUE_MASK.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(members) => members.values_mut().for_each(mask),
        _ => {}
    }
}
