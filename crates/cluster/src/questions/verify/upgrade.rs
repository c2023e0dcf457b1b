//! What must be rewritten before an upgrade: objects stored in versions that the target does not serve, kinds that it no longer has, versions of custom
//! kinds that were stored at some time, and who still writes the old versions.
//!
//! The tables of releases are those of `ketcd_kube::api`. What the target itself still stores needs no rewriting, even if it serves another version
//! only: a CustomResourceDefinition is stored as v1beta1 to this day. Any write stores an object as the running release does, so the release that stores
//! the new version first has to do it. `status.storedVersions`: k8s.io/apiextensions-apiserver v0.37.1,
//! `pkg/apis/apiextensions/types.go`.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use serde_json::Value;

use ketcd_kube::api::{Versions, storage_version};
use ketcd_kube::{Body, Decoder, FieldSet, Kind, RegistryKey, Release};
use ketcd_store::{At, KeyRange, KeyValue, Revision, Want};

use super::finding::{Finding, FindingKind, Weight};
use super::part::Part;
use super::upgrade_clients::{self, is_removed};
use crate::cluster::Cluster;
use crate::cores;
use crate::error::Result;

/// How many managers are named.
const MAX_MANAGERS_NAMED: usize = 5;

/// What of an object is looked at.
const MANAGER_FIELDS: [&str; 4] = ["apiVersion", "kind", "metadata.managedFields.apiVersion", "metadata.managedFields.manager"];

/// Objects of one kind in one version.
#[derive(Default)]
struct VersionGroup {
    objects: u64,
    /// The first of them.
    example: String,
}

/// What is stored and what was written, each by version and kind.
#[derive(Default)]
struct VersionsSeen {
    stored: BTreeMap<(String, String), VersionGroup>,
    /// By manager.
    written: BTreeMap<(String, String), BTreeMap<String, u64>>,
}

/// Returns what an upgrade to a release needs.
///
/// # Errors
/// The source cannot be read.
pub(crate) async fn check(cluster: &Cluster, revision: Revision, target: Release) -> Result<Part> {
    let (definitions, running) = (definitions(cluster, revision).await?, cluster.release());
    let versions = Versions::new(target, &definitions);
    let seen = seen(cluster, revision).await?;
    let kinds = cluster.kinds().await?;
    let mut part = Part::default();
    for ((api_version, kind), group) in &seen.stored {
        // What is wrong with custom kinds, their definitions say.
        let Some(known) = kinds.of_object(api_version, kind).filter(|known| !known.is_custom()) else { continue };
        part.findings.extend(stored(api_version, known, group, &versions, (running, target)));
    }
    for ((api_version, kind), managers) in &seen.written {
        let Some(known) = kinds.of_object(api_version, kind) else { continue };
        if !versions.serves(api_version, kind) && is_removed(known, &versions) {
            part.findings.push(written(api_version, kind, managers, target));
        }
    }
    definitions.iter().for_each(|definition| part.findings.extend(of_definition(definition)));
    let running_versions = Versions::new(running, &definitions);
    part.add(upgrade_clients::check(cluster, &versions, &running_versions, target).await?);
    if part.findings.is_empty() {
        part.checked.push(format!("{target} serves and reads what is stored"));
    }
    Ok(part)
}

async fn definitions(cluster: &Cluster, revision: Revision) -> Result<Vec<Value>> {
    let entries = cluster.definitions(At::Revision(revision)).await?;
    let decoded = entries.iter().filter_map(|entry| match cluster.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
        Body::Object(definition) => Some(definition.into_value()),
        Body::Opaque(_) => None,
    });
    Ok(decoded.collect())
}

