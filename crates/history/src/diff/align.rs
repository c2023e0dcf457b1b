//! Which item of a list became which: by key where the items have one, else by the longest common subsequence.

use std::collections::HashMap;

use serde_json::Value;

use super::keys::{self, Key};

/// Cells of the table that a longest common subsequence may take; larger lists are paired by position.
const LARGEST_TABLE: usize = 4_000_000;

/// How the items of a list before and after belong together.
#[derive(Debug, PartialEq, Eq)]
pub struct Alignment {
    /// For each item after, its index before; `None` for a new one.
    pub from: Vec<Option<usize>>,
    /// Indices before of the items that are gone, ascending.
    pub removed: Vec<usize>,
    /// Whether items were identified by a key, so that they may also have moved.
    pub keyed: bool,
}

/// Pairs the items of the list in field `list`.
pub fn align(list: &str, before: &[Value], after: &[Value]) -> Alignment {
    by_key(list, before, after).unwrap_or_else(|| by_order(before, after))
}

fn by_key(list: &str, before: &[Value], after: &[Value]) -> Option<Alignment> {
    if !before.iter().chain(after).all(Value::is_object) {
        return None;
    }
    keys::candidates(list).find_map(|key| {
        let old = index(key, before)?;
        let new = index(key, after)?;
        let mut from = vec![None; after.len()];
        for (identity, &place) in &new {
            from[place] = old.get(identity).copied();
        }
        Some(alignment(from, before.len(), true))
    })
}

/// Items by their key; `None` where two items share one or most have none.
fn index(key: Key, items: &[Value]) -> Option<HashMap<Vec<Option<&Value>>, usize>> {
    let mut places = HashMap::with_capacity(items.len());
    let mut nameless = 0;
    for (place, item) in items.iter().enumerate() {
        let identity: Vec<_> = key.iter().map(|path| keys::part(item, path)).collect();
        nameless += usize::from(identity.iter().all(Option::is_none));
        if places.insert(identity, place).is_some() || nameless > 1 {
            return None;
        }
    }
    (nameless == 0 || items.len() > 1).then_some(places)
}

fn by_order(before: &[Value], after: &[Value]) -> Alignment {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let tail = before[head..].iter().rev().zip(after[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let old = &before[head..before.len() - tail];
    let new = &after[head..after.len() - tail];
    let mut from: Vec<Option<usize>> = (0..head).map(Some).collect();
    from.extend(pair_gaps(&common(old, new), old.len(), new.len()).into_iter().map(|place| place.map(|index| index + head)));
    from.extend((before.len() - tail..before.len()).map(Some));
    alignment(from, before.len(), false)
}

/// The pairs of equal items in the longest common subsequence.
fn common(old: &[Value], new: &[Value]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > LARGEST_TABLE {
        return Vec::new();
    }
    let width = new.len() + 1;
    let mut length = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i * width + j] = if old[i] == new[j] {
                length[(i + 1) * width + j + 1] + 1
            } else {
                length[(i + 1) * width + j].max(length[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((i, j));
            i += 1;
            j += 1;
        } else if length[(i + 1) * width + j] >= length[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Between equal items, pairs what is left by position: those were changed in place.
fn pair_gaps(equal: &[(usize, usize)], old: usize, new: usize) -> Vec<Option<usize>> {
    let mut from = vec![None; new];
    let (mut i, mut j) = (0, 0);
    for &(next_old, next_new) in equal.iter().chain([&(old, new)]) {
        while i < next_old && j < next_new {
            from[j] = Some(i);
            i += 1;
            j += 1;
        }
        if next_new < new {
            from[next_new] = Some(next_old);
        }
        (i, j) = (next_old + 1, next_new + 1);
    }
    from
}

fn alignment(from: Vec<Option<usize>>, before: usize, keyed: bool) -> Alignment {
    let mut kept = vec![false; before];
    from.iter().flatten().for_each(|&place| kept[place] = true);
    let removed = (0..before).filter(|&place| !kept[place]).collect();
    Alignment { from, removed, keyed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn from(list: &str, before: Value, after: Value) -> Vec<Option<usize>> {
        align(list, before.as_array().unwrap(), after.as_array().unwrap()).from
    }

    #[test]
    fn keyed_items_are_found_wherever_they_are() {
        let before = json!([{"type": "A", "v": 1}, {"type": "B"}]);
        assert_eq!(from("conditions", before, json!([{"type": "C"}, {"type": "B"}, {"type": "A", "v": 2}])), [None, Some(1), Some(0)]);
    }

    #[test]
    fn items_that_share_a_key_are_paired_by_order() {
        let before = json!([{"name": "A"}, {"name": "A"}]);
        assert_eq!(from("x", before, json!([{"name": "A"}, {"name": "A"}, {"name": "A"}])), [Some(0), Some(1), None]);
    }

    #[test]
    fn scalars_keep_their_longest_common_run() {
        assert_eq!(from("args", json!(["a", "b", "c"]), json!(["x", "a", "c"])), [None, Some(0), Some(2)]);
        assert_eq!(from("args", json!(["a", "b", "c"]), json!(["a", "z", "c"])), [Some(0), Some(1), Some(2)]);
    }
}
