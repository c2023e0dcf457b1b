//! Turns etcd's events into changes, one at a time, holding only the last bytes of each key.

use std::collections::HashMap;

use bytes::Bytes;

use super::change::Change;
use super::event_pair::{EventPair, PrevVersion};
use super::recent::Recent;
use ketcd_kube::Body;
use ketcd_store::{Event, EventKind, KeyValue, Origin, Revision};

/// The most stored bytes of versions of pods that are kept for a while.
const MAX_REPLACED_BYTES: usize = 4 << 20;

/// Pairs each event with the version before it.
///
/// Memory: one [`KeyValue`] for each live key, unless its source is asked for them ([`Self::asking`]), those that pods had before up to 4 MiB, and what
/// [`Recent`] keeps.
pub struct Follower<'p, D> {
    decode: D,
    /// Returns the version before; then none is kept.
    past: Option<Box<Past<'p>>>,
    last: HashMap<Bytes, KeyValue>,
    /// Recently replaced versions of pods.
    replaced: HashMap<Bytes, KeyValue>,
    /// Bytes of all versions put there since it was empty.
    replaced_bytes: usize,
    recent: Recent,
    /// The end of the last gap: what was seen before it may have changed since.
    gap: Revision,
}

/// Returns the version that another one, or a deletion, replaced, if it can be read.
pub type Past<'p> = dyn Fn(&KeyValue) -> Option<KeyValue> + Send + 'p;

impl<'p, D: Fn(&KeyValue) -> Body> Follower<'p, D> {
    /// A follower that knows no key yet and decodes with `decode`.
    pub fn new(decode: D) -> Self {
        Self {
            decode,
            past: None,
            last: HashMap::new(),
            replaced: HashMap::new(),
            replaced_bytes: 0,
            recent: Recent::default(),
            gap: Revision(0),
        }
    }

    /// Reads earlier versions from `past` when they are needed, instead of keeping them.
    #[must_use]
    pub fn asking(mut self, past: impl Fn(&KeyValue) -> Option<KeyValue> + Send + 'p) -> Self {
        self.past = Some(Box::new(past));
        self
    }

    /// Adds a key that was alive before the first event. Returns it as the change that made it, whose version before cannot be
    /// read unless this is its first.
    pub fn seed(&mut self, key_value: KeyValue, origin: Origin) -> Change {
        self.change(Event::put(key_value, origin))
    }

    /// Whether a version of the key is known.
    pub fn knows(&self, key: &[u8]) -> bool {
        self.last.contains_key(key)
    }

    /// Records that changes up to revision `to` are missing.
    pub fn gap(&mut self, to: Revision) {
        self.gap = to;
    }

    /// Returns the change that `event` made. Events come in ascending order, each once.
    pub fn change(&mut self, event: Event) -> Change {
        let pair = self.pair(event);
        let shared = self.recent.of(&pair);
        pair.decode_shared(&shared, |version| ((self.decode)(version), Vec::new())).0
    }

    /// Returns `event` with the version before it, both as they are stored. Events come in ascending order, each once.
    pub fn pair(&mut self, event: Event) -> EventPair {
        let prev = self.prev(&event);
        let earlier = match (&prev, event.kind) {
            (PrevVersion::Version(last), EventKind::Delete) if is_pod(&last.key) => self.earlier(last),
            _ => None,
        };
        self.pass_over(&event);
        EventPair { event, prev, earlier }
    }

