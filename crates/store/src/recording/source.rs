//! A recording as a [`Source`]: states and changes put together, and what was not recorded. Opening it reads the manifest and the file that is
//! being written; of the others a question reads what it needs.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::coverage::{holes, joined, left_out, not_asked, uncovered};
use super::facts::{BundleScope, FileFacts, FileKind};
use super::file_reader::{FileReader, Read};
use super::look::{DirectoryListing, RecordedFile};
use crate::arrival::each_once;
use crate::{
    Arrival, Arrivals, At, EarlierRevisions, Error, Event, EventKind, Facts, HistoryKind, KeyRange, KeyValue, LateDamage, Listing,
    NoShortcuts, Origin, Result, Revision, RevisionSpan, Source, SourceKind, SourceStatus, Until, Want, WatchItem,
};

/// The first revision that can hold a change: an empty store is at 1.
const FIRST_CHANGE: i64 = 2;

pub(crate) struct RecordingSource {
    reader: FileReader,
    name: String,
    cluster_id: Option<String>,
    /// What changes are read from: an API server, where it was recorded through one.
    origin: Origin,
    /// Files of changes, by revision.
    changes: Vec<RecordedFile>,
    /// Files of states, by revision.
    states: Vec<RecordedFile>,
    /// Runs of revisions of which all changes are recorded: after the first number, up to the second; ascending and apart.
    covered: Vec<(i64, i64)>,
    newest: i64,
    bytes: u64,
    damage: Vec<String>,
    left_out: Vec<String>,
    /// What was not to be recorded, each a phrase.
    not_asked: Vec<String>,
    /// Where it is a slice of another source, what of that.
    bundle: Option<BundleScope>,
}

fn facts_of(files: &[RecordedFile]) -> Vec<&FileFacts> {
    files.iter().map(|file| &file.facts).collect()
}

