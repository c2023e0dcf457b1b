//! Looks for an object that is not where it was looked for: at other revisions, in other namespaces, of other kinds.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::not_found::{Elsewhere, Looked, NotFound, ObjectElsewhere, Whereabouts};
use crate::rights::refused::unless_denied;
use ketcd_kube::{Address, KeyResource, Kind, ObjectPath, RegistryKey, nearest};
use ketcd_store::{At, EventKind, Generations, KeyRange, Revision, Until, Want, WatchItem};

impl NotFound {
    /// Returns that the one object which an address names was not there, and where it is.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn of(cluster: &Cluster, address: &Address, looked: Looked) -> Result<Self> {
        let elsewhere = match find(cluster, address, looked).await {
            Err(error) if error.refusal().is_some() => Whereabouts::Unknown,
            found => found?.map_or(Whereabouts::Nowhere, Whereabouts::Elsewhere),
        };
        Ok(Self {
            address: address.clone(),
            key: address.key(cluster.prefix().await?).0,
            looked,
            span: cluster.source.span().await?,
            is_newest: cluster.at == At::Newest,
            elsewhere,
        })
    }
}

/// Finds the object that an address names where it was not looked for, or objects that have its name.
async fn find(cluster: &Cluster, address: &Address, looked: Looked) -> Result<Option<Elsewhere>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let (key, _) = address.key(prefix);
    let object = RegistryKey::parse(prefix, key.as_bytes(), kinds).object();
    let own = match (address, object) {
        (Address::Key(key), _) => ObjectElsewhere { kind: String::new(), namespace: None, name: key.clone() },
        (_, Some(object)) => object_at(&object),
        (_, None) => return Ok(None),
    };
    let generations = generations(cluster, KeyRange::key(key.as_bytes()), |_| true).await?.remove(key.as_bytes()).unwrap_or_default();
    if let Some((revision, is_earlier)) = other_revision(&generations, looked) {
        return Ok(Some(if is_earlier { Elsewhere::Earlier(own, revision) } else { Elsewhere::Later(own, revision) }));
    }
    let Some(object) = object else { return Ok(None) };
    let at = At::Revision(looked.last());
    let kind = match object.resource {
        KeyResource::Known(kind) if kind.namespaced => Some(kind),
        _ => None,
    };
    let is_same_kind = |other: &KeyResource<'_>| *other == object.resource;
    if let Some(kind) = kind {
        if let Some(swapped) = swapped(cluster, kind, &object, at).await? {
            return Ok(Some(Elsewhere::Swapped(swapped)));
        }
        let below = KeyRange::prefix(kind.key_prefix(prefix, None));
        let found = named(cluster, below, at, object.name, &is_same_kind).await?;
        if !found.is_empty() {
            return Ok(Some(Elsewhere::Namespaces(found)));
        }
    }
    // A live etcd is asked for no more than `ls -A -o name` of the kind would: all keys of a large cluster, or the whole history of a
    // kind, would cost the API server's own etcd for a hint.
    if cluster.source.is_shared() {
        return Ok(None);
    }
    let mut found = named(cluster, KeyRange::prefix(format!("{prefix}/")), at, object.name, &|other| !is_same_kind(other)).await?;
    if !found.is_empty() {
        found.sort_by_key(|place| place.namespace.as_deref() != object.namespace);
        return Ok(Some(Elsewhere::Kinds(found)));
    }
    let before = match kind {
        Some(kind) => once(cluster, kind, object.name, looked).await?,
        None => None,
    };
    match (before, &object.resource) {
        (None, KeyResource::Known(kind)) => similar(cluster, kind, object.namespace, object.name, at).await,
        (found, _) => Ok(found),
    }
}

/// The object whose namespace and name were typed in the wrong order.
async fn swapped(cluster: &Cluster, kind: &Kind, object: &ObjectPath<'_>, at: At) -> Result<Option<ObjectElsewhere>> {
    let Some(name) = object.namespace else { return Ok(None) };
    let key = kind.key(cluster.prefix().await?, Some(object.name), name);
    let found = unless_denied(cluster.source.first(KeyRange::key(key), at, Want::Keys, 1).await)?.unwrap_or_default();
    let swapped = ObjectElsewhere { kind: kind.singular_resource(), namespace: Some(object.name.to_owned()), name: name.to_owned() };
    Ok((!found.is_empty()).then_some(swapped))
}

/// Objects of the kind in the namespace whose names are nearest to one.
async fn similar(cluster: &Cluster, kind: &Kind, namespace: Option<&str>, name: &str, at: At) -> Result<Option<Elsewhere>> {
    let below = kind.key_prefix(cluster.prefix().await?, namespace);
    let names = names_below(cluster, &below, at).await?;
    let near = nearest(name, names.iter().map(|name| (name.as_str(), name.as_str())));
    let near = near.into_iter().map(|name| ObjectElsewhere {
        kind: kind.singular_resource(),
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    });
    let near: Vec<ObjectElsewhere> = near.collect();
    Ok((!near.is_empty()).then_some(Elsewhere::Similar(near)))
}

/// What follows `below` in the keys at a moment; nothing where they may not be read.
async fn names_below(cluster: &Cluster, below: &str, at: At) -> Result<Vec<String>> {
    let names = async {
        let entries = cluster.source.range(KeyRange::prefix(below), at, Want::Keys).await?.entries;
        let name = |key: Bytes| key.strip_prefix(below.as_bytes()).and_then(|name| String::from_utf8(name.to_vec()).ok());
        entries.try_filter_map(|entry| std::future::ready(Ok(name(entry.key)))).try_collect().await
    };
    Ok(unless_denied(names.await)?.unwrap_or_default())
}

