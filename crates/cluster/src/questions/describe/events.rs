//! Reads Kubernetes Events: those of an object by the beginning of their keys, those of a namespace, or all.

use futures_util::TryStreamExt;
use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::read::{Keys, decoder};
use ketcd_kube::{Address, Body, Decoder, FieldSelector, Kinds, Object};
use ketcd_store::{At, KeyRange, KeyValue, Want};

/// Where client-go's recorders put the Events of objects without a namespace.
const OF_CLUSTER: &str = "default";

/// The object that an Event is about; `regarding` is what events.k8s.io calls it.
pub fn about(event: &Value) -> &Value {
    ["involvedObject", "regarding"].iter().map(|field| &event[*field]).find(|object| !object.is_null()).unwrap_or(&Value::Null)
}

/// When an Event occurred last.
pub fn last_time(event: &Value) -> Option<Timestamp> {
    let paths = ["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp", "/eventTime", "/firstTimestamp"];
    let paths = paths.into_iter().chain(["/metadata/creationTimestamp"]);
    paths.filter_map(|path| event.pointer(path)?.as_str()?.parse().ok()).next()
}

/// Which Events.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// The objects that the Events are about: kind, and name for a single object; empty for all.
    pub about: Vec<About>,
    /// The types of Events; empty for all.
    pub types: Vec<String>,
    /// The fields of Events.
    pub fields: FieldSelector,
}

/// An object, or all of a kind.
#[derive(Clone, Debug)]
pub struct About {
    /// The kind, as objects spell it.
    pub kind: String,
    /// The name; `None` for all of the kind.
    pub name: Option<String>,
    /// What an Event may call its uid; empty for any, as an object of that name may have been another one before.
    pub uids: Vec<String>,
}

impl About {
    /// The object itself and no earlier one of its name.
    pub fn object(object: &Object) -> Self {
        let text = |path: &str| object.pointer(path).and_then(serde_json::Value::as_str).map(str::to_owned);
        let (kind, name) = (text("/kind").unwrap_or_default(), text("/metadata/name"));
        // The kubelet knows its node by name, and a static pod by the hash of its file.
        let alias = if kind == "Node" { name.clone() } else { text("/metadata/annotations/kubernetes.io~1config.mirror") };
        let uids = text("/metadata/uid").into_iter().chain(alias).collect();
        Self { kind, name, uids }
    }

    /// What an address names; `None` for a raw key.
    pub fn address(address: &Address) -> Option<Self> {
        match address {
            Address::Objects { kind, name, .. } => Some(Self { kind: kind.kind.to_string(), name: name.clone(), uids: Vec::new() }),
            Address::Key(_) => None,
        }
    }

    fn fits(&self, event: &Object) -> bool {
        let about = about(event);
        let uid = about["uid"].as_str().unwrap_or_default();
        about["kind"].as_str() == Some(&self.kind)
            && self.name.as_deref().is_none_or(|name| about["name"].as_str() == Some(name))
            && (self.uids.is_empty() || uid.is_empty() || self.uids.iter().any(|own| own == uid))
    }
}

impl EventFilter {
    /// Whether an Event is asked for.
    pub fn fits(&self, event: &Object) -> bool {
        let kind = event["type"].as_str().unwrap_or_default();
        self.fields.matches(event)
            && (self.about.is_empty() || self.about.iter().any(|about| about.fits(event)))
            && (self.types.is_empty() || self.types.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind)))
    }
}

/// Events that are asked for: where they are stored, and which of them.
#[derive(Clone, Debug)]
pub struct EventsAsked {
    ranges: Vec<KeyRange>,
    /// Which of them.
    pub filter: EventFilter,
}

impl EventsAsked {
    /// Finds the Events of these types and fields about what the words name and the cluster's selectors select; without either, those of the
    /// namespace looked at, or of all.
    ///
    /// # Errors
    /// A word that names no object, or a source that cannot be read.
    pub async fn of(cluster: &Cluster, words: &[String], (types, fields): (&[String], FieldSelector)) -> Result<Self> {
        let (mut ranges, mut about) = (Vec::new(), Vec::new());
        if words.is_empty() && cluster.options.selection.takes_all() {
            let namespace = (!cluster.options.all_namespaces).then(|| cluster.namespace());
            ranges.push(keys(cluster, namespace).await?);
        } else {
            for address in addressed(cluster, words).await? {
                ranges.push(keys_about(cluster, &address).await?);
                about.extend(About::address(&address));
            }
            if about.is_empty() {
                return Err(Error::NoKind);
            }
            ranges.dedup();
        }
        Ok(Self { ranges, filter: EventFilter { about, types: types.to_vec(), fields } })
    }

