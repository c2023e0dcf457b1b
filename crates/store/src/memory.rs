//! A [`Source`] over a multi-version index held in memory, which every format of files is loaded into.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::{self, BoxStream, StreamExt};

use super::versions::Versions;
use super::{
    At, Companion, EarlierRevisions, Error, Facts, HistoryKind, KeyRange, KeyValue, LateDamage, Listing, MemberLog, NoShortcuts, Result,
    Revision, RevisionSpan, Source, SourceStatus, Until, VersionIndex, Want, WatchItem, Withheld,
};

/// Files read into an index; nothing happens after it is made.
pub(crate) struct MemorySource {
    versions: Versions,
    span: RevisionSpan,
    damage: Vec<String>,
    left_out: Vec<String>,
    companions: Vec<Companion>,
    log: Option<Arc<dyn MemberLog>>,
    has_all_keys: bool,
    late_damage: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    status: Box<dyn Fn() -> SourceStatus + Send + Sync>,
    /// Why a version before another one was not read.
    unread: Mutex<Option<String>>,
    /// What is done once the files are found to be sound to their last byte.
    when_sound: Mutex<Option<Box<WhenSound>>>,
}

type WhenSound = dyn FnOnce(&Versions) + Send;

impl MemorySource {
    /// A source over `versions`; `late_damage` and `status` are called only on request, as they may have to wait for
    /// checksums.
    pub(super) fn new(
        versions: Versions,
        damage: Vec<String>,
        left_out: Vec<String>,
        late_damage: impl Fn() -> Vec<String> + Send + Sync + 'static,
        status: impl Fn() -> SourceStatus + Send + Sync + 'static,
    ) -> Self {
        let oldest = versions.spans().map(|span| span.oldest).min().unwrap_or(Revision(1));
        let newest = versions.spans().map(|span| span.newest).max().unwrap_or(Revision(1));
        let compacted = versions.spans().filter(|span| span.oldest == oldest).find_map(|span| span.compacted);
        Self {
            versions,
            span: RevisionSpan { oldest, newest, compacted },
            damage,
            left_out,
            companions: Vec::new(),
            log: None,
            has_all_keys: true,
            late_damage: Box::new(late_damage),
            status: Box::new(status),
            unread: Mutex::default(),
            when_sound: Mutex::new(None),
        }
    }

    /// Does something with the index once the files are found to be sound.
    pub(super) fn when_sound(self, act: impl FnOnce(&Versions) + Send + 'static) -> Self {
        Self { when_sound: Mutex::new(Some(Box::new(act))), ..self }
    }

    /// The same with the configuration that lies with the files.
    pub(super) fn with_companions(self, companions: Vec<Companion>) -> Self {
        Self { companions, ..self }
    }

    /// The same with the log of the member whose files they are.
    pub(super) fn with_log(self, log: Option<Arc<dyn MemberLog>>) -> Self {
        Self { log, ..self }
    }

    /// The same without a claim to hold every key.
    pub(super) fn of_some_keys(self) -> Self {
        Self { has_all_keys: false, ..self }
    }

    pub(crate) fn whole_span(&self) -> RevisionSpan {
        self.span
    }

    fn revision(&self, at: At) -> Result<(Revision, usize)> {
        let asked = match at {
            At::Newest => self.span.newest,
            At::Revision(asked) => asked,
        };
        if self.versions.is_one_moment() && asked != self.span.newest {
            return Err(Error::OneMoment { asked });
        }
        if asked > self.span.newest {
            return Err(Error::Future { asked, newest: self.span.newest });
        }
        self.versions.layer_at(asked).map(|layer| (asked, layer)).ok_or_else(|| {
            let oldest = self.versions.spans().map(|span| span.oldest).filter(|&oldest| oldest > asked).min();
            Error::Compacted { asked, oldest: oldest.unwrap_or(self.span.oldest), earlier: EarlierRevisions::Compacted }
        })
    }
}

impl NoShortcuts for MemorySource {}

