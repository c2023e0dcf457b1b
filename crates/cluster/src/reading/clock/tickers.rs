//! Objects that are renewed every few seconds, and say when: the leases of leaders and kubelets, and what leaders renewed before there were leases.

use futures_util::{StreamExt, TryStreamExt};

use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, RevisionSpan, Want};

use super::dates::Ticker;
use super::samples::Samples;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::walk_back;

const MAX_TICKERS: usize = 2;
/// Up to this many renewals are all read; of more, this many at revisions spread over the history.
const MAX_RENEWALS_READ: i64 = 128;
/// Leases of leaders and API servers that are considered.
const MAX_LEADER_LEASES: usize = 100;
const MAX_KUBELET_LEASES: usize = 8;

/// Finds those renewed most often and reads them over the whole span.
pub(super) async fn find(cluster: &Cluster, span: RevisionSpan, samples: &mut Samples) -> Result<Vec<Ticker>> {
    let mut renewed = Vec::new();
    for version in candidates(cluster, span.newest).await? {
        let before = match version.create_revision > span.oldest {
            true => 0,
            false => get(cluster, &version.key, span.oldest).await?.map_or(0, |before| before.version),
        };
        let renewals = version.version - before;
        let since = version.create_revision.max(span.oldest);
        if renewals > 1 {
            renewed.push((renewals, (version.mod_revision.0 - since.0) / renewals, version));
        }
    }
    renewed.sort_by_key(|(renewals, ..)| std::cmp::Reverse(*renewals));
    let mut tickers = Vec::new();
    for (renewals, period, newest) in renewed.into_iter().take(MAX_TICKERS) {
        let ticker = Ticker { key: newest.key.to_vec(), period: period.max(1) };
        if renewals <= MAX_RENEWALS_READ {
            ticker.read_back(cluster, newest, span.oldest, samples).await?;
        } else {
            let step = (span.newest.0 - span.oldest.0) / MAX_RENEWALS_READ;
            for place in 0..=MAX_RENEWALS_READ {
                ticker.read_at(cluster, Revision(span.newest.0 - place * step), span, samples).await?;
            }
        }
        tickers.push(ticker);
    }
    Ok(tickers)
}

/// The newest versions of leases and of leaders' locks; those that the user may not read do not count.
async fn candidates(cluster: &Cluster, newest: Revision) -> Result<Vec<KeyValue>> {
    let prefix = cluster.prefix().await?;
    let mut found = Vec::new();
    for (below, most) in [("leases/kube-system/", MAX_LEADER_LEASES), ("leases/kube-node-lease/", MAX_KUBELET_LEASES)] {
        let range = KeyRange::prefix(format!("{prefix}/{below}"));
        match cluster.source.first(range, At::Revision(newest), Want::Values, most).await {
            Err(error) if error.is_denied() => {}
            Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => {}
            entries => found.extend(entries?),
        }
    }
    for component in ["kube-scheduler", "kube-controller-manager"] {
        for below in ["services/endpoints/kube-system", "configmaps/kube-system"] {
            found.extend(get(cluster, format!("{prefix}/{below}/{component}").as_bytes(), newest).await?);
        }
    }
    Ok(found)
}

/// The key at a revision, if it is there and may be read.
async fn get(cluster: &Cluster, key: &[u8], at: Revision) -> Result<Option<KeyValue>> {
    match cluster.source.first(KeyRange::key(key), At::Revision(at), Want::Values, 1).await {
        Err(error) if error.is_denied() => Ok(None),
        // A compaction came between: what it took dates nothing any more.
        Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => Ok(None),
        found => Ok(found?.pop()),
    }
}

impl Ticker {
    /// Reads all versions from the newest back to the first that is readable.
    async fn read_back(&self, cluster: &Cluster, newest: KeyValue, oldest: Revision, samples: &mut Samples) -> Result<()> {
        let mut versions = walk_back(cluster.source.as_ref(), newest);
        while let Some(version) = versions.try_next().await? {
            let is_first = version.mod_revision <= oldest;
            samples.add(version);
            if is_first {
                break;
            }
        }
        Ok(())
    }

    /// Reads the version at a revision, and the one before it: only beside that does it show when it was written.
    async fn read_at(&self, cluster: &Cluster, revision: Revision, span: RevisionSpan, samples: &mut Samples) -> Result<Option<KeyValue>> {
        let known = samples.version_at(&self.key, revision).cloned();
        let version = match known {
            Some(known) => known,
            None => match get(cluster, &self.key, revision).await? {
                Some(version) => version,
                None => return Ok(None),
            },
        };
        let before = version.mod_revision.before();
        if version.version > 1 && before >= span.oldest && samples.version_at(&self.key, before).is_none() {
            let before = walk_back(cluster.source.as_ref(), version.clone()).skip(1).try_next().await?;
            before.into_iter().for_each(|before| samples.add(before));
        }
        samples.add(version.clone());
        Ok(Some(version))
    }

    /// Reads the last renewal up to a revision and the first after it.
    pub(super) async fn read_around(&self, cluster: &Cluster, revision: Revision, span: RevisionSpan, samples: &mut Samples) -> Result<()> {
        let Some(before) = self.read_at(cluster, revision, span, samples).await? else { return Ok(()) };
        let mut ahead = self.period;
        let mut after = revision;
        while after < span.newest {
            after = Revision(after.0 + ahead).min(span.newest);
            let Some(version) = get(cluster, &self.key, after).await? else { return Ok(()) };
            if version.mod_revision > revision {
                return self.read_from(cluster, version, before.mod_revision, samples).await;
            }
            ahead *= 2;
        }
        Ok(())
    }

    /// Reads back from a version to one that is known.
    async fn read_from(&self, cluster: &Cluster, last: KeyValue, known: Revision, samples: &mut Samples) -> Result<()> {
        let mut versions = walk_back(cluster.source.as_ref(), last);
        while let Some(version) = versions.try_next().await?.filter(|version| version.mod_revision > known) {
            samples.add(version);
        }
        Ok(())
    }
}
