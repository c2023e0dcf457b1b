//! Looks for what a word without a kind means: an object that is called so, in any namespace, or the namespace of that name.

use std::collections::BTreeSet;

use futures_util::StreamExt;

use super::whereabouts::{generations, names_object, object_at, other_revision};
use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::not_found::{Called, Looked, ObjectElsewhere};
use crate::rights::refused::unless_denied;
use ketcd_kube::{Kind, RegistryKey, nearest};
use ketcd_store::{KeyRange, Revision, Want};

/// What a name without a kind means most often, the likeliest first, each kind as people type it.
const LIKELY_KINDS: [&str; 13] = ["deploy", "sts", "ds", "cronjob", "job", "rs", "pod", "node", "namespace", "svc", "cm", "pvc", "pv"];

impl Cluster {
    /// Returns the objects that a word without a kind may mean, the likeliest first: `NAME`, `NAMESPACE/NAME` or `NAMESPACE/KIND/NAME`.
    ///
    /// A live etcd is asked for single keys of the kinds that are meant most often, in the namespace looked at. Files are searched whole, at the
    /// revision looked at.
    pub(crate) async fn called(&self, word: &str) -> Result<Called> {
        let (namespace, name) = match word.split('/').collect::<Vec<_>>()[..] {
            [name] => (self.options.namespace.as_deref(), name),
            [namespace, name] => (Some(namespace), name),
            [namespace, kind, name] => return Ok(Called::now(self.swapped(kind, namespace, name).await?)),
            _ => return Ok(Called::default()),
        };
        let is_whole = word.contains('/');
        if self.source.is_shared() {
            return Ok(Called::now(self.called_on_live(namespace, name, is_whole).await?));
        }
        let here = |places: Vec<ObjectElsewhere>| within(places, namespace, is_whole);
        Ok(Called::now(here(self.objects_called(name).await?)))
    }

    /// Returns the objects that were called so at another revision, else those whose names are nearest to the word; none on a live etcd.
    pub(crate) async fn nearly_called(&self, word: &str) -> Result<Called> {
        if self.source.is_shared() || word.contains('/') {
            return Ok(Called::default());
        }
        let once = self.once_called(word).await?;
        if !once.places.is_empty() {
            return Ok(once);
        }
        let names = self.names().await?;
        let near: Vec<&str> = nearest(word, names.iter().map(|name| (name.as_str(), name.as_str())));
        let mut places = Vec::new();
        for name in near {
            places.extend(within(self.objects_called(name).await?, self.options.namespace.as_deref(), false).into_iter().take(1));
        }
        Ok(Called { places, is_near: true, revision: None })
    }

    /// The object whose kind and namespace were typed in the wrong order.
    async fn swapped(&self, kind: &str, namespace: &str, name: &str) -> Result<Vec<ObjectElsewhere>> {
        let Ok(kind) = self.kinds().await?.find(kind) else { return Ok(Vec::new()) };
        let place = ObjectElsewhere { kind: typed(kind), namespace: Some(namespace.to_owned()), name: name.to_owned() };
        Ok(if kind.namespaced && self.is_there(kind, Some(namespace), name).await? { vec![place] } else { Vec::new() })
    }