    /// Returns those that are there at a revision, oldest first.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn read(&self, cluster: &Cluster, at: At) -> Result<Vec<HeldEvent>> {
        read(cluster, &self.ranges, at, &self.filter).await
    }

    /// Returns the keys among which they are.
    pub fn keys(self) -> Keys {
        Keys::many(self.ranges)
    }
}

/// The objects that the words name, else those of the namespace looked at or of all, as far as they are selected.
async fn addressed(cluster: &Cluster, words: &[String]) -> Result<Vec<Address>> {
    if !words.is_empty() {
        return cluster.selected_addresses(words).await;
    }
    let keys = match cluster.options.all_namespaces {
        true => cluster.asked(words, true).await?,
        false => cluster.selected(cluster.keys_of_namespace(cluster.namespace(), cluster.at).await?).await?,
    };
    Ok(keys.addresses)
}

/// The keys of the Events about what an address names.
async fn keys_about(cluster: &Cluster, address: &Address) -> Result<KeyRange> {
    match address {
        Address::Objects { namespace, name: Some(name), .. } => keys_of(cluster, namespace.as_deref(), name).await,
        // Events about cluster-scoped objects are in whatever namespace their recorder chose.
        Address::Objects { kind, namespace: None, .. } if kind.namespaced => keys(cluster, None).await,
        Address::Objects { namespace, .. } => keys(cluster, Some(namespace.as_deref().unwrap_or(OF_CLUSTER))).await,
        Address::Key(key) => Err(Error::invalid(format!("Events are about objects, but {key} is a raw key"))
            .hint("write kind/namespace/name; ketcd ls lists raw keys")),
    }
}

/// The keys of the Events of a namespace, or of all namespaces.
///
/// # Errors
/// The prefix cannot be found.
pub async fn keys(cluster: &Cluster, namespace: Option<&str>) -> Result<KeyRange> {
    Ok(KeyRange::prefix(key_prefix(cluster, namespace).await?))
}

/// The keys of the Events of an object: recorders name them `<object>.<digits>`, in the object's namespace.
///
/// # Errors
/// The prefix cannot be found.
pub async fn keys_of(cluster: &Cluster, namespace: Option<&str>, name: &str) -> Result<KeyRange> {
    let below = key_prefix(cluster, Some(namespace.unwrap_or(OF_CLUSTER))).await?;
    Ok(KeyRange::prefix(format!("{below}{name}.")))
}

async fn key_prefix(cluster: &Cluster, namespace: Option<&str>) -> Result<String> {
    let kinds = Kinds::builtin();
    let events = kinds.find("events").map_err(Error::from)?;
    Ok(events.key_prefix(cluster.prefix().await?, namespace))
}

/// An Event with its place in time; it is decoded again to be shown, as many Events are held and few at once.
pub struct HeldEvent {
    time: Option<Timestamp>,
    /// The stored Event.
    pub entry: KeyValue,
}

impl HeldEvent {
    /// Decodes it.
    pub fn object(&self, decoder: &Decoder) -> Option<Object> {
        object(decoder, &self.entry)
    }
}

/// The Events of these keys that fit, oldest first. What cannot be decoded is reported when the command ends.
///
/// # Errors
/// The source cannot be read.
pub async fn read(cluster: &Cluster, ranges: &[KeyRange], at: At, filter: &EventFilter) -> Result<Vec<HeldEvent>> {
    let decoder = decoder(cluster);
    let mut found = Vec::new();
    for range in ranges {
        let mut entries = cluster.source.range(range.clone(), at, Want::Values).await?.entries;
        while let Some(entry) = entries.try_next().await? {
            let event = object(&decoder, &entry).filter(|event| filter.fits(event));
            found.extend(event.map(|event| HeldEvent { time: last_time(&event), entry }));
        }
    }
    found.sort_by_key(|held| (held.time, held.entry.mod_revision));
    Ok(found)
}

fn object(decoder: &Decoder, entry: &KeyValue) -> Option<Object> {
    match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => Some(object),
        Body::Opaque(_) => None,
    }
}
