//! One of two states that are compared.

use futures_util::TryStreamExt;
use jiff::Timestamp;

use ketcd_store::{At, KeyRange, KeyValue, Want};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;
use crate::since::WindowEnd;

/// A cluster at a revision.
#[derive(Clone)]
pub struct ComparedState<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The revision.
    pub at: At,
    /// What it is called: a file, a revision, a namespace.
    pub name: String,
    /// The namespace that is compared; `None` where all are.
    pub namespace: Option<String>,
    /// The moment that was meant, or when the revision was written; `None` where nothing shows it.
    time: Option<Timestamp>,
}

impl<'c> ComparedState<'c> {
    /// Returns the newest state of a cluster.
    pub fn newest(cluster: &'c Cluster, name: &str) -> Self {
        Self { cluster, at: At::Newest, name: name.to_owned(), namespace: cluster.options.namespace.clone(), time: None }
    }

    /// Returns a namespace of a cluster, at the revision that the cluster looks at.
    pub fn of_namespace(cluster: &'c Cluster, namespace: &str) -> Self {
        Self { cluster, at: cluster.at, name: format!("namespace {namespace}"), namespace: Some(namespace.to_owned()), time: None }
    }

    /// Returns the state with another namespace to compare, which its name then says.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { name: format!("{} (namespace {namespace})", self.name), namespace: Some(namespace.to_owned()), ..self }
    }

    /// Returns two states of a cluster, named by their revisions and times; without a revision from the oldest or to the newest that can be read.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn between(cluster: &'c Cluster, from: Option<WindowEnd>, to: Option<WindowEnd>) -> Result<[Self; 2]> {
        let span = cluster.source.span().await?;
        let [from, to] = [(from, span.oldest), (to, span.newest)].map(|(end, revision)| end.unwrap_or(WindowEnd { revision, time: None }));
        let clock = cluster.clock_around(&[from.revision, to.revision], &[]).await?;
        Ok([from, to].map(|WindowEnd { revision, time: meant }| {
            let written = clock.date(revision).map(|dated| dated.time);
            let time = written.map(|time| format!(" ({})", time.strftime("%H:%M:%S"))).unwrap_or_default();
            let namespace = cluster.options.namespace.clone();
            Self { cluster, at: At::Revision(revision), name: format!("r{revision}{time}"), namespace, time: meant.or(written) }
        }))
    }

    /// Returns its revision, and the time of that revision.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn end(&self) -> Result<WindowEnd> {
        let revision = match self.at {
            At::Revision(revision) => revision,
            At::Newest => self.cluster.source.span().await?.newest,
        };
        let time = match self.time {
            Some(time) => Some(time),
            None => self.cluster.moment_of(self.at).await?,
        };
        Ok(WindowEnd { revision, time })
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

    pub(super) async fn namespace(&self, namespace: &str) -> Result<Vec<KeyRange>> {
        Ok(self.cluster.keys_of_namespace(namespace, self.at).await?.ranges)
    }
}
