//! What rules ask about the state at one revision. Each kind is read once, and only when a rule needs it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::ready;
use std::sync::Arc;

use futures_util::TryStreamExt;
use jiff::Timestamp;
use serde_json::{Map, Value};

use ketcd_history::trouble::TroubleKind;
use ketcd_history::trouble::triage::Finding;
use ketcd_kube::{Body, FieldSet, Shown, ShownValue};
use ketcd_store::{At, KeyRange, Want};

use super::events::{self, Warning};
use super::object::{has_ended, items, text};
use crate::cluster::Cluster;
use crate::cores::apart;
use crate::error::Result;
use crate::read::{made_on_cores, objects_on_cores, values_on_cores};

/// Where the objects of a kind lie, and what of them a rule needs.
pub(super) struct Kind {
    /// Below the API server's prefix.
    pub path: &'static str,
    /// Whether they live in namespaces.
    pub namespaced: bool,
    /// The members that are decoded; all but templates of pods and the fields that managers own, where it is `None`.
    pub fields: Option<&'static [&'static str]>,
}

/// What of a pod rules need.
const POD_FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.labels",
    "metadata.ownerReferences",
    "spec.nodeName",
    "spec.volumes.name",
    "spec.volumes.persistentVolumeClaim",
    "spec.volumes.ephemeral",
    "status.conditions",
    "status.phase",
];

/// The pods of a namespace that have the same labels.
#[derive(Default)]
pub(super) struct Alike {
    pub labels: Map<String, Value>,
    /// How many of them have not ended.
    pub running: i64,
}

/// The state that rules look at.
pub(super) struct Facts<'c> {
    /// The cluster.
    pub cluster: &'c Cluster,
    /// The moment looked at, where anything shows it.
    pub now: Option<Timestamp>,
    /// What is known to be wrong without the rules.
    pub findings: &'c [Finding],
    /// The nodes that pods are bound to and that are not there.
    pub absent_nodes: Vec<String>,
    /// The revision to read.
    pub at: At,
    lists: HashMap<String, Arc<Vec<Value>>>,
    labels: HashMap<String, Arc<Vec<Alike>>>,
    owners: HashMap<String, Arc<HashSet<String>>>,
    nodes: Option<Arc<BTreeSet<String>>>,
    warnings: Option<Arc<Vec<Warning>>>,
}

impl<'c> Facts<'c> {
    pub(super) fn new(cluster: &'c Cluster, at: At, now: Option<Timestamp>, findings: &'c [Finding], absent_nodes: Vec<String>) -> Self {
        let (lists, labels, owners) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { cluster, now, findings, absent_nodes, at, lists, labels, owners, nodes: None, warnings: None }
    }

    /// Returns all objects of a kind, of `-n`'s namespace where they have one; none where the user may not read them, which is noted.
    pub(super) async fn all(&mut self, kind: &Kind) -> Result<Arc<Vec<Value>>> {
        let namespace = self.cluster.options.namespace.as_deref().filter(|_| kind.namespaced);
        let below = namespace.map_or(String::new(), |namespace| format!("{namespace}/"));
        self.list(format!("{}/{below}", kind.path), kind.fields).await
    }

    /// Makes something of each object of a kind, of `-n`'s namespace where they have one. The objects are not kept: no other rule needs them.
    pub(super) async fn made_of<T: Send + 'static>(
        &self,
        kind: &Kind,
        make: impl Fn(Value) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Vec<T>> {
        let namespace = self.cluster.options.namespace.as_deref().filter(|_| kind.namespaced);
        let below = namespace.map_or(String::new(), |namespace| format!("{namespace}/"));
        self.made_below(&format!("{}/{below}", kind.path), kind.fields, make).await
    }

    /// Makes something of each object below a path, of whatever namespace.
    pub(super) async fn made_below<T: Send + 'static>(
        &self,
        path: &str,
        fields: Option<&[&str]>,
        make: impl Fn(Value) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Vec<T>> {
        let keys = KeyRange::prefix(format!("{}/{path}", self.cluster.prefix().await?));
        let Some(listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(Vec::new()) };
        let fields = fields.map(|fields| FieldSet::of(fields.iter().copied()));
        made_on_cores(self.cluster, listing.entries, fields, make).try_filter_map(|made| ready(Ok(made))).try_collect().await
    }

