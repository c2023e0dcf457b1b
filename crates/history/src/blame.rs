//! Which change last set each value of an object.

use std::sync::Arc;

use serde_json::Value;

use super::actor::Actor;
use super::attributed_change::AttributedChange;
use super::change::ObjectVersion;
use super::clock::Dated;
use super::diff::{Alignment, align};
use ketcd_kube::Object;
use ketcd_store::Revision;

/// The change that last set a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Setter {
    /// Its revision; `None` where it was set before the readable history.
    pub revision: Option<Revision>,
    /// Whether that is only about the one that etcd has.
    pub is_placed: bool,
    /// When.
    pub dated: Option<Dated>,
    /// By whom.
    pub by: Option<Actor>,
}

/// The setters of an object's values, shaped like the object.
#[derive(Clone, Debug, PartialEq)]
pub enum SetterTree {
    /// A value without members: who set it.
    Leaf(usize),
    /// An object: its members by field, in order, and who last added or removed one.
    Object(Vec<(String, SetterTree)>, usize),
    /// A list: its items, and who last added, removed or moved one.
    List(Vec<SetterTree>, usize),
}

impl SetterTree {
    /// The setter of the value itself.
    pub fn own(&self) -> usize {
        match self {
            Self::Leaf(own) | Self::Object(_, own) | Self::List(_, own) => *own,
        }
    }
}

/// Follows one object's changes.
#[derive(Debug, Default)]
pub struct Blame {
    setters: Vec<Setter>,
    current: Option<(Arc<Object>, SetterTree)>,
}

impl Blame {
    /// Takes the next change into account.
    pub fn observe(&mut self, attributed: &AttributedChange) {
        let number = self.setters.len();
        let known = attributed.change.before != ObjectVersion::Unreadable;
        let setter = Setter {
            revision: known.then_some(attributed.change.revision),
            is_placed: attributed.change.origin.is_placed(),
            dated: attributed.dated.filter(|_| known),
            by: attributed.by().filter(|_| known),
        };
        self.setters.push(setter);
        let Some(after) = attributed.change.after.whole() else {
            return;
        };
        let lines = match (&attributed.change.before, self.current.take()) {
            (ObjectVersion::Object(_), Some((before, lines))) => merge("", &before.comparable(), lines, &after.comparable(), number),
            _ => fresh(after, number),
        };
        self.current = Some((Arc::clone(after), lines));
    }

    /// Returns the last version and who set its values; `None` where none could be read.
    pub fn finish(self) -> Option<(Object, Blamed)> {
        let (object, lines) = self.current?;
        Some((Arc::unwrap_or_clone(object), Blamed { setters: self.setters, lines }))
    }
}

/// The result: lines refer to setters by number.
#[derive(Clone, Debug, PartialEq)]
pub struct Blamed {
    /// Every change of the object, oldest first.
    pub setters: Vec<Setter>,
    /// Shaped like the object.
    pub lines: SetterTree,
}

fn fresh(value: &Value, number: usize) -> SetterTree {
    match value {
        Value::Object(map) => SetterTree::Object(map.iter().map(|(name, value)| (name.clone(), fresh(value, number))).collect(), number),
        Value::Array(items) => SetterTree::List(items.iter().map(|item| fresh(item, number)).collect(), number),
        _ => SetterTree::Leaf(number),
    }
}

fn merge(name: &str, before: &Value, lines: SetterTree, after: &Value, number: usize) -> SetterTree {
    if before == after {
        return lines;
    }
    match (before, lines, after) {
        (Value::Object(old), SetterTree::Object(mut known, own), Value::Object(new)) => {
            let own = if old.keys().eq(new.keys()) { own } else { number };
            let mut take = |name: &str| known.iter().position(|(known, _)| known == name).map(|place| known.swap_remove(place).1);
            let members = new.iter().map(|(name, value)| {
                let lines = match (old.get(name), take(name)) {
                    (Some(before), Some(lines)) => merge(name, before, lines, value, number),
                    _ => fresh(value, number),
                };
                (name.clone(), lines)
            });
            SetterTree::Object(members.collect(), own)
        }
        (Value::Array(old), SetterTree::List(known, own), Value::Array(new)) => {
            let Alignment { from, removed, .. } = align(name, old, new);
            let same = removed.is_empty() && from.iter().enumerate().all(|(place, origin)| *origin == Some(place));
            let mut known: Vec<Option<SetterTree>> = known.into_iter().map(Some).collect();
            let items = from.iter().zip(new).map(|(origin, value)| {
                match origin.and_then(|place| known[place].take().map(|lines| (place, lines))) {
                    Some((place, lines)) => merge(name, &old[place], lines, value, number),
                    None => fresh(value, number),
                }
            });
            let items = items.collect();
            SetterTree::List(items, if same { own } else { number })
        }
        _ => fresh(after, number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Change, ChangeKind};
    use ketcd_store::{Origin, Sources};
    use serde_json::json;

    fn attributed(revision: i64, before: ObjectVersion, after: Value) -> AttributedChange {
        let change = Change {
            revision: Revision(revision),
            sub_revision: 0,
            kind: ChangeKind::Modified,
            key: "/k".into(),
            origin: Origin::Db,
            sources: Sources::default(),
            before,
            after: Object::from(after).into(),
            may_be_creation: false,
            earlier: None,
        };
        AttributedChange { change, dated: None, actor: None, arrived: None, request: None }
    }

    fn revision(blamed: &Blamed, lines: &SetterTree) -> Option<i64> {
        blamed.setters[lines.own()].revision.map(|revision| revision.0)
    }

    #[test]
    fn each_value_is_blamed_on_its_own_change() {
        let first = json!({"spec": {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]}});
        let second = json!({"spec": {"containers": [{"name": "b", "image": "b:2"}, {"name": "a", "image": "a:1"}], "nodeName": "n1"}});
        let mut blame = Blame::default();
        blame.observe(&attributed(5, ObjectVersion::Absent, first.clone()));
        blame.observe(&attributed(6, Object::from(first).into(), second));
        let (_, blamed) = blame.finish().unwrap();
        let SetterTree::Object(root, own) = &blamed.lines else { panic!() };
        assert_eq!(*own, 0);
        let SetterTree::Object(spec, _) = &root[0].1 else { panic!() };
        assert_eq!(revision(&blamed, &spec[1].1), Some(6));
        let SetterTree::List(containers, _) = &spec[0].1 else { panic!() };
        let SetterTree::Object(b, _) = &containers[0] else { panic!() };
        assert_eq!((revision(&blamed, &b[0].1), revision(&blamed, &b[1].1)), (Some(6), Some(5)));
    }

    #[test]
    fn what_was_set_before_the_readable_history_has_no_revision() {
        let mut blame = Blame::default();
        blame.observe(&attributed(5, ObjectVersion::Unreadable, json!({"a": 1, "b": 1})));
        blame.observe(&attributed(6, Object::from(json!({"a": 1, "b": 1})).into(), json!({"a": 1, "b": 2})));
        let (_, blamed) = blame.finish().unwrap();
        let SetterTree::Object(root, _) = &blamed.lines else { panic!() };
        assert_eq!((revision(&blamed, &root[0].1), revision(&blamed, &root[1].1)), (None, Some(6)));
    }
}
