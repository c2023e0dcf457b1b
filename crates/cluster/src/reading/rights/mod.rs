//! Rights: which keys a command reads of a live etcd, and what to grant a user who may not read them.

mod questions;
mod reads;
pub(crate) mod refused;

use std::sync::atomic::Ordering;

use ketcd_kube::normalize_prefix;
use ketcd_store::{At, KeyRange, Listing, Want};

use crate::cluster::{Cluster, DEFAULT_PREFIX, built_in};
use crate::error::{DeniedKeys, Result};
use crate::notice::Notice;

pub use questions::{Question, Right, table};
pub use reads::{Reads, scheduling};
pub use refused::unless_denied;

/// What a user lacks to have a question answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The keys to grant, none of which holds another.
    pub keys: Vec<KeyRange>,
    /// Whether all keys are among them because etcd's release says too early that a past watch has ended (etcd issue 15220).
    pub is_watched_whole: bool,
    /// Whether the prefix was taken for the usual one because no key that shows it may be read.
    pub is_prefix_assumed: bool,
}

impl Cluster {
    /// Tells the source what will be read: for a user with few rights, it reads only that.
    pub fn announce(&self, reads: &Reads<'_>) {
        let prefix = self.options.prefix.as_deref().map_or(DEFAULT_PREFIX.to_owned(), normalize_prefix);
        let keys = reads.keys(self, &prefix, built_in());
        keys.iter().for_each(|keys| self.source.will_read(keys));
        if reads.once {
            self.pass.want();
        }
    }

    /// Whether the user may read all of these keys.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn may_read(&self, keys: &KeyRange) -> Result<bool> {
        if !self.source.is_shared() || self.pass.is_kept() {
            return Ok(true);
        }
        Ok(unless_denied(self.source.count(keys.clone(), At::Newest).await)?.is_some())
    }

    /// Notes keys that would have added something and may not be read.
    pub fn miss(&self, keys: &KeyRange) {
        self.refused.miss(keys);
    }

    /// Whether anything was missed that the user may not read.
    pub fn has_missed(&self) -> bool {
        self.refused.has_missed()
    }

    /// Reads keys that add something; `None` where the user may not read them, which is noted.
    ///
    /// # Errors
    /// The source cannot be read for another reason.
    pub async fn range_or_miss(&self, keys: KeyRange, at: At, want: Want) -> Result<Option<Listing<'_>>> {
        let listing = unless_denied(self.source.range(keys.clone(), at, want).await)?;
        if listing.is_none() {
            self.refused.miss(&keys);
        }
        Ok(listing)
    }

    /// Returns what the user lacks, where a question that reads this was refused some keys.
    pub async fn lacking(&self, refusal: &DeniedKeys, reads: &Reads<'_>) -> Lacking {
        let (needed, is_watched_whole) = self.needed(reads).await;
        let mut refused = vec![refusal.keys.clone()];
        for keys in needed {
            // What cannot be asked for now is not known to be refused.
            if !self.may_read(&keys).await.unwrap_or(true) {
                refused.push(keys);
            }
        }
        Lacking {
            keys: apart(&refused).into_iter().cloned().collect(),
            is_watched_whole: is_watched_whole && refusal.keys != KeyRange::all(),
            is_prefix_assumed: self.refused.prefix.load(Ordering::Relaxed),
        }
    }

    /// The keys that the command needs, and whether they are all because of etcd's release.
    async fn needed(&self, reads: &Reads<'_>) -> (Vec<KeyRange>, bool) {
        let prefix = self.prefix().await.unwrap_or(DEFAULT_PREFIX);
        let kinds = match self.kinds().await {
            Ok(kinds) => kinds,
            Err(_) => built_in(),
        };
        let mut needed = reads.keys(self, prefix, kinds);
        let is_whole = |keys: &KeyRange| *keys == KeyRange::key(&keys.start[..]);
        if !reads.past || needed.iter().all(is_whole) || needed.contains(&KeyRange::all()) {
            return (needed, false);
        }
        let watched = self.source.bounded_watch_reads(KeyRange::hull(&needed)).await;
        let is_everything = watched.is_ok_and(|watched| watched == KeyRange::all());
        needed.extend(is_everything.then(KeyRange::all));
        (needed, is_everything)
    }

    /// Says once what is missing because the user may not read it.
    ///
    /// # Errors
    /// The prefix cannot be found.
    pub async fn note_missed(&self) -> Result<()> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let of_range = |range: &KeyRange| {
            let kind = kinds.iter().find(|kind| kind.is_stored() && range.start.starts_with(kind.key_prefix(prefix, None).as_bytes()));
            kind.map_or_else(|| String::from_utf8_lossy(&range.start).into_owned(), |kind| kind.resource())
        };
        let mut names: Vec<String> = self.refused.take_missed().iter().map(of_range).collect();
        names.sort_unstable();
        names.dedup();
        if !names.is_empty() {
            self.note(Notice::Missed { resources: names });
        }
        Ok(())
    }

    /// Says once, where every kind is looked at, that only Kubernetes' own are known.
    pub fn note_undefined(&self) {
        let Some(DeniedKeys { problem, .. }) = self.refused.definitions.get() else { return };
        if !self.refused.definitions_noted.swap(true, Ordering::Relaxed) {
            self.note(Notice::Undefined { problem: problem.clone() });
        }
    }
}

/// The ranges that no other holds.
fn apart(ranges: &[KeyRange]) -> Vec<&KeyRange> {
    let mut apart: Vec<&KeyRange> = Vec::new();
    for range in ranges {
        if !apart.iter().any(|other| other.covers(range)) {
            apart.retain(|other| !range.covers(other));
            apart.push(range);
        }
    }
    apart
}