    /// Returns the objects of a kind in a namespace.
    pub(super) async fn within(&mut self, kind: &Kind, namespace: &str) -> Result<Arc<Vec<Value>>> {
        self.list(format!("{}/{namespace}/", kind.path), kind.fields).await
    }

    /// Returns the pods of a namespace.
    pub(super) async fn pods(&mut self, namespace: &str) -> Result<Arc<Vec<Value>>> {
        self.list(format!("pods/{namespace}/"), Some(POD_FIELDS)).await
    }

    /// Returns the labels that pods of a namespace have, read where they are stored: most pods have those of many others.
    pub(super) async fn labels(&mut self, namespace: &str) -> Result<Arc<Vec<Alike>>> {
        if let Some(labels) = self.labels.get(namespace) {
            return Ok(Arc::clone(labels));
        }
        let labels = Arc::new(self.read_labels(namespace).await?);
        self.labels.insert(namespace.to_owned(), Arc::clone(&labels));
        Ok(labels)
    }

    async fn read_labels(&self, namespace: &str) -> Result<Vec<Alike>> {
        let keys = KeyRange::prefix(format!("{}/pods/{namespace}/", self.cluster.prefix().await?));
        let Some(mut listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(Vec::new()) };
        let excerpt = self.cluster.decoder.excerpt("v1", "Pod", &FieldSet::of(["metadata.labels"]), &["status.phase"]);
        let fields = FieldSet::of(["kind", "metadata.name", "metadata.labels", "status.phase"]);
        let (mut places, mut alike): (HashMap<Vec<u8>, usize>, Vec<Alike>) = (HashMap::new(), Vec::new());
        let mut copied = Vec::new();
        while let Some(entry) = listing.entries.try_next().await? {
            let mut is_over = false;
            copied.clear();
            let has_excerpt = excerpt.as_ref().is_some_and(|excerpt| {
                excerpt.append(&entry.key, &entry.value, &mut copied, |shown| {
                    is_over = matches!(shown.value, ShownValue::Text(phase) if has_ended(phase));
                })
            });
            if let Some(place) = places.get(&copied).filter(|_| has_excerpt) {
                alike[*place].running += i64::from(!is_over);
                continue;
            }
            let decoded = self.cluster.reporting_decoder.only(&fields).decode(&entry.key, &entry.value, entry.mod_revision.0);
            let Some(pod) = decoded.object() else { continue };
            let is_over = pod["status"]["phase"].as_str().is_some_and(has_ended);
            let labels = pod["metadata"]["labels"].as_object().cloned().unwrap_or_default();
            if has_excerpt {
                places.insert(std::mem::take(&mut copied), alike.len());
            }
            alike.push(Alike { labels, running: i64::from(!is_over) });
        }
        Ok(alike)
    }

    /// Returns the uids of those that own pods of a namespace, read where they are stored.
    pub(super) async fn owners_of_pods(&mut self, namespace: &str) -> Result<Arc<HashSet<String>>> {
        if let Some(owners) = self.owners.get(namespace) {
            return Ok(Arc::clone(owners));
        }
        let owners = Arc::new(self.read_owners(namespace).await?);
        self.owners.insert(namespace.to_owned(), Arc::clone(&owners));
        Ok(owners)
    }

