//! A live etcd together with files: it gives the present and what the files lack, and follows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_stream::try_stream;
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

use super::lineage::{Verdict, Witness, compare};
use super::{Fused, gaps, not_of_one_cluster};
use crate::{
    At, EarlierRevisions, Error, Event, EventKind, Generations, KeyRange, KeyValue, Origin, PartGap, Result, Revision, RevisionSpan,
    Source, SourceStatus, Sources, Until, Want, WatchItem,
};

/// Says something that the user should know while a question is still being answered.
pub(crate) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// A live etcd to be read together with files.
pub(crate) struct LiveInput {
    pub name: String,
    pub source: Box<dyn Source>,
    pub tell: Tell,
}

pub(super) struct LivePart {
    pub name: Arc<str>,
    pub source: Box<dyn Source>,
    tell: Tell,
    told: Mutex<BTreeSet<String>>,
    checked: OnceCell<()>,
    /// What neither it nor the files have, once it was asked.
    gaps: OnceLock<Vec<PartGap>>,
}

impl LivePart {
    pub(super) fn new(LiveInput { name, source, tell }: LiveInput) -> Self {
        Self { name: name.into(), source, tell, told: Mutex::default(), checked: OnceCell::new(), gaps: OnceLock::new() }
    }

    /// The source, once it was compared with the files.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is of another cluster.
    pub(super) async fn checked(&self, fused: &Fused) -> Result<&dyn Source> {
        self.checked.get_or_try_init(|| self.check(fused)).await?;
        Ok(&*self.source)
    }

    async fn check(&self, fused: &Fused) -> Result<()> {
        let SourceStatus { cluster_id, .. } = self.source.status().await?;
        let other = fused.parts.iter().find(|part| part.cluster_id.as_ref().is_some_and(|known| Some(known) != cluster_id.as_ref()));
        if let (Some(other), Some(id)) = (other, &cluster_id) {
            let known = other.cluster_id.as_deref().unwrap_or_default();
            let conflict = format!("{} is of cluster {known}, {} of cluster {id}", other.name, self.name);
            return Err(not_of_one_cluster(&fused.name(), &conflict));
        }
        match self.compare(fused).await {
            Err(error) if error.is_denied() => {
                self.tell(&format!("cannot check that {} is the same cluster as the files: this user may not read enough of it", self.name))
            }
            Err(error) => return Err(error),
            Ok(Verdict::Agree) => {}
            Ok(Verdict::Recovered(sentence)) => self.tell(&sentence),
            Ok(Verdict::Unknown(why)) => {
                self.tell(&format!("cannot tell that {} is from the cluster of the files: {why}", self.name));
            }
            Ok(Verdict::Conflict(conflict) | Verdict::Parted { conflict, .. }) => return Err(not_of_one_cluster(&fused.name(), &conflict)),
        }
        Ok(())
    }

    /// Compares it with the newest file.
    async fn compare(&self, fused: &Fused) -> Result<Verdict> {
        let newest = (0..fused.parts.len()).max_by_key(|&number| (fused.parts[number].has_all_keys(), fused.parts[number].newest()));
        let Some(number) = newest else { return Ok(Verdict::Agree) };
        let (part, source, span) = (&fused.parts[number], fused.source(number)?, self.source.span().await?);
        let newest = fused.span_of_files().newest;
        if span.newest < newest {
            let problem = format!(
                "its newest revision is {}, older than the {newest} of the files: it was restored from a backup, or is a member that is behind",
                span.newest
            );
            return Err(Error::Format { path: self.name.to_string(), problem });
        }
        self.note_gaps(fused, span);
        // A learner does not give single revisions back.
        if !self.source.serves_watches().await {
            return Ok(Verdict::Unknown("it is a learner, which does not give single revisions back".to_owned()));
        }
        compare(&Witness::opened(part, &*source), &Witness::live(&self.name, span, &*self.source)).await
    }

    fn note_gaps(&self, fused: &Fused, span: RevisionSpan) {
        let gaps = gaps::beside_live(&fused.gaps, &fused.parts, (&self.name, span.oldest));
        gaps::sentences(&gaps).iter().for_each(|sentence| self.tell(sentence));
        let _ = self.gaps.set(gaps);
    }

    /// What neither it nor the files have, once it was asked.
    pub(super) fn gaps(&self) -> Option<&[PartGap]> {
        self.gaps.get().map(Vec::as_slice)
    }

    /// Says something once, however many questions come upon it.
    pub(super) fn tell(&self, sentence: &str) {
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(sentence.to_owned()) {
            (self.tell)(sentence);
        }
    }

    /// Whether the user may read what a watch of these keys reads up to some revision. Of single keys, only what it reads beyond them is asked about.
    ///
    /// # Errors
    ///
    /// It cannot be read for another reason.
    pub(super) async fn may_watch(&self, ranges: &[KeyRange]) -> Result<bool> {
        let hull = KeyRange::hull(ranges);
        let reads = self.source.bounded_watch_reads(hull.clone()).await?;
        if reads == hull && are_keys(ranges) {
            return Ok(true);
        }
        match self.source.first(reads, At::Newest, Want::Keys, 1).await {
            Err(error) if error.is_denied() => Ok(false),
            found => found.map(|_| true),
        }
    }

