//! Objects that were deleted and whose owner is in another namespace: the garbage collector looks for it in theirs, and deletes what has none there.
//!
//! Kubernetes 1.36: pkg/controller/garbagecollector/garbagecollector.go, `isDangling` looks up an owner in the namespace of the object, by name; one that
//! is not there, or has another uid, is absent. `attemptToDeleteItem` deletes an object whose owners are all absent.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use serde_json::Value;

use super::owners::{self, decoded, kind_of, text};
use super::whereabouts::{generations, names_object, other_revision};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::not_found::Looked;
use crate::read::Keys;
use ketcd_history::timeline::{Story, Subject, Timeline};
use ketcd_kube::{Kind, RegistryKey};
use ketcd_store::{At, KeyRange, Revision, Want};

/// An object that was deleted and had no owner in its own namespace, but one in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerElsewhere {
    /// The object.
    pub object: Subject,
    /// The owner.
    pub owner: Subject,
    /// The revision in which the object was deleted.
    pub deleted: Revision,
}

impl Cluster {
    /// Finds the owner in another namespace of the object of a key, where that object was deleted by the revision looked at. Other users wait for a
    /// running etcd, which is not asked.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn owner_elsewhere(&self, key: &[u8]) -> Result<Option<OwnerElsewhere>> {
        if self.source.is_shared() || self.source.is_one_moment() {
            return Ok(None);
        }
        let looked = Looked::UpTo(self.revision().await?);
        let known = generations(self, KeyRange::key(key), |_| true).await?.remove(key).unwrap_or_default();
        let Some((last, true)) = other_revision(&known, looked) else { return Ok(None) };
        let mut listing = self.source.range(KeyRange::key(key), At::Revision(last), Want::Values).await?;
        let Some(entry) = listing.entries.try_next().await? else { return Ok(None) };
        let Some(stored) = decoded(self, None, entry) else { return Ok(None) };
        let owner = find(self, &stored.object, last).await?;
        Ok(owner.map(|owner| OwnerElsewhere { object: Subject::of(&stored.object), owner, deleted: last.after() }))
    }
}

/// Adds to a story which of the objects asked for had their owners in other namespaces, where nothing else shows what deleted them.
pub(super) async fn add(cluster: &Cluster, asked: &Keys, story: &mut Story) -> Result<()> {
    if cluster.source.is_shared() {
        return Ok(());
    }
    let oldest = cluster.source.span().await?.oldest;
    let is_gone = |key: &[u8], timeline: &Timeline| asked.contains(key) && !story.is_settled(key) && timeline.is_gone();
    let gone = story.timelines.iter().filter(|(key, timeline)| is_gone(key, timeline));
    let gone = gone.filter_map(|(key, timeline)| {
        let deletion = story.deletion(timeline).filter(|deletion| deletion.chain == "direct" && deletion.last_manifest >= oldest)?;
        Some((key.clone(), timeline.last.clone()?, deletion.last_manifest))
    });
    for (key, object, last) in gone.collect::<Vec<_>>() {
        if let Some(owner) = find(cluster, &object, last).await? {
            story.add_owner_elsewhere(&key, owner);
        }
    }
    Ok(())
}

/// Finds an owner of an object in another namespace; `None` where one is in the object's own or needs none.
async fn find(cluster: &Cluster, object: &Value, at: Revision) -> Result<Option<Subject>> {
    let references = object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(namespace) = object["metadata"]["namespace"].as_str() else { return Ok(None) };
    let mut found = None;
    for reference in references {
        let kind = kind_of(cluster, text(reference, "apiVersion"), text(reference, "kind")).await?;
        let Some(kind) = kind.filter(|kind| kind.namespaced && kind.is_stored()) else { return Ok(None) };
        if owners::owner(cluster, &kind, reference, Some(namespace), At::Revision(at)).await?.is_some() {
            return Ok(None);
        }
        if found.is_none() {
            found = in_any_namespace(cluster, &kind, reference, at).await?;
        }
    }
    Ok(found)
}

/// Finds an owner in whatever namespace it is.
async fn in_any_namespace(cluster: &Cluster, kind: &Arc<Kind>, reference: &Value, at: Revision) -> Result<Option<Subject>> {
    let (prefix, kinds, at) = (cluster.prefix().await?, cluster.kinds().await?, At::Revision(at));
    let below = KeyRange::prefix(kind.key_prefix(prefix, None));
    let Some(mut listing) = cluster.range_or_miss(below, at, Want::Keys).await? else { return Ok(None) };
    let mut named: Vec<Bytes> = Vec::new();
    while let Some(entry) = listing.entries.try_next().await? {
        named.extend(Some(entry.key).filter(|key| names_object(key, text(reference, "name"))));
    }
    for key in named {
        let namespace = RegistryKey::parse(prefix, &key, kinds).object().and_then(|object| object.namespace.map(str::to_owned));
        if let Some(owner) = owners::owner(cluster, kind, reference, namespace.as_deref(), at).await? {
            return Ok(Some(Subject::of(&owner.object)));
        }
    }
    Ok(None)
}
