//! From which revision to which an object held what was found in it, within a bound on what is held at once.

use std::collections::{BTreeMap, HashSet};
use std::mem::size_of;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use serde_json::Value;

use ketcd_history::{EventPair, PrevVersion};
use ketcd_store::{EventKind, Revision};

use super::place::Hit;
use super::setter::Setter;

/// Bytes that an allocation takes besides what is in it.
const ALLOCATION_BYTES: usize = 16;

/// Bytes that a change takes besides its values, while its author is looked for.
const CHANGE_BYTES: usize = 2 * size_of::<EventPair>() + size_of::<Setter>() + 4 * ALLOCATION_BYTES;

/// What was found in one version of an object.
pub(super) struct Version {
    /// The event that wrote the version, or deleted the object.
    pub pair: EventPair,
    /// What was found; nothing after a deletion, and where the version cannot be decoded only what its key says.
    pub hits: Vec<Hit>,
    /// Whether it cannot be decoded.
    pub is_opaque: bool,
}

/// A stretch of revisions through which one place held one value.
#[derive(Clone, Debug)]
pub struct ValueSpan {
    /// What was found where.
    pub hit: Hit,
    /// The first revision at which it is known to have been there.
    pub from: Revision,
    /// Whether it may have been there before: the version before cannot be read.
    pub may_begin_earlier: bool,
    /// The last revision at which it is known to have been there.
    pub to: Revision,
    /// How it ended.
    pub end: SpanEnd,
    /// The change that brought it, until its author is known; `None` where it may have been there before, and where changes were not asked for.
    pub(super) change: Option<Arc<EventPair>>,
    pub(super) setter: Option<Arc<Setter>>,
}

/// How a stretch of revisions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// It is still there at the revision looked at.
    Still,
    /// The next revision took it away.
    Gone,
    /// What came after cannot be read.
    Unknown,
}

/// The key with which the next part of the keys begins: everything from there on is left to it. Threads that search share it.
#[derive(Clone, Debug, Default)]
pub(super) struct PartEnd(Arc<RwLock<Option<Bytes>>>);

impl PartEnd {
    /// The end of a part that was planned; `None` for all keys.
    pub(super) fn at(key: Option<Bytes>) -> Self {
        Self(Arc::new(RwLock::new(key)))
    }

    pub(super) fn is_after(&self, key: &[u8]) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(|end| key < &end[..])
    }

    /// The key; `None` where the part has all that is left.
    pub(super) fn key(&self) -> Option<Bytes> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, key: Bytes) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(key);
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Holding {
    /// How many bytes at most.
    pub most_bytes: usize,
    /// Whether the changes that brought something are held, for their authors.
    pub changes: bool,
    /// What had ended up to this revision does not count.
    pub after: Revision,
}

#[derive(Debug, Default)]
pub(super) struct ObjectSpans {
    /// Those that have ended.
    ended: Vec<ValueSpan>,
    /// Those that have not.
    open: Vec<ValueSpan>,
    /// The last revision that wrote or deleted the object.
    last: Revision,
    /// Whether the version that it wrote cannot be decoded.
    was_opaque: bool,
    /// The revision that deleted it last, where nothing wrote it after that.
    pub deleted: Option<Revision>,
    /// The last revision of it that was searched, where the object alone has more than can be held.
    pub cut: Option<Revision>,
    bytes: usize,
}

/// The stretches of the objects of a part of the keys, as far as they can be held at once: where they are more, the part ends earlier.
#[derive(Debug)]
pub(super) struct Spans {
    objects: BTreeMap<Bytes, ObjectSpans>,
    holding: Holding,
    end: PartEnd,
    /// How many bytes are held.
    pub bytes: usize,
    /// The last revision that cannot be read.
    gap: Revision,
}

impl Spans {
    /// None yet, of a part with this end.
    pub(super) fn new(holding: Holding, end: PartEnd) -> Self {
        Self { objects: BTreeMap::new(), holding, end, bytes: 0, gap: Revision(0) }
    }

    /// Takes the next version, in the order of revisions.
    pub(super) fn take(&mut self, version: Version) {
        let (key, revision) = (version.pair.event.key_value.key.clone(), version.pair.event.revision);
        let is_wanted = !version.hits.is_empty() || version.is_opaque || self.objects.contains_key(&key);
        if !is_wanted || !self.end.is_after(&key) {
            return;
        }
        let before = self.objects.get(&key).map_or(0, |object| object.bytes);
        let object = self.objects.entry(key.clone()).or_insert_with(|| ObjectSpans::of(&key));
        if object.cut.is_some() {
            return;
        }
        object.take(version, self.holding);
        self.bytes = self.bytes - before + object.bytes;
        if object.is_empty() && !object.was_opaque {
            self.bytes -= object.bytes;
            self.objects.remove(&key);
        }
        while self.bytes > self.holding.most_bytes && self.shrink(revision) {}
    }

