//! The keys that the story of one object needs of a long history: its owners and owned, its volumes and claims, and the Events about them
//! all. Each is found by its name, so that nothing else has to be read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use ketcd_kube::{Address, Kind, Kinds};
use ketcd_store::{At, KeyRange, KeyValue, Revision, RevisionSpan, Want};

use super::owners;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::read::{Keys, all, event_keys, looks};

/// Kinds that own others or are owned, so that a namespaced object's story needs them.
pub(super) const WORKLOAD_KINDS: &[&str] = &[
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "replicationcontrollers",
];

/// Kinds whose stories are of more than what bears their name.
const WIDE_STORY_KINDS: [&str; 6] =
    ["Node", "Namespace", "Service", "HorizontalPodAutoscaler", "PersistentVolumeClaim", "PersistentVolume"];
/// A generated name keeps so much of its base (`maxGeneratedNameLength`, apiserver pkg/storage/names/generate.go).
const MAX_NAME_BASE_CHARS: usize = 58;

/// The keys beside those asked for, with revisions at which they were alive; `None` where the whole history has to be read.
pub(super) async fn beside(cluster: &Cluster, asked: &Keys, newest: Revision) -> Result<Option<BTreeMap<Vec<u8>, Vec<Revision>>>> {
    if asked.addresses.is_empty() || !asked.are_whole() {
        return Ok(None);
    }
    if !cluster.is_long().await? && may_watch(cluster, asked).await? {
        return Ok(None);
    }
    let mut needs = RelatedKeys::new(cluster, newest).await?;
    for address in &asked.addresses {
        match address {
            Address::Objects { kind, namespace: Some(namespace), name: Some(name) } if !WIDE_STORY_KINDS.contains(&&*kind.kind) => {
                needs.add_subject(kind, namespace, name).await?;
            }
            _ => return Ok(None),
        }
    }
    needs.add_events().await?;
    let asked: BTreeSet<&[u8]> = asked.ranges.iter().map(|range| &range.start[..]).collect();
    needs.members.retain(|key, _| !asked.contains(&key[..]));
    Ok(Some(needs.members))
}

/// What was found so far.
struct RelatedKeys<'s> {
    cluster: &'s Cluster,
    prefix: &'s str,
    kinds: &'s Kinds,
    /// The revisions that are looked at, the newest first.
    looks: Vec<Revision>,
    /// Keys, and revisions at which they were alive.
    members: BTreeMap<Vec<u8>, Vec<Revision>>,
    /// Namespaces and names whose Events count.
    named: BTreeSet<(String, String)>,
}

impl<'s> RelatedKeys<'s> {
    async fn new(cluster: &'s Cluster, newest: Revision) -> Result<Self> {
        let RevisionSpan { oldest, .. } = cluster.source.span().await?;
        Ok(Self {
            cluster,
            prefix: cluster.prefix().await?,
            kinds: cluster.kinds().await?,
            looks: looks(oldest, newest),
            members: BTreeMap::new(),
            named: BTreeSet::new(),
        })
    }

    async fn add_subject(&mut self, kind: &Kind, namespace: &str, name: &str) -> Result<()> {
        let namespaces = self.kind("namespaces")?.key(self.prefix, None, namespace);
        if self.may_read(namespaces.as_bytes()).await? {
            self.members.insert(namespaces.into_bytes(), self.looks.clone());
        }
        self.named.insert((namespace.to_owned(), name.to_owned()));
        let key = kind.key(self.prefix, Some(namespace), name);
        let mut versions = Vec::new();
        for &look in &self.looks {
            versions.extend(self.get(key.as_bytes(), look).await?);
        }
        // What came and went between two looks is known from its Events.
        for look in self.event_revisions(namespace, name).await? {
            if versions.is_empty() {
                versions.extend(self.get(key.as_bytes(), look).await?);
            }
        }
        versions.dedup_by_key(|version| version.mod_revision);
        for version in &versions {
            let Some(object) = self.object(version) else { continue };
            // What was written last before a compaction is read where the history begins now.
            let at = self.looks.last().map_or(version.mod_revision, |oldest| version.mod_revision.max(*oldest));
            self.add_owners(&object, namespace, at).await?;
            match &*kind.kind {
                "Pod" => self.add_needs_of_pod(&object, namespace, at).await?,
                _ => self.add_owned(&object, namespace, name).await?,
            }
        }
        Ok(())
    }