/// Reads versions and managers of all objects.
async fn seen(cluster: &Cluster, revision: Revision) -> Result<VersionsSeen> {
    let (prefix, kinds) = (cluster.prefix().await?.to_owned(), cluster.kinds().await?.clone());
    let decoder = Decoder::for_stored_values().with_storage(Some(&prefix), cluster.options.keys.clone());
    let wanted = FieldSet::of(MANAGER_FIELDS);
    let read = move |KeyValue { key, value, mod_revision, .. }: KeyValue| {
        RegistryKey::parse(&prefix, &key, &kinds).object()?;
        match decoder.only(&wanted).decode(&key, &value, mod_revision.0).body {
            Body::Object(object) => Some((key, object.into_value())),
            Body::Opaque(_) => None,
        }
    };
    let entries = cluster.source.range(KeyRange::all(), At::Revision(revision), Want::Values).await?.entries;
    let mut objects = cores::in_order_ahead(entries, |entry: &KeyValue| entry.value.len(), read).boxed();
    let mut seen = VersionsSeen::default();
    while let Some(read) = objects.next().await.transpose()? {
        if let Some((key, object)) = read {
            seen.see(&key, &object);
        }
    }
    Ok(seen)
}

impl VersionsSeen {
    fn see(&mut self, key: &[u8], object: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&object["kind"]);
        let group = self
            .stored
            .entry((text(&object["apiVersion"]), kind.clone()))
            .or_insert_with(|| VersionGroup { example: String::from_utf8_lossy(key).into_owned(), ..VersionGroup::default() });
        group.objects += 1;
        for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
            let managers = self.written.entry((text(&entry["apiVersion"]), kind.clone())).or_default();
            *managers.entry(text(&entry["manager"])).or_default() += 1;
        }
    }
}

/// What is to be done about objects in one stored version.
fn stored(
    api_version: &str,
    kind: &Kind,
    group: &VersionGroup,
    versions: &Versions,
    (running, target): (Release, Release),
) -> Option<Finding> {
    if versions.serves(api_version, &kind.kind) {
        return None;
    }
    let objects = if group.objects == 1 { "1 object is".to_owned() } else { format!("{} objects are", group.objects) };
    let (resource, name) = (kind.resource(), &kind.kind);
    let all = if kind.namespaced { " -A" } else { "" };
    let rewrite = format!("kubectl get {resource}{all} -o json | kubectl replace -f -");
    let not_served = format!("{objects} stored as {api_version} {name}, which {target} does not serve");
    let finding = |weight, says: String| Finding::new(FindingKind::Upgrade, weight, says).of_key(group.example.as_bytes());
    if storage_version(kind, target).as_deref() == Some(api_version) {
        return Some(finding(Weight::Low, format!("{not_served} but stores itself: nothing has to be rewritten")));
    }
    if versions.preferred(&kind.group, name).is_none() {
        let says = format!("{objects} stored as {api_version} {name}, a kind that {target} does not serve: nobody reads them there");
        return Some(finding(Weight::Medium, says).because(format!("kubectl get {resource}{all} -o yaml")));
    }
    let first = (running.0..=target.0).map(Release).find_map(|release| {
        let stored = storage_version(kind, release).filter(|stored| versions.serves(stored, name))?;
        Some((release, stored))
    });
    let when = match first {
        Some((release, stored)) if release == running => format!("rewrite before the upgrade, as {stored}"),
        Some((release, stored)) if release < target => {
            format!("rewrite on the way, in {release}, which stores {stored}")
        }
        Some((_, stored)) => format!("rewrite after the upgrade: no release before {target} stores {stored}"),
        None => "rewrite before the upgrade".to_owned(),
    };
    Some(finding(Weight::Medium, format!("{not_served}: {when}")).because(rewrite))
}

/// Who writes a version that the target does not serve.
fn written(api_version: &str, kind: &str, managers: &BTreeMap<String, u64>, target: Release) -> Finding {
    let objects: u64 = managers.values().sum();
    let wrote = if objects == 1 { "1 object was".to_owned() } else { format!("{objects} objects were") };
    let says = format!("{wrote} written as {api_version} {kind}, which {target} does not serve: their writers must change");
    let mut most: Vec<(&String, &u64)> = managers.iter().collect();
    most.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    let finding = Finding::new(FindingKind::Upgrade, Weight::Low, says);
    most.into_iter()
        .take(MAX_MANAGERS_NAMED)
        .fold(finding, |finding, (manager, count)| finding.because(format!("field manager {manager}, {count}")))
}

