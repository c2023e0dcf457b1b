//! RFC 6902: the shortest patch we know that turns one version into the next, exactly.

use json_patch::jsonptr::{PointerBuf, Token};
use json_patch::{AddOperation, MoveOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation};
use serde_json::{Map, Value};

use super::align::{Alignment, align};

/// Whether `metadata.managedFields` of an object is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ManagedFields {
    /// No, as kubectl does without `--show-managed-fields`.
    #[default]
    Hidden,
    /// Yes.
    Shown,
}

/// Returns the patch that turns `before` into `after`; empty where they are equal.
/// Applying it to `before` gives `after` exactly, the order of lists included. Hidden managedFields count as absent from both.
pub fn patch(before: &Value, after: &Value, managed_fields: ManagedFields) -> Patch {
    let mut writer = PatchWriter { managed_fields, path: PointerBuf::root(), operations: Vec::new() };
    writer.value("", before, after);
    Patch(writer.operations)
}

struct PatchWriter {
    managed_fields: ManagedFields,
    path: PointerBuf,
    operations: Vec<PatchOperation>,
}

impl PatchWriter {
    fn value(&mut self, name: &str, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Object(old), Value::Object(new)) => self.object(old, new),
            (Value::Array(old), Value::Array(new)) => self.list(name, old, new, after),
            _ if before != after => self.replace(after),
            _ => {}
        }
    }

    fn object(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        let hides_managed_fields = self.managed_fields == ManagedFields::Hidden && self.path.as_str() == "/metadata";
        let is_shown = |name: &String| !hides_managed_fields || name != "managedFields";
        for (name, old) in before.iter().filter(|(name, _)| is_shown(name)) {
            match after.get(name) {
                Some(new) => self.at(name.as_str(), |writer| writer.value(name, old, new)),
                None => self.at(name.as_str(), Self::remove),
            }
        }
        for (name, new) in after.iter().filter(|(name, _)| is_shown(name) && !before.contains_key(*name)) {
            self.at(name.as_str(), |writer| writer.add(new));
        }
    }

    /// Removes from the end, then puts each item that is new or has moved right behind the one before it, then descends.
    fn list(&mut self, name: &str, before: &[Value], after: &[Value], whole: &Value) {
        if before == after {
            return;
        }
        let Alignment { from, removed, .. } = align(name, before, after);
        if !before.is_empty() && from.iter().all(Option::is_none) {
            return self.replace(whole);
        }
        for &place in removed.iter().rev() {
            self.at(place, Self::remove);
        }
        let mut now: Vec<usize> = (0..before.len()).filter(|place| removed.binary_search(place).is_err()).collect();
        let stays = longest_ascending(&from);
        let mut next = 0;
        for (place, &origin) in from.iter().enumerate() {
            match origin {
                Some(old) if stays[place] => next = position(&now, old) + 1,
                Some(old) => next = self.move_item(&mut now, old, next),
                None => {
                    self.at(next, |writer| writer.add(&after[place]));
                    now.insert(next, usize::MAX);
                    next += 1;
                }
            }
        }
        for (place, origin) in from.iter().enumerate() {
            if let Some(old) = *origin {
                self.at(place, |writer| writer.value(name, &before[old], &after[place]));
            }
        }
    }

    /// Moves the item that was at `old` to index `to` of the list as it is `now`; returns the index behind it.
    fn move_item(&mut self, now: &mut Vec<usize>, old: usize, to: usize) -> usize {
        let here = position(now, old);
        let to = if here < to { to - 1 } else { to };
        now.remove(here);
        now.insert(to, old);
        if here != to {
            let from = self.child(here);
            let path = self.child(to);
            self.operations.push(PatchOperation::Move(MoveOperation { from, path }));
        }
        to + 1
    }

    /// A copy of the value at the path, without what is left out.
    fn shown(&self, value: &Value) -> Value {
        let mut value = value.clone();
        let metadata = match self.path.as_str() {
            "" => value.get_mut("metadata"),
            "/metadata" => Some(&mut value),
            _ => None,
        };
        if let (ManagedFields::Hidden, Some(Value::Object(metadata))) = (self.managed_fields, metadata) {
            metadata.remove("managedFields");
        }
        value
    }

    fn at<'t>(&mut self, token: impl Into<Token<'t>>, work: impl FnOnce(&mut Self)) {
        self.path.push_back(token);
        work(self);
        self.path.pop_back();
    }

    fn child(&self, place: usize) -> PointerBuf {
        let mut path = self.path.clone();
        path.push_back(place);
        path
    }

    fn add(&mut self, value: &Value) {
        self.operations.push(PatchOperation::Add(AddOperation { path: self.path.clone(), value: self.shown(value) }));
    }

    fn remove(&mut self) {
        self.operations.push(PatchOperation::Remove(RemoveOperation { path: self.path.clone() }));
    }

    fn replace(&mut self, value: &Value) {
        self.operations.push(PatchOperation::Replace(ReplaceOperation { path: self.path.clone(), value: self.shown(value) }));
    }
}