impl RecordingSource {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// It cannot be read, or nothing of it can.
    pub(crate) fn open(name: &str) -> Result<Self> {
        let DirectoryListing { scope, problems, files } = DirectoryListing::at(Path::new(name))?;
        let bytes = files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.facts.bytes));
        let (states, changes): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.facts.kind == FileKind::State);
        let states: Vec<RecordedFile> = states.into_iter().filter(|state| state.facts.upto().is_some()).collect();
        let covered = joined(changes.iter().flat_map(|file| file.facts.covered.iter().copied()));
        let newest = covered.iter().map(|run| run.1).chain(states.iter().filter_map(|state| state.facts.upto())).max();
        let Some(newest) = newest else {
            let problems = problems.join("; ");
            let problem =
                if problems.is_empty() { "nothing is recorded yet".to_owned() } else { format!("nothing of it can be read: {problems}") };
            return Err(Error::Format { path: name.to_owned(), problem });
        };
        let of_recording = |text: String| format!("{name}: {text}");
        let not_asked = not_asked(&scope);
        let left_out = left_out(&facts_of(&changes)).into_iter().map(of_recording).collect();
        let mut damage = problems;
        damage.extend(holes(&covered, &facts_of(&changes), &facts_of(&states), newest));
        let damage = damage.into_iter().map(of_recording).collect();
        Ok(Self {
            reader: FileReader::new(name),
            name: name.to_owned(),
            cluster_id: scope.cluster_id,
            bundle: scope.bundle,
            origin: if scope.api_server.is_some() { Origin::ApiServer } else { Origin::Recording },
            changes,
            states,
            covered,
            newest,
            bytes,
            damage,
            left_out,
            not_asked,
        })
    }

    /// etcd's cluster id, hexadecimal, where it was recorded.
    pub(crate) fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Whether it is a recording of a running etcd or a bundle.
    pub(crate) fn kind(&self) -> SourceKind {
        if self.bundle.is_some() { SourceKind::Bundle } else { SourceKind::Recording }
    }

    /// What became of the revisions before its oldest.
    fn earlier(&self) -> EarlierRevisions {
        if self.bundle.is_some() { EarlierRevisions::LeftOut } else { EarlierRevisions::NotRecorded }
    }

    pub(crate) fn whole_span(&self) -> RevisionSpan {
        let oldest = self.oldest();
        let compacted = (oldest >= FIRST_CHANGE).then_some(Revision(oldest));
        RevisionSpan { oldest: Revision(oldest), newest: Revision(self.newest), compacted }
    }

    /// The state that is the best to read what is alive at a revision from.
    fn state_for(&self, at: i64) -> Option<&RecordedFile> {
        let has_all = |state: &&RecordedFile| {
            state.facts.upto().is_some_and(|begin| begin <= at && uncovered(&self.covered, begin + 1, at).is_empty())
        };
        self.states.iter().rev().find(has_all)
    }

    fn oldest(&self) -> i64 {
        self.states.iter().filter_map(|state| state.facts.upto()).min().unwrap_or(self.newest)
    }

    fn alive(&self, keys: &KeyRange, at: i64, want: Want) -> Result<Vec<KeyValue>> {
        if at > self.newest {
            return Err(Error::Future { asked: Revision(at), newest: Revision(self.newest) });
        }
        let Some(state) = self.state_for(at) else {
            let later = self.states.iter().filter_map(|state| state.facts.upto()).find(|&begin| begin > at);
            // The source of a bundle may lack revisions in between too.
            let earlier = if at < self.oldest() { self.earlier() } else { EarlierRevisions::NotRecorded };
            return Err(Error::Compacted { asked: Revision(at), oldest: Revision(later.unwrap_or_else(|| self.oldest())), earlier });
        };
        let begin = state.facts.upto().unwrap_or(at);
        let mut alive: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
        let entry = |key_value: KeyValue| match want {
            Want::Values => key_value,
            Want::Keys => KeyValue { value: Bytes::new(), ..key_value },
        };
        for read in self.reader.blocks(state, keys, begin, begin).flatten() {
            if let Read::Event(event) = read {
                alive.insert(event.key_value.key.clone(), entry(event.key_value));
            }
        }
        let mut last = (0, 0);
        for recorded in self.changes_between(begin + 1, at) {
            for read in self.reader.blocks(recorded, keys, begin + 1, at).flatten() {
                let Read::Event(event) = read else { continue };
                let place = (event.revision.0, event.sub_revision);
                if place.0 <= begin || place.0 > at || place <= last {
                    continue;
                }
                last = place;
                match event.kind {
                    EventKind::Put => drop(alive.insert(event.key_value.key.clone(), entry(event.key_value))),
                    EventKind::Delete => drop(alive.remove(&event.key_value.key)),
                }
            }
        }
        Ok(alive.into_values().collect())
    }

    fn changes_between(&self, from: i64, to: i64) -> impl Iterator<Item = &RecordedFile> {
        self.changes.iter().filter(move |file| file.facts.covered.iter().any(|run| run.0 < to && from <= run.1))
    }

    /// The versions of keys that revisions which were not recorded left behind, from the first state after them.
    fn left_behind(&self, keys: &KeyRange, from: i64, to: i64) -> Vec<Event> {
        let Some(state) = self.states.iter().find(|state| state.facts.upto().is_some_and(|begin| begin >= to)) else { return Vec::new() };
        let mut events: Vec<Event> = self
            .reader
            .blocks(state, keys, 0, i64::MAX)
            .flatten()
            .filter_map(|read| if let Read::Event(event) = read { Some(event) } else { None })
            .filter(|event| (from..=to).contains(&event.revision.0))
            .collect();
        events.sort_by_key(|event| event.revision);
        // A listing does not say in which order a transaction wrote its keys.
        for number in 1..events.len() {
            if events[number - 1].revision == events[number].revision {
                events[number].sub_revision = events[number - 1].sub_revision + 1;
            }
        }
        events
    }

    /// The items of a run of revisions that was not recorded.
    fn unrecorded(&self, keys: &KeyRange, from: i64, to: i64) -> Vec<WatchItem> {
        let mut items = Vec::new();
        let mut next = from;
        let gap = |from: i64, to: i64| (from <= to).then_some(WatchItem::Gap { from: Revision(from), to: Revision(to) });
        for event in self.left_behind(keys, from, to) {
            items.extend(gap(next, event.revision.0 - 1));
            next = event.revision.0 + 1;
            items.push(WatchItem::Event(event));
        }
        items.extend(gap(next, to));
        items
    }

    fn read(&self, item: WatchItem) -> WatchItem {
        match item {
            WatchItem::Event(event) => WatchItem::Event(Event { origin: self.origin, ..event }),
            other => other,
        }
    }

    /// The items of a run of revisions that was recorded, block by block.
    fn recorded<'a>(&'a self, keys: &'a KeyRange, from: i64, to: i64) -> impl Iterator<Item = WatchItem> + use<'a> {
        let item = move |read: Read| match read {
            Read::Event(event) => (from..=to).contains(&event.revision.0).then_some(WatchItem::Event(event)),
            Read::Lost(first, last) => {
                let (first, last) = (first.max(from), last.min(to));
                (first <= last).then_some(WatchItem::Gap { from: Revision(first), to: Revision(last) })
            }
        };
        self.changes_between(from, to).flat_map(move |file| self.reader.blocks(file, keys, from, to)).flatten().filter_map(item)
    }
}

