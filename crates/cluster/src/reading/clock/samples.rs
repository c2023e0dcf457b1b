//! Versions of a few objects, read for the times in them.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use jiff::Timestamp;

use ketcd_history::clock::{Clock, StampCollector};
use ketcd_kube::Decoder;
use ketcd_store::{Arrival, KeyValue, Revision};

/// What was read, by revision.
#[derive(Default)]
pub(super) struct Samples {
    versions: BTreeMap<(Revision, Bytes), Sample>,
    /// When revisions arrived at a recorder, by the first of them.
    arrivals: BTreeMap<Revision, Arrival>,
    /// Whether these are times that a bundle's source dated revisions by.
    are_dates: bool,
}

enum Sample {
    Version(KeyValue),
    /// When the object was created, as a later version of it says.
    Creation(Timestamp),
}

impl Samples {
    /// None yet; `are_dates` says whether arrivals are times that a bundle's source dated revisions by.
    pub(super) fn new(are_dates: bool) -> Self {
        Self { are_dates, ..Self::default() }
    }

    pub(super) fn add(&mut self, version: KeyValue) {
        self.versions.insert((version.mod_revision, version.key.clone()), Sample::Version(version));
    }

    /// Adds when some revisions arrived at a recorder.
    pub(super) fn add_arrivals(&mut self, arrivals: Vec<Arrival>) {
        self.arrivals.extend(arrivals.into_iter().map(|arrival| (arrival.from, arrival)));
    }

    pub(super) fn add_creation(&mut self, key: Bytes, revision: Revision, created: Timestamp) {
        self.versions.entry((revision, key)).or_insert(Sample::Creation(created));
    }

    /// The version of a key at a revision, where it is known for sure: the next one is here, too, or was written at that revision.
    pub(super) fn version_at(&self, key: &[u8], revision: Revision) -> Option<&KeyValue> {
        let of_key = |((_, sampled), sample): (&(Revision, Bytes), &'_ Sample)| sampled == key && matches!(sample, Sample::Version(_));
        let mut before = self.versions.range(..=(revision, Bytes::from_static(&[0xff]))).rev();
        let Some(Sample::Version(version)) = before.find(|&entry| of_key(entry)).map(|(_, sample)| sample) else { return None };
        if version.mod_revision == revision {
            return Some(version);
        }
        let mut after = self.versions.range((revision.after(), Bytes::new())..);
        let next = after.find(|&entry| of_key(entry)).map(|(_, sample)| sample);
        matches!(next, Some(Sample::Version(next)) if next.follows(version)).then_some(version)
    }

    pub(super) fn clock(&self, decoder: &Decoder) -> Clock {
        let mut evidence = StampCollector::default();
        let mut last: HashMap<&[u8], &KeyValue> = HashMap::new();
        for ((revision, key), sample) in &self.versions {
            match sample {
                Sample::Creation(created) => evidence.observe_creation(*revision, *created),
                Sample::Version(version) => {
                    if last.insert(key, version).is_none_or(|last| !version.follows(last)) {
                        evidence.forget(key);
                    }
                    let decoded = decoder.only(StampCollector::looked_at()).decode(key, &version.value, revision.0);
                    evidence.observe(*revision, key, version.version == 1, decoded.object());
                }
            }
        }
        match self.are_dates {
            true => self.arrivals.values().for_each(|date| evidence.observe_date(date)),
            false => self.arrivals.values().for_each(|arrival| evidence.observe_arrival(arrival)),
        }
        evidence.finish()
    }
}
