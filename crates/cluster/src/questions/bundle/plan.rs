//! Which keys a bundle keeps: the chosen objects, and from them on what each needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;

use bytes::Bytes;
use futures_util::TryStreamExt;

use ketcd_kube::{Address, Body, KeyResource, Kinds, ObjectPath, RegistryKey};
use ketcd_restore::ObjectId;
use ketcd_scheduler::cluster::WatchedKind;
use ketcd_store::{At, Event, EventKind, KeyRange, KeyValue, Origin, Revision, Until, Want};

use super::batch::Batch;
use super::kept_keys::KeptKeys;
use super::needs::Needs;
use crate::cluster::{CRD_PATH, Cluster};
use crate::error::{Error, Nothing, Result};
use crate::not_found::{Looked, NotFound};
use crate::read::{Keys, Read, events_from};

/// Where leaders and API servers renew their Leases, which say who was at work, and a scheduler announces itself.
const LEADER_PATHS: [&str; 2] = ["leases/kube-system/", "events/kube-system/kube-scheduler."];
/// Where leaders renewed their locks before there were Leases.
const OLD_LOCKS: [&str; 4] = [
    "services/endpoints/kube-system/kube-scheduler",
    "services/endpoints/kube-system/kube-controller-manager",
    "configmaps/kube-system/kube-scheduler",
    "configmaps/kube-system/kube-controller-manager",
];
/// What shows the API server's release.
const RELEASE_PATH: &str = "apiregistration.k8s.io/apiservices/";

/// A slice of a cluster: which keys are in it, from which revision to which.
pub struct Bundle<'c> {
    pub(super) cluster: &'c Cluster,
    pub(super) prefix: String,
    pub(super) kept: KeptKeys,
    /// The revision whose state it begins with.
    pub from: Revision,
    /// The revision that it ends with.
    pub to: Revision,
    /// Whether the source has the state of one moment and no history.
    pub is_one_moment: bool,
    /// Whether values are as an API server returned them.
    pub is_of_api_server: bool,
    /// Whether it has what a scheduler counted of objects that are not in it whole.
    pub has_decisions: bool,
}

impl Cluster {
    /// Finds what a bundle of the objects that words name and selectors select holds; without both, of all that is in the namespace, or of everything
    /// where all namespaces are looked at.
    ///
    /// # Errors
    /// Nothing is selected, nothing is there, or the source cannot be read.
    pub async fn bundle(&self, words: &[String]) -> Result<Bundle<'_>> {
        let (span, to) = (self.source.span().await?, self.revision().await?);
        let is_one_moment = self.source.is_one_moment();
        // What was printed need not have a revision; what is written has one.
        let to = if is_one_moment { to.max(Revision(1)) } else { to };
        let from = if is_one_moment { to } else { self.counted_after().max(span.oldest) };
        let mut bundle = Bundle {
            cluster: self,
            prefix: self.prefix().await?.to_owned(),
            kept: KeptKeys::default(),
            from,
            to,
            is_one_moment,
            is_of_api_server: false,
            has_decisions: false,
        };
        let options = &self.options;
        match (words, options.selection.takes_all(), &options.namespace, options.all_namespaces) {
            ([], true, None, false) => {
                return Err(Error::invalid("a bundle of what? No object, no selector and no namespace is named")
                    .hint("name a namespace with -n NAME, objects as kind/namespace/name, a selector with -l, or everything with -A"));
            }
            ([], true, None, true) => {
                bundle.kept.everything = true;
                bundle.is_of_api_server = bundle.origin().await? == Some(Origin::ApiServer);
                bundle.has_decisions = true;
            }
            _ => bundle.choose(words).await?,
        }
        Ok(bundle)
    }
}