    /// The chain of owners, as far as it is there.
    async fn add_owners(&mut self, object: &Value, namespace: &str, at: Revision) -> Result<()> {
        let owners = match owners::owners(self.cluster, object, At::Revision(at)).await {
            // A compaction came between.
            Err(error) if error.is_compacted() => return Ok(()),
            owners => owners?,
        };
        for owner in owners.into_iter().filter_map(|owner| owner.found) {
            let name = owner.object["metadata"]["name"].as_str().unwrap_or_default();
            self.named.insert((namespace.to_owned(), name.to_owned()));
            self.members.entry(owner.entry.key.to_vec()).or_default().push(at);
        }
        Ok(())
    }

    /// Everything below an object, whose names begin with its own.
    async fn add_owned(&mut self, object: &Value, namespace: &str, name: &str) -> Result<()> {
        let mut uids: BTreeSet<String> = object["metadata"]["uid"].as_str().map(str::to_owned).into_iter().collect();
        let base: String = name.chars().take(MAX_NAME_BASE_CHARS).collect();
        let mut found: BTreeMap<Vec<u8>, (Value, Vec<Revision>)> = BTreeMap::new();
        for word in WORKLOAD_KINDS.iter().copied().chain(["pods", "persistentvolumeclaims"]) {
            let below = self.kind(word)?.key(self.prefix, Some(namespace), &base);
            for &look in &self.looks.clone() {
                for version in self.list(&below, look).await? {
                    if let Some(object) = self.object(&version) {
                        found.entry(version.key.to_vec()).or_insert_with(|| (object, Vec::new())).1.push(look);
                    }
                }
            }
        }
        self.add_mentioned(namespace, &base, &mut found).await?;
        loop {
            let is_owned = |object: &Value| {
                let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
                owners.filter_map(|owner| owner["uid"].as_str()).any(|uid| uids.contains(uid))
            };
            let new: Vec<Vec<u8>> = found.iter().filter(|(_, (object, _))| is_owned(object)).map(|(key, _)| key.clone()).collect();
            if new.is_empty() {
                return Ok(());
            }
            for (key, (object, looks)) in new.into_iter().filter_map(|key| found.remove_entry(&key)) {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                uids.insert(text("uid"));
                self.named.insert((namespace.to_owned(), text("name")));
                self.members.entry(key).or_default().extend(looks);
            }
        }
    }

    /// Pods that Events alone still name.
    async fn add_mentioned(&mut self, namespace: &str, base: &str, found: &mut BTreeMap<Vec<u8>, (Value, Vec<Revision>)>) -> Result<()> {
        let events = self.kind("events")?.key(self.prefix, Some(namespace), base);
        let (pods, below) = (self.kind("pods")?.key_prefix(self.prefix, Some(namespace)), events.len() - base.len());
        for event in self.keys(&events, self.looks[0]).await? {
            let name = String::from_utf8_lossy(&event.key[below..]).into_owned();
            let Some((name, _)) = name.rsplit_once('.') else { continue };
            let key = format!("{pods}{name}").into_bytes();
            if found.contains_key(&key) {
                continue;
            }
            if let Some(object) = self.get(&key, event.create_revision).await?.and_then(|version| self.object(&version)) {
                found.insert(key, (object, vec![event.create_revision]));
            }
        }
        Ok(())
    }

