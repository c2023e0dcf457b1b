//! Reads single objects by their keys, and the owners that they name, one key each.

use std::sync::Arc;

use futures_util::TryStreamExt;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Result;
use ketcd_kube::{Body, Kind, Kinds, Object};
use ketcd_store::{At, KeyRange, KeyValue, Want};

/// How many owners above one another are followed: more would be a circle.
const MAX_OWNER_DEPTH: usize = 16;

/// A stored object with its key.
pub struct StoredObject {
    /// Its kind; `None` where the kind is not known.
    pub kind: Option<Arc<Kind>>,
    /// The key and the stored value.
    pub entry: KeyValue,
    /// The object.
    pub object: Object,
}

impl StoredObject {
    /// Its uid; empty where it has none.
    pub fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// Whether it is a Node.
    pub fn is_node(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.kind == "Node" && !kind.is_custom())
    }

    /// Its namespace, if it has one.
    pub fn namespace(&self) -> Option<&str> {
        self.object["metadata"]["namespace"].as_str()
    }
}

/// An object that an ownerReference names.
pub struct Owner {
    /// The reference: `apiVersion`, `kind`, `name`, `uid`.
    pub reference: Value,
    /// The owner's namespace; empty where its kind has none, `None` where its kind is not known.
    pub namespace: Option<String>,
    /// The owner; `None` if there is none under its name, or another one by now, or its kind is not known, or it may not be read.
    pub found: Option<StoredObject>,
}

/// Decodes an entry; `None` where it cannot be decoded, which is reported when the command ends.
pub fn decoded(cluster: &Cluster, kind: Option<&Arc<Kind>>, entry: KeyValue) -> Option<StoredObject> {
    match cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => Some(StoredObject { kind: kind.cloned(), entry, object }),
        Body::Opaque(_) => None,
    }
}

/// The owners above an object, the nearest first: each object's controller or, where it has none, its first owner.
///
/// # Errors
/// The source cannot be read.
pub async fn owners(cluster: &Cluster, object: &Value, at: At) -> Result<Vec<Owner>> {
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    let mut chain = Vec::new();
    let mut next = reference(object);
    while let Some(reference) = next.take() {
        let kind = kind_of(cluster, text(&reference, "apiVersion"), text(&reference, "kind")).await?;
        let found = match &kind {
            Some(kind) => owner(cluster, kind, &reference, namespace.as_deref(), at).await?,
            None => None,
        };
        if chain.len() + 1 < MAX_OWNER_DEPTH {
            next = found.as_ref().and_then(|found| self::reference(&found.object));
        }
        let namespace = kind.map(|kind| namespace.clone().filter(|_| kind.namespaced).unwrap_or_default());
        chain.push(Owner { reference, namespace, found });
    }
    Ok(chain)
}

/// The reference to an object's controller or, where it has none, to its first owner.
fn reference(object: &Value) -> Option<Value> {
    let references = object["metadata"]["ownerReferences"].as_array()?;
    references.iter().find(|reference| reference["controller"] == true).or_else(|| references.first()).cloned()
}

pub(super) fn text<'a>(reference: &'a Value, field: &str) -> &'a str {
    reference[field].as_str().unwrap_or_default()
}

pub(super) async fn owner(
    cluster: &Cluster,
    kind: &Arc<Kind>,
    reference: &Value,
    namespace: Option<&str>,
    at: At,
) -> Result<Option<StoredObject>> {
    let key = kind.key(cluster.prefix().await?, namespace, text(reference, "name"));
    let Some(mut listing) = cluster.range_or_miss(KeyRange::key(key), at, Want::Values).await? else { return Ok(None) };
    let found = listing.entries.try_next().await?.and_then(|entry| decoded(cluster, Some(kind), entry));
    Ok(found.filter(|found| found.uid() == text(reference, "uid")))
}

/// The kind that `apiVersion` and `kind` name; the cluster's definitions are read only if it is not a built-in kind.
///
/// # Errors
/// The source cannot be read.
pub async fn kind_of(cluster: &Cluster, api_version: &str, kind: &str) -> Result<Option<Arc<Kind>>> {
    if let Some(built_in) = Kinds::builtin().of_object(api_version, kind) {
        return Ok(Some(Arc::clone(built_in)));
    }
    Ok(cluster.kinds().await?.of_object(api_version, kind).cloned())
}