impl Bundle<'_> {
    /// Where the state at its beginning is read.
    pub(super) fn beginning(&self) -> At {
        if self.is_one_moment { At::Newest } else { At::Revision(self.from) }
    }

    /// Whether the values of Secrets are in it: they are asked for, and the source holds them. What stands in for them elsewhere is masked.
    pub fn holds_secrets(&self) -> bool {
        self.cluster.options.show_secrets && !self.cluster.source.facts().withheld.secret_values
    }

    /// Whether changes follow that state.
    pub(super) fn has_changes(&self) -> bool {
        !self.is_one_moment && self.from < self.to
    }

    /// What the first change was read from.
    async fn origin(&self) -> Result<Option<Origin>> {
        if !self.has_changes() {
            return Ok(None);
        }
        let mut events = pin!(events_from(self.cluster, Keys::all(), self.from.after(), Until::Revision(self.to)));
        while let Some(read) = events.try_next().await? {
            if let Read::Item(event) = read {
                return Ok(Some(event.origin));
            }
        }
        Ok(None)
    }

    async fn choose(&mut self, words: &[String]) -> Result<()> {
        let chosen = self.chosen_ranges(words).await?;
        let subjects = self.keys_in(&chosen).await?;
        if subjects.is_empty() {
            return Err(self.nothing(words).await?);
        }
        let kinds = self.cluster.kinds().await?;
        let paths: Vec<ObjectPath<'_>> = subjects.iter().filter_map(|key| RegistryKey::parse(&self.prefix, key, kinds).object()).collect();
        let namespaces: BTreeSet<String> = paths.iter().filter_map(|path| path.namespace.map(str::to_owned)).collect();
        let has_node =
            paths.iter().any(|path| matches!(path.resource, KeyResource::Known(kind) if kind.kind == "Node" && !kind.is_custom()));
        let mut ranges = chosen;
        for namespace in &namespaces {
            ranges.extend(self.ranges_of_namespace(namespace).await?);
        }
        // Events about what has no namespace are in this one.
        let mut elsewhere = vec!["events/default/", "volumeattachments/"];
        elsewhere.extend(has_node.then_some("pods/"));
        ranges.extend(elsewhere.iter().map(|path| KeyRange::prefix(format!("{}/{path}", self.prefix))));
        let scanned = self.scan(ranges).await?;
        let ends = [self.beginning(), if self.is_one_moment { At::Newest } else { At::Revision(self.to) }];
        let mut closure = Closure::new(self.cluster, kinds, &self.prefix, ends, scanned);
        subjects.into_iter().for_each(|key| closure.include(key, true));
        closure.run().await?;
        self.has_decisions = closure.has_decisions();
        self.kept.whole = closure.included.into_keys().collect();
        self.add_surroundings();
        Ok(())
    }

    /// Adds what dates changes, says who was at work and which release it was, and what decisions were made on.
    fn add_surroundings(&mut self) {
        let below = |path: &str| format!("{}/{path}", self.prefix).into_bytes();
        self.kept.below = LEADER_PATHS.iter().map(|path| below(path)).collect();
        self.kept.whole.extend(OLD_LOCKS.iter().map(|path| Bytes::from(below(path))));
        self.kept.presence = vec![below(RELEASE_PATH)];
        if self.has_decisions {
            self.kept.scheduling = WatchedKind::ALL.iter().map(|&kind| (below(&format!("{}/", kind.storage_path())), kind)).collect();
        }
    }

    /// Where the chosen objects lie.
    async fn chosen_ranges(&self, words: &[String]) -> Result<Vec<KeyRange>> {
        let cluster = self.cluster;
        if words.is_empty() && cluster.options.selection.takes_all() {
            return self.ranges_of_namespace(cluster.namespace()).await;
        }
        let mut ranges = Vec::new();
        if cluster.options.selection.takes_all() {
            for address in cluster.addresses(words).await? {
                match namespace_of(&address) {
                    Some(namespace) => ranges.extend(self.ranges_of_namespace(namespace).await?),
                    None => ranges.extend(Keys::at(&self.prefix, vec![address]).ranges),
                }
            }
            return Ok(ranges);
        }
        Ok(cluster.asked(words, true).await?.ranges)
    }

    /// Where the objects of a namespace lie, of the kinds that there were at either end.
    async fn ranges_of_namespace(&self, namespace: &str) -> Result<Vec<KeyRange>> {
        let mut ranges = self.cluster.keys_of_namespace(namespace, self.cluster.at).await?.ranges;
        if !self.is_one_moment {
            ranges.extend(self.cluster.keys_of_namespace(namespace, At::Revision(self.from)).await?.ranges);
        }
        Ok(ranges)
    }

    /// The keys in these ranges that were there at the beginning, or changed after it.
    async fn keys_in(&self, ranges: &[KeyRange]) -> Result<BTreeSet<Bytes>> {
        let keys = Keys::many(ranges.to_vec());
        let mut found = BTreeSet::new();
        for range in keys.apart() {
            let mut entries = self.cluster.source.range(range, self.beginning(), Want::Keys).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                found.insert(entry.key);
            }
        }
        if !self.has_changes() {
            return Ok(found);
        }
        let mut events = pin!(events_from(self.cluster, keys, self.from.after(), Until::Revision(self.to)));
        while let Some(read) = events.try_next().await? {
            if let Read::Item(event) = read {
                found.insert(event.key_value.key);
            }
        }
        Ok(found)
    }

    /// The error where nothing that was chosen is there.
    async fn nothing(&self, words: &[String]) -> Result<Error> {
        let cluster = self.cluster;
        if !cluster.options.selection.takes_all() {
            return Ok(Error::Nothing(Nothing::Selected { in_all: cluster.options.all_namespaces }));
        }
        let addresses = if words.is_empty() { Vec::new() } else { cluster.addresses(words).await? };
        match addresses.iter().find(|address| address.key("").1) {
            Some(address) => Ok(Error::NotFound(Box::new(NotFound::of(cluster, address, Looked::UpTo(self.to)).await?))),
            None => Ok(Error::Nothing(Nothing::InNamespace(cluster.namespace().to_owned()))),
        }
    }

    /// Reads every version in these ranges for what the object needs.
    async fn scan(&mut self, ranges: Vec<KeyRange>) -> Result<BTreeMap<Bytes, Needs>> {
        let keys = Keys::many(ranges);
        let mut scan = Scan { cluster: self.cluster, found: BTreeMap::new(), pending: Batch::default() };
        for range in keys.apart() {
            let mut entries = self.cluster.source.range(range, self.beginning(), Want::Values).await?.entries;
            while let Some(entry) = entries.try_next().await? {
                scan.take(entry);
            }
        }
        if self.has_changes() {
            let mut events = pin!(events_from(self.cluster, keys, self.from.after(), Until::Revision(self.to)));
            while let Some(read) = events.try_next().await? {
                if let Read::Item(Event { kind: EventKind::Put, key_value, origin, .. }) = read {
                    self.is_of_api_server |= origin == Origin::ApiServer;
                    scan.take(key_value);
                }
            }
        }
        scan.decode();
        Ok(scan.found)
    }
}