/// Whether an item goes on from the last change; it is that then.
fn is_next(item: &WatchItem, last: &mut (i64, i64)) -> bool {
    let WatchItem::Event(event) = item else { return true };
    let place = (event.revision.0, event.sub_revision);
    let is_next = place > *last;
    *last = place.max(*last);
    is_next
}

impl NoShortcuts for RecordingSource {}

impl Arrivals for RecordingSource {
    fn arrivals(&self, from: Revision, to: Revision) -> Vec<Arrival> {
        let read = self.changes_between(from.0, to.0).flat_map(|file| self.reader.arrivals(file, from, to));
        each_once(read.collect())
    }

    fn are_dates(&self) -> bool {
        self.bundle.is_some()
    }
}

impl LateDamage for RecordingSource {
    fn late_damage(&self) -> Vec<String> {
        self.reader.found()
    }

    fn read_all(&self) {
        self.states.iter().chain(&self.changes).for_each(|file| self.reader.check(file));
    }
}

impl Source for RecordingSource {
    fn facts(&self) -> Facts<'_> {
        Facts {
            history: match &self.bundle {
                Some(BundleScope { one_moment: true, .. }) => HistoryKind::OneMoment,
                _ => HistoryKind::Changes,
            },
            earlier: self.earlier(),
            withheld: self.bundle.as_ref().map(BundleScope::withheld).unwrap_or_default(),
            has_all_keys: false,
            damage: &self.damage,
            left_out: &self.left_out,
            companions: &[],
            late_damage: Some(self),
            before: None,
            arrivals: Some(self),
            log: None,
            live: None,
        }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        let status = SourceStatus {
            cluster_id: self.cluster_id.clone(),
            file_bytes: self.bytes,
            in_use_bytes: self.bytes,
            not_recorded: self.not_asked.clone(),
            problems: [&self.damage[..], &self.left_out, &self.reader.found()].concat(),
            ..SourceStatus::new(self.kind(), self.name.clone())
        };
        ready(Ok(status)).boxed()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        ready(Ok(self.whole_span())).boxed()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        let revision = match at {
            At::Newest => self.newest,
            At::Revision(revision) => revision.0,
        };
        let alive = self.alive(&keys, revision, want);
        let listing = alive.map(|alive| Listing { revision: Revision(revision), entries: stream::iter(alive.into_iter().map(Ok)).boxed() });
        ready(listing).boxed()
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        let to = match until {
            Until::Revision(to) => to.0.min(self.newest),
            Until::Forever => self.newest,
        };
        let from = from.0.max(FIRST_CHANGE);
        let mut runs: Vec<(bool, i64, i64)> = uncovered(&self.covered, from, to).into_iter().map(|(from, to)| (false, from, to)).collect();
        let covered = self.covered.iter().map(|&(after, upto)| (true, (after + 1).max(from), upto.min(to)));
        runs.extend(covered.filter(|(_, from, to)| from <= to));
        runs.sort_unstable_by_key(|run| run.1);
        let items = async_stream::stream! {
            for (is_recorded, from, to) in runs {
                if is_recorded {
                    // Two files may have the same revisions: after a recorder that was cut off, or copied together.
                    let mut last = (0, 0);
                    for item in self.recorded(&keys, from, to) {
                        if !is_next(&item, &mut last) {
                            continue;
                        }
                        yield Ok(self.read(item));
                    }
                } else {
                    for item in self.unrecorded(&keys, from, to) {
                        yield Ok(self.read(item));
                    }
                }
            }
            yield Ok(WatchItem::Progress(Revision(to)));
        };
        items.boxed()
    }
}
