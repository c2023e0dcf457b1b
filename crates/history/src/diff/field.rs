//! What a reader wants to know: each changed field once, by a path that names list items, with the value before and after.

use std::fmt;

use serde_json::Value;

use super::align::align;
use super::keys;

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Conditions and container states count as one value each, as they are read.
    Story,
    /// Every leaf on its own.
    Leaves,
}

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field, or a key of a map.
    Field(String),
    /// A list item by its key.
    Item(String),
    /// A list item without a key, by its index after the change (before, for a removed one).
    Index(usize),
}

/// Where a field lies. Displays as `status.conditions[PodScheduled].reason`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<Segment>);

impl FieldPath {
    /// Whether the path begins with these fields.
    pub fn starts_with(&self, fields: &[&str]) -> bool {
        self.0.len() >= fields.len()
            && self.0.iter().zip(fields).all(|(segment, field)| matches!(segment, Segment::Field(name) if name == field))
    }

    /// The last field's name, list items skipped; empty at the root.
    pub fn field(&self) -> &str {
        self.0
            .iter()
            .rev()
            .find_map(|segment| if let Segment::Field(name) = segment { Some(name.as_str()) } else { None })
            .unwrap_or_default()
    }

    /// The key of the last list item on the path.
    pub fn item(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|segment| if let Segment::Item(name) = segment { Some(name.as_str()) } else { None })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Field(name) if name.contains(['.', '/']) => write!(f, "[{name}]")?,
                Segment::Field(name) if place == 0 => f.write_str(name)?,
                Segment::Field(name) => write!(f, ".{name}")?,
                Segment::Item(name) => write!(f, "[{name}]")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// What happened to a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// It is new.
    Added(&'a Value),
    /// It is gone.
    Removed(&'a Value),
    /// It has another value.
    Changed(&'a Value, &'a Value),
    /// A list holds the same items in another order.
    Reordered,
}

impl<'a> Field<'a> {
    /// The value before.
    pub fn before(&self) -> Option<&'a Value> {
        match *self {
            Self::Removed(value) | Self::Changed(value, _) => Some(value),
            _ => None,
        }
    }

    /// The value after.
    pub fn after(&self) -> Option<&'a Value> {
        match *self {
            Self::Added(value) | Self::Changed(_, value) => Some(value),
            _ => None,
        }
    }
}

/// A field that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange<'a> {
    /// Where.
    pub path: FieldPath,
    /// What.
    pub field: Field<'a>,
}

/// Returns the fields in which two versions differ: metadata, then spec and the rest, then status.
pub fn fields<'a>(before: &'a Value, after: &'a Value, detail: Detail) -> Vec<FieldChange<'a>> {
    let mut walk = FieldWalk { path: FieldPath::default(), changes: Vec::new(), detail };
    walk.value(before, after);
    sort(&mut walk.changes);
    walk.changes
}

/// Sorts changes into the order of [`fields`].
pub(super) fn sort(changes: &mut [FieldChange<'_>]) {
    changes.sort_by_key(|change| (section(&change.path), importance(&change.path)));
}

fn section(path: &FieldPath) -> u8 {
    match path.0.first() {
        Some(Segment::Field(name)) if name == "metadata" => 0,
        Some(Segment::Field(name)) if name == "status" => 2,
        _ => 1,
    }
}

/// What a reader looks for first within a section; all else keeps its order.
fn importance(path: &FieldPath) -> usize {
    const IMPORTANT_FIELDS: &[&str] =
        &["nodeName", "phase", "nominatedNodeName", "replicas", "unschedulable", "taints", "state", "containerStatuses", "podIP"];
    let field = if path.0.len() > 2 && path.field() != "state" {
        path.0.get(1)
    } else {
        path.0.iter().rev().find(|part| matches!(part, Segment::Field(_)))
    };
    let Some(Segment::Field(name)) = field else { return IMPORTANT_FIELDS.len() };
    IMPORTANT_FIELDS.iter().position(|first| first == name).unwrap_or(IMPORTANT_FIELDS.len())
}

struct FieldWalk<'a> {
    path: FieldPath,
    changes: Vec<FieldChange<'a>>,
    detail: Detail,
}