    /// Lets go of the objects with the last keys, at least one and about half of what is held, and ends the part before them; of a single object, of what
    /// comes after `revision`. Returns whether that changed anything.
    fn shrink(&mut self, revision: Revision) -> bool {
        if self.objects.len() < 2 {
            let object = self.objects.values_mut().next().filter(|object| object.cut.is_none());
            let Some(object) = object else { return false };
            object.lose();
            object.cut = Some(revision);
            return true;
        }
        let mut sum = 0;
        let is_beyond_half = |(_, object): &(&Bytes, &ObjectSpans)| {
            let is_first = sum == 0;
            sum += object.bytes;
            !is_first && sum * 2 > self.bytes
        };
        let Some((end, _)) = self.objects.iter().find(is_beyond_half) else { return false };
        let end = end.clone();
        let gone = self.objects.split_off(&end);
        self.bytes -= gone.values().map(|object| object.bytes).sum::<usize>();
        self.end.set(end);
        true
    }

    /// Notes revisions that cannot be read.
    pub(super) fn note_gap(&mut self, to: Revision) {
        self.gap = self.gap.max(to);
    }

    /// The objects that may have changed in a gap since they were last seen with something that has not ended, with the revision seen last.
    pub(super) fn in_doubt(&self) -> Vec<(Bytes, Revision)> {
        let is_in_doubt = |object: &ObjectSpans| !object.open.is_empty() && object.last < self.gap;
        self.objects.iter().filter(|(_, object)| is_in_doubt(object)).map(|(key, object)| (key.clone(), object.last)).collect()
    }

    /// Ends what has not ended of an object at the revision seen last.
    pub(super) fn lose(&mut self, key: &Bytes) {
        if let Some(object) = self.objects.get_mut(key) {
            object.lose();
        }
    }

    /// Ends everything at the revision looked at. Returns the objects in which something was found, in the order of their keys.
    pub(super) fn finish(self, until: Revision) -> BTreeMap<Bytes, ObjectSpans> {
        let Self { mut objects, holding, .. } = self;
        for object in objects.values_mut() {
            object.end_open(until, SpanEnd::Still);
            object.ended.retain(|span| span.to > holding.after);
            object.ended.sort_by(|a, b| (a.from, &a.hit.path).cmp(&(b.from, &b.hit.path)));
        }
        objects.retain(|_, object| !object.ended.is_empty() || object.cut.is_some());
        objects
    }
}

impl ObjectSpans {
    /// Nothing yet of an object.
    fn of(key: &Bytes) -> Self {
        Self { bytes: size_of::<Bytes>() + size_of::<Self>() + key.len() + ALLOCATION_BYTES, ..Self::default() }
    }

    fn take(&mut self, Version { pair, hits, is_opaque }: Version, holding: Holding) {
        let (revision, kind) = (pair.event.revision, pair.event.kind);
        let is_known = !matches!(pair.prev, PrevVersion::Unreadable);
        self.end_others(&hits, revision, (is_known, is_opaque), holding.after);
        let may_begin_earlier = !is_known || self.was_opaque;
        let change = (holding.changes && !may_begin_earlier).then_some(pair);
        self.begin(hits, (revision, may_begin_earlier), change);
        (self.last, self.was_opaque) = (revision, is_opaque);
        self.deleted = (kind == EventKind::Delete).then_some(revision);
    }

    /// Ends the stretches of what is not among `hits` any more, and where the version before is not known (`is_known`) all of them. Those that end up to
    /// `after` are let go.
    fn end_others(&mut self, hits: &[Hit], revision: Revision, (is_known, is_opaque): (bool, bool), after: Revision) {
        if self.open.is_empty() {
            return;
        }
        let still: HashSet<&Hit> = hits.iter().collect();
        let is_over = |span: &mut ValueSpan| !is_known || !still.contains(&span.hit);
        for mut span in self.open.extract_if(.., is_over) {
            match is_known {
                true => span.finish(revision.before(), if is_opaque { SpanEnd::Unknown } else { SpanEnd::Gone }),
                false => span.finish(self.last, SpanEnd::Unknown),
            }
            if span.to > after {
                self.ended.push(span);
            } else {
                self.bytes -= span.bytes()
                    + span.change.as_ref().filter(|change| Arc::strong_count(change) == 1).map_or(0, |change| change_bytes(change));
            }
        }
    }

