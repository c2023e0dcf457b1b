//! Why there is nothing for `triage` to look at: an empty store, another prefix, an etcd of something else, a namespace that does not exist.

use std::collections::BTreeSet;

use ketcd_history::trouble::triage::Counts;
use ketcd_kube::{KeyResource, RegistryKey, find_prefixes};
use ketcd_store::{At, KeyRange, Want};

use crate::cluster::{Cluster, DEFAULT_PREFIX, built_in};
use crate::error::Result;
use crate::rights::refused::unless_denied;

/// How many keys are examined.
const MAX_KEYS_EXAMINED: usize = 2_000;
/// How many of the findings are named.
const MAX_FINDINGS_NAMED: usize = 3;
/// Kinds that rules look at by themselves, without a node, a pod or a workload.
const BY_RULES: [&str; 2] = ["cronjobs", "horizontalpodautoscalers"];

/// Why there was nothing of Kubernetes to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absence {
    /// No key is stored.
    Empty,
    /// No key is stored below the prefix; another prefix has a cluster's.
    OtherPrefix {
        /// The prefix looked below.
        prefix: String,
        /// Where there are keys of a cluster.
        cluster: String,
    },
    /// The keys are of other software.
    Foreign {
        /// The prefix looked below.
        prefix: String,
        /// How some of the keys begin.
        begin: Vec<String>,
    },
    /// Only Events are stored: an API server may keep them in an etcd of their own.
    OnlyEvents {
        /// The prefix looked below.
        prefix: String,
    },
    /// Objects of Kubernetes are stored, none of a kind that is looked at.
    OtherKinds {
        /// The prefix looked below.
        prefix: String,
        /// Some of the kinds that are there.
        kinds: Vec<String>,
    },
    /// The namespace asked for does not exist; what has no namespace was looked at.
    Namespace(String),
    /// None of the objects asked for is there, in this namespace where one was given.
    Objects(Option<String>),
}

impl Absence {
    /// Returns the word for machines.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::OtherPrefix { .. } => "OtherPrefix",
            Self::Foreign { .. } => "Foreign",
            Self::OnlyEvents { .. } => "OnlyEvents",
            Self::OtherKinds { .. } => "OtherKinds",
            Self::Namespace(_) => "Namespace",
            Self::Objects(_) => "Objects",
        }
    }
}

/// Returns why nothing was looked at, where `values_read` is how many values of the kinds looked at are there; `None` where something was.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn absence(cluster: &Cluster, at: At, values_read: usize, counts: Counts) -> Result<Option<Absence>> {
    let prefix = cluster.prefix().await?;
    if values_read > 0 {
        let has_some = counts.pods + counts.workloads > 0;
        let Some(namespace) = cluster.options.namespace.as_deref().filter(|_| !has_some) else { return Ok(None) };
        let key = KeyRange::key(format!("{prefix}/namespaces/{namespace}"));
        let known = unless_denied(cluster.source.count(key, at).await)?;
        let is_absent = known == Some(0) && !(cluster.source.is_one_moment() && has_objects(cluster, at, namespace).await?);
        return Ok(is_absent.then(|| Absence::Namespace(namespace.to_owned())));
    }
    let below = format!("{prefix}/");
    let Some(own) = keys(cluster, at, KeyRange::prefix(below.as_str())).await? else { return Ok(None) };
    if own.is_empty() {
        return elsewhere(cluster, at, prefix).await;
    }
    let kinds = built_in();
    let mut found = BTreeSet::new();
    for key in &own {
        match RegistryKey::parse(prefix, key, kinds).object().map(|object| object.resource) {
            Some(KeyResource::Known(kind)) => {
                found.insert(kind.plural.to_string());
            }
            // What somebody printed is of Kubernetes, also where its definition is not there.
            Some(KeyResource::Unlisted { plural, .. }) if cluster.source.is_one_moment() => {
                found.insert(plural.to_owned());
            }
            _ => {}
        }
    }
    let is_there = match cluster.options.namespace.as_deref() {
        Some(namespace) => has_objects(cluster, at, namespace).await?,
        None => true,
    };
    if is_there && found.iter().any(|kind| BY_RULES.contains(&kind.as_str())) {
        return Ok(None);
    }
    if found.is_empty() {
        return Ok(Some(Absence::Foreign { prefix: prefix.to_owned(), begin: begins(&own) }));
    }
    if found.iter().all(|kind| kind == "events") && is_rest_empty(cluster, at, &below).await? {
        return Ok(Some(Absence::OnlyEvents { prefix: prefix.to_owned() }));
    }
    Ok(Some(Absence::OtherKinds { prefix: prefix.to_owned(), kinds: found.into_iter().take(MAX_FINDINGS_NAMED).collect() }))
}

