//! A bundle's versions, read once in the store's order and handed on one by one. Some at a time are decoded and written on all cores; pseudonyms are made
//! in between, as each is known to the next object.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_history::clock::Clock;
use ketcd_kube::is_secret_key;
use ketcd_redact::Redactor;
use ketcd_store::recording::WrittenBetween;
use ketcd_store::{At, Event, EventKind, KeyValue, Revision, Until, Want};

use super::batch::{Batch, on_cores};
use super::kept_keys::KeptDepth;
use super::parts::{BundlePart, BundleSummary, MissingPart};
use super::plan::Bundle;
use super::value::{KeptObject, Values};
use crate::error::{Error, Result};
use crate::read::{Keys, Read, events_from};

/// What a walk over the slice meets.
enum StreamStep {
    State(Revision),
    Entry(KeyValue, KeptDepth),
    StateEnd,
    Change(Event, KeptDepth),
    Missing(MissingPart),
}

impl StreamStep {
    /// The version that it brings, if it brings one.
    fn version(&self) -> Option<(&KeyValue, KeptDepth)> {
        match self {
            Self::Entry(entry, depth) => Some((entry, *depth)),
            Self::Change(event, depth) if event.kind == EventKind::Put => Some((&event.key_value, *depth)),
            _ => None,
        }
    }

    fn bytes(&self) -> usize {
        self.version().map_or(0, |(entry, _)| entry.value.len())
    }
}

impl Bundle<'_> {
    /// Shows a redactor every object, so that it knows what is to go before the first is written.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn learn(&self, redactor: &mut Redactor) -> Result<()> {
        let values = Values::new(self.cluster, &self.prefix, self.holds_secrets());
        let mut pending = Batch::default();
        let mut learn = |pending: &mut Batch<StreamStep>| {
            for (step, kept) in pending.look(|step| kept(&values, step)) {
                if let (Some((entry, _)), Some(kept)) = (step.version(), kept) {
                    redactor.learn_of(&String::from_utf8_lossy(&entry.key), kept.object);
                }
            }
        };
        self.walk(&mut |step| {
            let bytes = step.bytes();
            if step.version().is_some() && pending.add(step, bytes) {
                learn(&mut pending);
            }
            Ok::<(), Error>(())
        })
        .await?;
        learn(&mut pending);
        Ok(())
    }

    /// Hands on all parts, redacted where a redactor is given, which has learned them.
    ///
    /// # Errors
    /// The source cannot be read, or `take` ends the reading.
    pub async fn write<E: From<Error>>(
        &self,
        redactor: Option<&mut Redactor>,
        take: &mut dyn FnMut(BundlePart) -> Result<(), E>,
    ) -> Result<BundleSummary, E> {
        let clock = match self.is_one_moment {
            true => None,
            false => Some(self.cluster.clock_around(&[self.from, self.to], &[]).await?),
        };
        let mut writing = Writing::new(self, clock.clone(), redactor);
        self.walk(&mut |step| {
            let bytes = step.bytes();
            if writing.pending.add(step, bytes) { writing.hand_on(take) } else { Ok(()) }
        })
        .await?;
        writing.hand_on(take)?;
        writing.end().map_or(Ok(()), take)?;
        let time = |revision| clock.as_ref()?.date(revision).map(|dated| dated.time);
        Ok(BundleSummary { times: (time(self.from), time(self.to)), ..writing.summary })
    }

    /// Reads the state at the beginning and the changes after it, of the keys that are kept.
    async fn walk<E: From<Error>>(&self, each: &mut dyn FnMut(StreamStep) -> Result<(), E>) -> Result<(), E> {
        let keys = Keys::many(self.kept.ranges(&self.prefix));
        self.state(&keys, (self.from, self.beginning()), each).await?;
        if !self.has_changes() {
            return Ok(());
        }
        let mut events = pin!(events_from(self.cluster, keys.clone(), self.from.after(), Until::Revision(self.to)));
        while let Some(read) = events.try_next().await? {
            match read {
                Read::Item(event) => {
                    if let Some(depth) = self.kept.depth(&event.key_value.key) {
                        each(StreamStep::Change(event, depth))?;
                    }
                }
                Read::Gap { from, to } => {
                    each(StreamStep::Missing(MissingPart { from, to }))?;
                    self.state(&keys, (to, At::Revision(to)), each).await?;
                }
            }
        }
        Ok(())
    }

    /// Reads the state that is written as that of a revision.
    async fn state<E: From<Error>>(
        &self,
        keys: &Keys,
        (revision, at): (Revision, At),
        each: &mut dyn FnMut(StreamStep) -> Result<(), E>,
    ) -> Result<(), E> {
        each(StreamStep::State(revision))?;
        for range in keys.apart() {
            let mut entries = self.cluster.source.range(range, at, Want::Values).await.map_err(Error::from)?.entries;
            while let Some(entry) = entries.try_next().await.map_err(Error::from)? {
                if let Some(depth) = self.kept.depth(&entry.key) {
                    each(StreamStep::Entry(entry, depth))?;
                }
            }
        }
        each(StreamStep::StateEnd)
    }
}

/// The object of a version as far as it is kept.
fn kept(values: &Values, step: &StreamStep) -> Option<KeptObject> {
    step.version().and_then(|(entry, depth)| values.kept(entry, depth))
}