impl Source for MemorySource {
    fn facts(&self) -> Facts<'_> {
        let is_one_moment = self.versions.is_one_moment();
        Facts {
            history: if is_one_moment { HistoryKind::OneMoment } else { HistoryKind::Changes },
            earlier: EarlierRevisions::Compacted,
            withheld: Withheld::default(),
            has_all_keys: self.has_all_keys,
            damage: &self.damage,
            left_out: &self.left_out,
            companions: &self.companions,
            late_damage: Some(self),
            before: if is_one_moment { None } else { Some(self) },
            arrivals: None,
            log: self.log.as_deref(),
            live: None,
        }
    }

    fn status(&self) -> BoxFuture<'_, Result<SourceStatus>> {
        ready(Ok((self.status)())).boxed()
    }

    fn span(&self) -> BoxFuture<'_, Result<RevisionSpan>> {
        ready(Ok(self.span)).boxed()
    }

    fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, Result<Listing<'_>>> {
        let listing = self.revision(at).map(|(revision, layer)| {
            let ids = self.versions.key_ids(&keys);
            let entries = ids.filter_map(move |key| self.versions.at(key, revision, layer, want));
            Listing { revision, entries: stream::iter(entries).boxed() }
        });
        ready(listing).boxed()
    }

    fn watch(&self, keys: KeyRange, from: Revision, until: Until) -> BoxStream<'_, Result<WatchItem>> {
        let to = match until {
            Until::Revision(to) => to.min(self.span.newest),
            Until::Forever => self.span.newest,
        };
        // The whole history begins with what has no known revision.
        let from = if from <= Revision(1) { Revision(0) } else { from };
        let mut changes = self.versions.changes(self.versions.key_ids(&keys), from, to);
        let mut events = std::iter::from_fn(move || self.versions.next(&mut changes)).peekable();
        let mut gaps = self.versions.gaps(from, to).peekable();
        let items = std::iter::from_fn(move || {
            if let Some((from, to)) = gaps.next_if(|gap| events.peek().is_none_or(|(revision, _)| gap.0 < *revision)) {
                return Some(Ok(WatchItem::Gap { from, to }));
            }
            let (revision, event) = events.next()?;
            Some(match event {
                Ok(event) => Ok(WatchItem::Event(event)),
                // What was taken away while the file is read is missing from now on, as if it had been compacted before.
                Err(Error::Format { .. }) => Ok(WatchItem::Gap { from: revision, to: revision }),
                Err(error) => Err(error),
            })
        });
        stream::iter(items.chain([Ok(WatchItem::Progress(to))])).boxed()
    }
}

impl LateDamage for MemorySource {
    fn late_damage(&self) -> Vec<String> {
        let mut damage = (self.late_damage)();
        damage.extend(self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone());
        if self.damage.is_empty()
            && damage.is_empty()
            && let Some(act) = self.when_sound.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            act(&self.versions);
        }
        damage
    }
}

impl VersionIndex for MemorySource {
    fn skipped(&self) -> Vec<(Revision, Revision)> {
        self.versions.skipped().collect()
    }

    fn before(&self, version: &KeyValue) -> Option<KeyValue> {
        match self.versions.before(&version.key, version.mod_revision)? {
            Ok(before) => Some(before),
            // It was taken away while the file is read.
            Err(Error::Format { .. }) => None,
            Err(error) => {
                *self.unread.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::versions::{IndexedPut, Layer, Location, StoredChange, VersionsBuilder, Volatile};
    use crate::{EventKind, Origin};

    /// A file of which only the end came.
    #[derive(Debug)]
    struct Torn;

    impl Volatile for Torn {
        fn value(&self, entry: &IndexedPut<'_>) -> Result<Bytes> {
            match entry.main {
                2 => Err(Error::File { path: "torn.db.zst".to_owned(), cause: std::io::Error::other("no space") }),
                _ => Ok(Bytes::from_static(b"value")),
            }
        }
    }

    #[test]
    fn a_version_before_that_cannot_be_read_is_told_at_the_end() {
        let mut builder = VersionsBuilder::default();
        let keys = builder.image(Bytes::from_static(b"/a")).unwrap();
        let values = builder.volatile_image(Bytes::from_static(b"value"), Arc::new(Torn)).unwrap();
        let span = RevisionSpan { oldest: Revision(1), newest: Revision(3), compacted: None };
        let layer = builder.layer(Layer { span: Some(span), ..Layer::default() }).unwrap();
        for main in [2, 3] {
            let (key, value) = (Location { image: keys, start: 0, length: 2 }, Location { image: values, start: 0, length: 5 });
            let (kind, origin) = (EventKind::Put, Origin::Live);
            builder.push(
                layer,
                StoredChange {
                    main,
                    sub: 0,
                    kind,
                    origin,
                    key,
                    value,
                    create_revision: 2,
                    version: main - 1,
                    replaced: 0,
                    lease: 0,
                    crc: 0,
                },
            );
        }
        let source = MemorySource::new(builder.finish().unwrap(), Vec::new(), Vec::new(), Vec::new, || unreachable!("nobody asks"));
        let newest = source.versions.at(0, Revision(3), 0, Want::Values).unwrap().unwrap();
        assert_eq!((source.late_damage(), source.before(&newest)), (Vec::new(), None));
        let told = source.late_damage();
        assert!(told.len() == 1 && told[0].contains("torn.db.zst") && told[0].contains("no space"), "{told:?}");
    }
}
