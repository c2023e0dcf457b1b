//! What is there at a revision, and which Events were there about an object.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, Source, Want};

use super::keys::Keys;
use crate::cluster::Cluster;
use crate::error::Result;

/// The Events about an object of a long history, and revisions at which they were there.
///
/// # Errors
/// The source cannot be read.
pub async fn event_keys(cluster: &Cluster, namespace: &str, name: &str, newest: Revision) -> Result<BTreeMap<Vec<u8>, Vec<Revision>>> {
    let below = KeyRange::prefix(format!("{}/events/{namespace}/{name}.", cluster.prefix().await?));
    let mut found: BTreeMap<Vec<u8>, Vec<Revision>> = BTreeMap::new();
    for look in looks(cluster.source.span().await?.oldest, newest) {
        let entries = match all(cluster.source.as_ref(), below.clone(), look, Want::Keys).await {
            Err(error) if error.is_denied() => {
                cluster.refused.miss(&below);
                break;
            }
            // A compaction came between.
            Err(StoreError::Compacted { .. } | StoreError::Between { .. }) => continue,
            entries => entries?,
        };
        for entry in entries {
            found.entry(entry.key.to_vec()).or_default().push(look);
        }
    }
    Ok(found)
}

/// Revisions of a long history, the newest first, at which is looked for what is not there any more.
pub fn looks(oldest: Revision, newest: Revision) -> Vec<Revision> {
    const MAX_LOOKS: i64 = 5;
    let step = (newest.0 - oldest.0) / (MAX_LOOKS - 1);
    (0..MAX_LOOKS).map(|look| Revision((newest.0 - look * step).max(oldest.0))).collect()
}

/// All entries of a range at a revision.
///
/// # Errors
/// The source cannot be read, or the revision not any more.
pub async fn all(source: &dyn Source, keys: KeyRange, at: Revision, want: Want) -> Result<Vec<KeyValue>, StoreError> {
    source.range(keys, At::Revision(at), want).await?.entries.try_collect().await
}

/// The entries alive at a revision, in order of their last writes; where compactions come between, at the oldest that is left.
pub(super) async fn alive(source: &dyn Source, keys: &Keys, at: Revision, want: Want) -> Result<(Revision, Vec<KeyValue>)> {
    let (at, mut entries) = listed(source, keys, at, want, Some).await?;
    entries.sort_by_key(|entry| entry.mod_revision);
    Ok((at, entries))
}

/// How often a listing is begun again that a compaction overtook.
const MOST_OVERTAKEN: usize = 100;
/// How often the ranges are listed one after the other before all are listed at once. Reading each of many ranges can take longer than the
/// time between two compactions; one request over all of them does not.
const MOST_APART: usize = 3;

/// What `take` makes of the entries alive at a revision; where compactions come between, at the oldest that is left.
async fn listed<T>(
    source: &dyn Source,
    keys: &Keys,
    mut at: Revision,
    want: Want,
    take: impl Fn(KeyValue) -> Option<T>,
) -> Result<(Revision, Vec<T>)> {
    let apart = keys.apart();
    let hull = [KeyRange::hull(&apart)];
    let take = |entry: KeyValue| keys.contains(&entry.key).then(|| take(entry)).flatten();
    let (mut tries, mut may_list_all) = (0..MOST_OVERTAKEN, apart.len() > 1);
    'again: loop {
        let at_once = may_list_all && tries.start >= MOST_APART;
        let mut taken = Vec::new();
        for range in if at_once { &hull[..] } else { &apart } {
            match list(source, range.clone(), at, want, &take, &mut taken).await {
                Err(StoreError::Compacted { oldest, .. } | StoreError::Between { after: oldest, .. })
                    if oldest > at && tries.next().is_some() =>
                {
                    at = oldest;
                    continue 'again;
                }
                Err(error) if at_once && error.is_denied() => {
                    may_list_all = false;
                    continue 'again;
                }
                listed => listed?,
            }
        }
        return Ok((at, taken));
    }
}

