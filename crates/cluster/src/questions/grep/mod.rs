//! Who ever held a value: a pattern is searched for in every readable version of objects, first in the bytes that are stored, and decoded only where it
//! may be. What is found is handed over object by object; what is held of it is bounded.

mod parts;
mod pattern;
mod place;
mod setter;
mod spans;

use std::collections::{BTreeMap, btree_map};
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_history::EventPair;
use ketcd_history::clock::Clock;
use ketcd_kube::{Address, Body, SearchedText};
use ketcd_store::{At, Error as StoreError, EventKind, KeyRange, Revision, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::not_found::{Looked, NotFound};
use crate::notice::Notice;
use crate::read::{Keys, Read, Reporting, attributed, clock_of_pairs, pairs_on_cores};
use crate::rights::refused::unless_denied;
use parts::{KeyPart, Parts};
use spans::{Holding, ObjectSpans, PartEnd, Spans, Version};

pub use pattern::{MAX_PATTERN_BYTES, Pattern};
pub use place::{Hit, Place, Search};
pub use setter::Setter;
pub use spans::{SpanEnd, ValueSpan};

/// How many bytes of what is found are held at once.
pub const MAX_HELD_BYTES: usize = 64 << 20;

/// What is asked.
#[derive(Clone, Debug)]
pub struct GrepQuestion<'w> {
    /// What is searched for, and where.
    pub search: Search,
    /// The kinds or objects, as they were typed; none for all.
    pub words: &'w [String],
    /// Whether it is asked when each value came and who set it, for which the changes are dated.
    pub with_changes: bool,
    /// How many bytes of what is found may be held at once: [`MAX_HELD_BYTES`], or less.
    pub max_held_bytes: usize,
}

/// A search under way, which hands over what it finds.
pub struct Grep<'c> {
    cluster: &'c Cluster,
    search: Arc<Search>,
    text: Arc<SearchedText>,
    keys: Keys,
    until: Revision,
    holding: Holding,
    parts: Parts,
    /// What was found in the part read last, and is not handed over.
    found: btree_map::IntoIter<Bytes, ObjectSpans>,
    /// Dates what is found, where that is more than one part.
    clock: Option<Arc<Clock>>,
    searched: Searched,
    left_out: Vec<SearchLeftOut>,
    /// The single objects that words name, with their keys, of which no version was read so far.
    unread: Vec<(String, Address)>,
}

/// An object in which something was found.
#[derive(Debug)]
pub struct FoundObject {
    /// etcd's key.
    pub key: Bytes,
    /// What a person would type for it: `pod/lab/ubuntu`.
    pub name: String,
    /// The object.
    pub subject: KeySubject,
    /// The revision that deleted it; `None` where it is there, and where its end cannot be read.
    pub deleted: Option<Revision>,
    /// What was found, in the order in which it came.
    pub spans: Vec<ValueSpan>,
}

/// What was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The first revision of which versions count.
    pub from: Revision,
    /// The last revision.
    pub to: Revision,
    /// How many versions of objects were read.
    pub versions: u64,
}

/// What was not searched, because more was found than can be held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchLeftOut {
    /// All keys from this one on: a live etcd is read once.
    Keys {
        /// The first of them.
        from: Bytes,
    },
    /// Versions of one object.
    Versions {
        /// Its key.
        key: Bytes,
        /// The last revision that was searched.
        after: Revision,
    },
}

