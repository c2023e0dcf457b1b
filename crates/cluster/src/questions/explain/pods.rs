//! The pods that `ketcd explain` is asked about.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use ketcd_kube::{Address, Kind, Kinds};
use ketcd_store::{At, KeyRange, KeyValue, Want};

use crate::cluster::Cluster;
use crate::error::{Error, Nothing, Result};
use crate::not_found::{Looked, NotFound};
use crate::read::Keys;
use crate::related::owners;

/// The pods addressed.
#[derive(Default)]
pub struct Pods {
    /// Each with its namespace.
    named: Vec<(String, String)>,
    /// All of these namespaces; `None`: of every one.
    listed: Vec<Option<String>>,
    /// Those that workloads own or selectors select, each with its namespace.
    chosen: BTreeSet<(String, String)>,
}

/// The kinds that own pods, themselves or through others, and may be named without a name; Nodes own mirror pods alone.
const POD_OWNER_KINDS: [&str; 7] = ["CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

impl Pods {
    /// Whether some are addressed together: by their kind alone, by a workload, or by selectors.
    pub fn are_listed(&self) -> bool {
        !self.listed.is_empty() || !self.chosen.is_empty()
    }

    /// Whether more than one is addressed.
    pub fn are_many(&self) -> bool {
        self.are_listed() || self.named.len() > 1
    }

    /// The pods addressed one by one, as namespace and name.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named.iter().map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }

    /// Whether a pod is among them; where none is addressed, every one is.
    pub fn wants(&self, namespace: &str, name: &str) -> bool {
        let every = self.named.is_empty() && !self.are_listed();
        every
            || self.named().any(|pod| pod == (namespace, name))
            || self.listed.iter().any(|of| of.as_deref().is_none_or(|of| of == namespace))
            || self.chosen.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// Reads the addresses, as far as the cluster's selectors select them.
    ///
    /// # Errors
    /// One of them is not an address, or names neither pods nor an owner of pods, or the source cannot be read.
    pub async fn read(cluster: &Cluster, words: &[String]) -> Result<Self> {
        let mut found = Self::default();
        let is_selected = !cluster.options.selection.takes_all();
        let mut owners = Vec::new();
        for address in addressed(cluster, words).await? {
            match address {
                Address::Objects { kind, namespace, name: Some(name) } if is_pod(&kind) => {
                    let pod = (namespace.unwrap_or_else(|| cluster.namespace().to_owned()), name);
                    match is_selected {
                        true => found.chosen.extend([pod]),
                        false => found.named.push(pod),
                    }
                }
                Address::Objects { kind, namespace, name: None } if is_pod(&kind) => found.listed.push(namespace),
                address @ Address::Objects { name: Some(_), .. } => owners.push(address),
                address @ Address::Objects { .. } if address.kind().is_some_and(|kind| owns_pods(kind)) => owners.push(address),
                other => {
                    let named = other.kind().map_or_else(|| other.key("").0, |kind| kind.resource());
                    return Err(Error::invalid(format!("{named:?} does not name pods")).hint(
                        "write pod/NAMESPACE/NAME, pods -n NAMESPACE, pods -A, a workload such as deploy/NAMESPACE/NAME, or use --all",
                    ));
                }
            }
        }
        for address in owners {
            let owned = owned(cluster, &address).await?;
            // Some of those that are selected may be gone or own none.
            if owned.is_empty() && !is_selected {
                return Err(Error::Nothing(without_pods(cluster, &address).await?));
            }
            found.chosen.extend(owned);
        }
        // Every decision, of the namespace that is named.
        if words.is_empty() && !is_selected && !cluster.options.all_namespaces {
            found.listed.extend(cluster.options.namespace.clone().map(Some));
        }
        if is_selected && !found.are_listed() {
            return Err(Error::Nothing(Nothing::Selected { in_all: cluster.options.all_namespaces }));
        }
        Ok(found)
    }
}

/// The addresses of the words; without any, those of the pods that selectors select, of the namespace looked at or of all.
async fn addressed(cluster: &Cluster, words: &[String]) -> Result<Vec<Address>> {
    if !words.is_empty() || cluster.options.selection.takes_all() {
        return match cluster.selected_addresses(words).await {
            Err(Error::WithoutKind(without)) => match pods_called(cluster, words).await? {
                Some(pods) => cluster.selected_addresses(&pods).await,
                None => Err(Error::WithoutKind(without)),
            },
            found => found,
        };
    }
    let pods =
        Kinds::builtin().find("pods").map_err(Error::from)?.key_prefix(cluster.prefix().await?, cluster.options.namespace.as_deref());
    Ok(cluster.selected(Keys::many(vec![KeyRange::prefix(pods)])).await?.addresses)
}

/// The addresses of pods that are called as the words are, in the namespace looked at or in the one that a word begins with; `None` where one
/// of them is no pod's name.
async fn pods_called(cluster: &Cluster, words: &[String]) -> Result<Option<Vec<String>>> {
    let mut pods = Vec::new();
    for word in words {
        let called = cluster.called(word).await?;
        let is_here = |namespace: Option<&str>| word.contains('/') || namespace == Some(cluster.namespace());
        match called.places.iter().find(|place| place.kind == "pod" && is_here(place.namespace.as_deref())) {
            Some(place) => pods.push(place.address()),
            None => return Ok(None),
        }
    }
    Ok(Some(pods))
}

fn is_pod(kind: &Kind) -> bool {
    kind.kind == "Pod" && !kind.is_custom()
}

/// Whether objects of a kind may own pods: workloads do, and a custom kind may.
fn owns_pods(kind: &Kind) -> bool {
    kind.is_custom() || POD_OWNER_KINDS.contains(&&*kind.kind)
}

/// That what an address names owns no pods.
async fn without_pods(cluster: &Cluster, address: &Address) -> Result<Nothing> {
    Ok(match address {
        Address::Objects { kind, namespace, name: None } => {
            Nothing::PodsOfKind { kind: kind.singular_resource(), namespace: namespace.clone() }
        }
        Address::Objects { namespace, .. } => Nothing::OwnedPods {
            owner: cluster.name_of(address.key(cluster.prefix().await?).0.as_bytes()).await?,
            namespace: namespace.clone(),
        },
        Address::Key(key) => Nothing::OwnedPods { owner: key.clone(), namespace: None },
    })
}

/// The pods that the objects of an address own, themselves or through others, at the revision looked at.
async fn owned(cluster: &Cluster, address: &Address) -> Result<BTreeSet<(String, String)>> {
    let at = match cluster.at {
        At::Newest => At::Revision(cluster.source.span().await?.newest),
        at @ At::Revision(_) => at,
    };
    let (key, is_whole) = address.key(cluster.prefix().await?);
    let range = if is_whole { KeyRange::key(key) } else { KeyRange::prefix(key) };
    let entries: Vec<KeyValue> = cluster.source.range(range, at, Want::Values).await?.entries.try_collect().await?;
    if entries.is_empty() && is_whole && cluster.options.selection.takes_all() {
        return Err(Error::NotFound(Box::new(NotFound::of(cluster, address, Looked::At(cluster.revision().await?)).await?)));
    }
    let mut owners = Vec::new();
    for entry in entries {
        let Some(owner) = owners::decoded(cluster, address.kind(), entry) else {
            return Err(
                Error::invalid("the object cannot be decoded, so which pods it owns is not known").hint("name them: pod/NAMESPACE/NAME")
            );
        };
        owners.push(owner);
    }
    let mut waiting: Vec<String> = owners.iter().map(|owner| owner.uid().to_owned()).collect();
    let family = cluster.tree(owners, at).await?;
    let (mut pods, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(uid) = waiting.pop() {
        if uid.is_empty() || !seen.insert(uid.clone()) {
            continue;
        }
        for object in family.owned(&uid) {
            let metadata = &object.object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            if object.kind.as_deref().is_some_and(is_pod) {
                pods.insert((text("namespace"), text("name")));
            }
            waiting.push(text("uid"));
        }
    }
    Ok(pods)
}
