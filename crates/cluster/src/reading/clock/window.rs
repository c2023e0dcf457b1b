//! The stretch of history that is looked at: which revision a word of time means, and since when changes count.

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::since::{Since, Window, WindowEnd};
use ketcd_history::clock::{Bound, Moment};
use ketcd_store::{At, Revision};

/// A moment so much later than all that a source shows is not one of it.
const MAX_QUIET: SignedDuration = SignedDuration::from_mins(1);

impl Cluster {
    /// Returns the revision after which changes count: 0 where no beginning was asked for.
    pub fn counted_after(&self) -> Revision {
        self.since.map_or(Revision(0), |since| since.after)
    }

    /// Returns the stretch of history that was asked for, as it was resolved; `None` where neither end was.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn window(&self) -> Result<Option<Window>> {
        let since = self.since.map(|since| WindowEnd { revision: since.after, time: since.time });
        let until = match (self.until, self.options.moment, self.options.at) {
            (Some(until), ..) => Some(until),
            // Objects of one moment: it is said when that was.
            (None, Some(_), _) => Some(WindowEnd { revision: self.revision().await?, time: self.moment().await? }),
            (None, None, At::Revision(revision)) => Some(self.written(revision).await?),
            (None, None, At::Newest) => None,
        };
        Ok((since.is_some() || until.is_some()).then_some(Window { since, until }))
    }

    /// Returns what one end of a span means, and notes the moment that a word of time was resolved to. A revision has no time here.
    ///
    /// # Errors
    /// The source cannot be read, or the moment is before its history.
    pub async fn end_of(&self, bound: Bound) -> Result<WindowEnd> {
        let moment = match bound {
            Bound::Revision(revision) => return Ok(WindowEnd { revision, time: None }),
            Bound::Moment(moment) => moment,
        };
        let revision = self.revision_at(moment).await?;
        Ok(WindowEnd { revision, time: self.note_resolved(moment, revision).await? })
    }

    /// Returns the latest moment at which the revision looked at, or what comes next on a live etcd, can have been written; `None` where nothing shows it.
    async fn end_of_time(&self, to: Revision) -> Result<Option<Timestamp>> {
        if self.source.is_shared() && self.at == At::Newest {
            return Ok(Some(Timestamp::now()));
        }
        // The newest revision itself need not be dated.
        let dated = match to >= self.source.span().await?.newest {
            true => self.clock().await?.newest(),
            false => self.clock_around(&[to], &[]).await?.date(to),
        };
        let latest = dated.and_then(|dated| dated.time.checked_add(SignedDuration::try_from_secs_f64(dated.error).ok()?).ok());
        Ok(latest.map(|latest| self.until.and_then(|until| until.time).map_or(latest, |until| until.max(latest))))
    }

    async fn written(&self, revision: Revision) -> Result<WindowEnd> {
        let time = self.clock_around(&[revision], &[]).await?.date(revision).map(|dated| dated.time);
        Ok(WindowEnd { revision, time })
    }

    /// Returns which moment was meant, and notes it where a word of time stands for it; a whole date says it itself. Also notes where it lies behind all
    /// that the source shows: something is written every few seconds while a cluster runs.
    pub(crate) async fn note_resolved(&self, moment: Moment, revision: Revision) -> Result<Option<Timestamp>> {
        let newest = self.reference_time().await?;
        let time = newest.and_then(|newest| moment.resolve(newest));
        if let Some((time, newest)) = time.zip(newest)
            && !self.source.is_one_moment()
            && time.duration_since(newest) > MAX_QUIET
        {
            self.note(Notice::AfterTheData { time, newest, revision });
        }
        if let Some(time) = time.filter(|_| !matches!(moment, Moment::Absolute(_))) {
            self.note(Notice::Resolved { moment, time, revision });
        }
        Ok(time)
    }

    /// Finds where `--since` begins, on the way to the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read or has no history, or it begins after the end.
    pub(crate) async fn begins(&self, bound: Bound) -> Result<Since> {
        if self.source.is_one_moment() {
            return Err(Error::invalid("--since needs a history, but API objects show one moment"));
        }
        let (oldest, to) = (self.source.span().await?.oldest, self.revision().await?);
        let asked = match self.end_of(bound).await {
            Err(error @ Error::BeforeHistory { .. }) if error.is_rather_after() => return Err(error),
            Err(Error::BeforeHistory { asked, .. }) => {
                self.note(Notice::SinceBeforeHistory { asked: bound, oldest });
                return Ok(Since { after: Revision(0), time: Some(asked) });
            }
            asked => asked?,
        };
        if asked.revision < oldest {
            self.note(Notice::SinceBeforeHistory { asked: bound, oldest });
            return Ok(Since { after: Revision(0), time: self.written(oldest).await?.time });
        }
        if let (Some(time), Some(end)) = (asked.time, self.end_of_time(to).await?)
            && time > end
        {
            let problem = format!("--since is {time}, after {end}, the end of the readable history");
            return Err(Error::invalid(problem).hint("give an earlier one"));
        }
        if asked.revision > to {
            let problem = format!("--since is revision {}, after revision {to}, the end", asked.revision);
            return Err(Error::invalid(problem).hint("give an earlier one"));
        }
        let time = match asked.time {
            Some(time) => Some(time),
            None => self.written(asked.revision).await?.time,
        };
        Ok(Since { after: asked.revision, time })
    }
}
