//! What the cluster's RBAC said at a revision: the policy in the stored roles and bindings.

use futures_util::TryStreamExt;

use ketcd_kube::Body;
use ketcd_kube::rbac::{Policy, PolicyKind};
use ketcd_store::{At, KeyRange, Revision, Want};

use super::decoder::decoder;
use crate::cluster::{Cluster, built_in};
use crate::error::Result;
use crate::read::own_key;

const GROUP_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Reads the roles and bindings of a revision. The policy knows which of them the user may not read, and which cannot be decoded.
///
/// # Errors
/// The source cannot be read.
pub async fn policy(cluster: &Cluster, revision: Revision) -> Result<Policy> {
    let (prefix, decoder) = (cluster.prefix().await?, decoder(cluster));
    let mut policy = Policy::default();
    for policy_kind in PolicyKind::ALL {
        let Some(kind) = built_in().of_object(GROUP_VERSION, policy_kind.name()) else { continue };
        let keys = KeyRange::prefix(kind.key_prefix(prefix, None));
        let mut entries = match cluster.source.range(keys, At::Revision(revision), Want::Values).await {
            Err(error) if error.is_denied() => {
                policy.add_unread(policy_kind, "", "", &error.to_string());
                continue;
            }
            found => found?.entries,
        };
        while let Some(entry) = entries.try_next().await? {
            let Some(object) = own_key(kind, prefix, &entry.key) else { continue };
            let (namespace, name) = (object.namespace.unwrap_or_default(), object.name);
            match decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body {
                Body::Object(object) => policy.add(policy_kind, namespace, name, &object.into_value()),
                Body::Opaque(opaque) => policy.add_unread(policy_kind, namespace, name, &opaque.reason),
            }
        }
    }
    Ok(policy)
}
