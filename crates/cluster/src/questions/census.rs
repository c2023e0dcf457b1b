//! A census: how many keys each resource has, the versions of kubelets and schedulers, and what is encrypted.

use std::collections::BTreeMap;

use futures_util::StreamExt;

use jiff::Timestamp;
use ketcd_history::clock::Dated;
use ketcd_kube::{KeyResource, Kinds, RegistryKey};
use ketcd_scheduler::cluster::Census;
use ketcd_store::{KeyRange, KeyValue, RevisionSpan, SourceStatus, Want};

use crate::cluster::{Cluster, built_in};
use crate::error::{DeniedKeys, Result};
use crate::kinds::OtherPrefixes;
use crate::rights::refused::unless_denied;

/// Where not every value is read, this many nodes are read, and this many values of a resource.
const MAX_NODES_READ: usize = 100;
const MAX_VALUES_PER_RESOURCE: usize = 10;

/// A live etcd whose data come to no more bytes than this is read whole.
const MAX_WHOLE_READ_BYTES: u64 = 32 << 20;

/// What a source holds.
pub struct Contents {
    /// Where it is the state of one moment: the newest time in it.
    pub one_moment: Option<Option<Timestamp>>,
    /// The first and the last revision that can be dated.
    pub dated: Option<(Dated, Dated)>,
    /// What the values say.
    pub census: Census,
    /// Whether only some of the values were read for the census.
    pub is_sampled: bool,
    /// What is odd about the times, a sentence each.
    pub problems: Vec<String>,
    /// What the user may not read, so that not all keys are counted.
    pub refusal: Option<DeniedKeys>,
}

impl Cluster {
    /// Returns the revisions that can be read. Any key will do to ask for them, so all are announced that may hold one.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn readable_span(&self) -> Result<RevisionSpan> {
        self.of_every_kind().await?.iter().for_each(|keys| self.source.will_read(keys));
        Ok(self.source.span().await?)
    }

    /// Returns what a source holds that said `source` of itself. From a large live etcd, it reads only some values unless `full` is set.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn contents(&self, source: &SourceStatus, span: RevisionSpan, full: bool) -> Result<Contents> {
        let clock = self.clock().await?;
        let dated = clock.dated_span().and_then(|(first, last)| Some((clock.date(first.max(span.oldest))?, clock.date(last)?)));
        let is_sampled = self.source.is_shared() && !full && source.in_use_bytes > MAX_WHOLE_READ_BYTES;
        let counted = if is_sampled { self.sampled().await } else { self.census().await };
        let (census, refusal) = match counted {
            Ok(census) => (census, None),
            Err(error) => match error.refusal() {
                Some(refusal) => (self.readable(&self.of_every_kind().await?).await?, Some(refusal)),
                None => return Err(error),
            },
        };
        let one_moment = if self.source.is_one_moment() { Some(self.newest_time().await?) } else { None };
        let problems = clock.problems().to_vec();
        Ok(Contents { one_moment, dated, census, is_sampled: is_sampled || refusal.is_some(), problems, refusal })
    }

    /// The keys of every kind that is stored, of the one namespace where one is given.
    async fn of_every_kind(&self) -> Result<Vec<KeyRange>> {
        let (prefix, namespace) = (self.prefix().await?, self.options.namespace.as_deref());
        let kinds = built_in().iter().filter(|kind| kind.is_stored());
        Ok(kinds.map(|kind| KeyRange::prefix(kind.key_prefix(prefix, namespace))).collect())
    }

    /// Counts the keys, and reads some values.
    async fn sampled(&self) -> Result<Census> {
        let keys = self.source.count(KeyRange::all(), self.at).await?;
        let mut census = values(self).await?;
        census.keys = keys;
        Ok(census)
    }
}

/// Reads some values, as far as the user may.
async fn values(cluster: &Cluster) -> Result<Census> {
    let (prefix, source) = (cluster.prefix().await?, &cluster.source);
    let mut census = Census::default();
    let below = |path: &str| KeyRange::prefix(format!("{prefix}/{path}/"));
    let decoded = |entry: &KeyValue| cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
    let first = async |keys: KeyRange, most: usize| -> Result<Vec<KeyValue>> {
        Ok(unless_denied(source.first(keys, cluster.at, Want::Values, most).await)?.unwrap_or_default())
    };
    for node in first(below("minions"), MAX_NODES_READ).await? {
        decoded(&node).object().into_iter().for_each(|node| census.add_node(node));
    }
    let leases = KeyRange::prefix(format!("{prefix}/leases/kube-system/"));
    for lease in first(leases, MAX_NODES_READ).await? {
        if lease.key.ends_with(b"scheduler") {
            decoded(&lease).object().into_iter().for_each(|lease| census.add_scheduler_lease(lease));
        }
    }
    for resource in ["secrets", "configmaps"] {
        for entry in first(below(resource), MAX_VALUES_PER_RESOURCE).await? {
            census.count(Some(resource.to_owned()), cluster.options.keys.seal_of(&entry.value));
        }
    }
    Ok(census)
}

