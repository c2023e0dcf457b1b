//! Leader locks of old: an annotation of a ConfigMap or of Endpoints holds the record that a Lease has in its spec.
//!
//! k8s.io/client-go v0.22, `tools/leaderelection/resourcelock/{interface,configmaplock,endpointslock}.go`: the record is JSON and names its holder and how long
//! it holds. Since v0.24 such a lock is made only together with a Lease, and no more in later releases; programs that were built with older ones still
//! use it.

use memchr::memmem;
use serde_json::Value;

use ketcd_kube::Object;
use ketcd_store::KeyValue;

use super::super::states::RehearsedState;
use super::lock::StaleLock;
use crate::error::Result;

const LEADER_ANNOTATION: &str = "control-plane.alpha.kubernetes.io/leader";

/// Where objects that have it are stored.
const LOCK_PATHS: [&str; 2] = ["/configmaps/", "/services/endpoints/"];

/// With what a value begins that is sealed, so that no text in it can be seen (k8s.io/apiserver v0.36.3, `pkg/storage/value/transformer.go`).
const SEALED_PREFIX: &[u8] = b"k8s:enc:";

/// Returns the locks of a state that somebody holds.
pub(super) async fn locks(state: &RehearsedState<'_>) -> Result<Vec<StaleLock>> {
    let mut locks = Vec::new();
    for path in LOCK_PATHS {
        locks.extend(state.made_of(path, may_have_one, |object| of_object(&object)).await?);
    }
    Ok(locks)
}

/// Whether a stored value may have the annotation: most have not, and are not decoded.
fn may_have_one(entry: &KeyValue) -> bool {
    entry.value.starts_with(SEALED_PREFIX) || memmem::find(&entry.value, LEADER_ANNOTATION.as_bytes()).is_some()
}

fn of_object(object: &Object) -> Option<StaleLock> {
    let record: Value = serde_json::from_str(object["metadata"]["annotations"][LEADER_ANNOTATION].as_str()?).ok()?;
    StaleLock::of(object, &record)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::made_up::{MadeUp, object, with};
    use super::*;

    #[tokio::test]
    async fn the_annotation_names_its_holder() {
        let annotated = |kind: &str, name: &str, record: &str| {
            with(object(kind, "kube-system", name, name), json!({"metadata": {"annotations": {LEADER_ANNOTATION: record}}}))
        };
        let held = r#"{"holderIdentity":"a_1","leaseDurationSeconds":15,"renewTime":"2026-11-28T11:59:00Z"}"#;
        let made_up = MadeUp::alone(&[
            annotated("ConfigMap", "ingress-controller-leader", held),
            annotated("Endpoints", "provisioner", held),
            annotated("ConfigMap", "free", r#"{"holderIdentity":"","leaseDurationSeconds":15}"#),
            annotated("ConfigMap", "odd", "not JSON"),
            with(object("ConfigMap", "kube-system", "other", "o"), json!({"data": {"text": LEADER_ANNOTATION}})),
        ])
        .await;
        let found = locks(&made_up.states().await.backup).await.unwrap();
        let found: Vec<(&str, &str, &str, i64)> =
            found.iter().map(|lock| (&*lock.affected.subject.kind, &*lock.affected.subject.name, &*lock.holder, lock.seconds)).collect();
        assert_eq!(found, [("ConfigMap", "ingress-controller-leader", "a_1", 15), ("Endpoints", "provisioner", "a_1", 15)]);
    }
}
