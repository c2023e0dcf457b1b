//! What a pass over a live history brought: its changes, and with the state before them every state since.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Revision, RevisionSpan, Want, WatchItem};

/// Bytes of keys and values that are kept of the changes, and as many of the state before them.
pub const MAX_KEPT_BYTES: usize = 64 << 20;

/// The first revision of an etcd, at which no key is there.
const FIRST_REVISION: Revision = Revision(1);

/// What a watch of all keys has brought so far.
pub(super) struct WatchedItems {
    oldest: Revision,
    events: Vec<Event>,
    bytes: usize,
    reached: Revision,
    /// Whether nothing is missing since `oldest`, and it is not too much.
    is_whole: bool,
}

impl Default for WatchedItems {
    fn default() -> Self {
        Self { oldest: FIRST_REVISION, events: Vec::new(), bytes: 0, reached: Revision(0), is_whole: true }
    }
}

impl WatchedItems {
    /// Adds what comes next.
    pub(super) fn add(&mut self, item: &WatchItem) {
        match item {
            WatchItem::Event(event) if self.is_whole => {
                self.bytes += size(&event.key_value);
                self.events.push(event.clone());
                self.reached = event.revision;
                if self.bytes > MAX_KEPT_BYTES {
                    (self.is_whole, self.events) = (false, Vec::new());
                }
            }
            // A compaction before the pass began; one that comes between leaves a hole.
            WatchItem::Gap { to, .. } if self.reached == Revision(0) => (self.oldest, self.reached) = (to.after(), *to),
            WatchItem::Gap { .. } => self.is_whole = false,
            WatchItem::Progress(reached) => self.reached = *reached,
            _ => {}
        }
    }
}

pub(super) struct CachedState {
    at: Revision,
    /// `None`: they are too much.
    entries: Option<Vec<KeyValue>>,
    bytes: usize,
}

impl CachedState {
    /// A state of which no key was read yet.
    pub(super) fn at(at: Revision) -> Self {
        Self { at, entries: Some(Vec::new()), bytes: 0 }
    }

    pub(super) fn add(&mut self, entry: &KeyValue) {
        self.bytes += size(entry);
        if self.bytes > MAX_KEPT_BYTES {
            self.entries = None;
        }
        if let Some(entries) = &mut self.entries {
            entries.push(entry.clone());
        }
    }
}

fn size(entry: &KeyValue) -> usize {
    entry.key.len() + entry.value.len()
}

/// The versions of a key, ascending; `None` where it was deleted.
type Versions = Vec<(Revision, Option<KeyValue>)>;

/// A history that was read once.
pub(super) struct CachedHistory {
    span: RevisionSpan,
    /// Ascending.
    events: Vec<Event>,
    /// `None` where the state at the oldest revision was not kept: then no other is known.
    versions: Option<BTreeMap<Bytes, Versions>>,
}

impl CachedHistory {
    /// The history up to `newest`, with the state before it; `None` where the pass did not come to its end or was not kept.
    pub(super) fn new(gathered: WatchedItems, newest: Revision, before: Option<CachedState>) -> Option<Self> {
        let WatchedItems { oldest, events, reached, is_whole, .. } = gathered;
        if !is_whole || reached < newest || oldest > newest {
            return None;
        }
        let before =
            if oldest == FIRST_REVISION { Some(CachedState::at(FIRST_REVISION)) } else { before.filter(|state| state.at == oldest) };
        let versions = before.and_then(|state| state.entries).map(|entries| versions(entries, &events));
        Some(Self { span: RevisionSpan { oldest, newest, compacted: (oldest > FIRST_REVISION).then_some(oldest) }, events, versions })
    }

    pub(super) fn span(&self) -> RevisionSpan {
        self.span
    }