    /// Begins the stretches of those of `hits` that were not there before; `change` is what brought them.
    fn begin(&mut self, hits: Vec<Hit>, (from, may_begin_earlier): (Revision, bool), change: Option<EventPair>) {
        let known: HashSet<&Hit> = self.open.iter().map(|span| &span.hit).collect();
        let new: Vec<Hit> = hits.into_iter().filter(|hit| !known.contains(hit)).collect();
        if new.is_empty() {
            return;
        }
        let change = change.map(Arc::new);
        self.bytes += change.as_deref().map_or(0, change_bytes);
        for hit in new {
            let span = ValueSpan { hit, from, may_begin_earlier, to: from, end: SpanEnd::Unknown, change: change.clone(), setter: None };
            self.bytes += span.bytes();
            self.open.push(span);
        }
    }

    /// Ends what has not ended at the revision seen last: what came after cannot be read, or is not.
    fn lose(&mut self) {
        self.end_open(self.last, SpanEnd::Unknown);
    }

    fn end_open(&mut self, to: Revision, end: SpanEnd) {
        self.open.iter_mut().for_each(|span| span.finish(to, end));
        self.ended.append(&mut self.open);
    }

    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.ended.is_empty()
    }

    /// What was found, in the order in which it came, once all has ended.
    pub(super) fn spans(&mut self) -> &mut Vec<ValueSpan> {
        &mut self.ended
    }
}

impl ValueSpan {
    /// Who made the change that brought the value; `None` where it may have been there before, and where changes were not asked for.
    pub fn setter(&self) -> Option<&Setter> {
        self.setter.as_deref()
    }

    fn finish(&mut self, to: Revision, end: SpanEnd) {
        self.to = to.max(self.from);
        self.end = end;
    }

    /// How many bytes it takes, without its change.
    fn bytes(&self) -> usize {
        let text = if let Value::String(text) = &self.hit.value { text.len() + ALLOCATION_BYTES } else { 0 };
        size_of::<Self>() + self.hit.path.len() + ALLOCATION_BYTES + text
    }
}

/// How many bytes a change takes, with the values that it holds.
fn change_bytes(change: &EventPair) -> usize {
    let before = if let PrevVersion::Version(before) = &change.prev { before.value.len() } else { 0 };
    let earlier = change.earlier.as_ref().map_or(0, |earlier| earlier.value.len());
    CHANGE_BYTES + change.event.key_value.value.len() + before + earlier
}

#[cfg(test)]
mod tests {
    use ketcd_store::{Event, KeyValue, Origin, Sources};
    use serde_json::Value;

    use super::super::place::Place;
    use super::*;

    /// A version written at a revision, in which these values are found.
    fn version(revision: i64, prev: PrevVersion, values: &[&str]) -> Version {
        let key_value = KeyValue {
            key: Bytes::from_static(b"/registry/configmaps/a/b"),
            value: Bytes::new(),
            create_revision: Revision(2),
            mod_revision: Revision(revision),
            version: 1,
            replaced: Revision(0),
            lease: 0,
        };
        let event = Event {
            revision: Revision(revision),
            sub_revision: 0,
            kind: EventKind::Put,
            key_value: key_value.clone(),
            origin: Origin::Db,
            sources: Sources::default(),
        };
        let mut follower = ketcd_history::Follower::new(|_: &KeyValue| -> ketcd_kube::Body { unreachable!("nothing is decoded") });
        let mut pair = follower.pair(event);
        pair.prev = prev;
        let hit = |value: &&str| Hit { place: Place::Values, path: "data.a".to_owned(), value: Value::from(*value) };
        Version { pair, hits: values.iter().map(hit).collect(), is_opaque: false }
    }

    fn known() -> PrevVersion {
        PrevVersion::Version(version(1, PrevVersion::Absent, &[]).pair.event.key_value)
    }

    fn holding(most_bytes: usize, after: i64) -> Holding {
        Holding { most_bytes, changes: true, after: Revision(after) }
    }

    fn told(spans: Spans) -> Vec<(String, i64, i64, SpanEnd, bool)> {
        let objects = spans.finish(Revision(20));
        let spans = objects.values().flat_map(|object| &object.ended);
        spans.map(|span| (span.hit.value.to_string(), span.from.0, span.to.0, span.end, span.may_begin_earlier)).collect()
    }

    fn of(versions: Vec<Version>, holding: Holding) -> Spans {
        let mut spans = Spans::new(holding, PartEnd::default());
        versions.into_iter().for_each(|version| spans.take(version));
        spans
    }

    fn whole(versions: Vec<Version>) -> Spans {
        of(versions, holding(usize::MAX, 0))
    }

    /// The same version of another object.
    fn of_key(key: &'static [u8], version: Version) -> Version {
        let mut version = version;
        version.pair.event.key_value.key = Bytes::from_static(key);
        version
    }

