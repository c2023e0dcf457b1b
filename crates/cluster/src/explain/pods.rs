//! The pods that `ketcd explain` is asked about.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use ketcd_kube::Address;
use ketcd_store::{At, KeyRange, Want};

use crate::cluster::Cluster;
use crate::error::{Error, Nothing, Result};
use crate::not_found::{Looked, NotFound};
use crate::related::owners;

/// The pods addressed.
#[derive(Default)]
pub struct Pods {
    /// Each with its namespace.
    named: Vec<(String, String)>,
    /// All of these namespaces; `None`: of every one.
    listed: Vec<Option<String>>,
    /// Those that workloads own, each with its namespace.
    owned: BTreeSet<(String, String)>,
}

impl Pods {
    /// Whether some are addressed together, by their kind alone or by a workload.
    pub fn are_listed(&self) -> bool {
        !self.listed.is_empty() || !self.owned.is_empty()
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
            || self.owned.contains(&(namespace.to_owned(), name.to_owned()))
    }

    /// Reads the addresses.
    ///
    /// # Errors
    /// One of them is no address, or names neither pods nor what owns some.
    pub async fn read(cluster: &Cluster, words: &[String]) -> Result<Self> {
        let mut found = Self::default();
        for address in cluster.addresses(words).await? {
            match &address {
                Address::Objects { kind, namespace, name: Some(name) } if is_pod(kind) => {
                    found.named.push((namespace.clone().unwrap_or_else(|| cluster.namespace().to_owned()), name.clone()));
                }
                Address::Objects { kind, namespace, name: None } if is_pod(kind) => found.listed.push(namespace.clone()),
                Address::Objects { name: Some(_), .. } => found.owned.extend(owned(cluster, &address).await?),
                other => {
                    let named = other.kind().map_or_else(|| other.key("").0, |kind| kind.resource());
                    return Err(Error::invalid(format!("{named:?} does not name pods")).hint(
                        "write pod/NAMESPACE/NAME, pods -n NAMESPACE, pods -A, a workload such as deploy/NAMESPACE/NAME, or use --all",
                    ));
                }
            }
        }
        Ok(found)
    }
}

fn is_pod(kind: &ketcd_kube::Kind) -> bool {
    kind.kind == "Pod" && !kind.is_custom()
}

/// The pods that an object owns, itself or through others, at the revision looked at.
async fn owned(cluster: &Cluster, address: &Address) -> Result<BTreeSet<(String, String)>> {
    let at = match cluster.at {
        At::Newest => At::Revision(cluster.source.span().await?.newest),
        at @ At::Revision(_) => at,
    };
    let key = KeyRange::key(address.key(cluster.prefix().await?).0);
    let mut entries = cluster.source.range(key, at, Want::Values).await?.entries;
    let Some(entry) = entries.try_next().await? else {
        return Err(Error::NotFound(Box::new(NotFound::of(cluster, address, Looked::At(cluster.revision().await?)).await?)));
    };
    let Some(owner) = owners::decoded(cluster, address.kind(), entry) else {
        return Err(
            Error::invalid("the object cannot be decoded, so which pods it owns is not known").hint("name them: pod/NAMESPACE/NAME")
        );
    };
    let uid = owner.uid().to_owned();
    let (words, namespace) = (cluster.name_of(&owner.entry.key).await?, owner.namespace().map(str::to_owned));
    let family = cluster.tree(vec![owner], at).await?;
    let (mut pods, mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new(), vec![uid]);
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
    if pods.is_empty() {
        return Err(Error::Nothing(Nothing::OwnedPods { owner: words, namespace }));
    }
    Ok(pods)
}