impl Cluster {
    /// Counts the keys of these ranges that the user may read, and reads some values of them.
    async fn readable(&self, kinds: &[KeyRange]) -> Result<Census> {
        let mut census = values(self).await?;
        census.keys = 0;
        for keys in kinds {
            census.keys += unless_denied(self.source.count(keys.clone(), self.at).await)?.unwrap_or(0);
        }
        Ok(census)
    }
}

impl Cluster {
    /// Counts every key alive at the revision looked at.
    ///
    /// # Errors
    /// The source cannot be read, or not by this user.
    async fn census(&self) -> Result<Census> {
        let (prefix, kinds) = (self.prefix().await?, self.kinds().await?);
        let mut census = Census::default();
        let mut listing = self.range(KeyRange::all(), Want::Values).await?;
        while let Some(entry) = listing.entries.next().await.transpose()? {
            let object = RegistryKey::parse(prefix, &entry.key, kinds).object();
            let resource = object.map(|object| match object.resource {
                KeyResource::Known(kind) => kind.resource(),
                KeyResource::Unlisted { group: "", plural } => plural.to_owned(),
                KeyResource::Unlisted { group, plural } => format!("{plural}.{group}"),
            });
            let is_of = |name: &str| resource.as_deref() == Some(name);
            let (is_node, is_lease) = (is_of("nodes"), is_of("leases.coordination.k8s.io"));
            census.count(resource, self.options.keys.seal_of(&entry.value));
            let Some(object) = object else { continue };
            let decoded = || self.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0);
            if is_node {
                decoded().object().into_iter().for_each(|node| census.add_node(node));
            } else if is_lease && object.namespace == Some("kube-system") && object.name.ends_with("scheduler") {
                decoded().object().into_iter().for_each(|lease| census.add_scheduler_lease(lease));
            }
        }
        Ok(census)
    }
}

/// Objects of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceCount {
    /// The resource; in parentheses what keys of something else begin with.
    pub resource: String,
    /// Its kind, where it is known.
    pub kind: Option<String>,
    /// How many there are.
    pub objects: u64,
    /// Bytes of their values.
    pub bytes: u64,
}

impl Cluster {
    /// Counts objects and bytes by resource, in one namespace if one is given; the most bytes first. Decodes nothing.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn by_resource(&self) -> Result<Vec<ResourceCount>> {
        let prefix = self.prefix().await?;
        let mut kinds = Kinds::builtin();
        kinds.add_openshift();
        let mut counts: BTreeMap<String, (Option<String>, u64, u64)> = BTreeMap::new();
        let mut others = OtherPrefixes::default();
        let mut entries = self.range(KeyRange::all(), Want::Values).await?.entries;
        while let Some(entry) = entries.next().await.transpose()? {
            let namespace = self.options.namespace.as_deref();
            let (resource, kind) = match RegistryKey::parse(prefix, &entry.key, &kinds) {
                RegistryKey::Object(object) if namespace.is_some() && object.namespace != namespace => continue,
                RegistryKey::Object(object) => match object.resource {
                    KeyResource::Known(kind) => (kind.resource(), Some(kind.kind.to_string())),
                    KeyResource::Unlisted { group: "", plural } => (plural.to_owned(), None),
                    KeyResource::Unlisted { group, plural } => (format!("{plural}.{group}"), None),
                },
                _ if namespace.is_some() => continue,
                RegistryKey::Special(name) => (format!("({})", name.split('/').next().unwrap_or(name)), None),
                RegistryKey::Foreign => {
                    others.see(self, &entry);
                    (format!("({})", foreign(&entry.key)), None)
                }
                #[cfg(not(ketcd_exhaustive))]
                _ => unreachable!("of another version"),
            };
            let count = counts.entry(resource).or_insert_with(|| (kind, 0, 0));
            count.1 += 1;
            count.2 += entry.value.len() as u64;
        }
        others.note(self);
        let row = |(resource, (kind, objects, bytes))| ResourceCount { resource, kind, objects, bytes };
        let mut rows: Vec<ResourceCount> = counts.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.resource.cmp(&b.resource)));
        Ok(rows)
    }
}

/// The first segment of a key outside the prefix.
fn foreign(key: &[u8]) -> String {
    let text = String::from_utf8_lossy(key);
    let end = text.char_indices().skip(1).find(|(_, c)| *c == '/').map_or(text.len(), |(index, _)| index);
    text[..end].to_owned()
}