impl Cluster {
    /// Returns the namespaces whose names are nearest to one that does not exist; `None` where it exists, or where nothing shows which do.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn missing_namespace(&self, namespace: &str) -> Result<Option<Vec<String>>> {
        let below = format!("{}/namespaces/", self.prefix().await?);
        let names = names_below(self, &below, self.at).await?;
        if names.is_empty() || names.iter().any(|name| name == namespace) {
            return Ok(None);
        }
        let near = nearest(namespace, names.iter().map(|name| (name.as_str(), name.as_str())));
        Ok(Some(near.into_iter().map(str::to_owned).collect()))
    }
}

/// The revision, other than those looked at, at which the object was there, and whether it is earlier.
pub(super) fn other_revision(generations: &[GenerationElsewhere], looked: Looked) -> Option<(Revision, bool)> {
    let last = looked.last();
    let earlier = generations.iter().rfind(|generation| generation.created <= last).and_then(|generation| generation.deleted);
    match earlier {
        Some(deleted) => Some((deleted.before(), true)),
        None => generations.iter().find(|generation| generation.created > last).map(|generation| (generation.created, false)),
    }
}

/// Objects of that name among the keys alive at a revision, of resources that `is_meant` takes.
async fn named(
    cluster: &Cluster,
    keys: KeyRange,
    at: At,
    name: &str,
    is_meant: &(dyn Fn(&KeyResource<'_>) -> bool + Sync),
) -> Result<Vec<ObjectElsewhere>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut entries = cluster.source.range(keys, at, Want::Keys).await?.entries;
    let mut found = Vec::new();
    while let Some(entry) = entries.next().await.transpose()? {
        if names_object(&entry.key, name)
            && let Some(object) = RegistryKey::parse(prefix, &entry.key, kinds).object()
            && is_meant(&object.resource)
        {
            found.push(object_at(&object));
        }
    }
    Ok(found)
}

/// Objects of the kind and name at any other revision.
async fn once(cluster: &Cluster, kind: &Kind, name: &str, looked: Looked) -> Result<Option<Elsewhere>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let below = KeyRange::prefix(kind.key_prefix(prefix, None));
    let generations = generations(cluster, below, |key| names_object(key, name)).await?;
    let mut found: Vec<(Revision, ObjectElsewhere)> = generations
        .iter()
        .filter_map(|(key, generations)| {
            let (revision, _) = other_revision(generations, looked)?;
            Some((revision, object_at(&RegistryKey::parse(prefix, key, kinds).object()?)))
        })
        .collect();
    found.sort_by_key(|(revision, _)| std::cmp::Reverse(*revision));
    let revision = found.first().map(|(revision, _)| *revision);
    Ok(revision.map(|revision| Elsewhere::Once(found.into_iter().map(|(_, place)| place).collect(), revision)))
}

pub(super) fn names_object(key: &[u8], name: &str) -> bool {
    key.strip_suffix(name.as_bytes()).is_some_and(|before| before.ends_with(b"/"))
}

/// Where the object of a path is.
pub(super) fn object_at(object: &ObjectPath<'_>) -> ObjectElsewhere {
    let kind = match object.resource {
        KeyResource::Known(kind) => kind.singular_resource(),
        KeyResource::Unlisted { group: "", plural } => plural.to_owned(),
        KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
    };
    ObjectElsewhere { kind, namespace: object.namespace.map(str::to_owned), name: object.name.to_owned() }
}

/// A generation of a key, from its creation to its deletion, as far as the history shows.
pub(super) struct GenerationElsewhere {
    created: Revision,
    deleted: Option<Revision>,
}

/// The generations of keys that `is_meant` takes, each key's oldest first.
pub(super) async fn generations(
    cluster: &Cluster,
    keys: KeyRange,
    is_meant: impl Fn(&[u8]) -> bool,
) -> Result<BTreeMap<Bytes, Vec<GenerationElsewhere>>> {
    let span = cluster.source.span().await?;
    let mut found: BTreeMap<Bytes, Vec<GenerationElsewhere>> = BTreeMap::new();
    let mut changes = match cluster.source.is_shared() && keys == KeyRange::key(&keys.start[..]) {
        true => cluster.source.key_history(keys.start, span.newest, Generations::All(Vec::new())).await?.items,
        false => cluster.source.watch(keys, span.oldest, Until::Revision(span.newest)),
    };
    while let Some(item) = changes.next().await.transpose()? {
        let WatchItem::Event(event) = item else { continue };
        if !is_meant(&event.key_value.key) {
            continue;
        }
        let generations = found.entry(event.key_value.key.clone()).or_default();
        match (event.kind, generations.last_mut().filter(|generation| generation.deleted.is_none())) {
            (EventKind::Put, None) => generations.push(GenerationElsewhere { created: event.key_value.create_revision, deleted: None }),
            (EventKind::Delete, Some(generation)) => generation.deleted = Some(event.revision),
            (EventKind::Delete, None) => generations.push(GenerationElsewhere { created: span.oldest, deleted: Some(event.revision) }),
            (EventKind::Put, Some(_)) => {}
            #[cfg(not(ketcd_exhaustive))]
            _ => unreachable!("of another version"),
        }
    }
    // What was deleted with the oldest readable revision is at none.
    found
        .values_mut()
        .for_each(|generations| generations.retain(|generation| generation.deleted.is_none_or(|deleted| deleted > span.oldest)));
    Ok(found)
}
