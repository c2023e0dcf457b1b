//! The state of what can be broken, at one revision.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use serde_json::Value;

use ketcd_history::Leases;
use ketcd_history::trouble::triage::Triage;
use ketcd_history::trouble::{broken_hooks, services_called};
use ketcd_kube::{Body, FieldSet, RegistryKey};
use ketcd_store::{At, KeyRange, KeyValue, Want};

use super::{certificates, kinds, pods};
use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::read::objects_on_cores;

/// Up to this many ReplicaSets are read one by one; if there are more, all are listed.
const ONE_BY_ONE: usize = 200;

/// Reads the state at a revision; returns it with how many values of the kinds looked at there are.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn state(cluster: &Cluster, at: At, now: Option<Timestamp>) -> Result<(Triage, usize)> {
    let mut triage = Triage::new(now);
    let reader = StateReader { cluster, at, values_read: AtomicUsize::new(0) };
    for path in kinds::STATE_PATHS {
        reader.each(path, |object| triage.observe(&object)).await?;
    }
    reader
        .each(kinds::CSR_PATH, |request| {
            triage.add(certificates::expired(&request, now));
            triage.observe(&request);
        })
        .await?;
    if let Some(values) = reader.values(kinds::POD_PATH).await? {
        reader.add(pods::read(cluster, values, &mut triage).await?);
    }
    reader.owners(&mut triage).await?;
    reader.hooks(&mut triage).await?;
    reader.custom(&mut triage).await?;
    reader.others(&mut triage).await?;
    Ok((triage, reader.values_read.into_inner()))
}

/// Reads kinds at one revision, of `-n`'s namespace where they have one.
struct StateReader<'s> {
    cluster: &'s Cluster,
    at: At,
    /// How many values there are of the kinds looked at.
    values_read: AtomicUsize,
}

impl<'s> StateReader<'s> {
    /// The keys of a kind's objects.
    async fn keys(&self, path: &kinds::Path) -> Result<KeyRange> {
        let prefix = self.cluster.prefix().await?;
        let namespace = self.cluster.options.namespace.as_deref().filter(|_| path.namespaced);
        let namespace = namespace.map_or(String::new(), |namespace| format!("{namespace}/"));
        Ok(KeyRange::prefix(format!("{prefix}/{}/{namespace}", path.path)))
    }

