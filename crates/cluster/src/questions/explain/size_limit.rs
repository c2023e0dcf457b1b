//! Whether a cluster is too large to evaluate every decision for one answer.

use ketcd_store::{At, KeyRange};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::read::Keys;

/// Evaluating a decision takes the state of the whole cluster, some 2 KB of heap for each pod; of more pods than this it is done for pods that are
/// named one by one.
const MAX_UNASKED_PODS: u64 = 20_000;

impl Cluster {
    /// Returns whether decisions about these keys can be evaluated: a cluster with a long history and many pods is too large, unless single objects
    /// are named.
    ///
    /// # Errors
    /// The source cannot be read.
    pub async fn can_evaluate_decisions(&self, keys: &Keys) -> Result<bool> {
        let prefix = self.prefix().await?;
        let are_named = !keys.addresses.is_empty() && keys.addresses.iter().all(|address| address.key(prefix).1);
        if are_named || !self.is_long().await? {
            return Ok(true);
        }
        let pods = KeyRange::prefix(format!("{prefix}/pods/"));
        Ok(self.source.count(pods, At::Revision(self.revision().await?)).await? <= MAX_UNASKED_PODS)
    }
}