    async fn is_there(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Result<bool> {
        let key = KeyRange::key(kind.key(self.prefix().await?, namespace, name));
        Ok(unless_denied(self.source.first(key, self.at, Want::Keys, 1).await)?.is_some_and(|found| !found.is_empty()))
    }

    /// Objects of the likeliest kinds, each by its key.
    async fn called_on_live(&self, namespace: Option<&str>, name: &str, is_whole: bool) -> Result<Vec<ObjectElsewhere>> {
        let namespace = namespace.or_else(|| (!self.options.all_namespaces).then(|| self.namespace()));
        let mut found = Vec::new();
        for kind in LIKELY_KINDS.iter().filter_map(|word| built_in().find(word).ok()) {
            let own = namespace.filter(|_| kind.namespaced);
            let is_asked = if kind.namespaced { own.is_some() } else { !is_whole };
            if is_asked && self.is_there(kind, own, name).await? {
                found.push(ObjectElsewhere { kind: typed(kind), namespace: own.map(str::to_owned), name: name.to_owned() });
            }
        }
        Ok(found)
    }

    /// The objects of a name, of all kinds and namespaces.
    async fn objects_called(&self, name: &str) -> Result<Vec<ObjectElsewhere>> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let mut entries = self.source.range(KeyRange::prefix(format!("{prefix}/")), self.at, Want::Keys).await?.entries;
        let mut found = Vec::new();
        while let Some(entry) = entries.next().await.transpose()? {
            if names_object(&entry.key, name)
                && let Some(object) = RegistryKey::parse(prefix, &entry.key, kinds).object().filter(|object| object.name == name)
            {
                found.push(as_typed(object_at(&object)));
            }
        }
        Ok(found)
    }

    async fn names(&self) -> Result<BTreeSet<String>> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let mut entries = self.source.range(KeyRange::prefix(format!("{prefix}/")), self.at, Want::Keys).await?.entries;
        let mut names = BTreeSet::new();
        while let Some(entry) = entries.next().await.transpose()? {
            names.extend(RegistryKey::parse(prefix, &entry.key, kinds).object().map(|object| object.name.to_owned()));
        }
        Ok(names)
    }

    /// The objects of a name at other revisions, those that were there last first.
    async fn once_called(&self, name: &str) -> Result<Called> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let looked = Looked::At(self.revision().await?);
        let below = KeyRange::prefix(format!("{prefix}/"));
        let mut found: Vec<(Revision, ObjectElsewhere)> = generations(self, below, |key| names_object(key, name))
            .await?
            .iter()
            .filter_map(|(key, generations)| {
                let (revision, _) = other_revision(generations, looked)?;
                let object = RegistryKey::parse(prefix, key, kinds).object().filter(|object| object.name == name)?;
                Some((revision, as_typed(object_at(&object))))
            })
            .collect();
        let revision = found.iter().map(|(revision, _)| *revision).max();
        found.retain(|(of, _)| Some(*of) == revision);
        let places = within(found.into_iter().map(|(_, place)| place).collect(), self.options.namespace.as_deref(), false);
        Ok(Called { places, is_near: false, revision })
    }
}

impl Called {
    /// What is there at the revision looked at.
    fn now(places: Vec<ObjectElsewhere>) -> Self {
        Self { places, is_near: false, revision: None }
    }
}

/// Those of a namespace where there are some, else all, unless the namespace was typed as part of the word; the likeliest first.
fn within(mut places: Vec<ObjectElsewhere>, namespace: Option<&str>, is_whole: bool) -> Vec<ObjectElsewhere> {
    let is_here = |place: &ObjectElsewhere| namespace.is_none() || place.namespace.as_deref() == namespace;
    if is_whole || places.iter().any(is_here) {
        places.retain(is_here);
    }
    places.sort_by_cached_key(|place| {
        // A namespace is meant where none is looked at.
        let is_namespace = namespace.is_none() && place.kind == "namespace";
        let rank = LIKELY_KINDS.iter().position(|kind| *kind == place.kind).unwrap_or(LIKELY_KINDS.len());
        (!is_namespace, rank, place.namespace.clone(), place.kind.clone())
    });
    places
}

/// The kind of a built-in object as people type it.
fn as_typed(place: ObjectElsewhere) -> ObjectElsewhere {
    let kind = built_in().find(&place.kind).map_or(place.kind, |kind| typed(kind));
    ObjectElsewhere { kind, ..place }
}

/// A kind as people type it: `deploy`, and `pod` rather than `po`.
fn typed(kind: &Kind) -> String {
    let likely = LIKELY_KINDS.iter().find(|word| built_in().find(word).is_ok_and(|found| **found == *kind));
    likely.map_or_else(|| kind.singular_resource(), |word| (*word).to_owned())
}