    async fn read_owners(&self, namespace: &str) -> Result<HashSet<String>> {
        let keys = KeyRange::prefix(format!("{}/pods/{namespace}/", self.cluster.prefix().await?));
        let mut owners = HashSet::new();
        let Some(listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(owners) };
        let excerpt = self.cluster.decoder.excerpt("v1", "Pod", &FieldSet::of(["kind"]), &["metadata.ownerReferences.uid"]);
        let fields = FieldSet::of(["kind", "metadata.ownerReferences"]);
        let mut of_pods = values_on_cores(self.cluster, listing.entries, move |entry, reporting| {
            let (mut copied, mut owners) = (Vec::new(), Vec::new());
            let see = |shown: Shown<'_>| {
                if let ShownValue::Text(uid) = shown.value {
                    owners.push(uid.to_owned());
                }
            };
            let has_excerpt = excerpt.as_ref().is_some_and(|excerpt| excerpt.append(&entry.key, &entry.value, &mut copied, see));
            if !has_excerpt && let Body::Object(pod) = reporting.decode_only(&entry, &fields) {
                let pod = pod.into_value();
                owners.extend(items(&pod, "/metadata/ownerReferences").map(|owner| text(owner, "/uid").to_owned()));
            }
            owners
        });
        while let Some(of_pod) = of_pods.try_next().await? {
            owners.extend(of_pod);
        }
        Ok(owners)
    }

    /// Returns the pods of all namespaces, or of `-n`'s.
    pub(super) async fn all_pods(&mut self) -> Result<Arc<Vec<Value>>> {
        self.all(&Kind { path: "pods", namespaced: true, fields: Some(POD_FIELDS) }).await
    }

    /// Returns an object; `None` where it is not there or may not be read.
    pub(super) async fn object(&mut self, kind: &Kind, namespace: &str, name: &str) -> Result<Option<Value>> {
        let place = if kind.namespaced { format!("{namespace}/{name}") } else { name.to_owned() };
        let keys = KeyRange::key(format!("{}/{}/{place}", self.cluster.prefix().await?, kind.path));
        Ok(self.read(keys, kind.fields).await?.into_iter().next())
    }

    /// Returns the names of all nodes; none if there are none, or they may not be read.
    pub(super) async fn nodes(&mut self) -> Result<Arc<BTreeSet<String>>> {
        if let Some(nodes) = &self.nodes {
            return Ok(Arc::clone(nodes));
        }
        let prefix = format!("{}/minions/", self.cluster.prefix().await?);
        let mut names = BTreeSet::new();
        if let Some(mut listing) = self.cluster.range_or_miss(KeyRange::prefix(prefix.as_str()), self.at, Want::Keys).await? {
            while let Some(entry) = listing.entries.try_next().await? {
                names.extend(entry.key.strip_prefix(prefix.as_bytes()).map(|name| String::from_utf8_lossy(name).into_owned()));
            }
        }
        Ok(Arc::clone(self.nodes.insert(Arc::new(names))))
    }

    /// Returns the Warning Events of `-n`'s namespace or of all.
    pub(super) async fn warnings(&mut self) -> Result<Arc<Vec<Warning>>> {
        if let Some(warnings) = &self.warnings {
            return Ok(Arc::clone(warnings));
        }
        let warnings = Arc::new(events::warnings(self.cluster, self.at).await?);
        Ok(Arc::clone(self.warnings.insert(warnings)))
    }

    /// Returns the newest Warning about an object that has one of these reasons.
    pub(super) async fn warning(&mut self, about: (&str, &str, &str), reasons: &[&str]) -> Result<Option<Warning>> {
        let warnings = self.warnings().await?;
        let of = warnings.iter().filter(|warning| warning.is_about(about) && reasons.contains(&warning.reason.as_str()));
        Ok(of.max_by_key(|warning| warning.last).cloned())
    }

    /// Returns the objects that have this trouble, in whatever finding.
    pub(super) fn troubled(&self, kind: TroubleKind) -> Vec<&'c Finding> {
        let mut found = Vec::new();
        let mut left: Vec<&Finding> = self.findings.iter().collect();
        while let Some(finding) = left.pop() {
            left.extend(&finding.effects);
            if finding.trouble.kind == kind {
                found.push(finding);
            }
        }
        found
    }

    /// Ends it. The lists may hold a hundred thousand objects, whose memory takes a while to give back.
    pub(super) fn end(self) {
        apart(move || drop(self.lists));
    }

    /// Whether the data is what somebody printed, which may be a part of the cluster.
    pub(super) fn may_be_part(&self) -> bool {
        self.cluster.source.is_one_moment()
    }

    async fn list(&mut self, path: String, fields: Option<&[&str]>) -> Result<Arc<Vec<Value>>> {
        // Rules need different members of one kind.
        let named = format!("{path} {}", fields.unwrap_or_default().join(" "));
        if let Some(list) = self.lists.get(&named) {
            return Ok(Arc::clone(list));
        }
        let keys = KeyRange::prefix(format!("{}/{path}", self.cluster.prefix().await?));
        let list = Arc::new(self.read(keys, fields).await?);
        self.lists.insert(named, Arc::clone(&list));
        Ok(list)
    }

    async fn read(&self, keys: KeyRange, fields: Option<&[&str]>) -> Result<Vec<Value>> {
        let Some(listing) = self.cluster.range_or_miss(keys, self.at, Want::Values).await? else { return Ok(Vec::new()) };
        let fields = fields.map(|fields| FieldSet::of(fields.iter().copied()));
        objects_on_cores(self.cluster, listing.entries, fields, |_| true).try_filter_map(|object| ready(Ok(object))).try_collect().await
    }
}
