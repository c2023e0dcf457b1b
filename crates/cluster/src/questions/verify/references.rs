//! References that lead nowhere, and objects in namespaces that are gone.
//!
//! Every namespaced object is in a Namespace that exists: kube-apiserver admits none elsewhere (k8s.io/kubernetes v1.37.2,
//! `plugin/pkg/admission/namespace/lifecycle`), and a Namespace goes when all its content has. References may be lawful and lead nowhere, such as those to
//! an optional ConfigMap.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use ketcd_kube::{Body, KeyResource, RegistryKey};
use ketcd_restore::ObjectId;
use ketcd_restore::references::{Related, references};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;

/// More findings of a kind are counted and not named.
const MAX_FINDINGS_NAMED: usize = 50;

/// How many keys are named as examples.
const MAX_EXAMPLE_KEYS: usize = 3;

/// Below the prefix, the objects whose references are followed.
const REFERRING_PATHS: [&str; 8] =
    ["pods", "deployments", "statefulsets", "daemonsets", "cronjobs", "persistentvolumeclaims", "ingress", "serviceaccounts"];

/// Kinds that a reference may name without needing the object: a claim that is bound needs no class, an Ingress without one has another controller.
const NOT_NEEDED: [&str; 2] = ["StorageClass", "IngressClass"];

/// Returns what leads nowhere at a revision.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn check(cluster: &Cluster, revision: Revision) -> Result<Part> {
    let mut part = Part::default();
    if cluster.source.arrivals_are_dates() {
        part.not_checked.push("references and namespaces: a bundle holds a part of the cluster".to_owned());
        return Ok(part);
    }
    let there = keys(cluster, revision).await?;
    let homeless = homeless(cluster, &there).await?;
    let missing = missing(cluster, &there, revision).await?;
    if homeless.is_empty() && missing.is_empty() {
        part.checked.push("references and namespaces lead somewhere".to_owned());
    }
    let homeless = homeless.into_iter().map(|(namespace, (count, examples))| {
        let says = format!("{count} objects are in namespace {namespace}, which does not exist");
        examples.into_iter().fold(Finding::new(FindingKind::Namespace, Weight::Medium, says), Finding::because)
    });
    let missing = missing.into_iter().map(|((id, key), (count, examples))| {
        let refer = if count == 1 { "1 object refers".to_owned() } else { format!("{count} objects refer") };
        let finding = Finding::new(FindingKind::Reference, Weight::Low, format!("{id} does not exist, and {refer} to it"));
        examples.into_iter().fold(finding.of_key(key.as_bytes()), Finding::because)
    });
    add(&mut part, homeless.collect(), FindingKind::Namespace);
    add(&mut part, missing.collect(), FindingKind::Reference);
    Ok(part)
}

/// Adds findings, the first of many.
fn add(part: &mut Part, findings: Vec<Finding>, kind: FindingKind) {
    let more = findings.len().saturating_sub(MAX_FINDINGS_NAMED);
    let weight = findings.first().map(|finding| finding.weight);
    part.findings.extend(findings.into_iter().take(MAX_FINDINGS_NAMED));
    if let (1.., Some(weight)) = (more, weight) {
        part.findings.push(Finding::new(kind, weight, format!("{more} more like these")));
    }
}

async fn keys(cluster: &Cluster, revision: Revision) -> Result<HashSet<Bytes>> {
    let entries = cluster.source.range(KeyRange::all(), At::Revision(revision), Want::Keys).await?.entries;
    Ok(entries.map_ok(|entry| entry.key).try_collect().await?)
}

/// How many objects, and some of their keys.
type Counted = (usize, Vec<String>);

fn count(counted: &mut Counted, key: &[u8]) {
    counted.0 += 1;
    if counted.1.len() < MAX_EXAMPLE_KEYS {
        counted.1.push(String::from_utf8_lossy(key).into_owned());
    }
}

/// The objects of each namespace that does not exist. Where there is no Namespace at all, none of them was read.
async fn homeless(cluster: &Cluster, there: &HashSet<Bytes>) -> Result<BTreeMap<String, Counted>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let below = format!("{prefix}/namespaces/");
    let namespaces: HashSet<&[u8]> = there.iter().filter_map(|key| key.strip_prefix(below.as_bytes())).collect();
    let mut found: BTreeMap<String, Counted> = BTreeMap::new();
    if namespaces.is_empty() {
        return Ok(found);
    }
    let mut sorted: Vec<&Bytes> = there.iter().collect();
    sorted.sort_unstable();
    for key in sorted {
        let Some(path) = RegistryKey::parse(prefix, key, kinds).object() else { continue };
        // What the segments of an unlisted resource are is not known.
        let KeyResource::Known(_) = path.resource else { continue };
        if let Some(namespace) = path.namespace.filter(|namespace| !namespaces.contains(namespace.as_bytes())) {
            count(found.entry(namespace.to_owned()).or_default(), key);
        }
    }
    Ok(found)
}

/// The objects that are referred to and not there, each with its key.
async fn missing(cluster: &Cluster, there: &HashSet<Bytes>, revision: Revision) -> Result<BTreeMap<(ObjectId, String), Counted>> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut found: BTreeMap<(ObjectId, String), Counted> = BTreeMap::new();
    for path in REFERRING_PATHS {
        let range = KeyRange::prefix(format!("{prefix}/{path}/"));
        let entries = cluster.source.range(range, At::Revision(revision), Want::Values).await?.entries;
        let decoder = cluster.decoder.clone().without_managed_fields();
        let referred = move |KeyValue { key, value, mod_revision, .. }: KeyValue| {
            let Body::Object(object) = decoder.decode(&key, &value, mod_revision.0).body else { return (key, Vec::new()) };
            let of = |related| references(&object, related);
            let ids: Vec<ObjectId> = of(Related::Config).into_iter().chain(of(Related::Storage)).collect();
            (key, if is_over(&object) { Vec::new() } else { ids })
        };
        let mut read = cores::in_order_ahead(entries, |entry: &KeyValue| entry.value.len(), referred).boxed();
        while let Some((key, ids)) = read.next().await.transpose()? {
            for id in ids.into_iter().filter(|id| !NOT_NEEDED.contains(&id.kind.as_str())) {
                let Some(kind) = kinds.iter().find(|kind| kind.kind == id.kind && kind.has_group(&id.group)) else { continue };
                let wanted = kind.key(prefix, id.namespace.as_deref(), &id.name);
                if !there.contains(wanted.as_bytes()) {
                    count(found.entry((id, wanted)).or_default(), &key);
                }
            }
        }
    }
    Ok(found)
}

/// Whether it needs nothing any more: a pod that has ended, or what is being deleted.
fn is_over(object: &serde_json::Value) -> bool {
    let phase = object["status"]["phase"].as_str();
    object["kind"] == "Pod" && matches!(phase, Some("Succeeded" | "Failed")) || !object["metadata"]["deletionTimestamp"].is_null()
}