    /// The keys alive at a revision, and that revision; `None` where they are not known.
    pub(super) fn state(&self, keys: &KeyRange, at: At, want: Want) -> Option<(Revision, Vec<KeyValue>)> {
        let at = match at {
            At::Newest => self.span.newest,
            At::Revision(at) if at >= self.span.oldest && at <= self.span.newest => at,
            At::Revision(_) => return None,
        };
        let versions = self.versions.as_ref()?;
        let alive = |(_, versions): (&Bytes, &Versions)| {
            let behind = versions.partition_point(|(revision, _)| *revision <= at);
            let entry = versions[..behind].last()?.1.clone()?;
            Some(if want == Want::Keys { KeyValue { value: Bytes::new(), ..entry } } else { entry })
        };
        // A range that ends before it begins holds nothing.
        let is_empty = keys.end.as_ref().is_some_and(|end| *end <= keys.start);
        let end = keys.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let entries = match is_empty {
            true => Vec::new(),
            false => versions.range::<[u8], _>((Bound::Included(&keys.start[..]), end)).filter_map(alive).collect(),
        };
        Some((at, entries))
    }

    /// The changes between two revisions, both included, as a watch brings them; `None` where they go on behind the newest.
    pub(super) fn changes(&self, ranges: &[KeyRange], from: Revision, to: Revision) -> Option<Vec<WatchItem>> {
        let RevisionSpan { oldest, newest, .. } = self.span;
        if to > newest {
            return None;
        }
        let from = from.max(FIRST_REVISION);
        let gap = (from < oldest).then(|| WatchItem::Gap { from, to: oldest.before().min(to) });
        let first = self.events.partition_point(|event| event.revision < from);
        let events = self.events[first..].iter().take_while(|event| event.revision <= to);
        let wanted = events.filter(|event| ranges.iter().any(|range| range.contains(&event.key_value.key)));
        Some(gap.into_iter().chain(wanted.cloned().map(WatchItem::Event)).chain([WatchItem::Progress(to)]).collect())
    }
}

/// All versions of each key: those of a state, and those that came after it.
fn versions(before: Vec<KeyValue>, events: &[Event]) -> BTreeMap<Bytes, Versions> {
    let mut versions: BTreeMap<Bytes, Versions> =
        before.into_iter().map(|entry| (entry.key.clone(), vec![(entry.mod_revision, Some(entry))])).collect();
    for Event { revision, kind, key_value, .. } in events {
        let version = (*kind == EventKind::Put).then(|| key_value.clone());
        versions.entry(key_value.key.clone()).or_default().push((*revision, version));
    }
    versions
}

#[cfg(test)]
mod tests {
    use ketcd_store::{Origin, Sources};

    use super::*;

    fn entry(key: &str, revision: i64, size: usize) -> KeyValue {
        KeyValue {
            key: key.to_owned().into(),
            value: vec![b'v'; size].into(),
            create_revision: Revision(revision),
            mod_revision: Revision(revision),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        }
    }

    fn event(key: &str, revision: i64, kind: EventKind) -> WatchItem {
        let (key_value, origin, sources) = (entry(key, revision, 1), Origin::Live, Sources::default());
        WatchItem::Event(Event { revision: Revision(revision), sub_revision: 0, kind, key_value, origin, sources })
    }

    fn put(key: &str, revision: i64) -> WatchItem {
        event(key, revision, EventKind::Put)
    }

    fn kept(items: &[WatchItem], newest: i64, before: Option<CachedState>) -> Option<CachedHistory> {
        let mut gathered = WatchedItems::default();
        items.iter().for_each(|item| gathered.add(item));
        CachedHistory::new(gathered, Revision(newest), before)
    }

    fn names(history: &CachedHistory, keys: &KeyRange, at: At) -> Option<Vec<String>> {
        let (_, entries) = history.state(keys, at, Want::Keys)?;
        assert!(entries.iter().all(|entry| entry.value.is_empty()));
        Some(entries.iter().map(|entry| format!("{}@{}", String::from_utf8_lossy(&entry.key), entry.mod_revision)).collect())
    }

    fn gap(to: i64) -> WatchItem {
        WatchItem::Gap { from: Revision(1), to: Revision(to) }
    }

