//! A scheduler and a history: what explains decisions, one pod's or all.

use ketcd_scheduler::{Depth, Scheduler};
use ketcd_store::Revision;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::replay::{Feed, SchedulerOptions};

/// Explains scheduling decisions up to the revision looked at.
pub struct Explainer<'c> {
    pub(super) cluster: &'c Cluster,
    pub(super) feed: Feed<'c>,
    pub(super) scheduler: Scheduler,
    pub(super) depth: Depth,
    pub(super) remedies: bool,
    /// The oldest revision that can be read.
    pub(super) oldest: Revision,
    pub(super) until: Revision,
}

impl Cluster {
    /// Returns the explainer of a scheduler's decisions: of the release found in the data, unless the options name another.
    ///
    /// # Errors
    /// The source cannot be read, or the options would be refused by that scheduler.
    pub async fn explainer(&self, options: &SchedulerOptions<'_>) -> Result<Explainer<'_>> {
        self.read_once().await?;
        let (mut feed, until) = (Feed::new(self).await?, self.revision().await?);
        let scheduler = feed.scheduler(options, until).await?;
        Explainer::new(self, feed, scheduler, until).await
    }
}

impl<'c> Explainer<'c> {
    async fn new(cluster: &'c Cluster, feed: Feed<'c>, scheduler: Scheduler, until: Revision) -> Result<Self> {
        let oldest = cluster.source.span().await?.oldest;
        Ok(Self { cluster, feed, scheduler, depth: Depth::default(), remedies: false, oldest, until })
    }

    /// Says how much evidence an explanation holds.
    #[must_use]
    pub fn with_depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Says whether changes are looked for that would make a pod fit.
    #[must_use]
    pub fn with_remedies(self, remedies: bool) -> Self {
        Self { remedies, ..self }
    }

    /// Returns the cluster whose decisions are explained.
    pub fn cluster(&self) -> &'c Cluster {
        self.cluster
    }

    /// Returns the revision up to which they are.
    pub fn until(&self) -> Revision {
        self.until
    }

    /// Returns the scheduler whose rules are applied.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }
}