/// The namespace that an address names: with all that is in it.
fn namespace_of(address: &Address) -> Option<&str> {
    match address {
        Address::Objects { kind, name: Some(name), .. } if kind.kind == "Namespace" && !kind.is_custom() => Some(name),
        _ => None,
    }
}

/// A scan of versions, some at a time.
struct Scan<'c> {
    cluster: &'c Cluster,
    found: BTreeMap<Bytes, Needs>,
    pending: Batch<KeyValue>,
}

impl Scan<'_> {
    fn take(&mut self, entry: KeyValue) {
        let bytes = entry.value.len();
        if self.pending.add(entry, bytes) {
            self.decode();
        }
    }

    fn decode(&mut self) {
        let cluster = self.cluster;
        for (entry, needs) in self.pending.look(|entry| needs_of(cluster, entry)) {
            self.found.entry(entry.key).or_default().add(needs);
        }
    }
}

/// What a version shows; nothing where it cannot be decoded.
fn needs_of(cluster: &Cluster, entry: &KeyValue) -> Needs {
    match cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(object) => Needs::of(&object),
        Body::Opaque(_) => Needs::default(),
    }
}

/// The way from the chosen objects to all that they need.
struct Closure<'c> {
    cluster: &'c Cluster,
    kinds: &'c Kinds,
    prefix: &'c str,
    /// Where objects that lie elsewhere are read.
    ends: [At; 2],
    scanned: BTreeMap<Bytes, Needs>,
    /// Objects by the uids of their owners.
    owned: HashMap<String, Vec<Bytes>>,
    about: HashMap<Bytes, Vec<Bytes>>,
    on_node: HashMap<String, Vec<Bytes>>,
    /// What selects pods, by namespace.
    selecting: HashMap<String, Vec<Bytes>>,
    /// What is in the bundle, and whether what it owns is too.
    included: BTreeMap<Bytes, bool>,
    waiting: Vec<Bytes>,
}

impl<'c> Closure<'c> {
    fn new(cluster: &'c Cluster, kinds: &'c Kinds, prefix: &'c str, ends: [At; 2], scanned: BTreeMap<Bytes, Needs>) -> Self {
        let mut closure = Self {
            cluster,
            kinds,
            prefix,
            ends,
            scanned: BTreeMap::new(),
            owned: HashMap::new(),
            about: HashMap::new(),
            on_node: HashMap::new(),
            selecting: HashMap::new(),
            included: BTreeMap::new(),
            waiting: Vec::new(),
        };
        for (key, needs) in scanned {
            closure.index(&key, &needs);
            closure.scanned.insert(key, needs);
        }
        closure
    }