    /// Remembers an event whose change is not wanted, so that the next change of its key knows the version before. Nothing is read for it.
    pub fn pass_over(&mut self, event: &Event) {
        if self.past.is_some() {
            return;
        }
        let now = &event.key_value;
        match event.kind {
            EventKind::Put => self.last.insert(now.key.clone(), now.clone()).into_iter().for_each(|old| self.keep(old)),
            EventKind::Delete => drop(self.last.remove(&now.key)),
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }

    /// The version that the last one of a pod replaced.
    fn earlier(&mut self, last: &KeyValue) -> Option<KeyValue> {
        let earlier = match &self.past {
            Some(past) => past(last),
            None => self.replaced.remove(&last.key),
        };
        earlier.filter(|earlier| last.follows(earlier))
    }

    /// Keeps a version of a pod that was replaced for a while: what ends a pod's grace removes it at once.
    fn keep(&mut self, old: KeyValue) {
        if !is_pod(&old.key) {
            return;
        }
        self.replaced_bytes += old.value.len();
        if self.replaced_bytes > MAX_REPLACED_BYTES {
            self.replaced.clear();
            self.replaced_bytes = old.value.len();
        }
        self.replaced.insert(old.key.clone(), old);
    }

    /// The version just before; a version number that does not follow the last one seen shows a gap; a deletion has none.
    fn prev(&mut self, event: &Event) -> PrevVersion {
        let now = &event.key_value;
        if event.is_creation() {
            return PrevVersion::Absent;
        }
        let last = match &self.past {
            Some(past) => past(now),
            None => self.last.get(&now.key).cloned(),
        };
        let follows = |last: &KeyValue| match event.kind {
            EventKind::Put => now.follows(last),
            EventKind::Delete => last.mod_revision > self.gap,
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        last.filter(follows).map_or(PrevVersion::Unreadable, PrevVersion::Version)
    }
}

fn is_pod(key: &[u8]) -> bool {
    const PODS_SEGMENT: &[u8] = b"/pods/";
    key.windows(PODS_SEGMENT.len()).any(|part| part == PODS_SEGMENT)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::change::{ChangeKind, ObjectVersion};
    use crate::diff::ManagedFields;
    use ketcd_store::Sources;

    fn put(revision: i64, created: i64, version: i64, value: &str) -> Event {
        let key_value = KeyValue {
            key: Bytes::from_static(b"/registry/pods/a/b"),
            value: Bytes::copy_from_slice(value.as_bytes()),
            create_revision: Revision(created),
            mod_revision: Revision(revision),
            version,
            replaced: Revision(0),
            lease: 0,
        };
        Event {
            revision: Revision(revision),
            sub_revision: 0,
            kind: EventKind::Put,
            key_value,
            origin: Origin::Db,
            sources: Sources::default(),
        }
    }

    fn delete(revision: i64) -> Event {
        let mut event = put(revision, 0, 0, "");
        event.kind = EventKind::Delete;
        event
    }

    fn follower() -> Follower<'static, impl Fn(&KeyValue) -> Body> {
        Follower::new(|key_value: &KeyValue| Body::Object(serde_json::from_slice::<serde_json::Value>(&key_value.value).unwrap().into()))
    }

    #[test]
    fn each_change_knows_the_version_before() {
        let mut follower = follower();
        let added = follower.change(put(5, 5, 1, "{\"a\":1}"));
        let patch = added.patch(ManagedFields::Shown);
        assert_eq!((added.kind, added.before, patch), (ChangeKind::Added, ObjectVersion::Absent, None));
        let modified = follower.change(put(6, 5, 2, "{\"a\":2}"));
        assert_eq!(modified.patch(ManagedFields::Shown).unwrap().to_string(), r#"[{"op":"replace","path":"/a","value":2}]"#);
        let deleted = follower.change(delete(7));
        assert_eq!(deleted.patch(ManagedFields::Shown).unwrap().to_string(), r#"[{"op":"replace","path":"","value":null}]"#);
        let again = follower.change(put(8, 8, 1, "{}"));
        assert_eq!(again.before, ObjectVersion::Absent);
    }

    #[test]
    fn an_event_that_was_passed_over_is_the_version_before_the_next() {
        let mut follower = follower();
        follower.pass_over(&put(5, 5, 1, "{\"a\":1}"));
        let modified = follower.change(put(6, 5, 2, "{\"a\":2}"));
        assert_eq!(modified.patch(ManagedFields::Shown).unwrap().to_string(), r#"[{"op":"replace","path":"/a","value":2}]"#);
        follower.pass_over(&delete(7));
        assert_eq!(follower.change(put(8, 8, 1, "{}")).before, ObjectVersion::Absent);
    }

    #[test]
    fn an_object_is_decoded_once_and_shared() {
        let mut follower = follower();
        let added = follower.change(put(5, 5, 1, "{}"));
        let modified = follower.change(put(6, 5, 2, "{}"));
        assert!(Arc::ptr_eq(added.after.whole().unwrap(), modified.before.whole().unwrap()));
    }

    #[test]
    fn a_missing_version_is_a_gap_not_a_guess() {
        let mut follower = follower();
        follower.change(put(5, 5, 1, "{}"));
        assert_eq!(follower.change(put(9, 5, 3, "{}")).before, ObjectVersion::Unreadable);
        assert_eq!(follower.change(put(12, 11, 2, "{}")).before, ObjectVersion::Unreadable);
        follower.gap(Revision(12));
        assert_eq!(follower.change(delete(13)).before, ObjectVersion::Unreadable);
    }

    /// A change of a log whose beginning is gone has no version number: it may be the creation.
    #[test]
    fn a_change_of_unknown_number_may_be_the_creation() {
        let may_be = |created: i64, version: i64| follower().change(put(9, created, version, "{}")).may_be_creation;
        assert_eq!([may_be(0, 0), may_be(5, 3), may_be(5, 0), may_be(9, 1)], [true, false, false, false]);
        let mut follower = follower();
        follower.change(put(5, 5, 1, "{}"));
        assert!(!follower.change(put(6, 5, 2, "{}")).may_be_creation && !follower.change(delete(7)).may_be_creation);
    }
}