    #[test]
    fn a_value_is_there_until_another_takes_its_place() {
        let versions = || {
            vec![
                version(3, PrevVersion::Absent, &["x"]),
                version(5, known(), &["x"]),
                version(8, known(), &["y"]),
                version(9, known(), &[]),
            ]
        };
        let x = ("\"x\"".to_owned(), 3, 7, SpanEnd::Gone, false);
        let y = ("\"y\"".to_owned(), 8, 8, SpanEnd::Gone, false);
        assert_eq!(told(whole(versions())), [x, y.clone()]);
        let objects = whole(versions()).finish(Revision(20));
        let brought = objects.values().flat_map(|object| &object.ended).map(|span| span.change.as_ref().unwrap().event.revision.0);
        assert_eq!(brought.collect::<Vec<_>>(), [3, 8]);
        // What had ended before is not even held.
        let late = of(versions(), holding(usize::MAX, 7));
        assert_eq!(late.bytes, late.objects.values().map(|object| object.bytes).sum::<usize>());
        assert_eq!(told(late), [y]);
        assert_eq!(of(versions(), holding(usize::MAX, 8)).bytes, 0);
    }

    #[test]
    fn what_cannot_be_read_is_not_guessed() {
        let mut spans = whole(vec![version(3, PrevVersion::Unreadable, &["x"]), version(9, PrevVersion::Unreadable, &["x"])]);
        assert!(spans.objects.values().flat_map(|object| &object.open).all(|span| span.change.is_none()));
        spans.note_gap(Revision(8));
        assert!(spans.in_doubt().is_empty());
        spans.note_gap(Revision(12));
        let (key, last) = spans.in_doubt().remove(0);
        assert_eq!(last, Revision(9));
        let mut lost = whole(vec![version(3, PrevVersion::Absent, &["x"])]);
        lost.lose(&key);
        assert_eq!(told(lost), [("\"x\"".into(), 3, 3, SpanEnd::Unknown, false)]);
        assert_eq!(told(spans), [("\"x\"".into(), 3, 3, SpanEnd::Unknown, true), ("\"x\"".into(), 9, 20, SpanEnd::Still, true)]);
    }

    #[test]
    fn a_version_that_cannot_be_decoded_leaves_both_sides_open() {
        let opaque = || Version { is_opaque: true, ..version(5, known(), &[]) };
        let spans = whole(vec![version(3, PrevVersion::Absent, &["x"]), opaque(), version(8, known(), &["x"])]);
        assert_eq!(told(spans), [("\"x\"".into(), 3, 4, SpanEnd::Unknown, false), ("\"x\"".into(), 8, 20, SpanEnd::Still, true)]);
        let first = whole(vec![opaque(), version(8, known(), &["x"])]);
        assert_eq!(told(first), [("\"x\"".into(), 8, 20, SpanEnd::Still, true)]);
    }

    #[test]
    fn a_part_ends_where_no_more_can_be_held() {
        const KEYS: [&[u8]; 4] = [b"/a", b"/b", b"/c", b"/d"];
        let versions = |from: i64| (from..).zip(KEYS).map(|(revision, key)| of_key(key, version(revision, PrevVersion::Absent, &["x"])));
        let all: Vec<Version> = versions(2).collect();
        let one = whole(versions(2).take(1).collect()).bytes;
        let spans = of(all, holding(3 * one, 0));
        assert!(spans.bytes <= 3 * one);
        let end = spans.end.key().unwrap();
        let held: Vec<Bytes> = spans.finish(Revision(20)).into_keys().collect();
        assert!(!held.is_empty() && held.iter().all(|key| *key < end), "{held:?} {end:?}");
        // All before the end is there, in whatever order it came.
        let turned: Vec<Version> = versions(2).collect::<Vec<_>>().into_iter().rev().collect();
        let spans = of(turned, holding(2 * one, 0));
        let end = spans.end.key().unwrap();
        let wanted: Vec<&[u8]> = KEYS.into_iter().filter(|key| *key < &end[..]).collect();
        assert_eq!(spans.finish(Revision(20)).into_keys().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn an_object_with_more_than_can_be_held_is_searched_up_to_a_revision() {
        let versions = (2..18).map(|revision| {
            let prev = if revision == 2 { PrevVersion::Absent } else { known() };
            version(revision, prev, &[["x", "y"][revision as usize % 2]])
        });
        let one = whole(vec![version(2, PrevVersion::Absent, &["x"])]).bytes;
        let spans = of(versions.collect(), holding(3 * one, 0));
        assert!(spans.bytes < 6 * one && spans.end.key().is_none());
        let object = spans.finish(Revision(20)).into_values().next().unwrap();
        let cut = object.cut.unwrap();
        assert!(Revision(2) < cut && cut < Revision(17), "{cut}");
        let last = object.ended.last().unwrap();
        assert_eq!((last.to, last.end), (cut, SpanEnd::Unknown));
    }
}
