//! What the cluster's RBAC said at the moment looked at: the policy in the stored roles and bindings, and what it lets an impersonated user ask.

use futures_util::TryStreamExt;
use ketcd_kube::rbac::{Action, Policy, PolicyKind};
use ketcd_kube::{Body, Kinds};
use ketcd_store::{At, KeyRange, Want};

use super::app::{App, Moment};
use super::asker::Asker;
use super::status::{Result, Status};

const GROUP_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Refuses what the policy of a moment does not allow an impersonated user.
pub(super) async fn check(app: &App, moment: Moment, asker: &Asker, action: &Action) -> Result<()> {
    let decision = app.policy(moment).await?.decide(&asker.user, action);
    if decision.is_allowed {
        return Ok(());
    }
    let reason: Vec<String> = Some(decision.reason).filter(|reason| !reason.is_empty()).into_iter().chain(decision.doubts).collect();
    Err(Status::forbidden_action(&asker.user.name, action, &reason.join("; ")))
}

/// Reads the roles and bindings of a moment.
pub(super) async fn read(app: &App, moment: Moment) -> Result<Policy> {
    let kinds = Kinds::builtin();
    let mut policy = Policy::default();
    for policy_kind in PolicyKind::ALL {
        let Some(kind) = kinds.of_object(GROUP_VERSION, policy_kind.name()) else { continue };
        let prefix = kind.key_prefix(app.data.prefix(), None);
        let found = app.data.source().range(KeyRange::prefix(prefix.clone()), At::Revision(moment.revision), Want::Values).await;
        let listing = match found {
            Err(error) if error.is_denied() => {
                policy.add_unread(policy_kind, "", "", &error.to_string());
                continue;
            }
            found => found.map_err(|error| Status::of_store(&error, "the revision was compacted away"))?,
        };
        let entries: Vec<_> =
            listing.entries.try_collect().await.map_err(|error| Status::of_store(&error, "the revision was compacted away"))?;
        for entry in entries {
            let key = String::from_utf8_lossy(entry.key.get(prefix.len()..).unwrap_or_default());
            let (namespace, name) = if kind.namespaced { key.split_once('/').unwrap_or(("", &*key)) } else { ("", &*key) };
            match app.data.decoder().decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                Body::Object(object) => policy.add(policy_kind, namespace, name, &object.into_value()),
                Body::Opaque(opaque) => policy.add_unread(policy_kind, namespace, name, &opaque.reason),
            }
        }
    }
    Ok(policy)
}