impl<'a> FieldWalk<'a> {
    fn value(&mut self, before: &'a Value, after: &'a Value) {
        if before == after {
            return;
        }
        match (before, after) {
            _ if self.is_one_value() => self.push(Field::Changed(before, after)),
            (Value::Object(old), Value::Object(new)) => {
                for (name, value) in old {
                    let segment = Segment::Field(name.clone());
                    match new.get(name) {
                        Some(other) => self.at(segment, |walk| walk.value(value, other)),
                        None => self.at(segment, |walk| walk.removed(value)),
                    }
                }
                for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                    self.at(Segment::Field(name.clone()), |walk| walk.added(value));
                }
            }
            (Value::Array(old), Value::Array(new)) => self.list(old, new),
            _ => self.push(Field::Changed(before, after)),
        }
    }

    fn list(&mut self, before: &'a [Value], after: &'a [Value]) {
        let list = self.path.field().to_owned();
        let alignment = align(&list, before, after);
        for &place in &alignment.removed {
            self.at(segment(&list, &before[place], place), |walk| walk.push(Field::Removed(&before[place])));
        }
        for (place, origin) in alignment.from.iter().enumerate() {
            let segment = segment(&list, &after[place], place);
            match *origin {
                Some(old) => self.at(segment, |walk| walk.value(&before[old], &after[place])),
                None => self.at(segment, |walk| walk.push(Field::Added(&after[place]))),
            }
        }
        if !alignment.from.iter().flatten().is_sorted() {
            self.push(Field::Reordered);
        }
    }

    /// A whole list or status that appears is reported item by item; other values at once.
    fn added(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) if items.iter().all(Value::is_object) && !items.is_empty() => {
                let list = self.path.field().to_owned();
                for (place, item) in items.iter().enumerate() {
                    self.at(segment(&list, item, place), |walk| walk.push(Field::Added(item)));
                }
            }
            Value::Object(map) if self.path.0.len() == 1 || self.detail == Detail::Leaves && !map.is_empty() => {
                for (name, value) in map {
                    self.at(Segment::Field(name.clone()), |walk| walk.added(value));
                }
            }
            _ => self.push(Field::Added(value)),
        }
    }

    fn removed(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) if items.iter().all(Value::is_object) && !items.is_empty() => {
                let list = self.path.field().to_owned();
                for (place, item) in items.iter().enumerate() {
                    self.at(segment(&list, item, place), |walk| walk.push(Field::Removed(item)));
                }
            }
            _ => self.push(Field::Removed(value)),
        }
    }

    fn is_one_value(&self) -> bool {
        if self.detail == Detail::Leaves {
            return false;
        }
        match self.path.0.as_slice() {
            [.., Segment::Field(list), Segment::Item(_)] => list == "conditions",
            [.., Segment::Field(list), Segment::Item(_), Segment::Field(name)] => {
                list.ends_with("ontainerStatuses") && (name == "state" || name == "lastState")
            }
            _ => false,
        }
    }

    fn at(&mut self, segment: Segment, work: impl FnOnce(&mut Self)) {
        self.path.0.push(segment);
        work(self);
        self.path.0.pop();
    }

    fn push(&mut self, field: Field<'a>) {
        self.changes.push(FieldChange { path: self.path.clone(), field });
    }
}

fn segment(list: &str, item: &Value, place: usize) -> Segment {
    keys::label(list, item).map_or(Segment::Index(place), Segment::Item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(before: &Value, after: &Value, detail: Detail) -> Vec<String> {
        fields(before, after, detail)
            .into_iter()
            .map(|change| {
                let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
                format!("{} {} -> {}", change.path, text(change.field.before()), text(change.field.after()))
            })
            .collect()
    }

    #[test]
    fn conditions_are_one_value_in_a_story_and_leaves_otherwise() {
        let before = json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "X"}]}});
        let after = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"nodeName": "n1"}});
        let story = texts(&before, &after, Detail::Story);
        assert_eq!(story[0], "spec.nodeName  -> \"n1\"");
        assert!(story[1].starts_with("status.conditions[Ready] {"), "{story:?}");
        let leaves = texts(&before, &after, Detail::Leaves);
        assert_eq!(leaves[1..], ["status.conditions[Ready].reason \"X\" -> ", "status.conditions[Ready].status \"False\" -> \"True\""]);
    }

    /// What is called so elsewhere, and what else a container's status has, shows by its leaves.
    #[test]
    fn the_state_of_a_container_is_one_value() {
        let of = |list: &str, member: &str, cpu: i64| json!({list: [{"name": "a", member: {"cpu": cpu, "memory": 1}}]});
        let told = |list: &str, member: &str| texts(&of(list, member, 1), &of(list, member, 2), Detail::Story);
        let state = r#"{"cpu":1,"memory":1} -> {"cpu":2,"memory":1}"#;
        assert_eq!(told("initContainerStatuses", "lastState"), [format!("initContainerStatuses[a].lastState {state}")]);
        assert_eq!(told("containerStatuses", "resources"), ["containerStatuses[a].resources.cpu 1 -> 2"]);
        assert_eq!(told("containers", "state"), ["containers[a].state.cpu 1 -> 2"]);
    }

    #[test]
    fn an_order_alone_is_shown_as_an_order() {
        let before = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let after = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
        assert_eq!(
            fields(&before, &after, Detail::Story),
            [FieldChange {
                path: FieldPath(vec![Segment::Field("spec".into()), Segment::Field("containers".into())]),
                field: Field::Reordered,
            }]
        );
    }

    #[test]
    fn labels_with_dots_are_bracketed() {
        let before = json!({"metadata": {"labels": {"app": "a"}}});
        let after = json!({"metadata": {"labels": {"app": "a", "k8s.io/x": "1"}}});
        assert_eq!(texts(&before, &after, Detail::Story), ["metadata.labels[k8s.io/x]  -> \"1\""]);
    }
}