struct Writing<'w> {
    values: Values,
    pending: Batch<StreamStep>,
    clock: Option<Arc<Clock>>,
    redactor: Option<&'w mut Redactor>,
    /// Whether the values of Secrets are in it.
    holds_secrets: bool,
    summary: BundleSummary,
    last: Revision,
    counted: HashSet<Bytes>,
}

impl<'w> Writing<'w> {
    fn new(bundle: &Bundle<'_>, clock: Option<Arc<Clock>>, redactor: Option<&'w mut Redactor>) -> Self {
        let (from, to) = (bundle.from, bundle.to);
        Self {
            values: Values::new(bundle.cluster, &bundle.prefix, bundle.holds_secrets()),
            pending: Batch::default(),
            clock,
            redactor,
            holds_secrets: bundle.holds_secrets(),
            summary: BundleSummary { objects: 0, reduced: 0, revisions: 0, masked: 0, left_out: 0, from, to, times: (None, None) },
            last: from,
            counted: HashSet::new(),
        }
    }

    /// Hands on what is pending.
    fn hand_on<E>(&mut self, take: &mut dyn FnMut(BundlePart) -> Result<(), E>) -> Result<(), E> {
        for (step, value) in self.written_steps() {
            self.part(step, value).map_or(Ok(()), &mut *take)?;
        }
        Ok(())
    }

    /// What is pending, with the value that is written of each version; `None` where nothing is.
    fn written_steps(&mut self) -> Vec<(StreamStep, Option<Bytes>)> {
        let values = &self.values;
        let Some(redactor) = &mut self.redactor else {
            return self.pending.look(|step| step.version().and_then(|(entry, depth)| values.written(entry, depth)));
        };
        let (steps, mut objects): (Vec<_>, Vec<_>) = self.pending.look(|step| kept(values, step)).into_iter().unzip();
        for (step, kept) in steps.iter().zip(&mut objects) {
            if let (Some((entry, _)), Some(kept)) = (step.version(), kept) {
                redactor.object(&String::from_utf8_lossy(&entry.key), &mut kept.object);
                kept.mark();
            }
        }
        let written = on_cores(&objects, |kept| kept.as_ref().and_then(KeptObject::written));
        steps.into_iter().zip(written).collect()
    }

    /// What is written of a step; `None` where nothing is.
    fn part(&mut self, step: StreamStep, value: Option<Bytes>) -> Option<BundlePart> {
        match step {
            StreamStep::State(at) => Some(BundlePart::State(at)),
            StreamStep::StateEnd => Some(BundlePart::StateEnd),
            StreamStep::Missing(missing) => Some(BundlePart::Missing(missing)),
            StreamStep::Entry(entry, depth) => self.version(entry, depth, value).map(BundlePart::Entry),
            StreamStep::Change(event, depth) => self.change(event, depth, value),
        }
    }

    fn change(&mut self, event: Event, depth: KeptDepth, value: Option<Bytes>) -> Option<BundlePart> {
        let key_value = match event.kind {
            EventKind::Put => self.version(event.key_value, depth, value)?,
            EventKind::Delete => {
                self.count(&event.key_value.key, depth);
                KeyValue { key: self.key(&event.key_value.key), ..event.key_value }
            }
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        };
        self.summary.revisions += 1;
        self.last = event.revision;
        let written = self.written(event.revision);
        Some(BundlePart::Change(Box::new(Event { key_value, ..event }), written))
    }

    /// When the newest revision was written that can be dated, if it changed nothing that is kept.
    fn end(&self) -> Option<BundlePart> {
        let (_, newest) = self.clock.as_ref()?.dated_span()?;
        let newest = newest.min(self.summary.to);
        let written = self.written(newest).filter(|_| newest > self.last)?;
        Some(BundlePart::Dated(newest, written))
    }

    fn written(&self, revision: Revision) -> Option<WrittenBetween> {
        let (earliest, latest) = self.clock.as_ref()?.bounds(revision)?;
        Some(WrittenBetween { earliest, latest })
    }

    /// A version as it is written; also one that changed nothing of what is kept, as its revision bounds what an attempt can have seen.
    fn version(&mut self, entry: KeyValue, depth: KeptDepth, value: Option<Bytes>) -> Option<KeyValue> {
        let Some(value) = value else {
            self.summary.left_out += 1;
            return None;
        };
        self.count(&entry.key, depth);
        // What was printed need not have a revision.
        let mod_revision = entry.mod_revision.max(Revision(1));
        Some(KeyValue { key: self.key(&entry.key), value, mod_revision, ..entry })
    }

    fn count(&mut self, key: &Bytes, depth: KeptDepth) {
        if !self.counted.insert(key.clone()) {
            return;
        }
        match depth {
            KeptDepth::Whole => self.summary.objects += 1,
            KeptDepth::Scheduling(_) => self.summary.reduced += 1,
            KeptDepth::Presence => {}
        }
        self.summary.masked += u64::from(depth == KeptDepth::Whole && !self.holds_secrets && is_secret_key(key));
    }

    fn key(&mut self, key: &Bytes) -> Bytes {
        match &mut self.redactor {
            Some(redactor) => redactor.key(&String::from_utf8_lossy(key)).into_bytes().into(),
            None => key.clone(),
        }
    }
}