    fn index(&mut self, key: &Bytes, needs: &Needs) {
        for owner in &needs.owners {
            self.owned.entry(owner.clone()).or_default().push(key.clone());
        }
        for node in &needs.nodes {
            self.on_node.entry(node.clone()).or_default().push(key.clone());
        }
        for subject in needs.about.iter().filter_map(|id| self.key_of(id)).collect::<Vec<_>>() {
            self.about.entry(subject).or_default().push(key.clone());
        }
        if !needs.selects.is_empty()
            && let Some(namespace) = self.path(key).and_then(|path| path.namespace.map(str::to_owned))
        {
            self.selecting.entry(namespace).or_default().push(key.clone());
        }
    }

    fn path<'k>(&'k self, key: &'k [u8]) -> Option<ObjectPath<'k>> {
        RegistryKey::parse(self.prefix, key, self.kinds).object()
    }

    fn key_of(&self, id: &ObjectId) -> Option<Bytes> {
        let version = if id.group.is_empty() { "v1".to_owned() } else { format!("{}/", id.group) };
        // A reference need not name the group.
        let by_name = || self.kinds.iter().find(|kind| id.group.is_empty() && kind.kind == *id.kind && kind.is_stored());
        let kind = self.kinds.of_object(&version, &id.kind).or_else(by_name)?;
        let namespace = id.namespace.as_deref().filter(|_| kind.namespaced);
        (kind.namespaced == namespace.is_some()).then(|| kind.key(self.prefix, namespace, &id.name).into_bytes().into())
    }

    /// Adds an object; `with_owned` adds what it owns.
    fn include(&mut self, key: Bytes, with_owned: bool) {
        let known = self.included.get(&key).copied();
        if known.is_none_or(|known| with_owned && !known) {
            self.included.insert(key.clone(), with_owned);
            self.waiting.push(key);
        }
    }

    async fn run(&mut self) -> Result<()> {
        while let Some(key) = self.waiting.pop() {
            self.fetch(&key).await?;
            let with_owned = self.included[&key];
            self.follow(&key, with_owned);
        }
        Ok(())
    }

    /// Reads an object that lies elsewhere, as it is at both ends.
    async fn fetch(&mut self, key: &Bytes) -> Result<()> {
        if self.scanned.contains_key(key) {
            return Ok(());
        }
        let mut needs = Needs::default();
        for at in self.ends {
            for entry in self.cluster.source.first(KeyRange::key(key.to_vec()), at, Want::Values, 1).await? {
                needs.add(needs_of(self.cluster, &entry));
            }
        }
        self.scanned.insert(key.clone(), needs);
        Ok(())
    }

    /// Adds what one object needs.
    fn follow(&mut self, key: &Bytes, with_owned: bool) {
        let mut others: Vec<Bytes> = self.about.get(key).cloned().unwrap_or_default();
        let mut owned: Vec<Bytes> = Vec::new();
        if let Some(path) = self.path(key) {
            let namespace = path.namespace.map(|namespace| ObjectId::new("", "Namespace", None, namespace));
            others.extend(namespace.and_then(|id| self.key_of(&id)));
            if let KeyResource::Known(kind) = path.resource
                && kind.is_custom()
            {
                others.push(format!("{}/{CRD_PATH}/{}", self.prefix, kind.resource()).into());
            }
            if let Some(needs) = self.scanned.get(key) {
                others.extend(needs.refers.iter().filter_map(|id| self.key_of(id)));
                if with_owned {
                    owned.extend(needs.uids.iter().filter_map(|uid| self.owned.get(uid)).flatten().cloned());
                    let is_node = matches!(path.resource, KeyResource::Known(kind) if kind.kind == "Node");
                    owned.extend(self.on_node.get(path.name).filter(|_| is_node).into_iter().flatten().cloned());
                    others.extend(self.selecting(path.namespace, needs));
                }
            }
        }
        owned.into_iter().for_each(|key| self.include(key, true));
        others.into_iter().for_each(|key| self.include(key, false));
    }

    fn selecting(&self, namespace: Option<&str>, pod: &Needs) -> Vec<Bytes> {
        let candidates = namespace.and_then(|namespace| self.selecting.get(namespace)).into_iter().flatten();
        let selects = |key: &&Bytes| {
            let selectors = self.scanned.get(*key).map_or(&[][..], |needs| &needs.selects);
            selectors.iter().any(|selector| pod.labels.iter().any(|labels| selector.matches(labels)))
        };
        candidates.filter(selects).cloned().collect()
    }

    /// Whether a decision about a pod that is in the bundle by itself is in the history, or to come.
    fn has_decisions(&self) -> bool {
        self.included.iter().any(|(key, with_owned)| *with_owned && self.scanned.get(key).is_some_and(|needs| needs.was_unbound))
    }
}
