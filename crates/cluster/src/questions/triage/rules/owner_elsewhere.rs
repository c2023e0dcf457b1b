//! Objects whose owner is in another namespace: the garbage collector looks for it in theirs, and deletes them.
//!
//! Kubernetes 1.36: pkg/controller/garbagecollector/garbagecollector.go, `isDangling`: the owner of an object in a namespace is looked up in that namespace,
//! by name; one that is not there, or has another uid, is absent. `attemptToDeleteItem`: an object whose owners are all absent is deleted. Since 1.20
//! graph_builder.go records `OwnerRefInvalidNamespace`; before, such an object may stay as long as its owner is known from elsewhere.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use ketcd_history::timeline::Subject;
use ketcd_history::trouble::{Trouble, TroubleKind};

use super::facts::{Facts, Kind};
use super::object::{items, text};
use super::rule_finding::RuleFinding;
use crate::error::Result;

const OWNER_FIELDS: &[&str] =
    &["kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.deletionTimestamp", "metadata.ownerReferences"];

/// The kinds that people give owners by hand, and their controllers do not.
const OWNED_KINDS: [&str; 16] = [
    "configmaps",
    "secrets",
    "services/specs",
    "serviceaccounts",
    "persistentvolumeclaims",
    "deployments",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "ingress",
    "networkpolicies",
    "horizontalpodautoscalers",
    "poddisruptionbudgets",
    "roles",
    "rolebindings",
];

pub(super) async fn find(facts: &mut Facts<'_>) -> Result<Vec<RuleFinding>> {
    // Others wait for a running etcd.
    if facts.cluster.source.is_shared() {
        return Ok(Vec::new());
    }
    let (mut found, mut homes) = (Vec::new(), Homes::new());
    for path in OWNED_KINDS {
        let kind = Kind { path, namespaced: true, fields: Some(OWNER_FIELDS) };
        for object in facts.made_of(&kind, |object| is_owned(&object).then_some(object)).await? {
            found.extend(misplaced(facts, &mut homes, &object).await?);
        }
    }
    Ok(found)
}

/// Whether it has owners, and is not being deleted.
fn is_owned(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_null() && items(object, "/metadata/ownerReferences").next().is_some()
}

/// The namespaces of objects, by the path of their kind and their uid.
type Homes = HashMap<String, HashMap<String, String>>;

/// That all owners of an object are elsewhere, one of them in another namespace.
async fn misplaced(facts: &mut Facts<'_>, homes: &mut Homes, object: &Value) -> Result<Option<RuleFinding>> {
    let (kinds, may_be_part) = (facts.cluster.kinds().await?, facts.may_be_part());
    let namespace = text(object, "/metadata/namespace");
    let mut elsewhere: BTreeMap<String, String> = BTreeMap::new();
    for owner in items(object, "/metadata/ownerReferences") {
        let kind = kinds.of_object(text(owner, "/apiVersion"), text(owner, "/kind"));
        let Some(kind) = kind.filter(|kind| kind.namespaced && kind.is_stored()) else { return Ok(None) };
        let (uid, name) = (text(owner, "/uid"), text(owner, "/name"));
        let path = kind.key_prefix("", None);
        if !homes.contains_key(&path) {
            let home = |object: Value| Some((text(&object, "/metadata/uid").to_owned(), text(&object, "/metadata/namespace").to_owned()));
            let of_kind = facts.made_below(path.trim_start_matches('/'), Some(OWNER_FIELDS), home).await?;
            homes.insert(path.clone(), of_kind.into_iter().collect());
        }
        match homes[&path].get(uid) {
            Some(home) if home == namespace => return Ok(None),
            Some(home) => drop(elsewhere.insert(format!("{}/{name}", text(owner, "/kind").to_lowercase()), home.clone())),
            // Printed objects may lack it.
            None if may_be_part => return Ok(None),
            None => {}
        }
    }
    let Some((owner, place)) = elsewhere.pop_first() else { return Ok(None) };
    let trouble = Trouble { about: vec![owner, place], ..Trouble::new(TroubleKind::OwnerElsewhere) };
    Ok(Some(RuleFinding::new(Subject::of(object), trouble)))
}
