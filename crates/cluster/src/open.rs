//! Opening a cluster: its release, and the revision of the moment asked for.

use ketcd_history::clock::Moment;
use ketcd_store::{At, Source};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::options::{Options, ReleaseChoice};
use crate::since::WindowEnd;

impl Cluster {
    /// Opens the cluster that a source holds: finds its release, and the revision of the moment asked for.
    ///
    /// # Errors
    /// The source cannot be read, or not at that moment.
    pub async fn open(source: Box<dyn Source>, options: Options) -> Result<Self> {
        let mut cluster = Self::new(source, options);
        cluster.begin().await?;
        Ok(cluster)
    }

    /// Finds the release that objects are printed as, and the revision of the moment asked for.
    ///
    /// # Errors
    /// The source cannot be read, or not at that moment.
    pub async fn begin(&mut self) -> Result<()> {
        let decoder = self.decoder.clone();
        self.decoder = match self.options.release {
            ReleaseChoice::Given(release) => decoder.with_release(release),
            ReleaseChoice::Any => decoder,
            ReleaseChoice::Found => {
                self.release_evidence = self.find_release().await?;
                decoder.with_release(self.release_evidence.release().unwrap_or_default()).showing_newer_fields()
            }
        };
        self.reporting_decoder = self.decoder.clone().with_observer(Some(self.problems.clone()));
        if self.pass.is_wanted() {
            self.read_once().await?;
        }
        if self.options.show_secrets && self.source.facts().withheld.secret_values {
            self.note(Notice::SecretsNotHeld);
        }
        if self.source.is_one_moment() {
            self.check_one_moment(self.options.moment).await?;
        } else if let Some(moment) = self.options.moment {
            let until = match self.revision_at(moment).await {
                Ok(revision) => WindowEnd { revision, time: self.note_resolved(moment, revision).await? },
                Err(error) => self.first_of_minute(moment, error).await?,
            };
            self.at = At::Revision(until.revision);
            self.until = Some(until);
        }
        if let Some(since) = self.options.since {
            self.since = Some(self.begins(since).await?);
        }
        Ok(())
    }

    /// Returns the oldest revision, where the moment names a whole minute and the history begins within it; else the error.
    async fn first_of_minute(&self, moment: Moment, error: Error) -> Result<WindowEnd> {
        const SECONDS_PER_MINUTE: i64 = 60;
        let Error::BeforeHistory { asked, from: Some(from), .. } = error else { return Err(error) };
        let is_minute = asked.as_second() % SECONDS_PER_MINUTE == 0 && !matches!(moment, Moment::Ago(_));
        if !is_minute || from.as_second() - asked.as_second() >= SECONDS_PER_MINUTE {
            return Err(error);
        }
        let oldest = self.source.span().await?.oldest;
        self.note(Notice::BeginsWithinMinute { moment, oldest, time: from });
        Ok(WindowEnd { revision: oldest, time: Some(from) })
    }
}
