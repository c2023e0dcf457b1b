//! Who ever held a value: a pattern is searched for in every readable version of objects, first in the bytes that are stored, and decoded only where it
//! may be.

mod pattern;
mod place;
mod spans;

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_audit::Authorship;
use ketcd_history::clock::Dated;
use ketcd_history::{Actor, AttributedChange, EventPair};
use ketcd_kube::{Body, SearchedText};
use ketcd_store::{At, EventKind, KeyRange, Revision, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::kinds::KeySubject;
use crate::read::{Keys, Read, Reporting, attributed, pairs_on_cores};
use crate::rights::refused::unless_denied;
use spans::{ObjectSpans, Spans, Version};

pub use pattern::Pattern;
pub use place::{Hit, Place, Search};
pub use spans::{Span, SpanEnd};

/// What is asked.
#[derive(Clone, Debug)]
pub struct GrepQuestion<'w> {
    /// What is searched for, and where.
    pub search: Search,
    /// The kinds or objects, as they were typed; none for all.
    pub words: &'w [String],
    /// Whether it is asked when each value came and who set it, for which the changes are dated.
    pub with_changes: bool,
}

/// What was found.
#[derive(Debug)]
pub struct Grep {
    /// The objects, in the order of their keys.
    pub objects: Vec<FoundObject>,
    /// What was searched.
    pub searched: Searched,
    /// The changes that brought what was found.
    changes: Vec<Setter>,
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
    pub spans: Vec<Span>,
}

/// What was searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Searched {
    /// The first revision of which versions count.
    pub from: Revision,
    /// The last revision.
    pub to: Revision,
    /// How many versions of objects were searched.
    pub versions: u64,
}

/// The change that brought a value.
#[derive(Clone, Debug)]
pub struct Setter {
    /// When it was made; `None` where nothing dates the revision.
    pub dated: Option<Dated>,
    /// Who made it, as far as that is known.
    pub by: Option<Actor>,
    /// Who made it, as etcd's data shows.
    pub actor: Option<Actor>,
    /// The request that made it; `None` where no audit log says.
    pub request: Option<Authorship>,
    /// Whether the revision is only about the one that etcd has.
    pub is_placed: bool,
}

impl Grep {
    /// The change that brought a value; `None` where it may have been there before, and where changes were not asked for.
    pub fn setter(&self, span: &Span) -> Option<&Setter> {
        self.changes.get(span.brought?)
    }

    /// How many values were found: each once for every stretch of revisions.
    pub fn count(&self) -> usize {
        self.objects.iter().map(|object| object.spans.len()).sum()
    }
}

impl From<AttributedChange> for Setter {
    fn from(change: AttributedChange) -> Self {
        let by = change.by();
        Self { dated: change.dated, by, actor: change.actor, request: change.request, is_placed: change.change.origin.is_placed() }
    }
}

impl Cluster {
    /// Searches every readable version of objects up to the revision looked at: live, deleted and recovered ones. What was there after
    /// [`Cluster::since`] counts. Without words all objects of the namespace looked at are searched, or of all; kinds in all namespaces where none is
    /// looked at.
    ///
    /// # Errors
    /// A word that cannot be read as an address, or a source that cannot be read.
    pub async fn grep(&self, question: GrepQuestion<'_>) -> Result<Grep> {
        let GrepQuestion { search, words, with_changes } = question;
        let until = self.revision().await?;
        let after = self.counted_after();
        let keys = Keys { to_newest: self.at == At::Newest, ..self.keys_searched(words).await? };
        let (mut spans, versions) = self.spans(keys, until, (search, with_changes)).await?;
        for (key, last) in spans.in_doubt() {
            let found = unless_denied(self.source.first(KeyRange::key(&key[..]), At::Revision(until), Want::Keys, 1).await)?;
            if found.is_none_or(|found| found.first().is_none_or(|entry| entry.mod_revision != last)) {
                spans.lose(&key);
            }
        }
        spans.finish(until, after);
        let changes = match spans.brought.is_empty() {
            true => Vec::new(),
            false => attributed(self, mem::take(&mut spans.brought), Setter::from).await?,
        };
        let mut objects = Vec::with_capacity(spans.objects.len());
        for (key, ObjectSpans { mut spans, deleted, .. }) in spans.objects {
            let (name, subject) = (self.name_of(&key).await?, self.subject_of(&key).await?);
            spans.sort_by(|a, b| (a.from, &a.hit.path).cmp(&(b.from, &b.hit.path)));
            objects.push(FoundObject { name, subject, deleted, spans, key });
        }
        let from = self.source.span().await?.oldest.max(after.after());
        Ok(Grep { objects, searched: Searched { from, to: until, versions }, changes })
    }

    /// What is found in the versions of keys, and how many versions there are.
    async fn spans(&self, keys: Keys, until: Revision, (search, with_changes): (Search, bool)) -> Result<(Spans, u64)> {
        let search = Arc::new(search);
        let text = SearchedText::any_of(search.pattern.texts(), search.looks_at(Place::Keys));
        let on_core = Arc::clone(&search);
        let mut read = pairs_on_cores(self, keys, until, move |pair, reporting| searched(pair, reporting, (&on_core, &text)));
        let (mut spans, mut versions) = (Spans::default(), 0);
        while let Some(read) = read.try_next().await? {
            match read {
                Read::Gap { from, to } => {
                    self.note_gap(from, to);
                    spans.note_gap(to);
                }
                Read::Item(mut version) => {
                    versions += u64::from(version.pair.event.kind == EventKind::Put);
                    if version.is_opaque {
                        let subject = self.subject_of(&version.pair.event.key_value.key).await?;
                        version.hits = search.hits_of_key(&subject.namespace, &subject.name);
                    }
                    spans.take(version, with_changes);
                }
            }
        }
        Ok((spans, versions))
    }

    /// The keys of what is searched.
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

/// Searches one version, which is decoded only where its bytes say that something may be there.
fn searched(pair: EventPair, reporting: &mut Reporting<'_>, (search, text): (&Search, &SearchedText)) -> Version {
    let entry = &pair.event.key_value;
    let may_show = pair.event.kind == EventKind::Put && reporting.decoder().may_show(&entry.key, &entry.value, text);
    let body = may_show.then(|| reporting.decode(entry));
    match body {
        None => Version { pair, hits: Vec::new(), is_opaque: false },
        Some(Body::Object(object)) => Version { hits: search.hits(&object), pair, is_opaque: false },
        Some(Body::Opaque(_)) => Version { pair, hits: Vec::new(), is_opaque: true },
    }
}
