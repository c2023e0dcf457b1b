//! Opening a cluster: its release, and the revision of the moment asked for.

use ketcd_store::{At, Source};

use crate::cluster::Cluster;
use crate::error::Result;
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
                decoder.with_release_found(self.release_evidence.release().unwrap_or_default())
            }
        };
        self.reporting_decoder = self.decoder.clone().with_observer(self.problems.clone());
        if self.source.is_one_moment() {
            self.check_one_moment(self.options.moment).await?;
        } else if let Some(moment) = self.options.moment {
            let revision = self.revision_at(moment).await?;
            self.until = Some(WindowEnd { revision, time: self.note_resolved(moment, revision).await? });
            self.at = At::Revision(revision);
        }
        if let Some(since) = self.options.since {
            self.since = Some(self.begins(since).await?);
        }
        Ok(())
    }
}