    fn sources(&self) -> Sources {
        Sources::new(Arc::from([Arc::clone(&self.name)]))
    }

    /// Its changes from a revision on; of what it has compacted the versions that are left.
    pub(super) fn watch(&self, ranges: Vec<KeyRange>, from: i64, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        try_stream! {
            let end = if let Until::Revision(end) = until { end } else { Revision(i64::MAX) };
            let (from, left) = self.left(&ranges, from, end).await?;
            for item in left {
                yield item;
            }
            if from > end.0 {
                return;
            }
            let (sources, mut items) = (self.sources(), self.source.watch_ranges(ranges, Revision(from), until));
            while let Some(item) = items.next().await.transpose()? {
                yield match item {
                    WatchItem::Event(event) => WatchItem::Event(Event { sources: sources.clone(), ..event }),
                    other => other,
                };
            }
        }
        .boxed()
    }

    /// The changes of single keys between two revisions, both included, at the cost of their own versions; `alive_at` says when a key is known
    /// to have been there.
    pub(super) async fn search(
        &self,
        keys: &[KeyRange],
        from: i64,
        to: i64,
        alive_at: impl Fn(&[u8]) -> Vec<Revision>,
    ) -> Result<Vec<WatchItem>> {
        let (from, mut found) = self.left(keys, from, Revision(to)).await?;
        let mut later = Vec::new();
        for key in keys {
            let generations = Generations::All(alive_at(&key.start));
            let mut items = self.source.key_history(key.start.clone(), Revision(to), generations).await?.items;
            while let Some(item) = items.next().await.transpose()? {
                match item {
                    WatchItem::Event(event) if event.revision.0 >= from => later.push(Event { sources: self.sources(), ..event }),
                    _ => {}
                }
            }
        }
        later.sort_by_key(|event| event.revision);
        found.extend(later.into_iter().map(WatchItem::Event));
        Ok(found)
    }

    /// What it has left of the revisions between two, as far as they are compacted, with what it lost; and the first that is not.
    async fn left(&self, ranges: &[KeyRange], from: i64, to: Revision) -> Result<(i64, Vec<WatchItem>)> {
        let (oldest, survivors) = self.survivors(ranges, from).await?;
        let (mut next, mut left) = (from, Vec::new());
        if oldest.0 <= from {
            return Ok((from, left));
        }
        for (sub_revision, key_value) in survivors.into_iter().filter(|(_, version)| version.mod_revision <= to) {
            let revision = key_value.mod_revision;
            if next < revision.0 {
                left.push(WatchItem::Gap { from: Revision(next), to: revision.before() });
            }
            next = revision.0 + 1;
            let (kind, origin, sources) = (EventKind::Put, Origin::Live, self.sources());
            left.push(WatchItem::Event(Event { revision, sub_revision, kind, key_value, origin, sources }));
        }
        let last = oldest.min(to);
        if next <= last.0 {
            left.push(WatchItem::Gap { from: Revision(next), to: last });
        }
        Ok((oldest.0 + 1, left))
    }

    /// The revision of its compaction, and what keys have of the time from a revision on to that, each with its number in its revision.
    async fn survivors(&self, ranges: &[KeyRange], from: i64) -> Result<(Revision, Vec<(i64, KeyValue)>)> {
        const MAX_COMPACTION_ATTEMPTS: usize = 5;
        for _ in 0..MAX_COMPACTION_ATTEMPTS {
            let RevisionSpan { oldest, compacted, .. } = self.source.span().await?;
            if compacted.is_none() || oldest.0 <= from {
                return Ok((Revision(from), Vec::new()));
            }
            match self.alive(ranges, oldest).await {
                Err(Error::Compacted { .. }) => {}
                found => return Ok((oldest, numbered(found?.into_iter().filter(|entry| entry.mod_revision.0 >= from)))),
            }
        }
        Err(Error::Compacted { asked: Revision(from), oldest: self.source.span().await?.oldest, earlier: EarlierRevisions::Compacted })
    }

    async fn alive(&self, ranges: &[KeyRange], at: Revision) -> Result<Vec<KeyValue>> {
        let mut found = Vec::new();
        for keys in ranges {
            let listing = self.source.range(keys.clone(), At::Revision(at), Want::Values).await?;
            found.extend(listing.entries.try_collect::<Vec<_>>().await?);
        }
        Ok(found)
    }
}

/// Whether each range is a single key.
pub(super) fn are_keys(ranges: &[KeyRange]) -> bool {
    ranges.iter().all(|range| *range == KeyRange::key(&range.start[..]))
}

/// Versions in the order of their revisions. A listing does not say in which order a transaction wrote its keys.
fn numbered(versions: impl Iterator<Item = KeyValue>) -> Vec<(i64, KeyValue)> {
    let mut versions: Vec<KeyValue> = versions.collect();
    versions.sort_by_key(|version| version.mod_revision);
    let mut last = (Revision(0), 0);
    let number = |version: KeyValue| {
        last = if last.0 == version.mod_revision { (last.0, last.1 + 1) } else { (version.mod_revision, 0) };
        (last.1, version)
    };
    versions.into_iter().map(number).collect()
}