fn position(now: &[usize], old: usize) -> usize {
    now.iter().position(|&item| item == old).expect("an aligned item is in the list until it is removed")
}

/// Marks the items that need not move: the longest run whose old indices ascend.
fn longest_ascending(from: &[Option<usize>]) -> Vec<bool> {
    let mut tails: Vec<usize> = Vec::new();
    let mut previous = vec![None; from.len()];
    for (place, origin) in from.iter().enumerate() {
        let Some(old) = *origin else { continue };
        let length = tails.partition_point(|&tail| from[tail] < Some(old));
        previous[place] = length.checked_sub(1).map(|shorter| tails[shorter]);
        if length == tails.len() {
            tails.push(place);
        } else {
            tails[length] = place;
        }
    }
    let mut stays = vec![false; from.len()];
    let mut next = tails.last().copied();
    while let Some(place) = next {
        stays[place] = true;
        next = previous[place];
    }
    stays
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn check(before: Value, after: Value, operations: usize) {
        let patch = patch(&before, &after, ManagedFields::Shown);
        let mut applied = before;
        json_patch::patch(&mut applied, &patch).unwrap();
        assert_eq!(applied, after, "{patch}");
        assert_eq!(patch.0.len(), operations, "{patch}");
    }

    #[test]
    fn a_condition_put_first_is_one_operation() {
        let old = json!({"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]});
        let new =
            json!({"conditions": [{"type": "C", "status": "True"}, {"type": "A", "status": "True"}, {"type": "B", "status": "True"}]});
        check(old, new, 1);
    }

    #[test]
    fn a_reordered_list_is_one_move() {
        check(
            json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
            json!({"containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}]}),
            1,
        );
        check(
            json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}),
            json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
            1,
        );
    }

    #[test]
    fn a_list_that_shares_nothing_is_replaced() {
        check(json!({"args": []}), json!({"args": ["a", "b"]}), 2);
        check(json!({"volumes": [{"name": "a"}, {"name": "b"}]}), json!({"volumes": [{"name": "c"}]}), 1);
    }

    #[test]
    fn keys_that_need_escaping_and_the_root() {
        check(json!({"labels": {"a/b": "1", "c~d": "2"}}), json!({"labels": {"a/b": "2"}}), 2);
        check(json!(null), json!({"a": 1}), 1);
        check(json!({"a": 1}), json!(null), 1);
    }

    #[test]
    fn hidden_managed_fields_are_in_no_patch() {
        let version = |labels: Value, manager: &str| json!({"metadata": {"labels": labels, "managedFields": [{"manager": manager}]}});
        let (before, after) = (version(json!({"a": "1"}), "kubelet"), version(json!({"a": "2"}), "kubectl"));
        let hidden = |before: &Value, after: &Value| patch(before, after, ManagedFields::Hidden).to_string();
        assert_eq!(hidden(&before, &after), r#"[{"op":"replace","path":"/metadata/labels/a","value":"2"}]"#);
        assert_eq!(patch(&before, &after, ManagedFields::Shown).0.len(), 2);
        assert_eq!(hidden(&json!({}), &after), r#"[{"op":"add","path":"/metadata","value":{"labels":{"a":"2"}}}]"#);
        assert_eq!(hidden(&json!(null), &after), r#"[{"op":"replace","path":"","value":{"metadata":{"labels":{"a":"2"}}}}]"#);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4i64).prop_map(Value::from),
            "[a-c~/]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            let name = prop_oneof![
                Just("name"),
                Just("type"),
                Just("conditions"),
                Just("ports"),
                Just("containerPort"),
                Just("key"),
                Just("a/~b")
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(name.prop_map(str::to_owned), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn applying_a_patch_gives_the_other_version(before in value(), after in value()) {
            let patch = patch(&before, &after, ManagedFields::Shown);
            let mut applied = before.clone();
            json_patch::patch(&mut applied, &patch).unwrap();
            prop_assert_eq!(applied, after);
            prop_assert!(super::patch(&before, &before, ManagedFields::Shown).0.is_empty());
        }

        #[test]
        fn keyed_lists_in_any_order(old in prop::collection::hash_set(0..12u8, 0..10), new in prop::collection::hash_set(0..12u8, 0..10)) {
            let list = |set: &std::collections::HashSet<u8>| json!({"containers": set.iter().map(|n| json!({"name": n.to_string()})).collect::<Vec<_>>()});
            let (before, after) = (list(&old), list(&new));
            let patch = patch(&before, &after, ManagedFields::Shown);
            let mut applied = before;
            json_patch::patch(&mut applied, &patch).unwrap();
            prop_assert_eq!(applied, after);
        }
    }
}
