//! The pass over every revision in order, in which the rules see each change with the version before it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_kube::{Kinds, RegistryKey};
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Source, Until, Want, WatchItem};

use super::change::{Before, Change};
use super::creations::Creations;
use super::evidence::Found;
use super::rule::{Rule, TamperingFacts};
use super::stored::{Reader, Stored};
use crate::cores;
use crate::error::{Error, Result};

/// Larger values are not kept for sources that cannot give them again, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 10;

/// A pass over a source.
pub(super) struct Pass<'c> {
    pub facts: TamperingFacts<'c>,
    pub source: &'c dyn Source,
    pub prefix: &'c str,
    pub kinds: &'c Kinds,
    pub rules: Vec<Box<dyn Rule>>,
    /// Looks at one key in this number.
    pub every: usize,
    pub found: Found,
    pub creations: Creations,
    /// How many changes were looked at.
    pub changes: usize,
    /// Whether some are as an API server returned them.
    pub has_served: bool,
    /// The newest version of each key. Boxed: a table of many keys has as many free places as taken ones, and twice that where it grows.
    newest: HashMap<Bytes, Box<Before>>,
}

/// What the pass reads.
enum Seen {
    Change(Box<(Event, Option<Stored>)>),
    Gap,
    /// A change as an API server returned it.
    Served,
    Nothing,
}

impl<'c> Pass<'c> {
    /// A pass that has not begun.
    pub(super) fn new(
        facts: TamperingFacts<'c>,
        source: &'c dyn Source,
        (prefix, kinds): (&'c str, &'c Kinds),
        rules: Vec<Box<dyn Rule>>,
        every: usize,
    ) -> Self {
        let (found, creations, newest) = (Found::default(), Creations::default(), HashMap::new());
        Self { facts, source, prefix, kinds, rules, every, found, creations, changes: 0, has_served: false, newest }
    }

    /// Reads the history, then what is there without one.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(super) async fn run(&mut self) -> Result<()> {
        let (reader, every) = (self.facts.reader.clone(), self.every);
        let items = self.source.watch(KeyRange::all(), Revision(1), Until::Revision(self.facts.newest)).map_err(Error::from);
        let read = move |item| read(&reader, every, item);
        let mut items = Box::pin(cores::in_order_ahead(items, bytes, read));
        while let Some(seen) = items.try_next().await? {
            match seen {
                Seen::Change(read) => {
                    let (event, stored) = *read;
                    self.change(event, stored);
                }
                // What was known before may have changed in it.
                Seen::Gap => {
                    self.newest.values_mut().for_each(|before| before.is_exact = false);
                    self.rules.iter_mut().for_each(|rule| rule.forget());
                }
                Seen::Served => self.has_served = true,
                Seen::Nothing => {}
            }
        }
        if !self.source.reads_before() && !self.has_served {
            self.read_state().await?;
        }
        for rule in &mut self.rules {
            rule.finish(&self.facts, &mut self.found);
        }
        Ok(())
    }

    /// Looks at the keys that are there and whose history is not.
    async fn read_state(&mut self) -> Result<()> {
        let mut entries = self.source.range(KeyRange::all(), At::Revision(self.facts.newest), Want::Values).await?.entries;
        while let Some(version) = entries.try_next().await? {
            if self.newest.contains_key(&version.key) || !is_chosen(&version.key, self.every) {
                continue;
            }
            let stored = self.facts.reader.read(&version.key, &version.value);
            self.changes += 1;
            let change = Change {
                version: &version,
                kind: EventKind::Put,
                place: RegistryKey::parse(self.prefix, &version.key, self.kinds),
                stored: Some(&stored),
                before: None,
                source: self.source,
            };
            self.creations.see(&change);
            for rule in self.rules.iter_mut().filter(|rule| rule.needs_no_history()) {
                rule.see(&change, &self.facts, &mut self.found);
            }
        }
        Ok(())
    }

    fn change(&mut self, event: Event, stored: Option<Stored>) {
        let Event { kind, key_value: version, .. } = event;
        self.changes += 1;
        let before = self.newest.remove(&version.key);
        let change = Change {
            version: &version,
            kind,
            place: RegistryKey::parse(self.prefix, &version.key, self.kinds),
            stored: stored.as_ref(),
            before: before.as_deref(),
            source: self.source,
        };
        self.creations.see(&change);
        for rule in &mut self.rules {
            rule.see(&change, &self.facts, &mut self.found);
        }
        if let Some(stored) = stored {
            let keeps = !self.source.reads_before() && version.value.len() <= MAX_KEPT_BYTES;
            let value = if keeps { version.value.clone() } else { Bytes::new() };
            let before = Before { version: KeyValue { value, ..version.clone() }, stored: stored.kept(), is_exact: true };
            self.newest.insert(version.key, Box::new(before));
        }
    }
}

/// Reads the value of a change that shows bytes as they are stored.
fn read(reader: &Reader, every: usize, item: WatchItem) -> Seen {
    match item {
        WatchItem::Event(event) if shows_stored_bytes(event.origin) && is_chosen(&event.key_value.key, every) => {
            let is_put = event.kind == EventKind::Put;
            let stored = is_put.then(|| reader.read(&event.key_value.key, &event.key_value.value));
            Seen::Change(Box::new((event, stored)))
        }
        WatchItem::Event(event) if !matches!(event.origin, Origin::FreePage | Origin::OldValue) && !shows_stored_bytes(event.origin) => {
            Seen::Served
        }
        WatchItem::Gap { .. } => Seen::Gap,
        _ => Seen::Nothing,
    }
}

/// Whether a change was read with the bytes that etcd has. Pages that no tree reaches may be half overwritten, and rows that others replaced hold no more
/// than their values.
fn shows_stored_bytes(origin: Origin) -> bool {
    matches!(origin, Origin::Live | Origin::Db | Origin::Wal | Origin::Recording)
}

/// Whether a key is one of those looked at.
fn is_chosen(key: &[u8], every: usize) -> bool {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    every < 2 || hasher.finish().is_multiple_of(every as u64)
}

fn bytes(item: &WatchItem) -> usize {
    match item {
        WatchItem::Event(event) => event.key_value.value.len(),
        _ => 0,
    }
}
