//! Parts of objects that were looked through before: of a thousand pods of one template, containers, labels and tolerations are rewritten once.
//!
//! A part is known by a hash of all that its rewriting depends on, under a random key. What is rewritten by the names of the object around it is not kept.

use std::collections::hash_map::{DefaultHasher, Entry};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::Value;

use crate::tally::CountedPlace;

/// Parts that were learned are known up to this many; then all are forgotten.
const MAX_LEARNED: usize = 1 << 20;
/// Parts are known by sight up to this many.
const MAX_SEEN: usize = 1 << 18;
/// Parts are kept as they were rewritten up to this many.
const MAX_KEPT: usize = 1 << 11;
/// Larger parts are not kept.
const MAX_PART_BYTES: usize = 8 << 10;

/// A part of an object, where it is.
pub(crate) struct Part {
    hash: u64,
    bytes: usize,
}

/// A part as it was rewritten.
#[derive(Debug)]
pub(crate) struct RewrittenPart {
    pub value: Value,
    /// What was counted.
    pub counts: Vec<CountedPlace>,
}

/// What was looked through before.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    hasher: RandomState,
    learned: HashSet<u64>,
    /// Parts that were rewritten once: only what comes again is worth keeping.
    seen: HashSet<u64>,
    kept: HashMap<u64, RewrittenPart>,
}

impl Memo {
    /// A part by what it is and where.
    pub(crate) fn part(&self, place: impl Hash, value: &Value) -> Part {
        let mut hasher = CountingHasher { hasher: self.hasher.build_hasher(), bytes: 0 };
        place.hash(&mut hasher);
        value.hash(&mut hasher);
        Part { hash: hasher.hasher.finish(), bytes: hasher.bytes }
    }

    /// Whether a part is to be learned: whether it was not before.
    pub(crate) fn is_news(&mut self, part: &Part) -> bool {
        if self.learned.len() >= MAX_LEARNED {
            self.learned.clear();
        }
        self.learned.insert(part.hash)
    }

    /// The part as it was rewritten before.
    pub(crate) fn rewritten(&self, part: &Part) -> Option<&RewrittenPart> {
        self.kept.get(&part.hash)
    }

    /// Whether a part that is rewritten now is worth keeping.
    pub(crate) fn comes_again(&mut self, part: &Part) -> bool {
        if self.seen.len() >= MAX_SEEN {
            self.seen.clear();
        }
        !self.seen.insert(part.hash) && part.bytes <= MAX_PART_BYTES
    }

    /// Keeps a part as it was rewritten.
    pub(crate) fn keep(&mut self, part: &Part, rewritten: RewrittenPart) {
        if self.kept.len() >= MAX_KEPT {
            self.kept.clear();
        }
        if let Entry::Vacant(vacant) = self.kept.entry(part.hash) {
            vacant.insert(rewritten);
        }
    }
}

/// Counts the bytes that it hashes.
struct CountingHasher {
    hasher: DefaultHasher,
    bytes: usize,
}

impl Hasher for CountingHasher {
    fn finish(&self) -> u64 {
        self.hasher.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.hasher.write(bytes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_again_is_kept() {
        let mut memo = Memo::default();
        let labels = json!({"app": "web"});
        let part = memo.part("Pod.metadata.labels", &labels);
        assert!(memo.is_news(&part) && !memo.is_news(&part));
        assert!(!memo.comes_again(&part) && memo.comes_again(&part));
        assert!(memo.rewritten(&part).is_none());
        memo.keep(&part, RewrittenPart { value: json!({"app": "x"}), counts: vec![1] });
        let again = memo.part("Pod.metadata.labels", &labels);
        assert_eq!(memo.rewritten(&again).unwrap().value, json!({"app": "x"}));
        let elsewhere = memo.part("Pod.spec.nodeSelector", &labels);
        assert!(memo.rewritten(&elsewhere).is_none() && memo.is_news(&elsewhere));
        let large = json!(["x".repeat(MAX_PART_BYTES)]);
        let large = memo.part("Pod.spec.x", &large);
        assert!(!memo.comes_again(&large) && !memo.comes_again(&large));
    }
}
