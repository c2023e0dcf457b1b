//! Which values cannot be read, why, since when, and the last version that could be.

use std::collections::BTreeMap;

use bytes::Bytes;

use ketcd_kube::COMPACT_REV_KEY;
use ketcd_store::{KeyValue, Revision, Source};

use super::super::finding::{Finding, FindingKind, Weight};
use super::super::part::Part;

/// More keys are counted and not named.
const MAX_KEYS_NAMED: usize = 100;

/// What a value turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// It decodes.
    Good,
    /// There is none any more.
    Deleted,
    /// It is not an API server's.
    Foreign,
    /// It is sealed by this provider, whose keys are not at hand.
    Sealed(String),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// One change, as far as it was read.
pub(super) struct Read {
    pub key: Bytes,
    pub revision: Revision,
    /// The version, without its value.
    pub version: KeyValue,
    pub value: Value,
}

/// What is known of a key that could not be read at some time.
struct Trouble {
    /// The first revision that could not be read.
    since: Revision,
    reason: String,
    /// The last version before it that could be read.
    before: Option<Revision>,
    /// The revision at which it could be read again, or was deleted.
    until: Option<Revision>,
}

/// Gathers what cannot be read.
#[derive(Default)]
pub(super) struct Unreadable {
    keys: BTreeMap<Bytes, Trouble>,
    /// How many versions are another program's.
    foreign: usize,
    /// How many versions are sealed, by provider.
    sealed: BTreeMap<String, usize>,
}

impl Unreadable {
    /// Takes the next change.
    pub(super) fn see(&mut self, read: Read, source: &dyn Source) {
        let Read { key, revision, version, value } = read;
        match value {
            Value::Foreign => self.foreign += usize::from(&key[..] != COMPACT_REV_KEY),
            Value::Sealed(by) => *self.sealed.entry(by).or_default() += 1,
            Value::Good | Value::Deleted => {
                if let Some(trouble) = self.keys.get_mut(&key) {
                    trouble.until.get_or_insert(revision);
                }
            }
            Value::Unreadable(reason) => {
                let before = || source.read_before(&version).map(|before| before.mod_revision);
                let is_known = self.keys.get(&key).is_some_and(|trouble| trouble.until.is_none());
                if !is_known {
                    self.keys.insert(key, Trouble { since: revision, reason, before: before(), until: None });
                }
            }
        }
    }

    /// Whether every value of the API server's was read.
    pub(super) fn all_decode(&self) -> bool {
        self.keys.is_empty() && self.sealed.is_empty()
    }

    /// Says what was found.
    pub(super) fn finish(self) -> Part {
        let mut part = Part::default();
        if self.foreign > 0 {
            let values = if self.foreign == 1 { "1 value" } else { &format!("{} values", self.foreign) };
            part.not_checked.push(format!("{values} outside of the API server's keys"));
        }
        for (by, count) in &self.sealed {
            let values = if *count == 1 { "1 value" } else { &format!("{count} values") };
            part.not_checked.push(format!("{values} sealed by {by}, whose keys are not given (--encryption-config FILE)"));
        }
        let more = self.keys.len().saturating_sub(MAX_KEYS_NAMED);
        // What is still there comes first.
        let mut keys: Vec<(Bytes, Trouble)> = self.keys.into_iter().collect();
        keys.sort_by_key(|(_, trouble)| trouble.until.is_some());
        part.findings.extend(keys.into_iter().take(MAX_KEYS_NAMED).map(|(key, trouble)| finding(&key, trouble)));
        if more > 0 {
            let says = format!("{more} more keys have values that cannot be read");
            part.findings.push(Finding::new(FindingKind::Unreadable, Weight::Medium, says));
        }
        part
    }
}

fn finding(key: &[u8], trouble: Trouble) -> Finding {
    let Trouble { since, reason, before, until } = trouble;
    let (weight, says) = match until {
        None => (Weight::Medium, format!("cannot be read since revision {since}: {reason}")),
        Some(until) => (Weight::Low, format!("could not be read from revision {since} to before revision {until}: {reason}")),
    };
    let last = match before {
        Some(before) => format!("the last version that can be read is that of revision {before}"),
        None => "no earlier version of it is left".to_owned(),
    };
    Finding::new(FindingKind::Unreadable, weight, says).of_key(key).at(since).because(last)
}
