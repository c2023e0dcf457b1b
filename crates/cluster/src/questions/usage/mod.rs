//! What `usage` reads: every version in a file, but only keys and version counts of a live etcd with a long history.

mod largest_objects;
mod leftovers;
mod live;
mod owners;
mod usage_data;
mod writes;

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};

use ketcd_history::usage::{Sum, Usage};
use ketcd_kube::Kinds;
use ketcd_store::{At, KeyRange, Revision, Want};

use crate::asked_keys::AskedKeys;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::values_on_cores;

/// How many of the busiest keys are named.
const MAX_BUSIEST_KEYS: usize = 50;

pub use usage_data::{Large, Left, ManagerSums, NamedKey, UsageData};
use usage_data::{UsageOf, UsageScope};

impl Cluster {
    /// Reads what fills the source and who wrote, since [`Cluster::since`] where that is set. `full` reads values whatever that costs.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn usage(&self, full: bool) -> Result<UsageData> {
        self.usage_of(&[], full).await
    }

    /// The same of the objects that words name and selectors select; without both of the namespace looked at, or of everything.
    ///
    /// # Errors
    /// A word that cannot be read as an address, a source that cannot be read, or that nothing is selected.
    pub async fn usage_of(&self, words: &[String], full: bool) -> Result<UsageData> {
        let source = self.source.status().await?;
        let span = self.source.span().await?;
        let to = match self.at {
            At::Newest => span.newest,
            At::Revision(revision) => revision,
        };
        let from = self.counted_after().max(span.oldest).min(to);
        // All of a namespace is more than the objects of its kinds: Events, leases, and kinds that are not known.
        let asked = match &self.options.namespace {
            Some(namespace) if words.is_empty() && self.options.selection.takes_all() => Some(UsageOf::Namespace(namespace.clone())),
            _ => AskedKeys::of(self, words).await?.map(UsageOf::Objects),
        };
        let mut gathered = UsageData {
            source,
            scope: Arc::new(UsageScope { prefix: self.prefix().await?.to_owned(), asked, kinds: Kinds::builtin() }),
            keys: Vec::new(),
            usage: Usage::default(),
            managers: None,
            largest: Vec::new(),
            left: Vec::new(),
            before: (0, None),
            has_bytes: true,
            compared_every: 0,
            oldest: span.oldest,
            span: (from, to),
            times: None,
        };
        if !full && self.source.is_shared() && self.is_long().await? {
            gathered.has_bytes = false;
            live::versions(self, &mut gathered, self.since.is_none()).await?;
        } else {
            state(self, &mut gathered).await?;
            if self.source.is_one_moment() {
                gathered.keys = busiest(self, &gathered).await?;
                return Ok(gathered);
            }
            gathered.before = size_at(self, &gathered, from).await?;
            writes::all(self, &mut gathered).await?;
        }
        gathered.keys = busiest(self, &gathered).await?;
        let (from, to) = gathered.span;
        let clock = self.clock_around(&[from, to], &[]).await?;
        let first = clock.date(from).or_else(|| clock.dated_span().and_then(|(first, _)| clock.date(first)));
        gathered.times = first.zip(clock.date(to).or_else(|| clock.newest()));
        Ok(gathered)
    }
}

/// The busiest keys.
async fn busiest(cluster: &Cluster, gathered: &UsageData) -> Result<Vec<(NamedKey, Sum)>> {
    let mut named = Vec::new();
    for (key, sum) in gathered.usage.busiest(MAX_BUSIEST_KEYS) {
        named.push((NamedKey::of(cluster, key).await?, sum));
    }
    Ok(named)
}

/// What is there at the end of the span.
async fn state(cluster: &Cluster, gathered: &mut UsageData) -> Result<()> {
    let entries = cluster.range(KeyRange::all(), Want::Values).await?.entries;
    let (mut largest, mut left, mut owners) =
        (largest_objects::Largest::default(), leftovers::LeftBehind::default(), owners::Owners::default());
    let (leftovers, owner_reader) = (leftovers::LeftoverReader::new(cluster).await?, owners::OwnerReader::new(cluster).await?);
    let mut looked = values_on_cores(cluster, entries, move |entry, _| {
        let (owned, left) = (owner_reader.look(&entry), leftovers.look(&entry));
        (entry, owned, left)
    });
    while let Some((entry, owned, class)) = looked.try_next().await? {
        let counts = gathered.counts(&entry.key);
        owners.add(owned, counts);
        if counts {
            let bytes = entry.value.len() as u64;
            gathered.usage.live(&entry.key, bytes);
            largest.see(&entry);
            class.into_iter().for_each(|class| left.add(class, bytes));
        }
    }
    gathered.largest = largest.finish(cluster).await?;
    gathered.left = left.finish(owners.finish(cluster));
    Ok(())
}

/// Keys and bytes of their values at a revision.
async fn size_at(cluster: &Cluster, gathered: &UsageData, at: Revision) -> Result<(u64, Option<u64>)> {
    let mut entries = cluster.source.range(KeyRange::all(), At::Revision(at), Want::Values).await?.entries;
    let (mut keys, mut bytes) = (0, 0);
    while let Some(entry) = entries.next().await.transpose()? {
        if gathered.counts(&entry.key) {
            keys += 1;
            bytes += entry.value.len() as u64;
        }
    }
    Ok((keys, Some(bytes)))
}
