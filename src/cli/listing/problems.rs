//! What went wrong with single values while a listing went on: broken ones each, sealed ones counted, unknown fields counted or shown.

use std::collections::BTreeMap;

use crate::cli::output::note;
use crate::kube::{Opaque, UnknownField};

/// Collects; broken values are reported at once, the rest at the end.
pub(super) struct Problems {
    shows_unknown: bool,
    broken: usize,
    /// By reason: how many, and the first key.
    expected: BTreeMap<String, (usize, String)>,
    unknown_fields: usize,
    unknown_objects: usize,
}

impl Problems {
    pub(super) fn new(shows_unknown: bool) -> Self {
        Self { shows_unknown, broken: 0, expected: BTreeMap::new(), unknown_fields: 0, unknown_objects: 0 }
    }

    pub(super) fn opaque(&mut self, key: &[u8], revision: i64, opaque: &Opaque) {
        let key = String::from_utf8_lossy(key);
        if opaque.expected {
            self.expected.entry(opaque.reason.clone()).or_insert_with(|| (0, key.into_owned())).0 += 1;
        } else {
            self.broken += 1;
            note(&format!("{key} at revision {revision} is broken: {}", opaque.reason));
        }
    }

    pub(super) fn unknown(&mut self, key: &[u8], fields: &[UnknownField]) {
        if fields.is_empty() {
            return;
        }
        self.unknown_fields += fields.len();
        self.unknown_objects += 1;
        if self.shows_unknown {
            fields.iter().for_each(|field| note(&format!("{}: {field}", String::from_utf8_lossy(key))));
        }
    }

    /// Says what was met and returns whether data was damaged.
    pub(super) fn report(self) -> bool {
        for (reason, (count, first)) in &self.expected {
            let which = if *count == 1 { first.clone() } else { format!("{count} values, the first {first},") };
            note(&format!("{which} not decoded: {reason}"));
        }
        if self.unknown_fields > 0 && !self.shows_unknown {
            note(&format!("{} unknown fields in {} objects left out; --unknown shows them", self.unknown_fields, self.unknown_objects));
        }
        self.broken > 0
    }
}