/// What the versions say in which objects of a custom kind were ever stored.
fn of_definition(definition: &Value) -> Vec<Finding> {
    let items = |path: &str| definition.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let version = |wanted: &Value| items("/spec/versions").find(|version| version["name"] == *wanted);
    let storage = items("/spec/versions").find(|version| version["storage"] == true).map(|version| &version["name"]);
    let (Some(storage), Some(stored)) = (storage, storage.and_then(Value::as_str)) else { return Vec::new() };
    let rewrite = format!("kubectl get {name} -A -o json | kubectl replace -f -");
    let wrong = items("/status/storedVersions").filter(|old| *old != storage).filter_map(|old| {
        let text = old.as_str()?;
        let (weight, why) = match version(old) {
            None => (Weight::Medium, "which it no longer defines: they cannot be read"),
            Some(version) if version["served"] == false => (Weight::Medium, "which is no longer served: rewrite before it is removed"),
            Some(_) => (Weight::Low, "which it still serves: rewrite before it is removed"),
        };
        let says = format!("objects of {name} may be stored as {text}, {why}; it stores {stored}");
        Some(Finding::new(FindingKind::Upgrade, weight, says).because(rewrite.clone()))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::built_in;

    /// What is said of two objects that 1.20 stores.
    fn says(api_version: &str, kind: &str, target: u16) -> Option<String> {
        let known = built_in().of_object(api_version, kind).unwrap();
        let group = VersionGroup { objects: 2, example: "/registry/a/b".to_owned() };
        let finding = stored(api_version, known, &group, &Versions::new(Release(target), &[]), (Release(20), Release(target)))?;
        Some(format!("{} {}", finding.weight.name(), finding.says))
    }

    #[test]
    fn versions_are_held_against_the_table_of_the_target() {
        assert_eq!(says("policy/v1beta1", "PodDisruptionBudget", 24), None);
        let budgets = "2 objects are stored as policy/v1beta1 PodDisruptionBudget, which";
        let said = format!("low {budgets} 1.25 does not serve but stores itself: nothing has to be rewritten");
        assert_eq!(says("policy/v1beta1", "PodDisruptionBudget", 25), Some(said));
        let said = format!("medium {budgets} 1.37 does not serve: rewrite on the way, in 1.27, which stores policy/v1");
        assert_eq!(says("policy/v1beta1", "PodDisruptionBudget", 37), Some(said));
        let said = "medium 2 objects are stored as extensions/v1beta1 Ingress, which 1.22 does not serve: \
            rewrite on the way, in 1.21, which stores networking.k8s.io/v1";
        assert_eq!(says("extensions/v1beta1", "Ingress", 22).as_deref(), Some(said));
        assert!(says("policy/v1beta1", "PodSecurityPolicy", 25).unwrap().contains("a kind that 1.25 does not serve"));
        assert_eq!(says("v1", "Pod", 37), None);
        assert!(says("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 37).unwrap().starts_with("low "));
    }

    #[test]
    fn stored_versions_of_custom_kinds_are_told_apart() {
        let definition = json!({
            "metadata": {"name": "things.example.com"},
            "spec": {"versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v1beta1", "served": false}, {"name": "v1beta2", "served": true}]},
            "status": {"storedVersions": ["v1alpha1", "v1beta1", "v1beta2", "v1"]},
        });
        let found: Vec<(Weight, bool)> =
            of_definition(&definition).iter().map(|finding| (finding.weight, finding.says.contains("cannot be read"))).collect();
        assert_eq!(found, [(Weight::Medium, true), (Weight::Medium, false), (Weight::Low, false)]);
    }

    #[test]
    fn writers_of_old_versions_are_named() {
        let managers = BTreeMap::from([("helm".to_owned(), 3), ("kubectl".to_owned(), 9)]);
        let finding = written("batch/v1beta1", "CronJob", &managers, Release(25));
        assert_eq!(finding.evidence, ["field manager kubectl, 9", "field manager helm, 3"]);
        assert!(finding.says.starts_with("12 objects were written as batch/v1beta1 CronJob"), "{}", finding.says);
    }
}
