//! The cluster that is served, with what every request needs of it.

use std::sync::Arc;

use jiff::Timestamp;
use ketcd_cluster::{Cluster, Error, Result};
use ketcd_history::clock::Moment;
use ketcd_kube::Release;
use ketcd_store::{At, Revision, Source};

/// The cluster that is served.
pub(crate) struct Served {
    cluster: Arc<Cluster>,
    release: Release,
}

impl Served {
    /// Returns a cluster as what is served.
    ///
    /// # Errors
    /// Its prefix cannot be found.
    pub(crate) async fn new(cluster: Arc<Cluster>) -> Result<Self> {
        cluster.prefix().await?;
        Ok(Self { release: cluster.release(), cluster })
    }

    /// Returns the cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Returns the cluster, to be looked at elsewhere too.
    pub(crate) fn shared(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    /// Returns where the data comes from.
    pub(crate) fn source(&self) -> &dyn Source {
        &*self.cluster.source
    }

    /// Returns the release whose API is served.
    pub(crate) fn release(&self) -> Release {
        self.release
    }

    /// Returns the moment that was asked for.
    pub(crate) fn at(&self) -> At {
        self.cluster.at
    }

    /// Whether the source goes on while it is served.
    pub(crate) fn is_live(&self) -> bool {
        self.cluster.source.is_shared()
    }

    /// Returns the newest revision written at or before a time, and that time.
    ///
    /// # Errors
    /// The text is not a time, the time is before the history, or the source cannot be read.
    pub(crate) async fn revision_at(&self, time: &str) -> Result<(Revision, Timestamp)> {
        let moment: Moment = time.parse().map_err(|error| Error::invalid(format!("{time:?}: {error}")))?;
        let revision = self.cluster.revision_at(moment).await?;
        let reference = self.cluster.reference_time().await?;
        let resolved = reference.and_then(|reference| moment.resolve(reference));
        Ok((revision, resolved.ok_or(Error::Undated)?))
    }

    /// Returns the time that ages are counted to when `at` is looked at; none where nothing shows it.
    ///
    /// # Errors
    /// The source cannot be read.
    pub(crate) async fn time_of(&self, at: At) -> Result<Option<Timestamp>> {
        self.cluster.moment_of(at).await
    }

    /// Returns when a revision was written, as far as the history shows it.
    pub(crate) async fn date(&self, revision: Revision) -> Option<Timestamp> {
        Some(self.cluster.clock().await.ok()?.date(revision)?.time)
    }
}
