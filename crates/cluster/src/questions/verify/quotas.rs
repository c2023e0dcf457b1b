//! Quotas that disagree with what they count.
//!
//! A wrong counter does not show tampering: it is wrong in healthy clusters too, for hours (kubernetes issues 65107, 62828, 25559), and is counted anew every five
//! minutes and after deletions (k8s.io/kubernetes v1.37.2, `pkg/controller/resourcequota`). What counts: `pkg/quota/v1/evaluator/core`, and `count/…` of
//! any kind. Pods are left out, because those that have ended count in some of their counters only.

use std::collections::BTreeMap;

use futures_util::TryStreamExt;
use serde_json::Value;

use ketcd_kube::{Body, KeyResource, Kind, Quantity, RegistryKey};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use crate::cluster::Cluster;
use crate::error::Result;

/// The kinds that a quota counts under their own name, of the core group all.
const PLAIN_RESOURCES: [&str; 6] =
    ["services", "persistentvolumeclaims", "replicationcontrollers", "configmaps", "secrets", "resourcequotas"];

/// Objects of each namespace by resource: `deployments.apps`.
type ObjectCounts = BTreeMap<(String, String), i64>;

/// Returns the quotas whose counters of objects differ from what is there.
///
/// # Errors
/// The source cannot be read.
pub(super) async fn check(cluster: &Cluster, revision: Revision) -> Result<Part> {
    let mut part = Part::default();
    if cluster.source.arrivals_are_dates() {
        part.not_checked.push("quotas: a bundle holds a part of the cluster".to_owned());
        return Ok(part);
    }
    let below = KeyRange::prefix(format!("{}/resourcequotas/", cluster.prefix().await?));
    let mut quotas = cluster.source.range(below, At::Revision(revision), Want::Values).await?.entries;
    let (kinds, mut counts) = (cluster.kinds().await?, None::<ObjectCounts>);
    while let Some(entry) = quotas.try_next().await? {
        let Body::Object(quota) = cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body else { continue };
        // A scope counts some objects only.
        if quota["spec"]["scopes"].as_array().is_some_and(|scopes| !scopes.is_empty()) || quota["spec"]["scopeSelector"].is_object() {
            continue;
        }
        let counts = match &mut counts {
            Some(counts) => counts,
            none => none.insert(counted(cluster, revision).await?),
        };
        let is_known = |resource: &str| kinds.iter().any(|kind| kind.resource() == resource);
        let wrong = miscounted(&quota, counts, is_known);
        if !wrong.is_empty() {
            let says = format!("its counters are not what is there: {}", wrong.join(", "));
            part.findings.push(Finding::new(FindingKind::Quota, Weight::Low, says).of_key(&entry.key).at(entry.mod_revision));
        }
    }
    if counts.is_some() && part.findings.is_empty() {
        part.checked.push("quotas count what is there".to_owned());
    }
    Ok(part)
}

async fn counted(cluster: &Cluster, revision: Revision) -> Result<ObjectCounts> {
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut entries = cluster.source.range(KeyRange::all(), At::Revision(revision), Want::Keys).await?.entries;
    let mut counts = ObjectCounts::new();
    while let Some(entry) = entries.try_next().await? {
        let Some(path) = RegistryKey::parse(prefix, &entry.key, kinds).object() else { continue };
        if let (KeyResource::Known(kind), Some(namespace)) = (path.resource, path.namespace) {
            *counts.entry((namespace.to_owned(), Kind::resource(kind))).or_default() += 1;
        }
    }
    Ok(counts)
}

/// Each resource with what is counted and what is there; objects of an unknown kind cannot be found.
fn miscounted(quota: &Value, counts: &ObjectCounts, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let namespace = quota["metadata"]["namespace"].as_str().unwrap_or_default();
    let used = quota["status"]["used"].as_object();
    let wrong = used.into_iter().flatten().filter_map(|(name, used)| {
        let resource = name.strip_prefix("count/").or_else(|| PLAIN_RESOURCES.contains(&name.as_str()).then_some(name.as_str()))?;
        if resource == "pods" || !is_known(resource) {
            return None;
        }
        let used: Quantity = used.as_str()?.parse().ok()?;
        let there = counts.get(&(namespace.to_owned(), resource.to_owned())).copied().unwrap_or(0);
        (used.scaled_value(0) != there).then(|| format!("{name} {} instead of {there}", used.scaled_value(0)))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_are_held_against_what_is_there() {
        let counts = ObjectCounts::from([
            (("shop".to_owned(), "configmaps".to_owned()), 3),
            (("shop".to_owned(), "deployments.apps".to_owned()), 1),
        ]);
        let quota = |used: Value| json!({"metadata": {"namespace": "shop"}, "status": {"used": used}});
        let right = quota(
            json!({"configmaps": "3", "count/deployments.apps": "1", "secrets": "0", "requests.cpu": "5", "pods": "9", "count/pods": "9"}),
        );
        assert_eq!(miscounted(&right, &counts, |_| true), Vec::<String>::new());
        let wrong = quota(json!({"configmaps": "5", "count/deployments.apps": "1"}));
        assert_eq!(miscounted(&wrong, &counts, |_| true), ["configmaps 5 instead of 3"]);
        assert_eq!(miscounted(&wrong, &counts, |resource| resource != "configmaps"), Vec::<String>::new());
    }
}
