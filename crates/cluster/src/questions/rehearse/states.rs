//! The two states of a rehearsal, side by side: each key that differs, as it is stored.

use std::sync::Mutex;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_kube::{Body, Object};
use ketcd_store::{At, Error as StoreError, KeyRange, KeyValue, Revision, Want};

use super::asked::RehearseAsked;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;

/// A cluster at a revision.
pub(super) struct State<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The revision.
    pub revision: Revision,
    /// The prefix of its keys.
    pub prefix: &'c str,
}

/// A key whose values differ in the two states.
pub(super) struct Differing {
    /// The key below the prefix, with its slash: `/pods/lab/web-0`.
    pub path: Bytes,
    /// In the backup; `None` where it is not there.
    pub before: Option<KeyValue>,
    /// In the newest state; `None` where it is gone.
    pub after: Option<KeyValue>,
}

/// What is compared.
pub(super) struct States<'c> {
    /// The backup.
    pub backup: State<'c>,
    /// The newest state; `None` where none is left.
    pub newest: Option<State<'c>>,
    /// The keys that differ, ascending; empty without a newest state.
    pub differing: Vec<Differing>,
    /// Whether both are of one cluster: the namespace kube-system has one uid for ever.
    pub is_of_one_cluster: Option<bool>,
    /// What was asked.
    pub asked: &'c RehearseAsked,
    not_known: Mutex<Vec<String>>,
}

impl<'c> State<'c> {
    /// The state of the revision looked at.
    pub(super) async fn of(cluster: &'c Cluster) -> Result<Self> {
        Ok(Self { cluster, revision: cluster.revision().await?, prefix: cluster.prefix().await? })
    }

    /// The stored entries below a path such as `/pods/`, ascending.
    pub(super) async fn entries(&self, path: &str) -> Result<Vec<KeyValue>> {
        let keys = KeyRange::prefix(format!("{}{path}", self.prefix));
        Ok(self.cluster.source.range(keys, At::Revision(self.revision), Want::Values).await?.entries.try_collect().await?)
    }

    /// All stored entries, ascending.
    async fn all(&self) -> Result<BoxStream<'c, std::result::Result<KeyValue, StoreError>>> {
        let keys = KeyRange::prefix(format!("{}/", self.prefix));
        Ok(self.cluster.source.range(keys, At::Revision(self.revision), Want::Values).await?.entries.boxed())
    }

    /// Every object below a path, decoded; what cannot be decoded is left out.
    pub(super) async fn objects(&self, path: &str) -> Result<Vec<Object>> {
        Ok(self.entries(path).await?.iter().filter_map(|entry| self.object(entry)).collect())
    }

    /// What is made of every object below a path, decoded without its managers on all cores and let go at once; what cannot be decoded is left out.
    pub(super) async fn made<R: Send + 'static>(
        &self,
        path: &str,
        make: impl Fn(Object) -> Option<R> + Send + Sync + 'static,
    ) -> Result<Vec<R>> {
        let keys = KeyRange::prefix(format!("{}{path}", self.prefix));
        let entries = self.cluster.source.range(keys, At::Revision(self.revision), Want::Values).await?.entries;
        let decoder = self.cluster.decoder.clone().without_managed_fields();
        let of_entry = move |entry: KeyValue| match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => make(object),
            Body::Opaque(_) => None,
        };
        let mut read = cores::in_order_ahead(entries, |entry: &KeyValue| entry.value.len(), of_entry).boxed();
        let mut all = Vec::new();
        while let Some(one) = read.next().await.transpose()? {
            all.extend(one);
        }
        Ok(all)
    }

    /// The object of an entry; `None` where it cannot be decoded.
    pub(super) fn object(&self, entry: &KeyValue) -> Option<Object> {
        match self.cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => Some(object),
            Body::Opaque(_) => None,
        }
    }
}

impl<'c> States<'c> {
    /// Compares two states key by key.
    ///
    /// # Errors
    /// A source cannot be read.
    pub(super) async fn of(backup: &'c Cluster, newest: Option<&'c Cluster>, asked: &'c RehearseAsked) -> Result<Self> {
        let backup = State::of(backup).await?;
        let newest = match newest {
            Some(newest) => Some(State::of(newest).await?),
            None => None,
        };
        let (mut differing, mut is_of_one_cluster) = (Vec::new(), None);
        if let Some(newest) = &newest {
            differing = compare(&backup, newest).await?;
            let uids = [uid_of_cluster(&backup).await?, uid_of_cluster(newest).await?];
            is_of_one_cluster = if let [Some(one), Some(other)] = uids { Some(one == other) } else { None };
        }
        Ok(Self { backup, newest, differing, is_of_one_cluster, asked, not_known: Mutex::default() })
    }

    /// The keys that differ below a path such as `/pods/`.
    pub(super) fn differing_below<'s>(&'s self, path: &'s str) -> impl Iterator<Item = &'s Differing> {
        let begin = self.differing.partition_point(|differing| *differing.path < *path.as_bytes());
        self.differing[begin..].iter().take_while(move |differing| differing.path.starts_with(path.as_bytes()))
    }

    /// Notes what cannot be said, and what evidence is missing.
    pub(super) fn note(&self, phrase: impl Into<String>) {
        let phrase = phrase.into();
        let mut not_known = self.not_known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !not_known.contains(&phrase) {
            not_known.push(phrase);
        }
    }

    /// What was noted so far.
    pub(super) fn not_known(&self) -> Vec<String> {
        self.not_known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// Merges the keys of two states, both ascending.
async fn compare(backup: &State<'_>, newest: &State<'_>) -> Result<Vec<Differing>> {
    let (mut old, mut new) = (backup.all().await?, newest.all().await?);
    let (mut before, mut after) = (old.try_next().await?, new.try_next().await?);
    let path = |state: &State<'_>, entry: &KeyValue| entry.key.slice(state.prefix.len()..);
    let mut differing = Vec::new();
    loop {
        let paths = (before.as_ref().map(|entry| path(backup, entry)), after.as_ref().map(|entry| path(newest, entry)));
        let (path, is_before, is_after) = match paths {
            (None, None) => return Ok(differing),
            (Some(path), None) => (path, true, false),
            (None, Some(path)) => (path, false, true),
            (Some(one), Some(other)) => {
                let order = one.cmp(&other);
                (if order.is_le() { one } else { other }, order.is_le(), order.is_ge())
            }
        };
        let (one, other) = (if is_before { before.take() } else { None }, if is_after { after.take() } else { None });
        if is_before {
            before = old.try_next().await?;
        }
        if is_after {
            after = new.try_next().await?;
        }
        let is_same = matches!((&one, &other), (Some(one), Some(other)) if one.value == other.value);
        if !is_same {
            differing.push(Differing { path, before: one, after: other });
        }
    }
}

/// The uid of the namespace kube-system; `None` where it is not there.
pub(super) async fn uid_of_cluster(state: &State<'_>) -> Result<Option<String>> {
    let key = KeyRange::key(format!("{}/namespaces/kube-system", state.prefix));
    let found = state.cluster.source.first(key, At::Revision(state.revision), Want::Values, 1).await?;
    let object = found.first().and_then(|entry| state.object(entry));
    Ok(object.and_then(|object| object["metadata"]["uid"].as_str().map(str::to_owned)))
}