async fn list<T>(
    source: &dyn Source,
    keys: KeyRange,
    at: Revision,
    want: Want,
    take: impl Fn(KeyValue) -> Option<T>,
    taken: &mut Vec<T>,
) -> Result<(), StoreError> {
    let mut entries = source.range(keys, At::Revision(at), want).await?.entries;
    while let Some(entry) = entries.try_next().await? {
        taken.extend(take(entry));
    }
    Ok(())
}

/// The names of the keys alive at a revision that `is_wanted`: what is not among them is gone, whether or not its deletion can be read.
pub async fn alive_names(cluster: &Cluster, keys: &Keys, at: Revision, is_wanted: impl Fn(&[u8]) -> bool) -> Result<HashSet<Bytes>> {
    let (_, names) = listed(cluster.source.as_ref(), keys, at, Want::Keys, |entry| is_wanted(&entry.key).then_some(entry.key)).await?;
    Ok(names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, ready};
    use futures_util::stream::BoxStream;

    use ketcd_store::load::Limits;
    use ketcd_store::{EarlierRevisions, Facts, Listing, NoShortcuts, RevisionSpan, SourceStatus, Until, WatchItem};

    use super::*;
    use crate::files;

    /// A file that is compacted by one revision after every second request.
    struct Compacting {
        file: Box<dyn Source>,
        oldest: Revision,
        requests: AtomicI64,
    }

    impl Source for Compacting {
        fn facts(&self) -> Facts<'_> {
            self.file.facts()
        }

        fn status(&self) -> BoxFuture<'_, ketcd_store::Result<SourceStatus>> {
            self.file.status()
        }

        fn span(&self) -> BoxFuture<'_, ketcd_store::Result<RevisionSpan>> {
            self.file.span()
        }

        fn range(&self, keys: KeyRange, at: At, want: Want) -> BoxFuture<'_, ketcd_store::Result<Listing<'_>>> {
            let oldest = Revision(self.oldest.0 + self.requests.fetch_add(1, Ordering::Relaxed) / 2);
            match at {
                At::Revision(asked) if asked < oldest => {
                    ready(Err(StoreError::Compacted { asked, oldest, earlier: EarlierRevisions::Compacted })).boxed()
                }
                at => self.file.range(keys, at, want),
            }
        }

        fn watch(&self, _: KeyRange, _: Revision, _: Until) -> BoxStream<'_, ketcd_store::Result<WatchItem>> {
            unreachable!("a listing watches nothing")
        }
    }

    impl NoShortcuts for Compacting {}

    #[tokio::test]
    async fn more_ranges_than_requests_between_two_compactions_are_listed() {
        let file = ketcd_testing::testdata::path("captures/k136-story/snapshot.db.zst").to_str().unwrap().to_owned();
        let file = files::open(&[file], &Limits::default()).unwrap().source;
        let oldest = Revision(file.span().await.unwrap().newest.0 / 2);
        let kinds = ["configmaps", "deployments", "nodes", "pods", "services"];
        let keys = Keys::many(kinds.map(|kind| KeyRange::prefix(format!("/registry/{kind}/"))).into());
        let source = Compacting { file, oldest, requests: AtomicI64::default() };
        let (at, found) = alive(&source, &keys, oldest, Want::Keys).await.unwrap();
        let tries = i64::try_from(MOST_APART).unwrap() + 2;
        assert!(at > oldest && at <= Revision(oldest.0 + tries), "{at}");
        let mut expected = Vec::new();
        for keys in keys.apart() {
            expected.extend(all(source.file.as_ref(), keys, at, Want::Keys).await.unwrap());
        }
        expected.sort_by_key(|entry| entry.mod_revision);
        assert!(!expected.is_empty());
        assert_eq!(found, expected);
    }
}