    #[test]
    fn a_history_from_the_first_revision_gives_every_state() {
        let items = [put("/a", 2), put("/b", 3), put("/a", 3), event("/b", 5, EventKind::Delete), put("/c", 6)];
        let history = kept(&items, 6, None).unwrap();
        let at = |revision| names(&history, &KeyRange::all(), At::Revision(Revision(revision)));
        assert_eq!(at(1).unwrap(), [""; 0]);
        assert_eq!(at(4).unwrap(), ["/a@3", "/b@3"]);
        assert_eq!(at(6).unwrap(), ["/a@3", "/c@6"]);
        assert_eq!((at(0), at(7)), (None, None));
        assert_eq!(names(&history, &KeyRange::prefix("/c"), At::Newest).unwrap(), ["/c@6"]);
        let backwards = KeyRange { start: b"/c".to_vec(), end: Some(b"/a".to_vec()) };
        assert_eq!(names(&history, &backwards, At::Newest).unwrap(), [""; 0]);
        let changes = history.changes(&[KeyRange::key("/b"), KeyRange::key("/c")], Revision(3), Revision(5)).unwrap();
        assert_eq!(changes, [put("/b", 3), event("/b", 5, EventKind::Delete), WatchItem::Progress(Revision(5))]);
        assert!(history.changes(&[KeyRange::all()], Revision(1), Revision(7)).is_none());
        assert_eq!(history.span(), RevisionSpan { oldest: Revision(1), newest: Revision(6), compacted: None });
    }

    #[test]
    fn a_compacted_history_gives_states_if_the_first_is_known() {
        let items = [gap(4), put("/a", 5), put("/b", 6)];
        let mut before = CachedState::at(Revision(5));
        before.add(&entry("/a", 5, 1));
        before.add(&entry("/old", 3, 1));
        let history = kept(&items, 6, Some(before)).unwrap();
        assert_eq!(names(&history, &KeyRange::all(), At::Revision(Revision(5))).unwrap(), ["/a@5", "/old@3"]);
        assert_eq!(names(&history, &KeyRange::all(), At::Newest).unwrap(), ["/a@5", "/b@6", "/old@3"]);
        assert_eq!(names(&history, &KeyRange::all(), At::Revision(Revision(4))), None);
        let all = [KeyRange::all()];
        assert_eq!(history.changes(&all, Revision(2), Revision(3)).unwrap()[0], WatchItem::Gap { from: Revision(2), to: Revision(3) });
        assert_eq!(history.changes(&all, Revision(1), Revision(5)).unwrap()[..2], items[..2]);
        // A compaction overtook the listing.
        let other = kept(&items, 6, Some(CachedState::at(Revision(6)))).unwrap();
        assert_eq!((names(&other, &KeyRange::all(), At::Newest), other.changes(&all, Revision(1), Revision(6)).unwrap().len()), (None, 4));
    }

    #[test]
    fn a_pass_that_lacks_something_is_not_kept() {
        assert!(kept(&[put("/a", 2), put("/b", 3)], 4, None).is_none(), "it ended early");
        assert!(kept(&[put("/a", 2), WatchItem::Progress(Revision(4))], 4, None).is_some());
        assert!(kept(&[put("/a", 2), gap(4), put("/b", 5)], 5, None).is_none(), "a compaction came between");
        assert!(kept(&[gap(5)], 5, None).is_none(), "all of it was compacted");
        let huge = WatchItem::Event(Event {
            revision: Revision(2),
            sub_revision: 0,
            kind: EventKind::Put,
            key_value: entry("/a", 2, MAX_KEPT_BYTES),
            origin: Origin::Live,
            sources: Sources::default(),
        });
        assert!(kept(&[huge, put("/b", 3)], 3, None).is_none(), "it is too much");
        let mut state = CachedState::at(Revision(5));
        state.add(&entry("/a", 2, MAX_KEPT_BYTES));
        let history = kept(&[gap(4), put("/b", 6)], 6, Some(state)).unwrap();
        assert_eq!(names(&history, &KeyRange::all(), At::Newest), None);
    }
}
