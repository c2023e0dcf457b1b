//! What a cluster is called in a dataset.

use crate::cli::outcome::{Error, Result};
use crate::cli::session::Session;

/// The name given or, without one, what tells the cluster from others.
///
/// # Errors
/// A name that cannot be a folder's, or none where the data shows none.
pub(super) async fn name(session: &Session, given: Option<&str>) -> Result<String> {
    let Some(name) = given else {
        let identity = session.cluster.identity().await?;
        return identity.ok_or_else(|| Error::new("nothing in this data names its cluster").hint("give it a name with --cluster"));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Error::new(format!("--cluster {name:?} cannot be the name of a folder")).hint("use letters, digits, '-', '_' and '.'"));
    }
    Ok(name.to_owned())
}