    /// The volumes and claims of a pod, and, where others made room for it, their Events.
    async fn add_needs_of_pod(&mut self, pod: &Value, namespace: &str, at: Revision) -> Result<()> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
            let claim = match (volume["persistentVolumeClaim"]["claimName"].as_str(), volume["ephemeral"].is_object()) {
                (Some(claim), _) => claim.to_owned(),
                (None, true) => format!("{name}-{}", volume["name"].as_str().unwrap_or_default()),
                (None, false) => continue,
            };
            self.add_claim(namespace, &claim, at).await?;
        }
        let statuses = pod["status"]["resourceClaimStatuses"].as_array().into_iter().flatten();
        let claims = pod["spec"]["resourceClaims"].as_array().into_iter().flatten().chain(statuses);
        for claim in claims.filter_map(|claim| claim["resourceClaimName"].as_str()) {
            let key = self.kind("resourceclaims.resource.k8s.io")?.key(self.prefix, Some(namespace), claim);
            if self.may_read(key.as_bytes()).await? {
                self.members.entry(key.into_bytes()).or_default().push(at);
            }
            self.named.insert((namespace.to_owned(), claim.to_owned()));
        }
        if pod["status"]["nominatedNodeName"].is_string() {
            self.add_preemptions(name, at).await?;
        }
        Ok(())
    }

    /// A claim, its volume and what attaches that.
    async fn add_claim(&mut self, namespace: &str, claim: &str, at: Revision) -> Result<()> {
        let key = self.kind("persistentvolumeclaims")?.key(self.prefix, Some(namespace), claim).into_bytes();
        let Some(claim_object) = self.get(&key, at).await?.and_then(|version| self.object(&version)) else { return Ok(()) };
        self.members.entry(key).or_default().push(at);
        self.named.insert((namespace.to_owned(), claim.to_owned()));
        let Some(volume) = claim_object["spec"]["volumeName"].as_str() else { return Ok(()) };
        let key = self.kind("persistentvolumes")?.key(self.prefix, None, volume).into_bytes();
        if self.may_read(&key).await? {
            self.members.entry(key).or_default().push(at);
        }
        let attachments = self.kind("volumeattachments.storage.k8s.io")?.key_prefix(self.prefix, None);
        for attachment in self.list(&attachments, at).await? {
            let is_its = |object: Value| object.pointer("/spec/source/persistentVolumeName").is_some_and(|name| name == volume);
            if self.object(&attachment).is_some_and(is_its) {
                self.members.entry(attachment.key.to_vec()).or_default().push(at);
            }
        }
        Ok(())
    }

    /// The Events of other pods, of any namespace, that name the one they made room for.
    async fn add_preemptions(&mut self, name: &str, at: Revision) -> Result<()> {
        let events = self.kind("events")?.key_prefix(self.prefix, None);
        for event in self.list(&events, at.max(self.looks[0])).await? {
            if event.value.windows(name.len()).any(|part| part == name.as_bytes()) {
                self.members.entry(event.key.to_vec()).or_default().push(at);
            }
        }
        Ok(())
    }

    async fn add_events(&mut self) -> Result<()> {
        for (namespace, name) in std::mem::take(&mut self.named) {
            for (key, looks) in event_keys(self.cluster, &namespace, &name, self.looks[0]).await? {
                self.members.entry(key).or_default().extend(looks);
            }
        }
        Ok(())
    }

    async fn event_revisions(&self, namespace: &str, name: &str) -> Result<Vec<Revision>> {
        let below = self.kind("events")?.key(self.prefix, Some(namespace), &format!("{name}."));
        let mut found = Vec::new();
        for &look in &self.looks {
            found.extend(self.keys(&below, look).await?.iter().map(|event| event.create_revision));
        }
        Ok(found)
    }

    fn kind(&self, word: &str) -> Result<&'s Kind> {
        self.kinds.find(word).map(AsRef::as_ref).map_err(Error::from)
    }

    fn object(&self, version: &KeyValue) -> Option<Value> {
        let decoded = self.cluster.decoder.decode(&version.key, &version.value, version.mod_revision.0);
        decoded.object().cloned()
    }

    /// Whether the user may read a key; one that may not be is missing.
    async fn may_read(&self, key: &[u8]) -> Result<bool> {
        let keys = KeyRange::key(key);
        let may_read = self.cluster.may_read(&keys).await?;
        if !may_read {
            self.cluster.refused.miss(&keys);
        }
        Ok(may_read)
    }

    /// What the user may not read is missing.
    async fn get(&self, key: &[u8], at: Revision) -> Result<Option<KeyValue>> {
        Ok(self.read(KeyRange::key(key), at, Want::Values).await?.pop())
    }

    async fn list(&self, below: &str, at: Revision) -> Result<Vec<KeyValue>> {
        self.read(KeyRange::prefix(below), at, Want::Values).await
    }

    async fn keys(&self, below: &str, at: Revision) -> Result<Vec<KeyValue>> {
        self.read(KeyRange::prefix(below), at, Want::Keys).await
    }

    async fn read(&self, keys: KeyRange, at: Revision, want: Want) -> Result<Vec<KeyValue>> {
        match all(self.cluster.source.as_ref(), keys.clone(), at, want).await {
            Err(error) if error.is_denied() => {
                self.cluster.refused.miss(&keys);
                Ok(Vec::new())
            }
            // A compaction came between.
            Err(ketcd_store::Error::Compacted { .. } | ketcd_store::Error::Between { .. }) => Ok(Vec::new()),
            entries => Ok(entries?),
        }
    }
}