impl Cluster {
    /// Searches every readable version of objects up to the revision looked at: live, deleted and recovered ones. What was there after
    /// [`Cluster::since`] counts. Without words all objects of the namespace looked at are searched, or of all; kinds in all namespaces where none is
    /// looked at. Nothing is read before [`Grep::next`].
    ///
    /// # Errors
    /// A word that cannot be read as an address, or a source that cannot be read.
    pub async fn grep(&self, question: GrepQuestion<'_>) -> Result<Grep<'_>> {
        let GrepQuestion { search, words, with_changes, max_held_bytes } = question;
        if with_changes {
            self.read_once().await?;
        }
        let (until, after) = (self.revision().await?, self.counted_after());
        let keys = Keys { to_newest: self.at == At::Newest, ..self.keys_searched(words).await? };
        let prefix = self.prefix().await?;
        let named = keys.addresses.iter().map(|address| (address.key(prefix), address));
        let unread = named.filter(|((_, is_whole), _)| *is_whole).map(|((key, _), address)| (key, address.clone())).collect();
        let text = SearchedText::any_of(search.pattern.texts(), search.looks_at(Place::Keys)).in_managers(search.looks_at(Place::Managers));
        Ok(Grep {
            cluster: self,
            search: Arc::new(search),
            text: Arc::new(text),
            keys,
            until,
            holding: Holding { most_bytes: max_held_bytes, changes: with_changes, after },
            parts: Parts::default(),
            found: btree_map::IntoIter::default(),
            clock: None,
            searched: Searched { from: self.source.span().await?.oldest.max(after.after()), to: until, versions: 0 },
            left_out: Vec::new(),
            unread,
        })
    }

    async fn keys_searched(&self, words: &[String]) -> Result<Keys> {
        let keys = match (words, &self.options.namespace) {
            ([], Some(namespace)) => self.keys_of_namespace(namespace, self.at).await?,
            ([], None) => Keys::all(),
            (words, _) => match self.kinds_alone(words).await? {
                Some(addresses) => Keys { many: true, ..Keys::at(self.prefix().await?, addresses) },
                None => Keys::at(self.prefix().await?, self.addresses(words).await?),
            },
        };
        self.selected(keys).await
    }
}

impl Grep<'_> {
    /// The next object in which something was found, in the order of their keys; `None` after the last one.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn next(&mut self) -> Result<Option<FoundObject>> {
        loop {
            for (key, mut object) in self.found.by_ref() {
                if let Some(after) = object.cut {
                    self.left_out.push(SearchLeftOut::Versions { key: key.clone(), after });
                    let key = String::from_utf8_lossy(&key).into_owned();
                    self.cluster.note(Notice::VersionsNotSearched { key, after });
                }
                let spans = mem::take(object.spans());
                if !spans.is_empty() {
                    let (name, subject) = (self.cluster.name_of(&key).await?, self.cluster.subject_of(&key).await?);
                    return Ok(Some(FoundObject { name, subject, deleted: object.deleted, spans, key }));
                }
            }
            let Some(part) = self.parts.next() else { return Ok(None) };
            self.found = self.read(part).await?.into_iter();
        }
    }

    /// What was searched, once all is handed over.
    pub fn searched(&self) -> Searched {
        self.searched
    }

    /// What was not searched, once all is handed over.
    pub fn left_out(&self) -> &[SearchLeftOut] {
        &self.left_out
    }

    /// The single objects that were named and of which no version is readable, once all is handed over.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn absent(&self) -> Result<Vec<NotFound>> {
        let mut absent = Vec::new();
        for (_, address) in &self.unread {
            absent.push(NotFound::of(self.cluster, address, Looked::UpTo(self.until)).await?);
        }
        Ok(absent)
    }

    /// What is found in a part of the keys, or as much of it as can be held: the parts that are left begin behind that.
    async fn read(&mut self, part: KeyPart) -> Result<BTreeMap<Bytes, ObjectSpans>> {
        let end = PartEnd::at(part.to.clone());
        let spans = self.spans(&part, &end).await?;
        let end = end.key();
        match &end {
            // Another pass would read the history of all keys again.
            Some(from) if self.cluster.source.is_shared() => {
                self.cluster.note(Notice::KeysNotSearched { from: String::from_utf8_lossy(from).into_owned() });
                self.left_out.push(SearchLeftOut::Keys { from: from.clone() });
            }
            _ => self.parts.read(&part, end.clone(), (spans.bytes, self.holding.most_bytes)),
        }
        let mut objects = spans.finish(self.until);
        if self.holding.changes {
            self.date(&mut objects, part.is_first && end.is_none()).await?;
        }
        Ok(objects)
    }

    async fn spans(&mut self, part: &KeyPart, end: &PartEnd) -> Result<Spans> {
        let keys = self.keys.within(&part.from, part.to.as_deref());
        let (search, text, on_core) = (Arc::clone(&self.search), Arc::clone(&self.text), end.clone());
        let make = move |pair: EventPair, reporting: &mut Reporting<'_>| match on_core.is_after(&pair.event.key_value.key) {
            true => searched(pair, reporting, (&search, &text)),
            false => Version { pair, hits: Vec::new(), is_opaque: false },
        };
        let mut spans = Spans::new(self.holding, end.clone());
        let mut read = pairs_on_cores(self.cluster, keys, self.until, make);
        while let Some(read) = read.try_next().await? {
            match read {
                Read::Gap { from, to } => {
                    if part.is_first {
                        self.cluster.note_gap(from, to);
                    }
                    spans.note_gap(to);
                }
                Read::Item(mut version) => {
                    if part.is_first {
                        self.searched.versions += u64::from(version.pair.event.kind == EventKind::Put);
                        self.parts.observe(&version.pair.event);
                        self.unread.retain(|(key, _)| key.as_bytes() != version.pair.event.key_value.key);
                    }
                    if version.is_opaque {
                        let subject = self.cluster.subject_of(&version.pair.event.key_value.key).await?;
                        version.hits = self.search.hits_of_key(&subject.namespace, &subject.name);
                    }
                    spans.take(version);
                }
            }
        }
        for (key, last) in spans.in_doubt() {
            let range = KeyRange::key(&key[..]);
            let found = match self.cluster.source.first(range, At::Revision(self.until), Want::Keys, 1).await {
                // A compaction overtook the search.
                Err(StoreError::Compacted { .. }) => None,
                found => unless_denied(found)?,
            };
            if found.is_none_or(|found| found.first().is_none_or(|entry| entry.mod_revision != last)) {
                spans.lose(&key);
            }
        }
        Ok(spans)
    }

    /// Finds when each value came and who set it: as closely as the data allow where what was found `is_all`, else by what dates a long history.
    async fn date(&mut self, objects: &mut BTreeMap<Bytes, ObjectSpans>, is_all: bool) -> Result<()> {
        let mut changes: Vec<Arc<EventPair>> = Vec::new();
        let mut of_spans = Vec::new();
        for span in objects.values_mut().flat_map(|object| object.spans().iter_mut()) {
            let Some(change) = span.change.take() else { continue };
            if changes.last().is_none_or(|last| !Arc::ptr_eq(last, &change)) {
                changes.push(change);
            }
            of_spans.push((span, changes.len() - 1));
        }
        if changes.is_empty() {
            return Ok(());
        }
        let pairs: Vec<EventPair> = changes.into_iter().map(Arc::unwrap_or_clone).collect();
        let clock = match &self.clock {
            Some(clock) => Arc::clone(clock),
            None if is_all => clock_of_pairs(self.cluster, &pairs).await?,
            None => Arc::clone(self.clock.insert(self.cluster.clock_of_writers(&[], &[], &[]).await?)),
        };
        let setters: Vec<Arc<Setter>> = attributed(self.cluster, pairs, clock, Setter::from).await?.into_iter().map(Arc::new).collect();
        for (span, place) in of_spans {
            span.setter = setters.get(place).cloned();
        }
        Ok(())
    }
}

/// Searches one version, which is decoded only where its bytes say that something may be there.
fn searched(pair: EventPair, reporting: &mut Reporting<'_>, (search, text): (&Search, &SearchedText)) -> Version {
    let entry = &pair.event.key_value;
    let body = if pair.event.kind == EventKind::Put { reporting.decode_showing(entry, text) } else { None };
    match body {
        None => Version { pair, hits: Vec::new(), is_opaque: false },
        Some(Body::Object(object)) => Version { hits: search.hits(&object), pair, is_opaque: false },
        Some(Body::Opaque(_)) => Version { pair, hits: Vec::new(), is_opaque: true },
    }
}
