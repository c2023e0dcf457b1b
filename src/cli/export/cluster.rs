//! What a cluster is called in a dataset.

use ketcd_kube::Body;
use ketcd_store::Want;

use crate::cli::session::Session;
use crate::cli::{Error, Result};
use ketcd_store::KeyRange;

/// The name given or, without one, the uid of namespace kube-system, which stays the same through the cluster's life; else etcd's cluster id.
///
/// # Errors
/// A name that cannot be a folder's, or none where the data shows none.
pub(in crate::cli) async fn name(session: &Session, given: Option<&str>) -> Result<String> {
    if let Some(name) = given {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(
                Error::new(format!("--cluster {name:?} cannot be the name of a folder")).hint("use letters, digits, '-', '_' and '.'")
            );
        }
        return Ok(name.to_owned());
    }
    let key = KeyRange::key(format!("{}/namespaces/kube-system", session.prefix().await?));
    for entry in session.source.first(key, session.at, Want::Values, 1).await? {
        if let Body::Object(namespace) = session.decoder.decode(&entry.key, &entry.value, entry.mod_revision.0).body
            && let Some(uid) = namespace["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())
        {
            return Ok(uid.to_owned());
        }
    }
    let id = session.source.status().await?.cluster_id;
    id.ok_or_else(|| Error::new("nothing in this data names its cluster").hint("give it a name with --cluster"))
}