impl Cluster {
    /// Returns why there is no cluster, if there is none.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn no_cluster(&self) -> Result<Option<Absence>> {
        let namespaces = KeyRange::prefix(format!("{}/namespaces/", self.prefix().await?));
        if unless_denied(self.source.first(namespaces, self.at, Want::Keys, 1).await)?.is_none_or(|found| !found.is_empty()) {
            return Ok(None);
        }
        // A file of some objects is no cluster, and is what was asked for.
        let absence = absence(self, self.at, 0, Counts::default()).await?;
        Ok(absence.filter(|absence| !matches!(absence, Absence::OtherKinds { .. })))
    }
}

/// Whether objects of a namespace are there, as far as keys are examined: somebody may have printed them without their namespace. Where the namespace
/// `default` is, all are that there are.
async fn has_objects(cluster: &Cluster, at: At, namespace: &str) -> Result<bool> {
    let prefix = cluster.prefix().await?;
    let usual = KeyRange::key(format!("{prefix}/namespaces/default"));
    if unless_denied(cluster.source.count(usual, at).await)? != Some(0) {
        return Ok(false);
    }
    let keys = keys(cluster, at, KeyRange::prefix(format!("{prefix}/"))).await?.unwrap_or_default();
    let is_there = |key: &Vec<u8>| {
        let object = RegistryKey::parse(prefix, key, built_in()).object();
        object.is_some_and(|object| object.namespace == Some(namespace))
    };
    Ok(keys.iter().any(is_there))
}

/// Whether nothing is stored behind the Events, of which there may be more than were looked at.
async fn is_rest_empty(cluster: &Cluster, at: At, below: &str) -> Result<bool> {
    let range = KeyRange { start: format!("{below}events0").into_bytes(), ..KeyRange::prefix(below) };
    Ok(unless_denied(cluster.source.first(range, at, Want::Keys, 1).await)?.is_none_or(|found| found.is_empty()))
}

/// What is stored where nothing is below the prefix.
async fn elsewhere(cluster: &Cluster, at: At, prefix: &str) -> Result<Option<Absence>> {
    let Some(all) = keys(cluster, at, KeyRange::all()).await? else { return Ok(None) };
    if all.is_empty() {
        return Ok(Some(Absence::Empty));
    }
    let usual = KeyRange::key(format!("{DEFAULT_PREFIX}/namespaces/default"));
    let is_usual = unless_denied(cluster.source.count(usual, at).await)?.is_some_and(|count| count > 0);
    let mut cluster = is_usual.then(|| DEFAULT_PREFIX.to_owned());
    cluster = cluster.or_else(|| find_prefixes(all.iter().map(Vec::as_slice)).into_iter().next());
    Ok(Some(match cluster.filter(|cluster| cluster != prefix) {
        Some(cluster) => Absence::OtherPrefix { prefix: prefix.to_owned(), cluster },
        None => Absence::Foreign { prefix: prefix.to_owned(), begin: begins(&all) },
    }))
}

/// The first keys of a range; `None` where they may not be read.
async fn keys(cluster: &Cluster, at: At, range: KeyRange) -> Result<Option<Vec<Vec<u8>>>> {
    let found = unless_denied(cluster.source.first(range, at, Want::Keys, MAX_KEYS_EXAMINED).await)?;
    Ok(found.map(|entries| entries.into_iter().map(|entry| entry.key.to_vec()).collect()))
}

/// How keys begin: up to their second slash.
fn begins(keys: &[Vec<u8>]) -> Vec<String> {
    let begin = |key: &Vec<u8>| {
        let end = key.iter().skip(1).position(|byte| *byte == b'/').map_or(key.len(), |slash| slash + 2);
        String::from_utf8_lossy(&key[..end]).into_owned()
    };
    let begins: BTreeSet<String> = keys.iter().map(begin).collect();
    begins.into_iter().take(MAX_FINDINGS_NAMED).collect()
}
