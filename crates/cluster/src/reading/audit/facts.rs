//! What each change of a history shows of the request that made it.

use std::sync::LazyLock;

use futures_util::TryStreamExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use ketcd_audit::{ChangeFacts, Did, Stamp};
use ketcd_history::clock::{Clock, Dated};
use ketcd_history::{ChangeKind, EventPair, PrevVersion};
use ketcd_kube::{FieldSet, KeyResource, Kinds, ObjectPath, RegistryKey};
use ketcd_store::{EventKind, KeyValue, Until};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::{Followed, Keys, Read, events, pairs};

static LOOKED_AT: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of([
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.generateName",
        "metadata.deletionTimestamp",
        "metadata.deletionGracePeriodSeconds",
        "metadata.finalizers",
        "metadata.managedFields.manager",
        "metadata.managedFields.operation",
        "metadata.managedFields.subresource",
        "metadata.managedFields.apiVersion",
        "metadata.managedFields.time",
        "spec.nodeName",
        "spec.finalizers",
    ])
});

/// What the changes of all objects show, oldest first. Keys of the API server's own bookkeeping, which it writes without a request, are left out.
pub(super) async fn of_history(cluster: &Cluster, clock: &Clock) -> Result<Vec<ChangeFacts>> {
    let newest = cluster.source.span().await?.newest;
    let (prefix, kinds) = (cluster.prefix().await?, cluster.kinds().await?);
    let mut found = Vec::new();
    let mut pairs = pairs(cluster, events(cluster, Keys::all(), Until::Revision(newest)), false, |_| false);
    while let Some(read) = pairs.try_next().await? {
        if let Read::Item(Followed::Pair(pair)) = read {
            found.extend(facts(cluster, &pair, (prefix, kinds), clock.date(pair.event.revision)));
        }
    }
    Ok(found)
}

/// What one change shows; `None` where its key is of no object.
fn facts(cluster: &Cluster, pair: &EventPair, (prefix, kinds): (&str, &Kinds), dated: Option<Dated>) -> Option<ChangeFacts> {
    let event = &pair.event;
    let path = RegistryKey::parse(prefix, &event.key_value.key, kinds).object()?;
    let decoded = |version: &KeyValue| {
        let decoded = cluster.decoder.only(&LOOKED_AT).decode(&version.key, &version.value, version.mod_revision.0);
        decoded.object().cloned().unwrap_or_default()
    };
    let prev = if let PrevVersion::Version(version) = &pair.prev { Some(version) } else { None };
    let before = prev.map(decoded);
    let after = if event.kind == EventKind::Put { decoded(&event.key_value) } else { Value::Null };
    let did = match pair.kind() {
        ChangeKind::Added => Did::Create,
        ChangeKind::Modified => Did::Write,
        ChangeKind::Deleted => Did::Delete,
    };
    let bounds = dated.and_then(|dated| {
        let error = SignedDuration::try_from_secs_f64(dated.error).ok()?;
        Some((dated.time.checked_sub(error).ok()?, dated.time.checked_add(error).ok()?))
    });
    let (group, resource) = resource(&path);
    let old = before.as_ref().unwrap_or(&Value::Null);
    let object = if did == Did::Delete { old } else { &after };
    let is_write = did == Did::Write;
    let changed = |field: &str| before.is_none() && after.pointer(field).is_some() || old.pointer(field) != after.pointer(field);
    let grace = "/metadata/deletionGracePeriodSeconds";
    Some(ChangeFacts {
        revision: event.revision.0,
        sub_revision: event.sub_revision,
        group: group.into(),
        resource: resource.into(),
        namespace: path.namespace.unwrap_or_default().into(),
        name: path.name.into(),
        did,
        previous: prev.map(|version| version.mod_revision.0),
        earliest: bounds.map(|(earliest, _)| earliest),
        latest: bounds.map(|(_, latest)| latest),
        uid: object["metadata"]["uid"].as_str().map(Into::into),
        is_same: is_write && prev.is_some_and(|version| version.value == event.key_value.value),
        is_misplaced: is_misplaced(&after, &path),
        is_expired: did == Did::Delete && prev.is_some_and(|version| version.lease != 0),
        marks_deletion: is_write && (changed("/metadata/deletionTimestamp") || changed(grace)),
        was_marked: is_set(old, "/metadata/deletionTimestamp") || is_write && before.is_none(),
        ends_grace: is_write && changed(grace) && after.pointer(grace).and_then(Value::as_i64) == Some(0),
        had_finalizers: is_set(old, "/metadata/finalizers") || is_set(old, "/spec/finalizers"),
        binds: is_write && resource == "pods" && prev.is_some() && changed("/spec/nodeName"),
        has_generated_name: is_set(&after, "/metadata/generateName"),
        has_managers: is_set(&after, "/metadata/managedFields"),
        stamps: if did == Did::Write && prev.is_none() { Vec::new() } else { stamps(old, &after) },
    })
}

/// The group and the resource that requests name.
fn resource<'p>(path: &ObjectPath<'p>) -> (&'p str, &'p str) {
    match path.resource {
        KeyResource::Known(kind) => (&kind.group, &kind.plural),
        KeyResource::Unlisted { group, plural } => (group, plural),
    }
}

/// Whether a value names another object than its key.
fn is_misplaced(object: &Value, path: &ObjectPath<'_>) -> bool {
    let is_other = |field: &str, wanted: &str| object["metadata"][field].as_str().is_some_and(|found| found != wanted);
    is_other("name", path.name) || path.namespace.is_some_and(|namespace| is_other("namespace", namespace))
}

fn is_set(object: &Value, field: &str) -> bool {
    object.pointer(field).is_some_and(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()))
}

/// The entries of managedFields that are new, or have a new time.
fn stamps(old: &Value, new: &Value) -> Vec<Stamp> {
    let entries = |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let known = entries(old);
    let is_same = |one: &Value, other: &Value| {
        ["manager", "operation", "subresource", "apiVersion", "time"].iter().all(|field| one[field] == other[field])
    };
    let stamp = |entry: &Value| {
        let time: Timestamp = entry["time"].as_str()?.parse().ok()?;
        let text = |field: &str| entry[field].as_str().unwrap_or_default().into();
        Some(Stamp { manager: text("manager"), subresource: text("subresource"), time })
    };
    entries(new).iter().filter(|entry| !known.iter().any(|known| is_same(known, entry))).filter_map(stamp).collect()
}
