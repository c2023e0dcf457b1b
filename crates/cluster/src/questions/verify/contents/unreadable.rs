//! Which values cannot be read, why, since when, and the last version that could be.

use std::collections::{BTreeMap, HashMap, HashSet};

use bytes::Bytes;

use ketcd_kube::COMPACT_REV_KEY;
use ketcd_store::{KeyValue, Revision, Source};

use super::super::finding::{Finding, FindingKind, Weight};
use super::super::part::Part;

/// More keys are counted and not named.
const MAX_KEYS_NAMED: usize = 100;

/// More reasons for unknown kinds are not named.
const MAX_REASONS_NAMED: usize = 5;

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
    /// It is of a kind that is not known, as this reason says.
    Unknown(String),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// One change, as far as it was read.
pub(super) struct ReadChange {
    pub key: Bytes,
    pub revision: Revision,
    /// The version, without its value.
    pub version: KeyValue,
    pub value: Value,
}

/// The last version of a key that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastGood {
    At(Revision),
    /// None is left.
    None,
    /// Earlier versions are sealed, or were not read.
    NotRead,
}

/// What is known of a key that could not be read at some time.
struct Trouble {
    /// The first revision that could not be read.
    since: Revision,
    reason: String,
    /// The last version before it that could be read.
    before: LastGood,
    /// The revision at which it could be read again, or was deleted.
    until: Option<Revision>,
    /// The last version that could be read after that.
    good: Option<Revision>,
}

/// Gathers what cannot be read.
pub(super) struct Unreadable {
    /// Whether every version is looked at, and not the newest of each key alone.
    has_history: bool,
    keys: BTreeMap<Bytes, Trouble>,
    /// The newest version of each key, where the source cannot be asked for one before another.
    newest: Option<HashMap<Bytes, Revision>>,
    /// Keys whose newest version so far could not be looked at.
    closed: HashSet<Bytes>,
    /// How many versions are another program's.
    foreign: usize,
    /// How many versions are sealed, by provider.
    sealed: BTreeMap<String, usize>,
    /// How many versions are of kinds that are not known, by the reason.
    unknown: BTreeMap<String, usize>,
}

impl Unreadable {
    /// Nothing yet, of every version or of the newest of each key; `reads_before` says whether the source gives the version before another.
    pub(super) fn of(has_history: bool, reads_before: bool) -> Self {
        let newest = (has_history && !reads_before).then(HashMap::new);
        let (keys, closed, sealed, unknown) = (BTreeMap::new(), HashSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { has_history, keys, newest, closed, foreign: 0, sealed, unknown }
    }

    /// Takes the next change.
    pub(super) fn see(&mut self, read: ReadChange, source: &dyn Source) {
        let ReadChange { key, revision, version, value } = read;
        match value {
            Value::Foreign => self.foreign += usize::from(&key[..] != COMPACT_REV_KEY),
            Value::Sealed(by) => {
                *self.sealed.entry(by).or_default() += 1;
                self.closed.insert(key);
            }
            Value::Unknown(reason) => {
                *self.unknown.entry(reason).or_default() += 1;
                self.closed.insert(key);
            }
            Value::Good => {
                self.closed.remove(&key);
                if let Some(trouble) = self.keys.get_mut(&key) {
                    trouble.until.get_or_insert(revision);
                    trouble.good = Some(revision);
                } else if let Some(newest) = &mut self.newest {
                    newest.insert(key, revision);
                }
            }
            Value::Deleted => {
                if let Some(trouble) = self.keys.get_mut(&key) {
                    trouble.until.get_or_insert(revision);
                }
            }
            Value::Unreadable(reason) => {
                if self.keys.get(&key).is_none_or(|trouble| trouble.until.is_some()) {
                    let before = self.last_good(&key, &version, source);
                    self.keys.insert(key, Trouble { since: revision, reason, before, until: None, good: None });
                }
            }
        }
    }

    /// The last version of a key that could be read before this one, the first that cannot be.
    fn last_good(&self, key: &Bytes, version: &KeyValue, source: &dyn Source) -> LastGood {
        if let Some(trouble) = self.keys.get(key) {
            return trouble.good.map_or(trouble.before, LastGood::At);
        }
        if !self.has_history || self.closed.contains(key) {
            return LastGood::NotRead;
        }
        let before = match &self.newest {
            Some(newest) => newest.get(key).copied(),
            None => source.read_before(version).map(|before| before.mod_revision),
        };
        before.map_or(LastGood::None, LastGood::At)
    }

    /// Whether every value of the API server's was read.
    pub(super) fn all_decode(&self) -> bool {
        self.keys.is_empty() && self.sealed.is_empty() && self.unknown.is_empty()
    }

    /// Says what was found.
    pub(super) fn finish(self) -> Part {
        let mut part = Part::default();
        let values = |count: usize| if count == 1 { "1 value".to_owned() } else { format!("{count} values") };
        if self.foreign > 0 {
            part.not_checked.push(format!("{} outside of the API server's keys", values(self.foreign)));
        }
        for (by, count) in &self.sealed {
            let text = format!("{} sealed by {by}, whose keys are not given (--encryption-config FILE)", values(*count));
            part.not_checked.push(text);
        }
        let unknown = self.unknown.iter().take(MAX_REASONS_NAMED).map(|(reason, count)| format!("{}: {reason}", values(*count)));
        part.not_checked.extend(unknown);
        let more = self.keys.len().saturating_sub(MAX_KEYS_NAMED);
        // What is still there comes first.
        let mut keys: Vec<(Bytes, Trouble)> = self.keys.into_iter().collect();
        keys.sort_by_key(|(_, trouble)| trouble.until.is_some());
        let named = keys.into_iter().take(MAX_KEYS_NAMED);
        part.findings.extend(named.map(|(key, trouble)| finding(&key, trouble, self.has_history)));
        if more > 0 {
            let says = format!("{more} more keys have values that cannot be read");
            part.findings.push(Finding::new(FindingKind::Unreadable, Weight::Medium, says));
        }
        part
    }
}

fn finding(key: &[u8], trouble: Trouble, has_history: bool) -> Finding {
    let Trouble { since, reason, before, until, .. } = trouble;
    let (weight, says) = match until {
        None if has_history => (Weight::Medium, format!("cannot be read since revision {since}: {reason}")),
        None => (Weight::Medium, format!("cannot be read: {reason}")),
        Some(until) => (Weight::Low, format!("could not be read from revision {since} to before revision {until}: {reason}")),
    };
    let last = match before {
        LastGood::At(before) => format!("the last version that can be read is that of revision {before}"),
        LastGood::None => "no earlier version of it is left".to_owned(),
        LastGood::NotRead => "whether an earlier version can be read is not known".to_owned(),
    };
    Finding::new(FindingKind::Unreadable, weight, says).of_key(key).at(since).because(last)
}
