//! The fields that show who changed an object, so that the others need not be decoded.

use std::sync::LazyLock;

use serde_json::Value;

use super::writers::{entries, named_by_itself, stamped};
use ketcd_kube::FieldSet;

/// The fields that [`super::actor`] reads in versions of objects, in addition to those that differ. The field sets of managedFields are not among
/// them; [`reads_field_sets`] says when they are needed.
pub(crate) static LOOKED_AT: LazyLock<FieldSet> = LazyLock::new(|| {
    let managers = ["manager", "operation", "subresource", "apiVersion", "time"].map(|field| format!("metadata.managedFields.{field}"));
    FieldSet::of(BESIDE_MANAGERS.into_iter().chain(managers.iter().map(String::as_str)))
});

/// The same with managedFields whole.
pub(crate) static LOOKED_AT_WITH_FIELD_SETS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of(BESIDE_MANAGERS.into_iter().chain(["metadata.managedFields"])));

/// What it looks at in the last versions of what was deleted.
pub(crate) static LOOKED_AT_OF_DELETED: LazyLock<FieldSet> = LazyLock::new(|| {
    let states = ["status.containerStatuses.state", "status.initContainerStatuses.state"];
    FieldSet::of(BESIDE_MANAGERS.into_iter().chain(["metadata.managedFields"]).chain(states))
});

const BESIDE_MANAGERS: [&str; 14] = [
    "kind",
    "metadata.name",
    "metadata.namespace",
    "metadata.deletionTimestamp",
    "metadata.deletionGracePeriodSeconds",
    "metadata.finalizers",
    "metadata.ownerReferences",
    "source",
    "reportingComponent",
    "spec.nodeName",
    "spec.schedulerName",
    "spec.holderIdentity",
    "status.conditions",
    "status.nominatedNodeName",
];

/// Whether a pod's grace changed: then its containers, which may be the same in both versions, show who wrote `after` over `before`.
pub(crate) fn reads_containers(before: &Value, after: &Value) -> bool {
    const GRACE_PERIOD_FIELD: &str = "deletionGracePeriodSeconds";
    after["kind"] == "Pod" && before["metadata"][GRACE_PERIOD_FIELD] != after["metadata"][GRACE_PERIOD_FIELD]
}

/// Whether the sets of fields in managedFields may show who wrote `after` over `before`.
pub(crate) fn reads_field_sets(before: &Value, after: &Value) -> bool {
    let has_managers = !entries(before).is_empty() || !entries(after).is_empty();
    let is_stamped = || stamped(entries(before), after).is_some_and(|entry| entry["manager"].is_string());
    has_managers && named_by_itself(after).is_none() && !is_stamped()
}
