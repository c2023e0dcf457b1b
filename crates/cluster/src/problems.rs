//! Problems of decoding that do not stop a command: each is reported once, all are counted at the end.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ketcd_kube::{Observer, Opaque, UnknownField};

use crate::notice::{Notice, Notices};

/// Collects over one command; broken values and, with `--unknown`, unknown fields are reported at once, the rest at the end.
#[derive(Debug, Default)]
pub struct Problems {
    shows_unknown: bool,
    notices: Notices,
    seen: Mutex<ProblemCounts>,
}

/// What was met. A value may be decoded more than once, so what is counted is known by its hash.
#[derive(Debug, Default)]
struct ProblemCounts {
    hasher: RandomState,
    fields: HashSet<u64>,
    objects: HashSet<u64>,
    broken: HashSet<u64>,
    opaque: HashSet<u64>,
    /// What is sealed, or no object: by reason how many, and the first key.
    expected: BTreeMap<String, (usize, String)>,
}

impl Problems {
    /// None yet; `shows_unknown` says whether unknown fields are noted one by one.
    pub fn new(shows_unknown: bool, notices: Notices) -> Self {
        Self { shows_unknown, notices, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, ProblemCounts> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many values were met so far that could not be decoded, sealed and damaged ones.
    pub fn not_decoded(&self) -> usize {
        let seen = self.seen();
        seen.broken.len() + seen.opaque.len()
    }

    /// Says what was counted and returns whether data was damaged.
    pub fn report(&self) -> bool {
        let seen = self.seen();
        for (reason, (count, first)) in &seen.expected {
            self.notices.note(&Notice::NotDecoded { reason: reason.clone(), count: *count, first: first.clone() });
        }
        let (fields, objects) = (seen.fields.len(), seen.objects.len());
        if fields > 0 && !self.shows_unknown {
            self.notices.note(&Notice::UnknownFields { fields, objects });
        }
        !seen.broken.is_empty()
    }
}

impl Observer for Problems {
    fn unknown_fields(&self, key: &[u8], fields: &[UnknownField]) {
        let mut seen = self.seen();
        let object = seen.hasher.hash_one(key);
        seen.objects.insert(object);
        for field in fields {
            let field_hash = seen.hasher.hash_one((object, &field.path, field.number, &field.bytes));
            if seen.fields.insert(field_hash) && self.shows_unknown {
                self.notices.note(&Notice::UnknownField { key: String::from_utf8_lossy(key).into_owned(), field: field.clone() });
            }
        }
    }

    fn opaque(&self, key: &[u8], mod_revision: i64, opaque: &Opaque) {
        let mut seen = self.seen();
        let value = seen.hasher.hash_one((key, mod_revision));
        let key = String::from_utf8_lossy(key);
        if !opaque.expected {
            if seen.broken.insert(value) {
                self.notices.note(&Notice::Broken { key: key.into_owned(), revision: mod_revision, reason: opaque.reason.clone() });
            }
        } else if seen.opaque.insert(value) {
            seen.expected.entry(opaque.reason.clone()).or_insert_with(|| (0, key.into_owned())).0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_met_twice_counts_once() {
        let problems = Problems::new(false, Notices::default());
        let field = UnknownField { path: "spec".to_owned(), number: 99, wire_type: 0, bytes: vec![1], masked: false };
        let other = UnknownField { number: 100, ..field.clone() };
        for _ in 0..2 {
            problems.unknown_fields(b"/registry/pods/a/b", &[field.clone(), other.clone()]);
            problems.unknown_fields(b"/registry/pods/a/c", std::slice::from_ref(&field));
            problems.opaque(b"/registry/secrets/a/b", 7, &Opaque { reason: "sealed".to_owned(), expected: true, length: 1 });
        }
        problems.opaque(b"/registry/secrets/a/b", 8, &Opaque { reason: "sealed".to_owned(), expected: true, length: 1 });
        let seen = problems.seen();
        assert_eq!((seen.fields.len(), seen.objects.len()), (3, 2));
        assert_eq!(seen.expected["sealed"], (2, "/registry/secrets/a/b".to_owned()));
        drop(seen);
        assert_eq!(problems.not_decoded(), 2);
        assert!(!problems.report());
        problems.opaque(b"/registry/pods/a/b", 9, &Opaque { reason: "cut short".to_owned(), expected: false, length: 1 });
        assert!(problems.report());
    }
}