/// Whether the user may read all that a watch of the story would read.
async fn may_watch(cluster: &Cluster, asked: &Keys) -> Result<bool> {
    let mut ranges = needed(asked, cluster.kinds().await?, cluster.prefix().await?);
    ranges.extend(asked.ranges.iter().cloned());
    let hull = KeyRange::hull(&ranges);
    Ok(cluster.may_read(&hull).await? && cluster.may_read(&cluster.source.bounded_watch_reads(hull).await?).await?)
}

/// What a story needs beside its own objects: Events, owners and owned, the namespace, a node's pods and heartbeat, a pod's volumes.
pub(super) fn needed(asked: &Keys, kinds: &Kinds, prefix: &str) -> Vec<KeyRange> {
    let mut ranges = Vec::new();
    let mut add = |word: &str, namespace: Option<&str>| {
        if let Ok(kind) = kinds.find(word) {
            ranges.push(KeyRange::prefix(kind.key_prefix(prefix, namespace)));
        }
    };
    if asked.addresses.is_empty() {
        add("events", None);
        add("leases.coordination.k8s.io", Some("kube-node-lease"));
    }
    for address in &asked.addresses {
        let Address::Objects { kind, namespace, .. } = address else { continue };
        let namespace = namespace.as_deref();
        // Victims of preemption may be of any namespace.
        add("events", namespace.filter(|_| kind.kind != "Pod"));
        add("namespaces", None);
        if kind.kind == "Node" {
            add("pods", None);
            add("leases.coordination.k8s.io", Some("kube-node-lease"));
        }
        if kind.namespaced {
            WORKLOAD_KINDS.iter().for_each(|word| add(word, namespace));
            if kind.kind != "Pod" {
                add("pods", namespace);
            }
        }
        match &*kind.kind {
            "Service" => {
                add("endpoints", namespace);
                add("endpointslices.discovery.k8s.io", namespace);
            }
            "Pod" => {
                add("persistentvolumeclaims", namespace);
                add("resourceclaims.resource.k8s.io", namespace);
                add("volumeattachments.storage.k8s.io", None);
            }
            "StatefulSet" => add("persistentvolumeclaims", namespace),
            "PersistentVolumeClaim" | "PersistentVolume" => {
                add("persistentvolumeclaims", namespace);
                add("persistentvolumes", None);
                add("volumeattachments.storage.k8s.io", None);
            }
            _ => {}
        }
    }
    ranges
}
