//! A description as JSON.

use serde_json::Value;

use super::Description;
use crate::contract::common::{ActorFrom, KubernetesObject, Time};
use crate::contract::describe as contract;
use ketcd_history::diff::ManagedFields;
use ketcd_history::{Actor, AttributedChange};

/// The page as a document.
pub fn document(description: &Description, managed_fields: ManagedFields) -> contract::Description<'_> {
    let object = |object| KubernetesObject { object, managed_fields };
    contract::Description {
        changes: description.changes.iter().map(|change| last_change(change, managed_fields)).collect(),
        events: description.events.iter().map(|event| object(event)).collect(),
        has_earlier_changes: description.has_earlier_changes,
        object: object(&description.object),
        owners: description.owners.iter().map(owner).collect(),
        pods: description.pods.as_ref().map(Into::into),
    }
}

fn owner(owner: &super::DescribedOwner) -> contract::OwnerReference<'_> {
    let text = |field: &str| owner.reference.get(field).and_then(Value::as_str).unwrap_or_default();
    contract::OwnerReference {
        api_version: text("apiVersion"),
        found: owner.found,
        kind: text("kind"),
        name: text("name"),
        namespace: owner.namespace.as_deref(),
        uid: text("uid"),
    }
}

fn last_change(attributed: &AttributedChange, managed_fields: ManagedFields) -> contract::LastChange {
    let (AttributedChange { change, dated, .. }, actor) = (attributed, attributed.by());
    contract::LastChange {
        by: actor.as_ref().map(Actor::to_string),
        by_from: ActorFrom::of(actor.as_ref()),
        patch: change.patch(managed_fields),
        revision: change.revision.0,
        time: Time::of(*dated),
        time_error_seconds: dated.map(|dated| dated.error),
        kind: change.kind.into(),
    }
}
