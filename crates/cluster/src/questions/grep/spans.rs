//! From which revision to which an object held what was found in it.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;

use ketcd_history::{EventPair, PrevVersion};
use ketcd_store::{EventKind, Revision};

use super::place::Hit;

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
pub struct Span {
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
    /// The change that brought it, by its place among those; `None` where it may have been there before.
    pub(super) brought: Option<usize>,
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

/// The stretches of one object.
#[derive(Debug, Default)]
pub(super) struct ObjectSpans {
    pub spans: Vec<Span>,
    /// Those that have not ended, by their places in `spans`.
    open: Vec<usize>,
    /// The last revision that wrote or deleted the object.
    pub last: Revision,
    /// Whether the version that it wrote cannot be decoded.
    was_opaque: bool,
    /// The revision that deleted it last, where nothing wrote it after that.
    pub deleted: Option<Revision>,
}

/// The stretches of all objects in which anything was found.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub objects: BTreeMap<Bytes, ObjectSpans>,
    /// The changes that brought something, ascending.
    pub brought: Vec<EventPair>,
    /// The last revision that cannot be read.
    pub gap: Revision,
}

impl Spans {
    /// Takes the next version, in the order of revisions. With `keeps_changes`, the changes that brought something are kept.
    pub(super) fn take(&mut self, Version { pair, hits, is_opaque }: Version, keeps_changes: bool) {
        let (key, revision) = (&pair.event.key_value.key, pair.event.revision);
        if hits.is_empty() && !self.objects.contains_key(key) {
            return;
        }
        let object = self.objects.entry(key.clone()).or_default();
        let is_known = !matches!(pair.prev, PrevVersion::Unreadable);
        object.end_others(&hits, revision, (is_known, is_opaque));
        let may_begin_earlier = !is_known || object.was_opaque;
        let brought = (!may_begin_earlier && keeps_changes).then_some(self.brought.len());
        let is_new = object.begin(hits, revision, (may_begin_earlier, brought));
        (object.last, object.was_opaque) = (revision, is_opaque);
        object.deleted = (pair.event.kind == EventKind::Delete).then_some(revision);
        if is_new && brought.is_some() {
            self.brought.push(pair);
        }
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
            let last = object.last;
            object.open.drain(..).for_each(|open| object.spans[open].finish(last, SpanEnd::Unknown));
        }
    }

    /// Ends everything at the revision looked at, and leaves out what had ended up to `after`.
    pub(super) fn finish(&mut self, until: Revision, after: Revision) {
        for object in self.objects.values_mut() {
            object.open.drain(..).for_each(|open| object.spans[open].finish(until, SpanEnd::Still));
            object.spans.retain(|span| span.to > after);
        }
        self.objects.retain(|_, object| !object.spans.is_empty());
    }
}

impl ObjectSpans {
    /// Ends the stretches of what is not among `hits` any more, and where the version before is not known (`is_known`) all of them.
    fn end_others(&mut self, hits: &[Hit], revision: Revision, (is_known, is_opaque): (bool, bool)) {
        if self.open.is_empty() {
            return;
        }
        let still: HashSet<&Hit> = hits.iter().collect();
        let (last, spans) = (self.last, &mut self.spans);
        self.open.retain(|&open| {
            let span = &mut spans[open];
            match is_known {
                true if still.contains(&span.hit) => return true,
                true => span.finish(revision.before(), if is_opaque { SpanEnd::Unknown } else { SpanEnd::Gone }),
                false => span.finish(last, SpanEnd::Unknown),
            }
            false
        });
    }

    /// Begins the stretches of those of `hits` that were not there before. Returns whether there are any.
    fn begin(&mut self, hits: Vec<Hit>, from: Revision, (may_begin_earlier, brought): (bool, Option<usize>)) -> bool {
        let known: HashSet<&Hit> = self.open.iter().map(|&open| &self.spans[open].hit).collect();
        let new: Vec<Hit> = hits.into_iter().filter(|hit| !known.contains(hit)).collect();
        let is_new = !new.is_empty();
        for hit in new {
            self.open.push(self.spans.len());
            self.spans.push(Span { hit, from, may_begin_earlier, to: from, end: SpanEnd::Unknown, brought });
        }
        is_new
    }
}

impl Span {
    fn finish(&mut self, to: Revision, end: SpanEnd) {
        self.to = to.max(self.from);
        self.end = end;
    }
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

    fn told(spans: &Spans) -> Vec<(String, i64, i64, SpanEnd, bool)> {
        let spans = spans.objects.values().flat_map(|object| &object.spans);
        spans.map(|span| (span.hit.value.to_string(), span.from.0, span.to.0, span.end, span.may_begin_earlier)).collect()
    }

    fn of(versions: Vec<Version>) -> Spans {
        let mut spans = Spans::default();
        versions.into_iter().for_each(|version| spans.take(version, true));
        spans
    }

    #[test]
    fn a_value_is_there_until_another_takes_its_place() {
        let versions = vec![
            version(3, PrevVersion::Absent, &["x"]),
            version(5, known(), &["x"]),
            version(8, known(), &["y"]),
            version(9, known(), &[]),
        ];
        let mut spans = of(versions);
        assert_eq!(spans.brought.iter().map(|pair| pair.event.revision.0).collect::<Vec<_>>(), [3, 8]);
        spans.finish(Revision(20), Revision(0));
        assert_eq!(told(&spans), [("\"x\"".into(), 3, 7, SpanEnd::Gone, false), ("\"y\"".into(), 8, 8, SpanEnd::Gone, false)]);
        spans.finish(Revision(20), Revision(7));
        assert_eq!(told(&spans).len(), 1);
    }

    #[test]
    fn what_cannot_be_read_is_not_guessed() {
        let mut spans = of(vec![version(3, PrevVersion::Unreadable, &["x"]), version(9, PrevVersion::Unreadable, &["x"])]);
        assert!(spans.brought.is_empty());
        spans.note_gap(Revision(8));
        assert!(spans.in_doubt().is_empty());
        spans.note_gap(Revision(12));
        let (key, last) = spans.in_doubt().remove(0);
        assert_eq!(last, Revision(9));
        let mut lost = of(vec![version(3, PrevVersion::Absent, &["x"])]);
        lost.lose(&key);
        lost.finish(Revision(20), Revision(0));
        assert_eq!(told(&lost), [("\"x\"".into(), 3, 3, SpanEnd::Unknown, false)]);
        spans.finish(Revision(20), Revision(0));
        assert_eq!(told(&spans), [("\"x\"".into(), 3, 3, SpanEnd::Unknown, true), ("\"x\"".into(), 9, 20, SpanEnd::Still, true)]);
    }

    #[test]
    fn a_version_that_cannot_be_decoded_leaves_both_sides_open() {
        let opaque = Version { is_opaque: true, ..version(5, known(), &[]) };
        let mut spans = of(vec![version(3, PrevVersion::Absent, &["x"]), opaque, version(8, known(), &["x"])]);
        spans.finish(Revision(20), Revision(0));
        assert_eq!(told(&spans), [("\"x\"".into(), 3, 4, SpanEnd::Unknown, false), ("\"x\"".into(), 8, 20, SpanEnd::Still, true)]);
    }
}
