//! When revisions were written: a short history is read whole for its times, a long one only as far as the revisions in question need.

mod creations;
pub(crate) mod dates;
mod leases;
mod moment;
mod samples;
mod tickers;
mod whole_history;
mod window;

use std::sync::Arc;

use jiff::Timestamp;

use ketcd_history::Leases;
use ketcd_history::clock::{Clock, Moment};
use ketcd_store::{Event, KeyValue, Revision, RevisionSpan};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::since::days_beside;
use dates::Sampled;
use samples::Samples;

pub use crate::reading::history_cache::MAX_KEPT_BYTES;

/// Histories of files up to this many revisions are read whole.
pub const READ_WHOLE: i64 = 60_000;
/// Histories of a live etcd, which has other work to do, up to this many.
pub const READ_WHOLE_LIVE: i64 = 5_000;
/// Into how many parts a long recording is cut, to read when the first revision of each arrived.
const ARRIVAL_PARTS: i64 = 64;
/// How many of the requested revisions are dated one by one.
const MAX_REFINED_REVISIONS: usize = 48;

impl Cluster {
    /// Dates the revisions. In a long history it reads the times of some hundred revisions; [`Cluster::clock_around`] reads more.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn clock(&self) -> Result<&Clock> {
        self.first_clock().await.map(AsRef::as_ref)
    }

    /// The same, shared.
    pub(crate) async fn first_clock(&self) -> Result<&Arc<Clock>> {
        self.dates.clock.get_or_try_init(|| async { self.audited(self.find_clock().await?).await.map(Arc::new) }).await
    }

    /// Dates revisions as closely as the data allows. `versions` were read for another reason and may show times; those of a key follow each other.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn clock_around(&self, revisions: &[Revision], versions: &[KeyValue]) -> Result<Arc<Clock>> {
        let clock = self.first_clock().await?;
        let mut sampled = self.dates.sampled.lock().await;
        let Some(sampled) = sampled.as_mut() else { return Ok(Arc::clone(clock)) };
        versions.iter().for_each(|version| sampled.samples.add(version.clone()));
        self.refine(sampled, revisions).await?;
        Ok(Arc::new(self.with_known_authors(sampled.samples.clock(&self.decoder))))
    }

    /// [`Self::clock_around`] with leases, to say who made changes: of a long history those of the nodes of these events' pods or, if there are none,
    /// of a file all.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn clock_of_writers(&self, revisions: &[Revision], versions: &[KeyValue], events: &[&Event]) -> Result<Arc<Clock>> {
        let clock = self.clock_around(revisions, versions).await?;
        if self.dates.sampled.lock().await.is_none() {
            return Ok(clock);
        }
        let leases = match self.source.is_shared() || !events.is_empty() {
            true => leases::of_events(self, events).await?,
            false => self.all_leases().await?.clone(),
        };
        Ok(Arc::new(Arc::unwrap_or_clone(clock).with_leases(leases)))
    }

    async fn all_leases(&self) -> Result<&Leases> {
        let newest = self.source.span().await?.newest;
        self.dates.leases.get_or_try_init(|| leases::whole(self, newest)).await
    }

    /// Whether the history is too long to be read whole for one object or one time, or cannot be: without watches, only single keys are read
    /// through it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn is_long(&self) -> Result<bool> {
        Ok(self.is_span_long(self.source.span().await?).await)
    }

    async fn is_span_long(&self, span: RevisionSpan) -> bool {
        let most = if self.source.is_shared() { READ_WHOLE_LIVE } else { READ_WHOLE };
        span.newest.0 - span.oldest.0 > most || !self.source.serves_watches().await
    }

    /// Reads a live history that is short enough for it before anything else is read of it: what a question reads then comes out of this one pass, and the
    /// newest revision is its last until the cluster is watched.
    pub(crate) async fn read_once(&self) -> Result<()> {
        if self.source.is_shared() && self.dates.clock.get().is_none() && !self.is_long().await? {
            self.pass.want();
            self.clock().await?;
        }
        Ok(())
    }

    async fn find_clock(&self) -> Result<Clock> {
        // Versions that were read alone carry times of long before their writes: they date no revision, and accuse nobody's clock.
        if self.source.is_one_moment() {
            return Ok(Clock::default());
        }
        let span = self.source.span().await?;
        if !self.is_span_long(span).await {
            match whole_history::clock(self, span.newest).await {
                // Who may not read everything reads as much as of a long history.
                Err(error) if error.refusal().is_some() => {}
                clock => return clock,
            }
        }
        self.sample(span).await
    }

    /// Reads the first samples of a long history.
    async fn sample(&self, span: RevisionSpan) -> Result<Clock> {
        let mut samples = Samples::new(self.source.arrivals_are_dates());
        let tickers = tickers::find(self, span, &mut samples).await?;
        creations::read(self, span, &mut samples).await?;
        let width = (span.newest.0 - span.oldest.0) / ARRIVAL_PARTS + 1;
        for part in 0..=ARRIVAL_PARTS {
            let revision = Revision((span.oldest.0 + part * width).min(span.newest.0));
            samples.add_arrivals(self.source.arrivals(revision, revision));
        }
        let sampled = Sampled { span, samples, tickers };
        let clock = sampled.samples.clock(&self.decoder);
        *self.dates.sampled.lock().await = Some(sampled);
        Ok(clock)
    }

    async fn refine(&self, sampled: &mut Sampled, revisions: &[Revision]) -> Result<()> {
        let Sampled { span, samples, tickers } = sampled;
        let within = |revision: Revision| revision.max(span.oldest).min(span.newest);
        let mut revisions: Vec<Revision> = revisions.iter().copied().map(within).collect();
        revisions.sort_unstable();
        revisions.dedup();
        let stride = revisions.len().div_ceil(MAX_REFINED_REVISIONS).max(1);
        for &revision in revisions.iter().step_by(stride) {
            samples.add_arrivals(self.source.arrivals(revision, revision));
            for ticker in tickers.iter() {
                ticker.read_around(self, revision, *span, samples).await?;
            }
        }
        Ok(())
    }

    /// The newest revision written at or before a moment.
    ///
    /// # Errors
    /// The source cannot be read, or the moment is before its history.
    pub async fn revision_at(&self, moment: Moment) -> Result<Revision> {
        /// After so many steps the revision does not come nearer.
        const MAX_SEARCH_STEPS: usize = 12;
        let mut clock = Arc::clone(self.first_clock().await?);
        let (Some(newest), Some((first, _))) = (clock.newest(), clock.dated_span()) else {
            return Err(Error::Undated);
        };
        let is_compacted = self.source.span().await?.compacted.is_some();
        let reference = self.reference_time().await?.unwrap_or(newest.time);
        let time = moment.resolve(reference).ok_or_else(|| Error::invalid(format!("{moment} is beyond the calendar")))?;
        let before_history = |clock: &Clock| Error::BeforeHistory {
            asked: time,
            days: days_beside(moment, time),
            from: clock.date(first).map(|dated| dated.time),
            to: newest.time,
            is_compacted,
        };
        let mut revision = clock.revision_at(time).ok_or_else(|| before_history(&clock))?;
        for _ in 0..MAX_SEARCH_STEPS {
            clock = self.clock_around(&[revision, revision.after()], &[]).await?;
            let nearer = clock.revision_at(time).ok_or_else(|| before_history(&clock))?;
            if nearer == revision {
                break;
            }
            revision = nearer;
        }
        Ok(revision)
    }

    /// The newest time in the data: that of the newest revision that can be dated, or for API objects the newest time in them.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn newest_time(&self) -> Result<Option<Timestamp>> {
        if self.source.is_one_moment() {
            return Ok(self.options.newest_stamp);
        }
        Ok(self.clock().await?.newest().map(|dated| dated.time))
    }

    /// The time that `-10m` and `14:03:20` count from: now on a live etcd, else the newest in the data.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn reference_time(&self) -> Result<Option<Timestamp>> {
        if self.source.is_shared() { Ok(Some(Timestamp::now())) } else { self.newest_time().await }
    }

    /// Notes how far the history reaches back where that is not to the beginning: what came before is unknown.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn note_reach(&self) -> Result<()> {
        if self.source.is_one_moment() {
            self.note(Notice::OneMoment);
            return Ok(());
        }
        let span = self.source.span().await?;
        let _ = self.dates.reach.set(span.oldest);
        // Nothing was compacted of a log's history: it begins with the log.
        if span.compacted.is_none() || self.audit.is_alone {
            return Ok(());
        }
        let clock = self.clock().await?;
        let dated = clock.date(span.oldest).zip(clock.newest());
        let earlier = self.source.facts().earlier;
        self.note(Notice::Reach { oldest: span.oldest, dated, earlier, is_live: self.source.is_shared() });
        Ok(())
    }

    /// Notes what a compaction took of the history since [`Cluster::note_reach`] noted how far it reaches.
    pub fn note_gap(&self, from: Revision, to: Revision) {
        if let Some(&reach) = self.dates.reach.get().filter(|&&reach| self.source.is_shared() && to >= reach) {
            self.note(Notice::Gap { from: from.max(reach), to });
        }
    }
}

#[cfg(test)]
mod tests;
