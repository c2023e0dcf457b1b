//! The difference between two states of a cluster: objects that are new, gone, or changed.

use bytes::Bytes;

use super::change::{ChangeKind, ObjectVersion};
use super::diff::{Detail, object_fields};
use super::noise;
use ketcd_store::{KeyValue, Revision};

/// An object that differs between two states.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// etcd's key.
    pub key: Bytes,
    /// In the first state.
    pub before: ObjectVersion,
    /// In the second state.
    pub after: ObjectVersion,
    /// The revision that wrote the version of the second state, or of the first where the object is gone.
    pub revision: Revision,
}

/// What a difference amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Something a reader wants to know.
    Telling,
    /// Only bookkeeping and heartbeats.
    Noise,
    /// An Event came or went: a message of a component, not state.
    Event,
}

impl Difference {
    /// Whether the object is new, changed or gone.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (ObjectVersion::Absent, _) => ChangeKind::Added,
            (_, ObjectVersion::Absent) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        }
    }

    /// How much it matters.
    pub fn weight(&self) -> Weight {
        let object = self.after.object().or(self.before.object());
        if object.is_some_and(|object| object["kind"] == "Event") {
            return Weight::Event;
        }
        match (self.before.whole(), self.after.whole()) {
            (Some(before), Some(after)) if noise::fold(object_fields(before, after, Detail::Story)).0.is_empty() => Weight::Noise,
            _ => Weight::Telling,
        }
    }
}

/// Pairs two lists of entries, both ascending by key, and returns the pairs that differ.
pub fn join(before: Vec<KeyValue>, after: Vec<KeyValue>) -> Vec<(Option<KeyValue>, Option<KeyValue>)> {
    let (mut old, mut new) = (before.into_iter().peekable(), after.into_iter().peekable());
    let mut pairs = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.key.cmp(&new.key),
        };
        let pair = (old.next_if(|_| order.is_le()), new.next_if(|_| order.is_ge()));
        if !matches!(&pair, (Some(old), Some(new)) if old.value == new.value) {
            pairs.push(pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &'static str, value: &'static str) -> KeyValue {
        let one = Revision(1);
        KeyValue {
            key: key.into(),
            value: value.into(),
            create_revision: one,
            mod_revision: one,
            version: 1,
            replaced: Revision(0),
            lease: 0,
        }
    }

    #[test]
    fn only_what_differs_is_paired() {
        let before = vec![entry("a", "1"), entry("b", "1"), entry("c", "1")];
        let after = vec![entry("b", "1"), entry("c", "2"), entry("d", "1")];
        let pairs = join(before, after);
        assert_eq!(pairs, [(Some(entry("a", "1")), None), (Some(entry("c", "1")), Some(entry("c", "2"))), (None, Some(entry("d", "1"))),]);
    }
}
