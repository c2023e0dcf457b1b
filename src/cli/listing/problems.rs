//! What went wrong with single values while a listing went on: broken ones each, sealed ones counted.

use std::collections::BTreeMap;

use crate::cli::output::note;
use crate::kube::Opaque;

/// Collects; broken values are reported at once, the rest at the end.
pub(super) struct Problems {
    broken: usize,
    /// By reason: how many, and the first key.
    expected: BTreeMap<String, (usize, String)>,
}

impl Problems {
    pub(super) fn new() -> Self {
        Self { broken: 0, expected: BTreeMap::new() }
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

    /// Says what was met and returns whether data was damaged.
    pub(super) fn report(self) -> bool {
        for (reason, (count, first)) in &self.expected {
            let which = if *count == 1 { first.clone() } else { format!("{count} values, the first {first},") };
            note(&format!("{which} not decoded: {reason}"));
        }
        self.broken > 0
    }
}
