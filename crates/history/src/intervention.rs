//! Changes that somebody made: not status and heartbeats, and not what the control plane does by itself.

use std::sync::LazyLock;

use ketcd_kube::FieldSet;
use serde_json::Value;

use super::actor::stamp;
use super::attributed_change::AttributedChange;
use super::change::ChangeKind;
use super::diff::{Detail, FieldChange, object_fields};
use super::noise;

/// Components that write only in reaction to others.
const BY_ITSELF: [&str; 4] = ["kube-controller-manager", "kube-scheduler", "kubelet", "clusterrole-aggregation-controller"];

/// What somebody did to an object.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(not(ketcd_exhaustive), non_exhaustive)]
pub enum Intervention<'a> {
    /// It was made.
    Created,
    /// These fields were changed.
    Changed(Vec<FieldChange<'a>>),
    /// It is gone.
    Deleted,
}

/// What [`is_upkeep`] looks at.
pub static LOOKED_AT_FOR_UPKEEP: LazyLock<FieldSet> = LazyLock::new(|| {
    let managers = ["manager", "operation", "subresource", "apiVersion", "time"].map(|field| format!("metadata.managedFields.{field}"));
    FieldSet::of(["spec.replicas"].into_iter().chain(managers.iter().map(String::as_str)))
});

/// Whether the second of two versions says that the control plane wrote it by itself and left the replicas as they were: such a change is no
/// [`intervention`]. Where it does not say so, the change may be none all the same.
pub fn is_upkeep(before: &Value, after: &Value) -> bool {
    let is_by_itself = stamp(before, after).is_some_and(|manager| BY_ITSELF.contains(&manager));
    is_by_itself && before["spec"]["replicas"] == after["spec"]["replicas"]
}

/// Returns what somebody did by a change; `None` for writes of the control plane itself and for changes of status.
/// Replicas count no matter who sets them: an autoscaler is part of the control plane.
pub fn intervention(attributed: &AttributedChange) -> Option<Intervention<'_>> {
    let change = &attributed.change;
    let by_itself = attributed.actor.as_ref().is_some_and(|actor| BY_ITSELF.contains(&actor.name.as_str()));
    match change.kind {
        ChangeKind::Added => (!by_itself).then_some(Intervention::Created),
        ChangeKind::Deleted => (!by_itself).then_some(Intervention::Deleted),
        ChangeKind::Modified => {
            let (before, after) = (change.before.whole()?, change.after.whole()?);
            let (mut fields, _) = noise::fold(object_fields(before, after, Detail::Story));
            fields.retain(|field| !field.path.starts_with(&["status"]));
            if by_itself {
                fields.retain(|field| field.path.starts_with(&["spec", "replicas"]));
            }
            // What it is comes before how it is labelled.
            fields.sort_by_key(|field| field.path.starts_with(&["metadata"]));
            (!fields.is_empty()).then_some(Intervention::Changed(fields))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::Clock;
    use crate::{Change, ObjectVersion};
    use ketcd_kube::Object;
    use ketcd_store::{Origin, Revision, Sources};

    fn changed(before: Value, after: Value) -> AttributedChange {
        let version = |value| ObjectVersion::from(Object::from(value));
        let change = Change {
            revision: Revision(2),
            sub_revision: 0,
            kind: ChangeKind::Modified,
            key: "/k".into(),
            origin: Origin::Db,
            sources: Sources::default(),
            before: version(before),
            after: version(after),
            may_be_creation: false,
            earlier: None,
        };
        AttributedChange::new(change, &Clock::default())
    }

    fn deployment(manager: &str, time: &str, replicas: i64, ready: i64) -> Value {
        json!({"kind": "Deployment", "metadata": {"managedFields": [{"manager": manager, "operation": "Update", "time": time}]},
            "spec": {"replicas": replicas, "paused": replicas > 5}, "status": {"readyReplicas": ready}})
    }

    #[test]
    fn upkeep_is_what_the_control_plane_stamped_without_scaling() {
        let of = |manager: &str, time: &str, replicas| deployment(manager, time, replicas, 1);
        let by = "kube-controller-manager";
        assert!(is_upkeep(&of(by, "1", 2), &of(by, "2", 2)));
        assert!(!is_upkeep(&of(by, "1", 2), &of(by, "2", 3)), "scaling counts no matter who did it");
        assert!(!is_upkeep(&of(by, "1", 2), &of(by, "1", 2)), "no new time shows who wrote");
        assert!(!is_upkeep(&of("kubectl", "1", 2), &of("kubectl", "2", 2)));
    }

    #[track_caller]
    fn check(change: &AttributedChange, wanted: &[&str]) {
        let paths = match intervention(change) {
            Some(Intervention::Changed(fields)) => fields.iter().map(|field| field.path.to_string()).collect(),
            _ => Vec::new(),
        };
        assert_eq!(paths, wanted);
    }

    #[test]
    fn what_people_write_counts_and_status_does_not() {
        check(&changed(deployment("kubectl", "1", 2, 2), deployment("kubectl", "2", 9, 1)), &["spec.replicas", "spec.paused"]);
        check(&changed(deployment("kubectl", "1", 2, 2), deployment("kubectl", "2", 2, 1)), &[]);
    }

    #[test]
    fn of_the_control_plane_only_scaling_counts() {
        let by = "kube-controller-manager";
        check(&changed(deployment(by, "1", 2, 2), deployment(by, "2", 9, 1)), &["spec.replicas"]);
    }
}
