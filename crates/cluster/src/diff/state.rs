//! One of two states that are compared.

use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use futures_util::TryStreamExt;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;

/// A cluster at a revision.
#[derive(Clone)]
pub struct ComparedState<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The revision.
    pub at: At,
    /// What it is called: a file, a revision.
    pub name: String,
}

impl<'c> ComparedState<'c> {
    /// Returns the newest state of a cluster.
    pub fn newest(cluster: &'c Cluster, name: &str) -> Self {
        Self { cluster, at: At::Newest, name: name.to_owned() }
    }

    /// Returns two states of a cluster, named by their revisions and times; without a revision from the oldest or to the newest that can be read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn between(cluster: &'c Cluster, from: Option<Revision>, to: Option<Revision>) -> Result<[Self; 2]> {
        let span = cluster.source.span().await?;
        let revisions = [from.unwrap_or(span.oldest), to.unwrap_or(span.newest)];
        let clock = cluster.clock_around(&revisions, &[]).await?;
        Ok(revisions.map(|revision| {
            let time = clock.date(revision).map(|dated| format!(" ({})", dated.time.strftime("%H:%M:%S"))).unwrap_or_default();
            Self { cluster, at: At::Revision(revision), name: format!("r{revision}{time}") }
        }))
    }

    /// Returns what it holds of some keys, ascending, each once however many of the ranges hold it.
    pub(super) async fn entries(&self, keys: &Keys) -> Result<Vec<KeyValue>> {
        let mut found = Vec::new();
        for range in keys.apart() {
            let listing = self.cluster.source.range(range, self.at, Want::Values).await?;
            found.extend(listing.entries.try_collect::<Vec<_>>().await?);
        }
        Ok(found)
    }

    /// Returns the keys of a namespace.
    pub(super) async fn namespace(&self, namespace: &str) -> Result<Vec<KeyRange>> {
        Ok(self.cluster.keys_of_namespace(namespace, self.at).await?.ranges)
    }
}