    async fn values(&self, path: &kinds::Path) -> Result<Option<futures_util::stream::BoxStream<'s, ketcd_store::Result<KeyValue>>>> {
        let keys = self.keys(path).await?;
        Ok(self.cluster.range_or_miss(keys, self.at, Want::Values).await?.map(|listing| listing.entries))
    }

    fn add(&self, values: usize) {
        self.values_read.fetch_add(values, Ordering::Relaxed);
    }

    /// Hands over every object of a kind that can be decoded.
    async fn each(&self, path: &kinds::Path, mut take: impl FnMut(Value)) -> Result<()> {
        let Some(entries) = self.values(path).await? else { return Ok(()) };
        let fields = path.fields.map(|fields| FieldSet::of(fields.iter().copied()));
        let is_lease = path.is_lease();
        let is_wanted = move |entry: &KeyValue| !is_lease || is_watched_lease(&entry.key);
        let mut objects = objects_on_cores(self.cluster, entries, fields, is_wanted);
        while let Some(object) = objects.try_next().await? {
            self.add(1);
            object.into_iter().for_each(&mut take);
        }
        Ok(())
    }

    fn decode(&self, entry: &KeyValue) -> Option<Value> {
        match self.cluster.reporting_decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
            Body::Object(object) => Some(object.into_value()),
            Body::Opaque(_) => None,
        }
    }

    /// The ReplicaSets of troubled pods, for the Deployments above them.
    async fn owners(&self, triage: &mut Triage) -> Result<()> {
        let missing = triage.missing_owners();
        if missing.len() > ONE_BY_ONE {
            return self.each(kinds::REPLICA_SETS, |object| triage.observe(&object)).await;
        }
        let prefix = self.cluster.prefix().await?;
        for (namespace, name) in missing {
            let key = KeyRange::key(format!("{prefix}/{}/{namespace}/{name}", kinds::REPLICA_SETS.path));
            let Some(mut listing) = self.cluster.range_or_miss(key, self.at, Want::Values).await? else { return Ok(()) };
            while let Some(entry) = listing.entries.next().await.transpose()? {
                self.decode(&entry).iter().for_each(|object| triage.observe(object));
            }
        }
        Ok(())
    }

    /// Webhooks, and whether anything answers behind their services.
    async fn hooks(&self, triage: &mut Triage) -> Result<()> {
        let mut configurations = Vec::new();
        for path in kinds::WEBHOOK_PATHS {
            self.each(path, |object| configurations.push(object)).await?;
        }
        let services: BTreeSet<(String, String)> = configurations.iter().flat_map(services_called).collect();
        let mut answer = BTreeSet::new();
        for service in services {
            if self.answers(&service.0, &service.1).await? {
                answer.insert(service);
            }
        }
        for configuration in &configurations {
            triage.observe_hooks(configuration, broken_hooks(configuration, &answer));
        }
        Ok(())
    }

    /// Whether a service has an address that is ready, or need not have one; what may not be read is taken to have one.
    async fn answers(&self, namespace: &str, name: &str) -> Result<bool> {
        let prefix = self.cluster.prefix().await?;
        let service = self.all(KeyRange::key(format!("{prefix}/services/specs/{namespace}/{name}"))).await?;
        if service.is_none_or(|found| found.iter().any(|service| service["spec"]["type"] == "ExternalName")) {
            return Ok(true);
        }
        let slices = self.all(KeyRange::prefix(format!("{prefix}/endpointslices/{namespace}/{name}-"))).await?;
        let endpoints = self.all(KeyRange::key(format!("{prefix}/services/endpoints/{namespace}/{name}"))).await?;
        let (Some(slices), Some(endpoints)) = (slices, endpoints) else { return Ok(true) };
        let own = slices.iter().filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == name);
        let of_slices = own.filter_map(|slice| slice["endpoints"].as_array()).flatten().any(|one| one["conditions"]["ready"] != false);
        let subsets = endpoints.iter().filter_map(|endpoints| endpoints["subsets"].as_array()).flatten();
        let mut addresses = subsets.filter_map(|subset| subset["addresses"].as_array());
        Ok(of_slices || addresses.any(|addresses| !addresses.is_empty()))
    }

    async fn all(&self, keys: KeyRange) -> Result<Option<Vec<Value>>> {
        let Some(mut listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(None) };
        let mut found = Vec::new();
        while let Some(entry) = listing.entries.next().await.transpose()? {
            found.extend(self.decode(&entry));
        }
        Ok(Some(found))
    }

    /// Custom resources that wait for a finalizer. Of a live etcd with a long history they are not read: they may be many, and etcd has other work.
    async fn custom(&self, triage: &mut Triage) -> Result<()> {
        if self.cluster.source.is_shared() && self.cluster.is_long().await? {
            return Ok(());
        }
        let (prefix, namespace) = (self.cluster.prefix().await?, self.cluster.options.namespace.as_deref());
        for kind in self.cluster.kinds().await?.iter().filter(|kind| kind.is_custom()) {
            let keys = KeyRange::prefix(kind.key_prefix(prefix, namespace.filter(|_| kind.namespaced)));
            let Some(listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { continue };
            let mut objects = objects_on_cores(self.cluster, listing.entries, None, is_marked);
            while let Some(object) = objects.try_next().await? {
                object.iter().for_each(|object| triage.observe(object));
            }
        }
        Ok(())
    }

    /// Objects that wait for a finalizer, where no printed object is of a kind looked at: somebody printed them for that.
    async fn others(&self, triage: &mut Triage) -> Result<()> {
        if self.values_read.load(Ordering::Relaxed) > 0 || !self.cluster.source.is_one_moment() {
            return Ok(());
        }
        let (prefix, namespace) = (self.cluster.prefix().await?, self.cluster.options.namespace.as_deref());
        let keys = KeyRange::prefix(format!("{prefix}/"));
        let Some(mut listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(()) };
        while let Some(entry) = listing.entries.next().await.transpose()? {
            let place = RegistryKey::parse(prefix, &entry.key, built_in()).object().and_then(|object| object.namespace);
            let is_elsewhere = namespace.zip(place).is_some_and(|(wanted, place)| wanted != place);
            if !is_elsewhere && is_marked(&entry) {
                self.decode(&entry).iter().for_each(|object| triage.observe(object));
            }
        }
        Ok(())
    }
}

const DELETION_MARK: &[u8] = b"deletionTimestamp";

/// Whether a value may be of an object that is being deleted: JSON and CBOR both spell names out.
fn is_marked(entry: &KeyValue) -> bool {
    memchr::memmem::find(&entry.value, DELETION_MARK).is_some()
}

/// Whether a lease says something: of a node, or of a component of the control plane.
fn is_watched_lease(key: &[u8]) -> bool {
    let key = String::from_utf8_lossy(key);
    let mut parts = key.rsplit('/');
    let (name, namespace) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    Leases::tells_who_lives(namespace, name)
}
