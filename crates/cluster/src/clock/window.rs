//! The stretch of history that is looked at: which revision a word of time means, and since when changes count.

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::since::Since;
use ketcd_history::clock::{Bound, Moment};
use ketcd_store::Revision;

impl Cluster {
    /// Returns the revision after which changes count: 0 where no beginning was asked for.
    pub fn counted_after(&self) -> Revision {
        self.since.map_or(Revision(0), |since| since.after)
    }

    /// Returns the revision that one end of a span means, and notes the moment that a word of time was resolved to.
    ///
    /// # Errors
    /// The source cannot be read, or the moment is before its history.
    pub async fn revision_of(&self, bound: Bound) -> Result<Revision> {
        let moment = match bound {
            Bound::Revision(revision) => return Ok(revision),
            Bound::Moment(moment) => moment,
        };
        let revision = self.revision_at(moment).await?;
        self.note_resolved(moment, revision).await?;
        Ok(revision)
    }

    /// Says which moment a word of time was resolved to; a whole date says it itself.
    pub(crate) async fn note_resolved(&self, moment: Moment, revision: Revision) -> Result<()> {
        let reference = self.reference_time().await?;
        if let Some(time) = reference.and_then(|reference| moment.resolve(reference)).filter(|_| !matches!(moment, Moment::Absolute(_))) {
            self.note(Notice::Resolved { moment, time, revision });
        }
        Ok(())
    }

    /// Finds where `--since` begins, on the way to the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read or has no history, or it begins after the end.
    pub(crate) async fn begins(&self, bound: Bound) -> Result<Since> {
        if self.source.is_one_moment() {
            return Err(Error::invalid("--since needs a history, and API objects show one moment"));
        }
        let (oldest, to) = (self.source.span().await?.oldest, self.revision().await?);
        let asked = match self.revision_of(bound).await {
            Err(Error::BeforeHistory { asked, .. }) => {
                self.note(Notice::SinceBeforeHistory { asked: bound, oldest });
                return Ok(Since { after: Revision(0), time: Some(asked) });
            }
            asked => asked?,
        };
        if asked < oldest {
            self.note(Notice::SinceBeforeHistory { asked: bound, oldest });
            let time = self.clock_around(&[oldest], &[]).await?.date(oldest).map(|dated| dated.time);
            return Ok(Since { after: Revision(0), time });
        }
        if asked > to {
            let problem = format!("--since is revision {asked}, after revision {to}, the end");
            return Err(Error::invalid(problem).hint("give an earlier one"));
        }
        let time = match bound {
            Bound::Moment(moment) => self.reference_time().await?.and_then(|reference| moment.resolve(reference)),
            Bound::Revision(_) => self.clock_around(&[asked], &[]).await?.date(asked).map(|dated| dated.time),
        };
        Ok(Since { after: asked, time })
    }
}
